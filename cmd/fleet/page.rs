//! `report --contexts`: all clusters on one page.

use std::path::Path;

use flux_operator::inspect::incident::page::Page;

use super::join::{failure, failure_line};
use super::reads::FleetRead;
use super::schedule::{ClusterStage, FleetRun};
use crate::output::page::{ClusterPage, html_of_clusters};
use crate::terminal::{CliError, Shell};
use crate::verbs::report;

/// Writes the page.
///
/// # Errors
/// Failed, when the file cannot be written.
pub fn write(fleet: &FleetRun, read: &FleetRead, shell: &Shell) -> Result<(), CliError> {
    let mut pages = vec![];
    for cluster in fleet.clusters.iter().filter(|one| !matches!(one.stage, ClusterStage::Skipped(_))) {
        let page = match failure(cluster) {
            Some(error) => Err(failure_line(error)),
            None => cluster.output.take_view::<Page>().ok_or_else(|| "nothing was read".to_owned()),
        };
        pages.push(ClusterPage { context: cluster.context.clone(), page });
    }
    let html = html_of_clusters(&pages);
    match read.file.as_deref() {
        Some(path) if path != Path::new("-") => {
            report::write(path, &html, read.overwrite)?;
            shell.print(&format!("{}\n", path.display()));
        }
        _ => shell.print_bytes(html.as_bytes()),
    }
    Ok(())
}
