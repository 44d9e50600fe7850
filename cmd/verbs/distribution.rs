//! `distribution`: the embedded knowledge about Flux, without a cluster.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Subcommand;
use clap_complete::engine::ArgValueCandidates;
use flux_operator::api::well_known::OPERATOR_NAME;
use flux_operator::api::{Component, ComponentImage, Variant};
use flux_operator::distribution::{Distribution, DistributionError, FluxVersion, ImageReference};
use flux_operator::format::version_range::VersionRange;
use flux_operator::oci::{
    ByteCounter, Copier, CopyResult, ImageLocation, Layout, Reference, ReferenceError, Registries, Repository,
};
use jiff::Timestamp;

use crate::output::listing::{Row, listing};
use crate::session::registries::{SourceArgs, registry_error};
use crate::terminal::output_format;
use crate::terminal::output_format::{ColumnFilter, Format, OutputArgs};
use crate::terminal::progress::{Progress, State};
use crate::terminal::{CliError, Exit, Shell, environment};

mod check_mirror;
mod export;
mod images;
mod mirror;
mod pack;
mod pull;
mod push;
mod verify;
mod versions;

/// Show, export and mirror the Flux versions that can be installed
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Versions(versions::Args),
    Images(images::Args),
    Export(export::Args),
    Pull(pull::Args),
    Push(push::Args),
    Mirror(mirror::Args),
    CheckMirror(check_mirror::Args),
    Pack(pack::Args),
    Verify(verify::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Versions(args) => versions::run(args, shell),
        Command::Images(args) => images::run(args, shell),
        Command::Export(args) => export::run(args, shell),
        Command::Pull(args) => pull::run(args, shell),
        Command::Push(args) => push::run(args, shell),
        Command::Mirror(args) => mirror::run(args, shell),
        Command::CheckMirror(args) => check_mirror::run(args, shell),
        Command::Pack(args) => pack::run(args, shell),
        Command::Verify(args) => verify::run(args, shell),
    }
}

/// Selects the images of a mirror.
#[derive(clap::Args, Clone, Debug)]
struct ImageArgs {
    /// Version, or range whose newest version is used
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    version: VersionRange,
    /// Registry the images come from
    #[arg(long, value_name = "REGISTRY", default_value = "ghcr.io/fluxcd")]
    registry: String,
    /// Variant of the images [default: that of the registry]
    #[arg(long, value_name = "VARIANT", value_parser = variants())]
    variant: Option<String>,
    /// Controllers to include [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    components: Vec<Component>,
    #[command(flatten)]
    source: SourceArgs,
}

/// Limit for concurrent images, and for the blobs of all of them together.
const IMAGES_AT_ONCE: usize = 4;
const BLOBS_AT_ONCE: usize = 8;

/// An image to copy.
struct MirrorImage {
    component: String,
    from: ImageLocation,
    /// The name in requests: its digest, if the distribution knows it, else its tag or name.
    name: String,
    to: ImageLocation,
    /// Its tag at the target.
    tag: String,
    /// Its target in messages.
    target: String,
}

/// The parts of an image: one of Flux, or the operator's.
struct ListedImage {
    component: String,
    repository: String,
    tag: String,
    digest: Option<String>,
}

impl From<&ImageReference> for ListedImage {
    fn from(image: &ImageReference) -> Self {
        ListedImage {
            component: image.component.to_string(),
            repository: image.repository.clone(),
            tag: image.tag.clone(),
            digest: image.digest.clone(),
        }
    }
}

impl From<&ComponentImage> for ListedImage {
    fn from(image: &ComponentImage) -> Self {
        ListedImage {
            component: image.name.clone(),
            repository: image.repository.clone(),
            tag: image.tag.clone(),
            digest: image.digest.clone(),
        }
    }
}

impl ListedImage {
    /// Parses the image of the operator.
    fn operator(image: &str) -> Result<Self, CliError> {
        let wrong = || CliError::usage(format!("cannot copy the image {image}"));
        let reference: Reference =
            format!("oci://{image}").parse().map_err(|error: ReferenceError| wrong().caused_by(&error))?;
        let tag = reference.tag().ok_or_else(|| wrong().cause("it has no tag").hint("add one: IMAGE:TAG"))?;
        Ok(ListedImage {
            component: OPERATOR_NAME.to_owned(),
            repository: reference.repository.to_string(),
            tag: tag.to_owned(),
            digest: reference.digest().map(ToString::to_string),
        })
    }
}

impl MirrorImage {
    /// Copies from the listed registry to a repository below `destination`.
    fn to_mirror(image: &ListedImage, from: &Sources, destination: &str) -> Result<Self, CliError> {
        let component = image.component.clone();
        let repository = Repository::below(destination, &component).map_err(unnameable)?;
        let (place, tag) = match from {
            Sources::Registries(registries) => {
                let repository = image.repository.parse().map_err(unnameable)?;
                (ImageLocation::Repository(registries.clone(), repository), image.tag.clone())
            }
            Sources::Packed(layout, _) => {
                (ImageLocation::Layout(layout.clone()), format!("{}:{}", image.repository, image.tag))
            }
        };
        Ok(MirrorImage {
            component,
            from: place,
            name: image.digest.clone().unwrap_or(tag),
            target: format!("{repository}:{}", image.tag),
            to: ImageLocation::Repository(from.registries().clone(), repository),
            tag: image.tag.clone(),
        })
    }

    /// Copies from the listed registry to a layout.
    fn to_layout(image: &ListedImage, registries: &Registries, layout: &Layout) -> Result<Self, CliError> {
        let repository = image.repository.parse().map_err(unnameable)?;
        let name = format!("{}:{}", image.repository, image.tag);
        Ok(MirrorImage {
            component: image.component.clone(),
            from: ImageLocation::Repository(registries.clone(), repository),
            name: image.digest.clone().unwrap_or_else(|| image.tag.clone()),
            to: ImageLocation::Layout(layout.clone()),
            target: name.clone(),
            tag: name,
        })
    }

    /// Copies the image, with a line of progress.
    async fn copy(&self, copier: &Copier, progress: &Arc<Mutex<Progress>>) -> Result<CopyResult, CliError> {
        let lines = || progress.lock().unwrap_or_else(PoisonError::into_inner);
        lines().set(&self.component, State::Waiting, "copying");
        // These requests matter only if the progress is visible.
        let is_live = lines().is_live();
        let total = match is_live {
            true => copier.bytes_to_copy(&self.from, &self.name, &self.to).await.unwrap_or_default(),
            false => 0,
        };
        let (sent, shown, key) = (AtomicU64::new(0), progress.clone(), self.component.clone());
        let counter: ByteCounter = Arc::new(move |bytes| {
            let before = sent.fetch_add(bytes, Ordering::Relaxed);
            // Redrawn once per 256 KiB, because the pieces are small.
            if is_live && before >> 18 != (before + bytes) >> 18 {
                let text = bar(before + bytes, total);
                shown.lock().unwrap_or_else(PoisonError::into_inner).redraw(&key, &text);
            }
        });
        match copier.copy(&self.from, &self.name, &self.to, Some(&self.tag), Some(&counter)).await {
            Ok(copied) => {
                let text = if copied.was_complete {
                    "was there".to_owned()
                } else {
                    format!("copied, {:.1} MiB sent", copied.bytes as f64 / f64::from(1 << 20))
                };
                lines().set(&self.component, State::Done, &text);
                Ok(copied)
            }
            Err(error) => {
                lines().set(&self.component, State::Failed, &error.reason.to_string());
                Err(registry_error(&error).hint("run it again: images that were copied are kept"))
            }
        }
    }
}

/// `━━━━━━━━──────────── 12 of 30 MiB`; mounted and existing blobs are not sent, so the end may come early.
fn bar(sent: u64, total: u64) -> String {
    const WIDTH: u64 = 20;
    let total = total.max(sent);
    let full = usize::try_from((sent * WIDTH).checked_div(total).unwrap_or(WIDTH)).unwrap_or_default();
    let empty = "─".repeat(WIDTH as usize - full);
    format!("{}{empty} {} of {} MiB", "━".repeat(full), sent >> 20, total >> 20)
}

/// Sources of images; writes go to the registries.
enum Sources {
    Registries(Registries),
    /// A packed file.
    Packed(Layout, Registries),
}

impl Sources {
    fn registries(&self) -> &Registries {
        let (Sources::Registries(registries) | Sources::Packed(_, registries)) = self;
        registries
    }
}

fn unnameable(error: ReferenceError) -> CliError {
    CliError::usage("cannot name an image").caused_by(&error)
}

fn variants() -> clap::builder::PossibleValuesParser {
    Variant::ALL.map(Variant::as_str).into()
}

impl ImageArgs {
    fn variant(&self) -> Option<Variant> {
        let named = self.variant.as_deref().and_then(|name| name.parse().ok());
        named.or_else(|| Variant::for_registry(self.registry.trim_end_matches('/')))
    }

    /// Returns the images of a version for the selected components.
    fn list(&self, distribution: &Distribution, version: &FluxVersion) -> Result<Vec<ImageReference>, CliError> {
        let registry = self.registry.trim_end_matches('/');
        Ok(self.wanted(distribution.images(version, registry, self.variant()).map_err(unusable)?))
    }

    fn wanted(&self, mut images: Vec<ImageReference>) -> Vec<ImageReference> {
        images.retain(|image| self.components.is_empty() || self.components.contains(&image.component));
        images
    }
}

/// Format of a list without labels and readiness.
#[derive(clap::Args, Clone, Debug)]
struct ListArgs {
    /// Format: table, wide, json, yaml, name, jsonpath=TEMPLATE or
    /// custom-columns=HEADING:PATH,…
    #[arg(short, long, value_name = "FORMAT", default_value = "table", env = environment::OUTPUT, hide_env = true, hide_default_value = true, help_heading = output_format::OUTPUT, add = ArgValueCandidates::new(output_format::formats))]
    output: Format,
    /// Omit column headers
    #[arg(long, alias = "no-header", help_heading = output_format::OUTPUT)]
    no_headers: bool,
    /// Sort by a column, or by a JSONPath such as .tag
    #[arg(long, value_name = "COLUMN", help_heading = output_format::OUTPUT)]
    sort_by: Option<String>,
    /// Keep rows whose column has (=) or does not have (!=) a value, repeatable
    #[arg(long, value_name = "COLUMN=VALUE", help_heading = output_format::OUTPUT)]
    filter: Vec<ColumnFilter>,
}

impl ListArgs {
    fn print<R: Row>(&self, rows: &[R], shell: &Shell) -> Result<Exit, CliError> {
        let args = OutputArgs {
            output: self.output.clone(),
            no_headers: self.no_headers,
            sort_by: self.sort_by.clone(),
            filter: self.filter.clone(),
            ready_status: Vec::new(),
            label_columns: Vec::new(),
            show_labels: false,
        };
        output_format::print_list(shell, &args, listing(rows), false, false, Timestamp::now())?;
        Ok(Exit::Done)
    }
}

/// Returns the newest version in a range; the error lists the existing versions.
fn newest(distribution: &Distribution, range: &VersionRange) -> Result<FluxVersion, CliError> {
    let all = distribution.versions();
    all.iter().rfind(|version| range.matches(&version.version)).cloned().ok_or_else(|| {
        CliError::failed(format!("no version of {distribution} matches {range}")).hint(version_span(&all))
    })
}

fn version_span(versions: &[FluxVersion]) -> String {
    match versions {
        [first, .., last] => format!("there are {first} to {last}: `flux-operator distribution versions` lists them"),
        [only] => format!("there is only {only}"),
        [] => "there is none".to_owned(),
    }
}

fn unusable(error: DistributionError) -> CliError {
    CliError::failed("cannot read the distribution").caused_by(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_never_exceeds_its_width() {
        assert_eq!(bar(0, 30 << 20), "──────────────────── 0 of 30 MiB");
        assert_eq!(bar(12 << 20, 30 << 20), "━━━━━━━━──────────── 12 of 30 MiB");
        assert_eq!(bar(30 << 20, 30 << 20), "━━━━━━━━━━━━━━━━━━━━ 30 of 30 MiB");
        // A blob that was cut off is sent again.
        assert_eq!(bar(31 << 20, 30 << 20), "━━━━━━━━━━━━━━━━━━━━ 31 of 31 MiB");
        assert_eq!(bar(0, 0), "━━━━━━━━━━━━━━━━━━━━ 0 of 0 MiB");
    }
}
