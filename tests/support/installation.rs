//! Objects applied by `flux install` and `flux bootstrap`: the manifests of a release with namespace, labels, registry
//! and flags, and the two objects of a sync.

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use serde_json::{Value, json};

/// The output of `flux install --export`: the manifests of the release with namespace, labels, registry and flags.
pub fn installation(namespace: &str, version: &str, components: &[Component]) -> Vec<Value> {
    let distribution = Distribution::embedded();
    let version = distribution.versions().into_iter().rfind(|known| known.name.starts_with(version)).expect("known");
    let mut roles = distribution.rbac(&version).expect("rbac");
    for role in &mut roles {
        let name = format!("{}-{namespace}", role["metadata"]["name"].as_str().unwrap());
        role["metadata"]["name"] = name.into();
        if role["roleRef"]["name"] == "crd-controller" {
            role["roleRef"]["name"] = format!("crd-controller-{namespace}").into();
        }
    }
    let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace,
        "labels": {"pod-security.kubernetes.io/warn": "restricted", "pod-security.kubernetes.io/warn-version": "latest"}}});
    let mut objects = vec![home];
    objects.extend(roles);
    objects.extend(distribution.policies(&version).expect("policies"));
    for component in components {
        objects.extend(distribution.component(&version, *component).expect("a component"));
    }
    let has_events = components.contains(&Component::NotificationController);
    for object in &mut objects {
        let kind = object["kind"].as_str().unwrap().to_owned();
        if kind == "ClusterRoleBinding" {
            for subject in object["subjects"].as_array_mut().unwrap() {
                subject["namespace"] = namespace.into();
            }
        }
        if !["Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"].contains(&kind.as_str()) {
            object["metadata"]["namespace"] = namespace.into();
        }
        for (label, value) in [("instance", namespace), ("part-of", "flux"), ("version", version.name.as_str())] {
            object["metadata"]["labels"][format!("app.kubernetes.io/{label}")] = value.into();
        }
        if kind != "Deployment" {
            continue;
        }
        object["spec"]["template"]["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
        let container = &mut object["spec"]["template"]["spec"]["containers"][0];
        container["image"] = container["image"].as_str().unwrap().replace("fluxcd/", "ghcr.io/fluxcd/").into();
        for argument in container["args"].as_array_mut().unwrap() {
            let text = argument.as_str().unwrap().to_owned();
            if text.starts_with("--events-addr") {
                let address = format!("http://notification-controller.{namespace}.svc.cluster.local./");
                *argument = format!("--events-addr={}", if has_events { address } else { String::new() }).into();
            } else if text == "--watch-all-namespaces" {
                *argument = "--watch-all-namespaces=true".into();
            }
        }
    }
    objects
}

/// The source and the Kustomization of `flux bootstrap`.
pub fn sync(namespace: &str, url: &str) -> [Value; 2] {
    let metadata = json!({"name": namespace, "namespace": namespace});
    [
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata,
            "spec": {"interval": "1m0s", "ref": {"branch": "main"}, "secretRef": {"name": namespace}, "url": url}}),
        json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata,
            "spec": {"interval": "10m0s", "path": "./clusters/prod", "prune": true, "timeout": "3m0s",
                "sourceRef": {"kind": "GitRepository", "name": namespace}}}),
    ]
}
