//! Access to registries from the command line: docker's credentials, the proxy variables, and the flags for both.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flux_operator::distribution::Distribution;
use flux_operator::fetch::{self, ArtifactCache, DEFAULT_CACHE_BYTES, FetchError, FetchReason, Fetcher, Source};
use flux_operator::format::file::{MAX_CONFIG_BYTES, read_at_most};
use flux_operator::oci::{
    Access, ClientIdentity, OciError, PublicKey, Reason, Reference, Registries, RegistryAccess, RegistryCredentials,
    Repository,
};

use crate::session::Deadline;
use crate::terminal::{CliError, Exit, Shell, environment, name_of_input, unopened};

const HEADING: &str = "Registry options";
pub const NOTHING_TO_VERIFY: &str = "name an artifact in a registry, oci://…, or leave the key out";

/// How registries are reached. Credentials are those of `docker login`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct RegistryArgs {
    /// Certificates in PEM that registries must present, instead of the
    /// system's; for one registry only with its name in front, repeatable
    #[arg(long, value_name = "[HOST=]FILE", value_hint = clap::ValueHint::FilePath, help_heading = HEADING)]
    pub registry_ca: Vec<String>,
    /// Client certificate in PEM, shown to registries that ask for one
    #[arg(long, value_name = "[HOST=]FILE", value_hint = clap::ValueHint::FilePath, requires = "registry_key", help_heading = HEADING)]
    pub registry_cert: Vec<String>,
    /// Private key of the client certificate, in PEM
    #[arg(long, value_name = "[HOST=]FILE", value_hint = clap::ValueHint::FilePath, requires = "registry_cert", help_heading = HEADING)]
    pub registry_key: Vec<String>,
    /// Registry to access over plain HTTP, repeatable; those on this machine
    /// always are
    #[arg(long, value_name = "HOST[:PORT]", help_heading = HEADING)]
    pub plain_http: Vec<String>,
}

impl RegistryArgs {
    pub async fn open(&self, shell: &Shell) -> Result<Registries, CliError> {
        self.access(shell).await.map(Registries::new)
    }

    /// Returns the settings for access to servers.
    pub async fn access(&self, shell: &Shell) -> Result<Access, CliError> {
        let search_path = std::env::var_os(environment::PATH);
        let mut access = Access::new(RegistryCredentials::DockerFiles { paths: docker_config_files(), search_path });
        access.proxy = environment::proxy();
        // Settings for all registries come first, because the settings of a single registry start from them.
        for of_one in [false, true] {
            let is_due = |argument: &str| split(argument).0.is_some() == of_one;
            for argument in self.registry_ca.iter().filter(|argument| is_due(argument)) {
                let (settings, path) = settings_of(&mut access, argument);
                settings.authorities = Some(read(Path::new(path), shell).await?);
            }
            // The flags come in pairs: the first key belongs to the first certificate.
            let identities = self.registry_cert.iter().zip(&self.registry_key);
            for (certificate, key) in identities.filter(|(certificate, _)| is_due(certificate)) {
                let key = read_text(Path::new(split(key).1), shell).await?;
                let (settings, path) = settings_of(&mut access, certificate);
                let certificate = read(Path::new(path), shell).await?;
                settings.identity = Some(ClientIdentity { certificate, key: key.into() });
            }
        }
        for host in &self.plain_http {
            settings_of(&mut access, &format!("{host}=")).0.plain_http = Some(true);
        }
        Ok(access)
    }
}

/// Splits `HOST=FILE`; a file alone is for all registries.
fn split(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        // A path may contain `=`, but a host cannot contain a slash.
        Some((host, path)) if !host.contains('/') => (Some(host), path),
        _ => (None, argument),
    }
}

fn settings_of<'a, 'b>(access: &'a mut Access, argument: &'b str) -> (&'a mut RegistryAccess, &'b str) {
    match split(argument) {
        (None, path) => (&mut access.everywhere, path),
        (Some(host), path) => {
            let everywhere = access.everywhere.clone();
            (access.registries.entry(host.to_ascii_lowercase()).or_insert(everywhere), path)
        }
    }
}

/// Reads a file of keys or certificates.
async fn read(path: &Path, shell: &Shell) -> Result<Vec<u8>, CliError> {
    let file = path.to_owned();
    let content = shell.read_input(&name_of_input(path), move || read_at_most(&file, MAX_CONFIG_BYTES)).await?;
    content.map_err(|error| match error.kind() {
        ErrorKind::NotFound => unopened(path, &error),
        _ => CliError::failed(format!("cannot read {}", path.display())).caused_by(&error),
    })
}

async fn read_text(path: &Path, shell: &Shell) -> Result<String, CliError> {
    let text = String::from_utf8(read(path, shell).await?);
    text.map_err(|_| CliError::failed(format!("cannot read {}", path.display())).cause("it is not text in UTF-8"))
}

/// Returns the paths of Docker's file and of Podman's files; the first existing file is used.
fn docker_config_files() -> Vec<PathBuf> {
    let variable = environment::path;
    // As in docker, no other file is used if the variable is set.
    if let Some(folder) = variable(environment::DOCKER_CONFIG) {
        return vec![folder.join("config.json")];
    }
    let in_home = std::env::home_dir().map(|home| home.join(".docker/config.json"));
    let of_podman = [
        variable(environment::REGISTRY_AUTH_FILE),
        variable(environment::XDG_RUNTIME_DIR).map(|folder| folder.join("containers/auth.json")),
    ];
    in_home.into_iter().chain(of_podman.into_iter().flatten()).collect()
}

/// Default limit for reading from a registry; `--timeout` overrides it. Writes may be large, so they have no limit as a
/// whole, only for a silent connection.
pub const READ_LIMIT: Option<Duration> = Some(fetch::TIME_LIMIT);

/// Waits for the answer of a registry, and shows the user which answer it is waiting for. `attempted` describes the
/// operation in the error after a timeout.
pub async fn answer_of<T>(
    repository: &Repository,
    shell: &Shell,
    attempted: &str,
    usual: Option<Duration>,
    answer: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    in_time(shell, &format!("the registry {}", repository.registry()), attempted, usual, answer).await
}

/// Like [`answer_of`], for several registries, or an unnamed one.
pub async fn in_time<T>(
    shell: &Shell,
    server: &str,
    attempted: &str,
    usual: Option<Duration>,
    answer: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    let answer = shell.while_waiting_for(server, "answer", answer);
    let Some(deadline) = Deadline::of_command(shell, usual) else { return answer.await };
    let late = |_| Err(deadline.out_of_time(attempted).hint("--timeout sets the deadline"));
    tokio::time::timeout_at(deadline.instant(), answer).await.unwrap_or_else(late)
}

/// Reports why a registry operation failed, with the exit code of its category and the next step.
pub fn registry_error(error: &OciError) -> CliError {
    with_next_step(CliError::new(exit_of(&error.reason), error.to_string()).caused_by(&error.reason), &error.reason)
}

fn exit_of(reason: &Reason) -> Exit {
    match reason {
        Reason::NotFound { .. } => Exit::NotFound,
        Reason::Unauthorized { .. } | Reason::UnauthorizedElsewhere { .. } | Reason::Denied { .. } => Exit::Denied,
        Reason::Unreachable { .. } | Reason::Tls { .. } | Reason::TimedOut { .. } => Exit::Unreachable,
        _ => Exit::Failed,
    }
}

fn with_next_step(error: CliError, reason: &Reason) -> CliError {
    match reason {
        Reason::Unauthorized { registry, .. } => error.hint(format!("log in with `docker login {registry}`")),
        Reason::Tls { registry, .. } => error.hint(format!(
            "for a registry with its own certificates, add --registry-ca FILE; for a registry without TLS, add --plain-http {registry}"
        )),
        Reason::Unsigned { seen: 0, skipped: None, .. } => error.hint("sign it with `cosign sign --key`, keyless signatures do not count"),
        _ => error,
    }
}

/// The default artifact of instances. The embedded distribution has the same content.
const DEFAULT_ARTIFACT: &str = "ghcr.io/controlplaneio-fluxcd/flux-operator-manifests";

/// Whether the embedded distribution may replace an artifact that cannot be pulled. It must not replace an artifact
/// with a digest, which means exact bytes.
pub fn is_default_artifact(artifact: &str) -> bool {
    let reference = artifact.parse::<Reference>().ok().filter(|reference| reference.digest().is_none());
    reference.is_some_and(|reference| reference.repository.to_string() == DEFAULT_ARTIFACT)
}

/// The source of the Flux manifests.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SourceArgs {
    /// Flux manifests to use instead of the embedded ones: a folder, an
    /// archive, an OCI image layout, an artifact in a registry, or an archive
    /// on standard input (`-`)
    ///
    /// Folders and archives are as `distribution export` writes them. Artifacts
    /// are pulled with the credentials of `docker login` and kept in the user's
    /// cache folder. SOURCE is DIR, FILE.tar.gz, oci-layout:DIR[:TAG],
    /// oci://REFERENCE or `-`.
    #[arg(
        long,
        visible_alias = "distribution-artifact",
        value_name = "SOURCE",
        value_hint = clap::ValueHint::AnyPath
    )]
    pub distribution: Option<String>,
    /// Open no connection to a registry: use what is cached
    #[arg(long)]
    pub offline: bool,
    /// Pull the artifact even if it is cached, and do not keep it
    #[arg(long)]
    pub no_cache: bool,
    /// Public key that must verify a signature of the artifact, as made by
    /// `cosign sign --key`
    #[arg(long, value_name = "FILE")]
    pub verify_key: Option<PathBuf>,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

impl SourceArgs {
    /// Whether any of the flags is set.
    pub fn is_given(&self) -> bool {
        self.distribution.is_some() || self.no_cache || self.verify_key.is_some()
    }

    /// Opens the distribution: that of the flag, or else the instance's artifact, or else the embedded one.
    pub async fn open(&self, shell: &Shell, artifact: Option<&str>) -> Result<Distribution, CliError> {
        let artifact = artifact.filter(|artifact| !artifact.is_empty());
        let text = self.distribution.as_deref().or(artifact);
        if text == Some("-") {
            if self.verify_key.is_some() {
                return Err(CliError::usage("--verify-key verifies artifacts in a registry, not standard input"));
            }
            let unusable = || CliError::failed("cannot use the distribution on standard input");
            let stdin = shell.stdin("the distribution")?;
            let read = shell.read_input("standard input", move || {
                let mut input = stdin.lock();
                let head = fetch::read_head(&mut input).map_err(|error| unusable().caused_by(&error))?;
                if fetch::is_head_of_packed(&head) {
                    // A packed file is read at random positions, and may contain a gigabyte of images.
                    let error = unusable().cause("a file of `distribution pack` cannot be read from a stream");
                    return Err(error.hint("give it as a file: --distribution FILE"));
                }
                Distribution::from_archive("standard input", head.as_slice().chain(input))
                    .map_err(|error| unusable().caused_by(&error))
            });
            return read.await?;
        }
        let source = match text {
            None => Source::Embedded,
            Some(text) => text.parse().map_err(|error: flux_operator::oci::ReferenceError| {
                CliError::usage("cannot use the distribution").caused_by(&error)
            })?,
        };
        if self.verify_key.is_some() && !matches!(source, Source::Artifact(_)) {
            let reason = FetchReason::Unverifiable;
            return Err(fetch_error(&FetchError { from: source.to_string(), digest: None, reason }));
        }
        let fetcher = self.fetcher(shell).await?;
        let distribution = match &source {
            Source::Artifact(reference) => {
                // Only the deadline of the command counts.
                let fetch = async { fetcher.fetch_within(&source, Duration::MAX).await.map_err(|e| fetch_error(&e)) };
                let attempted = format!("get the distribution from {source}");
                answer_of(&reference.repository, shell, &attempted, READ_LIMIT, fetch).await?
            }
            Source::Embedded => Distribution::embedded(),
            Source::Path(_) | Source::Layout(..) => {
                // The path may lead to a pipe, whose reading would block the runtime.
                let (runtime, from) = (tokio::runtime::Handle::current(), source.clone());
                let fetch = move || runtime.block_on(fetcher.fetch(&from));
                shell.read_input(&source.to_string(), fetch).await?.map_err(|error| fetch_error(&error))?
            }
        };
        if let Some(digest) = distribution.digest() {
            shell.status(&format!("using the distribution {source} at {digest}"));
        }
        Ok(distribution)
    }

    /// Opens the distribution of the flag for a command that only reads: nothing is pulled unless it is named.
    pub async fn open_named(&self, shell: &Shell) -> Result<Option<Distribution>, CliError> {
        match &self.distribution {
            Some(_) => self.open(shell, None).await.map(Some),
            None if self.verify_key.is_some() => {
                Err(CliError::usage("--verify-key verifies artifacts that are pulled, but no artifact is pulled")
                    .hint(NOTHING_TO_VERIFY))
            }
            None => Ok(None),
        }
    }

    /// Opens the last artifact of an instance from the cache, without a connection, because a read must not pull an
    /// artifact.
    pub async fn open_cached(&self, artifact: &str, digest: &str) -> Option<Distribution> {
        let (reference, digest) = (artifact.parse::<Reference>().ok()?, digest.parse().ok()?);
        let fetcher = Fetcher { registries: None, cache: artifact_cache(), memory: None, key: None };
        fetcher.fetch(&Source::Artifact(reference.at(digest))).await.ok()
    }

    pub async fn fetcher(&self, shell: &Shell) -> Result<Fetcher, CliError> {
        let key = read_key(self.verify_key.as_deref(), shell).await?;
        let registries = if self.offline { None } else { Some(self.registry.open(shell).await?) };
        let cache = if self.no_cache { None } else { artifact_cache() };
        Ok(Fetcher { registries, cache, memory: None, key })
    }
}

/// The cache of pulled artifacts; `None` where the user has no folder for caches.
fn artifact_cache() -> Option<ArtifactCache> {
    let folder = environment::cache_folder()?.join("artifacts");
    Some(ArtifactCache { folder, max_bytes: DEFAULT_CACHE_BYTES })
}

/// Reads the public key of a file, if one is named.
pub async fn read_key(path: Option<&Path>, shell: &Shell) -> Result<Option<PublicKey>, CliError> {
    let Some(path) = path else { return Ok(None) };
    let bytes = read(path, shell).await?;
    PublicKey::parse(&bytes)
        .map(Some)
        .map_err(|problem| CliError::failed(format!("cannot use {}", path.display())).cause(problem))
}

fn fetch_error(error: &FetchError) -> CliError {
    let failure = CliError::new(exit_of_fetch(error), error.to_string()).caused_by(&error.reason);
    with_fetch_hint(failure, error)
}

pub fn exit_of_fetch(error: &FetchError) -> Exit {
    match &error.reason {
        FetchReason::Oci(oci) => exit_of(&oci.reason),
        FetchReason::TimedOut { .. } => Exit::Unhealthy,
        FetchReason::Unverifiable => Exit::Usage,
        _ => Exit::Failed,
    }
}

/// Adds advice to the error for a distribution that cannot be fetched.
pub fn with_fetch_hint(failure: CliError, error: &FetchError) -> CliError {
    match &error.reason {
        FetchReason::Oci(oci) => with_next_step(failure, &oci.reason),
        FetchReason::Offline => {
            failure.hint("leave --offline out, or pull it once while connected: artifacts are kept by their digest")
        }
        FetchReason::Distribution(_) => {
            failure.hint("write a folder of the expected layout with `flux-operator distribution export`")
        }
        FetchReason::NoLastGood { last, .. } => with_fetch_hint(failure, last),
        FetchReason::Unverifiable => failure.hint(NOTHING_TO_VERIFY),
        FetchReason::TimedOut { .. } | FetchReason::Reference(_) => failure,
    }
}
