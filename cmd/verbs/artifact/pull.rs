//! `artifact pull`: downloads files from a registry or an image layout.

use std::path::PathBuf;

use flux_operator::fetch::Source;

use super::{PullArgs, parse_source, write_files};
use crate::output::counted;
use crate::terminal::{CliError, Exit, Shell};

/// Pull an OCI artifact and unpack it into a folder
///
/// Digests are verified, and archives with links or paths outside of the folder are refused. Prints the reference with
/// its digest; for an OCI image layout only the digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The manifests that run in the cluster\n  \
    flux-operator artifact pull oci://ghcr.io/org/manifests:latest \\\n    \
    --output ./manifests")]
pub struct Args {
    /// Artifact to pull: oci://HOST/REPOSITORY, with :TAG or @DIGEST, or
    /// oci-layout:DIR[:TAG]
    #[arg(value_name = "REFERENCE", value_parser = parse_source)]
    pub reference: Source,
    /// Folder to unpack into; created if it is missing, files in it are
    /// overwritten
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub pull: PullArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (digest, files) = shell.run(args.pull.pull(&args.reference, "pull", shell))?;
    write_files(&args.output, &files)
        .map_err(|error| CliError::failed(format!("cannot write to {}", args.output.display())).caused_by(&error))?;
    shell.status(&format!("unpacked {} into {}", counted(files.len(), "file"), args.output.display()));
    let reported = match &args.reference {
        Source::Artifact(reference) => reference.at(digest).url(),
        _ => digest.to_string(),
    };
    shell.print(&format!("{reported}\n"));
    Ok(Exit::Done)
}
