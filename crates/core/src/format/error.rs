//! Error messages without wrapper texts.

/// Returns the innermost cause of an error; the outer ones only say "client error (Connect)".
pub fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
