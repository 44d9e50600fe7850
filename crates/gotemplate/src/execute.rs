//! Tree + data → text.
//!
//! Lists, branches, loops and template calls are frames on an explicit stack, so that recursive templates use the heap
//! and not the stack of the thread. Only pipelines in parentheses recurse, and the parser limits those.
//!
//! `at` records the current node, which determines the position in error messages. It is therefore updated at the same
//! points as in Go.

use std::fmt::Display;
use std::slice;

use crate::error::ExecutionError;
use crate::functions::{Call, Context, Function, Parameter, SpecialFunction};
use crate::limits::FunctionError;
use crate::print;
use crate::template::{MissingKey, Template};
use crate::text::quoted;
use crate::time;
use crate::tree::{Branch, BranchKind, Command, Node, NodeList, Pipe, Term, TermKind};
use crate::value::{self, ElementType, EntryList, Value};

/// A value with the static type that Go's reflection sees.
#[derive(Clone, Debug)]
pub(crate) enum Operand {
    /// No value, such as the result of a pipeline that yields nil.
    Invalid,
    /// A value with its own type.
    Concrete(Value),
    /// A value of type `interface {}`, from a map or list; it may be nil.
    Interface(Value),
}

impl Operand {
    fn into_value(self) -> Value {
        match self {
            Operand::Invalid => Value::Nil,
            Operand::Concrete(value) | Operand::Interface(value) => value,
        }
    }

    /// Takes the value out of its interface, as Go does after each command of a pipeline.
    fn unwrapped(self) -> Operand {
        match self {
            Operand::Interface(Value::Nil) => Operand::Invalid,
            Operand::Interface(value) => Operand::Concrete(value),
            other => other,
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Operand::Invalid => "<nil>",
            Operand::Concrete(value) => value.type_name(),
            Operand::Interface(_) => "interface {}",
        }
    }
}

type ExecutionResult<T> = Result<T, Box<ExecutionError>>;

#[derive(Clone, Copy)]
enum ExecutionPoint<'t> {
    Nothing,
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Term(&'t Term),
}

/// The arguments of a call, and the dot with which they are evaluated.
struct CallArguments<'a, 't> {
    dot: &'a Operand,
    arguments: &'t [Term],
    /// The result of the previous command in the pipeline, which becomes the last argument.
    piped: Option<Operand>,
}

impl<'a> CallArguments<'a, '_> {
    fn nothing(dot: &'a Operand) -> Self {
        CallArguments { dot, arguments: &[], piped: None }
    }

    fn is_nothing(&self) -> bool {
        self.arguments.is_empty() && self.piped.is_none()
    }
}

struct Variable<'t> {
    name: &'t str,
    value: Operand,
}

enum Frame<'t> {
    /// Nodes that have not been executed yet.
    List {
        nodes: slice::Iter<'t, Node>,
        dot: Operand,
    },
    /// The end of an `if` or `with` and of its variables.
    Scope {
        visible: usize,
    },
    Range(Box<RangeFrame<'t>>),
    /// The end of a called template.
    Call {
        executing: &'t str,
        first_variable: usize,
    },
}

struct RangeFrame<'t> {
    branch: &'t Branch,
    source: RangeSource,
    /// Variables before the loop.
    outside: usize,
    /// Variables at the start of each round.
    inside: usize,
}

enum RangeSource {
    Numbers { next: i64, end: i64, make: fn(i64) -> Value },
    List { list: value::List, next: usize },
    Map { entries: std::vec::IntoIter<(crate::text::Text, Value)>, element: ElementType },
}

pub(crate) struct Executor<'t, 'c> {
    template: &'t Template,
    context: &'c Context<'c>,
    executing: &'t str,
    at: ExecutionPoint<'t>,
    variables: Vec<Variable<'t>>,
    first_variable: usize,
    depth: usize,
    frames: Vec<Frame<'t>>,
    output: Vec<u8>,
}

impl<'t, 'c> Executor<'t, 'c> {
    pub(crate) fn new(template: &'t Template, context: &'c Context<'c>) -> Executor<'t, 'c> {
        Executor {
            template,
            context,
            executing: template.name(),
            at: ExecutionPoint::Nothing,
            variables: Vec::new(),
            first_variable: 0,
            depth: 0,
            frames: Vec::new(),
            output: Vec::new(),
        }
    }

    pub(crate) fn run(mut self) -> Result<Vec<u8>, ExecutionError> {
        self.execute().map_err(|error| *error)?;
        Ok(self.output)
    }

    fn execute(&mut self) -> ExecutionResult<()> {
        let Some((_, list)) = self.template.tree(self.template.name()) else {
            return self.error(format!("{} is an incomplete or empty template", quoted(self.executing.as_bytes())));
        };
        let dot = match self.template.syntax().data_function {
            Some(_) => Operand::Invalid,
            None => Operand::Concrete(self.context.data.clone()).unwrapped_nil(),
        };
        self.variables.push(Variable { name: "$", value: dot.clone() });
        self.frames.push(Frame::List { nodes: list.nodes.iter(), dot });
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::List { nodes, dot } => match nodes.next() {
                    Some(Node::Text { text, .. }) => self.write(text.as_bytes())?,
                    Some(node) => {
                        let dot = dot.clone();
                        self.node(node, dot)?;
                    }
                    None => {
                        self.frames.pop();
                    }
                },
                Frame::Scope { visible } => {
                    self.variables.truncate(*visible);
                    self.frames.pop();
                }
                Frame::Range(_) => self.next_round()?,
                Frame::Call { executing, first_variable } => {
                    self.executing = executing;
                    // The variables of a called template end with it.
                    self.variables.truncate(self.first_variable);
                    self.first_variable = *first_variable;
                    self.depth -= 1;
                    self.frames.pop();
                }
            }
        }
        Ok(())
    }

    // Messages.

    fn at_term(&mut self, term: &'t Term) {
        self.at = ExecutionPoint::Term(term);
    }

    fn error<T>(&self, reason: impl Into<String>) -> ExecutionResult<T> {
        Err(self.located(reason.into(), false))
    }

    fn located(&self, reason: String, is_limit: bool) -> Box<ExecutionError> {
        let place: Option<(usize, &dyn Display)> = match self.at {
            ExecutionPoint::Nothing => None,
            ExecutionPoint::Node(node) => Some((node.position(), node)),
            ExecutionPoint::Pipe(pipe) => Some((pipe.position, pipe)),
            ExecutionPoint::Command(command) => Some((command.position, command)),
            ExecutionPoint::Term(term) => Some((term.position, term)),
        };
        let before = place.map(|(position, _)| self.template.text().get(..position).unwrap_or_default());
        Box::new(ExecutionError {
            name: self.template.name().to_owned(),
            line: before.map(|before| before.bytes().filter(|byte| *byte == b'\n').count() + 1),
            column: before.map_or(0, |before| before.len() - before.rfind('\n').map_or(0, |at| at + 1)),
            executing: self.executing.to_owned(),
            snippet: place.map(|(_, node)| node.to_string()).unwrap_or_default(),
            reason,
            is_limit,
        })
    }

    fn fail<T>(&self, failure: FunctionError) -> ExecutionResult<T> {
        Err(self.located(failure.reason, failure.is_limit))
    }

    fn spend(&self, steps: u64) -> ExecutionResult<()> {
        self.context.budget.step(steps).or_else(|failure| self.fail(failure))
    }

    // Nodes.

    fn write(&mut self, bytes: &[u8]) -> ExecutionResult<()> {
        self.spend(1)?;
        self.output.extend_from_slice(bytes);
        self.check_output()
    }

    fn check_output(&self) -> ExecutionResult<()> {
        let most = self.context.budget.limits.output_bytes;
        if self.output.len() > most {
            return self.fail(FunctionError::limit(format!("exceeded the limit of {most} bytes of output")));
        }
        Ok(())
    }

    fn node(&mut self, node: &'t Node, dot: Operand) -> ExecutionResult<()> {
        self.at = ExecutionPoint::Node(node);
        self.spend(1)?;
        match node {
            // `execute` writes text itself, which needs no copy of the dot. This case only completes the match.
            Node::Text { text, .. } => self.write(text.as_bytes()),
            Node::Action { pipe, .. } => {
                let value = self.pipeline(&dot, pipe)?;
                // An action that declares or assigns variables prints nothing.
                if pipe.variables.is_empty() {
                    // The pipeline moved `at`, but Go reports a failure to print at the action.
                    self.at = ExecutionPoint::Node(node);
                    self.print(value)?;
                }
                Ok(())
            }
            Node::Branch(branch) if branch.kind == BranchKind::Range => self.range(branch, dot),
            Node::Branch(branch) => self.branch(branch, dot),
            Node::Template { name, pipe, .. } => self.template_call(name, pipe.as_ref(), &dot),
            Node::Break { .. } => {
                // The parser refuses `break` outside a loop of the same template, so this never leaves a call.
                while let Some(frame) = self.frames.pop() {
                    if let Frame::Range(range) = frame {
                        self.variables.truncate(range.outside);
                        break;
                    }
                }
                Ok(())
            }
            Node::Continue { .. } => {
                // Unfinished scopes of the round go as well; their variables lie above `inside`.
                while let Some(frame) = self.frames.last() {
                    if let Frame::Range(range) = frame {
                        self.variables.truncate(range.inside);
                        break;
                    }
                    self.frames.pop();
                }
                Ok(())
            }
        }
    }

    fn print(&mut self, value: Operand) -> ExecutionResult<()> {
        match value {
            Operand::Invalid => self.output.extend_from_slice(b"<no value>"),
            Operand::Concrete(Value::String(text)) => self.output.extend_from_slice(&text),
            Operand::Concrete(value) | Operand::Interface(value) => {
                // A single value can at most double the output before the check below refuses it.
                match print::print(&self.context.budget, &[value]) {
                    Ok(bytes) => self.output.extend_from_slice(&bytes),
                    Err(failure) => return self.fail(failure),
                }
            }
        }
        self.check_output()
    }

    fn push_list(&mut self, list: &'t NodeList, dot: Operand) {
        self.frames.push(Frame::List { nodes: list.nodes.iter(), dot });
    }

    fn branch(&mut self, branch: &'t Branch, dot: Operand) -> ExecutionResult<()> {
        // Before the pipeline, so that the variable of `if $x := …` ends with its branch.
        let visible = self.variables.len();
        let value = self.pipeline(&dot, &branch.pipe)?;
        self.frames.push(Frame::Scope { visible });
        let truth = match &value {
            Operand::Invalid => false,
            Operand::Concrete(value) | Operand::Interface(value) => value.is_true(),
        };
        if truth {
            let dot = if branch.kind == BranchKind::With { value } else { dot };
            self.push_list(&branch.list, dot);
        } else if let Some(otherwise) = &branch.otherwise {
            self.push_list(otherwise, dot);
        }
        Ok(())
    }

    fn template_call(&mut self, name: &str, pipe: Option<&'t Pipe>, dot: &Operand) -> ExecutionResult<()> {
        let Some((name, list)) = self.template.tree(name) else {
            return self.error(format!("template {} not defined", quoted(name.as_bytes())));
        };
        let most = self.context.budget.limits.template_depth;
        if self.depth >= most {
            return self.fail(FunctionError::limit(format!("exceeded maximum template depth ({most})")));
        }
        let dot = match pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Operand::Invalid,
        };
        self.depth += 1;
        self.frames.push(Frame::Call { executing: self.executing, first_variable: self.first_variable });
        // Go has no dynamic scope: a called template sees its own `$` and no variables of its caller.
        self.first_variable = self.variables.len();
        self.executing = name;
        self.variables.push(Variable { name: "$", value: dot.clone() });
        self.push_list(list, dot);
        Ok(())
    }

    fn range(&mut self, branch: &'t Branch, dot: Operand) -> ExecutionResult<()> {
        let outside = self.variables.len();
        let value = self.pipeline(&dot, &branch.pipe)?.into_value();
        let two = branch.pipe.variables.len() > 1;
        let numbers = |end, make| RangeSource::Numbers { next: 0, end, make };
        let source = match value {
            Value::Int(_) | Value::Int64(_) | Value::Byte(_) | Value::Named(..) if two => {
                let shown = print::shown(&value);
                return self.error(format!("can't use {shown} to iterate over more than one variable"));
            }
            Value::Int(end) => numbers(end, Value::Int),
            Value::Int64(end) => numbers(end, Value::Int64),
            Value::Byte(end) => numbers(end.into(), |number| Value::Byte(number.to_le_bytes()[0])),
            Value::Named(_, end) => numbers(end, Value::Int64),
            Value::List(list) => RangeSource::List { list, next: 0 },
            Value::Map(map) => {
                // The loop runs over a copy, as in Go: its body may change the map with `set`.
                self.spend(map.len() as u64)?;
                let entries: EntryList = map.snapshot();
                RangeSource::Map { entries: entries.into_iter(), element: map.element() }
            }
            // Nil is probably a missing list, so Go treats it as an empty list.
            Value::Nil => numbers(0, Value::Int),
            other => {
                let shown = print::printed(&self.context.budget, &other).or_else(|failure| self.fail(failure))?;
                return self.error(format!("range can't iterate over {shown}"));
            }
        };
        let mut range = RangeFrame { branch, source, outside, inside: self.variables.len() };
        match range.source.next() {
            Some((index, item)) => {
                self.frames.push(Frame::Range(Box::new(range)));
                self.round(branch, index, item)
            }
            None => {
                // The `else` of a loop still sees the variables of the pipeline.
                self.frames.push(Frame::Scope { visible: outside });
                if let Some(otherwise) = &branch.otherwise {
                    self.push_list(otherwise, dot);
                }
                Ok(())
            }
        }
    }

    fn next_round(&mut self) -> ExecutionResult<()> {
        let Some(Frame::Range(range)) = self.frames.last_mut() else { return Ok(()) };
        self.variables.truncate(range.inside);
        let branch = range.branch;
        match range.source.next() {
            Some((index, item)) => self.round(branch, index, item),
            None => {
                let outside = range.outside;
                self.variables.truncate(outside);
                self.frames.pop();
                Ok(())
            }
        }
    }

    fn round(&mut self, branch: &'t Branch, index: Operand, item: Operand) -> ExecutionResult<()> {
        // The body may be empty, so the round itself counts as a step.
        self.spend(1)?;
        let pipe = &branch.pipe;
        match pipe.variables.as_slice() {
            [] => {}
            [only] if pipe.assigns => self.assign(only, item.clone())?,
            [key, value, ..] if pipe.assigns => {
                self.assign(key, index)?;
                self.assign(value, item.clone())?;
            }
            [_] => self.set_top(1, item.clone()),
            _ => {
                // The pipeline declared the key first, so the value is on top.
                self.set_top(1, item.clone());
                self.set_top(2, index);
            }
        }
        self.push_list(&branch.list, item);
        Ok(())
    }

    // Variables.

    fn assign(&mut self, name: &str, value: Operand) -> ExecutionResult<()> {
        let visible = self.variables.get_mut(self.first_variable..).unwrap_or_default();
        // From the end, because an inner variable hides an outer one of the same name.
        match visible.iter_mut().rev().find(|variable| variable.name == name) {
            Some(variable) => {
                variable.value = value;
                Ok(())
            }
            None => self.error(format!("undefined variable: {name}")),
        }
    }

    fn set_top(&mut self, from_top: usize, value: Operand) {
        let at = self.variables.len().checked_sub(from_top);
        if let Some(variable) = at.and_then(|at| self.variables.get_mut(at)) {
            variable.value = value;
        }
    }

    fn variable(&self, name: &str) -> ExecutionResult<Operand> {
        let visible = self.variables.get(self.first_variable..).unwrap_or_default();
        match visible.iter().rev().find(|variable| variable.name == name) {
            Some(variable) => Ok(variable.value.clone()),
            // The parser accepts `$x := $x`, because it declares the variable before it reads the value.
            None => self.error(format!("undefined variable: {name}")),
        }
    }

    // Pipelines.

    fn pipeline(&mut self, dot: &Operand, pipe: &'t Pipe) -> ExecutionResult<Operand> {
        self.at = ExecutionPoint::Pipe(pipe);
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?.unwrapped());
        }
        let value = value.unwrap_or(Operand::Invalid);
        // For `range` this stores the whole collection; each round then replaces it.
        for name in &pipe.variables {
            if pipe.assigns {
                self.assign(name, value.clone())?;
            } else {
                self.variables.push(Variable { name, value: value.clone() });
            }
        }
        Ok(value)
    }

    /// Evaluates a command; `piped` is the result of the previous command.
    fn command(&mut self, dot: &Operand, command: &'t Command, piped: Option<Operand>) -> ExecutionResult<Operand> {
        let Some((first, arguments)) = command.terms.split_first() else { return Ok(Operand::Invalid) };
        let given = CallArguments { dot, arguments, piped };
        match &first.kind {
            TermKind::Field(fields) => {
                self.at_term(first);
                self.fields(dot.clone(), first, fields, given)
            }
            TermKind::Chain { head, fields } => self.chain(first, head, fields, given),
            TermKind::Function { name, function } => {
                self.at_term(first);
                self.call(None, function, name, ExecutionPoint::Command(command), given)
            }
            TermKind::Pipe(pipe) => {
                self.refuse_arguments(first, &given)?;
                self.pipeline(dot, pipe)
            }
            TermKind::Variable(path) => self.variable_path(first, path, given),
            _ => {
                self.at_term(first);
                self.refuse_arguments(first, &given)?;
                match &first.kind {
                    TermKind::Dot => Ok(dot.clone()),
                    TermKind::Nil => self.error("nil is not a command"),
                    _ => self.constant(first),
                }
            }
        }
    }

    fn refuse_arguments(&self, first: &Term, given: &CallArguments<'_, 't>) -> ExecutionResult<()> {
        if given.is_nothing() {
            return Ok(());
        }
        self.error(format!("can't give argument to non-function {first}"))
    }

    /// Evaluates a constant with its default type.
    fn constant(&mut self, term: &'t Term) -> ExecutionResult<Operand> {
        self.at_term(term);
        let value = match &term.kind {
            TermKind::Bool(value) => Value::Bool(*value),
            TermKind::String { value, .. } => {
                // Each evaluation copies the text, so a constant in a loop counts in every round.
                if let Err(failure) = self.context.budget.create(value.len()) {
                    return self.fail(failure);
                }
                Value::string(value)
            }
            // `1.0` is a float and an integer at once. The order of the cases, which is Go's, decides about its type.
            TermKind::Number(number) => match (number.complex, number.float, number.integer) {
                (Some((real, imaginary)), ..) => Value::Complex(real, imaginary),
                (None, Some(float), _) if number.is_written_as_float() => Value::Float(float),
                (None, _, Some(integer)) => Value::Int(integer),
                _ => return self.error(format!("{} overflows int", number.text)),
            },
            _ => return self.error(format!("can't evaluate command {}", quoted(term.to_string().as_bytes()))),
        };
        Ok(Operand::Concrete(value))
    }

    fn chain(
        &mut self,
        term: &'t Term,
        head: &'t Term,
        fields: &'t [String],
        given: CallArguments<'_, 't>,
    ) -> ExecutionResult<Operand> {
        self.at_term(term);
        let receiver = self.operand(given.dot, head)?;
        self.fields(receiver, term, fields, given)
    }

    fn variable_path(
        &mut self,
        term: &'t Term,
        path: &'t [String],
        given: CallArguments<'_, 't>,
    ) -> ExecutionResult<Operand> {
        self.at_term(term);
        let (name, fields) = path.split_first().map_or(("$", &[][..]), |(name, fields)| (name.as_str(), fields));
        let value = self.variable(name)?;
        if fields.is_empty() {
            self.refuse_arguments(term, &given)?;
            return Ok(value);
        }
        self.fields(value, term, fields, given)
    }

    /// Evaluates fields of fields; only the last one takes the arguments.
    fn fields(
        &mut self,
        mut receiver: Operand,
        term: &'t Term,
        fields: &'t [String],
        given: CallArguments<'_, 't>,
    ) -> ExecutionResult<Operand> {
        let Some((last, before)) = fields.split_last() else { return Ok(receiver) };
        for field in before {
            receiver = self.field(receiver, term, field, CallArguments::nothing(given.dot))?;
        }
        self.field(receiver, term, last, given)
    }

    fn field(
        &mut self,
        receiver: Operand,
        term: &'t Term,
        field: &'t str,
        given: CallArguments<'_, 't>,
    ) -> ExecutionResult<Operand> {
        let type_name = receiver.type_name();
        let value = match receiver {
            Operand::Invalid => {
                // Go treats data that is nil like a map without the key.
                if self.template.syntax().missing_key == MissingKey::Error {
                    return self.error(format!("nil data; no entry for key {}", quoted(field.as_bytes())));
                }
                return Ok(Operand::Invalid);
            }
            Operand::Interface(Value::Nil) => {
                return self.error(format!("nil pointer evaluating {type_name}.{field}"));
            }
            Operand::Interface(value) | Operand::Concrete(value) => value,
        };
        if let Some(method) = time::method(&value, field) {
            return self.call(Some(value), method, field, ExecutionPoint::Term(term), given);
        }
        if let Value::Map(map) = &value {
            if !given.is_nothing() {
                return self.error(format!("{field} is not a method but has arguments"));
            }
            return match map.get(field.as_bytes()) {
                Some(item) if map.element() == ElementType::Any => Ok(Operand::Interface(item)),
                Some(item) => Ok(Operand::Concrete(item)),
                None if self.template.syntax().missing_key == MissingKey::Error => {
                    self.error(format!("map has no entry for key {}", quoted(field.as_bytes())))
                }
                None => Ok(Operand::Invalid),
            };
        }
        self.error(format!("can't evaluate field {field} in type {type_name}"))
    }

    // Calls.

    /// Calls a function, or a method on a receiver. An error of the call is reported at `node`.
    fn call(
        &mut self,
        receiver: Option<Value>,
        function: &'static Function,
        name: &'t str,
        node: ExecutionPoint<'t>,
        given: CallArguments<'_, 't>,
    ) -> ExecutionResult<Operand> {
        self.spend(1)?;
        self.check_count(function, name, &given)?;
        if let SpecialFunction::And | SpecialFunction::Or = function.special {
            return self.decide(function.special == SpecialFunction::Or, given);
        }
        let CallArguments { dot, arguments, piped } = given;
        let parameter =
            |index: usize| function.parameters.get(index).copied().or(function.rest).unwrap_or(Parameter::Any);
        let mut call = Call {
            context: self.context,
            name: function.name,
            arguments: Vec::with_capacity(arguments.len() + 2),
            nil_is_interface: false,
        };
        call.arguments.extend(receiver);
        for (index, argument) in arguments.iter().enumerate() {
            let kind = parameter(index);
            if kind == Parameter::Reflect {
                // These functions take a `reflect.Value`, which distinguishes a nil interface from a missing value.
                let operand = self.reflected(dot, argument)?;
                call.nil_is_interface |= matches!(operand, Operand::Interface(Value::Nil));
                call.arguments.push(operand.into_value());
            } else {
                call.arguments.push(self.argument(dot, argument, kind)?);
            }
        }
        if let Some(operand) = piped {
            call.arguments.push(self.checked(operand, parameter(arguments.len()))?);
        }
        if function.special == SpecialFunction::Call {
            // Values are never functions, so only the message differs.
            let reason = match (arguments.first(), call.arguments.first()) {
                (_, None | Some(Value::Nil)) => "call of nil".into(),
                (Some(callee), Some(value)) => format!("non-function {callee} of type {}", value.type_name()),
                (None, Some(value)) => {
                    let shown = match value {
                        Value::String(text) => crate::text::lossy(text),
                        other => format!("<{} Value>", other.type_name()),
                    };
                    format!("non-function {shown} of type {}", value.type_name())
                }
            };
            // Evaluating the arguments moved `at`, but Go reports a failing call at the whole command.
            self.at = node;
            return self.error(format!("error calling call: {reason}"));
        }
        match (function.run)(&mut call) {
            Ok(value) if function.special == SpecialFunction::Interface => Ok(Operand::Interface(value)),
            // Go's functions that can return nil declare the result as `interface {}`.
            Ok(Value::Nil) => Ok(Operand::Interface(Value::Nil)),
            Ok(value) => Ok(Operand::Concrete(value)),
            Err(failure) => {
                self.at = node;
                Err(self.located(format!("error calling {name}: {}", failure.reason), failure.is_limit))
            }
        }
    }

    fn check_count(&self, function: &Function, name: &str, given: &CallArguments<'_, 't>) -> ExecutionResult<()> {
        let count = given.arguments.len() + usize::from(given.piped.is_some());
        let fixed = function.parameters.len();
        if function.rest.is_some() {
            if count < fixed {
                // Go counts only the written arguments here. The message below also counts the piped argument.
                let count = given.arguments.len();
                return self.error(format!("wrong number of args for {name}: want at least {fixed} got {count}"));
            }
        } else if count != fixed {
            return self.error(format!("wrong number of args for {name}: want {fixed} got {count}"));
        }
        Ok(())
    }

    /// Evaluates `and` or `or`: arguments after the one that decides are not evaluated.
    fn decide(&mut self, stops_at: bool, given: CallArguments<'_, 't>) -> ExecutionResult<Operand> {
        let mut value = Operand::Invalid;
        for argument in given.arguments {
            value = self.reflected(given.dot, argument)?;
            let truth = match &value {
                Operand::Invalid => false,
                Operand::Concrete(value) | Operand::Interface(value) => value.is_true(),
            };
            if truth == stops_at {
                return Ok(value);
            }
        }
        // The piped value is the last argument. If no earlier argument decides, the result is the piped value.
        Ok(given.piped.unwrap_or(value))
    }

    /// Evaluates an operand that is not a constant, with any type.
    fn operand(&mut self, dot: &Operand, term: &'t Term) -> ExecutionResult<Operand> {
        self.at_term(term);
        match &term.kind {
            TermKind::Dot => Ok(dot.clone()),
            TermKind::Field(fields) => self.fields(dot.clone(), term, fields, CallArguments::nothing(dot)),
            TermKind::Variable(path) => self.variable_path(term, path, CallArguments::nothing(dot)),
            TermKind::Pipe(pipe) => self.pipeline(dot, pipe),
            TermKind::Function { name, function } => {
                self.call(None, function, name, ExecutionPoint::Term(term), CallArguments::nothing(dot))
            }
            TermKind::Chain { head, fields } => self.chain(term, head, fields, CallArguments::nothing(dot)),
            _ => self.constant(term),
        }
    }

    /// Evaluates an argument with its static type, for a function that accepts any value.
    fn reflected(&mut self, dot: &Operand, term: &'t Term) -> ExecutionResult<Operand> {
        match &term.kind {
            TermKind::Nil => {
                self.at_term(term);
                Ok(Operand::Invalid)
            }
            _ => self.operand(dot, term),
        }
    }

    /// Evaluates an argument and checks its type.
    fn argument(&mut self, dot: &Operand, term: &'t Term, parameter: Parameter) -> ExecutionResult<Value> {
        self.at_term(term);
        match &term.kind {
            TermKind::Nil => match parameter.zero() {
                Some(zero) => Ok(zero),
                None => self.error(format!("cannot assign nil to {}", parameter.type_name())),
            },
            TermKind::Bool(_) | TermKind::Number(_) | TermKind::String { .. } => self.typed_constant(term, parameter),
            _ => {
                let operand = self.operand(dot, term)?;
                self.checked(operand, parameter)
            }
        }
    }

    /// Evaluates a constant as the type of a parameter, because a constant has no type until it is used.
    fn typed_constant(&mut self, term: &'t Term, parameter: Parameter) -> ExecutionResult<Value> {
        let expected = match (parameter, &term.kind) {
            (Parameter::Any | Parameter::Reflect, _) => return self.constant(term).map(Operand::into_value),
            (Parameter::Bool, TermKind::Bool(value)) => return Ok(Value::Bool(*value)),
            (Parameter::Bool, _) => "bool",
            (Parameter::String, TermKind::String { .. }) => return self.constant(term).map(Operand::into_value),
            (Parameter::String, _) => "string",
            // `1.0` is accepted too: a constant fits every type that holds its value.
            (Parameter::Int, TermKind::Number(number)) if number.integer.is_some() => {
                return Ok(Value::Int(number.integer.unwrap_or_default()));
            }
            (Parameter::Int, _) => "integer",
            (Parameter::Float, TermKind::Number(number)) if number.float.is_some() => {
                return Ok(Value::Float(number.float.unwrap_or_default()));
            }
            (Parameter::Float, _) => "float",
            (Parameter::Dict | Parameter::Time, _) => {
                return self.error(format!("can't handle {term} for arg of type {}", parameter.type_name()));
            }
        };
        self.error(format!("expected {expected}; found {term}"))
    }

    /// Checks that a value can be assigned to a parameter.
    fn checked(&self, operand: Operand, parameter: Parameter) -> ExecutionResult<Value> {
        match operand {
            Operand::Invalid => match parameter.zero() {
                Some(zero) => Ok(zero),
                None => self.error(format!("invalid value; expected {}", parameter.type_name())),
            },
            Operand::Concrete(value) | Operand::Interface(value) if parameter.accepts(&value) => Ok(value),
            // A nil in an interface does not have a type, so Go names the interface.
            Operand::Interface(Value::Nil) => {
                self.error(format!("wrong type for value; expected {}; got interface {{}}", parameter.type_name()))
            }
            Operand::Concrete(value) | Operand::Interface(value) => self.error(format!(
                "wrong type for value; expected {}; got {}",
                parameter.type_name(),
                value.type_name()
            )),
        }
    }
}

impl Operand {
    /// Converts a nil that represents missing data into no value.
    fn unwrapped_nil(self) -> Operand {
        match self {
            Operand::Concrete(Value::Nil) => Operand::Invalid,
            other => other,
        }
    }
}

impl RangeSource {
    /// Returns index and item of the next round; numbers have no index.
    fn next(&mut self) -> Option<(Operand, Operand)> {
        match self {
            RangeSource::Numbers { next, end, make } => {
                if *next >= *end {
                    return None;
                }
                let number = *next;
                *next += 1;
                Some((Operand::Invalid, Operand::Concrete(make(number))))
            }
            RangeSource::List { list, next } => {
                let item = list.items().get(*next)?.clone();
                let index = Operand::Concrete(Value::Int(i64::try_from(*next).unwrap_or(i64::MAX)));
                *next += 1;
                Some((index, typed(item, list.element())))
            }
            RangeSource::Map { entries, element } => {
                let (key, item) = entries.next()?;
                Some((Operand::Concrete(Value::String(key)), typed(item, *element)))
            }
        }
    }
}

/// Gives an item of a list or map its static type from the container.
fn typed(item: Value, element: ElementType) -> Operand {
    if element == ElementType::Any { Operand::Interface(item) } else { Operand::Concrete(item) }
}
