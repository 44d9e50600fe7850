//! `impact KIND/NAME`: what deleting an object would take along.

use flux_operator::inspect::impact::impact;

use crate::common::impact_text;
use crate::common::read_source::{FromArgs, Source, kind_and_name, within};
use crate::shell::output::{Format, ViewArgs, name_line, structured};
use crate::shell::{CliError, Exit, Shell};

/// Show what deleting an object would take along
///
/// What would be pruned or uninstalled, through everything that it applied:
/// volumes, load balancers, namespaces and definitions first; what is protected
/// and stays; who waits for it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Before a Kustomization goes\n  \
    flux-operator -n apps impact kustomization/podinfo\n\n  \
    # Every object by name\n  \
    flux-operator -n apps impact hr podinfo -o wide\n\n  \
    # The volumes alone\n  \
    flux-operator -n apps impact ks/podinfo \\\n    \
    -o jsonpath='{.deleted[?(@.concern==\"volume\")].object.name}'")]
pub struct Args {
    /// KIND/NAME, or KIND NAME
    #[arg(value_name = "RESOURCE", required = true, num_args = 1..=2, add = crate::common::complete::resources())]
    pub resource: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let (kind, name) = kind_and_name(&args.resource)?;
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let viewed = within(shell, async {
            let object = source.named_object(shell, kind, name).await?;
            source.view(shell, |snapshot| impact(snapshot, &object)).await
        })
        .await??;
        for refusal in &viewed.refusals {
            shell.warn(&format!("not everything could be looked at: {}", refusal.reason));
        }
        let found = viewed.value;
        shell.print(&match structured(&found, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => {
                found.deleted.iter().map(|entry| name_line(&entry.object)).collect()
            }
            None => impact_text(&found, matches!(args.view.output, Format::Wide)),
        })?;
        Ok(Exit::Done)
    })
}
