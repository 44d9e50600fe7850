//! `logs`: the logs of Flux's controllers as one.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt::Write;

use anstyle::{AnsiColor, Reset};
use clap::ValueEnum;
use flux_operator::api::Component;
use flux_operator::api::kinds::{self, DEPLOYMENT, FluxKind};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::cluster::ClusterError;
use flux_operator::inspect::incident::log_stream::{Entry, LogSelection, follow, of_dump, read, sources_now};
use flux_operator::inspect::views::logs::{LogFilter, LogLine, Severity};
use flux_operator::k8s::ObjectId;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::PointInTime;
use crate::args::objects::kind;
use crate::flows::rights::{Rights, always, when};
use crate::output::hints::Hint;
use crate::output::next_step::word as quoted;
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::read_source::{FromArgs, MissingNames, Source, within};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::format::harmless::on_one_line;

/// Show the merged logs of Flux's controllers in chronological order
///
/// Shows the logs of all controllers in the cluster, or only the lines about one object. With --follow, the logs of a
/// restarted or replaced pod continue in the same stream.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The last hour of all controllers\n  \
    flux-operator logs --since 1h\n\n  \
    # One object\n  \
    flux-operator -n apps logs kustomization/podinfo\n\n  \
    # Errors of one controller as they happen\n  \
    flux-operator logs --controller helm --level error --follow\n\n  \
    # The same controller as a Deployment, as in kubectl\n  \
    flux-operator logs deploy/helm-controller\n\n  \
    # The controllers' original JSON, one object per line\n  \
    flux-operator -n apps logs hr podinfo --tail 100 -o json")]
pub struct Args {
    /// Flux objects as KIND/NAME… or KIND NAME… [default: all lines]
    #[arg(value_name = "RESOURCE", add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// Only lines since this time: 10m, 2h, 3d, or a UTC time like 18:00, 2026-11-22 or 2026-11-22T08:00:00Z
    #[arg(long, value_name = "TIME")]
    pub since: Option<PointInTime>,
    /// Only this number of lines from the end
    #[arg(long, value_name = "LINES")]
    pub tail: Option<usize>,
    /// Minimum severity of lines
    #[arg(long, value_enum, value_name = "LEVEL", ignore_case = true)]
    pub level: Option<LineLevel>,
    /// Only lines of this controller, with or without -controller, repeatable
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub controller: Vec<String>,
    /// Continue with new lines until Ctrl-C
    #[arg(short, long)]
    pub follow: bool,
    /// Readable lines, or the controllers' original JSON
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub output: LogFormat,
    #[command(flatten)]
    pub from: FromArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineLevel {
    Error,
    Info,
    Debug,
    Trace,
}

impl LineLevel {
    fn severity(self) -> Severity {
        match self {
            LineLevel::Error => Severity::Error,
            LineLevel::Info => Severity::Info,
            LineLevel::Debug => Severity::Debug,
            LineLevel::Trace => Severity::Trace,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Bytes that are printed together.
const BLOCK: usize = 64 * 1024;

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    rights.everywhere(&[always("list", "deployments")]);
    rights.in_namespace(
        &rights.flux_namespace(),
        &[
            always("list", "pods"),
            always("get", "pods/log"),
            when("no Deployment has the label of the operator", "get", "deployments"),
        ],
    );
    if args.follow {
        rights.in_namespace(&rights.flux_namespace(), &[always("watch", "pods")]);
    }
    let (resource, _) = split_controllers(args);
    if resource.is_empty() {
        return Ok(());
    }
    ObjectWords::objects(&resource)?
        .into_iter()
        .try_for_each(|(word, name)| rights.reads_if("no line is about it", word, &[name]))
}

/// Splits the words of a line into objects and controllers. As in kubectl, `source-controller` and
/// `deploy/source-controller` mean the lines of that controller.
fn split_controllers(args: &Args) -> (Vec<String>, Vec<String>) {
    let is_deployment = |kind: &str| kinds::find_resource_type(kind).is_some_and(|found| found == DEPLOYMENT);
    let name_of = |word: &String| {
        let name = match word.split_once('/') {
            Some((kind, name)) => is_deployment(kind).then(|| name.to_owned())?,
            None => word.clone(),
        };
        Component::ALL.iter().any(|one| one.as_str() == name).then_some(name)
    };
    // After a kind on its own, the words are names of its objects, even if they look like a controller.
    if args.resource.first().is_some_and(|first| !first.contains('/') && name_of(first).is_none()) {
        return (args.resource.clone(), args.controller.clone());
    }
    let (controllers, resource): (Vec<_>, Vec<_>) =
        args.resource.iter().cloned().partition(|word| name_of(word).is_some());
    let named = controllers.iter().filter_map(name_of);
    (resource, args.controller.iter().cloned().chain(named).collect())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (resource, controllers) = split_controllers(args);
    let named = match resource.as_slice() {
        [] => vec![],
        words => ObjectWords::objects(words)?,
    };
    let of_flux = |(word, name)| {
        let arguments = format!("logs {}", quoted(&format!("{word}/{name}")));
        let hint = Hint::Kubectl { before: "for the log of a pod use ", arguments, after: "" };
        let is_other = kinds::find_resource_type(word).is_some();
        Ok((kind(word).map_err(|error| if is_other { error.hint(hint) } else { error })?, name))
    };
    let named = named.into_iter().map(of_flux).collect::<Result<Vec<_>, CliError>>()?;
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let object = |(kind, name): &(&FluxKind, &str)| {
            ObjectId::new(kind.group, kind.kind, source.namespace_of(&kind.resource_type()).as_deref(), name)
        };
        let objects: Vec<ObjectId> = named.iter().map(object).collect();
        let lines_about = |object: &ObjectId| LogFilter { objects: vec![object.clone()], least: None };
        let unseen =
            named.iter().zip(&objects).map(|((kind, name), object)| (*kind, *name, lines_about(object))).collect();
        let since = args.since.and_then(|since| since.before(source.now()));
        let filter = LogFilter { objects, least: args.level.map(LineLevel::severity) };
        let wanted = LogSelection { filter, since, tail: args.tail };
        let mut printer = LogPrinter { shell, format: args.output, block: String::new(), lines: 0, unseen };
        match &source {
            Source::Dump(..) if args.follow => Err(CliError::usage("--follow with --from: a dump does not change")),
            Source::Dump(snapshot, _) => {
                for entry in of_dump(snapshot, &controllers, &wanted) {
                    printer.add(&entry);
                }
                printer.flush();
                if printer.lines == 0 && source.is_not_installed(shell).await {
                    return Ok(source.report_not_installed(shell));
                }
                missing(shell, &source, &printer.unseen, named.len()).await.report(shell, Exit::Done)
            }
            Source::Cluster(session) => {
                print_cluster_logs(args, &source, session, &controllers, &wanted, named.len(), printer).await
            }
        }
    })
}

/// Prints the logs of a cluster, and follows them with --follow. `names` counts the objects of the line.
async fn print_cluster_logs(
    args: &Args,
    source: &Source<'_>,
    session: &Session<'_>,
    controllers: &[String],
    wanted: &LogSelection,
    names: usize,
    mut printer: LogPrinter<'_>,
) -> Result<Exit, CliError> {
    let shell = session.shell;
    // Taken before the old lines are read, so that following misses none that are written in between.
    let started = Timestamp::now();
    let look = shell.while_waiting("answer", sources_now(&session.cluster, controllers));
    let sources = look.await.map_err(|e| cli_error(&e))?;
    let place = shell.global().namespace();
    // A given namespace without any controller may be misspelt. Together with objects it is their namespace, which
    // needs no controller.
    let in_vain = place.filter(|place| !sources.iter().any(|source| source.namespace == *place));
    if let Some(place) = in_vain.filter(|_| names == 0 || sources.is_empty())
        && let Some(error) = session.no_namespace(place).await
    {
        return Err(error);
    }
    if sources.is_empty() {
        if source.is_not_installed(shell).await {
            return Ok(source.report_not_installed(shell));
        }
        return Err(no_pods(controllers, &source.place()));
    }
    let mut last: HashMap<String, Timestamp> = HashMap::new();
    let logs = sources.len();
    // With --follow, old lines are shown only if --tail or --since asks for them.
    if !args.follow || args.tail.is_some() || args.since.is_some() {
        let Ok(problems) = read(&session.cluster, sources.clone(), wanted, |entry| {
            if let Some(at) = entry.at {
                last.insert(entry.source.pod.clone(), at);
            }
            printer.add(&entry);
            Ok::<_, Infallible>(())
        })
        .await;
        printer.flush();
        // If no log could be read, an empty output would look like controllers without log lines.
        if printer.lines == 0 && problems.len() == logs && !args.follow {
            return Err(unreadable(&problems, &source.place()));
        }
        for problem in problems {
            shell.warn(&problem.sentence());
        }
    }
    let missing_names = missing(shell, source, &printer.unseen, names).await;
    if args.follow {
        // While following, a missing object is only a warning, because it may be created later.
        missing_names.warn(shell);
        shell.interruption().mark_read_only();
        let from = (last, wanted.since.unwrap_or(started));
        let lines = follow(&session.cluster, controllers, &wanted.filter, from, sources, |entries| {
            entries.iter().for_each(|entry| printer.add(entry));
            printer.flush();
            if shell.output_is_lost() { Err(OutputFailure) } else { Ok(()) }
        });
        // Following ends with the time-out, or when the reader closes the output.
        let _ = shell.until_timeout(lines).await;
        return Ok(Exit::Done);
    }
    missing_names.report(shell, Exit::Done)
}

/// Returns the objects without any line that do not exist; empty without the right to read them.
async fn missing(shell: &Shell, source: &Source<'_>, unseen: &[UnseenObject<'_>], names: usize) -> MissingNames {
    let mut missing_names = MissingNames::of(names);
    for (kind, name, _) in unseen {
        let resource = kind.resource_type();
        let namespace = source.namespace_of(&resource);
        let look = source.object(shell, &resource, namespace.as_deref(), name);
        let error = within(shell, look).await.and_then(|found| found).err();
        missing_names.add(error.filter(|error| error.exit() == Exit::NotFound));
    }
    missing_names
}

/// Returns the error for a place without any pod whose log could be read.
fn no_pods(controllers: &[String], place: &str) -> CliError {
    let who = match controllers {
        [] => "no pod of a Flux controller".to_owned(),
        names => format!("no pod of {}", names.join(", ")),
    };
    CliError::new(Exit::NotFound, format!("cannot read logs in {place}: there is {who}"))
        .hint("see what is installed with `flux-operator get components -A`")
}

/// Returns the error when no log could be read: each reason with its pods, and the exit code of the first problem.
fn unreadable(problems: &[ClusterError], place: &str) -> CliError {
    let Some(first) = problems.first() else { return CliError::failed(format!("cannot read logs in {place}")) };
    let error =
        CliError::new(cli_error(first).exit(), format!("cannot read any of the {} logs in {place}", problems.len()));
    let mut reported: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for problem in problems {
        let pod = problem.object.as_ref().map(ToString::to_string).unwrap_or_default();
        reported.entry(problem.reason.to_string()).or_default().push(pod);
    }
    // Report a reason once for all its pods.
    let reported = reported.into_iter().map(|(reason, pods)| format!("{}: {reason}", pods.join(", ")));
    reported.fold(error, CliError::cause)
}

/// Prints lines in blocks.
struct LogPrinter<'a> {
    shell: &'a Shell,
    format: LogFormat,
    block: String,
    lines: usize,
    unseen: Vec<UnseenObject<'a>>,
}

/// Kind and name of an object without a line so far, and its filter.
type UnseenObject<'a> = (&'a FluxKind, &'a str, LogFilter);

/// Stops following because the reader has closed the output.
struct OutputFailure;

impl LogPrinter<'_> {
    fn add(&mut self, entry: &Entry) {
        self.lines += 1;
        self.unseen.retain(|(.., lines)| !lines.matches(&entry.text));
        match self.format {
            LogFormat::Json => self.block.push_str(&as_json(entry)),
            LogFormat::Text => self.block.push_str(&as_text(entry, self.shell.stdout_color())),
        }
        self.block.push('\n');
        if self.block.len() >= BLOCK {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.shell.print_in_colour(&block);
    }
}

/// Formats the controller's own JSON; a line that is not JSON becomes the message of a JSON object.
fn as_json(entry: &Entry) -> String {
    let is_json = entry.text.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(&entry.text).is_ok();
    if is_json {
        return entry.text.clone();
    }
    let at = entry.at.map_or(Value::Null, |at| at.to_string().into());
    json!({"ts": at, "msg": entry.text}).to_string()
}

/// Formats `2026-01-01T00:00:00.000Z error helm-controller HelmRelease/apps/web: what happened key=value`.
fn as_text(entry: &Entry, color: bool) -> String {
    let line = LogLine::parse(&entry.text, entry.at);
    let at = line.at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3}"));
    let level = line.severity.map_or("-", Severity::as_str);
    let style = match line.severity {
        Some(Severity::Error) | None => Some(AnsiColor::Red),
        Some(Severity::Debug | Severity::Trace) => Some(AnsiColor::BrightBlack),
        Some(Severity::Info) => None,
    };
    let level = match style.filter(|_| color) {
        Some(style) => format!("{}{level:5}{Reset}", style.on_default()),
        None => format!("{level:5}"),
    };
    let object = line.object.map(|object| format!(" {object}:")).unwrap_or_default();
    let mut text =
        format!("{at} {level} {}", on_one_line(&format!("{}{object} {}", entry.source.controller, line.message)));
    for (key, value) in &line.fields {
        // Writing to a String cannot fail.
        let _ = match value.contains([' ', '"']) {
            true => write!(text, " {}={}", on_one_line(key), Value::from(on_one_line(value))),
            false => write!(text, " {}={}", on_one_line(key), on_one_line(value)),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flux_operator::inspect::views::logs::LogSource;

    use super::*;

    fn entry(text: &str) -> Entry {
        let word = |word: &str| word.to_owned();
        let source = LogSource {
            controller: word("source-controller"),
            namespace: word("fs"),
            pod: word("sc-1"),
            container: word("manager"),
            is_restarted: false,
        };
        Entry { at: "2026-01-01T00:00:01.25Z".parse().ok(), source: Arc::new(source), text: text.to_owned() }
    }

    #[test]
    fn a_line_is_readable_and_cannot_steer_a_terminal() {
        let text = r#"{"level":"error","ts":"x","msg":"Reconciler error","controllerKind":"GitRepository","namespace":"apps","name":"app","error":"no such \u001b[31mhost"}"#;
        let line = as_text(&entry(text), false);
        assert_eq!(
            line,
            r#"2026-01-01T00:00:01.250Z error source-controller GitRepository/apps/app: Reconciler error error="no such [31mhost""#
        );
        let panic = as_text(&entry("panic: no"), false);
        assert_eq!(panic, "2026-01-01T00:00:01.250Z -     source-controller panic: no");
    }

    #[test]
    fn json_stays_as_it_was_written_and_other_lines_become_json() {
        let text = r#"{"level":"info",  "msg":"x"}"#;
        assert_eq!(as_json(&entry(text)), text);
        assert_eq!(as_json(&entry("panic: \"no\"")), r#"{"ts":"2026-01-01T00:00:01.25Z","msg":"panic: \"no\""}"#);
    }
}
