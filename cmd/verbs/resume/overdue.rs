//! `resume --overdue`: resumes objects whose planned end of suspension has passed.

use flux_operator::api::kinds;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::inspect::views::suspended;

use super::Args;
use crate::args::list::{no_namespace, place};
use crate::args::objects::kind as parse_kind;
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FOLLOWS, KIND, Rights, always, when};
use crate::session::read_source::{FromArgs, Source};
use crate::session::target::Target;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::kinds::{FluxKind, Suspension};

pub const WORD: &str = "overdue";

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.scope(args.resources.all_namespaces, DEFAULT_NAMESPACE);
    for kind in kinds_of(args)?.into_iter().filter(|kind| kind.suspension != Suspension::None) {
        let (kind, namespace) = (kind.resource_type(), namespace.as_deref());
        rights.of_kind(
            &kind,
            namespace,
            &[],
            &[always("list", KIND), when("an object of this kind is overdue", "patch", KIND)],
        );
        if args.follow.waits() {
            rights.everywhere(EXPLAINS_SILENCE);
            rights.of_kind(&kind, namespace, &[], FOLLOWS);
        }
    }
    Ok(())
}

fn kinds_of(args: &Args) -> Result<Vec<&'static FluxKind>, CliError> {
    let words = args.resources.resources.iter().flat_map(|word| word.split(',')).filter(|word| *word != WORD);
    let wanted = words.map(parse_kind).collect::<Result<Vec<_>, _>>()?;
    Ok(if wanted.is_empty() { suspended::all_kinds() } else { wanted })
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let wanted = kinds_of(args)?;
    shell.run(async {
        let source = Source::open(shell, &FromArgs { from: None }).await?;
        let Source::Cluster(session) = &source else {
            return Err(CliError::usage("a dump cannot be resumed"));
        };
        let namespace = if args.resources.all_namespaces { None } else { source.namespace(DEFAULT_NAMESPACE) };
        let view = |snapshot: &_| suspended::rows(snapshot, &wanted, namespace.as_deref(), None, source.now());
        let rows = source.view(shell, view).await?.unless_blind(Vec::is_empty)?.with_warnings(shell);
        let overdue = rows.into_iter().filter(|row| row.overdue);
        let targets: Vec<Target> = overdue
            .filter_map(|row| {
                let kind = kinds::of(row.group, row.kind)?;
                Some(Target { kind, namespace: row.namespace, name: row.name })
            })
            .collect();
        if targets.is_empty() {
            if let Some(error) = no_namespace(&source, namespace.as_deref()).await {
                return Err(error);
            }
            shell.status(&format!("nothing is overdue{}", place(namespace.as_deref())));
            return Ok(Exit::Done);
        }
        request_and_follow(session, &targets, RequestKind::Resume, &args.follow).await
    })
}
