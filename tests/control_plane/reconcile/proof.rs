//! The short cut against the API server: what it calls unchanged, a dry run must call unchanged.

use flux_operator::k8s::ObjectId;
use flux_operator::reconcile::{diff, no_change_proof, takeover};
use serde_json::{Value, json};

use crate::cluster_tests;
use crate::reconcile::world::*;
use crate::support::{ClusterTest, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![the_short_cut_never_hides_a_change_that_a_dry_run_would_make]
}

/// A fixed sequence of numbers, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

/// Every place in an object that a client might change, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => vec![],
    };
    for (key, value) in below {
        let path = format!("{at}/{key}");
        if ["/apiVersion", "/kind", "/status"].contains(&path.as_str()) {
            continue;
        }
        if !path.starts_with("/metadata")
            || path.starts_with("/metadata/labels")
            || path.starts_with("/metadata/annotations")
        {
            found.push(path.clone());
        }
        if path != "/metadata/managedFields" {
            places(value, &path, found);
        }
    }
}

/// Something else of the same sort; sometimes the same value in another form.
fn other(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::String(text) => match dice.roll(4) {
            0 => format!("{text}x").into(),
            1 => "".into(),
            2 if text == "1" => "1000m".into(),
            2 => "2Gi".into(),
            _ => text.chars().rev().collect::<String>().into(),
        },
        Value::Number(number) => (number.as_i64().unwrap_or(0) + 1 + dice.roll(3) as i64).into(),
        Value::Bool(value) => (!value).into(),
        Value::Array(items) => {
            let mut items = items.clone();
            match dice.roll(3) {
                0 => drop(items.pop()),
                1 => items.reverse(),
                _ => items.extend(items.first().cloned()),
            }
            items.into()
        }
        Value::Object(map) => {
            let mut map = map.clone();
            map.insert("added".into(), "1".into());
            map.into()
        }
        Value::Null => json!("x"),
    }
}

async fn the_short_cut_never_hides_a_change_that_a_dry_run_would_make(cluster: TestCluster) {
    let world = World::with(&cluster, Options::api_server_only()).await;
    let mut wanted = spec("2.9.x");
    wanted["wait"] = json!(false);
    wanted["storage"] = json!({"class": "standard", "size": "1024Mi"});
    wanted["sync"] = json!({"kind": "GitRepository", "url": "https://example.com/a.git", "ref": "main", "path": "a"});
    let instance = world.instance(wanted).await;
    world.ready().await;
    let built = flux_operator::build::build(&instance, &world.distribution, &Default::default()).unwrap();
    // Definitions are large and all alike; two are enough.
    let objects: Vec<&Value> = built
        .objects
        .iter()
        .enumerate()
        .filter(|(index, object)| object["kind"] != "CustomResourceDefinition" || *index < 2)
        .map(|(_, object)| object)
        .collect();
    let managers = ["someone", "me", "kubectl-edit", "helm", "kustomize-controller", "flux", "flux-operator", "hpa"];
    let mut dice = Dice(11);
    let (mut edits, mut proved, mut changed) = (0, 0, 0);
    for _ in 0..700 {
        let desired = *dice.pick(&objects);
        let id = ObjectId::of(desired);
        let live = world.cluster.read(&id).await.unwrap().unwrap_or_else(|| panic!("{id} is gone"));
        let mut paths = vec![];
        places(&live, "", &mut paths);
        let path = dice.pick(&paths).clone();
        let value = live.pointer(&path).unwrap();
        let manager = *dice.pick(&managers);
        let version =
            json!({"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]});
        let edited = match dice.roll(6) {
            0 => world.cluster.json_patch(&id, &json!([{"op": "remove", "path": path}, version]), manager).await,
            1 => world.cluster.json_patch(&id, &json!([{"op": "add", "path": format!("/metadata/labels/l{}", dice.roll(3)), "value": "1"}, version]), manager).await,
            2 => {
                // Fields may also be forgotten: somebody drops an entry, or all of them.
                let mut entries = live["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
                if !entries.is_empty() {
                    entries.remove(dice.roll(entries.len()));
                }
                if entries.is_empty() {
                    entries.push(json!({}));
                }
                world.cluster.json_patch(&id, &json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries}, version]), manager).await
            }
            3 => {
                let mut object = json!({"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": id.name, "namespace": id.namespace,
                    "labels": {format!("by-{manager}"): "1"}}});
                if dice.roll(2) == 0 && live["kind"] == "Deployment" {
                    object["spec"] = json!({"template": {"spec": {"containers": [{"name": "manager", "env": [{"name": "A", "value": "1"}]}]}}});
                }
                world.cluster.apply_forced(&object, manager, false).await
            }
            _ => world.cluster.json_patch(&id, &json!([{"op": "replace", "path": path, "value": other(value, &mut dice)}, version]), manager).await,
        };
        // Many edits are refused; that is the API server's affair.
        if edited.is_err() {
            continue;
        }
        edits += 1;
        let live = world.cluster.read(&id).await.unwrap().unwrap();
        let holds = no_change_proof::holds(desired, &live, &[]);
        let cleans = takeover::takeover_patch(&live, &[]).is_some();
        let drift = match world.cluster.apply_forced(desired, "flux-operator", true).await {
            Ok(result) => diff::changes(&live, &result),
            // A dry run that is refused is a difference, too.
            Err(_) => {
                assert!(!holds, "{id} {path}");
                continue;
            }
        };
        if holds {
            proved += 1;
            assert!(!cleans && drift.is_empty(), "{id} by {manager} at {path}: {drift:?}");
        }
        if cleans || !drift.is_empty() {
            changed += 1;
        }
        // Edits pile up, and now and then everything is put right.
        if dice.roll(8) == 0 {
            world.run().await.unwrap();
        }
    }
    eprintln!("{edits} edits, {changed} to correct, {proved} proved unchanged");
    assert!(
        edits > 200 && changed > 100 && proved > 20,
        "{edits} edits, {changed} to correct, {proved} proved unchanged"
    );
}
