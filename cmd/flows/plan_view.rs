//! Formats a plan as text: the changed fields of each object with their field managers, and diffs.

use anstyle::{AnsiColor, Reset};
use flux_operator::format::age::short_age;
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::k8s::diff::comparable;
use flux_operator::k8s::documentation::is_documentation;
use flux_operator::reconcile::Plan;
use flux_operator::reconcile::plan::FieldChange;
use flux_operator::reconcile::plan::{PlannedObject, PlannedPrune, Step};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::flows::run_in_process::plan_counts;
use crate::output::unified_diff::unified_diff;
use crate::output::wrap::cut;
use crate::output::wrap::wrapped;
use crate::output::{counted, objects};
use crate::terminal::CliError;
use flux_operator::format::harmless::on_one_line;

/// Replaces a secret value.
const MASK: &str = "***";
/// Longer values are truncated; `--diff` shows them completely.
const VALUE_WIDTH: usize = 40;
/// Limit for the fields of one object; `-o wide` and `--diff` show all.
const FIELDS_SHOWN: usize = 5;
const SUSPENDED: &str = "Suspended: nothing is applied until the instance is resumed";
/// The fields of a Secret with secret values.
const SECRET_FIELDS: [&str; 2] = ["data", "stringData"];

fn word(step: Step) -> &'static str {
    match step {
        Step::Create => "create",
        Step::Configure => "configure",
        Step::Recreate => "recreate",
        Step::Unchanged => "unchanged",
        Step::Prune => "prune",
        Step::Skip => "keep",
    }
}

/// Options for showing a plan.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of the terminal; `None` for a pipe, where nothing is wrapped.
    pub width: Option<usize>,
    pub color: bool,
    /// Whether to show unchanged objects and every field.
    pub all: bool,
    pub now: Timestamp,
}

impl Style {
    fn paint(&self, color: AnsiColor, text: &str) -> String {
        if self.color { format!("{}{text}{}", color.on_default(), Reset) } else { text.to_owned() }
    }

    /// Formats an indented line, wrapped to the terminal.
    pub fn line(&self, indent: usize, text: &str) -> String {
        let lines = match self.width {
            Some(width) => wrapped(text, width.saturating_sub(indent), usize::MAX),
            None => vec![text.to_owned()],
        };
        lines.iter().map(|line| format!("{:indent$}{line}\n", "")).collect()
    }

    /// Formats `~ configure  Deployment/flux-system/source-controller`, never truncated.
    pub fn object(&self, step: Step, object: &str) -> String {
        let (mark, color) = match step {
            Step::Create => ("+", AnsiColor::Green),
            Step::Configure => ("~", AnsiColor::Yellow),
            Step::Recreate => ("±", AnsiColor::Red),
            Step::Prune => ("-", AnsiColor::Red),
            Step::Unchanged | Step::Skip => (" ", AnsiColor::BrightBlack),
        };
        format!("{} {object}\n", self.paint(color, &format!("{mark} {:9}", word(step))))
    }
}

/// Formats the subject of a plan, each object with its changed fields, and the summary.
pub fn screen(plan: &Plan, style: &Style) -> String {
    let mut text = head(plan, style);
    for step in [Step::Create, Step::Configure] {
        for object in plan.objects.iter().filter(|o| o.step == step) {
            text.push_str(&style.object(step, &object.object.to_string()));
            text.push_str(&details(object, style));
        }
    }
    text.push_str(&pruned(&plan.prune, style));
    let unchanged: Vec<_> = plan.objects.iter().filter(|o| o.step == Step::Unchanged).collect();
    if style.all {
        text.extend(unchanged.iter().map(|object| style.object(Step::Unchanged, &object.object.to_string())));
    } else if !unchanged.is_empty() {
        text.push_str(&style.object(Step::Unchanged, &objects(unchanged.len())));
    }
    text + &sums(plan, style)
}

/// Formats the objects that are pruned and those that are kept, with the reasons.
pub fn pruned(prune: &[PlannedPrune], style: &Style) -> String {
    let mut text = String::new();
    for prune in prune {
        text.push_str(&style.object(prune.step, &prune.object.to_string()));
        let lost = prune.custom_resources.as_ref().map(|lost| format!("also deletes {lost}"));
        let why = lost.or_else(|| prune.reason.clone());
        text.push_str(&why.map(|why| style.line(4, &why)).unwrap_or_default());
    }
    text
}

/// Formats the instance, and what its suspension means for the plan.
pub fn subject(plan: &Plan, style: &Style) -> String {
    let instance = &plan.instance;
    let mut text = style.line(0, &format!("Instance: {}/{}", instance.namespace, instance.name));
    if plan.suspended {
        text.push_str(&style.line(0, SUSPENDED));
    }
    text
}

/// Formats the instance, and its current and new version.
fn head(plan: &Plan, style: &Style) -> String {
    let instance = &plan.instance;
    let revision = match plan.previous_revision.as_deref() {
        Some(same) if same == plan.revision => same.to_owned(),
        from => format!("{} → {}", from.unwrap_or("nothing"), plan.revision),
    };
    let mut text = style.line(0, &format!("Instance: {}/{}", instance.namespace, instance.name));
    text.push_str(&style.line(0, &format!("Revision: {revision}")));
    if plan.suspended {
        text.push_str(&style.line(0, SUSPENDED));
    }
    text + "\n"
}

/// Formats restarts, removed API versions, and the counts.
fn sums(plan: &Plan, style: &Style) -> String {
    let mut text = String::new();
    let restarts: Vec<String> = plan.restarts().iter().map(ToString::to_string).collect();
    if !restarts.is_empty() {
        text.push_str(&format!("\n{}", style.line(0, &format!("Restarts: {}", restarts.join(", ")))));
    }
    for removed in &plan.removed_versions {
        let stored = match removed.stored.as_slice() {
            [] => String::new(),
            versions => format!("; objects are still stored as {}", versions.join(", ")),
        };
        let says = format!("No longer served: {} {}{stored}", removed.definition, removed.versions.join(", "));
        text.push_str(&format!("\n{}", style.line(0, &says)));
    }
    let wording = plan.objects.iter().filter(|o| o.step == Step::Configure && is_wording(o)).count();
    let wording =
        if wording > 0 { format!("; {wording} of those to configure in documentation only") } else { String::new() };
    text.push_str(&format!("\n{}", style.line(0, &format!("Plan: {}{wording}", plan_counts(plan)))));
    text
}

/// Whether only documentation changes.
fn is_wording(object: &PlannedObject) -> bool {
    !object.changes.is_empty() && object.changes.iter().all(|change| is_documentation(&change.path))
}

/// Formats the lines below an object.
pub fn details(object: &PlannedObject, style: &Style) -> String {
    let secret = object.object.kind == "Secret";
    let mut text = fields(&object.changes, secret, style);
    if object.takes_over {
        text.push_str(&style.line(4, "overwrites fields set by other tools"));
    }
    if object.deferred {
        text.push_str(&style.line(4, "will be compared once its namespace exists"));
    }
    text
}

/// Formats the changed fields with their field managers: all of them, or the first [`FIELDS_SHOWN`] with the
/// documentation in one line.
fn fields(changes: &[FieldChange], secret: bool, style: &Style) -> String {
    let (wording, meant): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| !style.all && is_documentation(&change.path));
    let shown = if style.all { meant.len() } else { FIELDS_SHOWN };
    let mut text: String = meant.iter().take(shown).map(|change| field(change, secret, style)).collect();
    if meant.len() > shown {
        text.push_str(&style.line(4, &format!("… and {} more", meant.len() - shown)));
    }
    match (wording.len(), meant.len()) {
        (0, _) => {}
        (count, 0) => text.push_str(&style.line(4, &format!("documentation only ({})", counted(count, "text")))),
        (count, _) => text.push_str(&style.line(4, &format!("… and the documentation ({})", counted(count, "text")))),
    }
    text
}

/// Formats `spec.replicas: 3 → 1`, and below it the field manager and the time of the live value.
fn field(change: &FieldChange, secret: bool, style: &Style) -> String {
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
    let (from, to) = (on_one_line(&value(&change.from, &from)), on_one_line(&value(&change.to, &to)));
    let whole = format!("{}: {from} → {to}", change.path);
    let (red, green) = (style.paint(AnsiColor::Red, &from), style.paint(AnsiColor::Green, &to));
    let mut text = match style.width {
        // Values that do not fit beside their path go below it, on separate lines if necessary.
        Some(width) if 4 + whole.width() > width => {
            let values = format!("{from} → {to}");
            let path = format!("    {}:\n", change.path);
            if 6 + values.width() > width {
                format!("{path}      {red}\n      → {green}\n")
            } else {
                format!("{path}      {red} → {green}\n")
            }
        }
        _ => format!("    {}: {red} → {green}\n", change.path),
    };
    if let Some(says) = culprit(change, style.now) {
        text.push_str(&style.paint(AnsiColor::Cyan, style.line(6, &says).trim_end()));
        text.push('\n');
    }
    text
}

/// `set by kubectl, 5m ago`.
fn culprit(change: &FieldChange, now: Timestamp) -> Option<String> {
    let owner = change.owner.as_ref()?;
    let manager = on_one_line(&owner.manager);
    Some(match owner.time.parse::<Timestamp>() {
        Ok(time) => format!("set by {manager}, {} ago", short_age(time, now)),
        Err(_) => format!("set by {manager}"),
    })
}

/// Returns the length of the common start of two values, cut back to the start of a word.
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

/// Formats the plan as JSON without the values of secrets.
pub fn json(plan: &Plan) -> Result<Value, CliError> {
    let mut value = masked_json(plan)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("hasChanges".into(), plan.has_changes().into());
        let restarts: Vec<String> = plan.restarts().iter().map(ToString::to_string).collect();
        fields.insert("restarts".into(), json!(restarts));
    }
    Ok(value)
}

/// Formats a plan as JSON, with the values of Secrets in `objects` masked.
pub fn masked_json(plan: &impl Serialize) -> Result<Value, CliError> {
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
    Ok(value)
}

/// Replaces every value of a Secret by the result of `with` for its field and key.
fn mask(object: &mut Value, with: impl Fn(&str, &str) -> &'static str) {
    for root in SECRET_FIELDS {
        for (key, value) in object.get_mut(root).and_then(Value::as_object_mut).into_iter().flatten() {
            *value = with(root, key).into();
        }
    }
}

/// Formats unified YAML diffs of all changes, with the same head and summary as [`screen`]. The field managers of an
/// object's changes precede its diff.
pub fn diffs(plan: &Plan, style: &Style) -> Result<String, CliError> {
    let text = head(plan, style) + &object_diffs(plan.objects.iter(), &plan.prune, style)?;
    Ok(text + &sums(plan, style))
}

/// Formats the diffs of objects and of pruned objects.
pub fn object_diffs<'p>(
    objects: impl Iterator<Item = &'p PlannedObject>,
    prune: &[PlannedPrune],
    style: &Style,
) -> Result<String, CliError> {
    let mut text = String::new();
    let paint = |diff: String| if style.color { paint(&diff) } else { diff };
    for planned in objects {
        let to = Some(planned.result.as_ref().unwrap_or(&planned.desired));
        let diff = match planned.step {
            Step::Create => diff(&planned.object, None, to)?,
            Step::Configure | Step::Recreate => diff(&planned.object, planned.live.as_ref(), to)?,
            Step::Unchanged | Step::Prune | Step::Skip => continue,
        };
        text.push_str(&style.object(planned.step, &planned.object.to_string()));
        for change in &planned.changes {
            if let Some(says) = culprit(change, style.now) {
                text.push_str(&style.line(4, &format!("{} {says}", change.path)));
            }
        }
        text.push_str(&paint(diff));
    }
    for prune in prune.iter().filter(|p| p.step == Step::Prune) {
        text.push_str(&style.object(prune.step, &prune.object.to_string()));
        text.push_str(&paint(diff(&prune.object, Some(&prune.live), None)?));
    }
    Ok(text)
}

fn diff(object: &ObjectId, from: Option<&Value>, to: Option<&Value>) -> Result<String, CliError> {
    let (before, after) = sides(from, to)?;
    let header = |side: Option<&Value>, word: &str| match side {
        Some(_) => format!("{word}/{object}"),
        None => "/dev/null".to_owned(),
    };
    Ok(unified_diff(&before, &after, &header(from, "live"), &header(to, "planned")))
}

/// Formats both sides as the YAML that the reconciler compares. Values of secrets are masked, but still differ if the
/// values do.
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

/// Returns the compared parts, with name and namespace, and sorted keys, so that equal parts look equal.
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

    fn style(width: Option<usize>, all: bool) -> Style {
        Style { width, color: false, all, now: "2026-11-21T00:05:00Z".parse().unwrap() }
    }

    fn replicas() -> FieldChange {
        serde_json::from_value(json!({"path": "spec.replicas", "from": 3, "to": 1,
            "owner": {"manager": "kubectl", "operation": "Update", "time": "2026-11-21T00:00:00Z"}}))
        .unwrap()
    }

    #[test]
    fn fields_show_their_manager_and_time() {
        insta::assert_snapshot!(field(&replicas(), false, &style(None, false)), @r"
            spec.replicas: 3 → 1
              set by kubectl, 5m ago
        ");
        let colored = field(&replicas(), false, &Style { color: true, ..style(None, false) });
        assert!(colored.contains("\u{1b}[31m3\u{1b}[0m → \u{1b}[32m1\u{1b}[0m"), "{colored:?}");
        let secret: FieldChange =
            serde_json::from_value(json!({"path": "data.password", "from": "a", "to": "b"})).unwrap();
        assert_eq!(field(&secret, true, &style(None, false)), "    data.password: *** → ***\n");
    }

    #[test]
    fn a_field_that_is_too_long_for_the_terminal_is_stacked_and_a_pipe_keeps_its_line() {
        let change: FieldChange = serde_json::from_value(
            json!({"path": "metadata.labels[app.kubernetes.io/managed-by]", "from": "flux-operator-of-somebody", "to": "me"}),
        )
        .unwrap();
        let path = "    metadata.labels[app.kubernetes.io/managed-by]:";
        assert_eq!(
            field(&change, false, &style(Some(60), false)),
            format!("{path}\n      \"flux-operator-of-somebody\" → \"me\"\n")
        );
        insta::assert_snapshot!(field(&change, false, &style(Some(36), false)), @r#"
            metadata.labels[app.kubernetes.io/managed-by]:
              "flux-operator-of-somebody"
              → "me"
        "#);
        assert_eq!(
            field(&change, false, &style(None, false)),
            format!("{path} \"flux-operator-of-somebody\" → \"me\"\n")
        );
    }

    fn plan(suspended: bool) -> Plan {
        let object = |kind: &str, step: &str| {
            let api_version = "apps/v1";
            let live = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}});
            let mut planned: PlannedObject = serde_json::from_value(json!({"step": step, "desired": live,
                "object": serde_json::to_value(ObjectId::new("apps", kind, Some("n"), "a")).unwrap()}))
            .unwrap();
            planned.live = Some(
                json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "n"}, "spec": {"replicas": 3}}),
            );
            planned
        };
        let mut changed = object("Deployment", "configure");
        changed.changes = vec![replicas()];
        let mut plan: Plan = serde_json::from_value(json!({
            "instance": {"namespace": "flux-system", "name": "flux", "uid": "u", "generation": 1},
            "suspended": suspended, "version": "v2.9.4", "revision": "v2.9.4@sha256:b",
            "previousRevision": "v2.9.3@sha256:a", "images": [], "objects": [], "prune": [], "removedVersions": [],
            "warnings": []}))
        .unwrap();
        plan.objects = vec![object("StatefulSet", "create"), changed, object("DaemonSet", "unchanged")];
        plan
    }

    #[test]
    fn a_plan_shows_its_objects_between_its_head_and_its_sums() {
        insta::assert_snapshot!(screen(&plan(false), &style(None, false)), @r"
        Instance: flux-system/flux
        Revision: v2.9.3@sha256:a → v2.9.4@sha256:b

        + create    StatefulSet/n/a
        ~ configure Deployment/n/a
            spec.replicas: 3 → 1
              set by kubectl, 5m ago
          unchanged 1 object

        Plan: 1 to create, 1 to configure, 1 unchanged
        ");
        assert!(screen(&plan(true), &style(Some(80), false)).contains("Suspended: nothing is applied until"));
        let narrow = screen(&plan(false), &style(Some(40), false));
        assert!(narrow.lines().all(|line| line.width() <= 40), "{narrow}");
    }

    #[test]
    fn diffs_have_the_same_head_and_sums_and_name_the_field_managers() {
        let text = diffs(&plan(false), &style(None, false)).unwrap();
        assert!(text.starts_with("Instance: flux-system/flux\nRevision: "), "{text}");
        assert!(
            text.contains("~ configure Deployment/n/a\n    spec.replicas set by kubectl, 5m ago\n--- live/"),
            "{text}"
        );
        assert!(text.contains("-  replicas: 3\n"), "{text}");
        assert!(text.ends_with("\nPlan: 1 to create, 1 to configure, 1 unchanged\n"), "{text}");
    }

    #[test]
    fn documentation_is_one_line_and_only_the_first_fields_are_shown() {
        let change = |path: String| FieldChange { path, from: Some(json!(1)), to: Some(json!(2)), owner: None };
        let wording = |count: usize| -> Vec<FieldChange> {
            let path = |n| format!("spec.versions[name=v1].schema.openAPIV3Schema.properties.p{n}.description");
            (0..count).map(|n| change(path(n))).collect()
        };
        let meant = |count: usize| -> Vec<FieldChange> { (0..count).map(|n| change(format!("spec.f{n}"))).collect() };
        let lines = |changes: &[FieldChange], all| -> Vec<String> {
            fields(changes, false, &style(None, all)).lines().map(|line| line.trim_start().to_owned()).collect()
        };
        assert_eq!(lines(&wording(47), false), ["documentation only (47 texts)"]);
        assert_eq!(lines(&wording(47), true).len(), 47);
        let many = [wording(1), meant(52)].concat();
        let shown = lines(&many, false);
        assert_eq!(shown.len(), 7);
        assert_eq!(shown[4..], ["spec.f4: 1 → 2", "… and 47 more", "… and the documentation (1 text)"]);
        assert_eq!(lines(&many, true).len(), 53);
        assert_eq!(lines(&meant(5), false).len(), 5);
    }

    #[test]
    fn long_values_are_shown_from_where_they_differ() {
        let image = |tag: &str| json!(format!("ghcr.io/fluxcd/kustomize-controller:{tag}@sha256:0123456789"));
        let change: FieldChange =
            serde_json::from_value(json!({"path": "image", "from": image("v1.9.4"), "to": image("v1.9.0")})).unwrap();
        assert_eq!(
            field(&change, false, &style(None, false)),
            "    image: …v1.9.4@sha256:0123456789\" → …v1.9.0@sha256:0123456789\"\n"
        );
    }

    #[test]
    fn equal_objects_in_another_order_have_no_diff() {
        let (a, b) = (json!({"kind": "A", "spec": {"x": 1, "y": 2}}), json!({"spec": {"y": 2, "x": 1}, "kind": "A"}));
        let (before, after) = sides(Some(&a), Some(&b)).unwrap();
        assert_eq!(before, after);
    }
}
