//! `impact KIND/NAME`: shows the consequences of deleting an object.

use flux_operator::api::object_words::ObjectWords;
use flux_operator::inspect::views::impact::impact;
use serde_json::json;

use crate::flows::impact::impact_text;
use crate::flows::rights::{FINDS_USERS, Rights, read_words};
use crate::session::read_source::{FromArgs, MissingNames, Source, within};
use crate::terminal::output_format::{Format, ViewArgs, name_line, structured, with_wide};
use crate::terminal::{CliError, Exit, Shell};

/// Show the consequences of deleting an object
///
/// Shows the objects that would be pruned or uninstalled, including those applied indirectly (volumes, load balancers,
/// namespaces and CRDs first), protected objects that would be kept, and objects that depend on the deleted object.
#[derive(clap::Args, Debug)]
#[command(
    mut_arg("output", with_wide),
    after_help = "Examples:\n  \
    # Before deleting a Kustomization\n  \
    flux-operator -n apps impact kustomization/podinfo\n\n  \
    # Every object by name\n  \
    flux-operator -n apps impact hr podinfo -o wide\n\n  \
    # Only the volumes\n  \
    flux-operator -n apps impact ks/podinfo \\\n    \
    -o jsonpath='{.deleted[?(@.concern==\"volume\")].object.name}'"
)]
pub struct Args {
    /// KIND/NAME…, or KIND NAME…
    #[arg(value_name = "RESOURCE", required = true, add = crate::args::complete::resources())]
    pub resource: Vec<String>,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    rights.everywhere(FINDS_USERS);
    read_words(rights, &args.resource)
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let objects = ObjectWords::objects(&args.resource)?;
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let mut missing_names = MissingNames::of(objects.len());
        let viewed = within(shell, async {
            let mut found = vec![];
            for (kind, name) in &objects {
                found.extend(missing_names.found(source.named_object(shell, kind, name).await)?);
            }
            source.view(shell, |snapshot| found.iter().map(|object| impact(snapshot, object)).collect::<Vec<_>>()).await
        })
        .await??;
        let found = viewed.with_warnings(shell);
        let whole = match found.as_slice() {
            // Several names give a list even if only one object exists, so that programs find one form.
            [one] if objects.len() == 1 => structured(one, &args.view.output)?,
            all => structured(&json!({"items": all}), &args.view.output)?,
        };
        shell.print(&match whole {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => {
                found.iter().flat_map(|impact| &impact.deleted).map(|entry| name_line(&entry.object)).collect()
            }
            None => {
                let all = matches!(args.view.output, Format::Wide);
                found.iter().map(|impact| impact_text(impact, all)).collect::<Vec<_>>().join("\n")
            }
        });
        missing_names.report(shell, Exit::Done)
    })
}
