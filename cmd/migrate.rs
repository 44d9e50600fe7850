//! `migrate`: brings what a person keeps in files to the API versions of a Flux version, and an installation to an instance.

use clap::Subcommand;

use crate::common::manifest_files;
use crate::shell::output::{ViewArgs, structured_without_names, without_names};
use crate::shell::{CliError, Exit, Shell};

mod bootstrap;
pub mod owner;

#[derive(Subcommand, Debug)]
pub enum Command {
    Bootstrap(bootstrap::Args),
    Owner(owner::Args),
}

/// Rewrite deprecated API versions of Flux in files
///
/// The files are edited in place: comments and layout stay. A line is printed for
/// every change. What the new version has no field for is named and left alone.
/// Ends with 1 when a dry run would change something, or when a field needs a hand.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("output", without_names),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    # What would change, for a pipeline\n  \
    flux-operator migrate -f ./clusters --dry-run\n\n  \
    # To what Flux 2.8 stores\n  \
    flux-operator migrate -f ./apps/web.yaml --to 2.8 --dry-run\n\n  \
    # From a pipe: the new text on stdout\n  \
    flux-operator migrate -f - < web.yaml"
)]
pub struct Args {
    /// Folder or file to rewrite; - reads standard input and prints the text
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "DIR|FILE", visible_alias = "path", required = true)]
    pub filename: Option<String>,
    /// Flux version whose API versions are wanted [default: the newest]
    #[arg(long, value_name = "VERSION")]
    pub to: Option<String>,
    /// Only say what would be changed
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    match &args.command {
        Some(Command::Bootstrap(args)) => return bootstrap::run(args, shell),
        Some(Command::Owner(args)) => return owner::run(args, shell),
        None => {}
    }
    let Some(filename) = &args.filename else { return Err(CliError::usage("no file is given")) };
    let (looked_at, migration) = manifest_files::migration(filename, args.to.as_deref(), shell)?;
    let (edits, lost) = manifest_files::lines(&migration);
    let piped = looked_at.iter().find(|one| one.path.is_none()).filter(|_| !args.dry_run);
    if !args.dry_run {
        for one in looked_at.iter().filter(|one| !one.migrated.edits.is_empty()) {
            if let Some(path) = &one.path {
                shell.interruption().writes();
                manifest_files::write(path, &one.migrated.text)?;
            }
        }
    }
    match (structured_without_names(&migration, &args.view.output)?, piped) {
        (Some(text), _) => shell.print(&text)?,
        (None, Some(one)) => shell.print_bytes(one.migrated.text.as_bytes())?,
        (None, None) => shell.print(&edits)?,
    }
    for line in &lost {
        shell.warn(line);
    }
    let done = if args.dry_run { "to change" } else { "changed" };
    let by_hand = if lost.is_empty() { String::new() } else { format!(", {} to change by hand", lost.len()) };
    shell.status(&format!("Flux {}: {} {done}{by_hand}", migration.flux, migration.edits()));
    let is_done = lost.is_empty() && (migration.edits() == 0 || !args.dry_run);
    Ok(if is_done { Exit::Done } else { Exit::Failed })
}
