//! Plans in files: what `plan --out` writes and `apply --plan` reads.

use std::io::Write;
use std::path::Path;

use flux_operator::reconcile::Plan;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::shell::CliError;

/// Changes whenever an older program would misread the file.
const FORMAT: &str = "flux-operator/plan/v1";

/// A plan and the object it starts from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedPlan {
    pub format: String,
    /// The FluxInstance that is applied first; absent when the one in the cluster was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Value>,
    pub plan: Plan,
}

impl SavedPlan {
    pub fn new(plan: Plan, instance: Option<Value>) -> Self {
        SavedPlan { format: FORMAT.to_owned(), instance, plan }
    }

    /// Writes the file whole or not at all, readable by its owner only: manifests may hold secrets.
    pub fn write(&self, file: &Path) -> Result<(), CliError> {
        let failed = |e: &(dyn std::error::Error + 'static)| {
            CliError::failed(format!("cannot write the plan {}", file.display())).caused_by(e)
        };
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Temporary files are made with mode 0600.
        let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(|e| failed(&e))?;
        serde_json::to_writer(&mut temporary, self).map_err(|e| failed(&e))?;
        temporary.write_all(b"\n").map_err(|e| failed(&e))?;
        temporary.persist(file).map_err(|e| failed(&e))?;
        Ok(())
    }

    pub fn read(file: &Path) -> Result<Self, CliError> {
        let refused = || CliError::usage(format!("cannot read the plan {}", file.display()));
        let failed = |e: &(dyn std::error::Error + 'static)| {
            refused().caused_by(e).hint("make one with `flux-operator plan instance --out FILE`")
        };
        let text = std::fs::read(file).map_err(|e| failed(&e))?;
        let saved: SavedPlan = serde_json::from_slice(&text).map_err(|e| failed(&e))?;
        if saved.format != FORMAT {
            return Err(refused().cause(format!("it is written as {}, this program reads {FORMAT}", saved.format)));
        }
        Ok(saved)
    }
}
