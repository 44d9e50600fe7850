//! `get history`: the configurations of an instance or another owner.

use flux_operator::inspect::diagnose::instance::{HistoryRow, RollbackAnswer, history};
use flux_operator::inspect::diagnose::rollback::{targets, with_answers};
use flux_operator::inspect::read::snapshot::Snapshot;
use flux_operator::k8s::{ObjectId, fields};
use flux_operator::reconcile::kept_builds;
use serde_json::Value;

use crate::args::list::{ListRequest, show_list};
use crate::args::objects::owner;
use crate::flows::rights::{FLUX, Rights, always, when};
use crate::output::listing::listing;
use crate::session::read_source::{FromArgs, Source, within};
use crate::session::target::instance_kind;
use crate::terminal::output_format::OutputArgs;
use crate::terminal::{CliError, Exit, Shell};

/// Show what an instance or another owner reconciled, newest first
///
/// Works for the instance and for any object that keeps a history: a Kustomization, a ResourceSet. Prints one row per
/// revision and result. TOTAL counts the runs with that result; ROLLBACK shows whether `rollback` can return to the
/// revision of an instance, or why not.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Revisions, durations and outcomes\n  \
    flux-operator get history\n\n  \
    # History of a ResourceSet, with the number of its input sets\n  \
    flux-operator -n apps get history rset/web -o wide\n\n  \
    # Failures only\n  \
    flux-operator get history --ready-status False\n\n  \
    # From a dump\n  \
    kubectl get fluxinstance -A -o yaml | flux-operator get history --from -")]
pub struct Args {
    /// Name of an instance, KIND/NAME or KIND NAME of another owner [default: flux]
    #[arg(value_name = "OWNER", num_args = 0..=2, add = crate::args::complete::instances())]
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
    let namespace = rights.flux_namespace();
    if let Ok((kind, name)) = owner(&args.owner, instance_kind()) {
        rights.list(&kind.resource_type(), Some(&namespace), &[name], args.watch);
        if kind.kind == instance_kind().kind {
            rights.in_namespace(&namespace, &[always("list", "controllerrevisions.apps")]);
            let others = "a kept revision is of another version";
            rights.everywhere(&[when(others, "list", "customresourcedefinitions"), when(others, "list", FLUX)]);
        }
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = owner(&args.owner, instance_kind())?;
    if kind.kind == "HelmRelease" {
        return Err(CliError::usage("get history shows reconciliations, and a HelmRelease keeps releases")
            .hint(format!("`flux-operator debug hr {name} --history` shows them")));
    }
    let resource = kind.resource_type();
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.namespace_of(&resource);
        let id = ObjectId::new("", &kind.kind.to_lowercase(), namespace.as_deref(), name);
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![resource.clone()],
            namespace: namespace.clone(),
            single: false,
            nothing: format!("{id} has no history yet"),
        };
        show_list(shell, &source, options, async || {
            let object = source.object(shell, &resource, namespace.as_deref(), name).await?;
            if kind.kind == instance_kind().kind {
                return Ok(listing(&answered(shell, &source, &object).await?));
            }
            let mut rows = listing(&history(&object));
            // Only an instance can be rolled back.
            rows.columns.iter_mut().filter(|column| column.name == "ROLLBACK").for_each(|column| column.wide = true);
            Ok(rows)
        })
        .await
    })
}

/// The history of an instance, with an answer for each revision.
async fn answered(shell: &Shell, source: &Source<'_>, instance: &Value) -> Result<Vec<HistoryRow>, CliError> {
    let rows = history(instance);
    let all = |answer: &RollbackAnswer| -> Vec<HistoryRow> {
        rows.iter().map(|row| HistoryRow { rollback: Some(answer.clone()), ..row.clone() }).collect()
    };
    let Source::Cluster(session) = source else {
        let unknown = "a dump does not tell which revisions are kept";
        return Ok(all(&RollbackAnswer::unknown(unknown)));
    };
    let namespace = fields::namespace(instance).unwrap_or_default();
    let kept = match within(shell, kept_builds(&session.cluster, namespace)).await? {
        Ok(builds) => builds.into_iter().map(|build| build.revision).collect::<Vec<_>>(),
        Err(error) => return Ok(all(&RollbackAnswer::unknown(error.reason.to_string()))),
    };
    let targets = targets(instance, &kept);
    let view = |snapshot: &Snapshot| with_answers(snapshot, instance, rows.clone(), &kept, &targets);
    Ok(source.view(shell, view).await?.with_warnings(shell))
}
