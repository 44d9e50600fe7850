//! Positions of the nodes of a YAML document in its text.
//!
//! A second pass by parser events, only for showing the user where a wrong value is. It does not recurse and follows an
//! alias only when a path is looked up, so the cost of hostile text is linear.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::mend::MendedText;
use super::{Location, checked};

/// The positions of the nodes of one document.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    nodes: Vec<PositionedNode>,
    /// Whether the last node is a block scalar that ends at the end of the text, without a line break.
    ends_in_block: bool,
}

#[derive(Clone, Debug)]
struct PositionedNode {
    location: Location,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Scalar(String),
    Items(Vec<usize>),
    Fields(Vec<MappingField>),
    /// An alias, with the node of its anchor.
    Alias(usize),
}

#[derive(Clone, Debug)]
struct MappingField {
    key: String,
    location: Location,
    value: usize,
}

/// Index of the root in [`Positions::nodes`]: parser events report parents first.
const ROOT: usize = 0;

/// Longest key that is looked up through an alias, in bytes.
const LONGEST_KEY: usize = 1024;

/// Limit for nested merge keys in a lookup.
const MERGE_DEPTH: usize = 16;

/// Reads the positions of every document, in the same order and number as [`super::parse_documents`].
///
/// If the text cannot be parsed, the result contains the documents before the error.
pub fn parse_positions(text: &str) -> Vec<Positions> {
    let Ok(text) = checked(text) else { return Vec::new() };
    let (documents, is_whole) = read_positions(text);
    if is_whole {
        return documents;
    }
    let Some(mended) = MendedText::of(text) else { return documents };
    let (mut documents, _) = read_positions(&mended.text);
    for node in documents.iter_mut().flat_map(|document| &mut document.nodes) {
        node.location = mended.written(node.location);
        if let Shape::Fields(fields) = &mut node.shape {
            fields.iter_mut().for_each(|field| field.location = mended.written(field.location));
        }
    }
    documents
}

/// Reads the positions of all documents, and whether the whole text could be read.
fn read_positions(text: &str) -> (Vec<Positions>, bool) {
    let (mut documents, mut builder) = (Vec::new(), PositionsBuilder::default());
    for item in Parser::new_from_str(text) {
        let Ok((event, span)) = item else { return (documents, false) };
        if matches!(event, Event::DocumentEnd) {
            let finished = std::mem::take(&mut builder);
            if !finished.is_empty {
                let ends_in_block = finished.block_end == Some(text.len()) && !text.ends_with(['\n', '\r']);
                documents.push(Positions { nodes: finished.nodes, ends_in_block });
            }
        } else {
            builder.event(event, &span);
        }
    }
    (documents, true)
}

impl Positions {
    /// Returns the position of the value at an RFC 6901 JSON pointer.
    ///
    /// If the path does not exist in the text, it is the position of the nearest existing parent.
    pub fn value(&self, pointer: &str) -> Option<Location> {
        self.walk(pointer, |_, value| value)
    }

    /// Returns the position of the key at an RFC 6901 JSON pointer; for a list item, the start of the item.
    pub fn key(&self, pointer: &str) -> Option<Location> {
        self.walk(pointer, |key, value| key.unwrap_or(value))
    }

    /// Returns the scalar at an RFC 6901 JSON pointer as written, without its quotes.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        let mut index = ROOT;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            (_, index) = self.child(index, &step, MERGE_DEPTH)?;
        }
        self.scalar(index)
    }

    fn scalar(&self, index: usize) -> Option<&str> {
        match &self.nodes.get(index)?.shape {
            Shape::Scalar(text) => Some(text),
            // An anchor's node is complete before an alias to it is read, so the recursion ends.
            Shape::Alias(target) => self.scalar(*target),
            _ => None,
        }
    }

    /// Returns the JSON pointer of a block scalar that ends the text without a final line break.
    pub(super) fn unfinished_block(&self) -> Option<String> {
        let (mut pointer, mut index) = (String::new(), ROOT);
        if !self.ends_in_block {
            return None;
        }
        loop {
            match &self.nodes.get(index)?.shape {
                Shape::Scalar(_) => return Some(pointer),
                Shape::Items(items) => {
                    index = *items.last()?;
                    pointer += &format!("/{}", items.len() - 1);
                }
                // A field from a merge key has another path in the value.
                Shape::Fields(fields) => {
                    let field = fields.last().filter(|field| field.key != "<<")?;
                    index = field.value;
                    pointer += &format!("/{}", field.key.replace('~', "~0").replace('/', "~1"));
                }
                Shape::Alias(_) => return None,
            }
        }
    }

    fn walk(&self, pointer: &str, pick: impl Fn(Option<Location>, Location) -> Location) -> Option<Location> {
        let mut index = ROOT;
        let mut found = self.nodes.get(ROOT)?.location;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let Some((key, child)) = self.child(index, &step, MERGE_DEPTH) else { break };
            found = pick(key, self.nodes.get(child)?.location);
            index = child;
        }
        Some(found)
    }

    fn child(&self, index: usize, step: &str, depth: usize) -> Option<(Option<Location>, usize)> {
        match &self.nodes.get(index)?.shape {
            Shape::Scalar(_) => None,
            // An anchor's node is complete before an alias to it is read, so the recursion ends.
            Shape::Alias(target) => self.child(*target, step, depth),
            Shape::Items(items) => items.get(step.parse::<usize>().ok()?).map(|item| (None, *item)),
            Shape::Fields(fields) => {
                let own = fields.iter().find(|field| field.key == step);
                own.map(|field| (Some(field.location), field.value)).or_else(|| {
                    let merged = fields.iter().find(|field| field.key == "<<")?.value;
                    self.merged(merged, step, depth.checked_sub(1)?)
                })
            }
        }
    }

    /// Looks a field up in the value of a merge key: a mapping or a list of mappings.
    fn merged(&self, index: usize, step: &str, depth: usize) -> Option<(Option<Location>, usize)> {
        match &self.nodes.get(index)?.shape {
            Shape::Items(items) => items.iter().find_map(|item| self.child(*item, step, depth)),
            Shape::Alias(target) => self.merged(*target, step, depth),
            _ => self.child(index, step, depth),
        }
    }
}

/// Whether the value parser treats a document with only this scalar as empty.
///
/// It treats `!null` and `!<tag:yaml.org,2002:!null>` like `!!null`, and likewise for its other types. Only with an
/// application's tag does an empty text remain empty.
pub(super) fn is_null(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    const TYPES: &[&str] = &["bool", "int", "float", "str", "seq", "map", "binary"];
    let is_nullish =
        style == ScalarStyle::Plain && (text.is_empty() || text == "~" || text.eq_ignore_ascii_case("null"));
    let Some(tag) = tag else { return is_nullish };
    let written = tag.to_string();
    let known = match (tag.core_suffix(), written.strip_prefix("tag:yaml.org,2002:")) {
        (Some(core), _) => Some(core),
        (None, Some(name)) => Some(name.strip_prefix('!').unwrap_or(name)),
        // `!` and `!!` alone turn the scalar into text, so the empty name is known too.
        (None, None) => written.strip_prefix("!!").or(written.strip_prefix('!')),
    };
    match known {
        Some("null") => true,
        Some("") => false,
        Some(name) => is_nullish && !TYPES.contains(&name),
        None => is_nullish,
    }
}

/// A container whose end has not been read yet.
struct OpenContainer {
    node: usize,
    anchor: usize,
    /// In a mapping, the key without its value yet.
    key: Option<(String, Location)>,
}

struct PositionsBuilder {
    nodes: Vec<PositionedNode>,
    open: Vec<OpenContainer>,
    anchors: HashMap<usize, usize>,
    is_empty: bool,
    /// End of the last node, if it is a block scalar.
    block_end: Option<usize>,
}

impl Default for PositionsBuilder {
    fn default() -> Self {
        PositionsBuilder {
            nodes: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            is_empty: true,
            block_end: None,
        }
    }
}

impl PositionsBuilder {
    fn event(&mut self, event: Event<'_>, span: &Span) {
        let location = Location { line: span.start.line() as u64, column: span.start.col() as u64 + 1 };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if self.open.is_empty() && is_null(&text, style, tag.as_deref()) {
                    return;
                }
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                self.block_end = span.end.byte_offset().filter(|_| is_block);
                if !self.takes_key(&text, location) {
                    let node = self.add(location, Shape::Scalar(text.into_owned()));
                    self.anchors.insert(anchor, node);
                }
            }
            Event::SequenceStart(_, anchor, _) => self.start(location, anchor, Shape::Items(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.start(location, anchor, Shape::Fields(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(OpenContainer { node, anchor, .. }) = self.open.pop() {
                    self.anchors.insert(anchor, node);
                }
            }
            Event::Alias(anchor) => {
                self.block_end = None;
                let target = self.anchors.get(&anchor).copied();
                // YAML keys cannot be longer, and copies of a long text would need gigabytes.
                let text = target.and_then(|node| match &self.nodes.get(node)?.shape {
                    Shape::Scalar(text) if text.len() <= LONGEST_KEY => Some(text.clone()),
                    _ => None,
                });
                if !self.takes_key(&text.unwrap_or_default(), location) {
                    self.add(location, target.map_or_else(|| Shape::Scalar(String::new()), Shape::Alias));
                }
            }
            _ => {}
        }
    }

    /// Records a scalar as a key if the innermost mapping expects one.
    fn takes_key(&mut self, text: &str, location: Location) -> bool {
        let Some(OpenContainer { node, key, .. }) = self.open.last_mut() else { return false };
        let is_mapping = matches!(self.nodes.get(*node).map(|node| &node.shape), Some(Shape::Fields(_)));
        if !is_mapping || key.is_some() {
            return false;
        }
        *key = Some((text.to_string(), location));
        true
    }

    fn start(&mut self, location: Location, anchor: usize, shape: Shape) {
        // JSON has no mappings or lists as keys, and the value parser refuses them.
        let is_key = self.takes_key("", location);
        let node = if is_key { self.push(location, shape) } else { self.add(location, shape) };
        self.open.push(OpenContainer { node, anchor, key: None });
    }

    /// Adds a node to the innermost open container.
    fn add(&mut self, location: Location, shape: Shape) -> usize {
        let index = self.push(location, shape);
        if let Some(OpenContainer { node: parent, key, .. }) = self.open.last_mut() {
            let key = key.take();
            match (self.nodes.get_mut(*parent).map(|node| &mut node.shape), key) {
                (Some(Shape::Items(items)), _) => items.push(index),
                (Some(Shape::Fields(fields)), Some((key, location))) => {
                    fields.push(MappingField { key, location, value: index });
                }
                _ => {}
            }
        }
        index
    }

    fn push(&mut self, location: Location, shape: Shape) -> usize {
        self.is_empty = false;
        self.nodes.push(PositionedNode { location, shape });
        self.nodes.len() - 1
    }
}
