//! Tables: no borders, left aligned, no blanks at the end of a line.

use comfy_table::{ContentArrangement, Table};

/// Renders rows below their headings; every cell is printed whole, however wide the terminal is.
pub fn render(headings: Option<&[&str]>, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(headings) = headings {
        table.set_header(headings);
    }
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_end_without_blanks() {
        let rows = vec![vec!["a".into(), "one".into()], vec!["longer".into(), "two".into()]];
        assert_eq!(render(Some(&["NAME", "X"]), rows.clone()), "NAME     X\na        one\nlonger   two\n");
        assert_eq!(render(None, rows), "a        one\nlonger   two\n");
    }
}
