//! The name under which the program was started, for the command lines that it prints.

use std::borrow::Cow;
use std::env::consts::EXE_SUFFIX;
use std::path::Path;

/// The name by which kubectl starts its plugin.
const PLUGIN: &str = "kubectl-flux_operator";

/// Returns the file name of the program, on Windows without `.exe`.
pub fn name_of_program() -> Option<String> {
    let program = std::env::args_os().next()?;
    let name = Path::new(&program).file_name()?.to_string_lossy().into_owned();
    Some(name.strip_suffix(EXE_SUFFIX).map_or(name.clone(), str::to_owned))
}

pub fn is_plugin() -> bool {
    name_of_program().as_deref() == Some(PLUGIN)
}

/// Rewrites a command line, or the command lines in backticks in a text, for the name under which the program was
/// started. A kubectl plugin may not be in `PATH` under its own name.
pub fn as_started(text: &str) -> Cow<'_, str> {
    if is_plugin() { as_kubectl_takes_it(text) } else { text.into() }
}

fn as_kubectl_takes_it(text: &str) -> Cow<'_, str> {
    match text.starts_with("flux-operator ") {
        true => format!("kubectl {text}").into(),
        false if text.contains("`flux-operator ") => text.replace("`flux-operator ", "`kubectl flux-operator ").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_command_lines_are_rewritten_for_the_kubectl_plugin() {
        for (text, expected) in [
            (
                "run `flux-operator why -A`, or `flux-operator tree`",
                "run `kubectl flux-operator why -A`, or `kubectl flux-operator tree`",
            ),
            ("flux-operator status", "kubectl flux-operator status"),
            ("the Deployment flux-operator is gone", "the Deployment flux-operator is gone"),
        ] {
            assert_eq!(as_kubectl_takes_it(text), expected);
        }
    }
}
