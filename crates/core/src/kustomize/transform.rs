//! Transformers: namespace, name suffix, references, images, labels and annotations.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::resource::{Resource, ResourceList, child_mut, group_version, is_cluster_scoped, kind, name};

/// A new image for containers that run `name` with any tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageReplacement {
    /// The image to replace, without tag and digest.
    pub name: String,
    pub new_name: String,
    pub tag: String,
    pub digest: Option<String>,
}

/// Kinds that get no name suffix because other objects depend on their exact name.
const UNSUFFIXED: [&str; 3] = ["CustomResourceDefinition", "APIService", "Namespace"];

impl ResourceList {
    /// Sets the namespace of all namespaced objects, and renames Namespace objects to it. As in kustomize, binding
    /// subjects follow only if they are the ServiceAccount `default`, and conversion webhooks of CRDs follow too.
    pub fn set_namespace(&mut self, namespace: &str) {
        for resource in &mut self.0 {
            let (group, _) = group_version(&resource.object);
            let kind = kind(&resource.object);
            let is_binding =
                group == "rbac.authorization.k8s.io" && matches!(kind, "RoleBinding" | "ClusterRoleBinding");
            let (is_crd, is_namespace) = (kind == "CustomResourceDefinition", group.is_empty() && kind == "Namespace");
            if is_namespace {
                resource.remember_id();
                if let Some(metadata) = child_mut(&mut resource.object, "metadata") {
                    metadata.insert("name".to_string(), namespace.into());
                }
            } else if !is_cluster_scoped(group, kind) {
                resource.remember_id();
                if let Some(metadata) = child_mut(&mut resource.object, "metadata") {
                    set_after(metadata, "name", "namespace", namespace);
                }
            }
            if is_crd
                && let Some(service) = resource.object.pointer_mut("/spec/conversion/webhook/clientConfig/service")
                && let Some(service) = service.as_object_mut()
            {
                service.insert("namespace".to_string(), namespace.into());
            }
            if is_binding {
                for subject in list_mut(&mut resource.object, "subjects") {
                    if subject.get("name").and_then(Value::as_str) == Some("default")
                        && let Some(subject) = subject.as_object_mut()
                    {
                        subject.insert("namespace".to_string(), namespace.into());
                    }
                }
            }
        }
    }

    /// Appends a suffix to every name except those of CustomResourceDefinitions, APIServices and Namespaces.
    pub fn add_name_suffix(&mut self, suffix: &str) {
        for resource in &mut self.0 {
            if UNSUFFIXED.contains(&kind(&resource.object)) {
                continue;
            }
            resource.remember_id();
            let renamed = format!("{}{suffix}", name(&resource.object));
            if let Some(metadata) = child_mut(&mut resource.object, "metadata") {
                metadata.insert("name".to_string(), renamed.into());
            }
        }
    }

    /// Updates references to renamed objects: role references, subjects, service accounts and volume claims.
    ///
    /// A reference is rewritten if no object of its kind still has the name and exactly one had it before. Names of
    /// objects outside the list (`cluster-admin`) are kept.
    pub(crate) fn fix_references(&mut self) {
        let mut renamed: HashMap<(String, String), Option<String>> = HashMap::new();
        for resource in &self.0 {
            let kind = kind(&resource.object);
            let current = name(&resource.object);
            for (previous, _) in resource.names().filter(|(previous, _)| *previous != current) {
                renamed
                    .entry((kind.to_string(), previous.to_string()))
                    .and_modify(|target| {
                        // Two objects had this name, so the reference is ambiguous.
                        if target.as_deref() != Some(current) {
                            *target = None;
                        }
                    })
                    .or_insert_with(|| Some(current.to_string()));
            }
        }
        // A name in use again refers to its current object.
        for resource in &self.0 {
            renamed.remove(&(kind(&resource.object).to_string(), name(&resource.object).to_string()));
        }
        if renamed.is_empty() {
            return;
        }
        let follow = |kind: &str, name: &mut Value| {
            let Some(old) = name.as_str() else { return };
            if let Some(Some(new)) = renamed.get(&(kind.to_string(), old.to_string())) {
                *name = Value::String(new.clone());
            }
        };
        for resource in &mut self.0 {
            fix_references_of(resource, &follow);
        }
    }

    /// Replaces images of containers and init containers in pod templates.
    pub(crate) fn replace_images(&mut self, images: &[ImageReplacement]) {
        for resource in &mut self.0 {
            let Some(pod) = pod_spec_mut(&mut resource.object) else { continue };
            for field in ["initContainers", "containers"] {
                for container in pod.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(image) = container.get_mut("image")
                        && let Some(text) = image.as_str()
                        && let Some(found) = images.iter().find(|replacement| runs(text, &replacement.name))
                    {
                        let digest = found.digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
                        *image = Value::String(format!("{}:{}{digest}", found.new_name, found.tag));
                    }
                }
            }
        }
    }

    /// Sets annotations on every object and overwrites existing ones.
    pub(crate) fn set_annotations<'a>(&mut self, annotations: impl IntoIterator<Item = (&'a str, &'a str)> + Clone) {
        self.set_metadata("annotations", annotations);
    }

    /// Sets labels on every object and overwrites existing ones. Selectors and pod templates are not changed.
    pub(crate) fn set_labels<'a>(&mut self, labels: impl IntoIterator<Item = (&'a str, &'a str)> + Clone) {
        self.set_metadata("labels", labels);
    }

    /// Sets annotations on every object and on its pod template, as `commonAnnotations` does.
    pub(crate) fn set_common_annotations<'a>(
        &mut self,
        annotations: impl IntoIterator<Item = (&'a str, &'a str)> + Clone,
    ) {
        self.set_metadata("annotations", annotations.clone());
        for resource in &mut self.0 {
            if let Some(template) = pod_template_mut(&mut resource.object)
                && child_mut(template, "metadata").is_some()
                && let Some(metadata) = template.get_mut("metadata")
                && let Some(existing) = child_mut(metadata, "annotations")
            {
                existing.extend(annotations.clone().into_iter().map(|(key, value)| (key.to_string(), value.into())));
            }
        }
    }

    fn set_metadata<'a>(&mut self, field: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)> + Clone) {
        for resource in &mut self.0 {
            if child_mut(&mut resource.object, "metadata").is_some()
                && let Some(metadata) = resource.object.get_mut("metadata")
                && let Some(existing) = child_mut(metadata, field)
            {
                existing.extend(entries.clone().into_iter().map(|(key, value)| (key.to_string(), value.into())));
            }
        }
    }
}

/// Inserts a key right behind another one, so that the manifest has the usual order.
fn set_after(fields: &mut Map<String, Value>, before: &str, key: &str, value: &str) {
    if let Some(existing) = fields.get_mut(key) {
        *existing = value.into();
    } else if let Some(position) = fields.keys().position(|field| field == before) {
        fields.shift_insert(position + 1, key.to_string(), value.into());
    } else {
        fields.insert(key.to_string(), value.into());
    }
}

fn fix_references_of(resource: &mut Resource, follow: &impl Fn(&str, &mut Value)) {
    if let Some(role) = resource.object.get_mut("roleRef") {
        let kind = kind(role).to_string();
        if let Some(name) = role.get_mut("name") {
            follow(&kind, name);
        }
    }
    for subject in list_mut(&mut resource.object, "subjects") {
        if kind(subject) == "ServiceAccount"
            && let Some(name) = subject.get_mut("name")
        {
            follow("ServiceAccount", name);
        }
    }
    let Some(pod) = pod_spec_mut(&mut resource.object) else { return };
    // `serviceAccount` is the deprecated name of the same field; an exported pod has both.
    for field in ["serviceAccountName", "serviceAccount"] {
        if let Some(name) = pod.get_mut(field) {
            follow("ServiceAccount", name);
        }
    }
    for volume in list_mut(pod, "volumes") {
        if let Some(name) = volume.pointer_mut("/persistentVolumeClaim/claimName") {
            follow("PersistentVolumeClaim", name);
        }
    }
}

fn list_mut<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The pod template of a workload.
pub(crate) fn pod_template_mut(object: &mut Value) -> Option<&mut Value> {
    match kind(object) {
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "ReplicationController" | "Job" => {
            object.pointer_mut("/spec/template")
        }
        "CronJob" => object.pointer_mut("/spec/jobTemplate/spec/template"),
        _ => None,
    }
}

/// The pod spec of a workload or Pod.
pub(crate) fn pod_spec_mut(object: &mut Value) -> Option<&mut Value> {
    if kind(object) == "Pod" { object.get_mut("spec") } else { pod_template_mut(object)?.get_mut("spec") }
}

/// Whether a reference is to the image of that name, with or without tag and digest.
fn runs(image: &str, name: &str) -> bool {
    image
        .strip_prefix(name)
        // Followed by a slash, the colon belongs to the port of a registry.
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('@') || (rest.starts_with(':') && !rest.contains('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(objects: Value) -> ResourceList {
        ResourceList::from_objects(objects.as_array().unwrap().clone()).unwrap()
    }

    #[test]
    fn the_namespace_is_set_on_namespaced_objects_and_in_references() {
        let mut list = list(json!([
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {}}},
            {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "old"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
             "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "a"}, {"kind": "ServiceAccount", "name": "other", "namespace": "a"}]},
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "c"},
             "spec": {"conversion": {"webhook": {"clientConfig": {"service": {"name": "w", "namespace": "a"}}}}}}
        ]));
        list.set_namespace("ns");
        let objects = list.into_objects();
        assert_eq!(objects[0]["metadata"]["name"], "ns");
        assert_eq!(
            serde_json::to_string(&objects[1]["metadata"]).unwrap(),
            r#"{"name":"s","namespace":"ns","labels":{}}"#
        );
        assert_eq!(objects[2]["metadata"]["namespace"], "ns");
        assert_eq!(objects[3]["metadata"], json!({"name": "r"}));
        assert_eq!(objects[4]["subjects"][0]["namespace"], "ns");
        assert_eq!(objects[4]["subjects"][1]["namespace"], "a");
        assert_eq!(objects[5]["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"], "ns");
    }

    #[test]
    fn a_suffix_renames_and_references_follow() {
        let mut list = list(json!([
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "crd-controller"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}, "roleRef": {"kind": "ClusterRole", "name": "crd-controller"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
             "subjects": [{"kind": "ServiceAccount", "name": "sa"}]},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}},
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "c"}},
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
             "spec": {"template": {"spec": {"serviceAccountName": "sa", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}}}
        ]));
        list.add_name_suffix("-x");
        list.fix_references();
        let objects = list.into_objects();
        assert_eq!(objects[1]["roleRef"]["name"], "crd-controller-x");
        assert_eq!(objects[2]["roleRef"]["name"], "cluster-admin");
        assert_eq!(objects[2]["subjects"][0]["name"], "sa-x");
        assert_eq!(objects[5]["metadata"]["name"], "c");
        let pod = &objects[6]["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], "sa-x");
        assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-x");
    }

    #[test]
    fn a_reference_to_a_name_that_still_exists_is_kept() {
        let mut list =
            list(json!([{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}]));
        list.add_name_suffix("-x");
        list.0.push(Resource::new(
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}),
        ));
        list.0.push(Resource::new(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}}})));
        list.fix_references();
        assert_eq!(
            list.0[2].object.pointer("/spec/template/spec/volumes/0/persistentVolumeClaim/claimName"),
            Some(&json!("data"))
        );
    }

    #[test]
    fn images_are_replaced_by_name_with_tag_and_digest() {
        for (image, expected) in [
            ("fluxcd/a", "r.io/a:v2@sha256:1"),
            ("fluxcd/a:v1", "r.io/a:v2@sha256:1"),
            ("fluxcd/a:v1@sha256:0", "r.io/a:v2@sha256:1"),
            ("fluxcd/ab:v1", "fluxcd/ab:v1"),
            ("x/fluxcd/a:v1", "x/fluxcd/a:v1"),
        ] {
            let mut list = list(json!([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {"template": {"spec": {"initContainers": [{"image": image}], "containers": [{"image": image}]}}}}]));
            list.replace_images(&[ImageReplacement {
                name: "fluxcd/a".into(),
                new_name: "r.io/a".into(),
                tag: "v2".into(),
                digest: Some("sha256:1".into()),
            }]);
            let pod = &list.0[0].object["spec"]["template"]["spec"];
            assert_eq!(pod["containers"][0]["image"], expected);
            assert_eq!(pod["initContainers"][0]["image"], expected);
        }
    }

    #[test]
    fn metadata_is_set_on_objects_and_where_asked_on_pod_templates() {
        let mut list = list(
            json!([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "old"}},
            "spec": {"template": {"spec": {}}}}]),
        );
        list.set_labels([("a", "new")]);
        list.set_annotations([("b", "c")]);
        list.set_common_annotations([("d", "e")]);
        assert_eq!(
            list.0[0].object,
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"a": "new"}, "annotations": {"b": "c", "d": "e"}},
                   "spec": {"template": {"spec": {}, "metadata": {"annotations": {"d": "e"}}}}})
        );
    }
}
