//! `distribution mirror`: the images of a version, from registry to registry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flux_operator::inspect::listing::{Cell, Column, Row};
use flux_operator::oci::{ByteCounter, Copier, Place, Registries, Repository};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;

use super::{ImageArgs, ListArgs, MirrorImage};
use crate::common::registries::registry_error;
use crate::shell::{CliError, Exit, Shell};

/// Images that are copied at once, and blobs of all of them together.
const IMAGES_AT_ONCE: usize = 4;
const BLOBS_AT_ONCE: usize = 8;

/// Copy the container images of a Flux version to another registry
///
/// Images are copied by digest and for all platforms. What is there already is
/// not sent again, so an interrupted run is continued by running it again; what
/// several images share is sent once. Needs no cluster.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would be copied\n  \
    flux-operator distribution mirror registry.example.com/flux --dry-run\n\n  \
    # The newest 2.8, only what an instance with two controllers needs\n  \
    flux-operator distribution mirror registry.example.com/flux --version 2.8.x \\\n    \
    --components source-controller,kustomize-controller")]
pub struct Args {
    /// Where to copy to: HOST/PATH; each image goes below it
    #[arg(value_name = "DEST")]
    pub destination: String,
    #[command(flatten)]
    images: ImageArgs,
    /// Say what would be copied, and copy nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Ask the destination for every digest once all is copied
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MirrorView {
    component: String,
    image: String,
    digest: String,
    /// What was sent; nothing for an image that was there.
    bytes: u64,
    state: &'static str,
}

impl Row for MirrorView {
    const LIST_KIND: &'static str = "MirroredImageList";
    const COLUMNS: &'static [Column] = &[
        Column::new("COMPONENT"),
        Column::new("STATE"),
        Column::new("BYTES"),
        Column::new("IMAGE"),
        Column::wide("DIGEST"),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.component),
            Cell::text(self.state),
            Cell::Count(i64::try_from(self.bytes).unwrap_or(i64::MAX)),
            Cell::text(&self.image),
            Cell::revision(Some(&self.digest)),
        ]
    }

    fn name(&self) -> String {
        format!("{}@{}", self.image, self.digest)
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let images = args.images.resolve(shell, &args.destination)?;
    let registries = args.images.source.registry.open()?;
    let rows: Vec<MirrorView> = shell.run(async {
        let copier = Copier::new(BLOBS_AT_ONCE);
        let copies = images.iter().map(|image| mirror(args, shell, &registries, &copier, image));
        futures::stream::iter(copies).buffered(IMAGES_AT_ONCE).try_collect().await
    })?;
    args.list.print(&rows, shell)?;
    if !args.dry_run {
        shell.hint(&format!("use it with spec.distribution.registry: {}", args.destination.trim_end_matches('/')));
        if let Some(variant) = args.images.variant() {
            shell.hint(&format!("and, to keep the digests, spec.distribution.variant: {variant}"));
        }
    }
    Ok(Exit::Done)
}

async fn mirror(
    args: &Args,
    shell: &Shell,
    registries: &Registries,
    copier: &Copier,
    image: &MirrorImage,
) -> Result<MirrorView, CliError> {
    let place = |repository: &Repository| Place::Repository(registries.clone(), repository.clone());
    let (from, to) = (place(&image.from), place(&image.to));
    let view = |digest: String, bytes, state| MirrorView {
        component: image.component.clone(),
        image: format!("{}:{}", image.to, image.tag),
        digest,
        bytes,
        state,
    };
    if args.dry_run {
        let manifest = from.manifest(image.name()).await.map_err(|error| registry_error(&error))?;
        let is_there = registries.resolve(&image.to.with_digest(manifest.digest.clone())).await.is_ok();
        return Ok(view(manifest.digest.to_string(), 0, if is_there { "present" } else { "missing" }));
    }
    let sent = Arc::new(AtomicU64::new(0));
    let sum = sent.clone();
    let counter: ByteCounter = Arc::new(move |bytes| {
        sum.fetch_add(bytes, Ordering::Relaxed);
    });
    shell.status(&format!("copying {}:{}", image.from, image.tag));
    let copied = copier.copy(&from, image.name(), &to, Some(&image.tag), Some(&counter)).await;
    let copied = copied.map_err(|error| registry_error(&error).hint("run it again: what was copied stays"))?;
    if args.verify {
        let reference = image.to.with_digest(copied.digest.clone());
        registries.manifest(&reference).await.map_err(|error| registry_error(&error))?;
    }
    let state = if copied.was_complete { "present" } else { "copied" };
    shell.status(&format!("{state} {}:{}", image.to, image.tag));
    Ok(view(copied.digest.to_string(), copied.bytes, state))
}
