//! Flags of all commands: the cluster, time limits, and verbosity.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use flux_operator::format::go_duration;
use flux_operator::k8s::names::is_dns_label;

use crate::output::hints::{REQUEST_TIMEOUT, TIMEOUT};
use crate::output::next_step::Destination;
use crate::terminal::environment;

const CLUSTER: &str = "Cluster options";
const GENERAL: &str = "General options";

/// Reads the name of a namespace, which may be empty.
fn namespace(word: &str) -> Result<String, String> {
    match word.is_empty() || is_dns_label(word) {
        true => Ok(word.to_owned()),
        false => Err("a namespace has lower-case letters, digits and dashes only".to_owned()),
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct GlobalArgs {
    /// Namespace to work in [default: the context's, else all for lists and
    /// flux-system for everything else]
    #[arg(short, long, global = true, value_name = "NAMESPACE", env = environment::NAMESPACE, hide_env = true, value_parser = namespace, help_heading = CLUSTER)]
    pub namespace: Option<String>,
    /// The namespace of the configuration file.
    #[arg(skip)]
    pub usual_namespace: Option<String>,
    /// Kubeconfig file to use instead of $KUBECONFIG and ~/.kube/config
    #[arg(long, global = true, value_name = "FILE", help_heading = CLUSTER)]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig to use
    #[arg(long, global = true, alias = "kube-context", value_name = "NAME", help_heading = CLUSTER)]
    pub context: Option<String>,
    /// Ask several clusters at once: names and patterns of contexts with commas,
    /// !PATTERN to leave some out, groups of the configuration file, @FILE
    #[arg(long, global = true, value_name = "PATTERN", value_delimiter = ',', help_heading = CLUSTER)]
    pub contexts: Vec<String>,
    /// Ask the clusters of the ClusterProfiles in a context
    #[arg(long, global = true, value_name = "CONTEXT[/NAMESPACE]", help_heading = CLUSTER, hide_short_help = true)]
    pub clusters_from: Option<String>,
    /// Labels of the ClusterProfiles; also -l where a command has no -l
    #[arg(long, global = true, value_name = "LABELS", help_heading = CLUSTER, hide_short_help = true)]
    pub cluster_selector: Option<String>,
    /// How long each of several clusters may take to answer first
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s", help_heading = CLUSTER, hide_short_help = true)]
    pub cluster_timeout: DurationArg,
    /// How many of several clusters are asked at once
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..), help_heading = CLUSTER, hide_short_help = true)]
    pub parallel: u16,
    /// User to impersonate
    #[arg(long = "as", global = true, alias = "kube-as", value_name = "USER", help_heading = CLUSTER, hide_short_help = true)]
    pub as_user: Option<String>,
    /// Group to impersonate, repeatable
    #[arg(long, global = true, alias = "kube-as-group", value_name = "GROUP", help_heading = CLUSTER, hide_short_help = true)]
    pub as_group: Vec<String>,
    /// UID to impersonate
    #[arg(long, global = true, alias = "kube-as-uid", value_name = "UID", help_heading = CLUSTER, hide_short_help = true)]
    pub as_uid: Option<String>,
    /// Bearer token; visible to other users of this machine
    #[arg(long, global = true, alias = "kube-token", value_name = "TOKEN", help_heading = CLUSTER, hide_short_help = true)]
    pub token: Option<SecretArg>,
    /// Address of the API server
    #[arg(long, global = true, value_name = "URL", help_heading = CLUSTER, hide_short_help = true)]
    pub server: Option<String>,
    /// Address of the API server, also where --server means something else
    #[arg(long, global = true, value_name = "URL", hide = true, conflicts_with = "server")]
    pub kube_server: Option<String>,
    /// Name the server's certificate is checked against
    #[arg(long, global = true, alias = "kube-tls-server-name", value_name = "NAME", help_heading = CLUSTER, hide_short_help = true)]
    pub tls_server_name: Option<String>,
    /// File with the server's certificate authority
    #[arg(long, global = true, alias = "kube-certificate-authority", value_name = "FILE", help_heading = CLUSTER, hide_short_help = true)]
    pub certificate_authority: Option<PathBuf>,
    /// File with the client certificate
    #[arg(long, global = true, alias = "kube-client-certificate", value_name = "FILE", help_heading = CLUSTER, hide_short_help = true)]
    pub client_certificate: Option<PathBuf>,
    /// File with the client certificate's private key
    #[arg(long, global = true, alias = "kube-client-key", value_name = "FILE", help_heading = CLUSTER, hide_short_help = true)]
    pub client_key: Option<PathBuf>,
    /// Do not verify the server's certificate
    #[arg(long, global = true, alias = "kube-insecure-skip-tls-verify", help_heading = CLUSTER, hide_short_help = true)]
    pub insecure_skip_tls_verify: bool,
    /// Longest wait for one API call, as 10s, 1m or seconds; a credential plugin
    /// may prompt on its first run, so --timeout limits that run instead
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s", help_heading = CLUSTER, hide_short_help = true)]
    pub request_timeout: DurationArg,
    /// Deadline of the whole command, as 90s, 5m or seconds [default: 5m where it
    /// waits, 1m where it reads a cluster, 2m a registry; none to push or copy]
    #[arg(long, global = true, value_name = "DURATION", env = environment::TIMEOUT, hide_env = true, help_heading = GENERAL)]
    pub timeout: Option<DurationArg>,
    /// Increase verbosity (-v steps, -vv requests)
    // kubectl's numbers are accepted as well, as in `-v=6`.
    #[arg(short, long, global = true, alias = "v", action = clap::ArgAction::Append, num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = verbosity, value_name = "LEVEL", hide_possible_values = true, help_heading = GENERAL)]
    pub verbose: Vec<u8>,
    /// Print only data, warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GENERAL)]
    pub quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = GENERAL)]
    pub color: Color,
}

/// Maps kubectl's numbers to levels of this program: 1 to 5 log steps, like `-v`; 6 and more also log requests, like
/// `-vv`.
fn verbosity(text: &str) -> Result<u8, std::num::ParseIntError> {
    Ok(match text.parse()? {
        0 => 0,
        1..=5 => 1,
        6u8.. => 2,
    })
}

impl GlobalArgs {
    /// Returns the flags that select the cluster, for further command lines.
    pub fn destination(&self) -> Destination {
        Destination { context: self.context.clone(), kubeconfig: self.kubeconfig.clone() }
    }

    /// Returns the flag of the limit that ends a request first.
    pub fn time_flag(&self) -> &'static str {
        match &self.timeout {
            Some(whole) if whole.0 <= self.request_timeout.0 => TIMEOUT,
            _ => REQUEST_TIMEOUT,
        }
    }

    /// Returns how much is logged: 0 for nothing more, 1 for steps, 2 for requests as well.
    pub fn verbosity(&self) -> u8 {
        self.verbose.iter().fold(0, |sum, level| sum.saturating_add(*level))
    }

    /// Returns the requested namespace, of the flag or the configuration file.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().or(self.usual_namespace.as_deref())
    }

    /// Reports whether the command is to run for several clusters.
    pub fn asks_many_clusters(&self) -> bool {
        !self.contexts.is_empty() || self.clusters_from.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    pub fn as_str(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }

    /// Whether a stream may have colour, given whether it is a terminal.
    pub fn enabled(self, terminal: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !environment::is_dumb() && !environment::is_set(environment::NO_COLOR),
        }
    }
}

/// Secret text from the command line; its `Debug` hides it.
#[derive(Clone)]
pub struct SecretArg(secrecy::SecretString);

impl SecretArg {
    pub fn secret(&self) -> &secrecy::SecretString {
        &self.0
    }
}

impl std::fmt::Debug for SecretArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

impl FromStr for SecretArg {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(SecretArg(text.to_owned().into()))
    }
}

/// A positive duration: Go's notation (`1m30s`), or a bare number of seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DurationArg(pub Duration);

impl FromStr for DurationArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a duration: write 90s, 5m, 1h30m, or a number of seconds");
        let duration = match text.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Err(_) => go_duration::parse(text).ok().and_then(|duration| Duration::try_from(duration).ok()),
        };
        duration.filter(|duration| !duration.is_zero()).map(DurationArg).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_go_text_or_seconds() {
        for (text, millis) in [("3", 3000), ("3s", 3000), ("1m30s", 90_000), ("500ms", 500), ("1.5h", 5_400_000)] {
            assert_eq!(text.parse::<DurationArg>(), Ok(DurationArg(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "s", "3x", "-3", "1m-", "1 m", "inf", "nan", "0", "0s"] {
            assert!(text.parse::<DurationArg>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_token_is_hidden_in_debug_output() {
        let token: SecretArg = "canary".parse().unwrap();
        assert_eq!(format!("{token:?}"), "[redacted]");
    }
}
