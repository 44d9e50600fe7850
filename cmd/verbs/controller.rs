//! `controller`: the operator as a service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Arg;
use flux_operator::cluster::lease::{self, LeaseOptions};
use flux_operator::controller::{
    self, ControllerOptions, Endpoints, NotificationPolicy, RetryDelays, ServedAddress, Telemetry,
};
use flux_operator::fetch::{Fetcher, Memory};
use flux_operator::inspect::incident::report::platform;
use flux_operator::oci::RegistryCredentials;
use tokio::sync::watch;

use crate::flows::operator::VERSION;
use crate::session::connect::connect;
use crate::session::registries::{RegistryArgs, read_key};
use crate::terminal::logging;
use crate::terminal::logging::{Encoding, Level};
use crate::terminal::{CliError, DurationArg, Exit, Shell, environment, interrupted};

const ELECTION: &str = "Leader election";
const SERVICE: &str = "Service";

/// Run as the operator: reconcile the FluxInstance `flux` of one namespace
///
/// Installs and upgrades Flux according to the spec of the instance, retries failures, reconciles at intervals, reports
/// events and metrics, and uninstalls Flux when the instance is deleted. Runs in a pod (`flux-operator install`), or
/// anywhere with a kubeconfig. If several operators run, only the holder of lease/flux-operator reconciles. SIGUSR1
/// writes the current state to the log.
#[derive(clap::Args, Debug)]
#[command(args = unserved_flags(), after_help = "Examples:\n  \
    # In a pod, with the rights of its service account\n  \
    flux-operator controller\n\n  \
    # On this machine, against the current context, to see what it does\n  \
    RUNTIME_NAMESPACE=flux-system flux-operator controller --log-encoding console")]
pub struct Args {
    /// Concurrent requests of one reconciliation, and concurrent reconciliations of
    /// ResourceSets
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrent: u16,
    /// How often the FluxReport is written when nothing changes
    #[arg(long, value_name = "DURATION", default_value = "5m", env = environment::REPORTING_INTERVAL)]
    pub reporting_interval: DurationArg,
    /// Additional field manager whose fields are taken over, repeatable
    #[arg(long, value_name = "NAME", env = environment::OVERRIDE_MANAGERS, value_delimiter = ',')]
    pub override_manager: Vec<String>,
    /// Service account for ResourceSets that do not name one: their objects are
    /// applied with its rights in the namespace of the set
    #[arg(long, value_name = "NAME", env = environment::DEFAULT_SERVICE_ACCOUNT)]
    pub default_service_account: Option<String>,
    /// How soon the dependencies of a ResourceSet are checked again
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub requeue_dependency: DurationArg,
    /// Labels of ConfigMaps and Secrets whose changes trigger a reconciliation
    /// of the ResourceSets that use them
    #[arg(long, value_name = "SELECTOR", default_value = "reconcile.fluxcd.io/watch=Enabled")]
    pub watch_configs_label_selector: String,
    /// Pause after a failure; it doubles with each further failure
    #[arg(long, value_name = "DURATION", default_value = "750ms")]
    pub min_retry_delay: DurationArg,
    /// Longest pause between two attempts
    #[arg(long, value_name = "DURATION", default_value = "15m")]
    pub max_retry_delay: DurationArg,
    /// Maximum change of intervals in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub interval_jitter_percentage: u8,
    /// Address of /metrics; 0 disables it
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", help_heading = SERVICE)]
    pub metrics_addr: Address,
    /// Address of /healthz and /readyz; 0 disables it
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", help_heading = SERVICE)]
    pub health_addr: Address,
    /// Format of the log
    #[arg(long, value_name = "ENCODING", default_value = "json", value_enum, help_heading = SERVICE)]
    pub log_encoding: Encoding,
    /// Level of the log
    #[arg(long, value_name = "LEVEL", default_value = "info", value_enum, help_heading = SERVICE)]
    pub log_level: Level,
    /// Reconcile only while holding the lease
    #[arg(long, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true,
        action = clap::ArgAction::Set, value_name = "BOOL", help_heading = ELECTION)]
    pub enable_leader_election: bool,
    /// Release the lease on exit, so that the next operator can start at once
    #[arg(long, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true,
        action = clap::ArgAction::Set, value_name = "BOOL", help_heading = ELECTION)]
    pub leader_election_release_on_cancel: bool,
    /// Time without renewal after which another operator takes the lease
    #[arg(long, value_name = "DURATION", default_value = "35s", help_heading = ELECTION)]
    pub leader_election_lease_duration: DurationArg,
    /// Time after which a holder that cannot renew the lease stops reconciling
    #[arg(long, value_name = "DURATION", default_value = "30s", help_heading = ELECTION)]
    pub leader_election_renew_deadline: DurationArg,
    /// Pause between attempts to acquire or renew the lease
    #[arg(long, value_name = "DURATION", default_value = "5s", help_heading = ELECTION)]
    pub leader_election_retry_period: DurationArg,
    /// Public key, a mounted file in a pod, that must verify a signature of
    /// every artifact, as made by `cosign sign --key`
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub verify_key: Option<PathBuf>,
    #[command(flatten)]
    pub registries: RegistryArgs,
}

/// Flags of the reference operator for features that are missing here, with the reason. They are refused by name, so
/// that no installation relies on them.
const UNSERVED: [(&str, &str); 8] = [
    ("storage-path", NO_DISTRIBUTION),
    ("default-workload-identity-service-account", NO_CLOUDS),
    ("web-server-port", NO_PAGE),
    ("web-server-only", NO_PAGE),
    ("web-config", NO_PAGE),
    ("web-config-secret-name", NO_PAGE),
    ("token-cache-max-size", NO_CLOUDS),
    ("token-cache-max-duration", NO_CLOUDS),
];
const NO_DISTRIBUTION: &str =
    "the distribution is part of the program, and spec.distribution.artifact names another one; leave the flag out";
const NO_CLOUDS: &str = "identities of clouds are not used; leave the flag out";
const NO_PAGE: &str = "there is no web interface; leave the flag out";

fn unserved_flags() -> impl Iterator<Item = Arg> {
    UNSERVED.into_iter().map(|(flag, why)| {
        let refuse = move |_: &str| Err::<String, _>(why);
        // With and without a value, because the reference has flags of both forms.
        Arg::new(flag).long(flag).hide(true).num_args(0..=1).default_missing_value("true").value_parser(refuse)
    })
}

/// The address of a service: `:8080`, `127.0.0.1:8080`, or `0` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    Nowhere,
    /// All addresses of this machine.
    Everywhere(u16),
    At(SocketAddr),
}

impl std::str::FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Address::Nowhere);
        }
        let wrong = || format!("want HOST:PORT, :PORT or 0, got {text:?}");
        match text.strip_prefix(':') {
            Some(port) => port.parse().map(Address::Everywhere).map_err(|_| wrong()),
            None => text.parse().map(Address::At).map_err(|_| wrong()),
        }
    }
}

impl Address {
    async fn bind(self, flag: &str, endpoints: Endpoints) -> Result<Option<ServedAddress>, CliError> {
        let served = match self {
            Address::Nowhere => return Ok(None),
            Address::At(address) => ServedAddress::bind(address, endpoints).await,
            // Both address families, if available.
            Address::Everywhere(port) => {
                match ServedAddress::bind(SocketAddr::from(([0u16; 8], port)), endpoints).await {
                    // Try IPv4 alone, unless the port is in use: IPv4 might still be free and hide the other program.
                    Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
                        ServedAddress::bind(SocketAddr::from(([0u8; 4], port)), endpoints).await
                    }
                    bound => bound,
                }
            }
        };
        served.map(Some).map_err(|error| {
            CliError::failed(format!("cannot listen on {self}"))
                .caused_by(&error)
                .hint(format!("choose another address with {flag}, or none with {flag} 0"))
        })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Nowhere => f.write_str("no address"),
            Address::Everywhere(port) => write!(f, "port {port}"),
            Address::At(address) => address.fmt(f),
        }
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    // Before the log exists, so that wrong flags are reported as wrong usage.
    let election = election(args)?;
    logging::init_service(args.log_level, args.log_encoding);
    shell.block_on(serve(args, shell, election))?
}

/// Returns the lease to hold; its durations must fit together.
fn election(args: &Args) -> Result<Option<LeaseOptions>, CliError> {
    if !args.enable_leader_election {
        return Ok(None);
    }
    let (duration, deadline, period) = (
        args.leader_election_lease_duration.0,
        args.leader_election_renew_deadline.0,
        args.leader_election_retry_period.0,
    );
    if duration < Duration::from_secs(1) || deadline >= duration || period >= deadline {
        return Err(CliError::new(
            Exit::Usage,
            format!(
                "invalid leader election: lease duration {duration:?}, renewal deadline {deadline:?}, retry period {period:?}"
            ),
        )
        .hint("the renewal deadline must be shorter than the lease duration, and the retry period shorter than the renewal deadline"));
    }
    if duration.subsec_nanos() > 0 {
        // A Lease contains whole seconds, so followers would take over before the holder gives up.
        return Err(CliError::usage(format!("cannot hold a lease of {duration:?}"))
            .cause("a Lease of Kubernetes lasts whole seconds")
            .hint("give --leader-election-lease-duration in whole seconds, for example 35s"));
    }
    // A pod's name is its host name.
    let host = environment::host_name().unwrap_or_else(|| "operator".to_owned());
    let mut options = LeaseOptions::new(lease::unique_identity(&host));
    options.duration = duration;
    options.renew_deadline = Some(deadline);
    options.retry_period = Some(period);
    // A follower waits for the lease without a limit.
    options.wait = Duration::MAX;
    options.operator_wait = Duration::MAX;
    Ok(Some(options))
}

async fn options(args: &Args, shell: &Shell, election: Option<LeaseOptions>) -> Result<ControllerOptions, CliError> {
    let namespace = shell.global().namespace.clone();
    let namespace = namespace.or_else(|| environment::text(environment::RUNTIME_NAMESPACE));
    let notifications = match environment::text(environment::NOTIFICATION_CONTROLLER_ADDRESS) {
        Some(address) => NotificationPolicy::Address(address),
        None if environment::is_set(environment::NOTIFICATIONS_DISABLED) => NotificationPolicy::Disabled,
        None => NotificationPolicy::Installed,
    };
    // A pod has no docker configuration, so only the instance's pull secret counts.
    let registries = args.registries.open(shell).await?.with_credentials(RegistryCredentials::Anonymous);
    let key = read_key(args.verify_key.as_deref(), shell).await?;
    let fetcher = Fetcher { registries: Some(registries), cache: None, memory: Some(Memory::default()), key };
    Ok(ControllerOptions {
        namespace: namespace.unwrap_or_else(|| flux_operator::api::well_known::DEFAULT_NAMESPACE.to_owned()),
        election,
        release_on_exit: args.leader_election_release_on_cancel,
        fetcher,
        extra_managers: args.override_manager.clone(),
        notifications,
        version: VERSION.to_owned(),
        concurrency: usize::from(args.concurrent),
        host: environment::host_name().unwrap_or_default(),
        retry: RetryDelays {
            shortest: args.min_retry_delay.0,
            longest: args.max_retry_delay.0.max(args.min_retry_delay.0),
        },
        interval_jitter: args.interval_jitter_percentage,
        reporting_interval: args.reporting_interval.0,
        proxy: environment::proxy(),
        workers: usize::from(args.concurrent),
        default_service_account: args.default_service_account.clone().filter(|account| !account.is_empty()),
        requeue_dependency: args.requeue_dependency.0,
        watched_configs: args.watch_configs_label_selector.clone(),
    })
}

async fn serve(args: &Args, shell: &Shell, election: Option<LeaseOptions>) -> Result<Exit, CliError> {
    let options = options(args, shell, election).await?;
    let telemetry = Arc::new(Telemetry::new(VERSION, &platform()));
    let cluster = connect(shell, shell.global().context.as_deref()).await?;
    let cluster = cluster
        // The log contains the retries.
        .observed(Arc::new(|_| ()))
        .counted(telemetry.request_observer(&cluster.endpoint.server));
    let metrics = args.metrics_addr.bind("--metrics-addr", Endpoints::Metrics).await?;
    let health = args.health_addr.bind("--health-addr", Endpoints::Health).await?;
    for (served, what) in [(metrics, "metrics"), (health, "health")] {
        let Some(served) = served else { continue };
        if let Ok(address) = served.address() {
            tracing::info!(address = address.to_string(), "serving {what}");
        }
        tokio::spawn(served.serve(telemetry.clone()));
    }
    let (stop, stopping) = watch::channel(false);
    #[cfg(unix)]
    tokio::spawn(dump_on_request(telemetry.clone()));
    let second_signal = async {
        interrupted().await;
        tracing::info!("shutting down");
        stop.send_replace(true);
        // A second signal ends the process without waiting.
        interrupted().await;
    };
    tracing::info!(
        version = options.version,
        namespace = options.namespace,
        server = cluster.endpoint.server,
        "starting the operator"
    );
    tokio::select! {
        ended = controller::run(&cluster, options, telemetry, stopping) => {
            ended.map_err(|error| CliError::failed("the operator ended").caused_by(&error))?;
            tracing::info!("the operator has ended");
            Ok(Exit::Done)
        }
        () = second_signal => Ok(Exit::Interrupted),
    }
}

/// Writes the state to the log on each SIGUSR1.
#[cfg(unix)]
async fn dump_on_request(telemetry: Arc<Telemetry>) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut requests) = signal(SignalKind::user_defined1()) else { return };
    while requests.recv().await.is_some() {
        let state = serde_json::to_string(&telemetry.dump()).unwrap_or_default();
        tracing::info!(state, "state");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_address_is_a_port_on_all_interfaces_an_ip_with_a_port_or_0_for_none() {
        assert_eq!(":8080".parse(), Ok(Address::Everywhere(8080)));
        assert_eq!("127.0.0.1:0".parse(), Ok(Address::At(([127, 0, 0, 1], 0).into())));
        assert_eq!("0".parse(), Ok(Address::Nowhere));
        assert!("8080".parse::<Address>().is_err() && ":x".parse::<Address>().is_err());
    }
}
