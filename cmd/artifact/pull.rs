//! `artifact pull`: files out of a registry.

use std::path::PathBuf;

use flux_operator::format::tarball::Limits;
use flux_operator::oci::{self, Place, Reference};

use super::{parse_reference, write_files};
use crate::common::registries::{READ_LIMIT, RegistryArgs, answer_of, read_key, registry_error};
use crate::shell::{CliError, Exit, Shell};

/// Pull an OCI artifact and unpack it into a folder
///
/// Digests are verified, and archives with links or paths outside of the folder
/// are refused. Prints the reference with its digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What runs in the cluster\n  \
    flux-operator artifact pull oci://ghcr.io/org/manifests:latest \\\n    \
    --output ./manifests")]
pub struct Args {
    /// What to pull: oci://HOST/REPOSITORY, with :TAG or @DIGEST
    #[arg(value_name = "REFERENCE", value_parser = parse_reference)]
    pub reference: Reference,
    /// Folder to unpack into; created if it is missing, files in it are
    /// overwritten
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Public key that must verify a signature of the artifact, as made by
    /// `cosign sign --key`
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let registries = args.registry.open()?;
    let key = args.verify_key.as_deref().map(read_key).transpose()?;
    let attempted = format!("pull {}", args.reference.url());
    let (digest, files) = shell.run(answer_of(&args.reference.repository, shell, &attempted, READ_LIMIT, async {
        let digest = registries.resolve(&args.reference).await.map_err(|e| registry_error(&e))?.digest;
        if let Some(key) = &key {
            let verified = oci::verify_signature(&registries, &args.reference.repository, &digest, key).await;
            verified.map_err(|e| registry_error(&e))?;
        }
        let place = Place::Repository(registries, args.reference.repository.clone());
        let manifest = oci::artifact_manifest(&place, &digest.to_string()).await.map_err(|e| registry_error(&e))?;
        let files = oci::artifact_files(&place, &manifest, &Limits::ARTIFACT).await.map_err(|e| registry_error(&e))?;
        Ok((digest, files))
    }))?;
    write_files(&args.output, &files)
        .map_err(|error| CliError::failed(format!("cannot write to {}", args.output.display())).caused_by(&error))?;
    shell.status(&format!("unpacked {} files into {}", files.len(), args.output.display()));
    shell.print(&format!("{}\n", args.reference.at(digest).url()))?;
    Ok(Exit::Done)
}
