//! `tree`: shows the parts of an object.

use clap::Subcommand;
use flux_operator::api::kinds::{self, FluxKind};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::inspect::diagnose::marks;
use flux_operator::inspect::views::tree;
use flux_operator::inspect::views::tree::{TreeNode, TreeOptions};
use flux_operator::k8s::ResourceType;
use serde_json::{Value, json};

use crate::args::kind;
use crate::args::list::{hint_at_namespace, place};
use crate::flows::rights::{
    FLUX, JUDGES_LISTS, KIND, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights, always, read_words, when,
};
use crate::output::table::terminal_width;
use crate::output::tree::drawn;
use crate::session::read_source::{FromArgs, Lacking, Source, instance_type, within};
use crate::session::watch::WatchWakeups;
use crate::terminal::output_format::{Format, ViewArgs, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

const OF_HELM_RELEASE: &str = "Examples:
  # What a HelmRelease consists of
  flux-operator -n apps tree helmrelease podinfo

  # As JSON
  flux-operator -n apps tree hr podinfo -o json";
const OF_RESOURCE_SET: &str = "Examples:
  # What a ResourceSet consists of
  flux-operator -n apps tree resourceset podinfo

  # As JSON
  flux-operator -n apps tree rset podinfo -o json";

/// Show what an object consists of, down to the pods
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(InstanceTreeArgs),
    #[command(visible_alias = "ks")]
    Kustomization(NamedArgs),
    #[command(visible_alias = "hr", after_help = OF_HELM_RELEASE)]
    Helmrelease(NamedArgs),
    #[command(visible_alias = "rset", after_help = OF_RESOURCE_SET)]
    Resourceset(NamedArgs),
    Resource(ResourceTreeArgs),
}

/// Show an instance: stages, objects, pods, and what the sync brought
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything\n  \
    flux-operator tree instance\n\n  \
    # Only Flux's own kinds and the controllers, redrawn at every change\n  \
    flux-operator tree instance --compact -w")]
pub struct InstanceTreeArgs {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::args::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub tree: TreeArgs,
}

/// Show what one reconciler applied, and what that applied in turn
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What a Kustomization consists of\n  \
    flux-operator -n flux-system tree kustomization flux-system\n\n  \
    # A HelmRelease, as JSON\n  \
    flux-operator -n apps tree helmrelease podinfo -o json")]
pub struct NamedArgs {
    /// Name of the object [default: every one in the namespace]
    #[arg(add = crate::args::complete::resources())]
    pub name: Option<String>,
    #[command(flatten)]
    pub tree: TreeArgs,
}

/// Show an object of any Flux kind, or every one of a kind
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # A source\n  \
    flux-operator -n apps tree resource gitrepo/podinfo\n\n  \
    # Several objects, one after the other\n  \
    flux-operator -n apps tree ks/podinfo hr/podinfo\n\n  \
    # Every ResourceSet of a namespace\n  \
    flux-operator -n apps tree resource rset")]
pub struct ResourceTreeArgs {
    /// KIND/NAME…, KIND NAME…, or KIND for all of them
    #[arg(value_name = "RESOURCE", required = true, add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    #[command(flatten)]
    pub tree: TreeArgs,
}

#[derive(clap::Args, Clone, Debug)]
pub struct TreeArgs {
    /// Show only objects of Flux
    #[arg(long)]
    pub compact: bool,
    /// Continue and draw the tree again at every change
    #[arg(short, long)]
    pub watch: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(command: &Command, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.flux_namespace();
    rights.everywhere(JUDGES_LISTS);
    // An inventory may hold everything; these are the kinds whose state and parts a tree shows most.
    rights.everywhere(&[when("an inventory has such an object", "get list", FLUX)]);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
    rights.everywhere(&[when(
        "an inventory has such an object",
        "get list",
        "pods configmaps secrets statefulsets daemonsets replicasets jobs cronjobs \
         ingresses roles rolebindings",
    )]);
    match command {
        Command::Instance(args) => {
            rights.in_namespace(&namespace, &[always("list", "pods")]);
            rights.instance(&args.name, &[always("get", KIND)]);
            Ok(())
        }
        Command::Kustomization(args) => {
            rights.reads("kustomization", &args.name.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Command::Helmrelease(args) => {
            rights.reads("helmrelease", &args.name.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Command::Resourceset(args) => {
            rights.reads("resourceset", &args.name.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Command::Resource(args) => read_words(rights, &args.resource),
    }
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    let of = |word: &str| kind(word).map(FluxKind::resource_type);
    let one = |word: &str, name: &Option<String>| Ok::<_, CliError>(vec![(of(word)?, name.clone())]);
    let (wanted, args) = match command {
        Command::Instance(args) => (vec![(instance_type(), Some(args.name.clone()))], &args.tree),
        Command::Kustomization(args) => (one("Kustomization", &args.name)?, &args.tree),
        Command::Helmrelease(args) => (one("HelmRelease", &args.name)?, &args.tree),
        Command::Resourceset(args) => (one("ResourceSet", &args.name)?, &args.tree),
        Command::Resource(args) => {
            let wanted: Result<_, CliError> = match ObjectWords::read(&args.resource)? {
                ObjectWords::Kinds(kinds) => kinds.into_iter().map(|word| Ok((of(word)?, None))).collect(),
                ObjectWords::Objects(objects) => {
                    objects.into_iter().map(|(word, name)| Ok((of(word)?, Some(name.to_owned())))).collect()
                }
            };
            (wanted?, &args.tree)
        }
    };
    shell.run(show(shell, &wanted, args))
}

/// Shows objects by name, or all of a kind.
async fn show(shell: &Shell, wanted: &[(ResourceType, Option<String>)], args: &TreeArgs) -> Result<Exit, CliError> {
    let source = Source::open(shell, &args.from).await?;
    let is_instance = |resource: &ResourceType| *resource == instance_type();
    let options = TreeOptions { compact: args.compact };
    let mut changes = match args.watch {
        true => {
            shell.interruption().looks_on();
            let kinds: Vec<ResourceType> =
                wanted.iter().map(|(resource, _)| resource.clone()).chain([kinds::DEPLOYMENT, kinds::POD]).collect();
            let namespace = wanted.first().and_then(|(resource, _)| source.namespace_of(resource));
            // A watch covers one namespace. For objects of several it covers all of them.
            let namespace =
                namespace.filter(|one| wanted.iter().all(|(r, _)| source.namespace_of(r).as_ref() == Some(one)));
            Some(WatchWakeups::of(&source, &kinds, namespace.as_deref())?)
        }
        false => None,
    };
    let mut shown: Option<String> = None;
    loop {
        let mut lacking = Lacking::of(wanted.len());
        let made = within(shell, async {
            let mut owners: Vec<(bool, Value)> = vec![];
            for (resource, name) in wanted {
                let namespace = match name {
                    Some(_) => source.namespace_of(resource),
                    None => source.listed_namespace(false).filter(|_| resource.namespaced),
                };
                let found = match name {
                    Some(name) => source.object(shell, resource, namespace.as_deref(), name).await.map(|one| vec![one]),
                    None => source.objects(shell, resource, namespace.as_deref()).await,
                };
                let found = lacking.found(found)?;
                if found.as_ref().is_some_and(Vec::is_empty) {
                    if source.is_not_installed(shell).await {
                        return Err(source.not_installed());
                    }
                    shell.status(&format!("no {} found{}", resource.kind, place(namespace.as_deref())));
                    hint_at_namespace(shell, &source, namespace.as_deref()).await;
                }
                owners.extend(found.into_iter().flatten().map(|owner| (is_instance(resource), owner)));
            }
            let view = source.view(shell, |snapshot| {
                let tree = |(is_instance, owner): &(bool, Value)| match is_instance {
                    true => tree::instance(snapshot, owner, options),
                    false => tree::reconciler(snapshot, owner, options),
                };
                marks::mark_trees(snapshot, owners.iter().map(tree).collect(), source.now())
            });
            Ok::<_, CliError>(view.await?.value)
        })
        .await??;
        let width = shell.stdout_is_terminal().then(terminal_width);
        let whole = match made.as_slice() {
            [one] if matches!(wanted, [(_, Some(_))]) => structured(one, &args.view.output)?,
            all => structured(&json!({"items": all}), &args.view.output)?,
        };
        let text = match whole {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => made.iter().map(names).collect(),
            None => made.iter().map(|tree| drawn(tree, width, shell.stdout_color())).collect(),
        };
        if args.watch && shell.can_redraw() {
            shell.redraw(&text);
        } else if shown.as_ref() != Some(&text) {
            shell.print_in_colour(&text);
        }
        shown = Some(text);
        let goes_on = match &mut changes {
            Some(changes) => changes.next(shell).await?,
            None => false,
        };
        if !goes_on {
            return lacking.told(shell, Exit::Done);
        }
    }
}

fn names(node: &TreeNode) -> String {
    node.object.as_ref().map(name_line).into_iter().chain(node.children.iter().map(names)).collect()
}
