//! `distribution pack`: packs a version into one file for air-gapped places.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::fetch::{self, PACKED_NAME};
use flux_operator::format::whole_file::WholeFile;
use flux_operator::oci::{Copier, Layout};
use flux_operator::operator::{OperatorParams, manifest_text, manifests};
use futures::{StreamExt, TryStreamExt};

use super::{BLOBS_AT_ONCE, IMAGES_AT_ONCE, ImageArgs, ListedImage, MirrorImage, newest};
use crate::flows::operator::{IMAGE_PLACEHOLDER, VERSION, with_placeholder_explained};
use crate::session::registries::{in_time, registry_error};
use crate::terminal::progress::{Progress, ProgressArgs};
use crate::terminal::{CliError, Exit, Shell};

/// Pack a Flux version into one file for places without a network
///
/// The file is a tar archive of an OCI image layout: manifests, CRDs, the list of images with digests, checksums, and
/// with --images the images for all platforms. Every command with --distribution reads the file, and `distribution
/// mirror --from` copies its images to a registry. Running the command again continues an interrupted run. Prints the
/// digest of the manifests.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything for an air gap\n  \
    flux-operator distribution pack --version 2.9.x --images -o flux.tar\n\n  \
    # Inside the air gap\n  \
    flux-operator distribution verify flux.tar && \\\n    \
    flux-operator distribution mirror --from flux.tar registry.internal/flux")]
pub struct Args {
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also pack the images
    #[arg(long)]
    pub images: bool,
    /// Operator image that the operator's manifests use; --images also packs it
    #[arg(long, value_name = "IMAGE")]
    pub operator_image: Option<String>,
    #[command(flatten)]
    image_args: ImageArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let source = &args.image_args.source;
    if args.images && source.offline {
        return Err(CliError::usage("images come from a registry, and --offline opens no connection to one"));
    }
    let distribution = shell.run(source.open(shell, None))?;
    let version = newest(&distribution, &args.image_args.version)?;
    let images = args.image_args.list(&distribution, &version)?;
    let operator = args.operator_image.as_deref().map(ListedImage::operator).transpose()?;
    let cannot = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot pack into {}", args.output.display())).caused_by(error)
    };
    // A folder beside the file keeps the copied parts until the file is complete.
    let folder = partial_folder(&args.output);
    let layout = Layout::create(&folder).map_err(|error| cannot(&error))?;
    let attempted = format!("pack into {}", args.output.display());
    let packed = shell.run(in_time(shell, &args.image_args.registry, &attempted, None, async {
        let mut names = BTreeSet::from([PACKED_NAME.to_owned()]);
        if args.images {
            let registries = source.registry.open(shell).await?;
            let images: Vec<MirrorImage> = images
                .iter()
                .map(ListedImage::from)
                .chain(operator)
                .map(|image| MirrorImage::to_layout(&image, &registries, &layout))
                .collect::<Result<_, CliError>>()?;
            names.extend(images.iter().map(|image| image.tag.clone()));
            let progress = Arc::new(Mutex::new(Progress::new(shell, args.progress.progress)));
            let copier = Copier::new(BLOBS_AT_ONCE);
            let copies = images.iter().map(|image| image.copy(&copier, &progress));
            futures::stream::iter(copies).buffered(IMAGES_AT_ONCE).try_collect::<Vec<_>>().await?;
        }
        let manifests = operator_manifests(args.operator_image.as_deref())?;
        let packed = fetch::pack(&layout, &distribution, &version, &images, &manifests).await;
        let packed = packed.map_err(|error| cannot(&error))?;
        // An interrupted run may have been for another version.
        layout.keep_names(&names).map_err(|error| cannot(&error))?;
        Ok(packed)
    }))?;
    write_whole(&args.output, &layout)?;
    std::fs::remove_dir_all(&folder).map_err(|error| cannot(&error))?;
    let what = if args.images { format!("{} images", images.len()) } else { "no images".to_owned() };
    shell.status(&format!("packed flux {version} with {what} into {}", args.output.display()));
    shell.print(&format!("{}\n", packed.digest));
    Ok(Exit::Done)
}

/// Returns the output of `install --export` for this image; without an image it has an explained placeholder.
fn operator_manifests(image: Option<&str>) -> Result<String, CliError> {
    let params = OperatorParams::new(DEFAULT_NAMESPACE, image.unwrap_or(IMAGE_PLACEHOLDER), VERSION);
    manifest_text(&manifests(&params), DEFAULT_NAMESPACE)
        .map(|text| with_placeholder_explained(&text))
        .map_err(|error| CliError::failed("cannot write the manifests of the operator").caused_by(&error))
}

fn partial_folder(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Writes the file atomically.
fn write_whole(file: &Path, layout: &Layout) -> Result<(), CliError> {
    let failed = |error: &std::io::Error| CliError::failed(format!("cannot write {}", file.display())).caused_by(error);
    let mut whole = WholeFile::beside(file).map_err(|e| failed(&e))?;
    layout.write_archive(std::io::BufWriter::new(whole.file())).map_err(|error| registry_error(&error))?;
    whole.replace().map_err(|e| failed(&e))
}
