//! `why KIND/NAME`: from one object to the first real cause.

use flux_operator::inspect::why::why;

use super::Args;
use crate::common::read_source::{Source, kind_and_name, within};
use crate::shell::{CliError, Exit, Shell};

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = kind_and_name(&args.resource)?;
    if args.all_namespaces {
        return Err(CliError::usage("-A names no object").hint("leave -A out, or KIND/NAME"));
    }
    shell.run_on_one_thread(async {
        let source = Source::open(shell, &args.from).await?;
        let now = source.now();
        let viewed = within(shell, async {
            let object = source.named_object(shell, kind, name).await?;
            source.view(shell, |snapshot| why(snapshot, &object, now)).await
        })
        .await??;
        super::instance::answer(shell, &args.view.output, viewed, now, &source.whereto())
    })
}
