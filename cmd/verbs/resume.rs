//! `resume`: ends a suspension and asks for a reconciliation.

use crate::args::FollowArgs;
use crate::args::objects::{ResourceArgs, must_suspend, optional};
use crate::flows::follow::request_and_follow;
use crate::flows::request::RequestKind;
use crate::flows::rights::{EXPLAINS_SILENCE, FINDS_OPERATOR, FOLLOWS, KIND, Rights, always};
use crate::flows::run_in_process::InProcessArgs;
use crate::session::Session;
use crate::session::target::instance_kind;
use crate::terminal::{CliError, Exit, Shell};

mod instance;
mod overdue;

/// Resume reconciliation
///
/// Requests a reconciliation in the same API call and waits for its outcome. For an instance, --in-process does the
/// operator's work here.
///
/// With --overdue, resumes every object whose planned end of suspension has
/// passed, or only the objects of the given kinds. The planned ends come from
/// `suspend --until`; `get suspended` shows them.
#[derive(clap::Args, Debug)]
#[command(
    arg_required_else_help = true,
    mut_arg("resources", unless_overdue),
    after_help = "Examples:\n  \
    # Resume an application and wait until it is ready\n  \
    flux-operator -n apps resume kustomization podinfo\n\n  \
    # Several objects, without waiting\n  \
    flux-operator -n apps resume gitrepo/podinfo hr/podinfo --wait=false\n\n  \
    # Everything whose planned end has passed, in all namespaces\n  \
    flux-operator resume --overdue -A\n\n  \
    # Resume the instance without an operator in the cluster\n  \
    flux-operator -n flux-system resume instance --in-process"
)]
pub struct Args {
    #[command(flatten)]
    pub resources: ResourceArgs,
    /// Resume objects whose planned end has passed; -A for all namespaces
    #[arg(long, conflicts_with_all = ["all", "selector", "in_process"])]
    pub overdue: bool,
    #[command(flatten)]
    pub in_process: InProcessArgs,
    #[command(flatten)]
    pub follow: FollowArgs,
}

impl Args {
    /// `overdue` as a word is the older spelling of the flag.
    fn is_overdue(&self) -> bool {
        self.overdue || self.resources.resources.first().is_some_and(|word| word == overdue::WORD)
    }
}

fn unless_overdue(words: clap::Arg) -> clap::Arg {
    optional(words).required_unless_present("overdue")
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    if args.is_overdue() {
        return overdue::rights(args, rights);
    }
    let wanted = args.resources.resolve()?;
    rights.wanted(&wanted, &[always("patch", KIND)]);
    if args.in_process.in_process {
        rights.run_in_process();
    }
    if args.follow.waits() {
        rights.wanted(&wanted, FOLLOWS);
        rights.everywhere(EXPLAINS_SILENCE);
        if wanted.only(instance_kind()).is_some() {
            rights.everywhere(FINDS_OPERATOR);
        }
    }
    Ok(())
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.is_overdue() {
        return overdue::run(args, shell);
    }
    let wanted = args.resources.resolve()?;
    if let Some(name) = wanted.only(instance_kind()) {
        return instance::run(args, name, shell);
    }
    for kind in wanted.kinds() {
        must_suspend(kind, "resume")?;
        args.in_process.refuse_for(kind)?;
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let targets = session.targets(wanted).await?;
        request_and_follow(&session, &targets, RequestKind::Resume, &args.follow).await
    })
}
