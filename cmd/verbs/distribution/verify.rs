//! `distribution verify`: verifies content and signature of a distribution.

use std::path::PathBuf;

use flux_operator::fetch::{self, FetchReason, Source};
use flux_operator::oci::ReferenceError;

use super::unusable;
use crate::output::counted;
use crate::session::registries::{RegistryArgs, SourceArgs};
use crate::terminal::{CliError, Exit, Shell};

/// Verify a packed file, an artifact, a folder or an archive
///
/// Verifies every digest and checksum, and reads every manifest. With --key, an
/// artifact in a registry must have a signature made by `cosign sign --key`
/// over its digest; keyless signatures are not verified. Prints the digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Was the file transferred intact?\n  \
    flux-operator distribution verify flux.tar\n\n  \
    # Was the artifact signed with our key?\n  \
    flux-operator distribution verify --key cosign.pub \\\n    \
    oci://registry.example.com/flux:latest")]
pub struct Args {
    /// Distribution to verify
    #[arg(value_name = "FILE|DIR|oci-layout:DIR[:TAG]|oci://REFERENCE", value_hint = clap::ValueHint::AnyPath)]
    pub source: String,
    /// Public key in PEM
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Do not connect to a registry; verify the cached artifact
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wrong = |error: ReferenceError| CliError::usage("cannot verify it").caused_by(&error);
    let source: Source = args.source.parse().map_err(wrong)?;
    let distribution = match &source {
        // With a key the other branch refuses the file: only an artifact in a registry can be signed.
        Source::Path(path) if args.key.is_none() && fetch::is_packed(path) => {
            let content = shell.run(async {
                fetch::check_packed(path).await.map_err(|error: FetchReason| {
                    CliError::failed(format!("{} is not whole", path.display())).caused_by(&error)
                })
            })?;
            let layout = content.layout;
            let images = match content.images.len() {
                1 => "1 image is".to_owned(),
                count => format!("{count} images are"),
            };
            shell.status(&format!(
                "the digests of {} and {}, {} bytes, are correct; {images} in the file",
                counted(layout.manifests, "manifest"),
                counted(layout.blobs, "blob"),
                layout.bytes
            ));
            for image in &content.missing_images {
                shell.status(&format!("not in it: {image}"));
            }
            content.distribution
        }
        _ => {
            let fetched = SourceArgs {
                distribution: Some(args.source.clone()),
                // Cached content was verified when it was stored; this command verifies the current content where it
                // may connect.
                no_cache: !args.offline,
                offline: args.offline,
                verify_key: args.key.clone(),
                registry: args.registry.clone(),
            };
            let distribution = shell.run(fetched.open(shell, None))?;
            fetch::check_manifests(&distribution).map_err(unusable)?;
            distribution
        }
    };
    let versions: Vec<String> = distribution.versions().into_iter().map(|version| version.name).collect();
    shell.status(&format!("flux {} can be read", versions.join(", ")));
    match (&args.key, &source) {
        (Some(key), _) => shell.status(&format!("the signature was verified with {}", key.display())),
        (None, Source::Artifact(_)) => shell.status("the signature was not verified: no --key was given"),
        _ => {}
    }
    shell.print(&format!("{}\n", distribution.digest().unwrap_or_default()));
    Ok(Exit::Done)
}
