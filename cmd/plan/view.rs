//! A plan for people: a table by action, the fields that change and who set them, and diffs.

use flux_operator::format::yaml;
use flux_operator::inspect::listing::{Cell, short_age};
use flux_operator::k8s::ObjectId;
use flux_operator::k8s::diff::comparable;
use flux_operator::k8s::documentation::is_documentation;
use flux_operator::reconcile::Plan;
use flux_operator::reconcile::plan::FieldChange;
use flux_operator::reconcile::plan::{PlannedObject, Step};
use jiff::Timestamp;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::common::run_in_process::plan_counts;
use crate::render::table::{Heading, TableStyle, TableWriter, cut, terminal_width};
use crate::shell::{CliError, Shell};

/// What stands for a value nobody should read.
const MASK: &str = "***";
/// Longer values of fields are cut; `--diff` shows them whole.
const VALUE_WIDTH: usize = 40;
/// Fields of one object that are named; `-o wide` and `--diff` show all.
const FIELDS_SHOWN: usize = 5;
/// Where a Secret keeps what is secret.
const SECRET_FIELDS: [&str; 2] = ["data", "stringData"];

fn word(step: Step) -> &'static str {
    match step {
        Step::Create => "create",
        Step::Configure => "configure",
        Step::Unchanged => "unchanged",
        Step::Prune => "prune",
        Step::Skip => "keep",
    }
}

/// The table, and below it what it means: restarts, API versions that go away, counts.
pub fn table(plan: &Plan, shell: &Shell, all: bool, now: Timestamp) -> String {
    let mut rows: Vec<Vec<Cell>> = vec![];
    for step in [Step::Create, Step::Configure] {
        for object in plan.objects.iter().filter(|o| o.step == step) {
            let mut details = details(object, all, now).into_iter();
            rows.push(row(word(step), &object.object.to_string(), &details.next().unwrap_or_default()));
            rows.extend(details.map(|detail| row("", "", &detail)));
        }
    }
    for prune in &plan.prune {
        let lost = prune.custom_resources.as_ref().map(|lost| format!("takes {lost} with it"));
        let why = lost.or_else(|| prune.reason.clone()).unwrap_or_default();
        rows.push(row(word(prune.step), &prune.object.to_string(), &why));
    }
    let unchanged = plan.objects.iter().filter(|o| o.step == Step::Unchanged);
    if all {
        rows.extend(unchanged.map(|object| row(word(Step::Unchanged), &object.object.to_string(), "")));
    } else {
        match unchanged.count() {
            0 => {}
            count => rows.push(row(word(Step::Unchanged), &format!("{count} objects"), "")),
        }
    }
    let width = shell.stdout_is_terminal().then(terminal_width);
    let style = TableStyle { width, headers: true, color: shell.stdout_color(), now };
    let mut text = TableWriter::new(["ACTION", "OBJECT", "FIELDS"].map(Heading::new).into(), style).page(&rows);
    let restarts: Vec<String> = plan.restarts().iter().map(ToString::to_string).collect();
    if !restarts.is_empty() {
        text.push_str(&format!("\nRestarts: {}\n", restarts.join(", ")));
    }
    for removed in &plan.removed_versions {
        let stored = match removed.stored.as_slice() {
            [] => String::new(),
            versions => format!("; objects are still stored as {}", versions.join(", ")),
        };
        text.push_str(&format!("\nNo longer served: {} {}{stored}\n", removed.definition, removed.versions.join(", ")));
    }
    let revision = match plan.previous_revision.as_deref() {
        Some(same) if same == plan.revision => same.to_owned(),
        from => format!("{} -> {}", from.unwrap_or("nothing"), plan.revision),
    };
    let wording = plan.objects.iter().filter(|o| o.step == Step::Configure && is_wording(o)).count();
    let wording =
        if wording > 0 { format!("; {wording} of those to configure in documentation only") } else { String::new() };
    text.push_str(&format!("\nRevision: {revision}\nPlan: {}{wording}\n", plan_counts(plan)));
    text
}

/// Whether nothing but wording changes.
fn is_wording(object: &PlannedObject) -> bool {
    !object.changes.is_empty() && object.changes.iter().all(|change| is_documentation(&change.path))
}

/// An empty cell is what a continued row shows.
fn row(action: &str, object: &str, fields: &str) -> Vec<Cell> {
    let blank = |text: &str| if text.is_empty() { " ".to_owned() } else { text.to_owned() };
    vec![Cell::Text(blank(action)), Cell::Text(blank(object)), Cell::message(&blank(fields))]
}

fn details(object: &PlannedObject, all: bool, now: Timestamp) -> Vec<String> {
    let secret = object.object.kind == "Secret";
    let mut details = fields(&object.changes, secret, all, now);
    if object.takes_over {
        details.push("(takes fields over from other tools)".to_owned());
    }
    if object.deferred {
        details.push("(compared when what it needs is there)".to_owned());
    }
    details
}

/// The fields that change, one a line: all of them, or a handful with wording in one line.
fn fields(changes: &[FieldChange], secret: bool, all: bool, now: Timestamp) -> Vec<String> {
    let (wording, meant): (Vec<_>, Vec<_>) = changes.iter().partition(|change| !all && is_documentation(&change.path));
    let shown = if all { meant.len() } else { FIELDS_SHOWN };
    let mut lines: Vec<String> = meant.iter().take(shown).map(|change| field(change, secret, now)).collect();
    if meant.len() > shown {
        lines.push(format!("… and {} more", meant.len() - shown));
    }
    match (wording.len(), meant.len()) {
        (0, _) => {}
        (count, 0) => lines.push(format!("documentation only ({count} {})", if count == 1 { "text" } else { "texts" })),
        (count, _) => {
            lines.push(format!("… and the documentation ({count} {})", if count == 1 { "text" } else { "texts" }))
        }
    }
    lines
}

/// `spec.replicas: 3 -> 1 (set by kubectl, 5m ago)`.
fn field(change: &FieldChange, secret: bool, now: Timestamp) -> String {
    let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
    let (from, to) = (text(&change.from), text(&change.to));
    let same = same_start(&from, &to);
    let value = |value: &Option<Value>, text: &str| match value {
        Some(_) if secret && is_secret_path(&change.path) => MASK.to_owned(),
        _ if text.chars().count() > VALUE_WIDTH => {
            let rest: String = text.chars().skip(same).collect();
            let gap = if same > 0 { "…" } else { "" };
            cut(&format!("{gap}{rest}"), VALUE_WIDTH)
        }
        _ => text.to_owned(),
    };
    let mut text = format!("{}: {} -> {}", change.path, value(&change.from, &from), value(&change.to, &to));
    if let Some(owner) = &change.owner {
        text.push_str(&format!(" (set by {}", owner.manager));
        if let Ok(time) = owner.time.parse::<Timestamp>() {
            text.push_str(&format!(", {} ago", short_age(time, now)));
        }
        text.push(')');
    }
    text
}

/// How many characters long values have in common at their start, back to where a part of them begins.
fn same_start(from: &str, to: &str) -> usize {
    let common = from.chars().zip(to.chars()).take_while(|(a, b)| a == b).count();
    let parts = from.chars().take(common).enumerate().filter(|(_, c)| "/:@,\"".contains(*c));
    parts.last().map_or(0, |(index, _)| index + 1)
}

fn is_secret_path(path: &str) -> bool {
    SECRET_FIELDS
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])))
}

/// The plan as JSON, without the values of secrets.
pub fn json(plan: &Plan) -> Result<Value, CliError> {
    let failed = |e: serde_json::Error| CliError::failed("cannot print the plan").caused_by(&e);
    let mut value = serde_json::to_value(plan).map_err(failed)?;
    let objects = value.get_mut("objects").and_then(Value::as_array_mut).into_iter().flatten();
    for object in objects.filter(|o| o.pointer("/desired/kind").and_then(Value::as_str) == Some("Secret")) {
        if let Some(desired) = object.get_mut("desired") {
            mask(desired, |_, _| MASK);
        }
        for change in object.get_mut("changes").and_then(Value::as_array_mut).into_iter().flatten() {
            let secret = change.get("path").and_then(Value::as_str).is_some_and(is_secret_path);
            for side in ["from", "to"].into_iter().filter(|_| secret) {
                if let Some(value) = change.get_mut(side) {
                    *value = MASK.into();
                }
            }
        }
    }
    if let Some(fields) = value.as_object_mut() {
        fields.insert("hasChanges".into(), plan.has_changes().into());
        let restarts: Vec<String> = plan.restarts().iter().map(ToString::to_string).collect();
        fields.insert("restarts".into(), json!(restarts));
    }
    Ok(value)
}

/// Replaces every value of a Secret by what `with` says for its field and key.
fn mask(object: &mut Value, with: impl Fn(&str, &str) -> &'static str) {
    for root in SECRET_FIELDS {
        for (key, value) in object.get_mut(root).and_then(Value::as_object_mut).into_iter().flatten() {
            *value = with(root, key).into();
        }
    }
}

/// Unified diffs of everything that changes, as YAML.
pub fn diffs(plan: &Plan, color: bool) -> Result<String, CliError> {
    let mut text = String::new();
    for planned in &plan.objects {
        let to = Some(planned.result.as_ref().unwrap_or(&planned.desired));
        match planned.step {
            Step::Create => text.push_str(&diff(&planned.object, None, to)?),
            Step::Configure => text.push_str(&diff(&planned.object, planned.live.as_ref(), to)?),
            Step::Unchanged | Step::Prune | Step::Skip => {}
        }
    }
    for prune in plan.prune.iter().filter(|p| p.step == Step::Prune) {
        text.push_str(&diff(&prune.object, Some(&prune.live), None)?);
    }
    Ok(if color { paint(&text) } else { text })
}

fn diff(object: &ObjectId, from: Option<&Value>, to: Option<&Value>) -> Result<String, CliError> {
    let (before, after) = sides(from, to)?;
    let header = |side: Option<&Value>, word: &str| match side {
        Some(_) => format!("{word}/{object}"),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(&before, &after);
    Ok(diff.unified_diff().context_radius(3).header(&header(from, "live"), &header(to, "planned")).to_string())
}

/// Both sides as YAML of what the reconciler compares. Values of secrets are masked, and still differ when they do.
fn sides(from: Option<&Value>, to: Option<&Value>) -> Result<(String, String), CliError> {
    let is_secret = |side: Option<&Value>| side.and_then(|s| s.get("kind")).and_then(Value::as_str) == Some("Secret");
    let same = |root: &str, key: &str| {
        let value = |side: Option<&Value>| side.and_then(|s| s.get(root)?.get(key).cloned());
        value(from) == value(to)
    };
    let text = |side: Option<&Value>, changed: &'static str| {
        let Some(side) = side else { return Ok(String::new()) };
        let mut shown = named(side);
        if is_secret(from) || is_secret(to) {
            mask(&mut shown, |root, key| if same(root, key) { MASK } else { changed });
        }
        yaml::to_string(&shown).map_err(|e| CliError::failed("cannot print a diff").caused_by(&e))
    };
    Ok((text(from, "*** (before)")?, text(to, "*** (after)")?))
}

/// What is compared, with name and namespace, and with keys in order, so that equal parts look equal.
fn named(object: &Value) -> Value {
    let mut whole = comparable(object);
    if let Some(fields) = whole.as_object_mut() {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        for key in ["name", "namespace"] {
            if let (Some(metadata), Some(value)) =
                (metadata.as_object_mut(), object.pointer(&format!("/metadata/{key}")))
            {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
    }
    sorted(whole)
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<(String, Value)> = fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn paint(diff: &str) -> String {
    use anstyle::AnsiColor::{Cyan, Green, Red};
    let line = |line: &str| {
        let style = match line.as_bytes().first() {
            Some(b'+') => Green.on_default(),
            Some(b'-') => Red.on_default(),
            Some(b'@') => Cyan.on_default(),
            _ => return format!("{line}\n"),
        };
        format!("{style}{line}{style:#}\n")
    };
    diff.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_diffs_and_a_changed_value_is_still_seen() {
        let secret = |password: &str, same: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "uid": "u"},
                "data": {"password": password, "user": same}})
        };
        let (from, to) = (secret("canary1", "canary3"), secret("canary2", "canary3"));
        let (before, after) = sides(Some(&from), Some(&to)).unwrap();
        assert!(!before.contains("canary") && !after.contains("canary"), "{before}{after}");
        let changed: Vec<_> = before.lines().zip(after.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
    }

    #[test]
    fn fields_name_who_set_them_and_when() {
        let change: FieldChange = serde_json::from_value(json!({"path": "spec.replicas", "from": 3, "to": 1,
            "owner": {"manager": "kubectl", "operation": "Update", "time": "2026-11-21T00:00:00Z"}}))
        .unwrap();
        let now = "2026-11-21T00:05:00Z".parse().unwrap();
        assert_eq!(field(&change, false, now), "spec.replicas: 3 -> 1 (set by kubectl, 5m ago)");
        let secret: FieldChange =
            serde_json::from_value(json!({"path": "data.password", "from": "a", "to": "b"})).unwrap();
        assert_eq!(field(&secret, true, now), "data.password: *** -> ***");
    }

    #[test]
    fn wording_is_one_line_and_of_the_fields_a_handful_is_shown() {
        let change = |path: String| FieldChange { path, from: Some(json!(1)), to: Some(json!(2)), owner: None };
        let wording = |count: usize| -> Vec<FieldChange> {
            let path = |n| format!("spec.versions[name=v1].schema.openAPIV3Schema.properties.p{n}.description");
            (0..count).map(|n| change(path(n))).collect()
        };
        let meant = |count: usize| -> Vec<FieldChange> { (0..count).map(|n| change(format!("spec.f{n}"))).collect() };
        let lines = |changes: &[FieldChange], all| fields(changes, false, all, Timestamp::UNIX_EPOCH);
        assert_eq!(lines(&wording(47), false), ["documentation only (47 texts)"]);
        assert_eq!(lines(&wording(47), true).len(), 47);
        let many = [wording(1), meant(52)].concat();
        let shown = lines(&many, false);
        assert_eq!(shown.len(), 7);
        assert_eq!(shown[4..], ["spec.f4: 1 -> 2", "… and 47 more", "… and the documentation (1 text)"]);
        assert_eq!(lines(&many, true).len(), 53);
        assert_eq!(lines(&meant(5), false).len(), 5);
    }

    #[test]
    fn long_values_are_shown_from_where_they_differ() {
        let image = |tag: &str| json!(format!("ghcr.io/fluxcd/kustomize-controller:{tag}@sha256:0123456789"));
        let change: FieldChange =
            serde_json::from_value(json!({"path": "image", "from": image("v1.9.4"), "to": image("v1.9.0")})).unwrap();
        assert_eq!(
            field(&change, false, Timestamp::UNIX_EPOCH),
            "image: …v1.9.4@sha256:0123456789\" -> …v1.9.0@sha256:0123456789\""
        );
    }

    #[test]
    fn equal_objects_in_another_order_have_no_diff() {
        let (a, b) = (json!({"kind": "A", "spec": {"x": 1, "y": 2}}), json!({"spec": {"y": 2, "x": 1}, "kind": "A"}));
        let (before, after) = sides(Some(&a), Some(&b)).unwrap();
        assert_eq!(before, after);
    }
}
