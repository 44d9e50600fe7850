//! `tree`: what an object consists of.

use clap::Subcommand;
use flux_operator::api::kinds;
use flux_operator::inspect::tree::{self, TreeNode, TreeOptions};
use flux_operator::k8s::ResourceType;

use crate::common::read_source::{FromArgs, Source, instance_type, within};
use crate::common::watch::Changes;
use crate::render::table::terminal_width;
use crate::render::tree::drawn;
use crate::shell::output::{Format, ViewArgs, structured};
use crate::shell::{CliError, Exit, Shell};

/// Show what an object consists of, down to the pods
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    Instance(InstanceArgs),
    #[command(visible_alias = "ks")]
    Kustomization(NamedArgs),
    #[command(visible_alias = "hr")]
    Helmrelease(NamedArgs),
    #[command(visible_alias = "rset")]
    Resourceset(NamedArgs),
}

/// Show an instance: stages, objects, pods, and what the sync brought
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything\n  \
    flux-operator tree instance\n\n  \
    # Only Flux's own kinds and the controllers, redrawn at every change\n  \
    flux-operator tree instance --compact -w")]
pub struct InstanceArgs {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::common::complete::instances())]
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
    /// Name of the object
    #[arg(add = crate::common::complete::of_verb())]
    pub name: String,
    #[command(flatten)]
    pub tree: TreeArgs,
}

#[derive(clap::Args, Clone, Debug)]
pub struct TreeArgs {
    /// Leave out what is not of Flux
    #[arg(long)]
    pub compact: bool,
    /// Go on and draw the tree again at every change
    #[arg(short, long)]
    pub watch: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    let kind = |word: &str| kinds::find(word).map(|k| k.resource_type());
    let (resource, name, args) = match command {
        Command::Instance(args) => (Some(instance_type()), &args.name, &args.tree),
        Command::Kustomization(args) => (kind("Kustomization"), &args.name, &args.tree),
        Command::Helmrelease(args) => (kind("HelmRelease"), &args.name, &args.tree),
        Command::Resourceset(args) => (kind("ResourceSet"), &args.name, &args.tree),
    };
    let Some(resource) = resource else { return Err(CliError::failed("the table of kinds lacks this one")) };
    shell.run(show(shell, &resource, name, args))
}

async fn show(shell: &Shell, resource: &ResourceType, name: &str, args: &TreeArgs) -> Result<Exit, CliError> {
    let source = Source::open(shell, &args.from).await?;
    let of_instance = *resource == instance_type();
    let namespace = if of_instance { Some(source.instance_namespace()) } else { source.namespace("default") };
    let options = TreeOptions { compact: args.compact };
    let mut changes = match args.watch {
        true => {
            let kinds = [resource.clone(), kinds::DEPLOYMENT, kinds::POD];
            Some(Changes::of(&source, &kinds, namespace.as_deref())?)
        }
        false => None,
    };
    loop {
        let made = within(shell, async {
            let owner = source.object(shell, resource, namespace.as_deref(), name).await?;
            let view = source.view(shell, |snapshot| match of_instance {
                true => tree::instance(snapshot, &owner, options),
                false => tree::reconciler(snapshot, &owner, options),
            });
            Ok::<_, CliError>(view.await?.value)
        })
        .await??;
        let width = shell.stdout_is_terminal().then(terminal_width);
        let text = match structured(&made, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => names(&made),
            None => drawn(&made, width, shell.stdout_color()),
        };
        if args.watch && shell.stdout_is_terminal() {
            shell.redraw(&text)?;
        } else {
            shell.print_in_colour(&text)?;
        }
        match &mut changes {
            Some(changes) => changes.next().await,
            None => return Ok(Exit::Done),
        }
    }
}

fn names(node: &TreeNode) -> String {
    let own = node.object.as_ref().map(|o| {
        let kind = o.kind.to_lowercase();
        let group = if o.group.is_empty() { String::new() } else { format!(".{}", o.group) };
        format!("{kind}{group}/{}\n", o.name)
    });
    own.into_iter().chain(node.children.iter().map(names)).collect()
}
