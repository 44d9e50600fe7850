//! Flux objects in a person's own files: which of them are written at an API version that Flux is about to drop.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flux_operator::distribution::api_migration::{Edit, LostField, Migrated, StoredVersions};
use flux_operator::distribution::{Distribution, FluxVersion};
use flux_operator::format::yaml;
use flux_operator::inspect::upgrade::{Finding, ManifestFile, Target, files_for};
use serde::Serialize;

use crate::shell::{CliError, Shell};

/// What is read of a folder.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// One file, and what a Flux version wants of it.
pub struct LookedAt {
    /// `None` is standard input.
    pub path: Option<PathBuf>,
    /// As it is written.
    pub text: String,
    pub migrated: Migrated,
}

/// What is to be done, or was, file by file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FileMigration")]
pub struct FileMigration {
    /// The Flux version whose API versions are wanted.
    pub flux: String,
    pub files: Vec<FileChanges>,
    /// What the version changes beside its API, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Finding>,
}

/// What is to be done in one file, or was.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    pub path: String,
    pub edits: Vec<Edit>,
    pub lost: Vec<LostField>,
}

/// The newest patch of a minor version (`2.8`), or one version (`2.8.3`); without a word the newest.
fn flux_version(distribution: &Distribution, word: Option<&str>) -> Result<FluxVersion, CliError> {
    let versions = distribution.versions();
    let wanted = word.map(|word| word.trim_start_matches('v').trim_end_matches(".x"));
    let fits = |version: &&FluxVersion| {
        let name = version.name.trim_start_matches('v');
        wanted.is_none_or(|wanted| name == wanted || name.starts_with(&format!("{wanted}.")))
    };
    versions.iter().rfind(fits).cloned().ok_or_else(|| {
        let newest = versions.last().map(|version| version.name.clone()).unwrap_or_default();
        CliError::usage(format!("unknown Flux version {}", word.unwrap_or_default()))
            .hint(format!("the newest one here is {newest}; `flux-operator distribution versions` lists them"))
    })
}

/// A version of Flux to go to (see [`flux_version`]).
pub fn target(word: &str) -> Result<Target, CliError> {
    let distribution = Distribution::embedded();
    let version = flux_version(&distribution, Some(word))?;
    Target::of(&distribution, version)
        .map_err(|e| CliError::failed("cannot read the definitions of Flux").caused_by(&e))
}

/// What a version changes for manifests beside its API.
pub fn changes(looked_at: &[LookedAt], target: &Target) -> Vec<Finding> {
    let file = |one: &LookedAt| ManifestFile {
        path: one.path.clone().unwrap_or_else(|| PathBuf::from("-")),
        text: one.text.clone(),
    };
    files_for(target, &looked_at.iter().map(file).collect::<Vec<_>>())
}

/// One line each.
pub fn change_lines(migration: &FileMigration) -> Vec<String> {
    let line = |change: &Finding| {
        let line = change.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}: {}", change.path, change.object, change.message)
    };
    migration.changes.iter().map(line).collect()
}

/// Looks at manifests with the eyes of a Flux version (see [`flux_version`]): file by file, and what is to be done.
pub fn migration(place: &str, to: Option<&str>, shell: &Shell) -> Result<(Vec<LookedAt>, FileMigration), CliError> {
    let distribution = Distribution::embedded();
    let version = flux_version(&distribution, to)?;
    let versions = StoredVersions::of(&distribution, &version)
        .map_err(|e| CliError::failed("cannot read the definitions of Flux").caused_by(&e))?;
    let looked_at = look(place, &versions, shell)?;
    let migration = FileMigration::new(&version, &looked_at);
    Ok((looked_at, migration))
}

/// Looks at a file, at every manifest of a folder, or at standard input (`-`). What is no YAML is named and left alone.
fn look(place: &str, versions: &StoredVersions, shell: &Shell) -> Result<Vec<LookedAt>, CliError> {
    let failed = |path: &Path, error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot read {}", path.display())).caused_by(error)
    };
    if place == "-" {
        let text = yaml::read(shell.stdin("manifests")?.lock()).map_err(|e| failed(Path::new("standard input"), &e))?;
        let migrated = versions.migrate(&text).map_err(|e| failed(Path::new("standard input"), &e))?;
        return Ok(vec![LookedAt { path: None, text, migrated }]);
    }
    let root = Path::new(place);
    let mut paths = vec![];
    find(root, &mut paths).map_err(|e| failed(root, &e))?;
    paths.sort();
    let mut all = vec![];
    for path in paths {
        let file = std::fs::File::open(&path).map_err(|e| failed(&path, &e))?;
        let text = yaml::read(file.take(yaml::MAX_INPUT_BYTES as u64 + 1));
        match text.and_then(|text| versions.migrate(&text).map(|migrated| (text, migrated))) {
            Ok((text, migrated)) => all.push(LookedAt { path: Some(path), text, migrated }),
            // A folder of charts holds templates; a file that was named is meant.
            Err(error) if root.is_dir() => {
                shell.warn(&format!("{} is left alone: it cannot be read as YAML ({error})", path.display()));
            }
            Err(error) => return Err(failed(&path, &error)),
        }
    }
    Ok(all)
}

/// Every manifest below a folder; hidden folders (`.git`) and links to other folders are not entered.
fn find(place: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !place.is_dir() {
        found.push(place.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(place)? {
        let (entry, kind) = entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind)))?;
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if kind.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            find(&path, found)?;
        } else if path.is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            found.push(path);
        }
    }
    Ok(())
}

/// Writes a file as a whole or not at all, with the rights it has.
pub fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot write {}", path.display())).caused_by(error)
    };
    // A link is followed: what it points to is the file.
    let path = std::fs::canonicalize(path).map_err(|e| failed(&e))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(|e| failed(&e))?;
    temporary.write_all(text.as_bytes()).map_err(|e| failed(&e))?;
    let rights = std::fs::metadata(&path).map_err(|e| failed(&e))?.permissions();
    temporary.as_file().set_permissions(rights).map_err(|e| failed(&e))?;
    temporary.persist(&path).map_err(|e| failed(&e.error))?;
    Ok(())
}

/// One line an edit or a field that needs a hand.
pub fn lines(migration: &FileMigration) -> (String, Vec<String>) {
    let mut edits = String::new();
    let mut lost = vec![];
    for file in &migration.files {
        for Edit { line, object, from, to } in &file.edits {
            edits.push_str(&format!("{}:{line}: {object}: {from} → {to}\n", file.path));
        }
        for LostField { line, object, field, api_version, advice } in &file.lost {
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            lost.push(format!("{}:{line}: {object}: {api_version} has no field {field}{advice}", file.path));
        }
    }
    (edits, lost)
}

impl FileMigration {
    fn new(flux: &FluxVersion, looked_at: &[LookedAt]) -> Self {
        let changes = |one: &LookedAt| FileChanges {
            path: one.path.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string()),
            edits: one.migrated.edits.clone(),
            lost: one.migrated.lost.clone(),
        };
        let files = looked_at.iter().map(changes).filter(|file| !file.edits.is_empty() || !file.lost.is_empty());
        FileMigration { flux: flux.name.clone(), files: files.collect(), changes: vec![] }
    }

    /// How many objects are written at another version.
    pub fn edits(&self) -> usize {
        self.files.iter().map(|file| file.edits.len()).sum()
    }

    pub fn lost(&self) -> usize {
        self.files.iter().map(|file| file.lost.len()).sum()
    }
}
