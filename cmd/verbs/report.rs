//! `report`: the whole installation as one page to share.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use flux_operator::distribution::Distribution;
use flux_operator::format::whole_file::WholeFile;
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::incident::page::{PageOptions, page};

use crate::args::list::no_namespace;
use crate::flows::desired::desired_objects;
use crate::flows::operator::CLIENT_VERSION;
use crate::flows::rights::{EXPLAINS, EXPLAINS_SECRETS, FLUX, LOOKS_AT_OPERATOR, OVERVIEW, Rights, always, when};
use crate::output::page::html_of_cluster;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{FromArgs, Source, instance_type, within};
use crate::session::registries::SourceArgs;
use crate::terminal::output_format::{Format, ViewArgs, no_names, structured, without_names};
use crate::terminal::{CliError, Exit, Shell};

/// Write a self-contained HTML report
///
/// The file shows status, causes, resources by kind, history, events, components, the inventory with its drift, and the
/// tree. It opens from disk, supports light and dark mode, and can be printed. Text that looks like a credential is
/// masked; with `report --from BUNDLE`, the values of Secrets are masked as well.
#[derive(clap::Args, Debug)]
#[command(mut_arg("output", without_names))]
#[command(after_help = "Examples:\n  \
    # A report of an incident\n  \
    flux-operator report incident.html\n\n  \
    # From a bundle, with secrets masked\n  \
    flux-operator report incident.html --from flux-bundle.tar.gz\n\n  \
    # The content of the report, for scripts\n  \
    flux-operator report -o json")]
pub struct Args {
    /// File to write; - is standard output
    #[arg(value_name = "FILE.html")]
    pub file: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub source: SourceArgs,
}

pub fn rights(rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(OVERVIEW);
    rights.everywhere(EXPLAINS);
    rights.everywhere(&[
        always("list", "events namespaces resourcequotas serviceaccounts services"),
        always("list", "customresourcedefinitions networkpolicies"),
        always("list", "clusterroles clusterrolebindings"),
        when("something was applied with a Secret", "list", "secrets"),
        always("list", FLUX),
    ]);
    rights.in_namespace(&namespace, LOOKS_AT_OPERATOR);
    rights.in_namespace(&namespace, &[always("list", "fluxinstances")]);
    rights.in_namespace(&namespace, &[always("list", "pods")]);
    rights.in_namespace(&namespace, EXPLAINS_SECRETS);
}

/// Checks the destination of the page.
///
/// # Errors
/// Usage for missing or contradicting arguments, and for a terminal; failed for a directory, or an existing file
/// without `--overwrite`.
pub fn check_destination(args: &Args) -> Result<(), CliError> {
    if matches!(args.view.output, Format::Name) {
        return Err(no_names());
    }
    let is_page = matches!(args.view.output, Format::Table | Format::Wide);
    let path = match (&args.file, is_page) {
        (None, true) => {
            return Err(CliError::usage("no file is given").hint("name one: flux-operator report incident.html"));
        }
        (Some(_), false) => {
            return Err(CliError::usage("-o prints to standard output, and does not write a file")
                .hint("leave one of them out"));
        }
        (path, _) => path.as_deref(),
    };
    let to_stdout = path == Some(Path::new("-"));
    if to_stdout && std::io::stdout().is_terminal() {
        return Err(CliError::usage("the page would be written to the terminal").hint("name a file"));
    }
    let Some(path) = path.filter(|_| !to_stdout) else { return Ok(()) };
    let refused = |why: &str| CliError::failed(format!("cannot write {}: {why}", path.display()));
    if path.is_dir() {
        return Err(
            refused("it is a directory").hint(format!("name a file in it: {}", path.join("report.html").display()))
        );
    }
    if !args.overwrite && path.exists() {
        return Err(refused("the file exists").hint("choose another name, or add --overwrite"));
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    check_destination(args)?;
    let path = args.file.as_deref();
    let to_stdout = path == Some(Path::new("-"));
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let named = args.source.open_named(shell).await?;
        let namespace = source.instance_namespace();
        let now = source.now();
        let place = match &args.from.from {
            Some(path) => path.display().to_string(),
            // An address means something to every reader, the name of a context only to the person who chose it.
            None => source.address(),
        };
        let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|version| version.name).collect();
        let looked = within(shell, async {
            let found = source
                .view(shell, |snapshot| snapshot.list(&instance_type(), Some(&namespace)).into_iter().next().cloned())
                .await?;
            let desired = match &found.value {
                Some(instance) => desired_objects(instance, named.as_ref(), &args.source).await,
                None => Err("there is no instance".to_owned()),
            };
            let options = PageOptions {
                place: &place,
                namespace: &namespace,
                client: CLIENT_VERSION,
                known: &known,
                now,
                desired: desired.as_deref().map_err(String::as_str),
            };
            let viewed = source.view(shell, |snapshot| page(snapshot, options)).await?;
            Ok::<_, CliError>((viewed, found.value.is_none()))
        });
        let (viewed, is_empty) = looked.await??;
        let viewed = viewed.unless_blind(|page| page.causes.counts.total == 0)?;
        let verdict = viewed.value.causes.verdict;
        if verdict == HealthVerdict::NotInstalled {
            return Err(source.not_installed());
        }
        if is_empty && let Some(error) = no_namespace(&source, shell.global().namespace()).await {
            return Err(error);
        }
        let destination = source.destination();
        let page = viewed.with_warnings(shell).redacted().in_words(|step| destination.command(step));
        if let (Some(collected), Some(_)) = (shell.collected(), path) {
            collected.keep(page);
            return Ok(Exit::Done);
        }
        match (structured(&page, &args.view.output)?, path) {
            (Some(text), _) => shell.print(&text),
            (None, Some(path)) if !to_stdout => {
                write(path, &html_of_cluster(&page), args.overwrite)?;
                shell.print(&format!("{}\n", path.display()));
            }
            (None, _) => shell.print_bytes(html_of_cluster(&page).as_bytes()),
        }
        Ok(exit_of(verdict, VerdictUse::List))
    })
}

/// Writes the file atomically.
pub fn write(path: &Path, text: &str, overwrites: bool) -> Result<(), CliError> {
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot write {}", path.display())).caused_by(error)
    };
    let mut whole = WholeFile::beside(path).map_err(|e| failed(&e))?;
    whole.file().write_all(text.as_bytes()).map_err(|e| failed(&e))?;
    if overwrites { whole.replace() } else { whole.put_if_absent() }.map_err(|e| failed(&e))
}
