//! `rbac COMMAND…`: the Role or ClusterRole under which a command line works.
//!
//! Each command declares its requests to the API server as rows (see [`crate::flows::rights`]). This module parses the
//! command line, collects its rows and prints the roles.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory, FromArgMatches, ValueEnum};
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::k8s::rbac::{Permission, Subject, roles};
use serde_json::{Value, json};

use crate::args::COMMANDS_WITHOUT_RIGHTS;
use crate::cli::Cli;
use crate::flows::rights::Rights;
use crate::output::next_step::word as quoted;
use crate::session::connect::context_namespace;
use crate::terminal::usage::as_error;
use crate::terminal::{CliError, Exit, Shell};

/// Print the Role or ClusterRole that a command line needs
///
/// Determines the rights from the command and the objects that it names, without contacting the cluster. Rights that a
/// run uses only under a condition are printed as well, with the condition as a comment. With --user, --group or
/// --service-account, also prints the bindings.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The rights to operate one team's Kustomizations\n  \
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
    #[arg(id = "format", short = 'o', long = "output", value_enum, value_name = "FORMAT", default_value_t = RightsFormat::Yaml)]
    pub output: RightsFormat,
    /// The command line, without the program's name
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RightsFormat {
    Yaml,
    Json,
    Name,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let subject = subject(args)?;
    let (cli, words) = read(without_program(&args.command), shell)?;
    let line = words.join(" ");
    if let Some((_, why)) =
        COMMANDS_WITHOUT_RIGHTS.iter().find(|(word, _)| words.first().is_some_and(|first| first == word))
    {
        return Err(CliError::usage(format!("`{line}` has no role: {why}")));
    }
    let mut rights = Rights::new(namespace(&cli, shell));
    cli.command.rights(&mut rights)?;
    let rows = rights.into_rows();
    if rows.is_empty() {
        shell.status(&format!("`{line}` needs only rights that every user has"));
    }
    let name = args.name.clone().unwrap_or_else(|| format!("flux-operator-{}", words.join("-")));
    let notes = notes(&rows);
    let permissions: BTreeSet<Permission> = rows.into_keys().collect();
    if !notes.is_empty() && args.output != RightsFormat::Yaml {
        shell.status("some rights are used only under a condition: -o yaml names it");
    }
    shell.print(&text(&roles(&permissions, &name, subject.as_ref()), &notes, args.output)?);
    Ok(Exit::Done)
}

/// Returns the namespace: of the line's flag, else of `rbac`'s own flag, else of the context.
fn namespace(cli: &Cli, shell: &Shell) -> Option<String> {
    let own = shell.global();
    let mut global = cli.global.clone();
    global.kubeconfig = global.kubeconfig.or_else(|| own.kubeconfig.clone());
    global.context = global.context.or_else(|| own.context.clone());
    let flag = global.namespace().or(own.namespace()).map(str::to_owned);
    flag.or_else(|| context_namespace(&global))
}

/// Parses the command line; also returns the words of its command: `reconcile all`.
fn read(command: &[String], shell: &Shell) -> Result<(Cli, Vec<String>), CliError> {
    let tree = shell.config().with_defaults(Cli::command());
    let arguments: Vec<OsString> =
        [tree.get_name()].into_iter().chain(command.iter().map(String::as_str)).map(Into::into).collect();
    let read =
        tree.try_get_matches_from(&arguments).and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let (cli, matches) = read.map_err(|error| {
        if let Some(failure) = own_flag_behind(&error, command) {
            return failure;
        }
        let wrong = as_error(error, &arguments, Cli::command);
        let failure = CliError::usage(format!("invalid command `{}`", command.join(" "))).cause(wrong.message());
        wrong.hints().iter().cloned().fold(failure, CliError::hint)
    })?;
    let mut words = vec![];
    let mut below: &ArgMatches = &matches;
    while let Some((word, matches)) = below.subcommand() {
        words.push(word.to_owned());
        below = matches;
    }
    // clap returns an error for a flag that the command does not have.
    if below.try_contains_id("from").unwrap_or_default() {
        return Err(CliError::usage(format!("`{}` has no role: it reads a dump", words.join(" "))));
    }
    Ok((cli.disentangled(), words))
}

/// Flags of `rbac` itself. Behind the command they would be flags of the command.
const OWN_FLAGS: [&str; 4] = ["--user", "--group", "--service-account", "--name"];

/// Returns the error for `rbac status --service-account ci:bot`, with the line in the right order.
fn own_flag_behind(error: &clap::Error, command: &[String]) -> Option<CliError> {
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = OWN_FLAGS.into_iter().find(|flag| flag == refused)?;
    let at = command.iter().position(|word| word.split('=').next() == Some(flag))?;
    let length = if command.get(at).is_some_and(|word| word.contains('=')) { 1 } else { 2 };
    let (before, rest) = command.split_at(at);
    let (own, after) = rest.split_at(length.min(rest.len()));
    let words: Vec<_> = own.iter().chain(before).chain(after).map(|word| quoted(word)).collect();
    let failure = CliError::usage(format!("invalid command `{}`", command.join(" ")))
        .cause(format!("{flag} is a flag of `rbac` and was given after the command"));
    Some(failure.hint(format!("put it first: `flux-operator rbac {}`", words.join(" "))))
}

/// Comments that name the rights a run uses only under a condition.
fn notes(rows: &BTreeMap<Permission, Option<&'static str>>) -> String {
    let mut conditions: BTreeMap<&str, BTreeMap<Permission, Vec<&str>>> = BTreeMap::new();
    for (right, condition) in rows {
        let Some(condition) = condition else { continue };
        let any = Permission { verb: String::new(), ..right.clone() };
        conditions.entry(condition).or_default().entry(any).or_default().push(&right.verb);
    }
    if conditions.is_empty() {
        return String::new();
    }
    let mut text = "# Rights that a run uses only under a condition:\n".to_owned();
    for (condition, rights) in conditions {
        let rights = rights.iter().map(|(right, verbs)| format!("{}{right}", verbs.join(",")));
        let condition = condition.trim_end_matches('.');
        text.push_str(&format!("# - {condition}: {}\n", rights.collect::<Vec<_>>().join("; ")));
    }
    text
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

/// Removes the program's name, with which a line copied from a script begins.
fn without_program(mut command: &[String]) -> &[String] {
    while let [program, rest @ ..] = command
        && ["kubectl", "flux-operator"].contains(&program.as_str())
    {
        command = rest;
    }
    command
}

fn text(roles: &[Value], notes: &str, format: RightsFormat) -> Result<String, CliError> {
    let unwritable = |e: &(dyn std::error::Error + 'static)| CliError::failed("cannot write the roles").caused_by(e);
    match format {
        RightsFormat::Yaml => {
            let documents = yaml::document_stream(roles).map_err(|e| unwritable(&e))?;
            Ok(format!("{notes}{documents}"))
        }
        RightsFormat::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": roles});
            flux_operator::format::json::to_string(&list).map_err(|e| unwritable(&e))
        }
        RightsFormat::Name => Ok(roles.iter().map(|role| format!("{}\n", name_of(role))).collect()),
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

    fn collected(line: &str) -> BTreeMap<String, Option<&'static str>> {
        let (cli, _) = read(&command(line), &Shell::of_flags(&[])).unwrap();
        let mut rights = Rights::new(Some("apps".to_owned()));
        cli.command.rights(&mut rights).unwrap();
        rights.into_rows().into_iter().map(|(right, condition)| (right.to_string(), condition)).collect()
    }

    #[test]
    fn a_command_line_is_parsed_as_when_it_runs() {
        let shell = Shell::of_flags(&[]);
        let words = |line: &str| read(&command(line), &shell).map(|(_, words)| words);
        assert_eq!(words("reconcile ks app --with-source").unwrap(), ["reconcile"]);
        assert_eq!(words("-n apps get ks -o name").unwrap(), ["get"]);
        assert_eq!(without_program(&command("flux-operator get ks")), command("get ks"));
        assert_eq!(words("reconcil ks app").unwrap_err().exit(), Exit::Usage);
        assert_eq!(words("get ks --from dump.yaml").unwrap_err().exit(), Exit::Usage);
    }

    /// Typed lines, each with a line that means the same.
    const SPELLINGS: &[(&str, &str)] = &[
        // Any spelling of a kind, with and without names.
        ("get GitRepository", "get gitrepo"),
        ("get gitrepositories.source.toolkit.fluxcd.io -A", "get gitrepo -A"),
        ("get -A gitrepos", "get gitrepo -A"),
        ("get ks app web", "get ks/app ks/web"),
        ("get -wn apps ks", "get ks -w -n apps"),
        ("get resources ks/app", "get ks/app"),
        ("get all source git app", "get gitrepo/app"),
        ("get resources", "get all"),
        ("get ks,gitrepo", "get gitrepo,ks"),
        ("reconcile resource ks/app --wait=false", "reconcile ks app --wait=false"),
        ("reconcile -n apps hr web", "-n apps reconcile hr/web"),
        ("suspend resources ks/app ks/web", "suspend ks app web"),
        ("suspend ks,gitrepo podinfo", "suspend ks/podinfo gitrepo/podinfo"),
        ("wait --timeout 30s ks app", "wait ks/app --timeout 30s"),
        ("tree kustomization app", "tree ks/app"),
        ("tree resource gitrepo/app", "tree gitrepo app"),
        ("why resource ks/app", "why ks app"),
        ("events resource ks app", "events ks/app"),
        ("trace resources deploy/app", "trace deploy app"),
        ("delete --yes resource ks/app", "delete ks app --yes"),
        // The instance is a kind, and the default.
        ("get FluxInstance", "get instance"),
        ("get fluxinstances.fluxcd.controlplane.io flux", "get instance flux"),
        ("get -A instance", "get instances -A"),
        ("reconcile fluxinstance/flux --force", "reconcile instance --force"),
        ("reconcile --in-process", "reconcile instance flux --in-process"),
        ("-n apps wait --timeout 3s", "-n apps wait instance flux --timeout 3s"),
        ("plan", "plan instance flux"),
        ("diff flux", "plan fluxinstance/flux"),
        ("plan rset/web", "plan resourceset web"),
        ("rollback instances --to v2.8.8", "rollback --to v2.8.8"),
        ("uninstall flux --dry-run", "uninstall instance --dry-run"),
        ("suspend instances", "suspend instance flux"),
        ("tree fluxinstance", "tree instance flux"),
        ("why fluxinstance/flux", "why instance"),
        ("delete -f flux.yaml", "delete instance -f flux.yaml"),
        ("apply -f flux.yaml", "apply instance -f flux.yaml"),
        ("apply ResourceSet -f set.yaml", "apply rset -f set.yaml"),
        // A kind alone means all of its objects for commands that change nothing.
        ("export ks -A", "export ks --all -A"),
        ("wait ks,hr", "wait ks,hr --all"),
        ("wait hr -l team=a", "wait hr --all -l team=a"),
        // flux's own words.
        ("get sources git", "get gitrepo"),
        ("get source git/app hr/web", "get gitrepo/app hr/web"),
        ("get alert-providers", "get provider"),
        ("get images all -A", "get imgrepo,imgpol,iua -A"),
        ("suspend image update app", "suspend iua/app"),
        ("suspend alert-provider/a ks/b", "suspend provider/a ks/b"),
        ("logs image policy app", "logs imgpol/app"),
        // Names that are words of the program.
        ("get ks components", "get ks/components"),
        ("delete ks resource all", "delete ks/resource ks/all"),
        ("resume --overdue -A", "resume overdue -A"),
        ("resume ks --overdue", "resume overdue ks"),
    ];

    #[test]
    fn every_spelling_is_the_same_command() {
        for (typed, meant) in SPELLINGS {
            assert_eq!(collected(typed), collected(meant), "{typed}");
            assert!(!collected(typed).is_empty(), "{typed}");
        }
    }

    #[test]
    fn every_command_that_is_listed_as_needing_no_rights_exists() {
        let tree = Cli::command();
        for (word, _) in COMMANDS_WITHOUT_RIGHTS {
            assert!(tree.find_subcommand(word).is_some(), "{word}");
        }
    }

    #[test]
    fn the_rights_of_a_line_are_about_the_objects_that_it_names() {
        let suspend = collected("suspend ks a b");
        let patch = |name: &str| format!("patch kustomizations.kustomize.toolkit.fluxcd.io/{name} in namespace apps");
        assert_eq!(suspend, [(patch("a"), None), (patch("b"), None)].into());
        assert_eq!(
            collected("get gitrepo -A -o name").into_keys().collect::<Vec<_>>(),
            ["list gitrepositories.source.toolkit.fluxcd.io"]
        );
        let created = "create secrets/git in namespace apps";
        assert_eq!(collected("create secret proxy git --address http://p")[created], Some("the Secret is new"));
        assert!(collected("version --client").is_empty());
    }

    #[test]
    fn conditions_are_comments() {
        let line = |right: &str, condition: Option<&'static str>| {
            let right = Permission {
                namespace: None,
                group: String::new(),
                resource: "pods".to_owned(),
                verb: right.to_owned(),
                name: None,
            };
            (right, condition)
        };
        let rows = [line("get", Some("it fails")), line("list", Some("it fails")), line("watch", None)].into();
        insta::assert_snapshot!(notes(&rows), @r"
        # Rights that a run uses only under a condition:
        # - it fails: get,list pods
        ");
        assert_eq!(notes(&[line("watch", None)].into()), "");
    }
}
