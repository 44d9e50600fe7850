//! Parts shared by the commands about a ResourceSet: its manifest, and its run.

use std::path::Path;

use flux_operator::api::well_known::{API_VERSION, DEFAULT_NAMESPACE, GROUP};
use flux_operator::format::yaml;
use flux_operator::k8s::fields;
use flux_operator::reconcile::RunOptions;
use serde_json::Value;

use crate::flows::run_in_process::{self, DistributionArgs, InProcessArgs};
use crate::session::manifest_file::read_text;
use crate::session::target::{Target, resource_set_kind};
use crate::terminal::{CliError, Exit, Shell, name_of_input};

/// Fields that only the API server writes.
const SERVER_MADE: [&str; 5] = ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"];

/// With whose rights the objects of a ResourceSet are applied.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SetAccountArgs {
    /// Service account for a ResourceSet that names none
    #[arg(long, value_name = "NAME")]
    pub default_service_account: Option<String>,
}

/// Options of a run from this terminal.
pub fn options(in_process: &InProcessArgs, account: &SetAccountArgs) -> RunOptions {
    let mut options = run_in_process::options(in_process, &DistributionArgs::default());
    options.default_service_account.clone_from(&account.default_service_account);
    options
}

/// Reads the only ResourceSet of a file. Without a namespace it gets that of the command, of the context, or the
/// default.
pub async fn read(
    filename: &Path,
    context_namespace: Option<&str>,
    shell: &Shell,
) -> Result<(Target, Value), CliError> {
    let text = read_text(filename, "the ResourceSet", shell).await?;
    let attempted = format!("cannot read the ResourceSet of {}", name_of_input(filename));
    let refused = |cause: String| CliError::new(Exit::Usage, attempted.clone()).cause(cause);
    let documents = yaml::parse_documents(&text)
        .map_err(|error| CliError::new(Exit::Usage, attempted.clone()).caused_by(&error))?;
    let is_set = |document: &&Value| fields::kind(document) == "ResourceSet" && fields::group(document) == GROUP;
    let mut sets = documents.iter().filter(is_set);
    let (Some(set), None) = (sets.next(), sets.next()) else {
        return Err(refused(format!("it must contain exactly one object of kind ResourceSet and {API_VERSION}")));
    };
    let mut set = set.clone();
    let name = fields::name(&set).to_owned();
    if name.is_empty() {
        return Err(refused("metadata.name is missing".to_owned()));
    }
    let kind = resource_set_kind();
    let namespace = match fields::text(&set, "/metadata/namespace") {
        "" => shell.global().namespace().or(context_namespace).unwrap_or(DEFAULT_NAMESPACE).to_owned(),
        namespace => namespace.to_owned(),
    };
    set["metadata"]["namespace"] = namespace.clone().into();
    // Manifests are often copied from a cluster, and the API server refuses an apply with managed fields.
    if let Some(set) = set.as_object_mut() {
        set.remove("status");
    }
    if let Some(metadata) = set.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !SERVER_MADE.contains(&key.as_str()));
    }
    Ok((Target { kind, namespace, name }, set))
}
