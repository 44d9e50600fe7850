//! `check`: checks whether the cluster is fit for Flux, and Flux is healthy in it.

use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use flux_operator::inspect::diagnose::checks;
use flux_operator::inspect::diagnose::checks::{Check, CheckOptions, CheckReport, Verdict, check};
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::views::upgrade::{ManifestIndex, files_for};

use crate::args::list::no_namespace;
use crate::flows::manifest_files;
use crate::flows::manifest_files::ManifestRequest;
use crate::flows::operator::CLIENT_VERSION;
use crate::flows::rights::{EXPLAINS, FLUX, LOOKS_AT_OPERATOR, Right, Rights, always, when};
use crate::output::affected::names_by_reason;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{FromArgs, Source, instance_type, within};
use crate::session::registries::SourceArgs;
use crate::terminal::lines::Lines;
use crate::terminal::output_format::{ViewArgs, structured_without_names, without_names};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::format::harmless::on_one_line;
use flux_operator::k8s::rbac::Permission;

/// Check the cluster and the installation
///
/// Exits with 0 when no check failed (warnings are allowed), 1 when a check
/// failed, 5 when you are not allowed to read what decides the result, and 4
/// when Flux is not installed. With --distribution, also checks that the
/// instance can be built from it.
#[derive(clap::Args, Debug)]
#[command(mut_arg("output", without_names))]
#[command(after_help = "Examples:\n  \
    # Before an installation: API versions and permissions\n  \
    flux-operator check --pre\n\n  \
    # Can the instance be built from the next artifact?\n  \
    flux-operator check \\\n    \
    --distribution oci://registry.example.com/flux:next\n\n  \
    # Everything\n  \
    flux-operator check\n\n  \
    # API versions of manifests in Git\n  \
    flux-operator check -f ./clusters\n\n  \
    # What the next minor changes: for the cluster, and for manifests in Git\n  \
    flux-operator check --to 2.9\n  \
    flux-operator check -f ./repository --to 2.9\n\n  \
    # One line for a chat\n  \
    flux-operator check --short")]
pub struct Args {
    /// Check only the prerequisites of an installation
    #[arg(long)]
    pub pre: bool,
    /// Print one line with the totals and the problems
    #[arg(long)]
    pub short: bool,
    /// Check only the Flux API versions of manifests in a folder or file, as
    /// migrate would change them
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "DIR|FILE", conflicts_with_all = ["pre", "short", "from"])]
    pub filename: Option<PathBuf>,
    /// Extensions of manifests in a folder [default: .yaml, .yml, .json]
    #[arg(short, long, value_name = "EXTENSION", value_delimiter = ',', requires = "filename")]
    pub extensions: Vec<String>,
    /// Also check what this version of Flux changes: removed flags and feature gates of controllers, stricter
    /// substitution, the required Kubernetes version
    #[arg(long, value_name = "VERSION", conflicts_with = "pre")]
    pub to: Option<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Rights to check an installation.
const CHECKS: &[Right] = &[
    always("list", "customresourcedefinitions deployments"),
    when("objects at old versions are looked for", "list", FLUX),
    when("a controller is not ready", "list", "pods events"),
];

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    if args.pre {
        // The check asks whether each right exists, and reports a missing one.
        rights.explained(checks::RIGHTS.iter().map(|(verb, group, resource, namespaced)| {
            let right = Permission {
                namespace: namespaced.then(|| namespace.clone()),
                group: (*group).to_owned(),
                resource: (*resource).to_owned(),
                verb: (*verb).to_owned(),
                name: None,
            };
            (right, "the check only verifies that the user has the right")
        }));
        return;
    }
    rights.everywhere(CHECKS);
    rights.everywhere(EXPLAINS);
    rights.in_namespace(&namespace, LOOKS_AT_OPERATOR);
    rights.in_namespace(&namespace, &[always("list", "fluxinstances")]);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if let Some(place) = &args.filename {
        return check_files(place, args, shell);
    }
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let namespace = source.instance_namespace();
        let distribution = args.source.open_named(shell).await?;
        let target = args.to.as_deref().map(manifest_files::target).transpose()?;
        let options = CheckOptions {
            pre: args.pre,
            namespace: &namespace,
            client: CLIENT_VERSION,
            now: source.now(),
            to: target.as_ref(),
            distribution: distribution.as_ref(),
        };
        let view = source.view(shell, |snapshot| {
            let is_empty = !args.pre && snapshot.list(&instance_type(), Some(&namespace)).is_empty();
            (check(snapshot, options), is_empty)
        });
        let (report, is_empty) = within(shell, view).await??.value;
        let destination = source.destination();
        let report = report.in_words(|step| destination.sentence(step));
        let text = match structured_without_names(&report, &args.view.output)? {
            Some(text) => text,
            None if args.short => short(&report),
            None => text(&report, shell),
        };
        shell.print_in_colour(&text);
        if report.health == Some(HealthVerdict::NotInstalled) {
            let install = source.install_command();
            shell.status(&format!("{}; install it with `{install}`", source.not_installed_text()));
        } else if is_empty && let Some(error) = no_namespace(&source, shell.global().namespace()).await {
            // A misspelt namespace must not pass.
            shell.hint(error.message());
            return Ok(Exit::Failed);
        }
        let judged = report.health.map(|health| exit_of(health, VerdictUse::Check)).unwrap_or(Exit::Done);
        Ok(if judged == Exit::Done && !report.passed { Exit::Failed } else { judged })
    })
}

/// Checks that every manifest uses the API version that the newest Flux stores.
fn check_files(place: &Path, args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let target = args.to.as_deref().map(manifest_files::target).transpose()?;
    let mut index = ManifestIndex::default();
    let (mut edits, mut others) = (String::new(), vec![]);
    let request = ManifestRequest { place, to: args.to.as_deref(), extensions: &args.extensions };
    let work = manifest_files::for_each(&request, shell, |one, _| {
        let (to_change, by_hand) = one.lines();
        edits.push_str(&to_change);
        others.extend(by_hand);
        if target.is_some() {
            index.add(&one.path.unwrap_or_else(|| PathBuf::from("-")), &one.text);
        }
        Ok(())
    });
    let mut migration = shell.run(work)?;
    shell.run(manifest_files::read_beside(&mut index, shell))?;
    migration.changes = target.map(|target| files_for(&target, &index)).unwrap_or_default();
    others.extend(manifest_files::change_lines(&migration));
    match structured_without_names(&migration, &args.view.output)? {
        Some(text) => shell.print(&text),
        None => shell.print(&others.iter().fold(edits, |text, line| text + line + "\n")),
    }
    if migration.edits() > 0 {
        shell.hint(&format!(
            "rewrite them with `flux-operator migrate -f {}{}`",
            place.display(),
            args.to.as_ref().map(|to| format!(" --to {to}")).unwrap_or_default()
        ));
    }
    shell.status(&migration.verdict());
    let breaks = migration.changes.iter().any(|change| change.breaks);
    Ok(if migration.edits() + migration.by_hand() > 0 || breaks { Exit::Failed } else { Exit::Done })
}

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✔",
        Verdict::Warn => "‼",
        Verdict::Fail => "✗",
        Verdict::Skip => "•",
    }
}

fn color(verdict: Verdict) -> Option<AnsiColor> {
    match verdict {
        Verdict::Pass => Some(AnsiColor::Green),
        Verdict::Warn => Some(AnsiColor::Yellow),
        Verdict::Fail => Some(AnsiColor::Red),
        Verdict::Skip => None,
    }
}

fn text(report: &CheckReport, shell: &Shell) -> String {
    let mut lines = Lines::new(shell);
    for group in report.groups.iter().filter(|g| !g.checks.is_empty()) {
        lines.whole(&group.name, None);
        for Check { name, verdict, message, hint } in &group.checks {
            lines.marked(&format!("  {} ", mark(*verdict)), &format!("{name}: {message}"), color(*verdict));
            if let Some(hint) = hint {
                lines.hanging("      hint: ", hint.words(), None);
            }
        }
        lines.whole("", None);
    }
    let ending = if report.passed { None } else { Some(AnsiColor::Red) };
    lines.hanging("", &sums(report), ending);
    lines.text()
}

fn sums(report: &CheckReport) -> String {
    let count = |count: usize, word: &str| format!("{count} {word}");
    let mut parts = vec![count(report.passes, "passed")];
    if report.warnings > 0 {
        parts.push(count(report.warnings, if report.warnings == 1 { "warning" } else { "warnings" }));
    }
    if report.failures > 0 {
        parts.push(count(report.failures, "failed"));
    }
    if report.skipped > 0 {
        parts.push(count(report.skipped, "skipped"));
    }
    parts.join(", ")
}

fn short(report: &CheckReport) -> String {
    let state = match report.health {
        Some(HealthVerdict::Unknown) if report.passed => "unknown",
        Some(HealthVerdict::NotInstalled) => "not installed",
        _ if report.passed => "ok",
        _ => "not ok",
    };
    let problems = report.problems();
    let reasons =
        problems.iter().map(|(_, check)| (check.name.as_str(), (mark(check.verdict), check.message.as_str())));
    let problems: Vec<_> = names_by_reason(reasons)
        .into_iter()
        .map(|(names, (mark, message))| format!("{mark} {names}: {message}"))
        .collect();
    let problems = if problems.is_empty() { String::new() } else { format!(": {}", problems.join("; ")) };
    format!("{}\n", on_one_line(&format!("flux {state}, {}{problems}", sums(report))))
}
