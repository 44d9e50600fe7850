//! Maps field managers to authors: Flux, Kubernetes itself, or others.

use std::str::FromStr;

use serde::Serialize;

use super::Component;
use super::well_known::RECONCILER_FIELD_MANAGER;

/// The author of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Author {
    /// A controller of Flux, or the operator.
    Flux,
    /// The controllers, the scheduler and the nodes of Kubernetes.
    Kubernetes,
    /// A user with a tool, or another controller.
    Other,
}

impl Author {
    /// Returns the author for a field manager.
    ///
    /// Kubernetes' components and Flux's controllers write under the names of their programs
    /// (<https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers>); Flux's controllers add `gotk-`
    /// on their own objects. `flux` is the command line, and therefore a user.
    pub fn of(manager: &str) -> Self {
        let program = manager.strip_prefix("gotk-").unwrap_or(manager);
        if manager == RECONCILER_FIELD_MANAGER || Component::from_str(program).is_ok() {
            return Author::Flux;
        }
        let is_kubernetes = manager.starts_with("kube-") || ["kubelet", "cloud-controller-manager"].contains(&manager);
        if is_kubernetes { Author::Kubernetes } else { Author::Other }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Author::Flux => "Flux",
            Author::Kubernetes => "Kubernetes",
            Author::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_are_distinguished_from_people_by_the_names_of_their_programs() {
        for manager in ["kustomize-controller", "gotk-helm-controller", "flux-operator", "source-watcher"] {
            assert_eq!(Author::of(manager), Author::Flux, "{manager}");
        }
        for manager in ["kube-controller-manager", "kubelet", "kube-scheduler"] {
            assert_eq!(Author::of(manager), Author::Kubernetes, "{manager}");
        }
        for manager in ["kubectl-edit", "kubectl", "flux", "flux-operator-ctl", "helm", "argocd-controller", ""] {
            assert_eq!(Author::of(manager), Author::Other, "{manager}");
        }
    }
}
