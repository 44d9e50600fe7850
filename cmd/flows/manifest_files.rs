//! Flux objects in the user's files: finds those with an API version that Flux is about to drop.
//!
//! ```text
//! folder ─► list of files ─► several at once: read, migrated ─► in their order: given to the command, dropped
//! ```
//! File contents are not kept, because a repository may be larger than the memory. A text that does not mention Flux is
//! not parsed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flux_operator::distribution::api_migration::{Edit, LostField, MigratedText, StoredVersions, UneditedVersion};
use flux_operator::distribution::{Distribution, FluxVersion};
use flux_operator::format::file::read_at_most;
use flux_operator::format::harmless::on_one_line;
use flux_operator::format::yaml;
use flux_operator::inspect::views::upgrade::{ManifestIndex, Target, UpgradeFinding};
use futures::stream::{self, StreamExt};
use serde::Serialize;

use crate::terminal::{CliError, Shell, is_stdin, unopened};
use folder::ManifestFolder;

mod folder;
mod rewrite;

pub use rewrite::write;

/// Extensions of manifests in a folder, unless `--extensions` names others.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// Limit for files that are read at the same time, and so for texts in memory.
const MOST_AT_ONCE: usize = 8;

/// A file with its migration.
pub struct ScannedFile {
    /// `None` is standard input.
    pub path: Option<PathBuf>,
    /// The text as written.
    pub text: String,
    pub migrated: MigratedText,
}

impl ScannedFile {
    /// The path, `-` for standard input.
    pub fn name(&self) -> String {
        self.path.as_ref().map_or_else(|| "-".to_owned(), |path| path.display().to_string())
    }

    fn changes(&self) -> FileChanges {
        let MigratedText { edits, lost, unedited, .. } = self.migrated.clone();
        FileChanges { path: self.name(), edits, lost, unedited }
    }

    /// Returns the lines for its edits, and for places that need attention.
    pub fn lines(&self) -> (String, Vec<String>) {
        self.changes().lines()
    }
}

/// The planned or finished migration, file by file.
#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "FileMigration")]
pub struct FileMigration {
    /// The Flux version with the target API versions.
    pub flux: String,
    pub files: Vec<FileChanges>,
    /// Other changes of the version, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<UpgradeFinding>,
    #[serde(skip_serializing_if = "SkippedFiles::is_empty")]
    pub passed_over: SkippedFiles,
}

/// The planned or finished changes of a file.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChanges {
    pub path: String,
    pub edits: Vec<Edit>,
    pub lost: Vec<LostField>,
    /// Versions that are not changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unedited: Vec<UneditedVersion>,
}

/// Skipped files of a folder, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedFiles {
    /// Folders whose name begins with a dot, except those of version control.
    pub hidden_folders: usize,
    /// Files with another extension.
    pub other_extensions: usize,
    /// Files that mention Flux and are not YAML, and unreadable files.
    pub unreadable: usize,
    /// Files with a byte order mark, which is kept.
    pub byte_order_marks: usize,
    /// Symbolic links to targets outside the folder.
    pub links: Vec<String>,
}

impl SkippedFiles {
    fn is_empty(&self) -> bool {
        *self == SkippedFiles::default()
    }

    /// Formats a line for each reason.
    fn lines(&self) -> Vec<String> {
        let of = |count: usize, one: &str, many: &str| {
            let noun = if count == 1 { one } else { many };
            (count > 0).then(|| format!("{count} {noun}"))
        };
        let lines = [
            of(
                self.hidden_folders,
                "hidden folder is not read: name it to have it read",
                "hidden folders are not read: name one to have it read",
            ),
            of(
                self.other_extensions,
                "file with another extension is not read: --extensions adds it",
                "files with other extensions are not read: --extensions adds some",
            ),
            of(
                self.unreadable,
                "file is left alone: it cannot be read as YAML",
                "files are left alone: they cannot be read as YAML",
            ),
            of(
                self.byte_order_marks,
                "file begins with a byte order mark, which stays",
                "files begin with a byte order mark, which stays",
            ),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// Returns the newest patch of a minor version (`2.8`), or one version (`2.8.3`); without `word` the newest version.
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

/// Returns the Flux version of an upgrade (see [`flux_version`]).
pub fn target(word: &str) -> Result<Target, CliError> {
    let distribution = Distribution::embedded();
    let version = flux_version(&distribution, Some(word))?;
    Target::of(&distribution, version).map_err(|e| CliError::failed("cannot read Flux's CRDs").caused_by(&e))
}

/// Formats a line for each change.
pub fn change_lines(migration: &FileMigration) -> Vec<String> {
    let line = |change: &UpgradeFinding| {
        let line = change.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}: {}", change.path, change.object, change.message)
    };
    migration.changes.iter().map(line).collect()
}

/// Options for reading manifests.
pub struct ManifestRequest<'a> {
    /// A file, a folder, or `-` for standard input.
    pub place: &'a Path,
    /// The Flux version (see [`flux_version`]).
    pub to: Option<&'a str>,
    /// Extensions of manifests in a folder; empty for the usual ones.
    pub extensions: &'a [String],
}

/// Reads a file, every manifest of a folder, or standard input, and passes each to `take`.
///
/// Unreadable files in a folder are counted. Only those that mention an old Flux version are named.
pub async fn for_each(
    request: &ManifestRequest<'_>,
    shell: &Shell,
    mut take: impl FnMut(ScannedFile, &mut FileMigration) -> Result<(), CliError>,
) -> Result<FileMigration, CliError> {
    let distribution = Distribution::embedded();
    let version = flux_version(&distribution, request.to)?;
    let versions = StoredVersions::of(&distribution, &version)
        .map_err(|e| CliError::failed("cannot read Flux's CRDs").caused_by(&e))?;
    let mut migration = FileMigration { flux: version.name, ..FileMigration::default() };
    let failed = |path: &Path, error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot read {}", path.display())).caused_by(error)
    };
    let mut add = |one: ScannedFile, migration: &mut FileMigration| {
        let changes = one.changes();
        if !changes.edits.is_empty() || !changes.lost.is_empty() || !changes.unedited.is_empty() {
            migration.files.push(changes);
        }
        migration.passed_over.byte_order_marks += usize::from(one.text.starts_with('\u{feff}'));
        take(one, migration)
    };
    if is_stdin(request.place) {
        let (stdin, place) = (shell.stdin("manifests")?, Path::new("standard input"));
        let text = shell.read_input("standard input", move || yaml::read(stdin.lock())).await?;
        let text = text.map_err(|e| failed(place, &e))?;
        let migrated = migrated(&versions, &text, !request.extensions.is_empty()).map_err(|e| failed(place, &e))?;
        add(ScannedFile { path: None, text, migrated }, &mut migration)?;
        return Ok(migration);
    }
    let root = request.place;
    if !root.is_dir() {
        let text = read(root, shell).await?.map_err(|error| match &error {
            yaml::YamlError::Read(error) => unopened(root, error),
            _ => failed(root, &error),
        })?;
        let migrated = migrated(&versions, &text, !request.extensions.is_empty()).map_err(|e| failed(root, &e))?;
        add(ScannedFile { path: Some(root.to_owned()), text, migrated }, &mut migration)?;
        return Ok(migration);
    }
    let folder = ManifestFolder::find(root, request.extensions).map_err(|e| failed(root, &e))?;
    migration.passed_over = SkippedFiles {
        hidden_folders: folder.hidden_folders,
        other_extensions: folder.other_extensions,
        unreadable: folder.unreadable,
        byte_order_marks: 0,
        links: folder.links_outside.iter().map(|link| link.display().to_string()).collect(),
    };
    for link in &migration.passed_over.links {
        shell.warn(&format!("{link} is not followed: it points outside of {}", root.display()));
    }
    let (versions, edits_lines) = (Arc::new(versions), !request.extensions.is_empty());
    let at_once = std::thread::available_parallelism().map_or(2, usize::from).min(MOST_AT_ONCE);
    let look = |path: PathBuf| {
        let (versions, file) = (versions.clone(), path.clone());
        let work = move || migrate_file(&versions, &file, edits_lines);
        async move {
            let looked_at = shell.read_input(&path.display().to_string(), work).await;
            (path, looked_at)
        }
    };
    let mut files = stream::iter(folder.manifests).map(look).buffered(at_once);
    while let Some((path, looked_at)) = files.next().await {
        let Ok((migrated, text, is_yaml)) = looked_at? else {
            migration.passed_over.unreadable += 1;
            continue;
        };
        migration.passed_over.unreadable += usize::from(!is_yaml);
        add(ScannedFile { path: Some(path), text, migrated }, &mut migration)?;
    }
    warn_of_unread(folder.unread, &versions, at_once, shell).await?;
    for line in migration.passed_over.lines() {
        shell.status(&line);
    }
    Ok(migration)
}

/// Warns of old versions in the files of a folder that are not read as manifests.
async fn warn_of_unread(
    files: Vec<PathBuf>,
    versions: &Arc<StoredVersions>,
    at_once: usize,
    shell: &Shell,
) -> Result<(), CliError> {
    let search = |path: PathBuf| {
        let (versions, file) = (versions.clone(), path.clone());
        let work = move || Some(versions.old_versions(&searchable(&file).ok()?));
        async move {
            let found = shell.read_input(&path.display().to_string(), work).await;
            (path, found)
        }
    };
    let mut found_versions = stream::iter(files).map(search).buffered(at_once);
    while let Some((path, found)) = found_versions.next().await {
        for UneditedVersion { line, object, from, .. } in found?.unwrap_or_default() {
            shell.warn(&format!("{}:{line}: {object} is written as {from}, but the file is not read", path.display()));
        }
    }
    Ok(())
}

/// Reads further files that the manifests depend on: environment files of generators, and `.sourceignore` files.
pub async fn read_beside(index: &mut ManifestIndex, shell: &Shell) -> Result<(), CliError> {
    for path in index.files_beside() {
        // Most of these files do not exist, and an unreadable one is ignored.
        if path.is_file()
            && let Ok(text) = read(&path, shell).await?
        {
            index.add_beside(&path, &text);
        }
    }
    Ok(())
}

/// Reads a file. The outer error ends the command, the inner one concerns only this file.
async fn read(path: &Path, shell: &Shell) -> Result<Result<String, yaml::YamlError>, CliError> {
    let file = path.to_owned();
    let open = move || yaml::read(File::open(file).map_err(yaml::YamlError::Read)?);
    shell.read_input(&path.display().to_string(), open).await
}

/// Reads a file for a search; bytes that are not text are replaced.
fn searchable(path: &Path) -> Result<String, yaml::YamlError> {
    let bytes = read_at_most(path, yaml::MAX_INPUT_BYTES as u64).map_err(yaml::YamlError::Read)?;
    Ok(yaml::decode(bytes.clone()).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Migrates one text. `--extensions` may select templates, so texts that are not YAML are then edited line by line.
fn migrated(versions: &StoredVersions, text: &str, edits_lines: bool) -> Result<MigratedText, yaml::YamlError> {
    match versions.migrate(text) {
        Err(yaml::YamlError::Syntax { .. }) if edits_lines => Ok(versions.migrate_lines(text)),
        migrated => migrated,
    }
}

/// Migrates a file of a folder. Returns its text as well, and whether it is YAML.
fn migrate_file(
    versions: &StoredVersions,
    file: &Path,
    edits_lines: bool,
) -> Result<(MigratedText, String, bool), yaml::YamlError> {
    let (text, problem) = match yaml::read(File::open(file).map_err(yaml::YamlError::Read)?) {
        // Such a file is not edited, but an old version in it is reported.
        Err(problem @ yaml::YamlError::NotUtf8 { .. }) => (searchable(file)?, Some(problem)),
        text => (text?, None),
    };
    let migrated = problem.map_or_else(|| migrated(versions, &text, edits_lines), Err);
    // Not an error: a folder of charts holds templates, which are not YAML.
    let is_yaml = migrated.is_ok();
    let left = |_| MigratedText { unedited: versions.old_versions(&text), ..MigratedText::default() };
    Ok((migrated.unwrap_or_else(left), text, is_yaml))
}

impl FileChanges {
    fn lines(&self) -> (String, Vec<String>) {
        let path = &self.path;
        let mut edits = String::new();
        for Edit { line, object, from, to } in &self.edits {
            // A name may contain a line end, and would look like another line of output.
            edits.push_str(&on_one_line(&format!("{path}:{line}: {object}: {from} → {to}")));
            edits.push('\n');
        }
        let mut others = vec![];
        for LostField { line, object, field, api_version, advice } in &self.lost {
            let advice = advice.map(|advice| format!("; {advice}")).unwrap_or_default();
            others.push(format!("{path}:{line}: {object}: {api_version} has no field {field}{advice}"));
        }
        for UneditedVersion { line, object, from, to, reason, by_hand } in &self.unedited {
            let advice = if *by_hand { format!("; write {to} by hand") } else { String::new() };
            others.push(format!("{path}:{line}: {object}: {from} stays, because {reason}{advice}"));
        }
        (edits, others)
    }
}

impl FileMigration {
    /// Number of edited places.
    pub fn edits(&self) -> usize {
        self.files.iter().map(|file| file.edits.len()).sum()
    }

    /// Number of places that a person has to change.
    pub fn by_hand(&self) -> usize {
        let versions = |file: &FileChanges| file.unedited.iter().filter(|version| version.by_hand).count();
        self.files.iter().map(|file| file.lost.len() + versions(file)).sum()
    }

    /// Formats `, 2 to change by hand, 1 left as written`, without zero counts.
    fn others(&self) -> String {
        let left: usize = self.files.iter().map(|file| file.unedited.iter().filter(|one| !one.by_hand).count()).sum();
        let part = |count: usize, says: &str| if count > 0 { format!(", {count} {says}") } else { String::new() };
        part(self.by_hand(), "to change by hand") + &part(left, "left as written")
    }

    /// `Flux v2.9.4: 3 changed, 1 to change by hand`.
    pub fn summary(&self, done: &str) -> String {
        format!("Flux {}: {} {done}{}", self.flux, self.edits(), self.others())
    }

    /// The last line of a check, which counts every line before it.
    pub fn verdict(&self) -> String {
        let breaks = self.changes.iter().filter(|change| change.breaks).count();
        let part = |count: usize, one: &str, many: &str| match count {
            0 => String::new(),
            1 => format!(", 1 {one}"),
            several => format!(", {several} {many}"),
        };
        let changes = part(breaks, "breaking change", "breaking changes")
            + &part(self.changes.len() - breaks, "other change", "other changes");
        if self.edits() + self.by_hand() > 0 {
            return self.summary("to change") + &changes;
        }
        let all = format!("every Flux object is written as Flux {} stores it", self.flux);
        match (self.others() + &changes).strip_prefix(", ") {
            Some(rest) => format!("{all}; {rest}"),
            None => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_check_counts_what_was_printed() {
        let finding = |breaks| UpgradeFinding {
            path: "a".into(),
            line: None,
            object: String::new(),
            breaks,
            message: String::new(),
        };
        let mut migration = FileMigration { flux: "v2.9.4".into(), ..FileMigration::default() };
        assert_eq!(migration.verdict(), "every Flux object is written as Flux v2.9.4 stores it");
        migration.changes = vec![finding(true), finding(false), finding(true)];
        assert_eq!(
            migration.verdict(),
            "every Flux object is written as Flux v2.9.4 stores it; 2 breaking changes, 1 other change"
        );
        let lost = LostField { line: 1, object: "a".into(), field: "b".into(), api_version: "v1".into(), advice: None };
        migration.files = vec![FileChanges { path: "a".into(), edits: vec![], lost: vec![lost], unedited: vec![] }];
        assert_eq!(
            migration.verdict(),
            "Flux v2.9.4: 0 to change, 1 to change by hand, 2 breaking changes, 1 other change"
        );
    }
}
