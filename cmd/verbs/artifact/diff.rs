//! `artifact diff`: compares a folder with an artifact in a registry.

use flux_operator::fetch::Source;
use flux_operator::format::tarball::Files;

use super::{ContentArgs, PullArgs, parse_source};
use crate::output::unified_diff::unified_diff;
use crate::terminal::{CliError, Exit, Shell};

/// Compare local manifests with an OCI artifact
///
/// Prints a unified diff from the artifact to the files. The exit code is 1
/// when they differ.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Would a push change anything?\n  \
    flux-operator artifact diff oci://ghcr.io/org/manifests:latest \\\n    \
    --path ./deploy")]
pub struct Args {
    /// The artifact: oci://HOST/REPOSITORY, with :TAG or @DIGEST, or
    /// oci-layout:DIR[:TAG]
    #[arg(value_name = "REFERENCE", value_parser = parse_source)]
    pub reference: Source,
    #[command(flatten)]
    pub content: ContentArgs,
    #[command(flatten)]
    pub pull: PullArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let local = args.content.read(shell)?;
    let (_, remote) = shell.run(args.pull.pull(&args.reference, "compare with", shell))?;
    let text = differences(&remote, &local);
    if text.is_empty() {
        shell.status(&format!("no differences to {}", args.reference));
        return Ok(Exit::Done);
    }
    shell.print(&text);
    Ok(Exit::Differences)
}

fn differences(remote: &Files, local: &Files) -> String {
    let mut paths: Vec<&String> = remote.keys().chain(local.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut result = String::new();
    for path in paths {
        let (old, new) = (remote.get(path), local.get(path));
        if old == new {
            continue;
        }
        let name = |side: &str, there: bool| if there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
        let (from, to) = (name("artifact", old.is_some()), name("local", new.is_some()));
        let bytes = |file: Option<&flux_operator::format::tarball::TarFile>| {
            file.map(|file| file.bytes.clone()).unwrap_or_default()
        };
        match (String::from_utf8(bytes(old)), String::from_utf8(bytes(new))) {
            (Ok(old_text), Ok(new_text)) if old_text != new_text => {
                result.push_str(&unified_diff(&old_text, &new_text, &from, &to));
            }
            // Empty files and changed modes have no lines to show.
            (Ok(_), Ok(_)) => result.push_str(&format!("--- {from}\n+++ {to}\n")),
            _ => result.push_str(&format!("Binary files {from} and {to} differ\n")),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_new_gone_changed_or_binary_are_shown() {
        let files = |pairs: &[(&str, &[u8])]| -> Files {
            pairs.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec().into())).collect()
        };
        let remote = files(&[("same", b"x"), ("gone", b"a\n"), ("changed", b"a\nb\n"), ("binary", b"\xff")]);
        let local = files(&[("same", b"x"), ("new", b"n\n"), ("changed", b"a\nc\n"), ("binary", b"\xfe")]);
        insta::assert_snapshot!(differences(&remote, &local), @r"
        Binary files artifact/binary and local/binary differ
        --- artifact/changed
        +++ local/changed
        @@ -1,2 +1,2 @@
         a
        -b
        +c
        --- artifact/gone
        +++ /dev/null
        @@ -1 +0,0 @@
        -a
        --- /dev/null
        +++ local/new
        @@ -0,0 +1 @@
        +n
        ");
        assert_eq!(differences(&remote, &remote), "");
    }
}
