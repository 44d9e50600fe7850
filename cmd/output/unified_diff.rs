//! Compares two texts line by line, in the format of `diff -u` and `git diff`.

use diffy::{DiffOptions, PatchFormatter};

/// Returns the unified diff of two texts under two names, with three lines of context; empty if they are equal.
pub fn unified_diff(before: &str, after: &str, from: &str, to: &str) -> String {
    if before == after {
        return String::new();
    }
    let mut options = DiffOptions::new();
    options.set_original_filename(from.to_owned()).set_modified_filename(to.to_owned());
    // Like `diff -u`, an empty context line starts with a blank.
    PatchFormatter::new().suppress_blank_empty(false).fmt_patch(&options.create_patch(before, after)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_can_be_applied_by_patch() {
        assert_eq!(unified_diff("a\n", "a\n", "x", "y"), "");
        insta::assert_snapshot!(unified_diff("", "a\n", "/dev/null", "y"), @r"
        --- /dev/null
        +++ y
        @@ -0,0 +1 @@
        +a
        ");
        insta::assert_snapshot!(unified_diff("a\n\nb\n", "a\n\nc", "live/x", "planned/x"), @r"
        --- live/x
        +++ planned/x
        @@ -1,3 +1,3 @@
         a
         
        -b
        +c
        \ No newline at end of file
        ");
    }
}
