//! Writes the manifests of package managers for a release: a Homebrew formula, a krew plugin and a Scoop manifest.
//!
//! ```text
//! cargo run -p tools --bin package-manifests -- --archives DIR --url URL --to DIR
//!
//!   --archives  the archives of all targets, as `release` packs them
//!   --url       address below which they are published: https://github.com/OWNER/flux-operator/releases/download/vVERSION
//! ```
//! An archive of every target has to be there: a manifest that lacks a system would remove the program from it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sha2::{Digest, Sha256};

const NAME: &str = "flux-operator";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMMARY: &str = "Install, configure, inspect and reconcile Flux on Kubernetes";

/// Target, the names of its system and processor in Go, and the ending of its archive.
const TARGETS: [(&str, &str, &str, &str); 5] = [
    ("aarch64-apple-darwin", "darwin", "arm64", "tar.gz"),
    ("x86_64-apple-darwin", "darwin", "amd64", "tar.gz"),
    ("aarch64-unknown-linux-musl", "linux", "arm64", "tar.gz"),
    ("x86_64-unknown-linux-musl", "linux", "amd64", "tar.gz"),
    ("x86_64-pc-windows-gnu", "windows", "amd64", "zip"),
];

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// An archive as it is published.
struct Archive {
    system: &'static str,
    processor: &'static str,
    /// The archive's name without its ending, which is also its only folder.
    stem: String,
    url: String,
    sha256: String,
}

fn main() -> ExitCode {
    match write_manifests() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_manifests() -> Fallible<()> {
    let words: Vec<String> = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect();
    let arguments: BTreeMap<&str, &str> =
        words.chunks(2).filter_map(|pair| Some((pair.first()?.as_str(), pair.get(1)?.as_str()))).collect();
    let argument = |flag: &str| arguments.get(flag).copied().ok_or_else(|| format!("{flag} is missing"));
    let (folder, url, to) =
        (PathBuf::from(argument("--archives")?), argument("--url")?, PathBuf::from(argument("--to")?));
    let archives: Vec<Archive> = TARGETS.iter().map(|target| archive(&folder, url, target)).collect::<Fallible<_>>()?;
    fs::create_dir_all(&to)?;
    for (file, content) in [
        (format!("{NAME}.rb"), homebrew_formula(&archives)),
        (format!("{NAME}.yaml"), krew_plugin(&archives)),
        (format!("{NAME}.json"), scoop_manifest(&archives)?),
    ] {
        fs::write(to.join(&file), content)?;
        println!("{}", to.join(file).display());
    }
    Ok(())
}

fn archive(folder: &Path, url: &str, target: &(&str, &'static str, &'static str, &str)) -> Fallible<Archive> {
    let (target, system, processor, ending) = *target;
    let stem = format!("{NAME}-{VERSION}-{target}");
    let file = format!("{stem}.{ending}");
    let bytes = fs::read(folder.join(&file)).map_err(|error| format!("cannot read {file}: {error}"))?;
    let sha256 = hex::encode(Sha256::digest(bytes));
    Ok(Archive { system, processor, stem, url: format!("{}/{file}", url.trim_end_matches('/')), sha256 })
}

/// The address of the project: where the archives are published, up to the repository.
fn homepage(archives: &[Archive]) -> &str {
    let url = archives.first().map_or("", |archive| archive.url.as_str());
    url.split("/releases/").next().unwrap_or(url)
}

fn homebrew_formula(archives: &[Archive]) -> String {
    let choice = |system: &str, processor: &str, method: &str| {
        let found = archives.iter().find(|archive| archive.system == system && archive.processor == processor);
        found.map_or_else(String::new, |archive| {
            let Archive { url, sha256, .. } = archive;
            format!("    {method} do\n      url \"{url}\"\n      sha256 \"{sha256}\"\n    end\n")
        })
    };
    let system = |method: &str, system: &str| {
        let (arm, intel) = (choice(system, "arm64", "on_arm"), choice(system, "amd64", "on_intel"));
        format!("  {method} do\n{arm}{intel}  end\n")
    };
    format!(
        r##"class FluxOperator < Formula
  desc "{SUMMARY}"
  homepage "{}"
  version "{VERSION}"
  license "Apache-2.0"

{}
{}
  def install
    bin.install "flux-operator"
    bin.install_symlink "flux-operator" => "kubectl-flux_operator"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/flux-operator.bash" => "flux-operator"
    zsh_completion.install "completions/_flux-operator"
    fish_completion.install "completions/flux-operator.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/flux-operator --version")
  end
end
"##,
        homepage(archives),
        system("on_macos", "darwin"),
        system("on_linux", "linux"),
    )
}

fn krew_plugin(archives: &[Archive]) -> String {
    let platforms: String = archives
        .iter()
        .map(|Archive { system, processor, stem, url, sha256 }| {
            let program = if *system == "windows" { "flux-operator.exe" } else { "flux-operator" };
            format!(
                "  - selector:\n      matchLabels:\n        os: {system}\n        arch: {processor}\n    uri: {url}\n    \
                 sha256: {sha256}\n    files:\n    - from: {stem}/{program}\n      to: .\n    - from: {stem}/LICENSE\n      \
                 to: .\n    bin: {program}\n"
            )
        })
        .collect();
    format!(
        "apiVersion: krew.googlecontainertools.github.com/v1alpha2\nkind: Plugin\nmetadata:\n  name: {NAME}\nspec:\n  \
         version: v{VERSION}\n  homepage: {}\n  shortDescription: {SUMMARY}\n  description: |\n    Plans and applies a FluxInstance, \
         creates the secrets that Flux needs,\n    triggers reconciliations, shows components, history and inventory,\n    and \
         explains why something is not ready.\n  platforms:\n{platforms}",
        homepage(archives)
    )
}

fn scoop_manifest(archives: &[Archive]) -> Fallible<String> {
    let windows = archives.iter().find(|archive| archive.system == "windows").ok_or("no archive for Windows")?;
    let manifest = json!({
        "version": VERSION,
        "description": SUMMARY,
        "homepage": homepage(archives),
        "license": "Apache-2.0",
        "architecture": {"64bit": {"url": windows.url, "hash": windows.sha256, "extract_dir": windows.stem}},
        "bin": "flux-operator.exe",
    });
    Ok(serde_json::to_string_pretty(&manifest)? + "\n")
}
