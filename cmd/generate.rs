//! `generate` (hidden): writes what is committed but derived from the code.

use std::path::{Path, PathBuf};

use clap::{CommandFactory, Subcommand, ValueEnum};
use flux_operator::api::crd;
use flux_operator::format::yaml;

use crate::cli::Cli;
use crate::completion::CompletionShell;
use crate::shell::{CliError, Exit, Shell};

mod deploy;
mod schemas;

/// Write files that are derived from the code
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write one man page per command into a folder
    Man { directory: PathBuf },
    /// Write the completion scripts into a folder
    Completions { directory: PathBuf },
    /// Write the custom resource definitions into a folder
    Crds { directory: PathBuf },
    /// Write the operator's manifests and its chart into a folder
    Deploy { directory: PathBuf },
    /// Write the JSON schemas of the views into a folder
    Schemas { directory: PathBuf },
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::Schemas { directory } => write_all(directory, schemas::all()?, shell),
        Command::Deploy { directory } => write_all(directory, deploy::all()?, shell),
        Command::Man { directory } => write_all(directory, man_pages()?, shell),
        Command::Completions { directory } => {
            let scripts = CompletionShell::value_variants()
                .iter()
                .map(|s| Ok((s.file_name().to_owned(), s.script()?)))
                .collect::<Result<_, CliError>>()?;
            write_all(directory, scripts, shell)
        }
        Command::Crds { directory } => {
            let head = "# Generated from the types by `flux-operator generate crds`; do not edit.\n";
            let files = crd::all().into_iter().map(|definition| {
                let name = definition["spec"]["names"]["plural"].as_str().unwrap_or_default().to_owned();
                let text = yaml::to_string(&definition)
                    .map_err(|e| CliError::failed(format!("cannot write the definition of {name}")).caused_by(&e))?;
                Ok((format!("{name}.yaml"), format!("{head}{text}").into_bytes()))
            });
            write_all(directory, files.collect::<Result<_, CliError>>()?, shell)
        }
    }
}

/// One page per visible command, named `flux-operator-get-instance.1` like git's.
fn man_pages() -> Result<Vec<(String, Vec<u8>)>, CliError> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    render(&root, "flux-operator", &mut pages)?;
    Ok(pages)
}

fn render(command: &clap::Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CliError> {
    let mut page = Vec::new();
    // What is left out of a short help has its text in a page.
    let command = &command.clone().mut_args(|argument| argument.hide_short_help(false));
    // The date would change every build; the page belongs to a version, not to a day.
    clap_mangen::Man::new(command.clone().display_name(name))
        .title(name.to_uppercase())
        .date("")
        .render(&mut page)
        .map_err(|e| CliError::failed(format!("cannot render the man page of {name}")).caused_by(&e))?;
    // The library's word for what stands after the options.
    let heading = if name == "flux-operator" { ".SH NOTES" } else { ".SH EXAMPLES" };
    let text = String::from_utf8_lossy(&page).replace(".SH EXTRA", heading);
    pages.push((format!("{name}.1"), text.into_bytes()));
    for sub in command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help") {
        render(sub, &format!("{name}-{}", sub.get_name()), pages)?;
    }
    Ok(())
}

fn write_all(directory: &Path, files: Vec<(String, Vec<u8>)>, shell: &Shell) -> Result<Exit, CliError> {
    let failed =
        |what: &Path, e: std::io::Error| CliError::failed(format!("cannot write {}", what.display())).caused_by(&e);
    std::fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
    let count = files.len();
    for (name, content) in files {
        let path = directory.join(name);
        let folder = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
        std::fs::write(&path, content).map_err(|e| failed(&path, e))?;
    }
    shell.status(&format!("wrote {count} files to {}", directory.display()));
    Ok(Exit::Done)
}
