//! `why KIND/NAME`: from one object to the first real cause.

use flux_operator::api::kinds;
use flux_operator::inspect::why::why;

use super::Args;
use crate::common::connect::cli_error;
use crate::common::read_source::{Source, in_dump, kind_and_name, within};
use crate::shell::{CliError, Exit, Shell};

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = kind_and_name(&args.resource)?;
    if args.all_namespaces {
        return Err(CliError::usage("-A names no object").hint("leave -A out, or KIND/NAME"));
    }
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let now = source.now();
        let viewed = within(shell, async {
            let resource = match (kinds::find_resource_type(kind), &source) {
                (Some(resource), _) => resource,
                (None, Source::Cluster(session)) => {
                    session.cluster.find_resource_type(kind).await.map_err(|e| cli_error(&e))?
                }
                (None, Source::Dump(snapshot, _)) => in_dump(snapshot, kind)?,
            };
            let namespace = if resource.namespaced { source.namespace("default") } else { None };
            let object = source.object(shell, &resource, namespace.as_deref(), name).await?;
            source.view(shell, |snapshot| why(snapshot, &object, now)).await
        })
        .await??;
        super::instance::answer(shell, &args.view.output, viewed, now)
    })
}
