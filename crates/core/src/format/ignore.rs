//! Files that are excluded from an artifact: patterns as in `.gitignore` (<https://git-scm.com/docs/gitignore>).

use regex::Regex;

/// Patterns in order; the last match decides.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules(Vec<IgnoreRule>);

#[derive(Clone, Debug)]
struct IgnoreRule {
    pattern: Regex,
    /// A `!` pattern: matching files are included.
    keeps: bool,
    folders_only: bool,
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a .gitignore pattern")]
pub struct IgnoreError(String);

impl IgnoreRules {
    /// Reads one pattern a line; empty lines and comments are skipped.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<Self, IgnoreError> {
        let lines = lines.into_iter().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(IgnoreRule::parse).collect::<Result<_, _>>().map(IgnoreRules)
    }

    /// Whether a path is excluded. An excluded folder excludes everything below it.
    pub fn excludes(&self, path: &str, is_folder: bool) -> bool {
        let fits = |rule: &&IgnoreRule| (is_folder || !rule.folders_only) && rule.pattern.is_match(path);
        self.0.iter().rfind(fits).is_some_and(|rule| !rule.keeps)
    }
}

impl IgnoreRule {
    fn parse(line: &str) -> Result<IgnoreRule, IgnoreError> {
        let wrong = || IgnoreError(line.to_owned());
        let (keeps, rest) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let (folders_only, rest) = rest.strip_suffix('/').map_or((false, rest), |rest| (true, rest));
        // A slash anywhere but at the end anchors the pattern at the root.
        let is_tied = rest.contains('/');
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        if rest.is_empty() {
            return Err(wrong());
        }
        let mut expression = String::from(if is_tied { "^" } else { "^(?:.*/)?" });
        let mut chars = rest.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '*' if chars.next_if_eq(&'*').is_some() => {
                    // `**/` matches any number of folders, including none.
                    expression.push_str(if chars.next_if_eq(&'/').is_some() { "(?:.*/)?" } else { ".*" });
                }
                '*' => expression.push_str("[^/]*"),
                '?' => expression.push_str("[^/]"),
                '[' => {
                    let class: String = chars.by_ref().take_while(|c| *c != ']').collect();
                    let (negated, class) = match class.strip_prefix(['!', '^']) {
                        Some(rest) => ("^", rest),
                        None => ("", class.as_str()),
                    };
                    let escaped: String = class
                        .chars()
                        .map(|c| if c == '-' { "-".into() } else { regex::escape(&c.to_string()) })
                        .collect();
                    expression.push_str(&format!("[{negated}{escaped}]"));
                }
                '\\' => expression.push_str(&regex::escape(&chars.next().map(String::from).ok_or_else(wrong)?)),
                c => expression.push_str(&regex::escape(&c.to_string())),
            }
        }
        expression.push('$');
        let pattern = Regex::new(&expression).map_err(|_| wrong())?;
        Ok(IgnoreRule { pattern, keeps, folders_only })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_git_means_by_them() {
        for (patterns, path, is_folder, expected) in [
            ("*.jpg", "a/b.jpg", false, true),
            ("*.jpg", "a/b.jpeg", false, false),
            (".git/", ".git", true, true),
            (".git/", ".git", false, false),
            ("a/b", "a/b", false, true),
            ("a/b", "c/a/b", false, false),
            ("/a", "a", false, true),
            ("/a", "b/a", false, false),
            ("a", "b/a", true, true),
            ("**/a", "b/c/a", false, true),
            ("a/**", "a/b/c", false, true),
            ("a/**/b", "a/b", false, true),
            ("a/**/b", "a/x/y/b", false, true),
            ("a?c", "abc", false, true),
            ("a?c", "a/c", false, false),
            ("[a-c].txt", "b.txt", false, true),
            ("[!a-c].txt", "b.txt", false, false),
            ("a.b", "axb", false, false),
            ("*.yaml|!keep.yaml", "keep.yaml", false, false),
            ("!keep.yaml|*.yaml", "keep.yaml", false, true),
            ("# comment||*.x", "a.x", false, true),
            ("\\#a", "#a", false, true),
        ] {
            let rules = IgnoreRules::parse(patterns.split('|')).unwrap();
            assert_eq!(rules.excludes(path, is_folder), expected, "{patterns} {path}");
        }
        for wrong in ["/", "!", "a\\", "[z-a]", "["] {
            assert!(IgnoreRules::parse([wrong]).is_err(), "{wrong}");
        }
    }
}
