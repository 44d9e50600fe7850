//! `create secret`: a command per kind; this file has their common part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use flux_operator::reconcile::secret::checked_name;
use flux_operator::secrets::{self, Credentials, SecretError, SecretText};

use crate::args::complete;
use crate::flows::rights::{KIND, Right, Rights, always, when};
use crate::terminal::prompt;
use crate::terminal::prompt::{SecretLines, SecretSource};
use crate::terminal::{CliError, Exit, SecretArg, Shell};
use flux_operator::api::kinds::SECRET;

mod basic_auth;
mod bucket;
mod githubapp;
mod proxy;
mod registry;
mod sops;
mod ssh;
mod tls;
mod write;

/// Create the secrets Flux needs
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    BasicAuth(basic_auth::Args),
    Registry(registry::Args),
    Ssh(ssh::Args),
    Githubapp(githubapp::Args),
    Bucket(bucket::Args),
    Proxy(proxy::Args),
    Tls(tls::Args),
    Sops(sops::Args),
}

/// Rights to write the Secret.
const WRITES: &[Right] = &[always("get patch", KIND), when("the Secret is new", "create", KIND)];
const HAS_TO_BE_CREATED_AGAIN: &str = "the Secret has to be created again";
/// Rights to replace a Secret that is immutable or has another type.
const REPLACES: &[Right] = &[when(HAS_TO_BE_CREATED_AGAIN, "create delete", KIND)];
/// Rights to check the new Secret in a dry run, under another name.
const CHECKS: &[Right] = &[when(HAS_TO_BE_CREATED_AGAIN, "create patch", KIND)];

pub fn rights(command: &Command, rights: &mut Rights) {
    let args = command.secret();
    let namespace = rights.flux_namespace();
    let names = [args.name.as_str()];
    if args.export {
        return;
    }
    rights.of_kind(&SECRET, Some(&namespace), &names, WRITES);
    if args.replace {
        rights.of_kind(&SECRET, Some(&namespace), &names, REPLACES);
        rights.of_kind(&SECRET, Some(&namespace), &[&checked_name(&args.name)], CHECKS);
    }
}

impl Command {
    fn secret(&self) -> &SecretArgs {
        match self {
            Command::BasicAuth(args) => &args.secret,
            Command::Registry(args) => &args.secret,
            Command::Ssh(args) => &args.secret,
            Command::Githubapp(args) => &args.secret,
            Command::Bucket(args) => &args.secret,
            Command::Proxy(args) => &args.secret,
            Command::Tls(args) => &args.secret,
            Command::Sops(args) => &args.secret,
        }
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    match command {
        Command::BasicAuth(args) => {
            refuse_token_of_server(&[
                "--password-stdin with --username takes a token of Git, --bearer-token-stdin one that is sent without a user name",
            ])?;
            create(shell, &args.secret, args.credentials(shell))
        }
        Command::Registry(args) => {
            refuse_token_of_server(&["--password-stdin takes the token of a registry"])?;
            create(shell, &args.secret, args.credentials(shell))
        }
        Command::Ssh(args) => create(shell, &args.secret, args.credentials(shell)),
        Command::Githubapp(args) => create(shell, &args.secret, args.credentials(shell)),
        Command::Bucket(args) => create(shell, &args.secret, args.credentials(shell)),
        Command::Proxy(args) => create(shell, &args.secret, args.credentials(shell)),
        Command::Tls(args) => create(shell, &args.secret, args.credentials(shell)),
        Command::Sops(args) => create(shell, &args.secret, args.credentials(shell)),
    }
}

/// Refuses `--token`, which signs in to the API server in every command. A user who writes it here nearly always means
/// a credential for the Secret, but the token would be sent to the API server. `--kube-token` is unambiguous.
fn refuse_token_of_server(meant: &[&str]) -> Result<(), CliError> {
    // clap treats `--kube-token` as an alias of `--token`, so only the raw words show which of them was written.
    let words = std::env::args_os().take_while(|word| word != "--");
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    if !words.any(|word| word == "--token" || word.starts_with("--token=")) {
        return Ok(());
    }
    let error = CliError::usage("--token signs in to the API server, and does not go into the Secret");
    let error = meant.iter().fold(error, |error, hint| error.hint(*hint));
    Err(error.hint("for the API server write --kube-token"))
}

/// Checks the known parts, then reads the credentials (which may ask), then writes.
fn create(
    shell: &Shell,
    args: &SecretArgs,
    credentials: impl Future<Output = Result<Credentials, CliError>>,
) -> Result<Exit, CliError> {
    let described = args.describe(shell)?;
    shell.run(async { write::write(shell, args, described, credentials.await?).await })
}

const OBJECT: &str = "Secret options";

/// Flags of every kind of secret.
#[derive(clap::Args, Clone, Debug)]
pub struct SecretArgs {
    /// Name of the Secret
    #[arg(add = complete::secrets())]
    pub name: String,
    /// Labels as KEY=VALUE, repeatable or separated by commas
    #[arg(long, value_name = "KEY=VALUE", help_heading = OBJECT)]
    pub label: Vec<String>,
    /// Annotations as KEY=TEXT; repeat the flag for several, commas in values
    /// are kept
    #[arg(long, value_name = "KEY=TEXT", help_heading = OBJECT)]
    pub annotation: Vec<String>,
    /// Make the data immutable
    #[arg(long, help_heading = OBJECT)]
    pub immutable: bool,
    /// Print the Secret as YAML instead of writing it; needs no cluster
    #[arg(long, conflicts_with_all = ["dry_run", "replace", "force_conflicts"], help_heading = OBJECT)]
    pub export: bool,
    /// Write nothing: only check here (client), or let the API server check
    /// as well (server)
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_value_t = SecretDryRun::None,
        default_missing_value = "client", help_heading = OBJECT)]
    pub dry_run: SecretDryRun,
    /// Delete and recreate a Secret that is immutable or of another type
    #[arg(long, help_heading = OBJECT)]
    pub replace: bool,
    /// Take over fields that another field manager owns
    #[arg(long, help_heading = OBJECT)]
    pub force_conflicts: bool,
    /// Write the credentials even if they look wrong
    #[arg(long, help_heading = OBJECT)]
    pub skip_checks: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SecretDryRun {
    /// Write the Secret
    None,
    /// Check here and send nothing
    Client,
    /// Let the API server check without storing
    Server,
}

/// The checked parts of the Secret that need no credentials.
struct SecretOutline {
    namespace: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// Keys and values of labels or annotations.
type Pairs = Vec<(String, String)>;

impl SecretArgs {
    fn describe(&self, shell: &Shell) -> Result<SecretOutline, CliError> {
        secrets::check_name(&self.name).map_err(secret_error)?;
        let namespace = shell.global().namespace().filter(|n| !n.is_empty()).map(str::to_owned);
        if let Some(namespace) = &namespace {
            secrets::check_namespace(namespace).map_err(secret_error)?;
        }
        let collect = |texts: &[String], parse: fn(&str) -> Result<Pairs, SecretError>| {
            let pairs: Result<Vec<_>, _> = texts.iter().map(|text| parse(text)).collect();
            pairs.map(|pairs| pairs.into_iter().flatten().collect()).map_err(secret_error)
        };
        Ok(SecretOutline {
            namespace,
            labels: collect(&self.label, secrets::parse_pairs)?,
            annotations: collect(&self.annotation, secrets::parse_text_pairs)?,
        })
    }
}

/// The only source of a password.
#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false)]
pub struct PasswordArgs {
    /// Password; visible to other users of this machine
    #[arg(long, value_name = "PASSWORD")]
    pub password: Option<SecretArg>,
    /// Read the password from standard input: one line, spaces kept
    #[arg(long)]
    pub password_stdin: bool,
    /// Read the password from a file of one line
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Read the password from the environment variable NAME
    #[arg(long, value_name = "NAME")]
    pub password_env: Option<String>,
}

const PASSWORD: &str = "password";

impl PasswordArgs {
    fn source(&self) -> Option<SecretSource> {
        source(self.password.as_ref(), self.password_stdin, self.password_file.as_deref(), self.password_env.as_deref())
    }

    /// Reads the password from its source, or from a prompt that asks twice.
    async fn read_or_ask(&self, shell: &Shell) -> Result<SecretText, CliError> {
        read_or_ask(self.source(), shell, "password", PASSWORD, SecretLines::One).await
    }

    /// Like [`PasswordArgs::read_or_ask`], for a password that may be a JSON key of several lines.
    async fn read_or_ask_for_key(&self, shell: &Shell) -> Result<SecretText, CliError> {
        read_or_ask(self.source(), shell, "password", PASSWORD, SecretLines::OneOrJson).await
    }

    /// Reads the password from its source, if there is one.
    async fn read(&self, shell: &Shell) -> Result<Option<SecretText>, CliError> {
        match self.source() {
            Some(source) => source.read(shell, PASSWORD, SecretLines::One).await.map(Some),
            None => Ok(None),
        }
    }
}

fn source(flag: Option<&SecretArg>, stdin: bool, file: Option<&Path>, env: Option<&str>) -> Option<SecretSource> {
    // clap allows at most one of them.
    flag.map(|text| SecretSource::Flag(text.clone()))
        .or_else(|| stdin.then_some(SecretSource::Stdin))
        .or_else(|| file.map(|path| SecretSource::File(path.to_owned())))
        .or_else(|| env.map(|name| SecretSource::Environment(name.to_owned())))
}

async fn read_or_ask(
    source: Option<SecretSource>,
    shell: &Shell,
    what: &str,
    flag: &str,
    lines: SecretLines,
) -> Result<SecretText, CliError> {
    match source {
        Some(source) => source.read(shell, flag, lines).await,
        None => prompt::ask_twice(what, flag).await,
    }
}

/// Reads a file that is stored unchanged.
async fn file(path: &Path, shell: &Shell) -> Result<SecretText, CliError> {
    prompt::file(path, shell).await.map(|bytes| bytes.to_vec().into())
}

/// Reads a file that is stored unchanged, if one is named.
async fn optional_file(path: Option<&Path>, shell: &Shell) -> Result<Option<SecretText>, CliError> {
    match path {
        Some(path) => file(path, shell).await.map(Some),
        None => Ok(None),
    }
}

/// Fields that are flags under the same name, besides those of files.
const FLAGS: [&str; 5] = ["username", "server", "address", "accesskey", "app-id"];

/// Writes the fields of a Secret in a message as flags of this command: `--username`.
fn in_flags(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let name = word.trim_end_matches([',', ':']);
        match name.ends_with("-file") || FLAGS.contains(&name) {
            true => format!("--{word}"),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns how to pass a missing value.
fn flags_of(value: &str) -> &'static str {
    match value {
        "password" => "pass it with --password-stdin, --password-file FILE or --password-env NAME",
        "bearer token" => "pass it with --bearer-token-stdin, --bearer-token-file FILE or --bearer-token-env NAME",
        "secretkey" => "pass it with --secretkey-stdin, --secretkey-file FILE or --secretkey-env NAME",
        "an age or GPG key" => {
            "pass --age-key-file FILE or --gpg-key-file FILE, or the key on standard input with --age-key-stdin or \
             --gpg-key-stdin"
        }
        _ if value.contains("tls-") => {
            "for example `flux-operator create secret tls NAME --tls-crt-file tls.crt --tls-key-file tls.key`"
        }
        _ => "the examples of `flux-operator create secret KIND --help` show how",
    }
}

fn secret_error(error: SecretError) -> CliError {
    match &error {
        SecretError::Missing(value) => CliError::usage(in_flags(&error.to_string())).hint(flags_of(value)),
        SecretError::Invalid { .. } => CliError::usage(in_flags(&error.to_string())),
        SecretError::Check { hint, .. } => {
            let failure = CliError::failed(error.to_string());
            let failure = hint.iter().fold(failure, |failure, hint| failure.hint(hint.clone()));
            failure.hint("if it is correct, create it with --skip-checks")
        }
    }
}
