//! `tree`: shows the parts of an object.

use flux_operator::api::kinds::{self, FluxKind};
use flux_operator::api::object_words::ObjectWords;
use flux_operator::api::well_known::INSTANCE_NAME;
use flux_operator::inspect::diagnose::marks;
use flux_operator::inspect::views::tree;
use flux_operator::inspect::views::tree::{TreeNode, TreeOptions};
use flux_operator::k8s::ResourceType;
use serde_json::{Value, json};

use crate::args::list::{hint_at_namespace, place};
use crate::args::objects::kind;
use crate::flows::rights::{
    FLUX, JUDGES_LISTS, KIND, READS_INVENTORY_CLUSTER, READS_INVENTORY_NAMESPACE, Rights, always, when,
};
use crate::output::table::terminal_width;
use crate::output::tree::drawn;
use crate::session::read_source::{FromArgs, MissingNames, Source, instance_type, within};
use crate::session::watch::WatchWakeups;
use crate::terminal::output_format::{Format, ViewArgs, name_line, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Show what an object consists of, down to the pods
///
/// For an instance: stages, objects, pods, and the objects that its sync
/// applied. For a Kustomization, HelmRelease or ResourceSet: the objects it
/// applied, and the objects that these applied in turn. A kind alone means all
/// objects of that kind in the namespace.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    # Everything that Flux consists of\n  \
    flux-operator tree instance\n\n  \
    # Only Flux's own kinds and the controllers, redrawn on every change\n  \
    flux-operator tree instance --compact -w\n\n  \
    # What a HelmRelease consists of, as JSON\n  \
    flux-operator -n apps tree hr podinfo -o json\n\n  \
    # Several objects\n  \
    flux-operator -n apps tree ks/podinfo hr/podinfo\n\n  \
    # Every ResourceSet of a namespace\n  \
    flux-operator -n apps tree rset"
)]
pub struct Args {
    /// KIND/NAME…, KIND NAME…, or KIND for all its objects
    #[arg(value_name = "RESOURCE", required = true, add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    /// Show only objects of Flux
    #[arg(long)]
    pub compact: bool,
    /// Keep watching and redraw the tree on every change
    #[arg(short, long)]
    pub watch: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.flux_namespace();
    rights.everywhere(JUDGES_LISTS);
    // An inventory may contain any kind. These are the usual kinds whose state and parts a tree shows.
    rights.everywhere(&[when("an inventory has such an object", "get list", FLUX)]);
    rights.everywhere(READS_INVENTORY_CLUSTER);
    rights.everywhere(READS_INVENTORY_NAMESPACE);
    rights.everywhere(&[when(
        "an inventory has such an object",
        "get list",
        "pods configmaps secrets statefulsets daemonsets replicasets jobs cronjobs \
         ingresses roles rolebindings",
    )]);
    for (kind, name) in wanted(args)? {
        match name {
            Some(name) if kind == instance_type() => {
                rights.in_namespace(&namespace, &[always("list", "pods")]);
                rights.instance(&name, &[always("get", KIND)]);
            }
            name => rights.reads(&kind.kind, &name.iter().map(String::as_str).collect::<Vec<_>>())?,
        }
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(show(shell, &wanted(args)?, args))
}

/// The kinds and names of the objects; the kind FluxInstance alone means `flux`.
fn wanted(args: &Args) -> Result<Vec<(ResourceType, Option<String>)>, CliError> {
    let of = |word: &str| kind(word).map(FluxKind::resource_type);
    match ObjectWords::read(&args.resource)? {
        ObjectWords::Kinds(words) => {
            let kinds = words.into_iter().map(|word| {
                let kind = of(word)?;
                let name = (kind == instance_type()).then(|| INSTANCE_NAME.to_owned());
                Ok((kind, name))
            });
            kinds.collect()
        }
        ObjectWords::Objects(objects) => {
            objects.into_iter().map(|(word, name)| Ok((of(word)?, Some(name.to_owned())))).collect()
        }
    }
}

/// Shows objects by name, or all of a kind.
async fn show(shell: &Shell, wanted: &[(ResourceType, Option<String>)], args: &Args) -> Result<Exit, CliError> {
    let source = Source::open(shell, &args.from).await?;
    let is_instance = |resource: &ResourceType| *resource == instance_type();
    let options = TreeOptions { compact: args.compact };
    let mut changes = match args.watch {
        true => {
            shell.interruption().mark_read_only();
            let kinds: Vec<ResourceType> =
                wanted.iter().map(|(resource, _)| resource.clone()).chain([kinds::DEPLOYMENT, kinds::POD]).collect();
            let namespace = wanted.first().and_then(|(resource, _)| source.namespace_of(resource));
            // A watch covers one namespace, or all of them if the objects are in several.
            let namespace =
                namespace.filter(|one| wanted.iter().all(|(r, _)| source.namespace_of(r).as_ref() == Some(one)));
            Some(WatchWakeups::of(&source, &kinds, namespace.as_deref())?)
        }
        false => None,
    };
    let mut shown: Option<String> = None;
    loop {
        let mut missing_names = MissingNames::of(wanted.len());
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
                let found = missing_names.found(found)?;
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
            return missing_names.report(shell, Exit::Done);
        }
    }
}

fn names(node: &TreeNode) -> String {
    node.object.as_ref().map(name_line).into_iter().chain(node.children.iter().map(names)).collect()
}
