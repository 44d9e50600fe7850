//! `get components`: the controllers with their images and pods.

use flux_operator::format::nearest::nearest;
use std::cell::RefCell;
use std::collections::HashMap;

use flux_operator::api::kinds::{DEPLOYMENT, POD};
use flux_operator::api::well_known::{INSTANCE_NAME, VERSION_LABEL};
use flux_operator::api::{CheckedInstance, Component, FluxInstance, FluxInstanceSpec, Variant};
use flux_operator::build::{BuildError, BuildOptions, build};
use flux_operator::distribution::Distribution;
use flux_operator::inspect::views::components;
use flux_operator::k8s::fields;
use flux_operator::k8s::kstatus::Status;
use serde_json::Value;

use crate::args::list::{ListRequest, labelled, place, selector, show_list};
use crate::flows::rights::{Rights, always, when};
use crate::output::affected::names_by_reason;
use crate::output::listing::listing;
use crate::session::read_source::{ScopeArgs, Source, instance_type};
use crate::session::registries::SourceArgs;
use crate::terminal::output_format::{Format, OutputArgs};
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::api::well_known::DEFAULT_NAMESPACE;

/// Show the controllers of an installation
///
/// With -o wide, also shows their resources and the arguments that differ from the distribution's (+ added, - missing).
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Controllers, images, pods, restarts\n  \
    flux-operator get components\n\n  \
    # Unhealthy controllers, in all namespaces\n  \
    flux-operator get components -A --filter status!=Current\n\n  \
    # What was changed on one controller\n  \
    flux-operator get components source-controller -o wide")]
pub struct Args {
    /// Names of controllers; all if omitted
    #[arg(add = crate::args::complete::controllers())]
    pub names: Vec<String>,
    #[command(flatten)]
    pub scope: ScopeArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Keep watching and print changes
    #[arg(short, long)]
    pub watch: bool,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.scope(args.scope.all_namespaces, DEFAULT_NAMESPACE);
    let namespace = namespace.as_deref();
    rights.list(&DEPLOYMENT, namespace, &[], args.watch);
    rights.named(namespace, &[], &[always("list", "fluxinstances"), when("a controller is not ready", "list", "pods")]);
    if args.watch {
        rights.list(&POD, namespace, &[], true);
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let selector = selector(args.scope.selector.as_deref())?;
    shell.run(async {
        let source = Source::open(shell, &args.scope.from).await?;
        let namespace = (!args.scope.all_namespaces).then(|| source.instance_namespace());
        let options = ListRequest {
            output: &args.output,
            watch: args.watch,
            kinds: vec![DEPLOYMENT, POD],
            namespace: namespace.clone(),
            single: args.names.len() == 1,
            nothing: format!(
                "no Flux controllers found{}{}",
                place(namespace.as_deref()),
                labelled(args.scope.selector.as_deref())
            ),
        };
        // The usual arguments require a build of the instance, which a table without that column need not wait for.
        let OutputArgs { output, filter, .. } = &args.output;
        let shows_args = matches!(output, Format::Wide) || args.output.wants_all() || !filter.is_empty();
        let usual = DefaultArguments::of(args.source.open_named(shell).await?.unwrap_or_else(Distribution::embedded));
        let ailing = RefCell::new(vec![]);
        let exit = show_list(shell, &source, options, async || {
            let viewed = source
                .view(shell, |snapshot| {
                    let instances = snapshot.list(&instance_type(), namespace.as_deref());
                    let installed = components::deployments(snapshot, namespace.as_deref());
                    components::rows(snapshot, namespace.as_deref(), &instances, |d| {
                        shows_args.then(|| usual.args(d, &installed)).flatten()
                    })
                })
                .await?;
            let mut rows = viewed.or_refusal(Vec::is_empty)?;
            for name in &args.names {
                if !rows.iter().any(|row| row.name == *name) {
                    let error = CliError::new(
                        Exit::NotFound,
                        format!("component {name} not found{}", place(namespace.as_deref())),
                    );
                    return Err(match nearest(name, rows.iter().map(|r| r.name.as_str())) {
                        Some(near) => error.hint(format!("did you mean {near}?")),
                        None => error,
                    });
                }
            }
            rows.retain(|row| args.names.is_empty() || args.names.contains(&row.name));
            rows.retain(|row| {
                selector.as_ref().is_none_or(|s| s.matches_by(|key| row.labels.get(key).map(String::as_str)))
            });
            let unwell = rows.iter().filter(|row| row.status != Status::Current);
            let reasons = names_by_reason(unwell.map(|row| (row.name.as_str(), row.status_message.as_str())));
            ailing.replace(reasons.iter().map(|(names, says)| format!("{names}: {says}")).collect());
            Ok(listing(&rows))
        })
        .await?;
        // The table has no space for a reason.
        if matches!(args.output.output, Format::Table) {
            ailing.into_inner().iter().for_each(|reason: &String| shell.status(reason));
        }
        Ok(exit)
    })
}

/// The default arguments of controllers, by version and namespace.
struct DefaultArguments {
    distribution: Distribution,
    known: RefCell<HashMap<PlainInstance, ArgsByName>>,
}

/// Version, namespace and components of an instance without other settings.
type PlainInstance = (String, String, Vec<String>);
type ArgsByName = HashMap<String, Vec<String>>;

impl DefaultArguments {
    fn of(distribution: Distribution) -> Self {
        DefaultArguments { distribution, known: RefCell::default() }
    }

    /// Returns `None` if the Deployment does not state its Flux version, or the distribution does not have that
    /// version. `installed` are the other controllers, because some refer to each other in their arguments.
    fn args(&self, deployment: &Value, installed: &[&Value]) -> Option<Vec<String>> {
        let version = fields::label(deployment, VERSION_LABEL)?.to_owned();
        let namespace = fields::namespace(deployment)?.to_owned();
        let beside = installed.iter().filter(|d| fields::namespace(d) == Some(namespace.as_str()));
        let names = beside.map(|d| fields::name(d)).filter(|name| name.parse::<Component>().is_ok());
        let components = names.map(str::to_owned).collect();
        let mut known = self.known.borrow_mut();
        let all = known
            .entry((version, namespace, components))
            .or_insert_with_key(|plain| plain_args(&self.distribution, plain));
        all.get(fields::name(deployment)).cloned()
    }
}

fn plain_args(distribution: &Distribution, (version, namespace, components): &PlainInstance) -> ArgsByName {
    let mut instance = FluxInstance::new(INSTANCE_NAME, FluxInstanceSpec::default());
    instance.metadata.namespace = Some(namespace.to_owned());
    instance.spec.distribution.version = version.to_owned();
    // A spec needs a registry; the arguments do not depend on it.
    instance.spec.distribution.registry = Variant::UpstreamAlpine.registry().to_owned();
    instance.spec.components = Some(components.clone());
    // The version is installed, so it was allowed.
    let options = BuildOptions { allow_unknown_minor: true, ..BuildOptions::default() };
    let built = CheckedInstance::check(instance).map_err(BuildError::from);
    let built = built.and_then(|checked| build(&checked, distribution, &options));
    let objects = built.map(|built| built.objects).unwrap_or_default();
    let args = |deployment: &Value| {
        let args = fields::items(deployment, "/spec/template/spec/containers/0/args");
        args.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let deployments = objects.iter().filter(|o| fields::kind(o) == "Deployment");
    deployments.map(|d| (fields::name(d).to_owned(), args(d))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_controller_of_a_plain_instance_has_no_unusual_arguments() {
        let usual = DefaultArguments::of(Distribution::embedded());
        let deployment = |version: &str| json!({"metadata": {"name": "source-controller", "namespace": "fs", "labels": {"app.kubernetes.io/version": version}}});
        let new = deployment("v2.9.4");
        let args = usual.args(&new, &[&new]).unwrap();
        assert!(args.iter().any(|a| a == "--storage-path=/data"), "{args:?}");
        assert!(!args.iter().any(|a| a.starts_with("--events-addr=http")), "no controller receives events: {args:?}");
        let old = deployment("v2.2.3");
        assert!(usual.args(&old, &[&old]).is_some());
        let unknown = deployment("v0.0.1");
        assert!(usual.args(&unknown, &[&unknown]).is_none());
    }
}
