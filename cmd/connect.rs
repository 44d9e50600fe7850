//! From the flags and the environment to a cluster, and from the library's errors to the command line's.

use std::path::PathBuf;
use std::sync::Arc;

use flux_operator::cluster::{
    self, Category, Cluster, ClusterError, ConnectOptions, InCluster, KubeconfigSource, Overrides, ProxyEnvironment,
};

use crate::shell::{CliError, Exit, GlobalArgs, Shell, environment};

/// Prepares access to the cluster the flags, `KUBECONFIG` or the pod name. Makes no connection yet.
pub async fn connect(shell: &Shell) -> Result<Cluster, CliError> {
    let global = shell.global();
    let mut options = ConnectOptions::new(kubeconfig(global));
    options.overrides = Overrides {
        context: global.context.clone(),
        server: global.server.clone(),
        token: global.token.as_ref().map(|t| t.secret().clone()),
        tls_server_name: global.tls_server_name.clone(),
        certificate_authority: global.certificate_authority.clone(),
        client_certificate: global.client_certificate.clone(),
        client_key: global.client_key.clone(),
        insecure_skip_tls_verify: global.insecure_skip_tls_verify,
        as_user: global.as_user.clone(),
        as_groups: global.as_group.clone(),
        as_uid: global.as_uid.clone(),
    };
    options.proxy = ProxyEnvironment {
        https_proxy: environment::any_case("HTTPS_PROXY"),
        http_proxy: environment::any_case("HTTP_PROXY"),
        no_proxy: environment::any_case("NO_PROXY"),
    };
    options.in_cluster = environment::text(environment::KUBERNETES_SERVICE_HOST)
        .zip(environment::text(environment::KUBERNETES_SERVICE_PORT))
        .map(|(host, port)| InCluster::new(host, port));
    // No single call may outlast the whole command.
    let limit = global.request_timeout.0;
    options.request_timeout = global.timeout.map_or(limit, |whole| whole.0.min(limit));
    if !global.quiet {
        options.on_retry = Some(Arc::new(|retry| tracing::info!(%retry, "trying again")));
    }
    cluster::connect(options).await.map_err(|e| cli_error(&e))
}

fn kubeconfig(global: &GlobalArgs) -> KubeconfigSource {
    if let Some(path) = &global.kubeconfig {
        return KubeconfigSource::File(path.clone());
    }
    if let Some(list) = std::env::var_os(environment::KUBECONFIG).filter(|l| !l.is_empty()) {
        return KubeconfigSource::List(std::env::split_paths(&list).collect());
    }
    let home = std::env::home_dir().map(|home| home.join(".kube").join("config"));
    KubeconfigSource::List(home.into_iter().collect::<Vec<PathBuf>>())
}

/// Puts a failure of the cluster module into the words and the exit code of the command line.
pub fn cli_error(error: &ClusterError) -> CliError {
    let exit = match error.category() {
        Category::Failed => Exit::Failed,
        Category::NotFound => Exit::NotFound,
        Category::ApiMissing => Exit::ApiMissing,
        Category::Denied => Exit::Denied,
        Category::Unreachable => Exit::Unreachable,
        Category::TimedOut => Exit::Unhealthy,
    };
    let mut shown = CliError::new(exit, error.to_string()).caused_by(&error.reason);
    if let Some(object) = &error.object {
        shown = shown.object(object.to_string());
    }
    error.hints().into_iter().fold(shown, CliError::hint)
}
