//! Tables that fit the terminal: aligned by display width, no borders, no tabs, no trailing blanks.
//!
//! On a terminal revisions are shortened first, other long texts next, messages after those, and names only when nothing
//! else is left. A pipe gets everything.

use comfy_table::{Cell as TableCell, Color, ColumnConstraint, ContentArrangement, Table, Width};
use flux_operator::inspect::listing::Cell;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

/// Blanks between columns, as in kubectl.
const GAP: usize = 3;
/// A message is not cut below this before other texts are.
const LEAST_MESSAGE: usize = 12;
/// Other texts are not cut below this.
const LEAST_TEXT: usize = 7;

/// How tables are drawn.
#[derive(Clone, Copy, Debug)]
pub struct TableStyle {
    /// Columns of the terminal; `None` for a pipe, which is never cut.
    pub width: Option<usize>,
    pub headers: bool,
    pub color: bool,
    pub now: Timestamp,
}

/// Draws a table page by page; later pages keep the columns of the earlier ones wherever their cells fit.
pub struct TableWriter {
    style: TableStyle,
    headers: Vec<String>,
    widths: Vec<usize>,
    gap: usize,
    started: bool,
}

impl TableWriter {
    pub fn new(headers: Vec<String>, style: TableStyle) -> Self {
        let widths = vec![0; headers.len()];
        TableWriter { style, headers, widths, gap: GAP, started: false }
    }

    /// The lines of one page, with the heading before the first.
    pub fn page(&mut self, rows: &[Vec<Cell>]) -> String {
        let headers = self.style.headers && !self.started;
        self.started = true;
        let mut texts: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| clean(&cell.full(self.style.now))).collect()).collect();
        if let Some(width) = self.style.width {
            let headers: &[String] = if self.style.headers { &self.headers } else { &[] };
            // Names are cut only when narrower gaps do not help either.
            for (gap, cut_names) in [(GAP, false), (2, false), (2, true), (1, true)] {
                let mut fitted = texts.clone();
                let fits = fit(&mut fitted, rows, headers, width, gap, cut_names);
                if fits || gap == 1 {
                    texts = fitted;
                    self.gap = self.gap.min(gap);
                    break;
                }
            }
        }
        for (index, least) in self.widths.iter_mut().enumerate() {
            let cells = texts.iter().filter_map(|row| row.get(index)).map(|text| text.width());
            let header = if self.style.headers { self.headers.get(index).map_or(0, |h| h.width()) } else { 0 };
            *least = cells.chain([*least, header]).max().unwrap_or(0);
        }
        self.draw(headers, &texts)
    }

    fn draw(&self, headers: bool, texts: &[Vec<String>]) -> String {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Disabled);
        if self.style.color {
            table.enforce_styling();
            // Otherwise blanks would stand inside the colour, where they cannot be trimmed.
            table.style_text_only();
        } else {
            table.force_no_tty();
        }
        if headers {
            table.add_row(self.headers.iter().map(TableCell::new));
        }
        for row in texts {
            table.add_row(row.iter().map(|text| {
                let cell = TableCell::new(text);
                match color_of(text).filter(|_| self.style.color) {
                    Some(color) => cell.fg(color),
                    None => cell,
                }
            }));
        }
        let gap = u16::try_from(self.gap).unwrap_or(1);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, gap));
            let width = self.widths.get(index).copied().unwrap_or(0).saturating_add(self.gap);
            let width = Width::Fixed(u16::try_from(width).unwrap_or(u16::MAX));
            column.set_constraint(ColumnConstraint::LowerBoundary(width));
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Words that mean well or badly wherever they stand; the word itself says it, colour only helps the eye.
fn color_of(text: &str) -> Option<Color> {
    match text {
        "True" | "Current" | "pass" => Some(Color::Green),
        "False" | "Failed" | "NotFound" | "missing" | "Warning" | "fail" => Some(Color::Red),
        "Unknown" | "Suspended" | "InProgress" | "Terminating" | "drifted" | "warn" => Some(Color::Yellow),
        _ => None,
    }
}

/// Text of others without what a terminal would obey: control characters and direction marks go, line ends and tabs become
/// blanks.
pub fn clean(text: &str) -> String {
    // Nearly every text is plain, and a list has thousands.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
        .filter(|c| !c.is_control())
        .filter(|c| !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect()
}

/// Cuts to a display width, with an ellipsis where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        let next = used + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if next > width {
            break;
        }
        used = next;
        kept.push(c);
    }
    // A blank before the ellipsis would look like a word.
    kept.truncate(kept.trim_end().len());
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The end of an address says more than its beginning.
fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let reversed: String = text.chars().rev().collect();
    cut(&reversed, width).chars().rev().collect()
}

/// `main@sha1:0123abcd` of a whole revision: digests keep eight digits.
pub fn short_revision(revision: &str) -> String {
    let Some((before, digest)) = revision
        .rsplit_once("sha1:")
        .map(|(b, d)| (format!("{b}sha1:"), d))
        .or_else(|| revision.rsplit_once("sha256:").map(|(b, d)| (format!("{b}sha256:"), d)))
    else {
        return revision.to_owned();
    };
    if digest.len() > 8 && digest.chars().all(|c| c.is_ascii_hexdigit()) {
        format!("{before}{}", digest.chars().take(8).collect::<String>())
    } else {
        revision.to_owned()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Fixed,
    Text,
    Revision,
    Message,
}

/// Shortens what may be shortened until the rows fit; says whether they do.
fn fit(
    texts: &mut [Vec<String>],
    rows: &[Vec<Cell>],
    headers: &[String],
    width: usize,
    gap: usize,
    cut_names: bool,
) -> bool {
    let columns = rows.first().map_or(0, Vec::len);
    let kinds: Vec<ColumnKind> = (0..columns)
        .map(|index| {
            let mut kind = ColumnKind::Fixed;
            for row in rows {
                match row.get(index) {
                    Some(Cell::Message(_)) => return ColumnKind::Message,
                    Some(Cell::Revision(_)) => kind = ColumnKind::Revision,
                    Some(Cell::Text(_)) if kind == ColumnKind::Fixed => kind = ColumnKind::Text,
                    _ => {}
                }
            }
            kind
        })
        .collect();
    let widths = |texts: &[Vec<String>]| -> Vec<usize> {
        (0..columns)
            .map(|i| {
                let header = headers.get(i).map_or(0, |h| h.width());
                texts.iter().filter_map(|row| row.get(i)).map(|t| t.width()).chain([header]).max().unwrap_or(0)
            })
            .collect()
    };
    let excess = |texts: &[Vec<String>]| {
        let total: usize = widths(texts).iter().sum::<usize>() + gap * columns.saturating_sub(1);
        total.saturating_sub(width)
    };
    if excess(texts) == 0 {
        return true;
    }
    let of_kind = |wanted: ColumnKind| kinds.iter().enumerate().filter(move |(_, k)| **k == wanted).map(|(i, _)| i);
    for index in of_kind(ColumnKind::Revision) {
        each(texts, index, short_revision);
    }
    for index in of_kind(ColumnKind::Revision) {
        let over = excess(texts);
        let now = widths(texts).get(index).copied().unwrap_or(0);
        let least = headers.get(index).map_or(LEAST_TEXT, |h| h.width().max(LEAST_TEXT));
        // What a message can still give is taken from the message, not from a revision that fits already.
        let message: usize = of_kind(ColumnKind::Message)
            .filter_map(|i| widths(texts).get(i).map(|w| w.saturating_sub(LEAST_MESSAGE)))
            .sum();
        let take = over.saturating_sub(message);
        if take > 0 {
            each(texts, index, |text| cut_front(text, now.saturating_sub(take).max(least)));
        }
    }
    for index in of_kind(ColumnKind::Message) {
        let over = excess(texts);
        let now = widths(texts).get(index).copied().unwrap_or(0);
        if over > 0 {
            each(texts, index, |text| cut(text, now.saturating_sub(over).max(LEAST_MESSAGE.min(now))));
        }
    }
    if !cut_names {
        return excess(texts) == 0;
    }
    // Only names and other words are left: the widest column gives first.
    for _ in 0..columns {
        let over = excess(texts);
        let all = widths(texts);
        let widest = of_kind(ColumnKind::Text)
            .filter(|i| all.get(*i).is_some_and(|w| *w > headers.get(*i).map_or(0, |h| h.width()).max(LEAST_TEXT)))
            .max_by_key(|i| all.get(*i).copied().unwrap_or(0));
        let Some(index) = widest.filter(|_| over > 0) else { break };
        let now = all.get(index).copied().unwrap_or(0);
        let least = headers.get(index).map_or(0, |h| h.width()).max(LEAST_TEXT);
        each(texts, index, |text| cut(text, now.saturating_sub(over).max(least)));
    }
    for index in of_kind(ColumnKind::Message) {
        let over = excess(texts);
        let now = widths(texts).get(index).copied().unwrap_or(0);
        if over > 0 {
            each(texts, index, |text| cut(text, now.saturating_sub(over)));
        }
    }
    excess(texts) == 0
}

fn each(texts: &mut [Vec<String>], index: usize, change: impl Fn(&str) -> String) {
    for text in texts.iter_mut().filter_map(|row| row.get_mut(index)) {
        *text = change(text);
    }
}

/// Columns of the terminal behind stdout; 80 when it does not say.
pub fn terminal_width() -> usize {
    Table::new().width().map_or(80, usize::from).max(20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(width: Option<usize>) -> TableStyle {
        TableStyle { width, headers: true, color: false, now: "2026-01-01T00:00:00Z".parse().unwrap() }
    }

    fn headers(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn row(name: &str, revision: &str, message: &str) -> Vec<Cell> {
        vec![Cell::text(name), Cell::text("True"), Cell::revision(Some(revision)), Cell::message(message)]
    }

    #[test]
    fn a_pipe_gets_everything_without_tabs_or_trailing_blanks() {
        let mut table = TableWriter::new(headers(&["NAME", "READY", "REVISION", "MESSAGE"]), style(None));
        let long = "m".repeat(200);
        let text = table.page(&[row("a", &format!("main@sha1:{}", "0".repeat(40)), &long), row("bbbb", "", "")]);
        assert!(text.contains(&long));
        assert!(!text.contains('\t'));
        assert!(text.lines().all(|line| line.trim_end() == line));
        assert!(text.starts_with("NAME   READY   REVISION"));
        assert_eq!(text.lines().nth(2), Some(format!("bbbb   True    <none>{}   <none>", " ".repeat(44)).as_str()));
    }

    #[test]
    fn a_terminal_shortens_revisions_first_and_cuts_messages() {
        let mut table = TableWriter::new(headers(&["NAME", "READY", "REVISION", "MESSAGE"]), style(Some(80)));
        let text = table.page(&[row("podinfo", &format!("main@sha1:{}", "0123456789".repeat(4)), &"word ".repeat(40))]);
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert!(text.contains("main@sha1:01234567 "), "{text}");
        assert!(text.contains('…') && text.contains("podinfo"), "{text}");
    }

    #[test]
    fn a_message_that_fits_once_revisions_are_short_is_kept_whole() {
        let mut table = TableWriter::new(headers(&["NAME", "READY", "REVISION", "MESSAGE"]), style(Some(80)));
        let text = table.page(&[row("podinfo", &format!("main@sha1:{}", "0123456789".repeat(4)), "stored artifact")]);
        assert!(text.contains("stored artifact") && !text.contains('…'), "{text}");
    }

    #[test]
    fn wide_characters_align_and_every_width_from_40_fits() {
        let rows =
            [row("日本語", "v1", "ok"), row("a-very-long-name-of-some-object-in-a-cluster", "v1", &"x ".repeat(60))];
        for width in 40..120 {
            let mut table = TableWriter::new(headers(&["NAME", "READY", "REVISION", "MESSAGE"]), style(Some(width)));
            let text = table.page(&rows);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
        }
        let mut table = TableWriter::new(headers(&["NAME", "READY"]), style(None));
        let text = table.page(&[vec![Cell::text("日本"), Cell::text("x")], vec![Cell::text("abcd"), Cell::text("y")]]);
        assert!(text.contains("日本   x\n") && text.contains("abcd   y\n"), "{text}");
    }

    #[test]
    fn later_pages_keep_the_columns_and_have_no_heading() {
        let mut table = TableWriter::new(headers(&["NAME", "READY"]), style(None));
        table.page(&[vec![Cell::text("long-name"), Cell::text("x")]]);
        assert_eq!(table.page(&[vec![Cell::text("a"), Cell::text("y")]]), "a           y\n");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mred\r\nb\u{202e}c"), "a[31mred  bc");
    }
}
