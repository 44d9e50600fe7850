//! `get inventory`: the objects that an instance applied, with their state.

use flux_operator::api::kinds::DEPLOYMENT;
use flux_operator::inspect::views::inventory;
use flux_operator::k8s::ObjectId;

use crate::args::list::{ListRequest, show_list};
use crate::args::objects::owner;
use crate::flows::desired::desired_objects;
use crate::flows::rights::{READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, instance_type};
use crate::session::registries::SourceArgs;
use crate::session::target::instance_kind;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show objects applied by an instance or another owner, with health and drift
///
/// Works for the instance and for any object that keeps an inventory: a
/// Kustomization, a HelmRelease, a ResourceSet. DRIFT is `drifted` when fields
/// differ from the build of the instance (-o wide lists them), `documentation`
/// when only the descriptions in a CRD differ, and `missing` when the object
/// does not exist.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # All objects of the instance\n  \
    flux-operator get inventory\n\n  \
    # The objects that a Kustomization applied\n  \
    flux-operator -n apps get inventory ks/podinfo\n\n  \
    # Objects that are missing or were edited\n  \
    flux-operator get inventory --filter drift!=no -o wide\n\n  \
    # As one kubectl command line\n  \
    flux-operator get inventory -o name")]
pub struct Args {
    /// Name of an instance, KIND/NAME or KIND NAME of another owner [default: flux]
    #[arg(value_name = "OWNER", num_args = 0..=2, add = crate::args::complete::instances())]
    pub owner: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    if let Ok((kind, name)) = owner(&args.owner, instance_kind()) {
        rights.list(&kind.resource_type(), Some(&namespace), &[name], args.watch);
    }
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let named = args.source.open_named(shell).await?;
        let (kind, name) = owner(&args.owner, instance_kind())?;
        let resource = kind.resource_type();
        let namespace = source.namespace_of(&resource);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![resource.clone(), DEPLOYMENT],
            namespace: namespace.clone(),
            single: false,
            nothing: format!(
                "the inventory of {} is empty",
                ObjectId::new(kind.group, kind.kind, namespace.as_deref(), name)
            ),
        };
        show_list(shell, &source, options, async || {
            let owner = source.object(shell, &resource, namespace.as_deref(), name).await?;
            let desired = match resource == instance_type() {
                true => desired_objects(&owner, named.as_ref(), &args.source).await,
                false => Err(format!("only its controller can build the desired state of {name}")),
            };
            if let Err(why) = &desired {
                shell.hint(&format!("only missing objects are shown as drift: {why}"));
            }
            let desired = desired.as_deref().ok();
            let rows = source.view(shell, |snapshot| inventory::rows(snapshot, &owner, desired)).await?.value;
            Ok(listing(&rows))
        })
        .await
    })
}
