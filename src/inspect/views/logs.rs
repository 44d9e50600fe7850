//! `logs`: parses and filters the log lines of Flux's controllers. Pure.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::api::well_known;
use crate::inspect::read::snapshot::Snapshot;
use crate::inspect::views::components;
use crate::inspect::views::operator;
use crate::k8s::{ObjectId, fields};

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Trace,
    Debug,
    Info,
    Error,
}

impl Severity {
    fn of(word: &str) -> Self {
        match word {
            "trace" => Severity::Trace,
            "debug" => Severity::Debug,
            "info" => Severity::Info,
            // Any other level is important: `warn`, `fatal`, `panic`.
            _ => Severity::Error,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Trace => "trace",
            Severity::Debug => "debug",
            Severity::Info => "info",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A container whose log is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogSource {
    /// Its Deployment.
    pub controller: String,
    pub namespace: String,
    pub pod: String,
    pub container: String,
    /// Whether it was restarted, so that there is a log of the previous run.
    pub is_restarted: bool,
}

/// Selects lines.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    /// Only lines about these objects; empty means all lines.
    pub objects: Vec<ObjectId>,
    /// Only lines with at least this severity.
    pub least: Option<Severity>,
}

impl LogFilter {
    /// Whether a line is selected; `text` has no time before it.
    pub fn matches(&self, text: &str) -> bool {
        let is_of_all = self.objects.is_empty();
        // Decide most lines without parsing them.
        if !is_of_all && !self.objects.iter().any(|object| text.contains(object.name.as_str())) {
            return false;
        }
        if is_of_all && self.least.is_none_or(|least| least <= Severity::Trace) {
            return true;
        }
        if let Some(severity) = first_severity(text) {
            if self.least.is_some_and(|least| severity < least) {
                return false;
            }
            if is_of_all {
                return true;
            }
        }
        let Ok(Value::Object(line)) = serde_json::from_str::<Value>(text) else {
            // A panic cannot be attributed to an object.
            return is_of_all;
        };
        let is_about = |found: ObjectId| self.objects.iter().any(|object| is_same(&found, object));
        self.least.is_none_or(|least| severity(&line) >= least) && (is_of_all || object_of(&line).is_some_and(is_about))
    }
}

/// Returns the level of a controller's line, which precedes everything else.
fn first_severity(text: &str) -> Option<Severity> {
    let (word, _) = text.strip_prefix(r#"{"level":""#)?.split_once('"')?;
    Some(Severity::of(word))
}

/// Returns the time in a line without parsing the rest.
pub(crate) fn moment_within(text: &str) -> Option<Timestamp> {
    let (moment, _) = text.split_once(r#""ts":""#)?.1.split_once('"')?;
    moment.parse().ok()
}

/// Compares without the group, which lines lack.
fn is_same(found: &ObjectId, object: &ObjectId) -> bool {
    found.kind == object.kind && found.name == object.name && found.namespace == object.namespace
}

fn severity(line: &Map<String, Value>) -> Severity {
    line.get("level").and_then(Value::as_str).map_or(Severity::Info, Severity::of)
}

/// Returns the object of a line: the reconciled one, or the one of an event.
fn object_of(line: &Map<String, Value>) -> Option<ObjectId> {
    let text = |object: &Map<String, Value>, key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    for key in ["eventInvolvedObject", "involvedObject", "object"] {
        if let Some(Value::Object(found)) = line.get(key)
            && let (Some(kind), Some(name)) = (text(found, "kind"), text(found, "name"))
        {
            return Some(ObjectId::new("", &kind, text(found, "namespace").as_deref(), &name));
        }
    }
    let kind = text(line, "controllerKind")?;
    let name = text(line, "name")?;
    Some(ObjectId::new("", &kind, text(line, "namespace").as_deref(), &name))
}

/// A line in readable form.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub at: Option<Timestamp>,
    /// `None` for a line that is not JSON, such as one of a panic.
    pub severity: Option<Severity>,
    pub object: Option<ObjectId>,
    pub message: String,
    /// Its other fields in order.
    pub fields: Vec<(String, String)>,
}

/// Fields about the writer instead of the event, and fields that are shown separately.
const KNOWN: [&str; 14] = [
    "level",
    "ts",
    "msg",
    "logger",
    "caller",
    "stacktrace",
    "controller",
    "controllerGroup",
    "controllerKind",
    "namespace",
    "name",
    "reconcileID",
    "eventInvolvedObject",
    "involvedObject",
];

impl LogLine {
    /// Parses a line; `at` is the time before it, if any.
    pub fn parse(text: &str, at: Option<Timestamp>) -> Self {
        let Ok(Value::Object(line)) = serde_json::from_str::<Value>(text) else {
            return LogLine { at, severity: None, object: None, message: text.trim_end().to_owned(), fields: vec![] };
        };
        let object = object_of(&line);
        let kind = object.as_ref().map(|object| object.kind.clone()).unwrap_or_default();
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // controller-runtime repeats the object in a field that has its kind as name.
        let others = line.iter().filter(|(key, _)| !KNOWN.contains(&key.as_str()) && **key != kind);
        LogLine {
            at: at.or_else(|| line.get("ts").and_then(Value::as_str).and_then(|ts| ts.parse().ok())),
            severity: Some(severity(&line)),
            message: line.get("msg").map(&plain).unwrap_or_default(),
            fields: others.map(|(key, value)| (key.clone(), plain(value))).collect(),
            object,
        }
    }
}

/// Splits off the time before a line.
pub fn split_moment(line: &str) -> (Option<Timestamp>, &str) {
    match line.split_once(' ') {
        // The shortest time in RFC 3339 with a zone has 20 characters; most lines need no attempt to parse one.
        Some((moment, rest)) if moment.len() >= 20 => match moment.parse() {
            Ok(at) => (Some(at), rest),
            Err(_) => (None, line),
        },
        _ => (None, line),
    }
}

/// Returns the containers of Flux's controllers and of the operator, by controller and pod; an empty list of names
/// selects all.
pub(crate) fn sources(snapshot: &Snapshot, controllers: &[String]) -> Vec<LogSource> {
    let is_wanted = |name: &str| {
        controllers.is_empty()
            || controllers.iter().any(|wanted| name == wanted || name.strip_suffix("-controller") == Some(wanted))
    };
    let mut deployments = components::deployments(snapshot, None);
    if let Some(operator) = operator::deployment(snapshot, well_known::DEFAULT_NAMESPACE) {
        deployments.push(operator);
    }
    let wanted = deployments.into_iter().filter(|deployment| is_wanted(fields::name(deployment)));
    let mut sources: Vec<LogSource> = wanted
        .flat_map(|deployment| {
            let name = fields::name(deployment);
            components::pods(snapshot, deployment).into_iter().flat_map(move |pod| containers(name, pod))
        })
        .collect();
    sources.sort();
    sources.dedup();
    sources
}

pub(crate) fn containers(controller: &str, pod: &Value) -> Vec<LogSource> {
    let statuses = fields::items(pod, "/status/containerStatuses");
    let is_restarted = |name: &str| {
        let status = statuses.iter().find(|status| fields::text(status, "/name") == name);
        status.and_then(|status| fields::number(status, "/restartCount")).unwrap_or(0) > 0
    };
    let containers = fields::items(pod, "/spec/containers").iter().map(|container| fields::text(container, "/name"));
    containers
        .map(|name| LogSource {
            controller: controller.to_owned(),
            namespace: fields::namespace(pod).unwrap_or_default().to_owned(),
            pod: fields::name(pod).to_owned(),
            container: name.to_owned(),
            is_restarted: is_restarted(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const APPLIED: &str = r#"{"level":"info","ts":"2026-01-01T00:00:01.5Z","msg":"server-side apply completed","controller":"kustomization","controllerGroup":"kustomize.toolkit.fluxcd.io","controllerKind":"Kustomization","Kustomization":{"name":"app","namespace":"apps"},"namespace":"apps","name":"app","reconcileID":"1","revision":"main@sha1:abc"}"#;
    const FAILED: &str = r#"{"level":"error","ts":"2026-01-01T00:00:02Z","msg":"Reconciler error","controllerKind":"GitRepository","namespace":"apps","name":"app","error":"no such host"}"#;
    const EVENT: &str = r#"{"level":"info","ts":"2026-01-01T00:00:03Z","logger":"event-server","msg":"Dispatching event","eventInvolvedObject":{"kind":"Kustomization","namespace":"apps","name":"app"}}"#;

    fn object(kind: &str, name: &str) -> LogFilter {
        LogFilter { objects: vec![ObjectId::new("x", kind, Some("apps"), name)], least: None }
    }

    #[test]
    fn lines_are_about_one_object_of_one_kind() {
        let about = |filter: &LogFilter| [APPLIED, FAILED, EVENT].map(|line| filter.matches(line));
        assert_eq!(about(&object("Kustomization", "app")), [true, false, true]);
        assert_eq!(about(&object("GitRepository", "app")), [false, true, false]);
        assert_eq!(about(&object("Kustomization", "ap")), [false; 3], "part of a name does not match");
        let elsewhere =
            LogFilter { objects: vec![ObjectId::new("x", "Kustomization", Some("web"), "app")], least: None };
        let both = LogFilter {
            objects: [elsewhere.objects.clone(), object("GitRepository", "app").objects].concat(),
            least: None,
        };
        assert_eq!(about(&both), [false, true, false]);
        assert_eq!(about(&elsewhere), [false; 3]);
        assert_eq!(about(&LogFilter::default()), [true; 3]);
    }

    #[test]
    fn a_level_keeps_more_severe_lines_and_lines_without_json() {
        let least = |least: Severity| LogFilter { objects: vec![], least: Some(least) };
        assert!(!least(Severity::Error).matches(APPLIED));
        assert!(least(Severity::Error).matches(FAILED) && least(Severity::Info).matches(FAILED));
        assert!(least(Severity::Error).matches("panic: runtime error: index out of range"));
        assert!(!object("Kustomization", "app").matches("goroutine 1 [running]: app"));
        assert!(
            least(Severity::Debug).matches(APPLIED) && !least(Severity::Info).matches(r#"{"level":"debug","msg":"x"}"#)
        );
    }

    #[test]
    fn a_line_shows_the_action_and_its_object() {
        let line = LogLine::parse(APPLIED, None);
        assert_eq!(line.at, "2026-01-01T00:00:01.5Z".parse().ok());
        assert_eq!(line.object.unwrap().to_string(), "Kustomization/apps/app");
        assert_eq!((line.message.as_str(), line.severity), ("server-side apply completed", Some(Severity::Info)));
        assert_eq!(line.fields, [("revision".to_owned(), "main@sha1:abc".to_owned())]);
        let panic = LogLine::parse("panic: no\n", "2026-01-01T00:00:05Z".parse().ok());
        assert_eq!((panic.message.as_str(), panic.severity, panic.object), ("panic: no", None, None));
    }

    #[test]
    fn the_moment_before_a_line_is_taken_off() {
        let (at, rest) = split_moment("2026-01-01T00:00:01.123456789Z {\"msg\":\"a b\"}");
        assert_eq!((at, rest), ("2026-01-01T00:00:01.123456789Z".parse().ok(), "{\"msg\":\"a b\"}"));
        assert_eq!(split_moment("panic: no moment"), (None, "panic: no moment"));
    }

    #[test]
    fn every_container_of_every_controller_is_a_source() {
        let deployment = |name: &str, part_of: &str| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "fs", "labels": {"app.kubernetes.io/part-of": part_of}},
            "spec": {"selector": {"matchLabels": {"app": name}}}})
        };
        let pod = |name: &str, app: &str, restarts: i64| {
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "fs", "labels": {"app": app}},
                "spec": {"containers": [{"name": "manager"}]},
                "status": {"containerStatuses": [{"name": "manager", "restartCount": restarts}]}})
        };
        let snapshot = Snapshot::of_dump([
            deployment("source-controller", "flux"),
            deployment("helm-controller", "flux"),
            deployment("web", "shop"),
            pod("sc-1", "source-controller", 2),
            pod("hc-1", "helm-controller", 0),
            pod("web-1", "web", 0),
        ]);
        let found = |wanted: &[&str]| -> Vec<(String, bool)> {
            let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            sources(&snapshot, &wanted).into_iter().map(|source| (source.pod, source.is_restarted)).collect()
        };
        assert_eq!(found(&[]), [("hc-1".to_owned(), false), ("sc-1".to_owned(), true)]);
        assert_eq!(found(&["source"]), [("sc-1".to_owned(), true)]);
        assert_eq!(found(&["source-controller", "helm"]).len(), 2);
    }
}
