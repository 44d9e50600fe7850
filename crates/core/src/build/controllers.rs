//! Changes of the settings to the controllers' Deployments, both main controllers and shards.
//!
//! The order of the arguments is the reference operator's, so that a takeover does not restart anything.

use serde_json::{Value, json};

use super::BuildError;
use super::settings::{Settings, Size};
use crate::api::{CONTAINER, Component, well_known};
use crate::kustomize::{JsonPatch, Operation, Resource, child_mut, kind, name, strategic_merge};

use Component::{
    HelmController, ImageAutomationController, ImageReflectorController, KustomizeController, NotificationController,
    SourceController, SourceWatcher,
};

/// The flag that sets the address under which artifacts are served.
const STORAGE_ADDRESS: &str = "--storage-adv-addr";
/// Where source-controller and source-watcher keep artifacts.
const DATA_PATH: &str = "/data";
/// The volume of the main source-controller when artifacts are persistent.
const PERSISTENT_VOLUME: &str = "persistent-data";

/// Requests and limits.
struct Resources {
    memory_request: &'static str,
    cpu_limit: &'static str,
    memory_limit: &'static str,
}

/// The CPU request of every profile.
const CPU_REQUEST: &str = "100m";

/// Applies the settings to one Deployment.
pub(super) fn configure(resource: &mut Resource, settings: &Settings) -> Result<(), BuildError> {
    let component: Option<Component> =
        // A shard has its suffix by now.
        resource.original_name().parse().ok().filter(|component| settings.has(*component));
    let is_shard =
        resource.object.pointer("/metadata/annotations").is_some_and(|a| a.get(well_known::SHARDING_ROLE).is_some());
    let object = &mut resource.object;
    merge(object, &scheduling(settings))?;
    if let Some(component) = component {
        set_base_arguments(object, component, settings)?;
        if component == SourceController && settings.storage.is_some() && !is_shard {
            let volume = json!({
                "name": PERSISTENT_VOLUME,
                "persistentVolumeClaim": { "claimName": SourceController.as_str() },
            });
            // The unused `data` volume is kept: removing it has no benefit and would differ from the reference.
            patch(object, [Operation::add("/spec/template/spec/volumes/-", volume)])?;
            mount_data(object, PERSISTENT_VOLUME)?;
        }
        if let Some(sharding) = &settings.sharding
            && settings.is_sharded(component)
            && !is_shard
        {
            // The main controllers ignore objects with the label, which the shards reconcile.
            arguments(object)?.push(json!(format!("--watch-label-selector=!{}", sharding.key)));
        }
    }
    if settings.openshift {
        // OpenShift sets user, group and seccomp profile itself, from the namespace's range.
        remove(object, "/spec/template/spec", "securityContext");
        remove(object, "/spec/template/spec/containers/0/securityContext", "seccompProfile");
        remove(object, "/spec/template/spec/containers/0/securityContext", "runAsNonRoot");
    }
    merge(object, &profile(component, settings.size))?;
    if let Some(component) = component {
        arguments(object)?.extend(extra_arguments(component, settings).into_iter().map(Value::String));
    }
    Ok(())
}

/// Turns a copy of a main Deployment into that of a shard. Its name gets the suffix later.
pub(super) fn make_shard(
    object: &mut Value,
    component: Component,
    shard: &str,
    settings: &Settings,
) -> Result<(), BuildError> {
    let Some(sharding) = &settings.sharding else { return Ok(()) };
    let app = json!(format!("{component}-{shard}"));
    patch(
        object,
        [
            // Otherwise the shard and the main Deployment would select each other's pods.
            Operation::replace("/spec/selector/matchLabels/app", app.clone()),
            Operation::replace("/spec/template/metadata/labels/app", app),
        ],
    )?;
    if serves_artifacts(component) {
        let address = storage_address(&format!("{component}-{shard}"), &settings.domain);
        // Appended, because `set_base_arguments` later rewrites the first of two equal flags, and a controller obeys
        // the last.
        arguments(object)?.push(json!(format!("{STORAGE_ADDRESS}={address}")));
    }
    if component == SourceController && sharding.is_persistent() {
        let volume = format!("{PERSISTENT_VOLUME}-{shard}");
        let claim = format!("{component}-{shard}");
        let source = json!({ "name": volume, "persistentVolumeClaim": { "claimName": claim } });
        patch(object, [Operation::replace("/spec/template/spec/volumes/0", source)])?;
        mount_data(object, &volume)?;
    }
    arguments(object)?.push(json!(format!("--watch-label-selector={}={shard}", sharding.key)));
    Ok(())
}

/// The address of notification-controller for events; empty when it is not installed.
fn events_address(settings: &Settings) -> String {
    if settings.has(NotificationController) {
        format!("http://{NotificationController}.{}.svc.{}./", settings.namespace, settings.domain)
    } else {
        String::new()
    }
}

fn storage_address(service: &str, domain: &str) -> String {
    // The dot at the end makes the name absolute, so that the pod's search domains are not tried first.
    format!("{service}.$(RUNTIME_NAMESPACE).svc.{domain}.")
}

fn serves_artifacts(component: Component) -> bool {
    matches!(component, SourceController | SourceWatcher)
}

fn set_base_arguments(object: &mut Value, component: Component, settings: &Settings) -> Result<(), BuildError> {
    if component != NotificationController {
        set_argument(object, "--events-addr", &events_address(settings))?;
    }
    set_argument(object, "--watch-all-namespaces", "true")?;
    set_argument(object, "--log-level", "info")?;
    if serves_artifacts(component) {
        set_argument(object, STORAGE_ADDRESS, &storage_address(component.as_str(), &settings.domain))?;
    }
    Ok(())
}

/// Every Deployment runs on Linux nodes, with the pull secret if there is one.
fn scheduling(settings: &Settings) -> Value {
    let mut pod = json!({ "nodeSelector": { "kubernetes.io/os": "linux" } });
    if let (Some(secret), Some(pod)) = (&settings.image_pull_secret, pod.as_object_mut()) {
        pod.insert("imagePullSecrets".to_string(), json!([{ "name": secret }]));
    }
    json!({ "spec": { "template": { "spec": pod } } })
}

/// Labels, annotations and resources of a sizing profile; some of them apply without a profile too.
fn profile(component: Option<Component>, size: Option<Size>) -> Value {
    let mut template = json!({
        "metadata": {
            "labels": { well_known::PART_OF_LABEL: "flux" },
            // Without it, cluster-autoscaler keeps nodes whose pods have local storage.
            "annotations": { "cluster-autoscaler.kubernetes.io/safe-to-evict": "true" },
        },
    });
    let Some(size) = size else { return json!({ "spec": { "template": template } }) };
    if let (Some(resources), Some(template)) = (resources(component, size), template.as_object_mut()) {
        let resources = json!({
            "requests": { "cpu": CPU_REQUEST, "memory": resources.memory_request },
            "limits": { "cpu": resources.cpu_limit, "memory": resources.memory_limit },
        });
        template.insert("spec".to_string(), json!({ "containers": [{ "name": CONTAINER, "resources": resources }] }));
    }
    json!({
        "metadata": { "annotations": { well_known::PROFILE_ANNOTATION: size.as_str() } },
        "spec": { "template": template },
    })
}

fn resources(component: Option<Component>, size: Size) -> Option<Resources> {
    let of = |memory_request, cpu_limit, memory_limit| Some(Resources { memory_request, cpu_limit, memory_limit });
    match (size, component) {
        (Size::Small, _) => of("64Mi", "1000m", "512Mi"),
        (Size::Medium, Some(KustomizeController | HelmController | SourceController)) => of("128Mi", "2000m", "1Gi"),
        (Size::Large, Some(KustomizeController | HelmController)) => of("256Mi", "3000m", "3Gi"),
        (Size::Large, Some(SourceController)) => of("256Mi", "2000m", "2Gi"),
        (Size::Medium | Size::Large, _) => None,
    }
}

/// The arguments that profiles and features append, in order.
fn extra_arguments(component: Component, settings: &Settings) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |text: &str| arguments.push(text.to_string());
    let applies = matches!(component, KustomizeController | HelmController);

    if let Some(size) = settings.size {
        // These are the reference operator's values.
        let (concurrent, requeue, cache) = match size {
            Size::Small => (5, 10, 10),
            Size::Medium => (10, 5, 50),
            Size::Large => (20, 5, 100),
        };
        if applies {
            add(&format!("--concurrent={concurrent}"));
            add(&format!("--requeue-dependency={requeue}s"));
        }
        if component == SourceController {
            add(&format!("--helm-cache-max-size={cache}"));
            add("--helm-cache-ttl=720m");
            add("--helm-cache-purge-interval=60m");
            if size != Size::Small {
                add(&format!("--concurrent={}", concurrent / 2));
            }
        }
    }

    let accounts = &settings.tenant_accounts;
    if settings.multitenant {
        if component != SourceController {
            add("--no-cross-namespace-refs=true");
        }
        if component == KustomizeController {
            add("--no-remote-bases=true");
        }
        if applies {
            add(&format!("--default-service-account={}", accounts.reconcile));
        }
    }

    // source-watcher makes ExternalArtifacts, and they are read only with this gate.
    if settings.has(SourceWatcher) && applies {
        add("--feature-gates=ExternalArtifact=true");
    }

    let identity = settings.workload_identity;
    let gated = match component {
        HelmController => identity.helm,
        SourceWatcher => false,
        _ => true,
    };
    // A second flag of this name adds to the first: gates are a map.
    if let (Some(gate), true) = (identity.gate, gated) {
        add(&format!("--feature-gates=ObjectLevelWorkloadIdentity={gate}"));
    }
    if identity.multitenant {
        match component {
            SourceController | NotificationController | ImageReflectorController | ImageAutomationController => {
                add(&format!("--default-service-account={}", accounts.reconcile));
            }
            KustomizeController => {
                add(&format!("--default-decryption-service-account={}", accounts.decryption));
                add(&format!("--default-kubeconfig-service-account={}", accounts.kube_config));
            }
            HelmController => add(&format!("--default-kubeconfig-service-account={}", accounts.kube_config)),
            SourceWatcher => {}
        }
    }
    arguments
}

/// Sets the value of the first argument with that name, or appends the argument if it is missing.
fn set_argument(object: &mut Value, flag: &str, value: &str) -> Result<(), BuildError> {
    let arguments = arguments(object)?;
    let text = json!(format!("{flag}={value}"));
    let is_flag = |argument: &&mut Value| {
        let argument = argument.as_str().unwrap_or_default();
        argument == flag || argument.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
    };
    match arguments.iter_mut().find(is_flag) {
        Some(argument) => *argument = text,
        None => arguments.push(text),
    }
    Ok(())
}

fn arguments(object: &mut Value) -> Result<&mut Vec<Value>, BuildError> {
    let id = format!("{}/{}", kind(object), name(object));
    object
        .pointer_mut("/spec/template/spec/containers/0/args")
        .and_then(Value::as_array_mut)
        .ok_or_else(|| BuildError::Manifest { object: id, problem: "its first container has no args".to_string() })
}

fn mount_data(object: &mut Value, volume: &str) -> Result<(), BuildError> {
    let mount = json!({ "name": volume, "mountPath": DATA_PATH });
    patch(object, [Operation::replace("/spec/template/spec/containers/0/volumeMounts/0", mount)])
}

fn merge(object: &mut Value, change: &Value) -> Result<(), BuildError> {
    let id = format!("{}/{}", kind(object), name(object));
    strategic_merge(object, change, "apps", "Deployment")
        .map(drop)
        .map_err(|error| BuildError::Manifest { object: id, problem: error.to_string() })
}

fn patch<const N: usize>(
    object: &mut Value,
    operations: [Result<Operation, crate::kustomize::JsonPatchError>; N],
) -> Result<(), BuildError> {
    let id = format!("{}/{}", kind(object), name(object));
    operations
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .and_then(|operations| JsonPatch { operations }.apply(object))
        .map_err(|error| BuildError::Manifest { object: id, problem: error.to_string() })
}

/// Removes a field if it is there.
pub(super) fn remove(object: &mut Value, parent: &str, key: &str) {
    if let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        fields.shift_remove(key);
    }
}

/// Points a shard's Service at the shard's pods.
pub(super) fn select_shard(service: &mut Value, component: Component, shard: &str) {
    if let Some(spec) = service.get_mut("spec")
        && let Some(selector) = child_mut(spec, "selector")
    {
        selector.insert("app".to_string(), json!(format!("{component}-{shard}")));
    }
}
