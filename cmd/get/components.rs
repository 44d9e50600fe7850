//! `get components`: the controllers with their images and pods.

use flux_operator::api::kinds::{DEPLOYMENT, POD};
use flux_operator::distribution::{Component, Distribution};
use flux_operator::inspect::listing::listing;
use flux_operator::inspect::{components, object};
use serde_json::Value;

use super::{Show, place, show};
use crate::shell::output::OutputArgs;
use crate::shell::{CliError, Exit, Shell, suggest};
use crate::source::{ScopeArgs, Source, instance_type};

/// Show the controllers of an installation
///
/// With -o wide also their resources and the arguments (+ added, - missing) that
/// differ from the distribution's.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Controllers, images, pods, restarts\n  \
    flux-operator get components\n\n  \
    # Those that are not healthy, in all namespaces\n  \
    flux-operator get components -A --filter status!=Current\n\n  \
    # What was changed on one of them\n  \
    flux-operator get components source-controller -o wide")]
pub struct Args {
    /// Names of controllers; all without
    pub names: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Go on and show every change
    #[arg(short, long)]
    pub watch: bool,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let selector = super::selector(args.scope.selector.as_deref())?;
    shell.run(async {
        let source = Source::open(shell, &args.scope.from).await?;
        let namespace = (!args.scope.all_namespaces).then(|| source.instance_namespace());
        let options = Show {
            output: &args.output,
            watch: args.watch,
            kinds: vec![DEPLOYMENT, POD],
            namespace: namespace.clone(),
            single: args.names.len() == 1,
            nothing: format!("no Flux controllers found{}", place(namespace.as_deref())),
        };
        let distribution = Distribution::embedded();
        show(shell, &source, options, async || {
            let viewed = source
                .view(shell, |snapshot| {
                    let instances = snapshot.list(&instance_type(), namespace.as_deref());
                    components::rows(snapshot, namespace.as_deref(), &instances, |d| usual_args(&distribution, d))
                })
                .await?;
            let mut rows = viewed.or_refusal(Vec::is_empty)?;
            for name in &args.names {
                if !rows.iter().any(|row| row.name == *name) {
                    let error = CliError::new(
                        Exit::NotFound,
                        format!("component {name} not found{}", place(namespace.as_deref())),
                    );
                    return Err(match suggest::nearest(name, rows.iter().map(|r| r.name.as_str())) {
                        Some(near) => error.hint(format!("did you mean {near}?")),
                        None => error,
                    });
                }
            }
            rows.retain(|row| args.names.is_empty() || args.names.contains(&row.name));
            rows.retain(|row| {
                selector.as_ref().is_none_or(|s| s.matches_labels(|key| row.labels.get(key).map(String::as_str)))
            });
            Ok(listing(&rows))
        })
        .await
    })
}

/// The arguments the distribution starts a controller with at the version its labels name.
fn usual_args(distribution: &Distribution, deployment: &Value) -> Option<Vec<String>> {
    let component: Component = object::name(deployment).parse().ok()?;
    let version = object::label(deployment, "app.kubernetes.io/version")?;
    let version = distribution.versions().into_iter().find(|v| v.name == version)?;
    let objects = distribution.component(&version, component).ok()?;
    let usual = objects.iter().find(|o| object::kind(o) == "Deployment")?;
    let args = object::items(usual, "/spec/template/spec/containers/0/args");
    let namespace = object::namespace(deployment).unwrap_or_default();
    // The distribution leaves the namespace to the pod; the operator writes it out.
    let plain = |arg: &str| arg.replace("$(RUNTIME_NAMESPACE)", namespace);
    Some(args.iter().filter_map(Value::as_str).map(plain).collect())
}
