//! `artifact`: OCI artifacts in Flux's format, for pipelines. Needs a registry, no cluster.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use flux_operator::fetch::{FetchReason, Source};
use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::output_folder::write_below;
use flux_operator::format::tarball::{self, ArchiveLimits, Files};
use flux_operator::oci::{self, Digest, ImageLocation, Layout, OciError, Reference};

use crate::session::registries::{NOTHING_TO_VERIFY, READ_LIMIT, RegistryArgs, in_time, read_key, registry_error};
use crate::terminal::{CliError, Exit, Shell, unopened};

mod diff;
mod list;
mod pull;
mod push;
mod tag;

/// Push, pull and compare OCI artifacts with manifests
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Push(push::Args),
    Pull(pull::Args),
    Diff(diff::Args),
    Tag(tag::Args),
    List(list::Args),
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Push(args) => push::run(args, shell),
        Command::Pull(args) => pull::run(args, shell),
        Command::Diff(args) => diff::run(args, shell),
        Command::Tag(args) => tag::run(args, shell),
        Command::List(args) => list::run(args, shell),
    }
}

/// Excluded from every artifact unless --ignore-paths is given; the same as in Flux's own command.
const IGNORED: &str = ".git/,.gitignore,.gitmodules,.gitattributes,*.jpg,*.jpeg,*.gif,*.png,*.wmv,*.flv,*.tar.gz,*.zip";

/// The files of an artifact.
#[derive(clap::Args, Clone, Debug)]
pub struct ContentArgs {
    /// Folder or file with the manifests
    #[arg(short = 'f', long, value_name = "PATH", default_value = ".")]
    pub path: PathBuf,
    /// Patterns of files to exclude, as in .gitignore, separated by commas
    #[arg(long, value_name = "PATTERN,…", default_value = IGNORED, value_delimiter = ',', hide_default_value = true)]
    pub ignore_paths: Vec<String>,
}

impl ContentArgs {
    pub fn read(&self, shell: &Shell) -> Result<Files, CliError> {
        let rules = IgnoreRules::parse(self.ignore_paths.iter().map(String::as_str))
            .map_err(|error| CliError::usage("cannot use --ignore-paths").caused_by(&error))?;
        let folder = tarball::read_folder(&self.path, &rules).map_err(|error| unopened(&self.path, &error))?;
        for path in &folder.skipped {
            shell.warn(&format!("{path} is not a regular file and is skipped"));
        }
        if folder.files.is_empty() {
            return Err(CliError::failed(format!("{} holds no file for an artifact", self.path.display())));
        }
        Ok(folder.files)
    }
}

/// Parses the location of an artifact: a registry or an image layout.
fn parse_source(text: &str) -> Result<Source, String> {
    match text.parse() {
        Ok(source @ (Source::Artifact(_) | Source::Layout(..))) => Ok(source),
        Ok(_) => Err("an artifact is written oci://HOST/REPOSITORY:TAG or oci-layout:DIR[:TAG]".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn parse_reference(text: &str) -> Result<Reference, String> {
    if !text.starts_with("oci://") {
        return Err("an artifact is written oci://HOST/REPOSITORY:TAG".to_owned());
    }
    text.parse().map_err(|error: flux_operator::oci::ReferenceError| error.to_string())
}

/// The artifact to read, and how.
#[derive(clap::Args, Clone, Debug)]
pub struct PullArgs {
    /// Public key that must verify a signature of the artifact, as made by
    /// `cosign sign --key`
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

impl PullArgs {
    /// Reads the files of an artifact within the command's time, and the digest of its tag; `verb` describes the
    /// purpose.
    async fn pull(&self, source: &Source, verb: &str, shell: &Shell) -> Result<(Digest, Files), CliError> {
        let failed = |error: OciError| registry_error(&error);
        let key = read_key(self.verify_key.as_deref(), shell).await?;
        let server = match source {
            Source::Artifact(reference) => format!("the registry {}", reference.repository.registry()),
            layout => layout.to_string(),
        };
        in_time(shell, &server, &format!("{verb} {source}"), READ_LIMIT, async {
            let (place, digest) = match source {
                Source::Artifact(reference) => {
                    let (registries, repository) = (self.registry.open(shell).await?, &reference.repository);
                    let digest = registries.resolve(reference).await.map_err(failed)?.digest;
                    // The digest is verified and then pulled, because a tag may move in between.
                    if let Some(key) = &key {
                        oci::verify_signature(&registries, repository, &digest, key).await.map_err(failed)?;
                    }
                    (ImageLocation::Repository(registries, repository.clone()), digest)
                }
                Source::Layout(folder, name) if key.is_none() => {
                    let layout = Layout::open(folder).map_err(failed)?;
                    let digest = layout.manifest(name).map_err(failed)?.digest;
                    (ImageLocation::Layout(layout), digest)
                }
                _ => {
                    return Err(CliError::usage(FetchReason::Unverifiable.to_string()).hint(NOTHING_TO_VERIFY));
                }
            };
            let manifest = oci::artifact_manifest(&place, &digest.to_string()).await.map_err(failed)?;
            let files = oci::artifact_files(&place, &manifest, &ArchiveLimits::ARTIFACT).await.map_err(failed)?;
            Ok((digest, files))
        })
        .await
    }
}

fn write_files(folder: &Path, files: &Files) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    files.iter().try_for_each(|(path, file)| write_below(folder, Path::new(path), &file.bytes, file.is_executable))
}
