//! Connects by flags and environment, and converts failures to the messages and exit codes of the command line.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use flux_operator::cluster::{
    Category, Cluster, ClusterError, ConnectOptions, InCluster, KubeconfigSource, Overrides, PluginRuns,
    PluginTerminal, Retry, RetryObserver,
};

use crate::output::hints;

use crate::terminal::{CliError, Exit, GlobalArgs, Shell, environment, stderr_line};

/// Several contexts often have the same user, whose credential plugin may take seconds, so its result is shared.
static PLUGIN_RUNS: LazyLock<PluginRuns> = LazyLock::new(PluginRuns::default);
/// The kubeconfig of a command for many clusters, read once.
static SHARED_KUBECONFIG: OnceLock<KubeconfigSource> = OnceLock::new();

/// Prepares access to the cluster that flags, environment and kubeconfig select; `context` is the name of a context,
/// `None` the current one. Opens no connection.
pub async fn connect(shell: &Shell, context: Option<&str>) -> Result<Cluster, CliError> {
    let flags = shell.global();
    if flags.insecure_skip_tls_verify {
        shell.warn("the server's certificate is not verified (--insecure-skip-tls-verify)");
    }
    if flags.token.is_some() && shell.stderr_is_terminal() {
        shell.warn("other users of this machine can see --token; a kubeconfig with tokenFile hides it");
    }
    // A single call must not exceed the limit of the whole command.
    let limit = flags.request_timeout.0;
    let options = ConnectOptions {
        kubeconfig: SHARED_KUBECONFIG.get().cloned().unwrap_or_else(|| kubeconfig(flags)),
        overrides: overrides(flags, context),
        proxy: environment::proxy(),
        in_cluster: in_cluster(),
        request_timeout: flags.timeout.map_or(limit, |whole| whole.0.min(limit)),
        // Among many clusters some are usually unreachable, and the lines would not show which cluster they are about.
        on_retry: observer(flags.quiet || shell.has_structured_errors() || flags.asks_many_clusters()),
        // From the first write on, an interrupt must not claim that nothing was changed.
        on_write: Some({
            let interruption = shell.interruption().clone();
            Arc::new(move || interruption.writes())
        }),
        purpose: Some(shell.command().to_owned()),
        plugin_runs: flags.asks_many_clusters().then(|| PLUGIN_RUNS.clone()),
        search_path: std::env::var_os(environment::PATH),
        plugin_terminal: PluginTerminal {
            // Several plugins cannot ask questions on one terminal at the same time.
            stdin: !flags.asks_many_clusters() && std::io::stdin().is_terminal(),
            // A plugin may print a code that the user must enter elsewhere while the plugin runs, so its output is
            // shown in logs, too.
            stderr: shell.stderr_is_terminal() || !shell.has_structured_errors(),
        },
    };
    flux_operator::cluster::connect(options).await.map_err(|e| cli_error(&e))
}

/// Reports what failed, why, and what to do next, with the exit code of its category.
pub fn cli_error(error: &ClusterError) -> CliError {
    let exit = match error.category() {
        Category::Failed => Exit::Failed,
        Category::NotFound => Exit::NotFound,
        Category::ApiMissing => Exit::ApiMissing,
        Category::Denied => Exit::Denied,
        Category::Unreachable => Exit::Unreachable,
        Category::TimedOut => Exit::Unhealthy,
    };
    let mut failure = CliError::new(exit, error.to_string()).caused_by(&error.reason);
    if let Some(object) = &error.object {
        failure = failure.object(object.lower_case());
    }
    hints::of_cluster(&error.reason).into_iter().fold(failure, CliError::hint)
}

/// Returns the source of the kubeconfig: the flag, or else the list in the environment, or else the default file.
pub fn kubeconfig(flags: &GlobalArgs) -> KubeconfigSource {
    if let Some(path) = &flags.kubeconfig {
        return KubeconfigSource::File(path.clone());
    }
    // kubectl skips empty entries of the list, too.
    let list: Vec<PathBuf> = std::env::var_os(environment::KUBECONFIG)
        .map(|list| std::env::split_paths(&list).filter(|p| !p.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    if !list.is_empty() {
        return KubeconfigSource::List(list);
    }
    KubeconfigSource::List(std::env::home_dir().map(|home| home.join(".kube").join("config")).into_iter().collect())
}

/// Returns the namespace of the selected context, for commands that use no cluster; `None` if the kubeconfig is
/// unusable.
pub fn context_namespace(flags: &GlobalArgs) -> Option<String> {
    let config = flux_operator::cluster::kubeconfig::read(&kubeconfig(flags)).ok()?;
    flux_operator::cluster::kubeconfig::namespace(&config, flags.context.as_deref())
}

/// Returns the available contexts; empty if the kubeconfig is unusable.
pub fn contexts(flags: &GlobalArgs) -> Vec<String> {
    let config = flux_operator::cluster::kubeconfig::read(&kubeconfig(flags));
    config.map(|config| flux_operator::cluster::kubeconfig::contexts(&config)).unwrap_or_default()
}

/// Returns the contexts with the addresses of their servers. Later connections of the process use the kubeconfig as it
/// was read here.
///
/// # Errors
/// Unreachable, when the kubeconfig cannot be used.
pub async fn contexts_with_servers(shell: &Shell) -> Result<Vec<(String, String)>, CliError> {
    let source = kubeconfig(shell.global());
    let read = move || flux_operator::cluster::kubeconfig::read(&source);
    let config = shell.read_input("the kubeconfig", read).await?.map_err(|reason| {
        CliError::new(Exit::Unreachable, "cannot read the contexts of the kubeconfig").caused_by(&reason)
    })?;
    let contexts = flux_operator::cluster::contexts_with_servers(&config);
    let _ = SHARED_KUBECONFIG.set(KubeconfigSource::Loaded(config));
    Ok(contexts)
}

fn overrides(flags: &GlobalArgs, context: Option<&str>) -> Overrides {
    Overrides {
        context: context.map(str::to_owned),
        server: flags.kube_server.clone().or_else(|| flags.server.clone()),
        token: flags.token.as_ref().map(|t| t.secret().clone()),
        tls_server_name: flags.tls_server_name.clone(),
        certificate_authority: flags.certificate_authority.clone(),
        client_certificate: flags.client_certificate.clone(),
        client_key: flags.client_key.clone(),
        insecure_skip_tls_verify: flags.insecure_skip_tls_verify,
        as_user: flags.as_user.clone(),
        as_groups: flags.as_group.clone(),
        as_uid: flags.as_uid.clone(),
    }
}

fn in_cluster() -> Option<InCluster> {
    let host = environment::text(environment::SERVICE_HOST)?;
    Some(InCluster::new(host, environment::text(environment::SERVICE_PORT)?))
}

/// Reports retries, because a silent pause would look like a hang. Each problem is reported at once and then at
/// intervals, with the number of failed attempts of all requests with this problem.
fn observer(quiet: bool) -> Option<RetryObserver> {
    const AGAIN: Duration = Duration::from_secs(5);
    let known: Mutex<HashMap<String, (u32, Instant)>> = Mutex::default();
    let say = move |retry: &Retry| {
        let now = Instant::now();
        let attempts = {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let (attempts, printed) = known.entry(retry.problem.clone()).or_insert((0, now));
            *attempts += 1;
            if *attempts > 1 && now.duration_since(*printed) < AGAIN {
                return;
            }
            *printed = now;
            *attempts
        };
        let attempts = if attempts > 1 { format!(" ({attempts} attempts failed)") } else { String::new() };
        stderr_line(&format!("waiting: {retry}{attempts}"));
    };
    (!quiet).then(|| Arc::new(say) as RetryObserver)
}
