//! Wraps text.

use flux_operator::format::wrap;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps a text between words to a width. Lines beyond the limit are cut, with an ellipsis.
pub fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = wrap::wrapped(text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            // The line is filled up and cut again, so that it ends with an ellipsis for the omitted text.
            *last = cut(&format!("{last} …………"), (last.width() + 2).min(width.max(1)));
        }
    }
    lines
}

/// Truncates to a display width, with an ellipsis if something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    // The ellipsis takes one column.
    let mut used = 1;
    for c in text.chars() {
        let next = used + c.width().unwrap_or(0);
        if next > width {
            break;
        }
        used = next;
        kept.push(c);
    }
    // A blank before the ellipsis would make the ellipsis look like a word.
    kept.truncate(kept.trim_end().len());
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_exceeds_the_line_limit_is_marked() {
        assert_eq!(wrapped("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(wrapped("one two", 3, 1), ["on…"]);
    }
}
