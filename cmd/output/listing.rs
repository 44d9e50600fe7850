//! The common form of lists before printing: typed cells, so that table, JSON, sorting and filters share one value.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use flux_operator::format::age::short_age;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// A column of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Upper-case heading.
    pub name: &'static str,
    /// Shown only with `-o wide`.
    pub wide: bool,
    /// Shown only when objects of several namespaces are listed.
    pub namespace: bool,
    /// Priority for omission on a narrow terminal: never at 0, else the highest first.
    pub rank: u8,
}

impl Column {
    pub const fn new(name: &'static str) -> Self {
        Column { name, wide: false, namespace: false, rank: 0 }
    }
    pub const fn wide(name: &'static str) -> Self {
        Column { wide: true, ..Column::new(name) }
    }
    pub const NAMESPACE: Column = Column { namespace: true, rank: 1, ..Column::new("NAMESPACE") };
    pub const KIND: Column = Column { rank: 2, ..Column::new("KIND") };
    pub const READY: Column = Column::new("READY");
    /// The message column, which is wrapped below its row if there is no space for the column.
    pub const MESSAGE: Column = Column { rank: 4, ..Column::new("MESSAGE") };
    /// Ranks the column so that it is kept longer than a message.
    pub const fn before_message(self) -> Self {
        Column { rank: Column::MESSAGE.rank - 1, ..self }
    }
    /// Ranks the column so that it is omitted before a message. The highest rank is omitted first.
    pub const fn rank(self, rank: u8) -> Self {
        Column { rank: Column::MESSAGE.rank + rank, ..self }
    }
}

/// A value of a row, with its order; the printer chooses the format.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value: `<none>`.
    Absent,
    /// An unknown value: `Unknown`.
    Unknown,
    Text(String),
    /// A kind; may be shortened on a narrow terminal.
    Kind(String),
    /// A revision or digest; shortened first on a narrow terminal.
    Revision(String),
    /// Text from other programs, wrapped if necessary.
    Message(String),
    Count(i64),
    /// `ready/desired`.
    Share(i64, i64),
    /// A moment, shown as its age.
    Since(Timestamp),
    /// A due moment, shown as the time until then or since.
    Due(Timestamp),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Cell::Absent } else { Cell::Text(text) }
    }
    pub fn some_text(text: Option<&str>) -> Self {
        text.map_or(Cell::Absent, Cell::text)
    }
    pub fn revision(text: Option<&str>) -> Self {
        text.filter(|t| !t.is_empty()).map_or(Cell::Absent, |t| Cell::Revision(t.into()))
    }
    pub fn since(moment: Option<Timestamp>) -> Self {
        moment.map_or(Cell::Unknown, Cell::Since)
    }
    pub fn message(text: &str) -> Self {
        if text.is_empty() { Cell::Absent } else { Cell::Message(text.into()) }
    }

    /// Returns the complete text.
    pub fn full(&self, now: Timestamp) -> String {
        match self {
            Cell::Absent => "<none>".into(),
            Cell::Unknown => "Unknown".into(),
            Cell::Text(text) | Cell::Kind(text) | Cell::Revision(text) => text.clone(),
            Cell::Message(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Cell::Count(count) => count.to_string(),
            Cell::Share(ready, desired) => format!("{ready}/{desired}"),
            Cell::Since(moment) => short_age(*moment, now),
            Cell::Due(moment) if *moment <= now => format!("overdue by {}", short_age(*moment, now)),
            Cell::Due(moment) => format!("in {}", short_age(now, *moment)),
        }
    }

    /// Orders the cells of a column: numbers by value, ages youngest first, due moments by time, others by text;
    /// missing values last.
    pub fn order(&self, other: &Self) -> Ordering {
        let rank = |cell: &Cell| u8::from(matches!(cell, Cell::Absent | Cell::Unknown));
        match (self, other) {
            (Cell::Count(a), Cell::Count(b)) => a.cmp(b),
            (Cell::Share(a, b), Cell::Share(c, d)) => (a, b).cmp(&(c, d)),
            (Cell::Since(a), Cell::Since(b)) => b.cmp(a),
            (Cell::Due(a), Cell::Due(b)) => a.cmp(b),
            (
                Cell::Text(a) | Cell::Kind(a) | Cell::Revision(a) | Cell::Message(a),
                Cell::Text(b) | Cell::Kind(b) | Cell::Revision(b) | Cell::Message(b),
            ) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// A row of a list with everything that the printer needs.
#[derive(Clone, Debug)]
pub struct Item {
    pub cells: Vec<Cell>,
    /// The value for JSON, YAML, JSONPath and custom columns: a real object, or the row's own view.
    pub value: Value,
    /// `kind.group/name` for `-o name`.
    pub name: String,
    pub namespace: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// `True`, `False`, `Unknown` or `Suspended`, if the row has a readiness.
    pub ready: Option<String>,
}

/// A list: its columns and its items.
#[derive(Clone, Debug)]
pub struct Listing {
    /// `kind` of the JSON list: `List` for real objects, else the view's name with `List` appended.
    pub kind: &'static str,
    pub columns: Vec<Column>,
    pub items: Vec<Item>,
}

/// A row of a list that is a view, not a Kubernetes object.
pub trait Row: Serialize {
    /// `kind` of the JSON list.
    const LIST_KIND: &'static str;
    const COLUMNS: &'static [Column];
    /// A cell per column.
    fn cells(&self) -> Vec<Cell>;
    /// The text for `-o name`.
    fn name(&self) -> String;
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn ready(&self) -> Option<&str> {
        None
    }
    fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// Turns rows into a list.
///
/// A row that cannot be serialised becomes `null`, but all rows of this program can.
pub fn listing<R: Row>(rows: &[R]) -> Listing {
    let items = rows.iter().map(item).collect();
    Listing { kind: R::LIST_KIND, columns: R::COLUMNS.to_vec(), items }
}

pub fn item<R: Row>(row: &R) -> Item {
    Item {
        cells: row.cells(),
        value: serde_json::to_value(row).unwrap_or_default(),
        name: row.name(),
        namespace: row.namespace().map(Into::into),
        labels: row.labels(),
        ready: row.ready().map(Into::into),
    }
}

impl Listing {
    /// Finds a column by name: any case; spaces, `-` and `_` are equal.
    pub fn column(&self, name: &str) -> Option<usize> {
        let plain = |text: &str| -> String {
            text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        self.columns.iter().position(|c| plain(c.name) == plain(name))
    }

    pub fn column_names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|c| c.name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_sort_by_value_and_absent_ones_last() {
        assert_eq!(Cell::Count(9).order(&Cell::Count(10)), Ordering::Less);
        assert_eq!(Cell::Absent.order(&Cell::Text("z".into())), Ordering::Greater);
        let (old, young) = (Timestamp::from_second(1).unwrap(), Timestamp::from_second(9).unwrap());
        assert_eq!(Cell::Since(young).order(&Cell::Since(old)), Ordering::Less);
        assert_eq!(Cell::Due(young).order(&Cell::Due(old)), Ordering::Greater);
        assert_eq!(Cell::Due(old).full(young), "overdue by 8s");
        assert_eq!(Cell::Due(young).full(old), "in 8s");
    }
}
