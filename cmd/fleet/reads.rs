//! Commands that run for many clusters, and the form in which each prints.

use std::path::PathBuf;

use super::views::FleetView;
use crate::args::ObjectFormat;
use crate::cli::Command;
use crate::terminal::output_format::{Format, OutputArgs};
use crate::terminal::{CliError, is_stdin};
use crate::verbs::logs::LogFormat;
use crate::verbs::plan::PlanOutput;
use crate::verbs::{check, export, get, report, wait, why};
use flux_operator::api::object_words::ObjectWords;

/// How the answers of clusters are joined for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetShape {
    /// The output of each command: rows below each other, and lines that begin with the context.
    Printed,
    View(FleetView),
    /// A page of all clusters.
    Page,
    /// Equal plans, combined.
    Plans,
}

/// A command that runs for many clusters.
#[derive(Clone, Debug)]
pub struct FleetRead {
    pub shape: FleetShape,
    /// The requested format.
    pub format: Format,
    /// Whether a table has a heading.
    pub headers: bool,
    /// File of the page, and whether an existing file may be overwritten.
    pub file: Option<PathBuf>,
    pub overwrite: bool,
    /// Folder of the plans.
    pub folder: Option<PathBuf>,
}

/// Where a command keeps its format.
enum FormatSlot<'a> {
    Plain(&'a mut Format),
    Object(&'a mut ObjectFormat),
    Log(&'a mut LogFormat),
    Plan(&'a mut PlanOutput),
    /// The command has only one format.
    Fixed,
}

/// The parts of a command line that run for one cluster only.
const SINGLE_CLUSTER_ARGUMENTS: [(&str, &str); 3] = [
    ("from", "--from reads one dump"),
    ("watch", "--watch follows one cluster"),
    ("follow", "--follow follows one cluster"),
];

/// Flags that would send every command to one server, or one credential to every server.
const OF_ONE_SERVER: [(&str, &str); 4] =
    [("context", "--context"), ("server", "--server"), ("kube_server", "--kube-server"), ("token", "--token")];

impl FleetRead {
    /// Reads how a command runs for many clusters. `words` are the words of the command, `given` the flags of its line.
    ///
    /// # Errors
    /// Usage: the command writes, does not ask a cluster, or has a flag that is about one cluster.
    pub fn of(command: &mut Command, words: &str, given: &[String]) -> Result<Self, CliError> {
        let is_given = |id: &str| given.iter().any(|one| one == id);
        if let Some((_, flag)) = OF_ONE_SERVER.iter().find(|(id, _)| is_given(id)) {
            return Err(CliError::usage(format!("--contexts and {flag} cannot be used together"))
                .hint(format!("leave {flag} out: each context has its own server and user")));
        }
        if let Some((_, problem)) = SINGLE_CLUSTER_ARGUMENTS.iter().find(|(id, _)| is_given(id)) {
            return Err(
                CliError::usage(format!("{problem}, and --contexts asks several")).hint("leave one of them out")
            );
        }
        let shape = shape(command);
        let (mut file, mut overwrite, mut folder) = (None, false, None);
        match command {
            Command::Report(args) => {
                // The file is checked before the first request, so that an error does not come after all clusters have
                // answered.
                report::check_destination(args)?;
                (file, overwrite) = (args.file.clone(), args.overwrite);
            }
            Command::Plan(args) => {
                folder.clone_from(&args.out);
                if args.filename.as_deref().is_some_and(is_stdin) {
                    return Err(CliError::usage("standard input can be read once, and --contexts plans several times")
                        .hint("give the manifest as a file: -f FILE"));
                }
            }
            _ => {}
        }
        let headers = list_output(command).is_none_or(|output| !output.no_headers);
        let Some(slot) = slot(command) else { return Err(refusal(command, words)) };
        let format = match slot {
            FormatSlot::Plain(format) => format.clone(),
            FormatSlot::Object(ObjectFormat::Json) | FormatSlot::Log(LogFormat::Json) => Format::Json,
            FormatSlot::Object(ObjectFormat::Yaml) | FormatSlot::Plan(PlanOutput::Yaml) => Format::Yaml,
            FormatSlot::Plan(PlanOutput::Json) => Format::Json,
            FormatSlot::Plan(PlanOutput::Wide) => Format::Wide,
            FormatSlot::Plan(PlanOutput::Table) | FormatSlot::Log(LogFormat::Text) | FormatSlot::Fixed => Format::Table,
        };
        Ok(FleetRead { shape, format, headers, file, overwrite, folder })
    }

    /// Reports whether a program reads the answer.
    pub fn is_structured(&self) -> bool {
        matches!(self.format, Format::Json | Format::JsonLines | Format::Yaml | Format::JsonPath(_))
    }

    /// Reports whether each cluster's command prints its plan as a value.
    pub fn has_plans(&self) -> bool {
        self.shape == FleetShape::Plans
    }

    pub fn is_wide(&self) -> bool {
        matches!(self.format, Format::Wide)
    }

    /// Adapts a command to run for one of several clusters.
    pub fn prepare(&self, command: &mut Command, context: &str) {
        if let (Command::Plan(args), Some(folder)) = (&mut *command, &self.folder) {
            args.out = Some(folder.join(file_name(context)));
        }
        let is_view = matches!(self.shape, FleetShape::View(_) | FleetShape::Plans);
        let is_drawn = is_view && matches!(self.format, Format::Table | Format::Wide);
        // Views and structured output are built from the JSON that each command prints.
        if !(self.is_structured() || is_drawn) {
            return;
        }
        match slot(command) {
            Some(FormatSlot::Plain(format)) => *format = Format::Json,
            Some(FormatSlot::Object(format)) => *format = ObjectFormat::Json,
            Some(FormatSlot::Log(format)) => *format = LogFormat::Json,
            Some(FormatSlot::Plan(format)) => *format = PlanOutput::Json,
            Some(FormatSlot::Fixed) | None => {}
        }
    }
}

/// Returns the name of the plan file of a context, in which slashes and colons are replaced.
pub fn file_name(context: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@') { c } else { '_' };
    let name: String = context.chars().map(plain).collect();
    // A leading dot would hide the file.
    format!("{}.plan", name.trim_start_matches('.'))
}

fn shape(command: &Command) -> FleetShape {
    match command {
        Command::Status(_) => FleetShape::View(FleetView::Status),
        Command::Version(args) if !args.client => FleetShape::View(FleetView::Versions),
        Command::Check(check::Args { short: false, .. }) => FleetShape::View(FleetView::Checks),
        Command::Why(why::Args { resource, .. }) => match ObjectWords::read(resource) {
            Ok(ObjectWords::Kinds(_)) => FleetShape::View(FleetView::Causes),
            _ => FleetShape::Printed,
        },
        Command::Report(_) => FleetShape::Page,
        Command::Plan(args) if args.is_of_instance() && !args.diff => FleetShape::Plans,
        _ => FleetShape::Printed,
    }
}

/// Returns the output flags of a command that prints a list.
fn list_output(command: &mut Command) -> Option<&mut OutputArgs> {
    Some(match command {
        Command::Get(args) => match &mut args.command {
            Some(get::Command::Components(args)) => &mut args.output,
            Some(get::Command::History(args)) => &mut args.output,
            Some(get::Command::Inventory(args)) => &mut args.output,
            Some(get::Command::Inputs(args)) => &mut args.output,
            Some(get::Command::Suspended(args)) => &mut args.output,
            None => &mut args.output,
        },
        Command::Events(args) => &mut args.output,
        Command::Stats(args) => &mut args.output,
        Command::WhatChanged(args) => &mut args.output,
        _ => return None,
    })
}

/// Returns the place of a command's format; `None` for a command that cannot run for many clusters.
fn slot(command: &mut Command) -> Option<FormatSlot<'_>> {
    let plain = match command {
        Command::Get(_) | Command::Events(_) | Command::Stats(_) | Command::WhatChanged(_) => {
            &mut list_output(command)?.output
        }
        Command::Tree(args) => &mut args.view.output,
        Command::Why(args) => &mut args.view.output,
        Command::Trace(args) => &mut args.view.output,
        Command::Debug(args) => &mut args.view.output,
        Command::Impact(args) => &mut args.view.output,
        Command::Report(args) => &mut args.view.output,
        Command::Status(args) => &mut args.view.output,
        Command::Check(args) if args.filename.is_none() => &mut args.view.output,
        Command::Version(args) => &mut args.view.output,
        Command::Wait(wait::Args { command: Some(wait::Command::Revision(args)), .. }) => &mut args.view.output,
        Command::Wait(_) => return Some(FormatSlot::Fixed),
        Command::Logs(args) => return Some(FormatSlot::Log(&mut args.output)),
        Command::Export(export) => {
            let format = match &mut export.command {
                Some(export::Command::Report(args)) => &mut args.format.output,
                None => &mut export.format.output,
            };
            return Some(FormatSlot::Object(format));
        }
        Command::Plan(args) => return Some(FormatSlot::Plan(&mut args.output)),
        _ => return None,
    };
    Some(FormatSlot::Plain(plain))
}

/// Returns the error for a command that cannot run for many clusters, with the alternative.
fn refusal(command: &Command, words: &str) -> CliError {
    let verb = words.split(' ').next().unwrap_or_default();
    let one = "run it for one cluster at a time, with --context";
    let (why, hint) = match command {
        Command::Apply(_) | Command::Install(_) | Command::Rollback(_) | Command::Create(_) => (
            "writes, and --contexts is for commands that read",
            "plan each cluster with `flux-operator plan -f FILE --contexts PATTERN --out FOLDER`, then carry the plans out one \
             by one with `flux-operator apply --plan FOLDER/CONTEXT.plan --context CONTEXT`",
        ),
        Command::Bundle(_) => ("writes an archive of one cluster", one),
        Command::Rbac(_) => ("prints the rights for one cluster", one),
        Command::Check(_) => ("reads files instead of a cluster with -f", "leave --contexts out"),
        Command::Build(_)
        | Command::Explain(_)
        | Command::Distribution(_)
        | Command::Artifact(_)
        | Command::Completion(_)
        | Command::Config(_) => ("does not ask a cluster", "leave --contexts out"),
        Command::Controller(_) => ("serves one cluster", "leave --contexts out"),
        _ => (
            "writes, and --contexts is for commands that read",
            "run it for one cluster at a time, with --context; changes of instances can be planned for many with \
             `flux-operator plan -f FILE --contexts PATTERN --out FOLDER`, and each plan carried out with \
             `flux-operator apply --plan FOLDER/CONTEXT.plan --context CONTEXT`",
        ),
    };
    CliError::usage(format!("{verb} {why}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_a_file_system_may_refuse_are_replaced_in_plan_file_names() {
        assert_eq!(file_name("prod-eu"), "prod-eu.plan");
        assert_eq!(file_name("arn:aws:eks:eu-1:1:cluster/a"), "arn_aws_eks_eu-1_1_cluster_a.plan");
        assert_eq!(file_name("../x"), "_x.plan");
    }
}
