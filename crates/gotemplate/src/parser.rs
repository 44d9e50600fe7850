//! Tokens → trees.
//!
//! Each `define` and `block` is a separate tree with its own lookahead and variables, as in Go: the line in an error is
//! that of the token which the *current* tree read last.

use std::collections::BTreeMap;

use crate::error::ParseError;
use crate::functions::{self, Function};
use crate::lexer::{Keyword, Lexer, Token, TokenKind};
use crate::number::Number;
use crate::text::{lossy, unquote};
use crate::tree::{Branch, BranchKind, Command, Node, NodeList, Pipe, Term, TermKind};
use crate::{MAX_NESTING, Syntax};

/// Trees by name.
pub(crate) type Trees = BTreeMap<String, NodeList>;

/// Parses a text and everything that it defines.
pub(crate) fn parse(name: &str, text: &str, syntax: &Syntax) -> Result<Trees, ParseError> {
    let mut parser = Parser {
        lexer: Lexer::new(text, &syntax.left_delimiter, &syntax.right_delimiter),
        name,
        syntax,
        trees: Trees::new(),
        tree: TreeState::new(),
        nesting: 0,
    };
    let root = parser.root()?;
    parser.add(name.to_owned(), root)?;
    Ok(parser.trees)
}

/// State of one tree while it is parsed.
struct TreeState<'t> {
    tokens: [Option<Token<'t>>; 3],
    pushed_back: usize,
    variables: Vec<String>,
    action_line: usize,
    ranges: usize,
}

impl TreeState<'_> {
    fn new() -> Self {
        TreeState { tokens: [None, None, None], pushed_back: 0, variables: vec!["$".into()], action_line: 0, ranges: 0 }
    }
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    name: &'t str,
    syntax: &'t Syntax,
    trees: Trees,
    tree: TreeState<'t>,
    nesting: usize,
}

/// The end of a list of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockEnd {
    End,
    Else,
}

impl BlockEnd {
    fn shown(self) -> &'static str {
        match self {
            BlockEnd::End => "{{end}}",
            BlockEnd::Else => "{{else}}",
        }
    }
}

enum TextOrAction {
    Node(Node),
    ListEnd(BlockEnd),
}

type ParseResult<T> = Result<T, ParseError>;

impl<'t> Parser<'t> {
    // Tokens, with up to three pushed back.

    fn next(&mut self) -> Token<'t> {
        if self.tree.pushed_back > 0 {
            self.tree.pushed_back -= 1;
        } else {
            self.tree.tokens[0] = Some(self.lexer.next_token());
        }
        self.token(self.tree.pushed_back)
    }

    fn token(&self, index: usize) -> Token<'t> {
        self.tree.tokens.get(index).cloned().flatten().unwrap_or(Token {
            kind: TokenKind::End,
            position: 0,
            value: "EOF".into(),
            line: 0,
        })
    }

    fn back(&mut self) {
        self.tree.pushed_back += 1;
    }

    fn back_two(&mut self, first: Token<'t>) {
        self.tree.tokens[1] = Some(first);
        self.tree.pushed_back = 2;
    }

    fn back_three(&mut self, first: Token<'t>, second: Token<'t>) {
        self.tree.tokens[1] = Some(second);
        self.tree.tokens[2] = Some(first);
        self.tree.pushed_back = 3;
    }

    fn peek(&mut self) -> Token<'t> {
        if self.tree.pushed_back > 0 {
            return self.token(self.tree.pushed_back - 1);
        }
        self.tree.pushed_back = 1;
        self.tree.tokens[0] = Some(self.lexer.next_token());
        self.token(0)
    }

    fn next_non_space(&mut self) -> Token<'t> {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token<'t> {
        let token = self.next_non_space();
        self.back();
        token
    }

    // Errors.

    fn error<T>(&self, reason: impl Into<String>) -> ParseResult<T> {
        let line = self.tree.tokens[0].as_ref().map_or(0, |token| token.line);
        Err(ParseError { name: self.name.to_owned(), line, reason: reason.into() })
    }

    fn unexpected<T>(&self, token: &Token<'t>, context: &str) -> ParseResult<T> {
        if token.kind != TokenKind::Error {
            return self.error(format!("unexpected {} in {context}", token.shown()));
        }
        let mut extra = String::new();
        if self.tree.action_line != 0 && self.tree.action_line != token.line {
            extra = format!(" in action started at {}:{}", self.name, self.tree.action_line);
            // Not `unclosed action in action started at`.
            if token.value.ends_with(" action") {
                extra.replace_range(.." in action".len(), "");
            }
        }
        self.error(format!("{}{extra}", token.value))
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> ParseResult<Token<'t>> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { self.unexpected(&token, context) }
    }

    /// Runs a step one level deeper. Depth is the cost of recursion, in parsing and when the tree is executed, printed
    /// or dropped.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        if self.nesting >= MAX_NESTING {
            return self.error("max expression depth exceeded");
        }
        self.nesting += 1;
        let result = step(self);
        self.nesting -= 1;
        result
    }

    // Trees.

    fn root(&mut self) -> ParseResult<NodeList> {
        let mut list = NodeList::default();
        while self.peek().kind != TokenKind::End {
            if self.peek().kind == TokenKind::LeftDelimiter {
                let delimiter = self.next();
                // Only the top level knows `define`; anywhere else the word is unexpected.
                if self.next_non_space().kind == TokenKind::Keyword(Keyword::Define) {
                    self.in_new_tree(Self::definition)?;
                    continue;
                }
                self.back_two(delimiter);
            }
            match self.text_or_action()? {
                TextOrAction::Node(node) => list.nodes.push(node),
                TextOrAction::ListEnd(end) => return self.error(format!("unexpected {}", end.shown())),
            }
        }
        Ok(list)
    }

    fn in_new_tree<T>(&mut self, step: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        let outer = std::mem::replace(&mut self.tree, TreeState::new());
        let result = step(self);
        // The error is already complete, so the outer tree can be restored in any case.
        self.tree = outer;
        result
    }

    fn add(&mut self, name: String, list: NodeList) -> ParseResult<()> {
        match self.trees.get(&name) {
            Some(existing) if !existing.is_blank() => {
                if list.is_blank() {
                    return Ok(());
                }
                self.error(format!(
                    "template: multiple definition of template {}",
                    crate::text::quoted(name.as_bytes())
                ))
            }
            _ => {
                self.trees.insert(name, list);
                Ok(())
            }
        }
    }

    fn definition(&mut self) -> ParseResult<()> {
        const CONTEXT: &str = "define clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(TokenKind::RightDelimiter, CONTEXT)?;
        let (list, end) = self.item_list()?;
        if end != BlockEnd::End {
            return self.error(format!("unexpected {} in {CONTEXT}", end.shown()));
        }
        self.add(name, list)
    }

    fn template_name(&mut self, token: &Token<'t>, context: &str) -> ParseResult<String> {
        match token.kind {
            TokenKind::String | TokenKind::RawString => match unquote(token.value.as_bytes()) {
                Some(name) => Ok(lossy(&name)),
                None => self.error("invalid syntax"),
            },
            _ => self.unexpected(token, context),
        }
    }

    // Nodes.

    fn item_list(&mut self) -> ParseResult<(NodeList, BlockEnd)> {
        let mut list = NodeList::default();
        while self.peek_non_space().kind != TokenKind::End {
            match self.text_or_action()? {
                TextOrAction::Node(node) => list.nodes.push(node),
                TextOrAction::ListEnd(end) => return Ok((list, end)),
            }
        }
        self.error("unexpected EOF")
    }

    fn text_or_action(&mut self) -> ParseResult<TextOrAction> {
        let token = self.next_non_space();
        match token.kind {
            TokenKind::Text => {
                Ok(TextOrAction::Node(Node::Text { position: token.position, text: token.value.into_owned() }))
            }
            TokenKind::LeftDelimiter => {
                self.tree.action_line = token.line;
                let item = self.action()?;
                self.tree.action_line = 0;
                Ok(item)
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> ParseResult<TextOrAction> {
        let token = self.next_non_space();
        let node = match token.kind {
            TokenKind::Keyword(Keyword::Block) => self.nested(Self::block)?,
            TokenKind::Keyword(Keyword::Break) => {
                self.jump(&token, "{{break}}", |position| Node::Break { position })?
            }
            TokenKind::Keyword(Keyword::Continue) => {
                self.jump(&token, "{{continue}}", |position| Node::Continue { position })?
            }
            TokenKind::Keyword(Keyword::Else) => {
                let next = self.peek_non_space();
                // `else if` has no right delimiter here: the branch reads the rest.
                if !matches!(next.kind, TokenKind::Keyword(Keyword::If | Keyword::With)) {
                    self.expect(TokenKind::RightDelimiter, "else")?;
                }
                return Ok(TextOrAction::ListEnd(BlockEnd::Else));
            }
            TokenKind::Keyword(Keyword::End) => {
                self.expect(TokenKind::RightDelimiter, "end")?;
                return Ok(TextOrAction::ListEnd(BlockEnd::End));
            }
            TokenKind::Keyword(Keyword::If) => self.branch(BranchKind::If)?,
            TokenKind::Keyword(Keyword::Range) => self.branch(BranchKind::Range)?,
            TokenKind::Keyword(Keyword::With) => self.branch(BranchKind::With)?,
            TokenKind::Keyword(Keyword::Template) => self.template()?,
            _ => {
                self.back();
                let position = self.peek().position;
                // Variables that are declared here stay visible until the `end` around them.
                let pipe = self.pipeline("command", TokenKind::RightDelimiter)?;
                Node::Action { position, pipe }
            }
        };
        Ok(TextOrAction::Node(node))
    }

    fn jump(&mut self, token: &Token<'t>, shown: &str, node: fn(usize) -> Node) -> ParseResult<Node> {
        let next = self.next_non_space();
        if next.kind != TokenKind::RightDelimiter {
            return self.unexpected(&next, shown);
        }
        if self.tree.ranges == 0 {
            return self.error(format!("{shown} outside {{{{range}}}}"));
        }
        Ok(node(token.position))
    }

    fn branch(&mut self, kind: BranchKind) -> ParseResult<Node> {
        self.nested(|parser| parser.branch_body(kind)).map(|branch| Node::Branch(Box::new(branch)))
    }

    fn branch_body(&mut self, kind: BranchKind) -> ParseResult<Branch> {
        let context = match kind {
            BranchKind::If => "if",
            BranchKind::Range => "range",
            BranchKind::With => "with",
        };
        let visible = self.tree.variables.len();
        let pipe = self.pipeline(context, TokenKind::RightDelimiter)?;
        let is_range = usize::from(kind == BranchKind::Range);
        self.tree.ranges += is_range;
        let (list, end) = self.item_list()?;
        // The `else` branch is not part of the loop, so a `break` in it does not end this loop.
        self.tree.ranges -= is_range;
        let mut otherwise = None;
        if end == BlockEnd::Else {
            let chained = matches!(
                (kind, self.peek().kind),
                (BranchKind::If, TokenKind::Keyword(Keyword::If))
                    | (BranchKind::With, TokenKind::Keyword(Keyword::With))
            );
            if chained {
                // `else if` is an `if` inside the `else`, and both share one `end`.
                self.next();
                otherwise = Some(NodeList { nodes: vec![self.branch(kind)?] });
            } else {
                let (list, end) = self.item_list()?;
                if end != BlockEnd::End {
                    return self.error(format!("expected end; found {}", end.shown()));
                }
                otherwise = Some(list);
            }
        }
        self.tree.variables.truncate(visible);
        Ok(Branch { kind, position: pipe.position, pipe, list, otherwise })
    }

    fn block(&mut self) -> ParseResult<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, TokenKind::RightDelimiter)?;
        let defined = name.clone();
        let unexpected = self.in_new_tree(|parser| {
            let (list, end) = parser.item_list()?;
            if end != BlockEnd::End {
                return Ok(Some(end));
            }
            parser.add(defined, list)?;
            Ok(None)
        })?;
        if let Some(end) = unexpected {
            // This error names the line that the outer tree has reached.
            return self.error(format!("unexpected {} in {CONTEXT}", end.shown()));
        }
        // A `block` is a `define` with a call in its place.
        Ok(Node::Template { position: token.position, name, pipe: Some(pipe) })
    }

    fn template(&mut self) -> ParseResult<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != TokenKind::RightDelimiter {
            self.back();
            pipe = Some(self.pipeline(CONTEXT, TokenKind::RightDelimiter)?);
        }
        Ok(Node::Template { position: token.position, name, pipe })
    }

    // Pipelines.

    fn pipeline(&mut self, context: &str, end: TokenKind) -> ParseResult<Pipe> {
        let mut pipe = Pipe { position: self.peek_non_space().position, ..Pipe::default() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Keyword(Keyword::Nil)
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParenthesis => {
                    self.back();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
    }

    /// Reads `$x :=`, `$x =` or `$k, $v :=` at the start of a pipeline.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> ParseResult<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != TokenKind::Variable {
                return Ok(());
            }
            self.next();
            // A variable at the start may also be a value, which needs its blank again.
            let after = self.peek();
            let next = self.peek_non_space();
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    pipe.assigns = next.kind == TokenKind::Assign;
                    self.next_non_space();
                    self.declare(pipe, &variable);
                    return Ok(());
                }
                TokenKind::Char if next.value == "," => {
                    self.next_non_space();
                    self.declare(pipe, &variable);
                    if context == "range" && pipe.variables.len() < 2 {
                        match self.peek_non_space().kind {
                            TokenKind::Variable | TokenKind::RightDelimiter | TokenKind::RightParenthesis => continue,
                            _ => return self.error("range can only initialize variables"),
                        }
                    }
                    return self.error(format!("too many declarations in {context}"));
                }
                _ if after.kind == TokenKind::Space => self.back_three(variable, after),
                _ => self.back_two(variable),
            }
            return Ok(());
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, variable: &Token<'t>) {
        pipe.variables.push(variable.value.to_string());
        self.tree.variables.push(variable.value.to_string());
    }

    fn check_pipeline(&mut self, pipe: &Pipe, context: &str) -> ParseResult<()> {
        if pipe.commands.is_empty() {
            return self.error(format!("missing value for {context}"));
        }
        // Only the first command may be a plain value: the later ones get a result as argument.
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            if let Some(Term {
                kind: TermKind::Bool(_) | TermKind::Dot | TermKind::Nil | TermKind::Number(_) | TermKind::String { .. },
                ..
            }) = command.terms.first()
            {
                return self.error(format!("non executable command in pipeline stage {}", index + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> ParseResult<Command> {
        let mut command = Command { position: self.peek_non_space().position, terms: Vec::new() };
        loop {
            self.peek_non_space();
            if let Some(term) = self.operand()? {
                command.terms.push(term);
            }
            let token = self.next();
            match token.kind {
                TokenKind::Space => continue,
                TokenKind::RightDelimiter | TokenKind::RightParenthesis => self.back(),
                TokenKind::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if command.terms.is_empty() {
            return self.error("empty command");
        }
        Ok(command)
    }

    fn operand(&mut self) -> ParseResult<Option<Term>> {
        let Some(head) = self.term()? else { return Ok(None) };
        let first = self.peek();
        // Blanks are tokens, so this field follows the term directly; otherwise it is an argument.
        if first.kind != TokenKind::Field {
            return Ok(Some(head));
        }
        let mut fields = Vec::new();
        while self.peek().kind == TokenKind::Field {
            fields.push(self.next().value.trim_start_matches('.').to_owned());
        }
        // Go positions a chain at its first `.`, not at its head.
        let position = first.position;
        let kind = match head.kind {
            TermKind::Field(mut path) => {
                path.append(&mut fields);
                TermKind::Field(path)
            }
            TermKind::Variable(mut path) => {
                path.append(&mut fields);
                TermKind::Variable(path)
            }
            TermKind::Bool(_) | TermKind::String { .. } | TermKind::Number(_) | TermKind::Nil | TermKind::Dot => {
                let shown = crate::text::quoted(head.to_string().as_bytes());
                return self.error(format!("unexpected . after term {shown}"));
            }
            _ => TermKind::Chain { head: Box::new(head), fields },
        };
        Ok(Some(Term { position, kind }))
    }

    fn term(&mut self) -> ParseResult<Option<Term>> {
        let token = self.next_non_space();
        let kind = match token.kind {
            TokenKind::Identifier => match self.function(&token.value) {
                Some(function) => TermKind::Function { name: token.value.to_string(), function },
                None => {
                    return self.error(format!("function {} not defined", crate::text::quoted(token.value.as_bytes())));
                }
            },
            TokenKind::Dot => TermKind::Dot,
            TokenKind::Keyword(Keyword::Nil) => TermKind::Nil,
            TokenKind::Variable => {
                if !self.tree.variables.iter().any(|name| *name == token.value) {
                    return self.error(format!("undefined variable {}", crate::text::quoted(token.value.as_bytes())));
                }
                TermKind::Variable(vec![token.value.to_string()])
            }
            TokenKind::Field => TermKind::Field(vec![token.value.trim_start_matches('.').to_owned()]),
            TokenKind::Bool => TermKind::Bool(token.value == "true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let number = match token.kind {
                    TokenKind::CharConstant => Number::character(&token.value),
                    TokenKind::Complex => Number::complex(&token.value),
                    _ => Number::parse(&token.value),
                };
                match number {
                    Ok(number) => TermKind::Number(number),
                    Err(reason) => return self.error(reason),
                }
            }
            TokenKind::LeftParenthesis => TermKind::Pipe(
                self.nested(|parser| parser.pipeline("parenthesized pipeline", TokenKind::RightParenthesis))?,
            ),
            TokenKind::String | TokenKind::RawString => match unquote(token.value.as_bytes()) {
                Some(value) => TermKind::String { literal: token.value.to_string(), value },
                None => return self.error("invalid syntax"),
            },
            _ => {
                self.back();
                return Ok(None);
            }
        };
        // A parenthesis has the position of its content.
        let position = match &kind {
            TermKind::Pipe(pipe) => pipe.position,
            _ => token.position,
        };
        Ok(Some(Term { position, kind }))
    }

    fn function(&self, name: &str) -> Option<&'static Function> {
        if self.syntax.data_function.as_deref() == Some(name) {
            return Some(&functions::DATA);
        }
        functions::find(name)
    }
}
