//! Wraps text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Wraps a text between words to a width; a longer word is split at the end of the line. Lines beyond the limit are
/// cut, with an ellipsis.
pub fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = vec![];
    let mut line = String::new();
    for word in text.split_whitespace() {
        let blank = usize::from(!line.is_empty());
        if line.width() + blank + word.width() <= width {
            line.push_str(&" ".repeat(blank));
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            // Fill the line, so that the ellipsis stands for the rest.
            *last = cut(&format!("{last} …………"), (last.width() + 2).min(width));
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
    let mut used = 1;
    for c in text.chars() {
        let next = used + c.width().unwrap_or(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_where_they_must() {
        assert_eq!(wrapped("one two three", 7, 9), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3, 9), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 5, 9), [""]);
        assert_eq!(wrapped("日本語", 4, 9), ["日本", "語"]);
    }

    #[test]
    fn what_does_not_fit_in_the_lines_is_marked() {
        assert_eq!(wrapped("one two three four", 7, 2), ["one two", "three…"]);
        assert_eq!(wrapped("one two", 3, 1), ["on…"]);
    }
}
