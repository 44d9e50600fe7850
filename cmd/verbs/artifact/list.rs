//! `artifact list`: the tags of a repository, with their artifacts.

use flux_operator::oci::{Reference, annotation};
use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde::Serialize;

use super::parse_reference;
use crate::output::listing::{Cell, Column, Row, listing};
use crate::session::registries::{READ_LIMIT, RegistryArgs, answer_of, registry_error};
use crate::terminal::output_format;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Limit for concurrent requests of manifests.
const AT_ONCE: usize = 8;

/// List the artifacts of a repository: their tags, digests and origins
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The artifacts that were pushed\n  \
    flux-operator artifact list oci://ghcr.io/org/manifests")]
pub struct Args {
    /// The repository: oci://HOST/REPOSITORY
    #[arg(value_name = "REPOSITORY", value_parser = parse_reference)]
    pub reference: Reference,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

#[derive(Serialize)]
struct ArtifactView {
    reference: String,
    tag: String,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
}

impl Row for ArtifactView {
    const LIST_KIND: &'static str = "ArtifactList";
    const COLUMNS: &'static [Column] =
        &[Column::new("TAG"), Column::new("DIGEST"), Column::new("SOURCE"), Column::new("REVISION")];

    fn cells(&self) -> Vec<Cell> {
        let optional = |text: &Option<String>| Cell::some_text(text.as_deref());
        let digest = Cell::revision(Some(&self.digest));
        vec![Cell::text(&self.tag), digest, optional(&self.source), optional(&self.revision)]
    }

    fn name(&self) -> String {
        self.reference.clone()
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let repository = &args.reference.repository;
    if args.reference.tag().is_some() || args.reference.digest().is_some() {
        return Err(
            CliError::usage("cannot list a tag").hint(format!("list the tags of the repository: oci://{repository}"))
        );
    }
    let attempted = format!("list the artifacts in {repository}");
    let rows: Vec<ArtifactView> = shell.run(answer_of(repository, shell, &attempted, READ_LIMIT, async {
        let registries = args.registry.open(shell).await?;
        let tags = registries.tags(repository).await.map_err(|e| registry_error(&e))?;
        let views = tags.into_iter().map(|tag| {
            let registries = registries.clone();
            async move {
                let wrong = |error| CliError::failed("cannot use a tag of the registry").caused_by(&error);
                let reference =
                    repository.with_tag(&tag).map_err(|error: flux_operator::oci::ReferenceError| wrong(error))?;
                let manifest = registries.manifest(&reference).await.map_err(|e| registry_error(&e))?;
                let origin = |key: &str| manifest.content.annotations.get(key).cloned();
                let (source, revision) = (origin(annotation::SOURCE), origin(annotation::REVISION));
                let digest = manifest.digest.to_string();
                Ok::<_, CliError>(ArtifactView { reference: reference.url(), tag, digest, source, revision })
            }
        });
        futures::stream::iter(views).buffered(AT_ONCE).try_collect().await
    }))?;
    output_format::print_list(shell, &args.output, listing(&rows), false, false, Timestamp::now())?;
    Ok(Exit::Done)
}
