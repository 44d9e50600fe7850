//! `version`: this program, the operator, Flux, and the versions that its range allows and blocks.

use flux_operator::distribution::Distribution;
use flux_operator::inspect::views::version::{VersionView, version};

use crate::args::list::hint_at_namespace;
use crate::flows::operator::CLIENT_VERSION;
use crate::flows::rights::{Rights, always};
use crate::session::read_source::{FromArgs, Source, instance_type, within};
use crate::terminal::output_format::{Format, ViewArgs, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Show the versions of this program, the operator, Flux and the cluster
///
/// Also shows the newest Flux version that the instance's range allows, and the
/// newest version that it excludes.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything\n  \
    flux-operator version\n\n  \
    # Without a cluster\n  \
    flux-operator version --client\n\n  \
    # For scripts\n  \
    flux-operator version -o json")]
pub struct Args {
    /// Show only the version of this program, without contacting the cluster
    #[arg(long)]
    pub client: bool,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    if args.client {
        return;
    }
    rights.everywhere(&[always("get", "customresourcedefinitions"), always("list", "deployments")]);
    rights.in_namespace(&rights.flux_namespace(), &[always("list", "fluxinstances")]);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let client = VersionView { client: CLIENT_VERSION.into(), ..VersionView::default() };
    if args.client {
        return print(&client, args, shell);
    }
    match shell.run(whole(args, shell)) {
        Ok((view, exit)) => print(&view, args, shell).map(|_| exit),
        Err(error) if error.exit() == Exit::Interrupted => Err(error),
        Err(error) => {
            // Print the known versions before the failure.
            print(&client, args, shell)?;
            Err(error.hint("--client does not ask the cluster"))
        }
    }
}

async fn whole(args: &Args, shell: &Shell) -> Result<(VersionView, Exit), CliError> {
    let source = Source::open(shell, &args.from).await?;
    let namespace = source.instance_namespace();
    let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|v| v.name).collect();
    let viewed = within(
        shell,
        source.view(shell, |snapshot| {
            let instance = snapshot.list(&instance_type(), Some(&namespace)).into_iter().next();
            (version(snapshot, instance, CLIENT_VERSION, &known), instance.is_none())
        }),
    )
    .await??;
    let (view, is_empty) = viewed.with_warnings(shell);
    if is_empty && source.is_not_installed(shell).await {
        return Ok((view, source.report_not_installed(shell)));
    }
    if is_empty {
        hint_at_namespace(shell, &source, shell.global().namespace()).await;
    }
    Ok((view, Exit::Done))
}

fn print(view: &VersionView, args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let text = match structured(view, &args.view.output)? {
        Some(text) => text,
        None => {
            let mut lines = vec![("client", Some(&view.client)), ("operator", view.operator.as_ref())];
            lines.push(("distribution", view.distribution.as_ref()));
            lines.push(("kubernetes", view.kubernetes.as_ref()));
            lines.push(("range", view.range.as_ref()));
            lines.push(("newest allowed", view.newest_allowed.as_ref()));
            let range = view.range.as_deref().unwrap_or_default();
            let blocked = view.newest_blocked.as_ref().map(|newest| format!("{newest} (outside range {range})"));
            lines.push(("newest", blocked.as_ref()));
            let plain = matches!(args.view.output, Format::Name);
            lines
                .into_iter()
                .filter_map(|(label, value)| value.map(|value| (label, value)))
                .map(|(label, value)| if plain { format!("{label}/{value}\n") } else { format!("{label}: {value}\n") })
                .collect()
        }
    };
    shell.print(&text);
    Ok(Exit::Done)
}
