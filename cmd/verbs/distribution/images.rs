//! `distribution images`: lists the images that a cluster pulls for a version of Flux.

use flux_operator::api::Variant;
use flux_operator::distribution::{FluxVersion, ImageReference};
use flux_operator::format::version_range::VersionRange;
use serde::Serialize;

use super::{ListArgs, newest, unusable, variants};
use crate::output::listing::{Cell, Column, Row};
use crate::session::registries::SourceArgs;
use crate::terminal::{CliError, Exit, Shell};

/// List the container images of a Flux version
///
/// Digests depend on the variant, which follows from a known registry. For a
/// mirror, set --variant; otherwise the list has only tags.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Images of the newest version, pinned by digest\n  \
    flux-operator distribution images -o name\n\n  \
    # The images that a mirror must have for the newest 2.8\n  \
    flux-operator distribution images --version 2.8.x \\\n    \
    --registry registry.example.com/flux --variant upstream-alpine -o name\n\n  \
    # For a script\n  \
    flux-operator distribution images --version 2.9.4 -o json")]
pub struct Args {
    /// Version, or range whose newest version is used
    #[arg(long, value_name = "RANGE", default_value = "2.x")]
    pub version: VersionRange,
    /// Registry the images are pulled from
    #[arg(long, value_name = "REGISTRY", default_value = "ghcr.io/fluxcd")]
    pub registry: String,
    /// Variant of the images [default: that of the registry]
    #[arg(long, value_name = "VARIANT", value_parser = variants())]
    pub variant: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    list: ListArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let distribution = shell.run(args.source.open(shell, None))?;
    let version = newest(&distribution, &args.version)?;
    let registry = args.registry.trim_end_matches('/');
    let named = args.variant.as_deref().map(str::parse).transpose();
    let variant = named.map_err(|error| CliError::usage("cannot use --variant").caused_by(&error))?;
    let variant = variant.or_else(|| Variant::for_registry(registry));
    match variant {
        None => {
            let known: Vec<&str> = Variant::ALL.iter().map(|variant| variant.registry()).collect();
            shell.warn(&format!("{registry} is not a known registry, so the images have no digests"));
            shell.hint(&format!("name the build that it mirrors with --variant, or use one of {}", known.join(", ")));
        }
        Some(variant) if distribution.digests(&version, variant).map_err(unusable)?.is_none() => {
            shell.warn(&format!("{variant} has no digests for {version}, so the images have tags only"));
            shell.hint("choose another --variant or --version");
        }
        Some(_) => {}
    }
    let images = distribution.images(&version, registry, variant).map_err(unusable)?;
    let rows: Vec<ImageView> = images.into_iter().map(|image| ImageView::new(image, &version)).collect();
    args.list.print(&rows, shell)
}

#[derive(Serialize)]
struct ImageView {
    component: &'static str,
    version: String,
    repository: String,
    tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Repository, tag and digest in one.
    image: String,
}

impl ImageView {
    fn new(image: ImageReference, version: &FluxVersion) -> Self {
        ImageView {
            component: image.component.as_str(),
            version: version.name.clone(),
            image: image.to_string(),
            repository: image.repository,
            tag: image.tag,
            digest: image.digest,
        }
    }
}

impl Row for ImageView {
    const LIST_KIND: &'static str = "ImageList";
    const COLUMNS: &'static [Column] =
        &[Column::new("COMPONENT"), Column::new("TAG"), Column::new("DIGEST"), Column::wide("IMAGE")];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(self.component),
            Cell::text(&self.tag),
            Cell::revision(self.digest.as_deref()),
            Cell::text(&self.image),
        ]
    }

    fn name(&self) -> String {
        self.image.clone()
    }
}
