//! Connects by flags and environment, and converts failures to the messages and exit codes of the command line.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use flux_operator::cluster::{
    Category, Cluster, ClusterError, ConnectOptions, InCluster, KubeconfigSource, Overrides, PluginTerminal, Retry,
    RetryObserver,
};

use crate::output::hints;
use crate::session::rehearsal;

use crate::terminal::{CliError, Exit, GlobalArgs, Shell, environment};

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
        kubeconfig: kubeconfig(flags),
        overrides: overrides(flags, context),
        proxy: environment::proxy(),
        in_cluster: in_cluster(),
        request_timeout: flags.timeout.map_or(limit, |whole| whole.0.min(limit)),
        on_retry: observer(flags.quiet || shell.has_structured_errors()),
        on_write: Some({
            let interruption = shell.interruption().clone();
            Arc::new(move || interruption.writes())
        }),
        purpose: Some(shell.command().to_owned()),
        search_path: std::env::var_os(environment::PATH),
        plugin_terminal: PluginTerminal {
            stdin: std::io::stdin().is_terminal(),
            // A code to enter elsewhere matters while the plugin runs, also to a reader of a log.
            stderr: shell.stderr_is_terminal() || !shell.has_structured_errors(),
        },
    };
    let cluster = flux_operator::cluster::connect(options).await.map_err(|e| cli_error(&e))?;
    match &flags.rehearsal {
        Some(folder) => Ok(cluster.rehearsed(Arc::new(rehearsal::open(folder)?))),
        None => Ok(cluster),
    }
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
    let mut told = CliError::new(exit, error.to_string()).caused_by(&error.reason);
    if let Some(object) = &error.object {
        told = told.object(object.lower_case());
    }
    hints::of_cluster(&error.reason).into_iter().fold(told, CliError::hint)
}

/// Returns the source of the kubeconfig: the flag, or else the list in the environment, or else the default file.
pub fn kubeconfig(flags: &GlobalArgs) -> KubeconfigSource {
    if let Some(path) = &flags.kubeconfig {
        return KubeconfigSource::File(path.clone());
    }
    let list: Vec<PathBuf> = std::env::var_os(environment::KUBECONFIG)
        .map(|list| std::env::split_paths(&list).filter(|p| !p.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    if !list.is_empty() {
        return KubeconfigSource::List(list);
    }
    KubeconfigSource::List(std::env::home_dir().map(|home| home.join(".kube").join("config")).into_iter().collect())
}

/// Returns the namespace of the selected context, for commands without a cluster; an unusable kubeconfig counts as
/// none.
pub fn context_namespace(shell: &Shell) -> Option<String> {
    let flags = shell.global();
    let config = flux_operator::cluster::kubeconfig::read(&kubeconfig(flags)).ok()?;
    flux_operator::cluster::kubeconfig::namespace(config, flags.context.as_deref())
}

/// Returns the available contexts; empty if the kubeconfig is unusable.
pub fn contexts(flags: &GlobalArgs) -> Vec<String> {
    let config = flux_operator::cluster::kubeconfig::read(&kubeconfig(flags));
    config.map(|config| flux_operator::cluster::kubeconfig::contexts(&config)).unwrap_or_default()
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

/// Reports retries, because a silent pause would look like a hang.
fn observer(quiet: bool) -> Option<RetryObserver> {
    let say = |retry: &Retry| {
        // A closed stderr must not turn a finished command into a failure.
        let _ = writeln!(std::io::stderr().lock(), "waiting: {retry}");
    };
    (!quiet).then(|| Arc::new(say) as RetryObserver)
}
