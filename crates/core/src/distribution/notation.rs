//! Parses the CRD notation into checked lines. The module documentation of [`super`] describes the notation, and
//! `schema.rs` turns the lines into schemas.

use std::collections::HashMap;

use serde_json::Value;

use super::lines::{Line, NotationError, Position, Word, Words, block, lines, offset};
use super::version_gate::Gate;

/// The parsed content of all notation files.
#[derive(Debug, Default)]
pub(super) struct Notation {
    pub annotations: Vec<(GatedValue<&'static str>, &'static str)>,
    patterns: HashMap<&'static str, &'static str>,
    columns: HashMap<&'static str, Vec<PrinterColumn>>,
    types: HashMap<&'static str, Field>,
    pub crds: Vec<Crd>,
}

/// A value and the gate that says where it holds.
#[derive(Debug, Clone)]
pub(super) struct GatedValue<T> {
    pub value: T,
    pub gate: Gate<'static>,
}

#[derive(Debug)]
pub(super) struct Crd {
    pub group: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub component: &'static str,
    pub short_names: Vec<GatedValue<&'static str>>,
    pub categories: Vec<GatedValue<&'static str>>,
    /// Versions in which the object lacks the label `app.kubernetes.io/part-of`.
    pub without_part_of: Option<Gate<'static>>,
    pub versions: Vec<ApiVersion>,
    pub fields: Vec<Field>,
    pub description: Option<&'static str>,
}

/// An API version in which a kind is served.
#[derive(Debug)]
pub(super) struct ApiVersion {
    pub name: &'static str,
    pub gate: Gate<'static>,
    pub storage: Option<Gate<'static>>,
    pub deprecated: Option<Gate<'static>>,
    pub without_status: Option<Gate<'static>>,
    pub columns: Vec<GatedValue<&'static str>>,
}

/// A printer column.
#[derive(Debug)]
pub(super) struct PrinterColumn {
    pub name: &'static str,
    pub kind: &'static str,
    pub path: &'static str,
    /// Shown by `kubectl get -o wide` only.
    pub wide: bool,
}

/// A property of an object, or the body of a named type (then `name` is the type's).
#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub required: Option<Gate<'static>>,
    pub wraps: Vec<Wrap>,
    pub base: Base,
    pub attributes: Vec<GatedValue<Attribute>>,
    pub values: Vec<GatedValue<&'static str>>,
    pub rules: Vec<CelRule>,
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
pub(super) struct CelRule {
    pub expression: &'static str,
    pub message: &'static str,
    pub gate: Gate<'static>,
}

impl Notation {
    /// Reads files in order; a name must be defined before the line that uses it.
    pub(crate) fn parse(files: &[(&'static str, &'static str)]) -> Result<Self, NotationError> {
        let mut notation = Self::default();
        for (file, text) in files {
            notation.read(&lines(file, text)?)?;
        }
        notation.check_api_versions_of_types()?;
        Ok(notation)
    }

    /// Returns the definition of a type; every [`Base::Named`] has one.
    pub(crate) fn named(&self, name: &str) -> Option<&Field> {
        self.types.get(name)
    }

    /// Returns a set of printer columns; parsing has checked that it exists.
    pub(crate) fn columns(&self, name: &str) -> &[PrinterColumn] {
        self.columns.get(name).map_or(&[], Vec::as_slice)
    }

    /// Checks that each API version in a type's gates exists in some kind.
    fn check_api_versions_of_types(&self) -> Result<(), NotationError> {
        let mut known: Vec<&str> = self.crds.iter().flat_map(|crd| &crd.versions).map(|version| version.name).collect();
        known.sort_unstable();
        known.dedup();
        self.types.values().try_for_each(|body| check_api_versions(std::slice::from_ref(body), &known))
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
                    self.annotations.push((GatedValue { value: key, gate: words.gate()? }, value));
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
                    // The capital letter distinguishes an undefined named type from a misspelt built-in type.
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
                Some(("short", value)) => crd.short_names.push(GatedValue { value, gate }),
                Some(("category", value)) => crd.categories.push(GatedValue { value, gate }),
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
                // Versions come first: everything after them is fields.
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
                    Some(value) if self.columns.contains_key(value) => version.columns.push(GatedValue { value, gate }),
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

    /// Reads `TYPE ATTRIBUTE… [GATE]` and the indented lines below: enum values, rules, fields.
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
                    field.values.push(GatedValue { value, gate });
                }
            } else if let Some(expression) = line.text.strip_prefix("? ") {
                field.rules.push(rule(line, expression, children)?);
            } else {
                if base != Base::Object {
                    return Err(line.position(0).error(format!(
                        "`{bare}` is not an object: only `|` (values) and `?` (rules) may stand below it"
                    )));
                }
                // Values and rules come first: everything after them is fields.
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
                field.values.push(GatedValue { value, gate });
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
        field.attributes.push(GatedValue { value, gate });
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

fn rule(line: &Line, expression: &'static str, children: &[Line]) -> Result<CelRule, NotationError> {
    let missing = || line.position(0).error("a rule needs its message on the next line, after `: `");
    let [below] = children else { return Err(missing()) };
    let text = below.text.strip_prefix(": ").ok_or_else(missing)?;
    let (message, gate) = match text.strip_suffix(']').and_then(|text| text.rsplit_once(" [")) {
        Some((message, gate)) => {
            (message, Gate::parse(gate).map_err(|message| below.position(offset(below.text, gate)).error(message))?)
        }
        None => (text, Gate::EVERYWHERE),
    };
    Ok(CelRule { expression, message, gate })
}

/// A printer column: `NAME TYPE PATH`, the name in quotes if it has spaces, `wide` at the end for `-o wide` only.
fn column(line: &Line) -> Result<PrinterColumn, NotationError> {
    let wrong = || line.position(0).error("a column is `NAME TYPE .json.path`, and `wide` where only -o wide shows it");
    let (name, rest) = match line.text.strip_prefix('"') {
        Some(text) => text.split_once("\" "),
        None => line.text.split_once(' '),
    }
    .ok_or_else(wrong)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [kind, path, wide @ ..] if path.starts_with('.') && matches!(wide, [] | ["wide"]) => {
            Ok(PrinterColumn { name, kind, path, wide: !wide.is_empty() })
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

/// Refuses gates inside a crd that name an API version the kind does not have: a typing error would silently drop a
/// field.
fn check_api_versions(fields: &[Field], known: &[&str]) -> Result<(), NotationError> {
    for field in fields {
        let gates = std::iter::once(&field.gate)
            .chain(field.required.as_ref())
            .chain(field.attributes.iter().map(|attribute| &attribute.gate))
            .chain(field.values.iter().map(|value| &value.gate))
            .chain(field.rules.iter().map(|rule| &rule.gate));
        if let Some(unknown) = gates.flat_map(Gate::apis).find(|api| !known.contains(api)) {
            return Err(field.position.error(format!(
                "a gate of `{}` names the API version {unknown}, but there are only {}",
                field.name,
                known.join(", ")
            )));
        }
        check_api_versions(&field.fields, known)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "group example.com\ncrd Widget widgets widget-controller\n  version v1 storage\n";

    fn error(text: &str) -> String {
        let text = Box::leak(text.to_owned().into_boxed_str());
        Notation::parse(&[("test.notation", text)]).unwrap_err().to_string()
    }

    /// Parses a crd with these lines below its version and returns the error; the lines start on line 4.
    fn error_in_crd(lines: &str) -> String {
        error(&format!("{HEAD}{lines}"))
    }

    #[test]
    fn the_embedded_notation_is_read_without_errors() {
        let notation = Notation::parse(super::super::NOTATION).unwrap();
        assert_eq!(notation.crds.len(), 15);
        let lines: usize = super::super::NOTATION.iter().map(|(_, text)| text.lines().count()).sum();
        assert!(lines < 1200, "{lines} lines");
    }

    #[test]
    fn a_field_has_its_parts() {
        let text: &'static str = "pattern short ^[a-z]+$
group example.com
crd Widget widgets widget-controller short=w@2.7..  # Turns.
  version v1 storage
  spec object
    size! []string =[\"#\"]@2.8.. oneof=s|m@2.9.. ~short maxItems=3 [v1:2.7..]  # How large # it is.
      | l xl@..2.8
      ? self.all(x, x != '')
        : no empty size [2.9..]
";
        let notation = Notation::parse(&[("test.notation", text)]).unwrap();
        let crd = &notation.crds[0];
        assert_eq!(crd.description, Some("Turns."));
        let size = &crd.fields[0].fields[0];
        assert_eq!((size.name, size.base, size.wraps.as_slice()), ("size", Base::String, &[Wrap::List][..]));
        assert_eq!(size.required, Some(Gate::EVERYWHERE));
        assert_eq!(size.gate, Gate::parse("v1:2.7..").unwrap());
        assert_eq!(size.description, Some("How large # it is."));
        let attributes: Vec<_> = size.attributes.iter().map(|a| (a.value.clone(), a.gate.clone())).collect();
        let from_2_8 = Gate::parse("2.8..").unwrap();
        assert_eq!(attributes[0], (Attribute::Default(serde_json::json!(["#"])), from_2_8));
        assert_eq!(attributes[1], (Attribute::Pattern("^[a-z]+$"), Gate::EVERYWHERE));
        assert_eq!(attributes[2], (Attribute::Number("maxItems", 3), Gate::EVERYWHERE));
        assert_eq!(size.values.iter().map(|v| v.value).collect::<Vec<_>>(), ["s", "m", "l", "xl"]);
        assert_eq!((size.rules[0].expression, size.rules[0].message), ("self.all(x, x != '')", "no empty size"));
    }

    #[test]
    fn fields_may_be_called_like_keywords() {
        let text =
            format!("{HEAD}  spec object\n    pattern string\n    type string\n    version string\n    group string\n");
        let text: &'static str = Box::leak(text.into_boxed_str());
        let notation = Notation::parse(&[("test.notation", text)]).unwrap();
        let names: Vec<_> = notation.crds[0].fields[0].fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["pattern", "type", "version", "group"]);
    }

    #[test]
    fn indentation_errors_name_the_place() {
        assert_eq!(
            error("group a.b\n   crd"),
            "test.notation:2:4: wrong indentation: two spaces more than the line this one belongs to"
        );
        assert_eq!(
            error("group a.b\n    crd"),
            "test.notation:2:5: wrong indentation: two spaces more than the line this one belongs to"
        );
        assert_eq!(error("group a.b\n\tcrd"), "test.notation:2:1: a tab: indent with two spaces per level");
        assert_eq!(error("group a.b  \n"), "test.notation:1:10: space at the end");
        assert!(error("group a.b\n  c").starts_with("test.notation:2:3: nothing may be indented below"));
    }

    #[test]
    fn errors_of_top_level_lines_name_the_word() {
        for (text, expected) in [
            ("kind X", "1:1: unknown keyword `kind`"),
            ("crd Widget widgets c\n  version v1", "1:1: no `group` line before the first `crd`"),
            ("group a.b\ncrd Widget", "2:11: the line ends where its plural is expected"),
            ("group a.b\ncrd Widget widgets c\n", "2:5: the crd Widget has no `version` line"),
            ("group a.b\ncrd Widget widgets c colour=red\n", "2:22: unknown attribute `colour=red` of a crd"),
            ("group a.b\ncrd Widget widgets c\n  version v1 new", "3:14: unknown attribute `new` of a version"),
            ("group a.b\ncrd Widget widgets c\n  version v1 columns=age", "3:14: no `columns age` above"),
            ("group a.b\ncrd Widget widgets c [2.7..]\n  version v1", "2:23: this kind of line takes no gate"),
            ("group a.b c", "1:11: unexpected `c`"),
            ("pattern x", "1:10: the line ends where a regular expression is expected"),
            ("pattern x a\npattern x b", "2:9: `x` is defined twice"),
            ("type Thing object\ntype Thing object", "2:6: `Thing` is defined twice"),
            ("type thing object", "1:6: the name of a type starts with a capital letter"),
            ("columns age\n  Age date", "2:3: a column is"),
            ("annotation a b [2.x]", "1:17: `2.x` is not a Flux version"),
        ] {
            let error = error(text);
            assert!(error.starts_with(&format!("test.notation:{expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn errors_of_fields_name_the_word() {
        for (lines, expected) in [
            ("  spec", "4:7: the line ends where a type is expected"),
            ("  spec text", "4:8: unknown type `text`"),
            ("  spec []Thing", "4:8: no `type Thing` above"),
            ("  spec string length=3", "4:15: unknown attribute `length=`"),
            ("  spec string short", "4:15: unknown attribute `short`"),
            ("  spec string maxLength=many", "4:15: `many` is not a whole number"),
            ("  spec string ~word", "4:15: no `pattern word` above"),
            ("  spec string =[1", "4:15: `[1` is not JSON"),
            ("  spec string =", "4:15: no value after `=`"),
            ("  spec! string required@2.7..", "4:16: the field is marked with `!` already"),
            ("  spec string maxLength=3@later", "4:27: `later` is not a Flux version"),
            ("  spec string [2.9..2.8]", "4:16: the range `2.9..2.8` is empty"),
            ("  spec string [v2]", "4:3: a gate of `spec` names the API version v2, but there are only v1"),
            ("  spec string oneof=a|b@v3", "4:3: a gate of `spec` names the API version v3"),
            ("  spec string\n    name string", "5:5: `spec` is not an object"),
            ("  spec int oneof=a|b", "4:3: `spec` has a list of values, so its type must be string"),
            ("  spec object\n    ? self.x", "5:5: a rule needs its message on the next line"),
            ("  spec object\n    ? self.x\n      no colon", "5:5: a rule needs its message on the next line"),
            ("  spec object\n    ? self.x\n      : told [2.]", "6:15: `2.` is not a Flux version"),
            ("  spec string\n    | a b@x", "5:11: `x` is not a Flux version"),
        ] {
            let error = error_in_crd(lines);
            assert!(error.starts_with(&format!("test.notation:{expected}")), "{lines:?}: {error}");
        }
    }

    #[test]
    fn a_type_cannot_contain_itself() {
        assert!(error("type Tree object\n  left Tree").starts_with("test.notation:2:8: no `type Tree` above"));
    }
}
