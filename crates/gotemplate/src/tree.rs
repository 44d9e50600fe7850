//! The parsed template, and its canonical form for messages.

use std::fmt::{self, Display, Formatter};

use crate::functions::Function;
use crate::number::Number;
use crate::text::quoted;

/// Nodes in sequence.
#[derive(Debug, Default)]
pub(crate) struct NodeList {
    pub(crate) nodes: Vec<Node>,
}

/// A piece of text or an action.
#[derive(Debug)]
pub(crate) enum Node {
    Text { position: usize, text: String },
    Action { position: usize, pipe: Pipe },
    Branch(Box<Branch>),
    Template { position: usize, name: String, pipe: Option<Pipe> },
    Break { position: usize },
    Continue { position: usize },
}

/// The three actions with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    If,
    Range,
    With,
}

/// `if`, `range` or `with`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) kind: BranchKind,
    pub(crate) position: usize,
    pub(crate) pipe: Pipe,
    pub(crate) list: NodeList,
    pub(crate) otherwise: Option<NodeList>,
}

/// Commands joined by `|`, optionally with variables for the result.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    pub(crate) position: usize,
    pub(crate) variables: Vec<String>,
    /// Whether the operator is `=` instead of `:=`.
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

/// A function or value with its arguments.
#[derive(Debug, Default)]
pub(crate) struct Command {
    pub(crate) position: usize,
    pub(crate) terms: Vec<Term>,
}

/// An operand with its position in the text.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) position: usize,
    pub(crate) kind: TermKind,
}

/// Kinds of operands.
#[derive(Debug)]
pub(crate) enum TermKind {
    Function {
        name: String,
        function: &'static Function,
    },
    Field(Vec<String>),
    /// A variable, and fields of its value.
    Variable(Vec<String>),
    Chain {
        head: Box<Term>,
        fields: Vec<String>,
    },
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    String {
        literal: String,
        value: Vec<u8>,
    },
    Pipe(Pipe),
}

impl NodeList {
    /// Whether the list has only blank text, so that a later definition of the same name may replace it.
    pub(crate) fn is_blank(&self) -> bool {
        self.nodes.iter().all(|node| matches!(node, Node::Text { text, .. } if text.trim().is_empty()))
    }
}

impl Node {
    pub(crate) fn position(&self) -> usize {
        match self {
            Node::Text { position, .. }
            | Node::Action { position, .. }
            | Node::Template { position, .. }
            | Node::Break { position }
            | Node::Continue { position } => *position,
            Node::Branch(branch) => branch.position,
        }
    }
}

impl Display for NodeList {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.nodes.iter().try_for_each(|node| node.fmt(f))
    }
}

// Go prints nodes with braces, regardless of the template's delimiters.
impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Text { text, .. } => f.write_str(text),
            Node::Action { pipe, .. } => write!(f, "{{{{{pipe}}}}}"),
            Node::Branch(branch) => branch.fmt(f),
            Node::Template { name, pipe, .. } => {
                write!(f, "{{{{template {}", quoted(name.as_bytes()))?;
                if let Some(pipe) = pipe {
                    write!(f, " {pipe}")?;
                }
                f.write_str("}}")
            }
            Node::Break { .. } => f.write_str("{{break}}"),
            Node::Continue { .. } => f.write_str("{{continue}}"),
        }
    }
}

impl Display for Branch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            BranchKind::If => "if",
            BranchKind::Range => "range",
            BranchKind::With => "with",
        };
        write!(f, "{{{{{name} {}}}}}{}", self.pipe, self.list)?;
        if let Some(otherwise) = &self.otherwise {
            write!(f, "{{{{else}}}}{otherwise}")?;
        }
        f.write_str("{{end}}")
    }
}

impl Display for Pipe {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.variables.is_empty() {
            write!(f, "{} {} ", self.variables.join(", "), if self.assigns { "=" } else { ":=" })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            command.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Command {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            match &term.kind {
                TermKind::Pipe(pipe) => write!(f, "({pipe})")?,
                _ => term.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TermKind::Function { name, .. } => f.write_str(name),
            TermKind::Field(fields) => fields.iter().try_for_each(|field| write!(f, ".{field}")),
            TermKind::Variable(parts) => f.write_str(&parts.join(".")),
            TermKind::Chain { head, fields } => {
                match &head.kind {
                    TermKind::Pipe(pipe) => write!(f, "({pipe})")?,
                    _ => head.fmt(f)?,
                }
                fields.iter().try_for_each(|field| write!(f, ".{field}"))
            }
            TermKind::Dot => f.write_str("."),
            TermKind::Nil => f.write_str("nil"),
            TermKind::Bool(value) => write!(f, "{value}"),
            TermKind::Number(number) => f.write_str(&number.text),
            TermKind::String { literal, .. } => f.write_str(literal),
            TermKind::Pipe(pipe) => pipe.fmt(f),
        }
    }
}
