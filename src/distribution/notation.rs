//! The reader of the CRD notation: text in, checked lines out. What the lines mean is in the module documentation of
//! [`super`]; turning them into schemas is `schema.rs`.

use std::collections::HashMap;

use serde_json::Value;

use super::gate::Gate;

/// A mistake in a notation file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct NotationError {
    pub file: &'static str,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
    pub message: String,
}

/// Where a line came from, so that mistakes found later can still be located.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub file: &'static str,
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub fn error(self, message: impl Into<String>) -> NotationError {
        NotationError { file: self.file, line: self.line, column: self.column, message: message.into() }
    }
}

/// Everything the notation says.
#[derive(Debug, Default)]
pub(super) struct Notation {
    pub annotations: Vec<(Gated<&'static str>, &'static str)>,
    patterns: HashMap<&'static str, &'static str>,
    columns: HashMap<&'static str, Vec<Column>>,
    types: HashMap<&'static str, Field>,
    pub crds: Vec<Crd>,
}

/// A value and where it holds.
#[derive(Debug, Clone)]
pub(super) struct Gated<T> {
    pub value: T,
    pub gate: Gate<'static>,
}

#[derive(Debug)]
pub(super) struct Crd {
    pub group: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub component: &'static str,
    pub short_names: Vec<Gated<&'static str>>,
    pub categories: Vec<Gated<&'static str>>,
    /// Where the object lacks the label `app.kubernetes.io/part-of`.
    pub without_part_of: Option<Gate<'static>>,
    pub versions: Vec<ApiVersion>,
    pub fields: Vec<Field>,
    pub description: Option<&'static str>,
}

/// One served API version of a kind.
#[derive(Debug)]
pub(super) struct ApiVersion {
    pub name: &'static str,
    pub gate: Gate<'static>,
    pub storage: Option<Gate<'static>>,
    pub deprecated: Option<Gate<'static>>,
    pub without_status: Option<Gate<'static>>,
    pub columns: Vec<Gated<&'static str>>,
}

/// One printer column.
#[derive(Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub kind: &'static str,
    pub path: &'static str,
    /// Shown by `kubectl get -o wide` only.
    pub wide: bool,
}

/// One property of an object, or the body of a named type (then `name` is the type's).
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub required: Option<Gate<'static>>,
    pub wraps: Vec<Wrap>,
    pub base: Base,
    pub attributes: Vec<Gated<Attribute>>,
    pub values: Vec<Gated<&'static str>>,
    pub rules: Vec<Rule>,
    pub gate: Gate<'static>,
    pub description: Option<&'static str>,
    pub fields: Vec<Field>,
    pub position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrap {
    List,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    String,
    Bool,
    Int,
    Int64,
    Time,
    Object,
    Any,
    Named(&'static str),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attribute {
    Default(Value),
    Pattern(&'static str),
    /// An OpenAPI keyword that takes a whole number.
    Number(&'static str, i64),
    ListType(&'static str),
    ListKeys(Vec<&'static str>),
    MapType(&'static str),
}

/// A CEL rule and the message of its failure.
#[derive(Debug)]
pub(super) struct Rule {
    pub expression: &'static str,
    pub message: &'static str,
    pub gate: Gate<'static>,
}

impl Notation {
    /// Reads files in order; a name must be defined before the line that uses it.
    pub fn parse(files: &[(&'static str, &'static str)]) -> Result<Self, NotationError> {
        let mut notation = Self::default();
        for (file, text) in files {
            notation.read(&lines(file, text)?)?;
        }
        Ok(notation)
    }

    /// The definition of a type; every [`Base::Named`] has one.
    pub fn named(&self, name: &str) -> Option<&Field> {
        self.types.get(name)
    }

    /// A set of printer columns; every set that an API version names exists.
    pub fn columns(&self, name: &str) -> &[Column] {
        self.columns.get(name).map_or(&[], Vec::as_slice)
    }

    fn read(&mut self, lines: &[Line]) -> Result<(), NotationError> {
        let mut group = None;
        let mut rest = lines;
        while let Some((line, tail)) = rest.split_first() {
            let (children, next) = block(line, tail);
            let mut words = Words::new(line)?;
            let keyword = words.next("a keyword")?;
            match keyword.text {
                "annotation" => {
                    let key = words.next("an annotation key")?.text;
                    let value = words.next("its value")?.text;
                    self.annotations.push((Gated { value: key, gate: words.gate()? }, value));
                    words.end()?;
                    no_children(children)?;
                }
                "pattern" => {
                    let name = words.next("a name")?;
                    let expression = words.remainder("a regular expression")?;
                    define(&mut self.patterns, name, expression)?;
                    no_children(children)?;
                }
                "columns" => {
                    let name = words.next("a name")?;
                    words.end()?;
                    let columns = children.iter().map(column).collect::<Result<_, _>>()?;
                    define(&mut self.columns, name, columns)?;
                }
                "type" => {
                    let name = words.next("a name")?;
                    if !name.text.starts_with(|c: char| c.is_ascii_uppercase()) {
                        return Err(name.position.error("the name of a type starts with a capital letter"));
                    }
                    let field = self.field_after_name(name, words, children)?;
                    define(&mut self.types, name, field)?;
                }
                "group" => {
                    group = Some(words.next("an API group")?.text);
                    words.end()?;
                    no_children(children)?;
                }
                "crd" => {
                    let group =
                        group.ok_or_else(|| keyword.position.error("no `group` line before the first `crd`"))?;
                    let crd = self.read_crd(group, words, children)?;
                    self.crds.push(crd);
                }
                other => {
                    return Err(keyword.position.error(format!(
                        "unknown keyword `{other}`: expected annotation, pattern, columns, type, group or crd"
                    )));
                }
            }
            rest = next;
        }
        Ok(())
    }

    fn read_crd(&self, group: &'static str, mut words: Words, lines: &[Line]) -> Result<Crd, NotationError> {
        let position = words.position();
        let mut crd = Crd {
            group,
            kind: words.next("a kind")?.text,
            plural: words.next("its plural")?.text,
            component: words.next("the component that serves it")?.text,
            short_names: Vec::new(),
            categories: Vec::new(),
            without_part_of: None,
            versions: Vec::new(),
            fields: Vec::new(),
            description: words.description,
        };
        while let Some(word) = words.take() {
            let (text, gate) = word.split_gate()?;
            match text.split_once('=') {
                Some(("short", value)) => crd.short_names.push(Gated { value, gate }),
                Some(("category", value)) => crd.categories.push(Gated { value, gate }),
                None if text == "without-part-of" => crd.without_part_of = Some(gate),
                _ => {
                    return Err(word.position.error(format!(
                        "unknown attribute `{text}` of a crd: expected short=, category= or without-part-of"
                    )));
                }
            }
        }
        words.end()?;
        let mut rest = lines;
        while let Some((line, tail)) = rest.split_first() {
            let (children, next) = block(line, tail);
            if line.text.starts_with("version ") {
                no_children(children)?;
                crd.versions.push(self.api_version(Words::new(line)?)?);
                rest = next;
            } else {
                crd.fields = self.fields(rest)?;
                break;
            }
        }
        if crd.versions.is_empty() {
            return Err(position.error(format!("the crd {} has no `version` line", crd.kind)));
        }
        let known: Vec<&str> = crd.versions.iter().map(|version| version.name).collect();
        check_api_versions(&crd.fields, &known)?;
        Ok(crd)
    }

    fn api_version(&self, mut words: Words) -> Result<ApiVersion, NotationError> {
        words.next("version")?;
        let mut version = ApiVersion {
            name: words.next("an API version")?.text,
            gate: words.gate()?,
            storage: None,
            deprecated: None,
            without_status: None,
            columns: Vec::new(),
        };
        while let Some(word) = words.take() {
            let (text, gate) = word.split_gate()?;
            match text {
                "storage" => version.storage = Some(gate),
                "deprecated" => version.deprecated = Some(gate),
                "nostatus" => version.without_status = Some(gate),
                _ => match text.strip_prefix("columns=") {
                    Some(value) if self.columns.contains_key(value) => version.columns.push(Gated { value, gate }),
                    Some(value) => return Err(word.position.error(format!("no `columns {value}` above"))),
                    None => {
                        return Err(word.position.error(format!(
                            "unknown attribute `{text}` of a version: expected storage, deprecated, nostatus or columns="
                        )));
                    }
                },
            }
        }
        Ok(version)
    }

    fn fields(&self, lines: &[Line]) -> Result<Vec<Field>, NotationError> {
        let mut fields = Vec::new();
        let mut rest = lines;
        while let Some((line, tail)) = rest.split_first() {
            let (children, next) = block(line, tail);
            let mut words = Words::new(line)?;
            let name = words.next("a field name")?;
            fields.push(self.field_after_name(name, words, children)?);
            rest = next;
        }
        Ok(fields)
    }

    /// Reads `TYPE ATTRIBUTE… [GATE]` and what is indented below: enum values, rules, fields.
    fn field_after_name(&self, name: Word, mut words: Words, lines: &[Line]) -> Result<Field, NotationError> {
        let gate = words.gate()?;
        let description = words.description;
        let (bare, required) = match name.text.strip_suffix('!') {
            Some(bare) => (bare, Some(Gate::EVERYWHERE)),
            None => (name.text, None),
        };
        let shape = words.next("a type")?;
        let (wraps, base) = self.shape(shape)?;
        let mut field = Field {
            name: bare,
            required,
            wraps,
            base,
            attributes: Vec::new(),
            values: Vec::new(),
            rules: Vec::new(),
            gate,
            description,
            fields: Vec::new(),
            position: name.position,
        };
        while let Some(word) = words.take() {
            self.attribute(&mut field, word)?;
        }
        let mut rest = lines;
        while let Some((line, tail)) = rest.split_first() {
            let (children, next) = block(line, tail);
            if let Some(values) = line.text.strip_prefix("| ") {
                no_children(children)?;
                for value in values.split_whitespace() {
                    let word = Word { text: value, position: line.position(offset(line.text, value)) };
                    let (value, gate) = word.split_gate()?;
                    field.values.push(Gated { value, gate });
                }
            } else if let Some(expression) = line.text.strip_prefix("? ") {
                field.rules.push(rule(line, expression, children)?);
            } else {
                if base != Base::Object {
                    return Err(line.position(0).error(format!(
                        "`{bare}` is not an object: only `|` (values) and `?` (rules) may stand below it"
                    )));
                }
                field.fields = self.fields(rest)?;
                break;
            }
            rest = next;
        }
        if !field.values.is_empty() && base != Base::String {
            return Err(name.position.error(format!("`{bare}` has a list of values, so its type must be string")));
        }
        Ok(field)
    }

    fn shape(&self, word: Word) -> Result<(Vec<Wrap>, Base), NotationError> {
        let mut wraps = Vec::new();
        let mut text = word.text;
        loop {
            if let Some(rest) = text.strip_prefix("[]") {
                wraps.push(Wrap::List);
                text = rest;
            } else if let Some(rest) = text.strip_prefix("{}") {
                wraps.push(Wrap::Map);
                text = rest;
            } else {
                break;
            }
        }
        let base = match text {
            "string" => Base::String,
            "bool" => Base::Bool,
            "int" => Base::Int,
            "int64" => Base::Int64,
            "time" => Base::Time,
            "object" => Base::Object,
            "any" => Base::Any,
            // Types may only use types above them, so no type can contain itself.
            name if self.types.contains_key(name) => Base::Named(name),
            name if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                return Err(word.position.error(format!("no `type {name}` above")));
            }
            other => {
                return Err(word.position.error(format!(
                    "unknown type `{other}`: expected string, bool, int, int64, time, object, any or a named type"
                )));
            }
        };
        Ok((wraps, base))
    }

    fn attribute(&self, field: &mut Field, word: Word) -> Result<(), NotationError> {
        let (text, gate) = word.split_gate_keeping_values()?;
        let wrong = |message: String| word.position.error(message);
        let value = if text == "required" {
            if field.required.is_some() {
                return Err(wrong("the field is marked with `!` already".into()));
            }
            field.required = Some(gate);
            return Ok(());
        } else if let Some(values) = text.strip_prefix("oneof=") {
            for value in values.split('|') {
                let (value, gate) = Word { text: value, position: word.position }.split_gate()?;
                field.values.push(Gated { value, gate });
            }
            return Ok(());
        } else if let Some(json) = text.strip_prefix('=') {
            Attribute::Default(default_value(json).map_err(wrong)?)
        } else if let Some(name) = text.strip_prefix('~') {
            let expression = self.patterns.get(name).ok_or_else(|| wrong(format!("no `pattern {name}` above")))?;
            Attribute::Pattern(expression)
        } else {
            match text.split_once('=') {
                Some(("listType", value)) => Attribute::ListType(value),
                Some(("listKeys", value)) => Attribute::ListKeys(value.split('|').collect()),
                Some(("mapType", value)) => Attribute::MapType(value),
                Some((key, value)) => {
                    let keyword = match key {
                        "minLength" => "minLength",
                        "maxLength" => "maxLength",
                        "min" => "minimum",
                        "minItems" => "minItems",
                        "maxItems" => "maxItems",
                        _ => return Err(wrong(format!("unknown attribute `{key}=`"))),
                    };
                    let number = value.parse().map_err(|_| wrong(format!("`{value}` is not a whole number")))?;
                    Attribute::Number(keyword, number)
                }
                None => return Err(wrong(format!("unknown attribute `{text}`"))),
            }
        };
        field.attributes.push(Gated { value, gate });
        Ok(())
    }
}

/// A default is JSON without spaces; a bare word (`info`, `60s`) is a string.
fn default_value(text: &str) -> Result<Value, String> {
    match text.chars().next() {
        None => Err("no value after `=`".into()),
        Some('"' | '{' | '[') => serde_json::from_str(text).map_err(|error| format!("`{text}` is not JSON: {error}")),
        Some(_) => Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))),
    }
}

fn rule(line: &Line, expression: &'static str, children: &[Line]) -> Result<Rule, NotationError> {
    let missing = || line.position(0).error("a rule needs its message on the next line, after `: `");
    let [below] = children else { return Err(missing()) };
    let text = below.text.strip_prefix(": ").ok_or_else(missing)?;
    let (message, gate) = match text.strip_suffix(']').and_then(|text| text.rsplit_once(" [")) {
        Some((message, gate)) => {
            (message, Gate::parse(gate).map_err(|message| below.position(offset(below.text, gate)).error(message))?)
        }
        None => (text, Gate::EVERYWHERE),
    };
    Ok(Rule { expression, message, gate })
}

/// A printer column: `NAME TYPE PATH`, the name in quotes if it has spaces, `wide` at the end for `-o wide` only.
fn column(line: &Line) -> Result<Column, NotationError> {
    let wrong = || line.position(0).error("a column is `NAME TYPE .json.path`, and `wide` where only -o wide shows it");
    let (name, rest) = match line.text.strip_prefix('"') {
        Some(text) => text.split_once("\" "),
        None => line.text.split_once(' '),
    }
    .ok_or_else(wrong)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [kind, path, wide @ ..] if path.starts_with('.') && matches!(wide, [] | ["wide"]) => {
            Ok(Column { name, kind, path, wide: !wide.is_empty() })
        }
        _ => Err(wrong()),
    }
}

fn define<T>(map: &mut HashMap<&'static str, T>, name: Word, value: T) -> Result<(), NotationError> {
    match map.insert(name.text, value) {
        Some(_) => Err(name.position.error(format!("`{}` is defined twice", name.text))),
        None => Ok(()),
    }
}

fn no_children(lines: &[Line]) -> Result<(), NotationError> {
    lines.first().map_or(Ok(()), |line| Err(line.position(0).error("nothing may be indented below this kind of line")))
}

/// Refuses gates inside a crd that name an API version it does not have: a typing error would silently drop a field.
fn check_api_versions(fields: &[Field], known: &[&str]) -> Result<(), NotationError> {
    for field in fields {
        let gates = std::iter::once(&field.gate)
            .chain(field.required.as_ref())
            .chain(field.attributes.iter().map(|attribute| &attribute.gate))
            .chain(field.values.iter().map(|value| &value.gate))
            .chain(field.rules.iter().map(|rule| &rule.gate));
        if let Some(unknown) = gates.flat_map(Gate::apis).find(|api| !known.contains(api)) {
            return Err(field.position.error(format!(
                "a gate of `{}` names the API version {unknown}, but this crd has {}",
                field.name,
                known.join(", ")
            )));
        }
        check_api_versions(&field.fields, known)?;
    }
    Ok(())
}

/// A line without its indentation.
#[derive(Debug)]
struct Line {
    file: &'static str,
    number: usize,
    depth: usize,
    text: &'static str,
}

impl Line {
    fn position(&self, offset: usize) -> Position {
        Position { file: self.file, line: self.number, column: self.depth * INDENT + offset + 1 }
    }
}

const INDENT: usize = 2;

fn lines(file: &'static str, text: &'static str) -> Result<Vec<Line>, NotationError> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let text = raw.trim_start_matches(' ');
        if text.trim_end().is_empty() || text.starts_with('#') {
            continue;
        }
        let indent = raw.len() - text.len();
        let position = Position { file, line: index + 1, column: indent + 1 };
        if text.starts_with('\t') {
            return Err(position.error("a tab: indent with two spaces per level"));
        }
        if text.trim_end() != text {
            return Err(Position { column: indent + text.trim_end().len() + 1, ..position }.error("space at the end"));
        }
        let depth = indent / INDENT;
        let deepest = lines.last().map_or(0, |line| line.depth + 1);
        if !indent.is_multiple_of(INDENT) || depth > deepest {
            return Err(position.error("wrong indentation: two spaces more than the line this one belongs to"));
        }
        lines.push(Line { file, number: index + 1, depth, text });
    }
    Ok(lines)
}

/// Splits what follows `line` into the lines below it and those after.
fn block<'l>(line: &Line, tail: &'l [Line]) -> (&'l [Line], &'l [Line]) {
    let end = tail.iter().position(|other| other.depth <= line.depth).unwrap_or(tail.len());
    tail.split_at(end)
}

/// Returns where `part` starts in `whole`; both must be slices of the same text.
fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

#[derive(Debug, Clone, Copy)]
struct Word {
    text: &'static str,
    position: Position,
}

impl Word {
    /// Splits `text@gate`.
    fn split_gate(self) -> Result<(&'static str, Gate<'static>), NotationError> {
        match self.text.rsplit_once('@') {
            None => Ok((self.text, Gate::EVERYWHERE)),
            Some((text, gate)) => Gate::parse(gate).map(|gate| (text, gate)).map_err(|message| {
                let column = self.position.column + text.len() + 1;
                Position { column, ..self.position }.error(message)
            }),
        }
    }

    /// As [`Word::split_gate`], but in `oneof=` the gates belong to the single values.
    fn split_gate_keeping_values(self) -> Result<(&'static str, Gate<'static>), NotationError> {
        if self.text.starts_with("oneof=") { Ok((self.text, Gate::EVERYWHERE)) } else { self.split_gate() }
    }
}

/// The words of a line; its gate in brackets and its description are taken off the end first.
struct Words {
    rest: &'static str,
    at: Position,
    gate: Option<Word>,
    description: Option<&'static str>,
}

impl Words {
    fn new(line: &Line) -> Result<Self, NotationError> {
        // A regular expression is the whole remainder of its line and may contain anything.
        if line.depth == 0 && line.text.starts_with("pattern ") {
            return Ok(Self { rest: line.text, at: line.position(0), gate: None, description: None });
        }
        let (head, description) = match line.text.split_once(" # ") {
            Some((head, description)) => (head.trim_end(), Some(description.trim())),
            None => (line.text, None),
        };
        let (head, gate) = match head.strip_suffix(']').and_then(|head| head.rsplit_once(" [")) {
            Some((before, gate)) => {
                let word = Word { text: gate, position: line.position(offset(line.text, gate)) };
                (before.trim_end(), Some(word))
            }
            None => (head, None),
        };
        Ok(Self { rest: head, at: line.position(0), gate, description })
    }

    fn position(&self) -> Position {
        self.at
    }

    fn take(&mut self) -> Option<Word> {
        let trimmed = self.rest.trim_start();
        self.at.column += self.rest.len() - trimmed.len();
        if trimmed.is_empty() {
            self.rest = trimmed;
            return None;
        }
        let (text, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        let word = Word { text, position: self.at };
        self.at.column += trimmed.len() - rest.len();
        self.rest = rest;
        Some(word)
    }

    fn next(&mut self, what: &str) -> Result<Word, NotationError> {
        self.take().ok_or_else(|| self.at.error(format!("the line ends where {what} is expected")))
    }

    fn remainder(&mut self, what: &str) -> Result<&'static str, NotationError> {
        match std::mem::take(&mut self.rest) {
            "" => Err(self.at.error(format!("the line ends where {what} is expected"))),
            text => Ok(text),
        }
    }

    fn gate(&mut self) -> Result<Gate<'static>, NotationError> {
        match self.gate.take() {
            None => Ok(Gate::EVERYWHERE),
            Some(word) => Gate::parse(word.text).map_err(|message| word.position.error(message)),
        }
    }

    fn end(mut self) -> Result<(), NotationError> {
        if let Some(word) = self.take() {
            return Err(word.position.error(format!("unexpected `{}`", word.text)));
        }
        match self.gate {
            Some(gate) => Err(gate.position.error("this kind of line takes no gate")),
            None => Ok(()),
        }
    }
}
