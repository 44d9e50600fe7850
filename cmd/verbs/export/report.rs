//! `export report`: prints a FluxReport computed from the cluster.

use flux_operator::inspect::incident::report::{platform, report, stats};
use flux_operator::inspect::views::version::operator_version;
use flux_operator::k8s::fields;

use crate::args::ObjectFormatArgs;
use crate::args::list::no_namespace;
use crate::flows::operator::VERSION;
use crate::flows::rights::{FLUX, KIND, OVERVIEW, Rights, always, when};
use crate::session::read_source::{FromArgs, Source, within};
use crate::terminal::{CliError, Exit, Shell};

/// Print a report of the installation, computed from the cluster
///
/// Prints the FluxReport that an operator would write: distribution, components, reconcilers and sync. No FluxReport
/// object needs to exist.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The report of the installation in flux-system\n  \
    flux-operator -n flux-system export report\n\n  \
    # From a dump, as JSON\n  \
    flux-operator export report --from ./dump -o json")]
pub struct Args {
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
}

pub fn rights(rights: &mut Rights) {
    rights.everywhere(OVERVIEW);
    rights.everywhere(&[always("list", "nodes"), when("nothing is found", "list", "namespaces")]);
    rights.flux_kinds(None, |kind| kind.kind != "FluxReport", &[always("list", KIND)]);
    rights.in_namespace(
        &rights.flux_namespace(),
        &[when("its entitlement is reported", "get", "secrets"), when("the instance has a sync", "get", FLUX)],
    );
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.instance_namespace();
        let viewed = within(
            shell,
            source.view(shell, |snapshot| {
                let version = operator_version(snapshot).unwrap_or_else(|| VERSION.to_owned());
                // As the operator writes it, regardless of the tag of its image.
                let version = format!("v{}", version.trim_start_matches('v'));
                report(snapshot, stats(snapshot, None, true), &namespace, &version, &platform())
            }),
        )
        .await??;
        let viewed = viewed.unless_blind(|report| fields::items(report, "/spec/reconcilers").is_empty())?;
        // Only a namespace that was named has to exist.
        let is_named = shell.global().namespace().is_some();
        if is_named && let Some(error) = no_namespace(&source, Some(&namespace)).await {
            return Err(error);
        }
        shell.print(&args.format.output.text(&viewed.with_warnings(shell), "the report")?);
        let not_installed = source.is_not_installed(shell).await;
        Ok(if not_installed { source.report_not_installed(shell) } else { Exit::Done })
    })
}
