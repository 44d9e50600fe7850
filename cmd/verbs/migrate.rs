//! `migrate`: migrates files to the API versions of a Flux version, and an installation to an instance.

use std::path::PathBuf;

use clap::Subcommand;

use crate::flows::manifest_files;
use crate::flows::manifest_files::ManifestRequest;
use crate::flows::rights::Rights;
use crate::terminal::output_format::{Format, ViewArgs, no_names, structured_without_names, without_names};
use crate::terminal::{CliError, Exit, Shell};

mod bootstrap;
pub mod owner;

#[derive(Subcommand, Debug)]
pub enum Command {
    Bootstrap(bootstrap::Args),
    Owner(owner::Args),
}

/// Rewrite deprecated API versions of Flux in files
///
/// The files are edited in place: comments, layout, owner, permissions and links are kept. The text of patches and the
/// versions of their targets are edited, too. Prints a line for every change as soon as it is made. Fields that the new
/// version does not have, and versions that cannot be edited, are reported but not changed. Hidden folders are not
/// read, and links that leave the folder are not followed. Exits with 1 when a dry run would change something, or when
/// something has to be changed by hand.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("output", without_names),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    # What would change, for a pipeline\n  \
    flux-operator migrate -f ./clusters --dry-run\n\n  \
    # To the API versions that Flux 2.8 stores\n  \
    flux-operator migrate -f ./apps/web.yaml --to 2.8 --dry-run\n\n  \
    # Templates as well\n  \
    flux-operator migrate -f ./apps -e .yaml,.yml,.tpl\n\n  \
    # From a pipe: the new text on stdout\n  \
    flux-operator migrate -f - < web.yaml"
)]
pub struct Args {
    /// Folder or file to rewrite; - reads standard input and prints the text
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "DIR|FILE", visible_alias = "path", required = true)]
    pub filename: Option<PathBuf>,
    /// Flux version whose API versions to use [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub to: Option<String>,
    /// Extensions of manifests in a folder [default: .yaml, .yml, .json]
    ///
    /// Files that are not YAML, such as templates, are then edited line by line.
    #[arg(short, long, value_name = "EXTENSION", value_delimiter = ',')]
    pub extensions: Vec<String>,
    /// Only show what would be changed
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    match &args.command {
        None => Err(CliError::usage("`migrate` of files needs no rights: it sends nothing to an API server")),
        Some(Command::Bootstrap(args)) => {
            bootstrap::rights(args, rights);
            Ok(())
        }
        Some(Command::Owner(args)) => owner::rights(args, rights),
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Bootstrap(args)) => return bootstrap::run(args, shell),
        Some(Command::Owner(args)) => return owner::run(args, shell),
        None => {}
    }
    let Some(filename) = &args.filename else { return Err(CliError::usage("no file is given")) };
    let request = ManifestRequest { place: filename, to: args.to.as_deref(), extensions: &args.extensions };
    // Refused before a file is changed.
    if matches!(args.view.output, Format::Name) {
        return Err(no_names());
    }
    let is_structured = !matches!(args.view.output, Format::Table | Format::Wide);
    let work = manifest_files::for_each(&request, shell, |one, migration| {
        let is_edited = !one.migrated.edits.is_empty() && !args.dry_run;
        if let (true, Some(path)) = (is_edited, &one.path) {
            shell.interruption().writes();
            if let Err(error) = manifest_files::write(path, &one.migrated.text) {
                // The lines of earlier files are already printed; structured output is printed now.
                migration.files.retain(|file| file.path != one.name());
                if let Some(text) = structured_without_names(migration, &args.view.output)? {
                    shell.print(&text);
                }
                return Err(error);
            }
        }
        let (edits, others) = one.lines();
        match one.path {
            _ if is_structured => {}
            None if !args.dry_run => shell.print_bytes(one.migrated.text.as_bytes()),
            _ if edits.is_empty() => {}
            _ => shell.print(&edits),
        }
        others.iter().for_each(|line| shell.warn(line));
        Ok(())
    });
    let migration = shell.run(work)?;
    if let Some(text) = structured_without_names(&migration, &args.view.output)? {
        shell.print(&text);
    }
    shell.status(&migration.summary(if args.dry_run { "to change" } else { "changed" }));
    let is_done = migration.by_hand() == 0 && (migration.edits() == 0 || !args.dry_run);
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}
