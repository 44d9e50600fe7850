//! Tables that fit the terminal: aligned by display width, no borders, no tabs, no trailing blanks.
//!
//! On a narrow terminal revisions are shortened first. Then gaps get narrower, columns are omitted (the least important
//! first, names and readiness last), and kinds are shortened. Messages are wrapped, and moved below their row if no
//! space is left beside more important columns. Names are never truncated: a few names that are wider than half of the
//! terminal get their own lines, if columns would otherwise be omitted. A pipe gets everything.

use comfy_table::{Cell as TableCell, Color, ColumnConstraint, ContentArrangement, Table, Width};
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::output::listing::{Cell, Column};
use crate::output::wrap::{cut, wrapped};
use flux_operator::format::harmless::on_one_line;

/// Blanks between columns, as in kubectl; fewer if space is scarce.
const GAP: usize = 3;
const NARROW_GAP: usize = 2;
/// Minimum width of a kind.
const LEAST_KIND: usize = 12;
/// Minimum width of a message; a narrower one is moved below its row.
const LEAST_MESSAGE: usize = 14;
/// Limit for the lines of a message in a table; the whole text is in `-o wide` and in a pipe.
const MESSAGE_LINES: usize = 3;
/// Blanks before a message below its row.
const INDENT: usize = 2;

/// Style of tables.
#[derive(Clone, Copy, Debug)]
pub struct TableStyle {
    /// Columns of the terminal; `None` for a pipe, which is never truncated.
    pub width: Option<usize>,
    pub headers: bool,
    pub color: bool,
    pub now: Timestamp,
}

/// The heading of a column, with its priority for omission (0: never).
#[derive(Clone, Debug)]
pub struct Heading {
    pub name: String,
    pub rank: u8,
}

impl Heading {
    pub fn new(name: impl Into<String>) -> Self {
        Heading { name: name.into(), rank: 0 }
    }
}

impl From<&Column> for Heading {
    fn from(column: &Column) -> Self {
        Heading { name: column.name.to_owned(), rank: column.rank }
    }
}

/// Draws a table page by page. Later pages keep the columns of the first one, and get wider only for their names.
pub struct TableWriter {
    style: TableStyle,
    headings: Vec<Heading>,
    layout: Option<TableLayout>,
    /// Width of each column so far.
    widths: Vec<usize>,
    started: bool,
}

/// The layout that fits the terminal.
#[derive(Clone, Debug)]
struct TableLayout {
    /// Indices of the columns shown side by side.
    shown: Vec<usize>,
    gap: usize,
    short_revisions: bool,
    /// Columns of messages, and whether they are below their row.
    messages: Vec<usize>,
    below: bool,
    /// Columns of kinds.
    kinds: Vec<usize>,
    /// The column of names, and the maximum width of a name in it.
    names: Option<(usize, usize)>,
}

impl TableLayout {
    /// Returns the number of shown columns, including those below the row.
    fn columns(&self) -> usize {
        self.shown.len() + if self.below { self.messages.len() } else { 0 }
    }
}

impl TableWriter {
    pub fn new(headings: Vec<Heading>, style: TableStyle) -> Self {
        let widths = headings.iter().map(|h| if style.headers { h.name.width() } else { 0 }).collect();
        TableWriter { style, headings, layout: None, widths, started: false }
    }

    pub fn headings(&self) -> Vec<Heading> {
        self.headings.clone()
    }

    /// Returns the width of the first column so far.
    pub fn first_width(&self) -> usize {
        self.widths.first().copied().unwrap_or_default()
    }

    /// Makes the first column at least this wide.
    pub fn widen_first(&mut self, width: usize) {
        if let Some(first) = self.widths.first_mut() {
            *first = width.max(*first);
        }
    }

    /// Sets the column widths for these rows before the first row is drawn, so that the columns of all their pages line
    /// up.
    pub fn measure(&mut self, rows: &[Vec<Cell>]) {
        if self.layout.is_some() {
            return;
        }
        let mut texts: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| on_one_line(&cell.full(self.style.now))).collect()).collect();
        let layout = self.choose(rows, &texts);
        if layout.short_revisions {
            for (row, texts) in rows.iter().zip(&mut texts) {
                shorten_revisions(row, texts);
            }
        }
        take_long_names(layout.names, &mut texts);
        let widths = self.page_widths(&texts);
        for (index, (known, now)) in self.widths.iter_mut().zip(widths).enumerate() {
            // Each page fits its kinds and messages into the width that its other columns leave.
            if self.style.width.is_none() || !(layout.messages.contains(&index) || layout.kinds.contains(&index)) {
                *known = now;
            }
        }
        self.layout = Some(layout);
    }

    /// Returns the lines of a page; the first page begins with the heading.
    pub fn page(&mut self, rows: &[Vec<Cell>]) -> String {
        let with_headers = self.style.headers && !self.started;
        self.started = true;
        let mut texts: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| on_one_line(&cell.full(self.style.now))).collect()).collect();
        let layout = match &self.layout {
            Some(layout) => layout.clone(),
            None => self.layout.insert(self.choose(rows, &texts)).clone(),
        };
        if layout.short_revisions {
            for (row, texts) in rows.iter().zip(&mut texts) {
                shorten_revisions(row, texts);
            }
        }
        let long_names = take_long_names(layout.names, &mut texts);
        let mut widths = self.page_widths(&texts);
        let mut below = vec![String::new(); texts.len()];
        if let Some(width) = self.style.width {
            self.fit_kinds(&layout, width, &mut widths, &mut texts);
            if layout.below {
                for (row, below) in texts.iter().zip(&mut below) {
                    *below = below_row(row, &layout.messages, width);
                }
            } else {
                fit_messages(&layout, width, &mut widths, &mut texts);
            }
        }
        for (known, now) in self.widths.iter_mut().zip(&widths) {
            *known = (*known).max(*now);
        }
        // A message gets the width that this page's other columns leave, regardless of earlier pages.
        for index in &layout.messages {
            if let (Some(known), Some(now)) = (self.widths.get_mut(*index), widths.get(*index)) {
                *known = *now;
            }
        }
        self.draw(&layout, with_headers, &texts, &long_names, &below)
    }

    /// Returns the width of each column for the texts of a page.
    fn page_widths(&self, texts: &[Vec<String>]) -> Vec<usize> {
        let widest = |index: usize| texts.iter().filter_map(|row| row.get(index)).map(|t| t.width()).max().unwrap_or(0);
        self.widths.iter().enumerate().map(|(index, known)| widest(index).max(*known)).collect()
    }

    /// Chooses the layout for the first page.
    fn choose(&self, rows: &[Vec<Cell>], texts: &[Vec<String>]) -> TableLayout {
        let columns = 0..self.headings.len();
        let messages = columns.clone().filter(|i| has(rows, *i, |c| matches!(c, Cell::Message(_)))).collect();
        let kinds = columns.clone().filter(|i| has(rows, *i, |c| matches!(c, Cell::Kind(_)))).collect();
        let all = TableLayout {
            shown: columns.collect(),
            gap: GAP,
            short_revisions: false,
            messages,
            below: false,
            kinds,
            names: None,
        };
        let Some(width) = self.style.width else { return all };
        let whole = self.page_widths(texts);
        let mut short = texts.to_vec();
        for (row, texts) in rows.iter().zip(&mut short) {
            shorten_revisions(row, texts);
        }
        if total(&whole, &all.shown, GAP) <= width {
            return all;
        }
        let all = TableLayout { short_revisions: true, ..all };
        let usual = self.fitted(rows, &short, width, all.clone());
        // A few long names must not take the columns of all others.
        let names = self
            .headings
            .iter()
            .position(|heading| matches!(heading.name.as_str(), "NAME" | "OBJECT") && heading.rank == 0)
            .map(|index| (index, width / 2));
        let long = take_long_names(names, &mut short).into_iter().flatten().count();
        // If most names are long, lines of their own would nearly double the table.
        if long == 0 || 2 * long > rows.len() {
            return usual;
        }
        let with_lines_of_names = self.fitted(rows, &short, width, TableLayout { names, ..all });
        if with_lines_of_names.columns() > usual.columns() { with_lines_of_names } else { usual }
    }

    /// Chooses the columns that fit side by side.
    fn fitted(&self, rows: &[Vec<Cell>], texts: &[Vec<String>], width: usize, all: TableLayout) -> TableLayout {
        let short = self.page_widths(texts);
        // Minimum of a column: a message can be wrapped, a kind shortened.
        let message = message_share(width, all.messages.len());
        let needed: Vec<usize> = short
            .iter()
            .enumerate()
            .map(|(index, now)| match index {
                index if all.messages.contains(&index) => (*now).min(message),
                _ => *now,
            })
            .collect();
        for gap in [GAP, NARROW_GAP] {
            if total(&needed, &all.shown, gap) <= width {
                return TableLayout { gap, ..all };
            }
        }
        let gap = NARROW_GAP;
        let needed: Vec<usize> = needed
            .iter()
            .enumerate()
            .map(|(index, now)| if all.kinds.contains(&index) { (*now).min(LEAST_KIND) } else { *now })
            .collect();
        let rank = |index: usize| self.headings.get(index).map_or(0, |heading| heading.rank);
        let mut shown: Vec<usize> = all.shown.iter().copied().filter(|i| rank(*i) == 0).collect();
        let says_nothing = |index: usize| !has(rows, index, |cell| !matches!(cell, Cell::Absent));
        // A name is ambiguous without its namespace, so messages are moved below their rows if namespaces would not
        // fit.
        let namespaces = |index: &usize| self.headings.get(*index).is_some_and(|heading| heading.name == "NAMESPACE");
        let namespace = all.shown.iter().copied().find(namespaces).filter(|index| !says_nothing(*index));
        let with_namespace: Vec<usize> = shown.iter().copied().chain(namespace).collect();
        let mut below = total(&needed, &with_namespace, gap) > width && !all.messages.is_empty();
        if below {
            shown.retain(|index| !all.messages.contains(index));
        }
        let mut others: Vec<usize> = all.shown.iter().copied().filter(|i| rank(*i) > 0).collect();
        // Columns without a single value are omitted first.
        others.sort_by_key(|index| (says_nothing(*index), rank(*index)));
        for index in others {
            let mut with = shown.clone();
            with.push(index);
            let is_message = all.messages.contains(&index);
            if is_message && (below || total(&needed, &with, gap) > width) {
                below = true;
                shown.retain(|index| !all.messages.contains(index));
            } else if total(&needed, &with, gap) <= width {
                shown = with;
            }
        }
        shown.sort_unstable();
        TableLayout { shown, gap, below, ..all }
    }

    /// Gives kinds the width that the others leave.
    fn fit_kinds(&self, layout: &TableLayout, width: usize, widths: &mut [usize], texts: &mut [Vec<String>]) {
        let message = message_share(width, layout.messages.len());
        for index in layout.kinds.iter().filter(|index| layout.shown.contains(index)) {
            let needed = |other: &usize| {
                let now = widths.get(*other).copied().unwrap_or(0);
                if layout.messages.contains(other) { now.min(message) } else { now }
            };
            let total =
                layout.shown.iter().map(needed).sum::<usize>() + layout.gap * layout.shown.len().saturating_sub(1);
            let Some(now) = widths.get(*index).copied() else { continue };
            let least = LEAST_KIND.min(now);
            let given = now.saturating_sub(total.saturating_sub(width)).max(least);
            if given < now {
                for text in texts.iter_mut().filter_map(|row| row.get_mut(*index)) {
                    *text = cut(text, given);
                }
                if let Some(now) = widths.get_mut(*index) {
                    *now = given;
                }
            }
        }
    }

    fn draw(
        &self,
        layout: &TableLayout,
        with_headers: bool,
        texts: &[Vec<String>],
        long_names: &[Option<String>],
        below: &[String],
    ) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        // The widths are decided here; the library would wrap names.
        table.set_content_arrangement(ContentArrangement::Disabled);
        // The shell has already decided whether to use colour. Otherwise the library would check the terminal again.
        if self.style.color {
            table.enforce_styling();
            // Otherwise blanks would be inside the colour and could not be trimmed.
            table.style_text_only();
        } else {
            table.force_no_tty();
        }
        // The name before each line of the table, and the text after it.
        let mut around: Vec<(Option<&String>, &str)> = vec![];
        if with_headers {
            table.add_row(layout.shown.iter().filter_map(|i| self.headings.get(*i)).map(|h| TableCell::new(&h.name)));
            around.push((None, ""));
        }
        for ((row, name), below) in texts.iter().zip(long_names).zip(below) {
            let shown: Vec<(usize, &String)> =
                layout.shown.iter().filter_map(|index| Some((*index, row.get(*index)?))).collect();
            let height = shown.iter().map(|(_, text)| text.lines().count()).max().unwrap_or(1).max(1);
            table.add_row(shown.into_iter().map(|(index, text)| {
                let cell = TableCell::new(text);
                let heading = self.headings.get(index).map_or("", |heading| heading.name.as_str());
                match color_of(heading, text).filter(|_| self.style.color) {
                    Some(color) => cell.fg(color),
                    None => cell,
                }
            }));
            let first = around.len();
            around.extend(std::iter::repeat_n((None, ""), height));
            if let Some(line) = around.get_mut(first) {
                line.0 = name.as_ref();
            }
            if let Some(line) = around.last_mut() {
                line.1 = below;
            }
        }
        let gap = u16::try_from(layout.gap).unwrap_or(1);
        for (position, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, gap));
            let width = layout.shown.get(position).and_then(|index| self.widths.get(*index)).copied().unwrap_or(0);
            let width = Width::Fixed(u16::try_from(width.saturating_add(layout.gap)).unwrap_or(u16::MAX));
            column.set_constraint(ColumnConstraint::LowerBoundary(width));
        }
        let is_before_name = |index: &&usize| layout.names.is_some_and(|(name, _)| **index < name);
        let before_name = layout.shown.iter().filter(is_before_name);
        let start: usize = before_name.map(|index| self.widths.get(*index).copied().unwrap_or(0) + layout.gap).sum();
        let width = self.style.width.unwrap_or(usize::MAX);
        let mut text = String::new();
        for (line, (name, below)) in table.lines().zip(around) {
            if let Some(name) = name {
                let indent = start.min(width.saturating_sub(name.width()));
                text.push_str(&format!("{:indent$}{name}\n", ""));
            }
            text.push_str(line.trim_end());
            text.push('\n');
            text.push_str(below);
        }
        text
    }
}

/// Whether some cell of a column satisfies a predicate.
fn has(rows: &[Vec<Cell>], column: usize, wanted: fn(&Cell) -> bool) -> bool {
    rows.iter().filter_map(|row| row.get(column)).any(wanted)
}

/// Returns the total width of some columns side by side.
fn total(widths: &[usize], shown: &[usize], gap: usize) -> usize {
    shown.iter().filter_map(|index| widths.get(*index)).sum::<usize>() + gap * shown.len().saturating_sub(1)
}

/// Returns the minimum width of each message before columns are omitted.
fn message_share(width: usize, messages: usize) -> usize {
    ((width / 4).max(20) / messages.max(1)).max(LEAST_MESSAGE)
}

/// Moves names that are too wide for their column out of it.
fn take_long_names(names: Option<(usize, usize)>, texts: &mut [Vec<String>]) -> Vec<Option<String>> {
    let take = |row: &mut Vec<String>| {
        let (index, widest) = names?;
        row.get_mut(index).filter(|name| name.width() > widest).map(std::mem::take)
    };
    texts.iter_mut().map(take).collect()
}

fn shorten_revisions(row: &[Cell], texts: &mut [String]) {
    for (cell, text) in row.iter().zip(texts) {
        // A message often repeats the revision beside it.
        if matches!(cell, Cell::Revision(_) | Cell::Message(_)) {
            *text = short_revision(text);
        }
    }
}

/// Wraps messages to the width that the others leave.
fn fit_messages(layout: &TableLayout, width: usize, widths: &mut [usize], texts: &mut [Vec<String>]) {
    let shown: Vec<usize> = layout.messages.iter().copied().filter(|i| layout.shown.contains(i)).collect();
    let others = layout.shown.iter().filter(|index| !shown.contains(index)).filter_map(|index| widths.get(*index));
    let taken = others.sum::<usize>() + layout.gap * layout.shown.len().saturating_sub(1);
    let mut left = width.saturating_sub(taken);
    // The narrowest messages are sized first. The width that they do not need is left for the wider ones.
    let mut by_need = shown.clone();
    by_need.sort_by_key(|index| widths.get(*index).copied().unwrap_or(0));
    for (position, index) in by_need.iter().enumerate() {
        let share = left / (by_need.len() - position).max(1);
        let Some(now) = widths.get_mut(*index) else { continue };
        *now = (*now).min(share.max(LEAST_MESSAGE));
        left = left.saturating_sub(*now);
        for text in texts.iter_mut().filter_map(|row| row.get_mut(*index)) {
            *text = wrapped(text, *now, MESSAGE_LINES).join("\n");
        }
    }
}

/// Formats the messages of a row as separate lines.
fn below_row(row: &[String], messages: &[usize], width: usize) -> String {
    let mut text = String::new();
    for message in messages.iter().filter_map(|index| row.get(*index)).filter(|text| *text != "<none>") {
        for line in wrapped(message, width.saturating_sub(INDENT), MESSAGE_LINES) {
            text.push_str(&format!("{:INDENT$}{line}\n", ""));
        }
    }
    text
}

/// Returns the colour of a word that is good or bad in every column. The meaning is in the word, not in the colour.
fn color_of(heading: &str, text: &str) -> Option<Color> {
    match text {
        // Nothing is failing or waiting.
        "0" => None,
        _ if heading == "FAILING" => Some(Color::Red),
        _ if heading == "WAITING" => Some(Color::Yellow),
        "True" | "Current" | "pass" => Some(Color::Green),
        "False" | "Failed" | "NotFound" | "missing" | "Warning" | "fail" => Some(Color::Red),
        "Unknown" | "Suspended" | "InProgress" | "Terminating" | "drifted" | "warn" => Some(Color::Yellow),
        _ => None,
    }
}

/// Shortens the digests of a revision, or of a text that names some, to eight digits: `main@sha1:0123abcd`.
pub fn short_revision(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let (word, end) = piece.split_at(piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        let is_digest =
            (short.ends_with("sha1:") || short.ends_with("sha256:")) && word.chars().all(|c| c.is_ascii_hexdigit());
        short.push_str(word.get(..8).filter(|_| is_digest).unwrap_or(word));
        short.push_str(end);
    }
    short
}

/// Returns the columns of stdout's terminal, at least 20; 80 if the terminal reports none or 0.
pub fn terminal_width() -> usize {
    columns_of(&Table::new()).max(20)
}

/// Returns the columns of stdout's terminal; `None` if the terminal reports none or 0.
pub fn known_width() -> Option<usize> {
    detected_width(&Table::new())
}

/// Returns the columns of a table's terminal; 80 if the terminal reports none or 0.
pub fn columns_of(table: &Table) -> usize {
    detected_width(table).unwrap_or(80)
}

fn detected_width(table: &Table) -> Option<usize> {
    table.width().filter(|columns| *columns > 0).map(usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(width: Option<usize>) -> TableStyle {
        TableStyle { width, headers: true, color: false, now: "2026-01-01T00:00:00Z".parse().unwrap() }
    }

    /// `NAME:rank`
    fn headings(names: &[&str]) -> Vec<Heading> {
        let one = |text: &&str| {
            let (name, rank) = text.split_once(':').unwrap_or((text, "0"));
            Heading { name: name.to_owned(), rank: rank.parse().unwrap() }
        };
        names.iter().map(one).collect()
    }

    fn row(name: &str, revision: &str, message: &str) -> Vec<Cell> {
        vec![Cell::text(name), Cell::text("True"), Cell::revision(Some(revision)), Cell::message(message)]
    }

    const COLUMNS: [&str; 4] = ["NAME", "READY", "REVISION:1", "MESSAGE"];

    fn drawn(width: Option<usize>, rows: &[Vec<Cell>]) -> String {
        TableWriter::new(headings(&COLUMNS), style(width)).page(rows)
    }

    #[test]
    fn a_pipe_gets_everything_without_tabs_or_trailing_blanks() {
        let long = "m".repeat(200);
        let text = drawn(None, &[row("a", &format!("main@sha1:{}", "0".repeat(40)), &long), row("bbbb", "", "")]);
        assert!(text.contains(&long));
        assert!(!text.contains('\t'));
        assert!(text.lines().all(|line| line.trim_end() == line));
        assert!(text.starts_with("NAME   READY   REVISION"));
        assert_eq!(text.lines().nth(2), Some(format!("bbbb   True    <none>{}   <none>", " ".repeat(44)).as_str()));
    }

    #[test]
    fn a_terminal_shortens_revisions_first_and_wraps_messages() {
        let text =
            drawn(Some(80), &[row("podinfo", &format!("main@sha1:{}", "0123456789".repeat(4)), &"word ".repeat(20))]);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(text.contains("main@sha1:01234567 "), "{text}");
        assert_eq!((text.matches("word").count(), text.contains('…')), (20, false), "{text}");
        let endless = drawn(Some(80), &[row("podinfo", "v1", &"word ".repeat(200))]);
        assert_eq!((endless.lines().count(), endless.contains('…')), (4, true), "{endless}");
    }

    #[test]
    fn a_message_that_fits_once_revisions_are_short_is_kept_whole() {
        let revision = format!("main@sha1:{}", "0123456789".repeat(4));
        let message = format!("stored artifact for '{revision}'");
        let text = drawn(Some(80), &[row("podinfo", &revision, &message)]);
        assert!(text.contains("stored artifact for 'main@sha1:01234567'"), "{text}");
        assert!(!text.contains('…') && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn names_are_never_cut_and_every_width_fits_what_they_leave() {
        let name = "a-very-long-name-of-some-object-in-a-cluster";
        let rows = [row("日本語", "v1", "ok"), row(name, "v1", &"x ".repeat(60))];
        for width in 40..120 {
            let text = drawn(Some(width), &rows);
            assert!([" ", "\n"].iter().any(|end| text.contains(&format!("{name}{end}"))), "{width}:\n{text}");
            let least = name.width() + NARROW_GAP + "READY".width();
            assert!(text.lines().all(|line| line.width() <= width.max(least)), "{width}:\n{text}");
        }
        let below = drawn(Some(52), &rows[1..]);
        assert!(below.contains(&format!("{name}  True\n  x x x")), "{below}");
        let text = TableWriter::new(headings(&["NAME", "READY"]), style(None))
            .page(&[vec![Cell::text("日本"), Cell::text("x")], vec![Cell::text("abcd"), Cell::text("y")]]);
        assert!(text.contains("日本   x\n") && text.contains("abcd   y\n"), "{text}");
    }

    #[test]
    fn a_name_wider_than_half_of_the_terminal_has_its_own_line() {
        let long = "n".repeat(60);
        let rows = [row("podinfo", "v1", "stored"), row(&long, "v2", "no such branch"), row("web", "v3", "stored")];
        insta::assert_snapshot!(drawn(Some(64), &rows), @r"
        NAME      READY   REVISION   MESSAGE
        podinfo   True    v1         stored
        nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
                  True    v2         no such branch
        web       True    v3         stored
        ");
        // With enough space, and in a pipe, it is in its row.
        for width in [Some(200), None] {
            assert!(drawn(width, &rows).contains(&format!("{long}   True    v2 ")));
        }
        let row = |name: &str| vec![Cell::text("apps"), Cell::text(name), Cell::text("False"), Cell::text("1m")];
        let draw = |rows: &[Vec<Cell>]| {
            TableWriter::new(headings(&["NAMESPACE", "NAME", "READY:1", "AGE:2"]), style(Some(80))).page(rows)
        };
        let text = draw(&[row("podinfo"), row(&long)]);
        let aligned = format!("{:12}{long}\napps        {:10}False   1m\n", "", "");
        assert!(text.ends_with(&aligned), "{text}");
        // There may be no space beside the columns before it.
        let longer = "n".repeat(75);
        assert!(draw(&[row("podinfo"), row(&longer)]).contains(&format!("\n     {longer}\napps ")));
        // If nearly all names are long, separate lines would only be harder to read.
        assert!(draw(&[row(&long), row(&long)]).lines().all(|line| line.contains("NAME") || line.contains(&long)));
    }

    #[test]
    fn empty_columns_are_omitted_first_then_columns_by_importance() {
        let names = ["EMPTY:1", "NAME", "URL:3", "REF:2", "SINCE:4"];
        let rows = [vec![
            Cell::Absent,
            Cell::text("podinfo"),
            Cell::text("https://example.com/a/long/address"),
            Cell::text("main"),
            Cell::text("5m"),
        ]];
        let heading = |width: usize| {
            let text = TableWriter::new(headings(&names), style(Some(width))).page(&rows);
            text.lines().next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(heading(200), "EMPTY NAME URL REF SINCE");
        assert_eq!(heading(60), "NAME URL REF SINCE");
        assert_eq!(heading(50), "NAME URL REF");
        assert_eq!(heading(40), "EMPTY NAME REF SINCE");
        assert_eq!(heading(20), "NAME REF SINCE");
        assert_eq!(heading(5), "NAME");
    }

    #[test]
    fn messages_move_below_their_rows_before_namespaces_are_omitted() {
        let names = ["NAMESPACE:1", "NAME", "READY", "REVISION", "MESSAGE", "PATH:1"];
        let placed = |namespace: &str| {
            let mut row = vec![Cell::text(namespace)];
            row.extend(self::row("podinfo", "main@sha1:0123456789abcdef", "Applied revision: main@sha1:01234567"));
            row.push(Cell::text("./deploy/production"));
            row
        };
        let rows = [placed("apps"), placed("production")];
        let lines = |width: usize| TableWriter::new(headings(&names), style(Some(width))).page(&rows);
        for width in [50, 60] {
            let text = lines(width);
            assert!(text.starts_with("NAMESPACE "), "{text}");
            assert!(text.contains("\n  Applied revision: "), "{text}");
            assert!(text.lines().all(|line| line.width() <= width), "{text}");
        }
        assert!(lines(90).lines().count() <= 5, "{}", lines(90));
    }

    #[test]
    fn kinds_are_shortened_before_a_column_is_omitted() {
        let rows = [vec![
            Cell::Kind("CustomResourceDefinition".into()),
            Cell::text("receivers.notification.toolkit.fluxcd.io"),
            Cell::text("Current"),
        ]];
        let draw = |width| TableWriter::new(headings(&["KIND:2", "NAME", "STATUS:1"]), style(Some(width))).page(&rows);
        assert!(
            draw(80).contains("CustomResourceDefinition   receivers.notification.toolkit.fluxcd.io   Current\n"),
            "{}",
            draw(80)
        );
        assert!(draw(70).contains("CustomResourceDefi…  receivers"), "{}", draw(70));
        assert!(draw(60).starts_with("NAME "), "{}", draw(60));
    }

    #[test]
    fn later_pages_keep_the_columns_and_have_no_heading() {
        let mut table = TableWriter::new(headings(&["NAME", "READY"]), style(None));
        table.page(&[vec![Cell::text("long-name"), Cell::text("x")]]);
        assert_eq!(table.page(&[vec![Cell::text("a"), Cell::text("y")]]), "a           y\n");
        let mut narrow = TableWriter::new(headings(&COLUMNS), style(Some(52)));
        narrow.page(&[row("a-name-that-takes-room", "v1", "some words to be wrapped")]);
        assert_eq!(narrow.page(&[row("a", "v1", "short")]), "a                       True   short\n");
    }

    #[test]
    fn columns_of_pages_that_are_measured_together_line_up() {
        let rows = [vec![Cell::text("a"), Cell::text("x")], vec![Cell::text("long-name"), Cell::text("y")]];
        let mut table = TableWriter::new(headings(&["NAME", "READY"]), style(None));
        table.measure(&rows);
        assert_eq!(table.first_width(), 9);
        assert_eq!(table.page(&[]), "NAME        READY\n");
        insta::assert_snapshot!(table.page(&rows[..1]) + &table.page(&rows[1..]), @r"
        a           x
        long-name   y
        ");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(on_one_line("a\u{1b}[31mred\r\nb\u{202e}c"), "a[31mred  bc");
    }
}
