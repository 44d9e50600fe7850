//! `distribution mirror`: copies the images of a version between registries.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flux_operator::distribution::{Distribution, FluxVersion};
use flux_operator::fetch::{self, FetchReason, PACKED_NAME};
use flux_operator::oci::{self, Copier, ImageLocation, Layout, OciError, Reason, Repository};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;

use super::{
    BLOBS_AT_ONCE, IMAGES_AT_ONCE, ImageArgs, ListArgs, ListedImage, MirrorImage, Sources, newest, unnameable, unusable,
};
use crate::output::listing::{Cell, Column, Row};
use crate::session::registries::{SourceArgs, in_time, registry_error};
use crate::terminal::progress::{Progress, ProgressArgs, ProgressMode};
use crate::terminal::{CliError, Exit, Shell};

/// The repository of the manifests, below the mirror.
pub const ARTIFACT: &str = "flux-operator-manifests";

/// Copy the container images of a Flux version to another registry
///
/// Images are copied by digest and for all platforms. Existing content is not sent again, so running the command again
/// continues an interrupted run; blobs shared by several images are sent once. Signatures of images are neither
/// verified nor copied: --verify-key is for the artifact of --distribution, which lists the images. Needs no cluster.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would be copied\n  \
    flux-operator distribution mirror registry.example.com/flux --dry-run\n\n  \
    # The newest 2.8, only what an instance with two controllers needs\n  \
    flux-operator distribution mirror registry.example.com/flux --version 2.8.x \\\n    \
    --components source-controller,kustomize-controller\n\n  \
    # Inside the air gap\n  \
    flux-operator distribution mirror --from flux.tar registry.internal/flux \\\n    \
    --include-artifact")]
pub struct Args {
    /// Destination: HOST/PATH; each image is copied below it
    #[arg(value_name = "DEST")]
    pub destination: String,
    #[command(flatten)]
    images: ImageArgs,
    /// Read images and manifests from a file written by `distribution pack`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["distribution", "variant"])]
    pub from: Option<PathBuf>,
    /// Also copy the manifests, for spec.distribution.artifact
    #[arg(long)]
    pub include_artifact: bool,
    /// Also copy this operator image, as given to `distribution pack`
    #[arg(long, value_name = "IMAGE")]
    pub operator_image: Option<String>,
    /// Show what would be copied, and copy nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Check every part at the destination, including parts of existing images; send missing parts again, and repeat
    /// the check
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    progress: ProgressArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MirrorView {
    component: String,
    image: String,
    digest: String,
    /// Bytes sent; 0 for an image that existed.
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
    if args.images.source.offline {
        return Err(CliError::usage("cannot mirror --offline"));
    }
    let registries = shell.run(args.images.source.registry.open(shell))?;
    let destination = args.destination.strip_prefix("oci://").unwrap_or(&args.destination).trim_end_matches('/');
    let (source, from) = match &args.from {
        Some(file) => {
            let layout = Layout::open(file).map_err(|error| registry_error(&error))?;
            let distribution = Some(file.display().to_string());
            let source = SourceArgs { distribution, ..args.images.source.clone() };
            (source, Sources::Packed(layout, registries.clone()))
        }
        None => (args.images.source.clone(), Sources::Registries(registries.clone())),
    };
    let distribution = shell.run(source.open(shell, None))?;
    let version = newest(&distribution, &args.images.version)?;
    let listed = match &from {
        Sources::Registries(_) => args.images.list(&distribution, &version)?,
        // Exactly the packed images, regardless of their origin.
        Sources::Packed(layout, _) => {
            let listed = shell.run(async {
                let cannot = |error: FetchReason| CliError::failed("cannot read the packed file").caused_by(&error);
                fetch::packed_images(layout).await.map_err(cannot)
            })?;
            args.images.wanted(listed)
        }
    };
    let operator = args.operator_image.as_deref().map(ListedImage::operator).transpose()?;
    let images: Vec<MirrorImage> = listed
        .iter()
        .map(ListedImage::from)
        .chain(operator)
        .map(|image| MirrorImage::to_mirror(&image, &from, destination))
        .collect::<Result<_, CliError>>()?;
    // A dry run shows no progress.
    let shown = if args.dry_run { ProgressMode::None } else { args.progress.progress };
    let progress = Arc::new(Mutex::new(Progress::new(shell, shown)));
    if !args.dry_run {
        shell.interruption().set("images may have been copied; the same command continues with the rest", None);
    }
    let attempted = format!("mirror to {destination}");
    let rows: Vec<MirrorView> = shell.run(in_time(shell, destination, &attempted, None, async {
        let copier = Copier::new(BLOBS_AT_ONCE).repairing(args.verify);
        let copies = images.iter().map(|image| mirror(args, &copier, image, &progress));
        let mut rows: Vec<MirrorView> = futures::stream::iter(copies).buffered(IMAGES_AT_ONCE).try_collect().await?;
        if args.include_artifact {
            rows.push(mirror_artifact(args, &from, destination, &distribution, &version).await?);
        }
        Ok(rows)
    }))?;
    progress.lock().unwrap_or_else(PoisonError::into_inner).clear();
    args.list.print(&rows, shell)?;
    if !args.dry_run {
        shell.hint(&format!("use it with spec.distribution.registry: {destination}"));
        if let Some(variant) = args.images.variant() {
            shell.hint(&format!("and, to keep the digests, spec.distribution.variant: {variant}"));
        }
        if args.include_artifact {
            shell.hint(&format!("and spec.distribution.artifact: oci://{destination}/{ARTIFACT}:{version}"));
        }
    }
    Ok(Exit::Done)
}

async fn mirror(
    args: &Args,
    copier: &Copier,
    image: &MirrorImage,
    progress: &Arc<Mutex<Progress>>,
) -> Result<MirrorView, CliError> {
    let view = |digest: String, bytes, state| MirrorView {
        component: image.component.clone(),
        image: image.target.clone(),
        digest,
        bytes,
        state,
    };
    if args.dry_run {
        let manifest = image.from.manifest(&image.name).await.map_err(|error| missing(args, &error))?;
        let is_there = is_there(&image.to, &manifest.digest.to_string()).await?;
        return Ok(view(manifest.digest.to_string(), 0, if is_there { "present" } else { "missing" }));
    }
    let copied = image.copy(copier, progress).await;
    let copied = match &args.from {
        Some(_) => copied.map_err(|error| error.hint("a file of `distribution pack` has images only with --images"))?,
        None => copied?,
    };
    if args.verify {
        image.to.check(&copied.digest).await.map_err(|error| registry_error(&error))?;
    }
    Ok(view(copied.digest.to_string(), copied.bytes, if copied.was_complete { "present" } else { "copied" }))
}

/// Whether the destination has a manifest. An error that would end the copy also ends the dry run, except that a
/// registry may deny reading a missing image and still accept it.
async fn is_there(to: &ImageLocation, reference: &str) -> Result<bool, CliError> {
    match to.manifest(reference).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.reason, Reason::NotFound { .. } | Reason::Denied { .. }) => Ok(false),
        Err(error) => Err(registry_error(&error)),
    }
}

/// Explains a missing image: a packed file may contain only the list of images.
fn missing(args: &Args, error: &OciError) -> CliError {
    match (&args.from, &error.reason) {
        (Some(_), Reason::NotFound { .. }) => registry_error(error).hint("pack it with --images"),
        _ => registry_error(error),
    }
}

/// Copies the manifests too: as packed, or else as `distribution push` makes them.
async fn mirror_artifact(
    args: &Args,
    from: &Sources,
    destination: &str,
    distribution: &Distribution,
    version: &FluxVersion,
) -> Result<MirrorView, CliError> {
    let repository = Repository::below(destination, ARTIFACT).map_err(unnameable)?;
    let target = ImageLocation::Repository(from.registries().clone(), repository.clone());
    let view = |digest: String, state| MirrorView {
        component: ARTIFACT.to_owned(),
        image: format!("{repository}:{version}"),
        digest,
        bytes: 0,
        state,
    };
    if args.dry_run {
        // Only an error matters here, because it would end the copy as well.
        is_there(&target, &version.name).await?;
        return Ok(view(String::new(), "planned"));
    }
    let (digest, state) = match from {
        Sources::Packed(layout, _) => {
            let layout = ImageLocation::Layout(layout.clone());
            let copier = Copier::new(BLOBS_AT_ONCE).repairing(args.verify);
            let copied = copier.copy(&layout, PACKED_NAME, &target, Some(&version.name), None).await;
            let copied = copied.map_err(|error| registry_error(&error))?;
            (copied.digest, if copied.was_complete { "present" } else { "copied" })
        }
        Sources::Registries(_) => {
            let files = distribution.files(version).map_err(unusable)?;
            let annotations = [("org.opencontainers.image.version".to_owned(), version.name.clone())].into();
            let put = oci::put_artifact(&target, &version.name, &files, &annotations).await;
            (put.map_err(|error| registry_error(&error))?.digest, "copied")
        }
    };
    if args.verify {
        target.check(&digest).await.map_err(|error| registry_error(&error))?;
    }
    Ok(view(digest.to_string(), state))
}
