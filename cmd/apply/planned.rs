//! `apply instance --plan`: carries out a saved plan, exactly.

use std::path::Path;

use flux_operator::reconcile::{self, Options, Plan};

use super::instance::Args;
use crate::in_process::{self, Listener, conclude, refuse_beside_operator};
use crate::objects::{Session, Target, instance_kind};
use crate::shell::{CliError, Exit, Shell};

pub fn run(args: &Args, file: &Path, shell: &Shell) -> Result<Exit, CliError> {
    let plan = read(file)?;
    let kind = instance_kind();
    let target = Target { kind, namespace: plan.instance.namespace.clone(), name: plan.instance.name.clone() };
    if let Some(other) = shell.global().namespace.as_ref().filter(|n| **n != target.namespace) {
        return Err(CliError::usage(format!("the plan is for namespace {}, not {other}", target.namespace)));
    }
    shell.block_on(async {
        let (session, instance) = shell
            .interruptible(async {
                let session = Session::open(shell).await?;
                let (object, attention) = tokio::try_join!(session.get(&target), session.attention(&target))?;
                let without = session.command(&format!("reconcile {}", target.words()), &target.namespace);
                refuse_beside_operator(&session, &args.in_process, &target.reference(), &attention, &without)?;
                Ok((session, in_process::typed(object)?))
            })
            .await?;
        let key = target.reference().to_string();
        let again = session.command(&format!("plan {} --out {}", target.words(), file.display()), &target.namespace);
        let options = in_process::options(&args.in_process, false);
        shell.status(&format!("► carrying out the plan for {}", session.place(&target.reference())));
        let cluster = &session.cluster;
        let work = async |options: &Options, listener: &Listener| reconcile::execute(cluster, &instance, plan, options, listener).await;
        let outcome = in_process::conduct(&session, args.progress.progress, options, &key, &again, work).await?;
        conclude(&session, &key, &outcome, &session.look_at(&target))
    })?
}

fn read(file: &Path) -> Result<Plan, CliError> {
    let failed = |e: &(dyn std::error::Error + 'static)| {
        CliError::usage(format!("cannot read the plan {}", file.display()))
            .caused_by(e)
            .hint("make one with `flux-operator plan instance --out FILE`")
    };
    let text = std::fs::read(file).map_err(|e| failed(&e))?;
    serde_json::from_slice(&text).map_err(|e| failed(&e))
}
