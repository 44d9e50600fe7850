//! Values of templates, with Go's dynamic types kept apart.
//!
//! `5` in a template is an `int`, `5` of the input an `int64`, and Go compares, prints and refuses them differently. So
//! each Go type that can occur in a template has a variant here.
//!
//! Maps are shared and mutable, because `set` and `unset` change their argument. Lists never change. A map cannot be
//! put into itself, so values have no cycles. They can be nested deeply, so they are dropped without recursion.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use crate::text::Text;
use crate::time::{NamedInteger, Time};

/// A value of a template.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// The untyped nil.
    #[default]
    Nil,
    /// `bool`
    Bool(bool),
    /// `int`: constants of the template, lengths, counters.
    Int(i64),
    /// `int64`: integers of the input, results of arithmetic.
    Int64(i64),
    /// `uint8`: a byte of a string.
    Byte(u8),
    /// `float64`
    Float(f64),
    /// `complex128`, real and imaginary part.
    Complex(f64, f64),
    /// `string`
    String(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// `time.Time`
    Time(Rc<Time>),
    /// A number with a named type, such as a month.
    Named(NamedInteger, i64),
}

/// Types of the items of a list or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// `interface {}`
    Any,
    /// `string`
    String,
    /// `int`
    Int,
    /// `[]interface {}`
    AnyList,
}

/// A Go slice; without items it is a nil slice, which differs from an empty one.
#[derive(Clone, Debug)]
pub struct List {
    element: ElementType,
    items: Option<Rc<Items>>,
}

#[derive(Debug)]
struct Items(Vec<Value>);

/// A Go map with string keys, sorted by key; a nil map reads as empty and refuses writes.
#[derive(Clone, Debug)]
pub struct Map {
    element: ElementType,
    entries: Option<Rc<Entries>>,
}

/// Keys and values of a map, sorted by key.
pub(crate) type EntryList = Vec<(Text, Value)>;

#[derive(Debug)]
struct Entries(RefCell<EntryList>);

impl Value {
    /// Makes a string.
    pub fn string(text: impl AsRef<[u8]>) -> Value {
        Value::String(Text::from(text.as_ref()))
    }

    /// Makes a `[]interface {}`.
    pub fn list(items: Vec<Value>) -> Value {
        Value::List(List::new(ElementType::Any, items))
    }

    /// Makes a `[]string`.
    pub(crate) fn strings(items: impl IntoIterator<Item = Vec<u8>>) -> Value {
        Value::List(List::new(ElementType::String, items.into_iter().map(Value::string).collect()))
    }

    /// Returns Go's name of the type, as `%T` prints it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "<nil>",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Int64(_) => "int64",
            Value::Byte(_) => "uint8",
            Value::Float(_) => "float64",
            Value::Complex(..) => "complex128",
            Value::String(_) => "string",
            Value::List(list) => match list.element {
                ElementType::Any => "[]interface {}",
                ElementType::String => "[]string",
                ElementType::Int => "[]int",
                ElementType::AnyList => "[][]interface {}",
            },
            Value::Map(map) => match map.element {
                ElementType::String => "map[string]string",
                _ => "map[string]interface {}",
            },
            Value::Time(_) => "time.Time",
            Value::Named(named, _) => named.type_name(),
        }
    }

    /// Returns Go's name of the kind, as `reflect.Kind` prints it.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Value::Nil => "invalid",
            Value::List(_) => "slice",
            Value::Map(_) => "map",
            Value::Time(_) => "struct",
            Value::Named(named, _) => named.kind_name(),
            other => other.type_name(),
        }
    }

    /// Whether `if` takes the branch: every value is true except nil, false, zero and values of length zero.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Nil => false,
            Value::Bool(value) => *value,
            Value::Int(value) | Value::Int64(value) | Value::Named(_, value) => *value != 0,
            Value::Byte(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Value::String(text) => !text.is_empty(),
            Value::List(list) => !list.items().is_empty(),
            Value::Map(map) => !map.is_empty(),
            Value::Time(_) => true,
        }
    }

    /// Whether Go's `reflect.Value.IsNil` holds, or there is no value.
    pub(crate) fn is_nil(&self) -> bool {
        match self {
            Value::Nil => true,
            Value::List(list) => list.items.is_none(),
            Value::Map(map) => map.entries.is_none(),
            _ => false,
        }
    }

    /// Returns the bytes of a string.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::string(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::string(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::String(Text::from(bytes))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

/// Converts JSON as in the template's input: integers within 64 bits become `int64`, other numbers `float64`.
impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(integer) => Value::Int64(integer),
                None => Value::Float(number.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(text) => Value::string(text),
            serde_json::Value::Array(items) => Value::list(items.iter().map(Value::from).collect()),
            serde_json::Value::Object(fields) => Value::Map(Map::from(fields)),
        }
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Map {
    fn from(fields: &serde_json::Map<String, serde_json::Value>) -> Map {
        let entries = fields.iter().map(|(key, value)| (Text::from(key.as_bytes()), Value::from(value))).collect();
        Map::from_unsorted(ElementType::Any, entries)
    }
}

impl List {
    /// Makes a list that is not nil.
    pub fn new(element: ElementType, items: Vec<Value>) -> List {
        List { element, items: Some(Rc::new(Items(items))) }
    }

    /// Makes a nil slice.
    pub(crate) fn nil(element: ElementType) -> List {
        List { element, items: None }
    }

    /// Returns the type of the items.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Returns the items; empty for a nil slice.
    pub fn items(&self) -> &[Value] {
        self.items.as_ref().map_or(&[], |items| &items.0)
    }

    /// Returns an address that identifies a shared list.
    fn address(&self) -> Option<usize> {
        self.items.as_ref().map(|items| Rc::as_ptr(items) as usize)
    }
}

impl Map {
    /// Makes an empty map that is not nil.
    pub fn new(element: ElementType) -> Map {
        Map::from_unsorted(element, Vec::new())
    }

    /// Makes a nil map.
    pub(crate) fn nil() -> Map {
        Map { element: ElementType::Any, entries: None }
    }

    /// Makes a map; the last of equal keys counts.
    pub(crate) fn from_unsorted(element: ElementType, mut entries: EntryList) -> Map {
        // Strictly rising keys have no duplicates to drop.
        if !entries.is_sorted_by(|left, right| left.0 < right.0) {
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            // The sort keeps the order of equal keys, and `dedup_by` drops the later of two, so the swap keeps its
            // value.
            entries.dedup_by(|later, earlier| {
                let same = later.0 == earlier.0;
                if same {
                    std::mem::swap(later, earlier);
                }
                same
            });
        }
        entries.shrink_to_fit();
        Map { element, entries: Some(Rc::new(Entries(RefCell::new(entries)))) }
    }

    /// Returns the type of the values.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        let entries = self.entries()?;
        let at = entries.binary_search_by(|(name, _)| name.as_ref().cmp(key)).ok()?;
        entries.get(at).map(|(_, value)| value.clone())
    }

    /// Sets the value of a key; returns `false` for a nil map, which is not changed.
    ///
    /// The value must not contain this map, because such a cycle would never be freed; check with [`Map::is_within`].
    pub(crate) fn insert(&self, key: &[u8], value: Value) -> bool {
        let Some(shared) = &self.entries else { return false };
        let previous = {
            let mut entries = shared.0.borrow_mut();
            match entries.binary_search_by(|(name, _)| name.as_ref().cmp(key)) {
                Ok(at) => entries.get_mut(at).map(|entry| std::mem::replace(&mut entry.1, value)),
                Err(at) => {
                    entries.insert(at, (Text::from(key), value));
                    None
                }
            }
        };
        // Drop it last: it may hold the last reference to a map that borrows this one while it is dropped.
        drop(previous);
        true
    }

    /// Removes a key.
    pub(crate) fn remove(&self, key: &[u8]) {
        let Some(shared) = &self.entries else { return };
        let removed = {
            let mut entries = shared.0.borrow_mut();
            match entries.binary_search_by(|(name, _)| name.as_ref().cmp(key)) {
                Ok(at) => Some(entries.remove(at)),
                Err(_) => None,
            }
        };
        // After the borrow has ended, as in `insert`.
        drop(removed);
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.entries().map_or(0, |entries| entries.len())
    }

    /// Whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is a nil map.
    pub(crate) fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// Borrows the entries, sorted by key.
    pub(crate) fn entries(&self) -> Option<Ref<'_, EntryList>> {
        self.entries.as_ref().map(|shared| shared.0.borrow())
    }

    /// Copies the entries. This is cheap because keys and values are shared.
    pub(crate) fn snapshot(&self) -> EntryList {
        self.entries().map(|entries| entries.clone()).unwrap_or_default()
    }

    fn address(&self) -> Option<usize> {
        self.entries.as_ref().map(|shared| Rc::as_ptr(shared) as usize)
    }

    /// Whether `value` is this map or contains it. Visits at most `most` lists and maps, and returns how many it
    /// visited.
    ///
    /// `Err` when there are more to visit.
    pub(crate) fn is_within(&self, value: &Value, most: u64) -> Result<(bool, u64), u64> {
        let wanted = self.address();
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![value.clone()];
        let mut visited = 0;
        while let Some(value) = open.pop() {
            let address = match &value {
                Value::List(list) => list.address(),
                Value::Map(map) => map.address(),
                _ => continue,
            };
            if address.is_some() && address == wanted {
                return Ok((true, visited));
            }
            // Each shared value is visited once. A map that holds the same value twice on every level would take
            // exponential time.
            if address.is_none_or(|address| !seen.insert(address)) {
                continue;
            }
            visited += 1;
            match &value {
                Value::List(list) => open.extend(list.items().iter().filter(|item| is_container(item)).cloned()),
                Value::Map(map) => {
                    if let Some(entries) = map.entries() {
                        open.extend(entries.iter().map(|(_, item)| item).filter(|item| is_container(item)).cloned());
                    }
                }
                _ => {}
            }
            if visited + open.len() as u64 > most {
                return Err(visited);
            }
        }
        Ok((false, visited))
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}

// A template can nest values as deeply as its steps allow, and dropping them recursively would need a stack frame per
// level.
impl Drop for Items {
    fn drop(&mut self) {
        if self.0.iter().any(is_container) {
            drop_iteratively(std::mem::take(&mut self.0));
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let entries = self.0.get_mut();
        if entries.iter().any(|(_, value)| is_container(value)) {
            drop_iteratively(std::mem::take(entries).into_iter().map(|(_, value)| value).collect());
        }
    }
}

fn drop_iteratively(mut open: Vec<Value>) {
    while let Some(value) = open.pop() {
        match value {
            Value::List(list) => {
                // A list with other owners lives on.
                if let Some(mut items) = list.items.and_then(|items| Rc::try_unwrap(items).ok()) {
                    open.append(&mut items.0);
                }
            }
            Value::Map(map) => {
                if let Some(mut entries) = map.entries.and_then(|entries| Rc::try_unwrap(entries).ok()) {
                    open.extend(std::mem::take(entries.0.get_mut()).into_iter().map(|(_, value)| value));
                }
            }
            _ => {}
        }
    }
}
