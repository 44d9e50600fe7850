//! Plans in files, written by `plan --out` and read by `apply --plan`.

use std::path::Path;

use flux_operator::format::file::{read_at_most, read_stream_at_most};
use flux_operator::format::whole_file;
use flux_operator::reconcile::SavedPlan;
use serde::{Deserialize, Serialize};

use crate::terminal::{CliError, Shell, is_stdin, name_of_input};

/// Version of the file format, changed whenever an older program would misread the file.
const FORMAT: &str = "flux-operator/plan/v1";
/// Limit for the size of a plan, which contains the objects of an installation: a few megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// A plan in a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanFile {
    format: String,
    /// UID of the cluster that the plan was made for; absent if the user may not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Server and context of the plan, for messages: the UID means nothing to a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    #[serde(flatten)]
    pub saved: SavedPlan,
}

impl PlanFile {
    pub fn new(saved: SavedPlan, cluster: Option<String>, endpoint: String) -> Self {
        PlanFile { format: FORMAT.to_owned(), cluster, endpoint: Some(endpoint), saved }
    }

    /// Writes the file atomically, readable only by its owner: manifests may contain secrets.
    pub fn write(&self, file: &Path) -> Result<(), CliError> {
        let failed = |e: &(dyn std::error::Error + 'static)| {
            CliError::failed(format!("cannot write the plan {}", file.display())).caused_by(e)
        };
        let mut text = serde_json::to_vec(self).map_err(|e| failed(&e))?;
        text.push(b'\n');
        whole_file::write(file, &text).map_err(|e| failed(&e))
    }

    /// Reads a file, or standard input for `-`.
    pub async fn read(file: &Path, shell: &Shell) -> Result<Self, CliError> {
        let refused = || CliError::usage(format!("cannot read the plan {}", file.display()));
        let failed = |e: &(dyn std::error::Error + 'static)| {
            refused().caused_by(e).hint("make one with `flux-operator plan instance --out FILE`")
        };
        let name = name_of_input(file);
        let text = if is_stdin(file) {
            let stdin = shell.stdin("the plan")?;
            shell.read_input(&name, move || read_stream_at_most(stdin.lock(), MAX_BYTES)).await?
        } else {
            let file = file.to_owned();
            shell.read_input(&name, move || read_at_most(&file, MAX_BYTES)).await?
        };
        let text = text.map_err(|e| failed(&e))?;
        let file: PlanFile = serde_json::from_slice(&text).map_err(|e| failed(&e))?;
        if file.format != FORMAT {
            return Err(refused().cause(format!("it is written as {}, this program reads {FORMAT}", file.format)));
        }
        Ok(file)
    }
}
