//! `distribution check-mirror`: what a registry lacks of a version.

use flux_operator::oci::{OciError, Reason, Repository};
use futures::{StreamExt, TryStreamExt};
use serde::Serialize;

use super::{ImageArgs, ListArgs, newest, unnameable};
use crate::common::registries::{READ_LIMIT, in_time, registry_error};
use crate::render::listing::{Cell, Column, Row};
use crate::shell::{CliError, Exit, Shell};

const AT_ONCE: usize = 8;

/// Check that a registry holds the images of a Flux version
///
/// Images are looked up by digest where the distribution knows it, else by tag.
/// The exit code is 1 when one is missing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Is the mirror ready for the upgrade?\n  \
    flux-operator distribution check-mirror registry.example.com/flux \\\n    \
    --version 2.9.x")]
pub struct Args {
    /// The mirror: HOST/PATH
    #[arg(value_name = "REGISTRY")]
    pub destination: String,
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
    state: &'static str,
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
    let registries = args.images.source.registry.open()?;
    let destination = args.destination.strip_prefix("oci://").unwrap_or(&args.destination);
    let distribution = shell.run(args.images.source.open(shell, None))?;
    let version = newest(&distribution, &args.images.version)?;
    let images = args.images.list(&distribution, &version)?;
    let attempted = format!("check the mirror {destination}");
    let rows: Vec<CheckView> = shell.run(in_time(shell, destination, &attempted, READ_LIMIT, async {
        let checks = images.iter().map(|image| {
            let registries = registries.clone();
            async move {
                let to = Repository::below(destination, image.component.as_str()).map_err(unnameable)?;
                let name = image.digest.as_ref().unwrap_or(&image.tag).clone();
                let separator = if image.digest.is_some() { '@' } else { ':' };
                let reference = format!("{to}{separator}{name}").parse().map_err(unnameable)?;
                let found = registries.resolve(&reference).await;
                let state = match found {
                    Ok(_) => "present",
                    Err(OciError { reason: Reason::NotFound { .. }, .. }) => "missing",
                    Err(error) => return Err(registry_error(&error)),
                };
                Ok(CheckView { component: image.component.to_string(), image: to.to_string(), name, state })
            }
        });
        futures::stream::iter(checks).buffered(AT_ONCE).try_collect().await
    }))?;
    args.list.print(&rows, shell)?;
    let missing = rows.iter().filter(|row| row.state == "missing").count();
    if missing == 0 {
        return Ok(Exit::Done);
    }
    shell.hint(&format!("copy them with `flux-operator distribution mirror {}`", args.destination));
    Ok(Exit::Differences)
}
