//! `get inventory`: what an instance applied, and how it fares.

use flux_operator::api::{CheckedInstance, FluxInstance};
use flux_operator::build::{BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::inspect::inventory;
use flux_operator::inspect::listing::listing;
use flux_operator::k8s::fields;
use flux_operator::oci::Reference;
use serde_json::Value;

use crate::common::list::{ListRequest, show_list};
use crate::common::read_source::{FromArgs, Source, instance_type};
use crate::common::registries::SourceArgs;
use crate::render::table::short_revision;
use crate::shell::output::OutputArgs;
use crate::shell::{CliError, Exit, Shell};

/// Show what an instance applied, its health and its drift
///
/// DRIFT is `drifted` when fields differ from what the instance builds (-o wide
/// names them), `documentation` when only the wording of a definition does, and
/// `missing` when the object is gone.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything the instance consists of\n  \
    flux-operator get inventory\n\n  \
    # What is missing or was edited\n  \
    flux-operator get inventory --filter drift!=no -o wide\n\n  \
    # As one kubectl command line\n  \
    flux-operator get inventory -o name")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::common::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Go on and show every change
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let named = args.source.open_named(shell).await?;
        let namespace = source.instance_namespace();
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![instance_type(), flux_operator::api::kinds::DEPLOYMENT],
            namespace: Some(namespace.clone()),
            single: false,
            nothing: format!("the inventory of fluxinstance/{namespace}/{} is empty", args.name),
        };
        show_list(shell, &source, options, async || {
            let instance = source.object(shell, &instance_type(), Some(&namespace), &args.name).await?;
            let desired = desired(&instance, named.as_ref(), &args.source).await;
            if let Err(why) = &desired {
                shell.hint(&format!("only missing objects are shown as drift: {why}"));
            }
            let desired = desired.as_deref().ok();
            let rows = source.view(shell, |snapshot| inventory::rows(snapshot, &instance, desired)).await?.value;
            Ok(listing(&rows))
        })
        .await
    })
}

/// What the instance builds here, when that is what was applied; else why it cannot be compared.
async fn desired(instance: &Value, named: Option<&Distribution>, source: &SourceArgs) -> Result<Vec<Value>, String> {
    let applied = fields::some_text(instance, "/status/lastAppliedRevision").ok_or("nothing was applied yet")?;
    let artifact = fields::some_text(instance, "/spec/distribution/artifact");
    let last = fields::some_text(instance, "/status/lastArtifactRevision").unwrap_or_default();
    let distribution = match (named, artifact) {
        (Some(named), _) => named.clone(),
        (None, None) => Distribution::embedded(),
        (None, Some(artifact)) => source.open_cached(artifact, last).await.ok_or_else(|| {
            let at = artifact
                .parse::<Reference>()
                .ok()
                .zip(last.parse().ok())
                .map(|(reference, last)| reference.at(last).url());
            let at = at.as_deref().unwrap_or(artifact);
            format!("its distribution is an artifact that is not in the cache here, compare with --distribution {at}")
        })?,
    };
    let typed = FluxInstance::from_object(instance.clone()).map_err(|e| e.to_string())?;
    let typed = CheckedInstance::check(typed).map_err(|e| e.to_string())?;
    // It was applied, so somebody has allowed it.
    let options = BuildOptions { allow_unknown_minor: true, ..BuildOptions::default() };
    let built = build(&typed, &distribution, &options).map_err(|e| e.to_string())?;
    let revision = built.revision.to_string();
    if revision == applied {
        Ok(built.objects)
    } else {
        Err(format!("{} was applied, and {distribution} gives {}", short_revision(applied), short_revision(&revision)))
    }
}
