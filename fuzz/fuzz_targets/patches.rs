//! A patch is read and applied, or refused; never a panic. A patch that failed leaves nothing half done to look at.
#![no_main]

use flux_operator::kustomize::{Patch, ResourceList, Selector, apply_patches};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|text: &str| {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"template": {"spec": {"containers": [{"name": "m", "args": ["1", "2"], "ports": [
            {"containerPort": 80, "protocol": "TCP"}]}], "volumes": [{"name": "t", "emptyDir": {}}]}}},
    });
    for target in [Some(Selector { kind: "Deployment".into(), ..Selector::default() }), None] {
        let mut list = ResourceList::from_objects([deployment.clone()]).expect("one object");
        let _ = apply_patches(&mut list, &[Patch { target, patch: text.into() }]);
    }
});
