//! Advice for errors, with commands and flags of this program. The library only reports what failed and why.

use flux_operator::build::BuildError;
use flux_operator::cluster::{DeniedAccess, Reason};

use crate::output::next_step::{Destination, word};

/// Limits each request.
pub const REQUEST_TIMEOUT: &str = "--request-timeout";
/// Limits the whole command.
pub const TIMEOUT: &str = "--timeout";

/// Advice for an error. It is worded when the error is printed, because some advice depends on global flags.
#[derive(Clone, Debug)]
pub enum Hint {
    Words(String),
    /// A command line of kubectl for the cluster of the command, with the words before and after it.
    Kubectl {
        before: &'static str,
        arguments: String,
        after: &'static str,
    },
    /// The words before the flag that allows more time.
    WaitLonger(&'static str),
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Hint {
        Hint::Words(text.into())
    }
}

impl Hint {
    /// Returns the sentence for the cluster at `destination`. `time_flag` is the flag of the limit that ends a request
    /// first.
    pub fn sentence(&self, destination: &Destination, time_flag: &str) -> String {
        match self {
            Hint::Words(words) => words.clone(),
            Hint::Kubectl { before, arguments, after } => {
                format!("{before}`kubectl{} {arguments}`{after}", destination.flags())
            }
            Hint::WaitLonger(before) => format!("{before} {time_flag}"),
        }
    }
}

fn hint(text: impl Into<String>) -> Vec<Hint> {
    vec![Hint::Words(text.into())]
}

/// Returns advice for a failed request, one sentence each.
pub fn of_cluster(reason: &Reason) -> Vec<Hint> {
    match reason {
        Reason::NoCluster { .. } => {
            hint("set KUBECONFIG, or give --kubeconfig FILE, or --server URL with --token or a certificate")
        }
        Reason::NoCurrentContext { known } | Reason::ContextNotFound { known, .. } if known.is_empty() => {
            hint("the kubeconfig has no context: add one with `kubectl config set-context`")
        }
        Reason::NoCurrentContext { known } => hint(format!("choose one with --context: {}", known.join(", "))),
        Reason::ContextNotFound { known, .. } => hint(format!("known contexts: {}", known.join(", "))),
        // The kubeconfig may explain how to install the plugin (`installHint`).
        Reason::CredentialPlugin { install_hint: Some(text), .. } => hint(text.trim()),
        Reason::CredentialPlugin { command, .. } => hint(format!("check that `{command}` runs when started directly")),
        Reason::Unreachable { .. } => {
            hint("check that the cluster runs, and the address, VPN and proxy-url of this context")
        }
        Reason::TlsNameMismatch { valid_for, .. } => match valid_for.first() {
            Some(name) => hint(format!("if this is the right server, give --tls-server-name {name}")),
            None => hint("if this is the right server, give --tls-server-name"),
        },
        Reason::Tls { .. } => hint("check certificate-authority of this context, or give --certificate-authority FILE"),
        Reason::Unauthorized { .. } => hint("log in again, or check the user of this context"),
        Reason::ExpiredCertificate { .. } => {
            hint("renew the client certificate: fetch a new kubeconfig from the owner of the cluster")
        }
        Reason::ExpiredToken { .. } => hint("log in again to get a new token"),
        Reason::Forbidden { access } => may_i(access).into_iter().collect(),
        Reason::NotFound { object } if object.kind.eq_ignore_ascii_case("namespace") => {
            let arguments = format!("create namespace {}", word(&object.name));
            vec![Hint::Kubectl { before: "create it with ", arguments, after: "" }]
        }
        Reason::ApiMissing { .. } => hint("install the missing API, or check the context"),
        Reason::FieldConflict { fields } => {
            let managers: Vec<&str> = fields.iter().map(|conflict| conflict.manager.as_str()).collect();
            let managers = managers.join(", ");
            hint(format!(
                "write your values over those of {managers} with --force-conflicts, or leave the fields out to keep theirs"
            ))
        }
        Reason::Stale => hint("run the command again"),
        Reason::TimedOut { .. } => {
            vec![Hint::WaitLonger("check that the cluster is healthy, or wait longer with")]
        }
        Reason::TooManyRequests { .. } => hint("the API server is busy: try again later"),
        Reason::Config(_)
        | Reason::NotFound { .. }
        | Reason::AlreadyExists { .. }
        | Reason::Invalid(_)
        | Reason::Server { .. }
        | Reason::Other(_) => vec![],
    }
}

fn may_i(access: &DeniedAccess) -> Option<Hint> {
    let (verb, resource) = (access.verb.as_ref()?, access.resource.as_ref()?);
    let place = access.namespace.as_ref().map_or("--all-namespaces".to_owned(), |n| format!("-n {n}"));
    let arguments = format!("auth can-i {verb} {resource} {place}");
    Some(Hint::Kubectl { before: "check with ", arguments, after: ", or ask for a role that allows it" })
}

/// Returns advice for a failed build.
pub fn of_build(error: &BuildError) -> Option<String> {
    match error {
        BuildError::NoVersion { .. } => Some("list the versions with `flux-operator distribution versions`".to_owned()),
        BuildError::Downgrade { .. } => Some(
            "go back with `flux-operator rollback instance`, or reinstall: `flux-operator uninstall instance --keep-crds`, \
             then apply again"
                .to_owned(),
        ),
        other => other.hint(),
    }
}

#[cfg(test)]
mod tests {
    use flux_operator::cluster::{Endpoint, FieldConflict};
    use flux_operator::k8s::ObjectId;

    use super::*;

    fn worded(reason: &Reason) -> Vec<String> {
        let there = Destination { context: Some("prod eu".into()), kubeconfig: None };
        of_cluster(reason).iter().map(|hint| hint.sentence(&there, TIMEOUT)).collect()
    }

    #[test]
    fn hints_name_what_was_refused_and_what_to_give() {
        let access = DeniedAccess {
            verb: Some("patch".into()),
            resource: Some("secrets".into()),
            namespace: Some("apps".into()),
            ..DeniedAccess::default()
        };
        let kubectl = "`kubectl --context 'prod eu'";
        assert_eq!(
            worded(&Reason::Forbidden { access }),
            [format!("check with {kubectl} auth can-i patch secrets -n apps`, or ask for a role that allows it")]
        );
        let other = DeniedAccess { message: "a webhook refused it".into(), ..DeniedAccess::default() };
        assert!(worded(&Reason::Forbidden { access: other }).is_empty());
        let conflict = FieldConflict { manager: "kubectl-edit".into(), fields: vec![".spec.wait".into()] };
        let conflict = worded(&Reason::FieldConflict { fields: vec![conflict] });
        assert!(conflict[0].contains("over those of kubectl-edit with --force-conflicts"), "{conflict:?}");
        let namespace = Reason::NotFound { object: ObjectId::new("", "Namespace", None, "apps") };
        assert_eq!(worded(&namespace), [format!("create it with {kubectl} create namespace apps`")]);
        let tls = Reason::TlsNameMismatch { endpoint: Endpoint::default(), valid_for: vec!["kubernetes".into()] };
        assert_eq!(worded(&tls), ["if this is the right server, give --tls-server-name kubernetes"]);
    }
}
