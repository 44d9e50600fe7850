//! Prints a list in the user's format: `-o`, sorting, filters and labels.

use flux_operator::format::nearest::nearest;
use std::collections::HashSet;
use std::str::FromStr;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use flux_operator::format::{json, yaml};
use flux_operator::k8s::ObjectId;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::output::kubectl_name;
use crate::output::listing::{Cell, Column, Item, Listing};
use crate::output::table::{Heading, TableStyle, TableWriter, terminal_width};
use crate::terminal::jsonpath;
use crate::terminal::jsonpath::PathTemplate;
use crate::terminal::{CliError, Shell, environment};
use flux_operator::format::harmless::on_one_line;

pub const OUTPUT: &str = "Output options";
const FORMATS: [&str; 8] =
    ["table", "wide", "json", "jsonl", "yaml", "name", "jsonpath=TEMPLATE", "custom-columns=SPEC"];

/// Format of the output.
#[derive(Clone, Debug)]
pub enum Format {
    Table,
    Wide,
    Json,
    /// JSON with one value per line: an item of a list, or a cluster of a fleet.
    JsonLines,
    Yaml,
    Name,
    JsonPath(PathTemplate),
    /// Headings and their paths.
    CustomColumns(Vec<(String, PathTemplate)>),
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = |text: &str| PathTemplate::parse(text).map_err(|e| e.to_string());
        if let Some(template) = text.strip_prefix("jsonpath=") {
            return Ok(Format::JsonPath(path(template)?));
        }
        if let Some(columns) = text.strip_prefix("custom-columns=") {
            let columns = columns.split(',').map(|column| match column.split_once(':') {
                Some((header, expression)) if !expression.is_empty() => {
                    Ok((header.to_owned(), path(&jsonpath::as_template(expression))?))
                }
                _ => Err(format!("write each column as HEADING:.path.of.field, not `{column}`")),
            });
            return Ok(Format::CustomColumns(columns.collect::<Result<_, _>>()?));
        }
        match text {
            "table" => Ok(Format::Table),
            "wide" => Ok(Format::Wide),
            "json" => Ok(Format::Json),
            "jsonl" => Ok(Format::JsonLines),
            "yaml" => Ok(Format::Yaml),
            "name" => Ok(Format::Name),
            "jsonpath" => Err("write the template: jsonpath='{.items[*].metadata.name}'".to_owned()),
            "custom-columns" => Err("write the columns: custom-columns=NAME:.metadata.name,…".to_owned()),
            _ => {
                let words = FORMATS.map(|f| f.split('=').next().unwrap_or(f));
                let near = nearest(text, words).map(|w| format!("; did you mean {w}?")).unwrap_or_default();
                Err(format!("expected one of {}{near}", FORMATS.join(", ")))
            }
        }
    }
}

pub fn formats() -> Vec<CompletionCandidate> {
    FORMATS.iter().map(|f| CompletionCandidate::new(f.split_inclusive('=').next().unwrap_or(f))).collect()
}

/// The `-o` of a command whose output has no named objects, for [`clap::Command::mut_arg`].
pub fn without_names(flag: clap::Arg) -> clap::Arg {
    let formats = || formats().into_iter().filter(|format| format.get_value() != "name").collect();
    flag.help("Format: table, json, jsonl, yaml or jsonpath=TEMPLATE").add(ArgValueCandidates::new(formats))
}

/// The `-o` of a view that shows more with `wide`, for [`clap::Command::mut_arg`].
pub fn with_wide(flag: clap::Arg) -> clap::Arg {
    flag.help("Format: table, wide, json, jsonl, yaml, name or jsonpath=TEMPLATE")
}

/// The `-o` of a single value.
#[derive(clap::Args, Clone, Debug)]
pub struct ViewArgs {
    /// Format: table, json, jsonl, yaml, name or jsonpath=TEMPLATE
    #[arg(short, long, value_name = "FORMAT", default_value = "table", env = environment::OUTPUT, hide_env = true, hide_default_value = true, help_heading = OUTPUT, add = ArgValueCandidates::new(formats))]
    pub output: Format,
}

#[derive(clap::Args, Clone, Debug)]
pub struct OutputArgs {
    /// Format: table, wide, json, jsonl, yaml, name, jsonpath=TEMPLATE or
    /// custom-columns=HEADING:PATH,…
    #[arg(short, long, value_name = "FORMAT", default_value = "table", env = environment::OUTPUT, hide_env = true, hide_default_value = true, help_heading = OUTPUT, add = ArgValueCandidates::new(formats))]
    pub output: Format,
    /// Omit column headers
    #[arg(long, alias = "no-header", help_heading = OUTPUT)]
    pub no_headers: bool,
    /// Sort by a column, or by a JSONPath such as .metadata.name
    #[arg(long, value_name = "COLUMN", help_heading = OUTPUT)]
    pub sort_by: Option<String>,
    /// Keep rows whose column has (=) or has not (!=) a value, repeatable
    #[arg(long, value_name = "COLUMN=VALUE", help_heading = OUTPUT)]
    pub filter: Vec<ColumnFilter>,
    /// Keep rows of this readiness, repeatable
    #[arg(long, value_enum, value_name = "STATUS", ignore_case = true, help_heading = OUTPUT)]
    pub ready_status: Vec<ReadyStatus>,
    /// Add a column for a label, repeatable
    #[arg(short = 'L', long, value_name = "KEY", value_delimiter = ',', help_heading = OUTPUT)]
    pub label_columns: Vec<String>,
    /// Add a column with all labels
    #[arg(long, help_heading = OUTPUT)]
    pub show_labels: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum ReadyStatus {
    True,
    False,
    Unknown,
    Suspended,
}

impl ReadyStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            ReadyStatus::True => "True",
            ReadyStatus::False => "False",
            ReadyStatus::Unknown => "Unknown",
            ReadyStatus::Suspended => "Suspended",
        }
    }
}

/// `COLUMN=VALUE` or `COLUMN!=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFilter {
    column: String,
    value: String,
    negated: bool,
}

impl FromStr for ColumnFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = |column: &str, value: &str, negated| ColumnFilter {
            column: column.trim().into(),
            value: value.trim().into(),
            negated,
        };
        // First, because this form contains the `=` of the other one.
        match (text.split_once("!="), text.split_once('=')) {
            (Some((column, value)), _) if !column.trim().is_empty() => Ok(parsed(column, value, true)),
            (_, Some((column, value))) if !column.trim().is_empty() => Ok(parsed(column, value, false)),
            _ => Err("write COLUMN=VALUE or COLUMN!=VALUE".into()),
        }
    }
}

impl OutputArgs {
    /// Whether the output needs whole objects, not only the cells of a table.
    pub fn wants_values(&self) -> bool {
        !matches!(self.output, Format::Table | Format::Wide | Format::Name) || self.sort_by_path().is_some()
    }

    /// Whether only names are printed, and no filter needs more than the name.
    pub fn wants_names_only(&self) -> bool {
        matches!(self.output, Format::Name) && self.filter.is_empty() && self.ready_status.is_empty()
    }

    /// Whether rows are printed with their readiness, or filtered or sorted by a column.
    pub fn shows_readiness(&self) -> bool {
        matches!(self.output, Format::Table | Format::Wide)
            || !self.filter.is_empty()
            || !self.ready_status.is_empty()
            || self.sort_by.as_deref().is_some_and(|_| self.sort_by_path().is_none())
    }

    /// Whether everything must be loaded before the first line is printed.
    pub fn wants_all(&self) -> bool {
        self.sort_by.is_some() || self.wants_values()
    }

    fn sort_by_path(&self) -> Option<&str> {
        self.sort_by.as_deref().filter(|key| key.starts_with(['.', '{', '$']))
    }

    /// Keeps the rows that match the filters.
    pub fn select(&self, listing: &mut Listing, now: Timestamp) -> Result<(), CliError> {
        for filter in &self.filter {
            let index = column(listing, &filter.column)?;
            listing.items.retain(|item| {
                let same = item.cells.get(index).is_some_and(|c| c.full(now).eq_ignore_ascii_case(&filter.value));
                same != filter.negated
            });
        }
        if !self.ready_status.is_empty() {
            let wanted: HashSet<&str> = self.ready_status.iter().map(|s| s.as_str()).collect();
            listing.items.retain(|item| item.ready.as_deref().is_some_and(|r| wanted.contains(r)));
        }
        Ok(())
    }

    /// Sorts by the given column or path; equal rows keep their order.
    pub fn sort(&self, listing: &mut Listing) -> Result<(), CliError> {
        let Some(key) = &self.sort_by else { return Ok(()) };
        if self.sort_by_path().is_some() {
            let template = PathTemplate::parse(&jsonpath::as_template(key))
                .map_err(|e| CliError::usage(format!("cannot sort by {key}")).caused_by(&e))?;
            // A path without any value is refused, as in kubectl, because the result of a mistyped field would look
            // like a sorted list.
            if !listing.items.is_empty() && listing.items.iter().all(|item| template.values(&item.value).is_empty()) {
                return Err(CliError::usage(format!("cannot sort by {key}: nothing in the list has it"))
                    .hint("`-o json` shows all fields"));
            }
            listing.items.sort_by(|a, b| compare(&template.values(&a.value), &template.values(&b.value)));
            return Ok(());
        }
        let index = column(listing, key)?;
        listing.items.sort_by(|a, b| match (a.cells.get(index), b.cells.get(index)) {
            (Some(a), Some(b)) => a.order(b),
            _ => std::cmp::Ordering::Equal,
        });
        Ok(())
    }
}

fn compare(a: &[&Value], b: &[&Value]) -> std::cmp::Ordering {
    let number = |v: &[&Value]| v.first().and_then(|v| v.as_f64());
    let text = |v: &[&Value]| v.first().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => match (text(a), text(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // `false` sorts before `true`, so missing values come last.
            (a, b) => a.is_none().cmp(&b.is_none()),
        },
    }
}

fn column(listing: &Listing, name: &str) -> Result<usize, CliError> {
    listing.column(name).ok_or_else(|| {
        let names = listing.column_names();
        let error = CliError::usage(format!("there is no column {name}"))
            .hint(format!("columns: {}", names.iter().map(|n| n.to_lowercase()).collect::<Vec<_>>().join(", ")));
        match nearest(name, names.iter().copied()) {
            Some(near) => error.hint(format!("did you mean {}?", near.to_lowercase())),
            None => error,
        }
    })
}

/// Limit for rows that are held back, so that the columns of all kinds have the same width. A longer list is printed
/// page by page.
const HELD_ROWS: usize = 10_000;
/// A table with at most this many rows has no line with sums.
const ROWS_WITHOUT_SUMS: usize = 10;

/// Counts of readiness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ReadyCounts {
    rows: usize,
    not_ready: usize,
    suspended: usize,
    /// Rows with a readiness.
    with_readiness: usize,
}

impl ReadyCounts {
    fn add(&mut self, items: &[Item]) {
        self.rows += items.len();
        for ready in items.iter().filter_map(|item| item.ready.as_deref()) {
            self.with_readiness += 1;
            match ready {
                "True" => {}
                "Suspended" => self.suspended += 1,
                _ => self.not_ready += 1,
            }
        }
    }

    /// Formats `14 of 212 not ready, 3 suspended`; `None` for a short list, or without a readiness.
    fn text(self) -> Option<String> {
        if self.rows <= ROWS_WITHOUT_SUMS || self.with_readiness == 0 {
            return None;
        }
        let ready = match self.not_ready {
            0 => format!("{} of {} ready", self.with_readiness - self.suspended, self.rows),
            not => format!("{not} of {} not ready", self.rows),
        };
        let suspended = if self.suspended > 0 { format!(", {} suspended", self.suspended) } else { String::new() };
        Some(format!("{ready}{suspended}"))
    }
}

/// Prints the rows of a list, all at once or page by page.
pub struct ListPrinter<'a> {
    shell: &'a Shell,
    args: &'a OutputArgs,
    columns: Vec<usize>,
    /// Position of the label columns.
    labels_at: usize,
    writer: TableWriter,
    held: Vec<Vec<Cell>>,
    sums: ReadyCounts,
    now: Timestamp,
}

impl<'a> ListPrinter<'a> {
    /// `namespaces` is true if several namespaces are listed; ages count until `now`.
    pub fn new(shell: &'a Shell, args: &'a OutputArgs, listing: &Listing, namespaces: bool, now: Timestamp) -> Self {
        let wide = matches!(args.output, Format::Wide);
        let columns: Vec<usize> = listing
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| (wide || !c.wide) && (namespaces || !c.namespace))
            .map(|(index, _)| index)
            .collect();
        let mut headings: Vec<Heading> =
            columns.iter().filter_map(|i| listing.columns.get(*i)).map(Heading::from).collect();
        // A column of messages remains the last, where its text can be wrapped.
        let labels_at = headings.len() - usize::from(headings.last().is_some_and(|h| h.name == "MESSAGE"));
        let label_headings = args.label_columns.iter().map(|key| key.rsplit('/').next().unwrap_or(key).to_uppercase());
        let all_labels = args.show_labels.then(|| "LABELS".to_owned());
        let all_labels = all_labels.map(|name| Heading { name, rank: Column::MESSAGE.rank });
        headings.splice(labels_at..labels_at, label_headings.map(Heading::new).chain(all_labels));
        let style = TableStyle {
            // `wide` shows everything, even if it does not fit the terminal.
            width: (shell.stdout_is_terminal() && !wide).then(terminal_width),
            headers: !args.no_headers,
            color: shell.stdout_color(),
            now,
        };
        let writer = TableWriter::new(headings, style);
        ListPrinter { shell, args, columns, labels_at, writer, held: vec![], sums: ReadyCounts::default(), now }
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        self.sums.rows
    }

    fn cells(&self, item: &Item) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self.columns.iter().filter_map(|i| item.cells.get(*i).cloned()).collect();
        let mut labels: Vec<Cell> = self
            .args
            .label_columns
            .iter()
            .map(|key| Cell::some_text(item.labels.get(key).map(String::as_str)))
            .collect();
        if self.args.show_labels {
            let all: Vec<_> = item.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            // Shown as a message, so that many labels are wrapped instead of displacing the rest.
            labels.push(Cell::message(&all.join(",")));
        }
        cells.splice(self.labels_at..self.labels_at, labels);
        cells
    }

    /// Formats some rows; JSON and YAML print a document per row, as in a watch.
    pub fn lines(&mut self, listing: &Listing) -> Result<String, CliError> {
        self.sums.add(&listing.items);
        match &self.args.output {
            Format::Table | Format::Wide => {
                let rows: Vec<_> = listing.items.iter().map(|item| self.cells(item)).collect();
                Ok(if rows.is_empty() { String::new() } else { self.writer.page(&rows) })
            }
            Format::Name => Ok(listing.items.iter().map(|item| format!("{}\n", on_one_line(&item.name))).collect()),
            other => listing.items.iter().map(|item| document(&item.value, other)).collect(),
        }
    }

    /// Adds a page of filtered rows, and prints the rows that need not be held back. [`ListPrinter::flush`] ends the
    /// list.
    pub fn page(&mut self, listing: &Listing) -> Result<(), CliError> {
        if !matches!(self.args.output, Format::Table | Format::Wide) {
            self.shell.print_in_colour(&self.lines(listing)?);
            return Ok(());
        }
        self.sums.add(&listing.items);
        let rows: Vec<_> = listing.items.iter().map(|item| self.cells(item)).collect();
        self.held.extend(rows);
        if self.held.len() >= HELD_ROWS {
            self.flush();
        }
        Ok(())
    }

    /// Prints the rows that were held back, if any.
    pub fn flush(&mut self) {
        let held = std::mem::take(&mut self.held);
        match self.shell.collected() {
            Some(collected) => collected.rows(self.writer.headings(), held),
            None if held.is_empty() => {}
            None => self.shell.print_in_colour(&self.writer.page(&held)),
        }
    }

    /// Returns the last line of a long table; `None` for other formats.
    pub fn sums(&self) -> Option<String> {
        let is_table = matches!(self.args.output, Format::Table | Format::Wide);
        self.sums.text().filter(|_| is_table)
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }
}

/// Prints a whole list with ages until `now`. With `single`, the user requested one object by name, which JSON and YAML
/// print without a list.
pub fn print_list(
    shell: &Shell,
    args: &OutputArgs,
    mut listing: Listing,
    namespaces: bool,
    single: bool,
    now: Timestamp,
) -> Result<usize, CliError> {
    let mut printer = ListPrinter::new(shell, args, &listing, namespaces, now);
    args.select(&mut listing, now)?;
    args.sort(&mut listing)?;
    let count = listing.items.len();
    match &args.output {
        Format::Table | Format::Wide | Format::Name => {
            printer.page(&listing)?;
            printer.flush();
            printer.sums().into_iter().for_each(|sums| shell.status(&sums));
        }
        Format::CustomColumns(columns) => print_custom_columns(shell, args, columns, &listing),
        Format::JsonLines => shell.print(&printer.lines(&listing)?),
        format => {
            let value = match (single, listing.items.len()) {
                (true, 1) => listing.items.pop().map(|item| item.value).unwrap_or_default(),
                _ => {
                    let items: Vec<Value> = listing.items.into_iter().map(|item| item.value).collect();
                    if listing.kind == "List" {
                        // The same list object as kubectl prints, so that scripts written for kubectl's output work.
                        json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
                    } else {
                        json!({"kind": listing.kind, "items": items})
                    }
                }
            };
            shell.print(&document(&value, format)?);
        }
    }
    Ok(count)
}

fn print_custom_columns(shell: &Shell, args: &OutputArgs, columns: &[(String, PathTemplate)], listing: &Listing) {
    let headings: Vec<Heading> = columns.iter().map(|(header, _)| Heading::new(header)).collect();
    let rows: Vec<Vec<Cell>> = listing
        .items
        .iter()
        .map(|item| {
            let cell = |template: &PathTemplate| Cell::text(jsonpath::join(&template.values(&item.value), ","));
            columns.iter().map(|(_, template)| cell(template)).collect()
        })
        .collect();
    if let Some(collected) = shell.collected() {
        return collected.rows(headings, rows);
    }
    let style =
        // Columns that a user has chosen are never cut, as in kubectl.
        TableStyle { width: None, headers: !args.no_headers, color: shell.stdout_color(), now: Timestamp::now() };
    shell.print_in_colour(&TableWriter::new(headings, style).page(&rows));
}

/// As [`structured`], for output without named objects.
pub fn structured_without_names(value: &impl Serialize, format: &Format) -> Result<Option<String>, CliError> {
    match format {
        Format::Name => Err(no_names()),
        format => structured(value, format),
    }
}

/// Returns the error for `-o name` if the output has no named objects.
pub fn no_names() -> CliError {
    CliError::usage("-o name is not available for this command: its rows have no names")
        .hint("write -o json, yaml or jsonpath=")
}

/// Formats the line of an object as kubectl names it: `kustomization.kustomize.toolkit.fluxcd.io/podinfo`.
pub fn name_line(object: &ObjectId) -> String {
    kubectl_name(&object.kind, &object.group, &object.name) + "\n"
}

/// Formats a single value as JSON, YAML or by JSONPath; `None` for a table or name.
pub fn structured(value: &impl Serialize, format: &Format) -> Result<Option<String>, CliError> {
    match format {
        Format::Table | Format::Wide | Format::Name => Ok(None),
        Format::CustomColumns(_) => Err(CliError::usage("custom-columns needs a list")),
        format => {
            let value = serde_json::to_value(value)
                .map_err(|e| CliError::failed("cannot write the answer as JSON").caused_by(&e))?;
            document(&value, format).map(Some)
        }
    }
}

fn document(value: &Value, format: &Format) -> Result<String, CliError> {
    match format {
        Format::Yaml => {
            yaml::to_string(value).map_err(|e| CliError::failed("cannot write the answer as YAML").caused_by(&e))
        }
        Format::JsonPath(template) => Ok(template.render(value)),
        Format::JsonLines => Ok(format!("{value}\n")),
        Format::CustomColumns(columns) => {
            let cells: Vec<_> =
                columns.iter().map(|(_, template)| jsonpath::join(&template.values(value), ",")).collect();
            // The gap between kubectl's columns.
            Ok(format!("{}\n", cells.join("   ")))
        }
        _ => json::to_string(value).map_err(|e| CliError::failed("cannot write the answer as JSON").caused_by(&e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_lists_the_known_ones_and_the_nearest() {
        let error = "jsn".parse::<Format>().unwrap_err();
        assert!(error.contains("custom-columns=SPEC") && error.contains("did you mean json?"), "{error}");
        assert!("custom-columns=NAME".parse::<Format>().is_err());
        assert!("jsonpath={.a[}".parse::<Format>().is_err());
    }

    #[test]
    fn each_line_of_json_lines_is_one_value() {
        let value = json!({"a": [1, "x\ny"]});
        assert_eq!(document(&value, &Format::JsonLines).unwrap(), "{\"a\":[1,\"x\\ny\"]}\n");
    }

    #[test]
    fn sums_are_printed_for_more_than_ten_rows_that_have_a_readiness() {
        let sums = |rows, not_ready, suspended, with_readiness| {
            ReadyCounts { rows, not_ready, suspended, with_readiness }.text()
        };
        assert_eq!(sums(212, 14, 0, 212).as_deref(), Some("14 of 212 not ready"));
        assert_eq!(sums(212, 14, 3, 212).as_deref(), Some("14 of 212 not ready, 3 suspended"));
        assert_eq!(sums(12, 0, 2, 12).as_deref(), Some("10 of 12 ready, 2 suspended"));
        assert_eq!(sums(10, 3, 0, 10), None);
        assert_eq!(sums(50, 0, 0, 0), None);
    }

    #[test]
    fn filters_are_equal_or_unequal() {
        let filter: ColumnFilter = "READY!=True".parse().unwrap();
        assert_eq!((filter.column.as_str(), filter.value.as_str(), filter.negated), ("READY", "True", true));
        assert!(!"message=a!=b".parse::<ColumnFilter>().is_ok_and(|f| f.column == "message" && f.negated));
        assert!("READY".parse::<ColumnFilter>().is_err());
        assert!("=x".parse::<ColumnFilter>().is_err());
    }
}
