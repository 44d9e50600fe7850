//! `distribution versions`: lists the versions that can be installed.

use flux_operator::distribution::{CrdSummary, Distribution, FluxVersion};
use flux_operator::format::version_range::VersionRange;
use serde::Serialize;

use super::{ListArgs, unusable, version_span};
use crate::output::listing::{Cell, Column, Row};
use crate::session::registries::SourceArgs;
use crate::terminal::{CliError, Exit, Shell};

/// List the Flux versions that can be installed
///
/// NEWEST is the newest patch of the same minor version; CRD VERSIONS are the
/// API versions its custom resources can be written in (per kind with -o wide).
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # All versions, oldest first\n  \
    flux-operator distribution versions\n\n  \
    # The patches of one minor version, with the API versions of each kind\n  \
    flux-operator distribution versions --version 2.8.x -o wide\n\n  \
    # The newest version, for a script\n  \
    flux-operator distribution versions -o name | tail -1")]
pub struct Args {
    /// Only versions in this range, for example 2.8.x or >=2.7
    #[arg(long, value_name = "RANGE", default_value = "*")]
    pub version: VersionRange,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    list: ListArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let distribution = shell.run(args.source.open(shell, None))?;
    let all = distribution.versions();
    let rows: Vec<InstallableVersion> = all
        .iter()
        .filter(|version| args.version.matches(&version.version))
        .map(|version| view(&distribution, &all, version))
        .collect::<Result<_, _>>()?;
    if rows.is_empty() {
        shell.status(&format!("No version of {distribution} matches {}; {}.", args.version, version_span(&all)));
    }
    args.list.print(&rows, shell)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InstallableVersion {
    version: String,
    newest_of_minor: String,
    components: Vec<ComponentView>,
    crds: Vec<CrdView>,
}

#[derive(Serialize)]
struct ComponentView {
    name: &'static str,
    tag: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CrdView {
    group: String,
    kind: String,
    component: String,
    /// Served API versions; the outdated ones are in `deprecated` too.
    versions: Vec<String>,
    storage_version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deprecated: Vec<String>,
}

fn view(
    distribution: &Distribution,
    all: &[FluxVersion],
    version: &FluxVersion,
) -> Result<InstallableVersion, CliError> {
    let minor = |other: &FluxVersion| (other.version.major, other.version.minor);
    let newest = all.iter().rfind(|other| minor(other) == minor(version)).unwrap_or(version);
    let components = distribution
        .components(version)
        .into_iter()
        .map(|component| {
            let tag = distribution.tag(version, component).map_err(unusable)?;
            Ok(ComponentView { name: component.as_str(), tag })
        })
        .collect::<Result<_, CliError>>()?;
    let crds = distribution.crds(version).map_err(unusable)?;
    Ok(InstallableVersion {
        version: version.name.clone(),
        newest_of_minor: newest.name.clone(),
        components,
        crds: crds.into_iter().map(CrdView::from).collect(),
    })
}

impl From<CrdSummary> for CrdView {
    fn from(crd: CrdSummary) -> Self {
        let names = |deprecated_only: bool| {
            let wanted = crd.versions.iter().filter(|version| version.deprecated || !deprecated_only);
            wanted.map(|version| version.name.clone()).collect()
        };
        CrdView {
            versions: names(false),
            deprecated: names(true),
            storage_version: crd.versions.iter().find(|version| version.storage).map(|version| version.name.clone()),
            group: crd.group,
            kind: crd.kind,
            component: crd.component,
        }
    }
}

impl Row for InstallableVersion {
    const LIST_KIND: &'static str = "FluxVersionList";
    const COLUMNS: &'static [Column] = &[
        Column::new("VERSION"),
        Column::new("NEWEST"),
        Column::new("COMPONENTS"),
        Column::new("CRD VERSIONS"),
        Column::wide("CONTROLLERS"),
        Column::wide("KINDS"),
    ];

    fn cells(&self) -> Vec<Cell> {
        let mut versions: Vec<&str> = self.crds.iter().flat_map(|crd| &crd.versions).map(String::as_str).collect();
        versions.sort_unstable();
        versions.dedup();
        let controllers: Vec<&str> = self.components.iter().map(|component| component.name).collect();
        let kinds: Vec<String> =
            self.crds.iter().map(|crd| format!("{}={}", crd.kind, crd.versions.join("/"))).collect();
        vec![
            Cell::text(&self.version),
            Cell::text(&self.newest_of_minor),
            Cell::Count(i64::try_from(self.components.len()).unwrap_or(i64::MAX)),
            Cell::text(versions.join(" ")),
            Cell::text(controllers.join(",")),
            Cell::text(kinds.join(" ")),
        ]
    }

    fn name(&self) -> String {
        self.version.clone()
    }
}
