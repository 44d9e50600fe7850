//! `why KIND/NAME…`: from an object to the first real cause.

use flux_operator::inspect::diagnose::why::why;

use super::Args;
use crate::session::read_source::{Lacking, Source, Viewed, within};
use crate::terminal::{CliError, Exit, Shell};

/// `objects` are kinds and names.
pub fn run(args: &Args, objects: &[(&str, &str)], shell: &Shell) -> Result<Exit, CliError> {
    if args.all_namespaces {
        return Err(CliError::usage("-A names no object").hint("leave -A out, or KIND/NAME"));
    }
    shell.run(async {
        let source = Source::open_to_judge(shell, &args.from).await?;
        let now = source.now();
        let mut lacking = Lacking::of(objects.len());
        let answers = within(shell, async {
            let mut answers: Vec<Viewed<_>> = vec![];
            for (kind, name) in objects {
                let Some(object) = lacking.found(source.named_object(shell, kind, name).await)? else { continue };
                answers.push(source.view(shell, |snapshot| why(snapshot, &object, now)).await?);
            }
            Ok::<_, CliError>(answers)
        })
        .await??;
        let is_one = objects.len() == 1;
        let exit = super::instance::answer(shell, &args.view.output, answers, is_one, now, &source.whereto())?;
        lacking.told(shell, exit)
    })
}
