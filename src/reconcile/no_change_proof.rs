//! Proves that an object already holds what would be applied, without a dry run at the API server.
//!
//! A server-side apply changes an object in two ways: fields of the manifest get its values, and fields in our entry of
//! `metadata.managedFields` that the manifest lacks are removed. Both change nothing if our entry contains exactly the
//! manifest's fields and the live values equal the manifest's. When another manager changes a field that we own, the
//! API server removes it from our entry, so the first half of the proof also protects the normal forms of the second.
//! If the proof fails, a dry run decides. A failed proof for an unchanged object costs a request but causes no error.
//! Pure.

use serde_json::{Map, Value, json};

use crate::api::takeover;
use crate::k8s::{Quantity, fields, is_quantity_field, managed_fields};

/// Whether applying `desired` to `live` provably changes nothing.
pub fn holds(desired: &Value, live: &Value, extra_managers: &[String]) -> bool {
    if takeover::takeover_patch(live, extra_managers).is_some() || fields::is_being_deleted(live) {
        return false;
    }
    let Some(entry) = takeover::own_entry(live) else { return false };
    if desired.get("apiVersion").and_then(Value::as_str) != Some(fields::text(entry, "/apiVersion"))
        || live.get("apiVersion") != desired.get("apiVersion")
        || live.get("kind") != desired.get("kind")
    {
        return false;
    }
    let Some(set) = entry.get("fieldsV1").and_then(Value::as_object) else { return false };
    let api_version = fields::text(entry, "/apiVersion");
    let proof = Proof { custom: is_custom(api_version) };
    let (Some(desired), Some(live)) = (desired.as_object(), live.as_object()) else { return false };
    // The object's name is in no field set, and `status` is never ours.
    let mut metadata = desired.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    metadata.retain(|key, _| !matches!(key.as_str(), "name" | "namespace" | "creationTimestamp"));
    let metadata = Some(("metadata".to_owned(), Value::Object(metadata))).filter(|(_, left)| left != &json!({}));
    let others =
        desired.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    proof.members(others.chain(metadata.as_ref().map(|(key, left)| (key, left))), Some(live), set, None)
}

/// Whether an API group belongs to a custom resource, which keeps every value exactly as sent.
fn is_custom(api_version: &str) -> bool {
    let (group, _) = crate::k8s::split_api_version(api_version);
    !(group.is_empty() || !group.contains('.') || group.ends_with(".k8s.io"))
}

struct Proof {
    custom: bool,
}

impl Proof {
    /// Compares a map that merges member by member.
    fn map(
        &self,
        desired: &Map<String, Value>,
        live: Option<&Map<String, Value>>,
        set: &Map<String, Value>,
        parent: Option<&str>,
    ) -> bool {
        self.members(desired.iter(), live, set, parent)
    }

    fn members<'a>(
        &self,
        mut desired: impl Iterator<Item = (&'a String, &'a Value)> + Clone,
        live: Option<&Map<String, Value>>,
        set: &Map<String, Value>,
        parent: Option<&str>,
    ) -> bool {
        let owned = set.keys().filter(|key| *key != ".").count();
        // Nulls are instructions to the server ("leave unset"), not values, so the server decides.
        owned == desired.clone().count()
            && desired.all(|(key, wanted)| {
                let Some(below) = set.get(&format!("f:{key}")).and_then(Value::as_object) else { return false };
                let found = live.and_then(|live| live.get(key));
                self.value(wanted, found, below, key, parent)
            })
    }

    fn value(
        &self,
        desired: &Value,
        live: Option<&Value>,
        set: &Map<String, Value>,
        key: &str,
        parent: Option<&str>,
    ) -> bool {
        if set.keys().all(|member| member == ".") {
            return match live {
                Some(live) => self.same(desired, live, key, parent),
                // An empty list is the only empty value that typed kinds always omit. Other empty values have a meaning
                // where the field is a pointer (`{}` selects everything, `0` evicts at once), which only the server
                // knows.
                None => !self.custom && desired.as_array().is_some_and(Vec::is_empty),
            };
        }
        match (desired, live) {
            (Value::Object(wanted), Some(Value::Object(found))) => self.map(wanted, Some(found), set, Some(key)),
            (Value::Array(wanted), Some(Value::Array(found))) => self.list(wanted, found, set, key),
            _ => false,
        }
    }

    /// Compares a list that merges item by item. Both must have the same items in the same order, without foreign ones,
    /// because only the server knows where a merge puts foreign items.
    fn list(&self, desired: &[Value], live: &[Value], set: &Map<String, Value>, key: &str) -> bool {
        let members: Vec<(&String, &Value)> = set.iter().filter(|(name, _)| *name != ".").collect();
        members.len() == desired.len()
            && live.len() == desired.len()
            && desired.iter().zip(live).all(|(wanted, found)| {
                let mut named = members.iter().filter(|(name, _)| managed_fields::names_item(name, found));
                let (Some((name, below)), None) = (named.next(), named.next()) else { return false };
                if name.starts_with("v:") {
                    return wanted == found;
                }
                // An item that is owned as a whole, such as a reference to an image pull secret.
                if below.as_object().is_some_and(|below| below.keys().all(|member| member == ".")) {
                    return self.same(wanted, found, key, None);
                }
                let (Some(wanted), Some(found), Some(below)) =
                    (wanted.as_object(), found.as_object(), below.as_object())
                else {
                    return false;
                };
                // Key fields of an item may be server defaults (`protocol: TCP`) that the manifest lacks. The set then
                // identifies the item by them without owning them as fields.
                self.map(wanted, Some(found), below, Some(key))
            })
    }

    /// Compares a value that is owned as a whole. It must contain every part of the manifest, even the empty parts.
    fn same(&self, desired: &Value, live: &Value, key: &str, parent: Option<&str>) -> bool {
        if desired == live {
            return true;
        }
        if self.custom {
            return false;
        }
        match (desired, live) {
            (Value::Object(wanted), Value::Object(found)) => {
                let is_there = |name: &String, value: &Value| {
                    found.get(name).is_some_and(|found| self.same(value, found, name, Some(key)))
                };
                wanted.iter().all(|(name, value)| is_there(name, value))
                    && found.iter().all(|(name, value)| wanted.contains_key(name) || is_default(key, name, value))
            }
            (Value::Array(wanted), Value::Array(found)) => {
                wanted.len() == found.len()
                    && wanted.iter().zip(found).all(|(wanted, found)| self.same(wanted, found, key, parent))
            }
            (wanted, found) => {
                is_quantity_field(key, parent)
                    && Quantity::of(wanted).is_some_and(|wanted| Some(wanted) == Quantity::of(found))
            }
        }
    }
}

/// Defaults that the API server adds inside values owned as a whole (`ObjectFieldSelector` and `ResourceFieldSelector`
/// of the pod spec, ports of a NetworkPolicy, rules of RBAC).
fn is_default(parent: &str, key: &str, value: &Value) -> bool {
    match (parent, key) {
        ("fieldRef", "apiVersion") => value == "v1",
        ("resourceFieldRef", "divisor") => value == "0",
        ("ports", "protocol") => value == "TCP",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desired() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "n", "labels": {"app": "a"}},
            "spec": {
                "selector": {"matchLabels": {"app": "a"}},
                "template": {"spec": {
                    "containers": [{
                        "name": "manager", "args": ["--x"],
                        "env": [{"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
                        "ports": [{"containerPort": 8080, "name": "http"}],
                        "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}}
                    }],
                    "volumes": [{"name": "tmp", "emptyDir": {}}]
                }}
            }
        })
    }

    fn live() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "namespace": "n", "labels": {"app": "a", "theirs": "1"}, "resourceVersion": "5",
                "managedFields": [
                    {"manager": "flux-operator", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {
                        "f:metadata": {"f:labels": {"f:app": {}}},
                        "f:spec": {"f:selector": {}, "f:template": {"f:spec": {
                            "f:containers": {"k:{\"name\":\"manager\"}": {
                                ".": {}, "f:name": {}, "f:args": {},
                                "f:env": {"k:{\"name\":\"NS\"}": {".": {}, "f:name": {}, "f:valueFrom": {"f:fieldRef": {}}}},
                                "f:ports": {"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:name": {}}},
                                "f:resources": {"f:limits": {"f:cpu": {}, "f:memory": {}}}
                            }},
                            "f:volumes": {"k:{\"name\":\"tmp\"}": {".": {}, "f:name": {}, "f:emptyDir": {}}}
                        }}}
                    }},
                    {"manager": "controllers", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}}
                ]
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "a"}},
                "template": {"spec": {
                    "containers": [{
                        "name": "manager", "args": ["--x"], "imagePullPolicy": "IfNotPresent",
                        "env": [{"name": "NS", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}}],
                        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
                        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}
                    }],
                    "volumes": [{"name": "tmp", "emptyDir": {}}]
                }}
            }
        })
    }

    #[test]
    fn an_object_that_holds_the_manifest_in_the_servers_normal_form_is_unchanged() {
        assert!(holds(&desired(), &live(), &[]));
    }

    /// Checks that the proof fails after one edit of the live object.
    #[track_caller]
    fn breaks(edit: impl Fn(&mut Value)) {
        let mut object = live();
        edit(&mut object);
        assert!(!holds(&desired(), &object, &[]));
    }

    #[test]
    fn every_edit_that_a_dry_run_would_undo_breaks_the_proof() {
        breaks(|o| o["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--y"]));
        breaks(|o| o["metadata"]["labels"]["app"] = json!("b"));
        breaks(|o| o["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("2"));
        breaks(|o| {
            o["spec"]["template"]["spec"]["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] =
                json!("v2")
        });
        breaks(|o| {
            o["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].as_object_mut().unwrap().remove("f:selector");
        });
        breaks(|o| o["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:paused"] = json!({}));
        breaks(|o| o["metadata"]["managedFields"][0]["manager"] = json!("other"));
        breaks(|o| o["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "flux"}));
        breaks(|o| o["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
        breaks(|o| {
            let kubectl =
                json!({"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": {"f:paused": {}}}});
            o["metadata"]["managedFields"].as_array_mut().unwrap().push(kubectl);
        });
        breaks(|o| {
            o["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "sidecar"}));
        });
    }

    #[test]
    fn a_manifest_that_asks_for_more_or_less_breaks_the_proof() {
        let mut more = desired();
        more["spec"]["replicas"] = json!(1);
        assert!(!holds(&more, &live(), &[]));
        let mut less = desired();
        less["spec"].as_object_mut().unwrap().remove("selector");
        assert!(!holds(&less, &live(), &[]));
        let mut other = desired();
        other["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("2Gi");
        assert!(!holds(&other, &live(), &[]));
    }

    #[test]
    fn an_empty_member_inside_a_value_that_is_owned_as_one_piece_is_a_change() {
        let manifest = |peer: Value| {
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a"},
                "spec": {"podSelector": {}, "ingress": [{"from": [peer]}], "egress": []}})
        };
        let mut live = manifest(json!({"podSelector": {}}));
        live["spec"].as_object_mut().unwrap().remove("egress");
        live["metadata"]["managedFields"] = json!([{"manager": "flux-operator", "operation": "Apply",
            "apiVersion": "networking.k8s.io/v1",
            "fieldsV1": {"f:spec": {"f:podSelector": {}, "f:ingress": {}, "f:egress": {}}}}]);
        // Every typed kind omits an empty list.
        assert!(holds(&manifest(json!({"podSelector": {}})), &live, &[]));
        // Without the second member: pods of this namespace; with it: pods of all namespaces.
        assert!(!holds(&manifest(json!({"podSelector": {}, "namespaceSelector": {}})), &live, &[]));

        let toleration = |more: Value| {
            let mut toleration = json!({"key": "k", "operator": "Exists", "effect": "NoExecute"});
            toleration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
                "spec": {"template": {"spec": {"tolerations": [toleration]}}}})
        };
        let mut live = toleration(json!({}));
        live["metadata"]["managedFields"] = json!([{"manager": "flux-operator", "operation": "Apply", "apiVersion": "apps/v1",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:tolerations": {}}}}}}]);
        assert!(holds(&toleration(json!({})), &live, &[]));
        assert!(!holds(&toleration(json!({"tolerationSeconds": 0})), &live, &[]));
    }

    #[test]
    fn quantities_compare_by_value_only_where_they_are_quantities() {
        let mut object = live();
        object["metadata"]["labels"]["app"] = json!("1000m");
        let mut manifest = desired();
        manifest["metadata"]["labels"]["app"] = json!("1");
        assert!(!holds(&manifest, &object, &[]));
    }

    #[test]
    fn a_custom_resource_is_compared_literally() {
        let entry = json!([{"manager": "flux-operator", "operation": "Apply", "apiVersion": "source.toolkit.fluxcd.io/v1",
            "fieldsV1": {"f:spec": {"f:interval": {}, "f:ignore": {}}}}]);
        let live = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"managedFields": entry}, "spec": {"interval": "1m0s", "ignore": "x", "timeout": "60s"}});
        let manifest = |interval: &str| {
            json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "a"}, "spec": {"interval": interval, "ignore": "x"}})
        };
        assert!(holds(&manifest("1m0s"), &live, &[]));
        assert!(!holds(&manifest("60s"), &live, &[]));
    }
}
