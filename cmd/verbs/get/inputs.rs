//! `get inputs`: the input sets of a ResourceSet or a provider.

use flux_operator::api::kinds::INPUT_PROVIDER;
use flux_operator::k8s::ObjectId;

use crate::args::list::{ListRequest, show_list};
use crate::args::objects::owner;
use crate::flows::inputs::resolved;
use crate::flows::rights::{Rights, SET_INPUTS};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source};
use crate::session::target::resource_set_kind;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show the input sets of a ResourceSet or of a provider
///
/// For a ResourceSet: the sets that its next run uses, which are those of its spec, then those that its providers have
/// exported, combined by its strategy. For a provider: the sets that it has exported.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The input sets that the templates of a ResourceSet are rendered with\n  \
    flux-operator -n apps get inputs rset/web\n\n  \
    # The input sets that a provider has exported\n  \
    flux-operator -n apps get inputs rsip/pull-requests\n\n  \
    # From a dump, with every value\n  \
    flux-operator -n apps get inputs web --from bundle.tar.gz -o yaml")]
pub struct Args {
    /// Name of a ResourceSet, or KIND/NAME or KIND NAME of a ResourceSet or a provider
    #[arg(value_name = "OWNER", num_args = 1..=2, required = true, add = crate::args::complete::resources())]
    pub owner: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.namespace_or("default");
    if let Ok((kind, name)) = owner(&args.owner, resource_set_kind()) {
        rights.list(&kind.resource_type(), Some(&namespace), &[name], args.watch);
        if kind.kind != INPUT_PROVIDER.kind {
            rights.in_namespace(&namespace, SET_INPUTS);
        }
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = owner(&args.owner, resource_set_kind())?;
    let is_provider = kind.kind == INPUT_PROVIDER.kind;
    if !is_provider && kind.kind != resource_set_kind().kind {
        return Err(CliError::usage(format!("{} has no inputs", kind.kind))
            .hint("name a ResourceSet (rset/NAME) or a ResourceSetInputProvider (rsip/NAME)"));
    }
    let resource = kind.resource_type();
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.namespace_of(&resource);
        let id = ObjectId::new(kind.group, kind.kind, namespace.as_deref(), name);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![resource.clone(), INPUT_PROVIDER],
            namespace: namespace.clone(),
            single: false,
            nothing: format!("{id} has no inputs"),
        };
        show_list(shell, &source, options, async || {
            let object = source.object(shell, &resource, namespace.as_deref(), name).await?;
            let inputs = resolved(shell, &source, &object).await?;
            inputs.warnings.iter().for_each(|warning| shell.warn(warning));
            Ok(listing(&inputs.sets))
        })
        .await
    })
}
