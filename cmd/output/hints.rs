//! Advice for errors in the words of this command line: the library reports what failed and why.

use flux_operator::build::BuildError;
use flux_operator::cluster::{DeniedAccess, Reason};

/// Returns advice for a failed request, one sentence each.
pub fn of_cluster(reason: &Reason) -> Vec<String> {
    let hint = |text: &str| vec![text.to_owned()];
    match reason {
        Reason::NoCluster { .. } => {
            hint("set KUBECONFIG, or give --kubeconfig FILE, or --server URL with --token or a certificate")
        }
        Reason::NoCurrentContext { known } | Reason::ContextNotFound { known, .. } if known.is_empty() => {
            hint("the kubeconfig has no context: add one with `kubectl config set-context`")
        }
        Reason::NoCurrentContext { known } => vec![format!("choose one with --context: {}", known.join(", "))],
        Reason::ContextNotFound { known, .. } => vec![format!("known contexts: {}", known.join(", "))],
        // The kubeconfig itself may say how to get the plugin (`installHint`).
        Reason::CredentialPlugin { install_hint: Some(text), .. } => vec![text.trim().to_owned()],
        Reason::CredentialPlugin { command, .. } => vec![format!("check that `{command}` runs by itself")],
        Reason::Unreachable { .. } => {
            hint("check that the cluster runs, and the address, VPN and proxy-url of this context")
        }
        Reason::TlsNameMismatch { valid_for, .. } => match valid_for.first() {
            Some(name) => vec![format!("if this is the right server, give --tls-server-name {name}")],
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
            vec![format!("create it with `kubectl create namespace {}`", object.name)]
        }
        Reason::ApiMissing { .. } => hint("install the missing API, or check the context"),
        Reason::FieldConflict { fields } => {
            let managers: Vec<&str> = fields.iter().map(|conflict| conflict.manager.as_str()).collect();
            let managers = managers.join(", ");
            vec![format!(
                "write your values over those of {managers} with --force-conflicts, or leave the fields out to keep theirs"
            )]
        }
        Reason::Stale => hint("run the command again"),
        Reason::TimedOut { .. } => hint("check that the cluster is healthy, or wait longer with --request-timeout"),
        Reason::TooManyRequests { .. } => hint("the API server is busy: try again later"),
        Reason::Config(_)
        | Reason::NotFound { .. }
        | Reason::AlreadyExists { .. }
        | Reason::Invalid(_)
        | Reason::Server { .. }
        | Reason::Other(_) => vec![],
    }
}

fn may_i(access: &DeniedAccess) -> Option<String> {
    let (verb, resource) = (access.verb.as_ref()?, access.resource.as_ref()?);
    let place = access.namespace.as_ref().map_or("--all-namespaces".to_owned(), |n| format!("-n {n}"));
    Some(format!("check with `kubectl auth can-i {verb} {resource} {place}`, or ask for a role that allows it"))
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

    #[test]
    fn hints_name_what_was_refused_and_what_to_give() {
        let access = DeniedAccess {
            verb: Some("patch".into()),
            resource: Some("secrets".into()),
            namespace: Some("apps".into()),
            ..DeniedAccess::default()
        };
        assert!(of_cluster(&Reason::Forbidden { access })[0].contains("kubectl auth can-i patch secrets -n apps"));
        let other = DeniedAccess { message: "a webhook refused it".into(), ..DeniedAccess::default() };
        assert!(of_cluster(&Reason::Forbidden { access: other }).is_empty());
        let conflict = FieldConflict { manager: "kubectl-edit".into(), fields: vec![".spec.wait".into()] };
        let told = of_cluster(&Reason::FieldConflict { fields: vec![conflict] });
        assert!(told[0].contains("over those of kubectl-edit with --force-conflicts"), "{told:?}");
        let namespace = Reason::NotFound { object: ObjectId::new("", "Namespace", None, "apps") };
        assert!(of_cluster(&namespace)[0].contains("kubectl create namespace apps"));
        let tls = Reason::TlsNameMismatch { endpoint: Endpoint::default(), valid_for: vec!["kubernetes".into()] };
        assert_eq!(of_cluster(&tls), ["if this is the right server, give --tls-server-name kubernetes"]);
    }
}
