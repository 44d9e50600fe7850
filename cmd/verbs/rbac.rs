//! `rbac COMMAND…`: the least rights under which a command line works, found by rehearsing it.
//!
//! ```text
//! rehearse COMMAND (see cluster::rehearsal) ──► every right it asks for
//! each right that only reads: rehearse without it ──► does it end the same? then it is not needed
//! what is left ──► Role per namespace, ClusterRole
//! ```
//! No table says what a command needs: the command itself does, on this cluster, in a process of its own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use clap::{CommandFactory, ValueEnum};
use flux_operator::format::file::read_stream_at_most;
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::k8s::rbac::{Permission, Subject, roles};
use regex::Regex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cli::Cli;
use crate::input::grammar;
use crate::session::rehearsal;
use crate::session::rehearsal::{NOT_REHEARSED, Notes};
use crate::terminal::usage::as_error;
use crate::terminal::{CliError, Exit, Shell};

/// Print the least Role or ClusterRole under which a command line works
///
/// The command line is rehearsed on the cluster, with your own rights: what it
/// reads is read, what it writes is tried as a dry run, and what it waits for
/// comes true at once; nothing changes. Rights without which it ends the same are
/// left out. So the answer fits the cluster and its objects as they are now.
/// With --user, --group or --service-account the bindings are printed too.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What somebody needs who looks after one team's Kustomizations\n  \
    flux-operator rbac -n apps get ks\n\n  \
    # Let a pipeline reconcile one of them and wait\n  \
    flux-operator rbac --service-account ci:bot reconcile ks podinfo -n apps\n\n  \
    # Apply it at once\n  \
    flux-operator rbac --user jane get all -A | kubectl apply -f -\n\n  \
    # An installation without an operator\n  \
    flux-operator rbac apply instance -f flux.yaml --in-process")]
pub struct Args {
    /// Bind the roles to this user
    #[arg(long, value_name = "NAME", group = "subject")]
    pub user: Option<String>,
    /// Bind the roles to this group
    #[arg(long, value_name = "NAME", group = "subject")]
    pub group: Option<String>,
    /// Bind the roles to this ServiceAccount
    #[arg(long, value_name = "NAMESPACE:NAME", group = "subject")]
    pub service_account: Option<String>,
    /// Name of the roles [default: flux-operator-COMMAND]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Format of the output
    #[arg(id = "format", short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = Format::Yaml)]
    pub output: Format,
    /// The command line, without the program's name
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Yaml,
    Json,
    Name,
}

/// Flags of `rbac` itself, which take a value.
const OWN_FLAGS: [&str; 6] = ["--user", "--group", "--service-account", "--name", "-o", "--output"];
/// A command that waits for somebody else has asked for everything when it was still for so long.
const STILL: Duration = Duration::from_secs(2);
/// As much as a command of those that are rehearsed reads.
const MAX_INPUT_BYTES: u64 = 1 << 30;
const GLANCE: Duration = Duration::from_millis(15);

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let subject = subject(args)?;
    let command = without_program(&args.command);
    let words = words_of(command)?;
    if let Some((_, why)) = NOT_REHEARSED.iter().find(|(word, _)| words.first().is_some_and(|first| first == word)) {
        return Err(CliError::usage(format!("`{}` is not rehearsed: {why}", words.join(" "))));
    }
    let line = command.join(" ");
    if words == ["migrate"] {
        // Its work is to rewrite the files that it is given.
        return Err(CliError::usage("`migrate` of files is not rehearsed: it asks nothing of an API server"));
    }
    let arguments = forwarded(&args.command);
    let permissions = shell.run(async {
        let command = Rehearsed { arguments, stdin: stdin_of(command, shell).await? };
        shell.awaits(format!("rehearsals of `{line}`"));
        shell.while_waiting("end", least(&command, &line, shell)).await
    })?;
    if permissions.is_empty() {
        shell.status(&format!("`{line}` needs no rights but those that every user has"));
    }
    let name = args.name.clone().unwrap_or_else(|| format!("flux-operator-{}", words.join("-")));
    shell.print(&text(&roles(&permissions, &name, subject.as_ref()), args.output)?);
    Ok(Exit::Done)
}

fn subject(args: &Args) -> Result<Option<Subject>, CliError> {
    if let Some(account) = &args.service_account {
        let (namespace, name) =
            account.split_once([':', '/']).filter(|(a, b)| !a.is_empty() && !b.is_empty()).ok_or_else(|| {
                CliError::usage(format!("`{account}` is not a ServiceAccount"))
                    .hint("write NAMESPACE:NAME, for example ci:bot")
            })?;
        return Ok(Some(Subject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() }));
    }
    Ok(args.user.clone().map(Subject::User).or_else(|| args.group.clone().map(Subject::Group)))
}

/// A line as it stands in a script: it begins with the program's name.
fn without_program(mut command: &[String]) -> &[String] {
    while let [program, rest @ ..] = command
        && ["kubectl", "flux-operator"].contains(&program.as_str())
    {
        command = rest;
    }
    command
}

/// The words of a command in the command tree: `reconcile resource`.
fn words_of(command: &[String]) -> Result<Vec<String>, CliError> {
    let tree = Cli::command();
    let arguments: Vec<OsString> =
        [tree.get_name()].into_iter().chain(command.iter().map(String::as_str)).map(Into::into).collect();
    let ordered = grammar::in_order(&arguments, &tree);
    let matches = tree.try_get_matches_from(&ordered).map_err(|error| {
        let wrong = as_error(error, &ordered, Cli::command);
        let told = CliError::usage(format!("invalid command `{}`", command.join(" "))).cause(wrong.message());
        wrong.hints().iter().cloned().fold(told, CliError::hint)
    })?;
    let mut words = vec![];
    let mut below = &matches;
    while let Some((word, matches)) = below.subcommand() {
        words.push(word.to_owned());
        below = matches;
    }
    Ok(words)
}

/// The flags of this process that are not `rbac`'s own, and the command line.
fn forwarded(command: &[String]) -> Vec<OsString> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let head = arguments.get(..arguments.len().saturating_sub(command.len())).unwrap_or_default();
    let own = grammar::first_word(head, &Cli::command());
    let mut flags: Vec<OsString> = vec![];
    let mut words = head.iter().enumerate().skip(1).filter(|(at, _)| Some(*at) != own).map(|(_, word)| word);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if OWN_FLAGS.contains(&text.as_ref()) {
            words.next();
        } else if !OWN_FLAGS
            .iter()
            .any(|flag| text.starts_with(&format!("{flag}=")) || (flag.len() == 2 && text.starts_with(flag)))
            && text != "--"
        {
            flags.push(word.clone());
        }
    }
    flags.extend(without_program(command).iter().map(Into::into));
    flags
}

/// Stores the command's standard input, because every rehearsal reads it.
async fn stdin_of(command: &[String], shell: &Shell) -> Result<Option<tempfile::NamedTempFile>, CliError> {
    let reads = |word: &String| word == "-" || word == "-f-" || word.ends_with("=-") || word.ends_with("-stdin");
    if !command.iter().any(reads) {
        return Ok(None);
    }
    let stdin = shell.stdin("input of the command")?;
    let kept = shell.read_input("standard input", move || {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(&read_stream_at_most(stdin.lock(), MAX_INPUT_BYTES)?)?;
        Ok(Some(file))
    });
    let failed =
        |error: std::io::Error| CliError::failed("cannot keep what stands on standard input").caused_by(&error);
    kept.await?.map_err(failed)
}

/// A command line that is gone through again and again.
struct Rehearsed {
    arguments: Vec<OsString>,
    stdin: Option<tempfile::NamedTempFile>,
}

/// How a rehearsal ended, as far as two of them can be compared.
struct Ending {
    /// `None` when it waited for somebody else.
    code: Option<i32>,
    data: Vec<String>,
    complaints: BTreeSet<String>,
    errors: Vec<String>,
    notes: Notes,
}

impl Ending {
    fn is_like(&self, other: &Ending) -> bool {
        self.code == other.code && self.data == other.data && self.complaints.is_subset(&other.complaints)
    }
}

/// Finds the least rights: those without which the command ends differently.
async fn least(command: &Rehearsed, line: &str, shell: &Shell) -> Result<BTreeSet<Permission>, CliError> {
    let mut whole = command.rehearse(&BTreeSet::new()).await?;
    let failed = |exit| {
        let error = CliError::new(exit, format!("cannot tell which rights `{line}` takes: it fails"));
        whole.errors.iter().fold(error, |error, text| error.cause(text.clone()))
    };
    match whole.code {
        None | Some(0) => {}
        // Differences, and objects that are not well: an answer like any other.
        Some(1 | 7) if whole.errors.is_empty() => {}
        Some(code) => {
            return Err(failed(
                Exit::ALL
                    .into_iter()
                    .find(|exit| i32::from(exit.code_and_category().0) == code)
                    .unwrap_or(Exit::Failed),
            ));
        }
    }
    for refused in &whole.notes.refused {
        shell.warn(&format!("you may not {refused} yourself, so rights that would come after it are missing"));
    }
    let mut withheld = BTreeSet::new();
    let mut tried = BTreeSet::new();
    // A right that is only asked about is needed where the command ends with another code without it; what it tells of one's
    // rights is another matter.
    let only_asked_about = |ending: &Ending| {
        ending.notes.asked_about.difference(&ending.notes.permissions).cloned().collect::<BTreeSet<_>>()
    };
    let mut asked_about = only_asked_about(&whole);
    while let Some(candidate) = asked_about.iter().find(|one| !tried.contains(*one)).cloned() {
        tried.insert(candidate.clone());
        let mut less = withheld.clone();
        less.insert(candidate);
        let ending = command.rehearse(&less).await?;
        if ending.code == whole.code {
            asked_about = only_asked_about(&ending).difference(&less).cloned().collect();
            (whole, withheld) = (ending, less);
        }
    }
    let mut needed: BTreeSet<Permission> = whole.notes.permissions.union(&asked_about).cloned().collect();
    while let Some(candidate) = needed.iter().find(|one| may_be_left_out(one) && !tried.contains(*one)).cloned() {
        tried.insert(candidate.clone());
        let mut less = withheld.clone();
        less.insert(candidate);
        let ending = command.rehearse(&less).await?;
        if ending.is_like(&whole) {
            needed = ending.notes.permissions.union(&asked_about).filter(|one| !less.contains(one)).cloned().collect();
            withheld = less;
        }
    }
    Ok(needed)
}

/// A write is what a command is for, but for the events that tell of it.
fn may_be_left_out(permission: &Permission) -> bool {
    matches!(permission.verb.as_str(), "get" | "list" | "watch") || permission.resource == "events"
}

impl Rehearsed {
    async fn rehearse(&self, withheld: &BTreeSet<Permission>) -> Result<Ending, CliError> {
        let failed = |error: std::io::Error| CliError::failed("cannot rehearse").caused_by(&error);
        let folder = tempfile::tempdir().map_err(failed)?;
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        rehearsal::prepare(folder.path(), withheld).map_err(failed)?;
        let stdin = match &self.stdin {
            Some(file) => file.reopen().map(Stdio::from).map_err(failed)?,
            None => Stdio::null(),
        };
        let mut child = tokio::process::Command::new(std::env::current_exe().map_err(failed)?)
            .arg("--rehearsal")
            .arg(folder.path())
            .args(&self.arguments)
            .stdin(stdin)
            .stdout(File::create(&stdout).map_err(failed)?)
            .stderr(File::create(&stderr).map_err(failed)?)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (mut asked, mut since) = (0, Instant::now());
        let code = loop {
            if let Some(ended) = child.try_wait().map_err(failed)? {
                break ended.code();
            }
            tokio::time::sleep(GLANCE).await;
            let now = rehearsal::progress(folder.path());
            if now != asked {
                (asked, since) = (now, Instant::now());
            } else if since.elapsed() > STILL && waits(&rehearsal::read(folder.path()).map_err(failed)?) {
                child.kill().await.map_err(failed)?;
                break None;
            }
        };
        let read =
            |path: &Path| std::fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned()).map_err(failed);
        let (stdout, stderr) = (read(&stdout)?, read(&stderr)?);
        let said = |word: &str| stderr.lines().filter_map(|line| said(line, word)).collect::<Vec<_>>();
        Ok(Ending {
            code,
            data: comparable(&stdout),
            complaints: comparable(&[said("warning"), said("error")].concat().join("\n")).into_iter().collect(),
            errors: said("error"),
            notes: rehearsal::read(folder.path()).map_err(failed)?,
        })
    }
}

/// Returns the `warning` or `error` in a line of stderr, which is text or JSON.
fn said(line: &str, word: &str) -> Option<String> {
    if let Ok(event) = serde_json::from_str::<Value>(line) {
        return event["message"].as_str().filter(|_| event["type"] == word).map(str::to_owned);
    }
    line.contains(&format!("{word}:")).then(|| line.trim_start_matches(&format!("{word}: ")).to_owned())
}

/// Whether a command is where only somebody else lets it go on.
fn waits(notes: &Notes) -> bool {
    notes.permissions.iter().any(|one| one.verb == "watch" || one.resource == "pods/log")
}

/// Lines without what differs from run to run: times, lengths of time, made-up identities, the order of what is done side by side.
fn comparable(text: &str) -> Vec<String> {
    let varying = Regex::new(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d[\d.:TZ-]*(?:(?:ms|[µun]s|[smhd])\b)?|[ \t─│]+").ok();
    let clean = |line: &str| {
        varying.as_ref().map_or_else(|| line.to_owned(), |varying| varying.replace_all(line, " ").into_owned())
    };
    let mut lines: Vec<String> = text.lines().map(clean).collect();
    lines.sort();
    lines
}

fn text(roles: &[Value], format: Format) -> Result<String, CliError> {
    let unwritable = |e: &(dyn std::error::Error + 'static)| CliError::failed("cannot write the roles").caused_by(e);
    match format {
        Format::Yaml => yaml::document_stream(roles).map_err(|e| unwritable(&e)),
        Format::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": roles});
            flux_operator::format::json::to_string(&list).map_err(|e| unwritable(&e))
        }
        Format::Name => Ok(roles.iter().map(|role| format!("{}\n", name_of(role))).collect()),
    }
}

/// `role.rbac.authorization.k8s.io/reader`, as kubectl prints names.
fn name_of(object: &Value) -> String {
    let id = ObjectId::of(object);
    format!("{}.{}/{}", id.kind.to_lowercase(), id.group, id.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_line_is_understood_as_it_is_when_it_is_run() {
        assert_eq!(words_of(&command("reconcile ks app --with-source")).unwrap(), ["reconcile", "resource"]);
        assert_eq!(words_of(&command("-n apps get ks -o name")).unwrap(), ["get", "resources"]);
        assert_eq!(without_program(&command("flux-operator get ks")), command("get ks"));
        let error = words_of(&command("reconcil ks app")).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
    }

    #[test]
    fn every_command_that_is_not_rehearsed_is_one() {
        let tree = Cli::command();
        for (word, _) in NOT_REHEARSED {
            assert!(tree.find_subcommand(word).is_some(), "{word}");
        }
    }

    #[test]
    fn warnings_and_errors_are_understood_as_words_and_as_json() {
        assert_eq!(said("error: cannot list", "error").as_deref(), Some("cannot list"));
        assert_eq!(said(r#"{"type":"error","message":"cannot list"}"#, "error").as_deref(), Some("cannot list"));
        assert_eq!(said(r#"{"type":"warning","message":"m"}"#, "error"), None);
        assert_eq!(said("◎ kustomization/a: error", "error"), None);
    }

    #[test]
    fn times_order_and_made_up_identities_make_no_difference() {
        let one = "NAME  AGE\napp   5m3s\nweb   12s\n✔ finished in 103ms at 2026-11-21T06:00:30Z";
        let other = "NAME    AGE\nweb     7s\napp    5m18s\n✔ finished in 1.5s at 2026-11-21T06:01:31Z";
        assert_eq!(comparable(one), comparable(other));
        assert_ne!(comparable(one), comparable("NAME AGE\napp 5m3s"));
    }
}
