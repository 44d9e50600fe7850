//! ServiceAccount, Services and Deployment of each controller, made from a table of their differences.

use semver::Version;
use serde_json::{Value, json};

use crate::api::Component;
use crate::api::well_known::DEFAULT_NAMESPACE;
use crate::format::version_range::is_at_least;

/// Differences between one controller and the others.
struct Facts {
    grace_period_seconds: u64,
    /// Whether the pod has a critical priority class, so that a node evicts ordinary workloads first.
    critical: bool,
    /// Serves artifacts from a volume on /data, under its own Service.
    serves_artifacts: bool,
    /// (name, port) of the ports listed before metrics and health.
    ports: &'static [(&'static str, u16)],
    /// (name, mount path) of the emptyDir volumes. The order matters because patches may address them by index.
    volumes: &'static [(&'static str, &'static str)],
    /// (name, target port) of the Services, sorted by name.
    services: &'static [(&'static str, &'static str)],
}

const COMMON: Facts = Facts {
    grace_period_seconds: 10,
    critical: false,
    serves_artifacts: false,
    ports: &[],
    volumes: &[("temp", "/tmp")],
    services: &[],
};

const ARTIFACT_SERVER: Facts = Facts {
    critical: true,
    serves_artifacts: true,
    ports: &[("http", 9090)],
    volumes: &[("data", "/data"), ("tmp", "/tmp")],
    ..COMMON
};

const fn facts(component: Component) -> Facts {
    match component {
        Component::SourceController => Facts { services: &[("source-controller", "http")], ..ARTIFACT_SERVER },
        Component::SourceWatcher => Facts { services: &[("source-watcher", "http")], ..ARTIFACT_SERVER },
        Component::KustomizeController => Facts { grace_period_seconds: 60, critical: true, ..COMMON },
        // A Helm upgrade in progress gets time to finish.
        Component::HelmController => Facts { grace_period_seconds: 600, critical: true, ..COMMON },
        Component::NotificationController => Facts {
            ports: &[("http", 9090), ("http-webhook", 9292)],
            services: &[("notification-controller", "http"), ("webhook-receiver", "http-webhook")],
            ..COMMON
        },
        Component::ImageReflectorController => Facts { volumes: &[("temp", "/tmp"), ("data", "/data")], ..COMMON },
        Component::ImageAutomationController => COMMON,
    }
}

/// Returns the ServiceAccount, the Services by name and the Deployment, without namespaces.
pub(super) fn objects(component: Component, flux: &Version, tag: &str) -> Vec<Value> {
    let facts = facts(component);
    let name = component.as_str();
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "labels": labels(name, flux, None), "name": name },
    });
    let services = facts.services.iter().map(|(service, port)| self::service(component, flux, service, port));
    let deployment = deployment(component, &facts, flux, tag);
    std::iter::once(account).chain(services).chain(std::iter::once(deployment)).collect()
}

fn labels(name: &str, flux: &Version, control_plane: Option<&str>) -> Value {
    let mut labels = json!({ "app.kubernetes.io/component": name });
    if is_at_least(flux, 2, 4, 0) {
        labels["app.kubernetes.io/part-of"] = json!("flux");
    }
    if let Some(value) = control_plane {
        labels["control-plane"] = json!(value);
    }
    labels
}

fn service(component: Component, flux: &Version, service: &str, target_port: &str) -> Value {
    let name = component.as_str();
    // Upstream labels this Service by its own name, and selectors of monitoring tools may rely on it.
    let control_plane = if component == Component::SourceWatcher { name } else { "controller" };
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "labels": labels(name, flux, Some(control_plane)), "name": service },
        "spec": {
            "ports": [{ "name": "http", "port": 80, "protocol": "TCP", "targetPort": target_port }],
            "selector": { "app": name },
            "type": "ClusterIP",
        },
    })
}

fn deployment(component: Component, facts: &Facts, flux: &Version, tag: &str) -> Value {
    let name = component.as_str();
    let mut pod_labels = json!({ "app": name });
    if is_at_least(flux, 2, 7, 0) {
        pod_labels["app.kubernetes.io/component"] = json!(name);
        pod_labels["app.kubernetes.io/part-of"] = json!("flux");
    }
    let mut pod = json!({
        "containers": [container(component, facts, flux, tag)],
        "securityContext": { "fsGroup": 1337 },
        "serviceAccountName": name,
        "terminationGracePeriodSeconds": facts.grace_period_seconds,
        "volumes": facts.volumes.iter().map(|(name, _)| json!({ "emptyDir": {}, "name": name })).collect::<Vec<_>>(),
    });
    if facts.critical {
        pod["priorityClassName"] = json!("system-cluster-critical");
    }
    let mut spec = json!({
        "replicas": 1,
        "selector": { "matchLabels": { "app": name } },
        "template": {
            "metadata": {
                "annotations": { "prometheus.io/port": "8080", "prometheus.io/scrape": "true" },
                "labels": pod_labels,
            },
            "spec": pod,
        },
    });
    if facts.serves_artifacts {
        // Two replicas at once would serve different artifacts.
        spec["strategy"] = json!({ "type": "Recreate" });
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "labels": labels(name, flux, Some("controller")), "name": name },
        "spec": spec,
    })
}

fn container(component: Component, facts: &Facts, flux: &Version, tag: &str) -> Value {
    let name = component.as_str();
    let ports = facts.ports.iter().chain(&[("http-prom", 8080), ("healthz", 9440)]);
    // The file server answers only in the elected replica, so that the Service leads to that one.
    let (ready_path, ready_port) = if facts.serves_artifacts { ("/", "http") } else { ("/readyz", "healthz") };
    json!({
        "args": arguments(component, facts),
        "env": environment(component, flux),
        "image": format!("fluxcd/{name}:{tag}"),
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": { "httpGet": { "path": "/healthz", "port": "healthz" } },
        "name": "manager",
        "ports": ports
            .map(|(name, port)| json!({ "containerPort": port, "name": name, "protocol": "TCP" }))
            .collect::<Vec<_>>(),
        "readinessProbe": { "httpGet": { "path": ready_path, "port": ready_port } },
        "resources": {
            "limits": { "cpu": "1000m", "memory": "1Gi" },
            "requests": { "cpu": if facts.serves_artifacts { "50m" } else { "100m" }, "memory": "64Mi" },
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "volumeMounts": facts
            .volumes
            .iter()
            .map(|(name, path)| json!({ "mountPath": path, "name": name }))
            .collect::<Vec<_>>(),
    })
}

/// The order is part of the interface: our patches and those of users address arguments by index.
fn arguments(component: Component, facts: &Facts) -> Vec<String> {
    let mut arguments = Vec::new();
    if component != Component::NotificationController {
        let host = format!("notification-controller.{DEFAULT_NAMESPACE}.svc.cluster.local.");
        arguments.push(format!("--events-addr=http://{host}/"));
    }
    let common = ["--watch-all-namespaces", "--log-level=info", "--log-encoding=json", "--enable-leader-election"];
    arguments.extend(common.map(str::to_owned));
    if facts.serves_artifacts {
        arguments.push("--storage-path=/data".into());
        arguments.push(format!("--storage-adv-addr={component}.$(RUNTIME_NAMESPACE).svc.cluster.local."));
    }
    arguments
}

fn environment(component: Component, flux: &Version) -> Vec<Value> {
    let limit = |name: &str, resource: &str| {
        let source = json!({ "containerName": "manager", "resource": resource });
        json!({ "name": name, "valueFrom": { "resourceFieldRef": source } })
    };
    let namespace = json!({ "fieldRef": { "fieldPath": "metadata.namespace" } });
    let mut variables = vec![json!({ "name": "RUNTIME_NAMESPACE", "valueFrom": namespace })];
    // The root file system is read-only, and the verification of signatures caches its trust root.
    if component == Component::SourceController {
        variables.push(json!({ "name": "TUF_ROOT", "value": "/tmp/.sigstore" }));
    }
    if is_at_least(flux, 2, 3, 0) {
        // Flux 2.7 is built with Go 1.25, which reads the CPU limit itself.
        if !is_at_least(flux, 2, 7, 0) {
            variables.push(limit("GOMAXPROCS", "limits.cpu"));
        }
        variables.push(limit("GOMEMLIMIT", "limits.memory"));
    }
    variables
}
