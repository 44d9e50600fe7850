//! `artifact tag`: adds tags to an artifact.

use flux_operator::oci::Reference;

use super::parse_reference;
use crate::session::registries::{READ_LIMIT, RegistryArgs, answer_of, registry_error};
use crate::terminal::{CliError, Exit, Shell};

/// Add tags to an OCI artifact
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Promote a tested artifact to staging\n  \
    flux-operator artifact tag oci://ghcr.io/org/manifests:6f8e2d1 \\\n    \
    --tag staging --tag latest")]
pub struct Args {
    /// The artifact: oci://HOST/REPOSITORY, with :TAG or @DIGEST
    #[arg(value_name = "REFERENCE", value_parser = parse_reference)]
    pub reference: Reference,
    /// Tag to add or move, repeatable
    #[arg(long, value_name = "TAG", required = true)]
    pub tag: Vec<String>,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let repository = &args.reference.repository;
    let wrong = |error: flux_operator::oci::ReferenceError| CliError::usage("cannot use --tag").caused_by(&error);
    // All names are checked before the first tag moves.
    let tags: Vec<Reference> =
        args.tag.iter().map(|tag| repository.with_tag(tag)).collect::<Result<_, _>>().map_err(wrong)?;
    let attempted = format!("tag {}", args.reference.url());
    let manifest = shell.run(answer_of(repository, shell, &attempted, READ_LIMIT, async {
        let registries = args.registry.open(shell).await?;
        let manifest = registries.manifest(&args.reference).await.map_err(|e| registry_error(&e))?;
        // A registry may have carried out a request whose answer never arrived.
        shell.interruption().writes();
        for tag in &tags {
            registries.push_manifest(tag, &manifest).await.map_err(|e| registry_error(&e))?;
        }
        Ok(manifest)
    }))?;
    let printed: String = tags.into_iter().map(|tag| format!("{}\n", tag.at(manifest.digest.clone()).url())).collect();
    shell.print(&printed);
    Ok(Exit::Done)
}
