//! `migrate bootstrap`: makes a FluxInstance for an installation of `flux install` or `flux bootstrap`.

use std::fs::File;
use std::path::{Path, PathBuf};

use flux_operator::api::KustomizePatch;
use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::bootstrap::git::{GENERATED, Overlay, read_overlay};
use flux_operator::bootstrap::{BootstrapError, HarmlessChange, Proposal, propose};
use flux_operator::cluster::Cluster;
use flux_operator::distribution::Distribution;
use flux_operator::format::yaml::{self, YamlError};
use flux_operator::reconcile::plan::Step;
use flux_operator::reconcile::progress::IgnoredProgress;
use flux_operator::reconcile::{self, RunOptions};
use tokio::time::timeout_at;

use crate::args::ObjectFormatArgs;
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FLUX, KIND, Rights, when};
use crate::flows::run_in_process;
use crate::flows::run_in_process::{
    DistributionArgs, InProcessArgs, Listener, RunRequest, reconcile_error, reconcile_here,
};
use crate::output::objects;
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::manifest_file::manifest_error;
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, confirm};
use crate::terminal::progress::ProgressArgs;
use crate::terminal::{CliError, Exit, Shell, name_of_input, unopened};

/// Print a FluxInstance that takes over an installation of flux bootstrap
///
/// Reads the installation of `flux install` or `flux bootstrap`: version, components, registry, sync, shards, and the
/// user's patches. A plan verifies that applying the instance changes only labels, owners and descriptions; any other
/// change is reported, and the command exits with 1. With --apply, it applies the instance. Nothing is pruned: objects
/// that Flux applied are kept, and Flux itself is kept when its manifests are removed from Git. Prints the remaining
/// steps in Git.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The instance, and what applying it would change\n  \
    flux-operator migrate bootstrap > flux.yaml\n\n  \
    # With the patches as they are written in Git\n  \
    flux-operator migrate bootstrap --from-git ./clusters/prod/flux-system\n\n  \
    # Take over the installation\n  \
    flux-operator migrate bootstrap --apply")]
pub struct Args {
    /// Folder flux-system of the Git repository; its kustomization.yaml and patches are used unchanged
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub from_git: Option<PathBuf>,
    /// Apply the instance in this process
    #[arg(long)]
    pub apply: bool,
    #[command(flatten)]
    pub format: ObjectFormatArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) {
    let namespace = rights.flux_namespace();
    rights.everywhere(COMPARES_CLUSTER);
    rights.in_namespace(&namespace, COMPARES_NAMESPACE);
    rights.everywhere(&[when("the installation has such objects", "get list", FLUX)]);
    if args.apply {
        rights.instance("flux", &[when("the instance is new", "create get patch", KIND)]);
        rights.run_in_process();
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.block_on(async {
        let overlay = match &args.from_git {
            Some(folder) => shell.interruptible(overlay(folder, shell)).await?,
            None => Overlay::default(),
        };
        let (session, proposal) = {
            let look = shell.while_waiting("answer", read_proposal(shell, &overlay.patches));
            shell.interruptible(look).await?
        };
        shell.print(&args.format.output.text(&proposal.manifest.written, "the FluxInstance")?);
        print_plan(shell, &proposal, &overlay);
        let is_whole = proposal.unexpressed.is_empty() && overlay.unexpressed.is_empty();
        if !args.apply {
            git_steps(shell, &proposal, &overlay);
            return Ok(if is_whole { Exit::Done } else { Exit::Failed });
        }
        if !is_whole {
            let question = format!("apply it to {} although not everything is kept", session.cluster.endpoint.place());
            let context = session.cluster.endpoint.context.as_deref();
            shell.interruptible(confirm(shell, &args.confirm, context, &question, Agreement::Yes)).await?;
        }
        let exit = apply(&session.with_new_deadline(), args, &proposal).await?;
        git_steps(shell, &proposal, &overlay);
        Ok(exit)
    })?
}

async fn read_proposal<'a>(shell: &'a Shell, patches: &[KustomizePatch]) -> Result<(Session<'a>, Proposal), CliError> {
    let session = Session::open(shell).await?;
    let namespace = session.namespace_or(DEFAULT_NAMESPACE);
    let distribution = Distribution::embedded();
    let work = propose(&session.cluster, &namespace, patches.to_vec(), &distribution, &IgnoredProgress);
    let proposed = timeout_at(session.deadline.instant(), work).await;
    let proposed = proposed.map_err(|_| session.out_of_time("read the installation"))?;
    let proposal = proposed.map_err(|error| bootstrap_error(&session, &error, &namespace))?;
    Ok((session, proposal))
}

fn bootstrap_error(session: &Session<'_>, error: &BootstrapError, namespace: &str) -> CliError {
    let what = format!("the installation in namespace {namespace} ({})", session.cluster.endpoint.place());
    let failed = || CliError::failed(format!("cannot take over {what}")).caused_by(error);
    match error {
        BootstrapError::Call(call) => cli_error(call),
        BootstrapError::Plan(plan) => reconcile_error(session, plan, "plan", "fluxinstance/flux"),
        BootstrapError::Manifest(manifest) => manifest_error(manifest, &format!("cannot make an instance of {what}")),
        BootstrapError::NotInstalled { .. } => failed()
            .with_exit(Exit::NotFound)
            .hint("name the namespace with -n, or install Flux with `flux-operator install --image IMAGE --instance`"),
        BootstrapError::HasInstance { .. } => failed().hint("there is nothing to migrate: see `flux-operator status`"),
        BootstrapError::SeveralVersions(_) => failed().hint("bring all controllers to one version with flux first"),
        BootstrapError::SeveralRegistries(_) | BootstrapError::NoVersion | BootstrapError::Yaml(_) => failed(),
    }
}

/// Reads a kustomization.yaml and the patches beside it.
async fn overlay(folder: &Path, shell: &Shell) -> Result<Overlay, CliError> {
    let file = folder.join("kustomization.yaml");
    let wanted = "--from-git wants the folder that holds gotk-components.yaml and kustomization.yaml";
    let failed = |error: &(dyn std::error::Error + 'static)| {
        CliError::failed(format!("cannot read {}", file.display())).caused_by(error).hint(wanted)
    };
    let (path, folder) = (file.clone(), folder.to_owned());
    let origin = name_of_input(&file);
    let read = shell.read_input(&origin, move || {
        let text = read_manifest(&path)?;
        let beside = |path: &str| read_manifest(&folder.join(path)).map_err(|error| error.to_string());
        Ok(read_overlay(&text, beside))
    });
    let overlay = read.await?.map_err(|error| match &error {
        YamlError::Read(unread) => unopened(&file, unread).hint(wanted),
        _ => failed(&error),
    })?;
    overlay.map_err(|error| failed(&error))
}

fn read_manifest(path: &Path) -> Result<String, YamlError> {
    yaml::read(File::open(path).map_err(YamlError::Read)?)
}

/// Prints the plan on stderr.
fn print_plan(shell: &Shell, proposal: &Proposal, overlay: &Overlay) {
    let plan = &proposal.plan;
    shell.status(&format!(
        "Flux {}: {} objects, {} change, {} are unchanged, nothing is pruned",
        plan.version,
        plan.objects.len(),
        plan.count(Step::Configure),
        plan.count(Step::Unchanged)
    ));
    for (sort, count) in &proposal.accepted {
        shell.status(&format!("  {}: {}", words(*sort), objects(*count)));
    }
    let restarts = plan.restarts();
    if !restarts.is_empty() {
        let names: Vec<&str> = restarts.iter().map(|one| one.name.as_str()).collect();
        shell.status(&format!("  pods are replaced once: {}", names.join(", ")));
    }
    for note in &proposal.notes {
        shell.status(&format!("note: {note}"));
    }
    for one in &proposal.unexpressed {
        match one.path.as_str() {
            "" => shell.warn(&format!("{} does not exist and would be created", one.object)),
            path => shell.warn(&format!("{}: {path} would change, and an instance cannot keep it", one.object)),
        }
    }
    for field in &overlay.unexpressed {
        shell.warn(&format!("an instance has no field for {field}"));
    }
    for id in &proposal.kept_objects {
        shell.warn(&format!("{id} is not part of the instance: it is kept, but no longer reconciled"));
    }
    for warning in &plan.warnings {
        shell.warn(warning);
    }
}

fn words(sort: HarmlessChange) -> &'static str {
    match sort {
        HarmlessChange::Labels => "labels, annotations and owners",
        HarmlessChange::Prose => "descriptions in CRDs",
        HarmlessChange::Digests => "images are pinned to the digest of their tag",
        HarmlessChange::Flags => "flags in another order or at their default",
        HarmlessChange::OperatorKinds => "alerts and receivers may name the operator's kinds",
        HarmlessChange::Tokens => "rights to tokens that only object-level workload identity needs",
    }
}

async fn apply(session: &Session<'_>, args: &Args, proposal: &Proposal) -> Result<Exit, CliError> {
    let target = Target::of_instance(&proposal.manifest.instance);
    let again = session.command("migrate bootstrap --apply", &target.namespace);
    let without = session.command("apply instance -f FILE", &target.namespace);
    let request = RunRequest {
        session,
        mode: args.progress.progress,
        target: &target,
        verb: "apply",
        again: &again,
        without: &without,
    };
    let options = run_in_process::options(&InProcessArgs::default(), &DistributionArgs::default());
    let distribution = Distribution::embedded();
    let work = async |cluster: &Cluster, options: &RunOptions, listener: &Listener| {
        reconcile::apply_instance(cluster, &proposal.manifest, false, &distribution, options, listener).await
    };
    reconcile_here(&request, options, &args.confirm, work).await
}

/// Prints the remaining steps if Flux applied itself from Git.
fn git_steps(shell: &Shell, proposal: &Proposal, overlay: &Overlay) {
    let Some((kustomization, path)) = &proposal.applied_by else { return };
    let folder = format!("{}/flux-system", path.trim_start_matches("./").trim_end_matches('/'));
    let folder = folder.trim_start_matches('/');
    let mut steps = vec![
        "apply the instance first: from then on Flux does not prune itself".to_owned(),
        format!("commit the instance as {folder}/flux.yaml"),
        format!("remove {} of {folder} from Git", GENERATED.join(" and ")),
    ];
    steps.push(match overlay.resources.as_slice() {
        [] => format!("remove {folder}/kustomization.yaml, or list flux.yaml in it without patches"),
        others => format!(
            "in {folder}/kustomization.yaml list flux.yaml and {}, without the generated files and patches",
            others.join(", ")
        ),
    });
    steps.push(format!("push, and see that {kustomization} is ready: flux-operator get ks"));
    shell.status("Remaining changes in Git:");
    for (index, step) in steps.iter().enumerate() {
        shell.status(&format!("  {}. {step}", index + 1));
    }
}
