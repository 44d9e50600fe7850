//! Manifests from files and standard input, and the report of their problems.

use std::fs::File;
use std::io::IsTerminal;
use std::path::Path;

use flux_operator::api::manifest::{self, InstanceManifest, ManifestError, NamespaceChoice};
use flux_operator::format::yaml;
use flux_operator::k8s::ObjectId;
use flux_operator::oci::download;
use serde_json::Value;

use crate::output::next_step::word as quoted;
use crate::session::registries::RegistryArgs;
use crate::terminal::{CliError, Shell, is_stdin, name_of_input, unopened};

const INSTANCE: &str = "the FluxInstance";
/// Verbs that read a FluxInstance from a file, or a ResourceSet with the noun `resourceset`.
const SET_VERBS: [&str; 3] = ["build", "plan", "apply"];

/// Returns the error for a manifest, with each of its problems below the attempted operation.
pub fn manifest_error(error: &ManifestError, attempted: &str) -> CliError {
    match error.problems() {
        [] => CliError::usage(attempted).caused_by(error),
        problems => {
            problems.iter().fold(CliError::usage(attempted), |report, problem| report.cause(problem.to_string()))
        }
    }
}

/// Reads the only FluxInstance of a file, or of standard input for `-`. Its warnings go to stderr.
pub async fn read_instance(filename: &Path, shell: &Shell) -> Result<InstanceManifest, CliError> {
    read_instance_for(filename, None, shell).await
}

/// Like [`read_instance`], for a cluster whose context may have its own namespace.
pub async fn read_instance_for(
    filename: &Path,
    context_namespace: Option<&str>,
    shell: &Shell,
) -> Result<InstanceManifest, CliError> {
    let text = read_text(filename, INSTANCE, shell).await?;
    instance_of(&text, &name_of_input(filename), context_namespace, shell)
}

/// Like [`read_instance_for`], also from a URL.
pub async fn read_instance_at(
    source: &Path,
    context_namespace: Option<&str>,
    shell: &Shell,
) -> Result<InstanceManifest, CliError> {
    let Some(source) = address(source) else { return read_instance_for(source, context_namespace, shell).await };
    if source.starts_with("http://") {
        shell.warn(&format!("{source} is read without TLS: anyone between you and the server can change it"));
    }
    let failed =
        |error: &(dyn std::error::Error + 'static)| CliError::failed(format!("cannot read {source}")).caused_by(error);
    let access = RegistryArgs::default().access(shell).await?;
    let download = download(access, source, yaml::MAX_INPUT_BYTES as u64);
    let bytes = shell.while_waiting_for(source, "answer", download).await.map_err(|error| failed(&error))?;
    let text = yaml::read(bytes.as_slice()).map_err(|error| failed(&error))?;
    instance_of(&text, source, context_namespace, shell)
}

/// Reads the Secrets of a file, or of standard input for `-`; those without a namespace get `namespace`.
pub async fn read_secrets(filename: &Path, namespace: &str, shell: &Shell) -> Result<Vec<Value>, CliError> {
    let what = name_of_input(filename);
    let failed = || CliError::usage(format!("cannot read Secrets from {what}"));
    let text = read_text(filename, "the Secrets", shell).await?;
    let mut secrets = yaml::parse_documents(&text).map_err(|error| failed().caused_by(&error))?;
    for secret in &mut secrets {
        let ObjectId { kind, namespace: own, name, .. } = ObjectId::of(secret);
        if (secret["apiVersion"].as_str(), kind.as_str()) != (Some("v1"), "Secret") || name.is_empty() {
            return Err(failed().cause(format!("it holds a {kind} named {name:?}")));
        }
        if !own.is_empty() && own != namespace {
            return Err(failed().cause(format!("secret/{own}/{name} is not for the namespace {namespace}")));
        }
        secret["metadata"]["namespace"] = namespace.into();
    }
    if secrets.is_empty() {
        return Err(failed().cause("it holds no objects"));
    }
    Ok(secrets)
}

/// Returns the URL given in place of a file.
fn address(source: &Path) -> Option<&str> {
    source.to_str().filter(|source| source.starts_with("https://") || source.starts_with("http://"))
}

fn instance_of(
    text: &str,
    what: &str,
    context_namespace: Option<&str>,
    shell: &Shell,
) -> Result<InstanceManifest, CliError> {
    let mut namespace = NamespaceChoice { explicit: shell.global().namespace.clone(), ..NamespaceChoice::default() };
    // The manifest's namespace takes precedence over the configured one.
    let usual = shell.global().usual_namespace.as_deref();
    if let Some(own) = usual.or(context_namespace) {
        namespace.default = own.to_owned();
    }
    let manifest = manifest::read(text, &namespace).map_err(|error| refused(&error, what, shell.command()))?;
    for warning in &manifest.warnings {
        shell.warn(&format!("{what}: {warning}"));
    }
    Ok(manifest)
}

fn refused(error: &ManifestError, what: &str, command: &str) -> CliError {
    let failure = manifest_error(error, &format!("cannot read a FluxInstance from {what}"));
    // Only the verb is needed, because the hint contains another noun.
    let verb = command.split(' ').next().unwrap_or_default();
    match error {
        ManifestError::NoInstance { found }
            if SET_VERBS.contains(&verb) && found.iter().any(|one| one.starts_with("ResourceSet ")) =>
        {
            let file = if what == name_of_input(Path::new("-")) { "-" } else { what };
            failure.hint(format!("for a ResourceSet use `flux-operator {verb} resourceset -f {}`", quoted(file)))
        }
        ManifestError::NoInstance { .. } => {
            failure.hint("write one with `flux-operator create instance`, then pass it with -f")
        }
        _ => failure,
    }
}

/// Reads the text of a file with `content`, or of standard input for `-`.
pub async fn read_text(path: &Path, content: &'static str, shell: &Shell) -> Result<String, CliError> {
    let what = name_of_input(path);
    let failed =
        |error: &(dyn std::error::Error + 'static)| CliError::usage(format!("cannot read {what}")).caused_by(error);
    if is_stdin(path) {
        let stdin = shell.stdin(content)?;
        // Without a message, the command would seem to hang.
        if stdin.is_terminal() {
            shell.status(&format!("reading {content} from the terminal; end with Ctrl-D"));
        }
        let text = shell.read_input(&what, move || yaml::read(stdin.lock())).await?;
        return text.map_err(|error| failed(&error));
    }
    if let Some(address) = address(path) {
        return Err(CliError::usage(format!("cannot read {address}"))
            .cause("files are not downloaded")
            .hint(format!("pipe it in: curl -fsSL {address} | flux-operator {} -f -", shell.command())));
    }
    if path.is_dir() {
        let inside = manifests_in(path);
        let failure = CliError::usage(format!("cannot read {what}")).cause("it is a directory");
        let wanted = if content == INSTANCE { "one FluxInstance" } else { content };
        return Err(match inside.as_slice() {
            [] => failure.hint(format!("pass one file with {wanted}")),
            names => failure.hint(format!("pass one file with {wanted}; it holds {}", names.join(", "))),
        });
    }
    let file = path.to_owned();
    let opened = shell.read_input(&what, move || File::open(file).map(yaml::read)).await?;
    let text = opened.map_err(|error| unopened(path, &error))?;
    text.map_err(|error| failed(&error))
}

fn manifests_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort_unstable();
    names.truncate(10);
    names
}
