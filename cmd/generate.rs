//! `generate`, for developers and not part of the command tree: writes committed files that are derived from the code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use flux_operator::api::crd;
use flux_operator::format::{json, yaml};

use crate::terminal::{CliError, Config, Exit, GlobalArgs, Shell};
use crate::verbs::completion::CompletionShell;

mod deploy;
mod guide;
mod man;
mod schemas;

/// Write files that are derived from the code
#[derive(Parser)]
#[command(name = "flux-operator generate")]
struct Generate {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write one man page per command into a folder
    Man { directory: PathBuf },
    /// Write the completion scripts into a folder
    Completions { directory: PathBuf },
    /// Write the custom resource definitions into a folder
    Crds { directory: PathBuf },
    /// Write the custom resource definitions that the program holds into a folder
    Definitions { directory: PathBuf },
    /// Write the operator's manifests and its chart into a folder
    Deploy { directory: PathBuf },
    /// Write the JSON schemas of the views into a folder
    Schemas { directory: PathBuf },
    /// Write the pages of the guide that are made from the code into its folder
    Guide { directory: PathBuf },
}

/// Runs a line whose second word is `generate`.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let generate = Generate::parse_from(arguments.iter().skip(1));
    let shell = Shell::new(&generate.global, Config::default(), false, "generate");
    match generate.what.write(&shell) {
        Ok(exit) => exit.into(),
        Err(error) => shell.report(&error).into(),
    }
}

impl What {
    fn write(&self, shell: &Shell) -> Result<Exit, CliError> {
        match self {
            What::Schemas { directory } => write_all(directory, schemas::all()?, shell),
            What::Guide { directory } => write_all(directory, guide::all()?, shell),
            What::Deploy { directory } => write_all(directory, deploy::all()?, shell),
            What::Man { directory } => write_all(directory, man::pages()?, shell),
            What::Completions { directory } => {
                let scripts = CompletionShell::value_variants()
                    .iter()
                    .map(|s| Ok((s.file_name().to_owned(), s.script()?)))
                    .collect::<Result<_, CliError>>()?;
                write_all(directory, scripts, shell)
            }
            What::Crds { directory } => {
                let head = "# Generated from the types by `flux-operator generate crds`; do not edit.\n";
                let definitions = crd::all().into_iter().map(|definition| {
                    let name = definition["spec"]["names"]["plural"].as_str().unwrap_or_default().to_owned();
                    let text = yaml::to_string(&definition).map_err(|e| unwritten(&name, &e))?;
                    Ok((format!("{name}.yaml"), format!("{head}{text}").into_bytes()))
                });
                write_all(directory, definitions.collect::<Result<_, CliError>>()?, shell)
            }
            What::Definitions { directory } => {
                let definitions = crd::derived::all().into_iter().map(|(file, definition)| {
                    let text = json::to_string(&definition).map_err(|e| unwritten(file, &e))?;
                    Ok((file.to_owned(), text.into_bytes()))
                });
                write_all(directory, definitions.collect::<Result<_, CliError>>()?, shell)
            }
        }
    }
}

fn unwritten(name: &str, error: &(dyn std::error::Error + 'static)) -> CliError {
    CliError::failed(format!("cannot write the definition of {name}")).caused_by(error)
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
