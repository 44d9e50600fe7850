//! Recorded runs of the reference's `build resourceset`: every successful run must give the same objects, and every
//! refused run must be refused. [`DEVIATIONS`] lists the differences, each with its reason.
//!
//! Errors of templates and the reference's own errors must have the same text. Errors worded by a Go library must have
//! the same class.

use std::path::PathBuf;

use flux_operator_resourceset::offline::{DocumentStream, ManifestFiles, build};
use flux_operator_resourceset::{BuildErrorKind, Options};
use serde_json::Value;
use test_support::needs;

/// Runs with another result, and the reason.
const DEVIATIONS: &[(&str, &str)] = &[
    ("provider-null-default", "a null at the top of a set is dropped, as the API server does; the reference crashes"),
    (
        "inputs-from-file-null-value",
        "a null at the top of a set is dropped, as the API server does; the reference crashes",
    ),
];

/// Runs that do not concern this crate.
const OF_THE_COMMAND: &[(&str, &str)] = &[("cli-help", "the help text of the command")];

/// The folder of recorded runs, which is not part of the repository.
pub fn recorded_runs() -> Option<PathBuf> {
    needs::folder("RECORDED_RUNS_DIR", "../shared/data/resourceset", "recorded runs of `build resourceset`")
}

/// Texts of libraries: errors are compared only up to these.
const LIBRARIES: [&str; 2] = ["error converting YAML to JSON", "error unmarshaling JSON"];

fn class(error: &str) -> &str {
    let cut = LIBRARIES.iter().filter_map(|phrase| Some(error.find(phrase)? + phrase.len())).min();
    cut.and_then(|cut| error.get(..cut)).unwrap_or(error)
}

enum RunOutcome {
    Printed(String),
    Refused(String),
    /// Refused before the crate is involved: arguments, missing files.
    RefusedByCommand,
}

fn run(case: &Value) -> RunOutcome {
    let arguments: Vec<&str> = case["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let (mut manifest, mut inputs, mut providers, mut namespace) = (None, None, None, "default");
    let mut rest = arguments.iter().skip(2).copied();
    while let Some(argument) = rest.next() {
        match argument {
            "-f" | "--filename" => manifest = rest.next(),
            "-i" | "--inputs-from" => inputs = rest.next(),
            "--inputs-from-provider" => providers = rest.next(),
            "-n" | "--namespace" => namespace = rest.next().unwrap_or_default(),
            other => match other.split_once('=') {
                Some(("--filename", path)) => manifest = Some(path),
                Some(("--inputs-from", path)) => inputs = Some(path),
                Some(("--inputs-from-provider", path)) => providers = Some(path),
                Some(("--namespace", text)) => namespace = text,
                _ => return RunOutcome::RefusedByCommand,
            },
        }
    }
    let text_of = |path: &str| match path {
        "-" => Some(case["stdin"].as_str().unwrap_or_default()),
        path => case["files"][path].as_str(),
    };
    let Some(manifest) = manifest.and_then(text_of) else { return RunOutcome::RefusedByCommand };
    let is_missing = |path: Option<&str>| path.is_some_and(|path| text_of(path).is_none());
    if is_missing(inputs) || is_missing(providers) {
        return RunOutcome::RefusedByCommand;
    }
    let files = ManifestFiles {
        manifest,
        inputs: inputs.and_then(text_of),
        providers: providers.and_then(text_of),
        exported: None,
        namespace,
    };
    let random = |bound: u64| bound / 2;
    let options = Options { now: Some(1_795_000_000), random: Some(&random), ..Options::default() };
    match build(&files, &options) {
        Ok(built) => {
            let mut stream = DocumentStream::new(&built.set);
            built.objects.iter().for_each(|object| stream.push(object));
            match stream.finish() {
                Ok(text) => RunOutcome::Printed(text),
                Err(error) => RunOutcome::Refused(format!("error marshalling object: {error}")),
            }
        }
        Err(error) => {
            let has_place = error.place.is_some();
            let needs_place = matches!(error.kind, BuildErrorKind::Template | BuildErrorKind::Object);
            assert_eq!(has_place, needs_place || error.kind == BuildErrorKind::DuplicateObject, "{error}");
            RunOutcome::Refused(error.to_string())
        }
    }
}

/// Counts the documents of an output.
fn documents(text: &str) -> usize {
    text.lines().filter(|line| *line == "---").count()
}

/// Returns the difference between an outcome and the recorded one.
fn difference(case: &Value, outcome: &RunOutcome) -> Option<String> {
    let text = |name: &str| case[name].as_str().unwrap_or_default();
    let wanted = text("stderr").trim_start_matches("✗ ").trim_end_matches('\n');
    match (case["rc"].as_i64(), outcome) {
        (Some(0), RunOutcome::Printed(printed)) if printed == text("stdout") => None,
        (Some(0), RunOutcome::Printed(printed)) if text("unstable") == "stdout" => {
            (documents(printed) != documents(text("stdout"))).then(|| format!("other documents:\n{printed}"))
        }
        (Some(0), RunOutcome::Printed(printed)) => Some(format!("wanted\n{}\nprinted\n{printed}", text("stdout"))),
        (Some(0), RunOutcome::Refused(error)) => Some(format!("refused: {error}")),
        (Some(0), RunOutcome::RefusedByCommand) => Some("refused by the arguments".to_owned()),
        (_, RunOutcome::Printed(printed)) => Some(format!("wanted {wanted}\nprinted\n{printed}")),
        (_, RunOutcome::RefusedByCommand) => None,
        // A crash has no text to compare.
        (Some(2), RunOutcome::Refused(_)) => None,
        (_, RunOutcome::Refused(error)) => {
            let is_same = text("unstable") == "stderr" || class(wanted) == class(error);
            (!is_same).then(|| format!("wanted {wanted}\nactual {error}"))
        }
    }
}

#[test]
fn recorded_runs_are_reproduced() {
    let Some(folder) = recorded_runs() else { return };
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    let (mut checked, mut failures) = (0, Vec::new());
    for path in paths {
        let is_case = path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok());
        if !is_case {
            continue;
        }
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
        let name = case["name"].as_str().unwrap_or_default();
        if OF_THE_COMMAND.iter().any(|(left_out, _)| *left_out == name) {
            continue;
        }
        let deviation = DEVIATIONS.iter().find(|(deviating, _)| *deviating == name);
        checked += 1;
        match (difference(&case, &run(&case)), deviation) {
            (None, None) | (Some(_), Some(_)) => {}
            (Some(difference), None) => failures.push(format!("{name}: {difference}")),
            (None, Some(_)) => failures.push(format!("{name}: is the same now; take it out of the table")),
        }
    }
    println!("{checked} runs checked");
    assert!(checked > 300, "only {checked} runs were checked");
    assert!(failures.is_empty(), "{} runs differ:\n\n{}", failures.len(), failures.join("\n\n"));
}
