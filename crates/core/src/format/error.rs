//! Errors as people read them.

/// The innermost cause of a failure; the outer ones say "client error (Connect)".
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
