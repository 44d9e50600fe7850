//! `distribution check-mirror`: finds missing parts of a version, or of an instance's images, in a registry.

use std::path::PathBuf;

use flux_operator::build::{BuildOptions, build};
use flux_operator::distribution::FluxVersion;
use flux_operator::oci::{self, OciError, Reason, Registries, Repository};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;

use super::mirror::ARTIFACT;
use super::{ImageArgs, ListArgs, ListedImage, newest, unnameable};
use crate::output::hints;
use crate::output::listing::{Cell, Column, Row};
use crate::session::manifest_file::read_instance;
use crate::session::registries::{READ_LIMIT, in_time, registry_error};
use crate::terminal::{CliError, Exit, Shell};

const AT_ONCE: usize = 8;

/// Check that a registry holds the images of a Flux version
///
/// Looks up images by digest if the distribution lists one, else by tag, and checks every platform and every layer.
/// With -f, checks the images of a FluxInstance; without a REGISTRY, checks the registry that the instance pulls them
/// from. The exit code is 1 when anything is missing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Is the mirror ready for the upgrade?\n  \
    flux-operator distribution check-mirror registry.example.com/flux \\\n    \
    --version 2.9.x\n\n  \
    # Can all images of this instance be pulled?\n  \
    flux-operator distribution check-mirror -f flux.yaml")]
pub struct Args {
    /// The mirror: HOST/PATH
    #[arg(value_name = "REGISTRY", required_unless_present = "filename")]
    pub destination: Option<String>,
    /// File with the FluxInstance whose images to check; - reads standard input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE", alias = "file",
        conflicts_with_all = ["version", "registry", "variant", "components"])]
    pub filename: Option<PathBuf>,
    /// Also check the manifests, as copied by `distribution mirror`
    #[arg(long)]
    pub include_artifact: bool,
    /// Also check this operator image, as given to `distribution mirror`
    #[arg(long, value_name = "IMAGE")]
    pub operator_image: Option<String>,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Serialize)]
struct CheckView {
    component: String,
    image: String,
    name: String,
    /// `incomplete`: the manifest exists, but some of its parts are missing.
    state: &'static str,
    /// Digests of manifests and blobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

impl Row for CheckView {
    const LIST_KIND: &'static str = "MirrorCheckList";
    const COLUMNS: &'static [Column] =
        &[Column::new("COMPONENT"), Column::new("STATE"), Column::new("IMAGE"), Column::new("DIGEST")];

    fn cells(&self) -> Vec<Cell> {
        let name = Cell::revision(Some(&self.name));
        vec![Cell::text(&self.component), Cell::text(self.state), Cell::text(&self.image), name]
    }

    fn name(&self) -> String {
        format!("{}@{}", self.image, self.name)
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.images.source.offline {
        return Err(CliError::usage("cannot check a mirror --offline"));
    }
    let (registries, (destination, images)) =
        shell.run(async { Ok((args.images.source.registry.open(shell).await?, wanted(args, shell).await?)) })?;
    let attempted = format!("check the mirror {destination}");
    let rows: Vec<CheckView> = shell.run(in_time(shell, &destination, &attempted, READ_LIMIT, async {
        let checks = images.iter().map(|image| check_image(&registries, image));
        futures::stream::iter(checks).buffered(AT_ONCE).try_collect().await
    }))?;
    args.list.print(&rows, shell)?;
    for row in rows.iter().filter(|row| row.state == "incomplete") {
        shell.warn(&format!("{} is incomplete: {} is missing", row.name(), row.missing.join(", ")));
    }
    let has = |state: &str| rows.iter().any(|row| row.state == state);
    if has("missing") {
        shell.hint(&format!("copy them with `flux-operator distribution mirror {destination}`"));
    }
    if has("incomplete") {
        shell.hint(&format!("repair them with `flux-operator distribution mirror {destination} --verify`"));
    }
    Ok(if has("missing") || has("incomplete") { Exit::Differences } else { Exit::Done })
}

/// Returns the mirror and the required images with their names there.
async fn wanted(args: &Args, shell: &Shell) -> Result<(String, Vec<ListedImage>), CliError> {
    let named = args.destination.as_deref().map(|text| text.strip_prefix("oci://").unwrap_or(text).to_owned());
    let (destination, version, listed): (_, FluxVersion, Vec<ListedImage>) = match &args.filename {
        Some(file) => {
            let manifest = read_instance(file, shell).await?;
            let spec = &manifest.instance.spec.distribution;
            let distribution = args.images.source.open(shell, spec.artifact.as_deref()).await?;
            // Nothing is applied here; the apply decides whether such a minor is allowed.
            let options = BuildOptions { allow_unknown_minor: true, ..BuildOptions::default() };
            let built = build(&manifest.instance, &distribution, &options).map_err(|error| {
                let reported =
                    CliError::failed(format!("cannot build the FluxInstance of {}", file.display())).caused_by(&error);
                hints::of_build(&error).into_iter().fold(reported, CliError::hint)
            })?;
            let destination = named.clone().unwrap_or_else(|| spec.registry.trim_end_matches('/').to_owned());
            (destination, built.version, built.images.iter().map(ListedImage::from).collect())
        }
        None => {
            let distribution = args.images.source.open(shell, None).await?;
            let version = newest(&distribution, &args.images.version)?;
            let images = args.images.list(&distribution, &version)?;
            // clap requires one of the two.
            (named.clone().unwrap_or_default(), version, images.iter().map(ListedImage::from).collect())
        }
    };
    let below = |image: ListedImage| {
        let repository = Repository::below(&destination, &image.component).map_err(unnameable)?;
        Ok(ListedImage { repository: repository.to_string(), ..image })
    };
    let mut images: Vec<ListedImage> = match &named {
        Some(_) => listed.into_iter().map(below).collect::<Result<_, CliError>>()?,
        // An instance pulls from the registry in its spec, or in a patch.
        None => listed,
    };
    let operator = args.operator_image.as_deref().map(ListedImage::operator).transpose()?;
    let artifact = args.include_artifact.then(|| ListedImage {
        component: ARTIFACT.to_owned(),
        repository: String::new(),
        tag: version.name,
        digest: None,
    });
    for image in operator.into_iter().chain(artifact) {
        images.push(below(image)?);
    }
    Ok((destination, images))
}

/// Checks an image with all its parts.
async fn check_image(registries: &Registries, image: &ListedImage) -> Result<CheckView, CliError> {
    let repository: Repository = image.repository.parse().map_err(unnameable)?;
    let name = image.digest.as_ref().unwrap_or(&image.tag).clone();
    let separator = if image.digest.is_some() { '@' } else { ':' };
    let reference = format!("{repository}{separator}{name}").parse().map_err(unnameable)?;
    let view = |state, missing| CheckView {
        component: image.component.clone(),
        image: repository.to_string(),
        name: name.clone(),
        state,
        missing,
    };
    let digest = match registries.resolve(&reference).await {
        Ok(found) => found.digest,
        Err(OciError { reason: Reason::NotFound { .. }, .. }) => return Ok(view("missing", vec![])),
        Err(error) => return Err(registry_error(&error)),
    };
    let missing = oci::missing_parts(registries, &repository, &digest).await.map_err(|error| registry_error(&error))?;
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Ok(view(if missing.is_empty() { "present" } else { "incomplete" }, missing))
}
