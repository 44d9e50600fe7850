//! Committed files that are derived from the code. They are made of the command tree and the types of views, so unit tests of the
//! program make them: each test compares a folder, and `tools/generate.sh` has the folder written first.

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use flux_operator::api::crd;
use flux_operator::format::{json, yaml};

use crate::verbs::completion::CompletionShell;

mod deploy;
mod guide;
mod man;
mod schemas;

/// The variable by which files are written and not only compared.
const WRITE: &str = "GENERATE";

/// A path in its folder, and the content.
type File = (String, Vec<u8>);

/// Fails if a committed file of `folder` differs from the generated file, or if the folder `generated_below` contains a
/// file that is not generated. If [`WRITE`] is set, the generated files are written first.
#[track_caller]
fn is_up_to_date(folder: &str, generated_below: &str, files: Vec<File>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if std::env::var_os(WRITE).is_some() {
        for (name, content) in &files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
    let is_stale = |(name, content): &&File| fs::read(root.join(name)).ok().as_ref() != Some(content);
    let stale: Vec<&str> = files.iter().filter(is_stale).map(|(name, _)| name.as_str()).collect();
    let mut extra = names_below(&root, generated_below);
    extra.retain(|name| files.iter().all(|(generated, _)| generated != name));
    assert!(
        stale.is_empty() && extra.is_empty(),
        "{folder}: stale: {stale:?}, not generated: {extra:?}; run `tools/generate.sh` and commit the result"
    );
}

/// The files below a folder of `root`, as paths from there.
fn names_below(root: &Path, folder: &str) -> Vec<String> {
    let mut names = vec![];
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = Path::new(folder).join(entry.file_name()).to_str().unwrap().to_owned();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(names_below(root, &name)),
            false => names.push(name),
        }
    }
    names
}

#[test]
fn man_pages_are_up_to_date() {
    is_up_to_date("man", "", man::pages());
}

#[test]
fn completion_scripts_are_up_to_date() {
    let name = |shell: &CompletionShell| match shell {
        CompletionShell::Bash => "flux-operator.bash",
        CompletionShell::Zsh => "_flux-operator",
        CompletionShell::Fish => "flux-operator.fish",
        CompletionShell::Powershell => "_flux-operator.ps1",
        CompletionShell::Elvish => "flux-operator.elv",
        CompletionShell::Nushell => "flux-operator.nu",
    };
    let scripts = CompletionShell::value_variants().iter();
    is_up_to_date("completions", "", scripts.map(|shell| (name(shell).to_owned(), shell.script().unwrap())).collect());
}

#[test]
fn custom_resource_definitions_are_up_to_date() {
    let head = "# Generated from the types by `tools/generate.sh`; do not edit.\n";
    let definitions = crd::all().into_iter().map(|definition| {
        let name = definition["spec"]["names"]["plural"].as_str().unwrap();
        (format!("{name}.yaml"), format!("{head}{}", yaml::to_string(&definition).unwrap()).into_bytes())
    });
    is_up_to_date("deploy/crds", "", definitions.collect());
}

#[test]
fn definitions_that_the_program_holds_are_up_to_date() {
    let definitions = crd::derived::all().into_iter();
    let files = definitions.map(|(file, definition)| (file.to_owned(), json::to_string(&definition).unwrap().into()));
    is_up_to_date("crates/core/src/api/crd/definitions", "", files.collect());
}

#[test]
fn schemas_are_up_to_date() {
    is_up_to_date("docs/schemas", "", schemas::all());
}

#[test]
fn manifests_of_the_operator_and_its_chart_are_up_to_date() {
    is_up_to_date("deploy", "chart", deploy::all());
}

#[test]
fn pages_of_the_guide_are_up_to_date() {
    is_up_to_date("docs/guide", "reference", guide::all());
}
