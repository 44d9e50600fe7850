//! The two sides of a rehearsal: the process that goes through a command without changing anything, and the folder in which it
//! tells another one what it asked for.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Command;
use flux_operator::cluster::{Met, Rehearsal};
use flux_operator::k8s::rbac::Permission;
use serde::{Deserialize, Serialize};

use crate::terminal::CliError;

/// Commands that are not rehearsed, and why.
pub const NOT_REHEARSED: [(&str, &str); 6] = [
    ("artifact", "it works with registries: it asks nothing of an API server"),
    ("distribution", "it works with registries and files: it asks nothing of an API server"),
    ("completion", "it asks nothing of an API server"),
    ("explain", "it asks nothing of an API server"),
    ("controller", "the operator's own rights come with `flux-operator install --export`"),
    ("rbac", "it needs the rights of the command that it is asked about"),
];
/// Rights that are withheld, as JSON.
const WITHHELD: &str = "withheld";
/// One line for every request: see [`Asked`].
const ASKED: &str = "asked";

/// Whether the rights of a command can be asked for.
pub fn is_rehearsed(command: &Command) -> bool {
    !command.is_hide_set() && NOT_REHEARSED.iter().all(|(word, _)| *word != command.get_name())
}

#[derive(Debug, Serialize, Deserialize)]
struct Asked {
    permission: Permission,
    met: Met,
}

/// What a rehearsal asked for.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    pub permissions: BTreeSet<Permission>,
    /// Those that the server itself refused.
    pub refused: BTreeSet<Permission>,
    /// Those that the command only asked about.
    pub asked_about: BTreeSet<Permission>,
}

/// Prepares the folder of a rehearsal from which these rights are withheld.
pub fn prepare(folder: &Path, withheld: &BTreeSet<Permission>) -> std::io::Result<()> {
    fs::write(folder.join(ASKED), "")?;
    fs::write(folder.join(WITHHELD), serde_json::to_vec(withheld)?)
}

/// Reads what the rehearsal of a folder asked for so far.
pub fn read(folder: &Path) -> std::io::Result<Notes> {
    let mut notes = Notes::default();
    // The last line may be half written.
    let text = fs::read_to_string(folder.join(ASKED))?;
    for Asked { permission, met } in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match met {
            Met::Used => notes.permissions.insert(permission),
            Met::Refused => notes.refused.insert(permission),
            Met::AskedAbout => notes.asked_about.insert(permission),
        };
    }
    Ok(notes)
}

/// How much a rehearsal has asked for so far: more, when it goes on.
pub fn progress(folder: &Path) -> u64 {
    fs::metadata(folder.join(ASKED)).map_or(0, |file| file.len())
}

/// The rehearsal of this process.
///
/// # Errors
/// Usage, when the folder was not prepared.
pub fn open(folder: &Path) -> Result<Rehearsal, CliError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::usage(format!("cannot rehearse in {}", folder.display())).caused_by(error)
    };
    let withheld = fs::read(folder.join(WITHHELD)).map_err(|e| failed(&e))?;
    let withheld: BTreeSet<Permission> = serde_json::from_slice(&withheld).map_err(|e| failed(&e))?;
    let notes = OpenOptions::new().append(true).open(folder.join(ASKED)).map_err(|e| failed(&e))?;
    let notes = Mutex::new((notes, BTreeSet::new()));
    let note = move |permission: &Permission, met: Met| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, known) = &mut *notes;
        // A lease is renewed for ever; everything else that is asked again is a sign that the command goes on.
        if known.insert((permission.clone(), met)) || permission.resource != "leases" {
            let line = serde_json::to_string(&Asked { permission: permission.clone(), met }).unwrap_or_default();
            // Who reads it finds out when a right is missing.
            let _ = writeln!(file, "{line}");
        }
    };
    Ok(Rehearsal::new(withheld, Arc::new(note)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_prepared_folder_is_rehearsed_in() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path()).is_err());
        prepare(folder.path(), &BTreeSet::new()).unwrap();
        assert!(open(folder.path()).is_ok());
        assert!(read(folder.path()).unwrap().permissions.is_empty());
    }
}
