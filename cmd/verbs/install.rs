//! `install`: installs the operator, optionally with an instance.

use std::path::PathBuf;

use flux_operator::api::manifest::InstanceManifest;
use flux_operator::api::well_known::{CLI_FIELD_MANAGER, DEFAULT_NAMESPACE, INSTANCE_NAME, OPERATOR_NAME};
use flux_operator::k8s::ObjectId;
use flux_operator::operator::{
    InstallPlan, InstallResult, OperatorParams, install, install_plan, manifest_text, manifests,
};
use flux_operator::reconcile::plan::{PlannedObject, Step};
use flux_operator::reconcile::progress::{Action, report_retries};
use flux_operator::request::AbsencePolicy;
use serde_json::Value;
use tokio::time::timeout_at;

use crate::args::instance::InstanceArgs;
use crate::args::{PreviewArgs, WaitArgs};
use crate::flows::follow::{FollowedObject, uid_of, until_ready};
use crate::flows::operator::{VERSION, operator_error, required_image};
use crate::flows::rights::{COMPARES_CLUSTER, COMPARES_NAMESPACE, FLUX, KIND, Right, Rights, always, under, when};
use crate::flows::run_in_process::{DistributionArgs, Listener, agree_to_store, read_unless_second};
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::manifest_file::{read_instance_at, read_secrets};
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, can_ask, confirm};
use crate::terminal::progress::{Progress, ProgressArgs};
use crate::terminal::{CliError, Exit, Shell};

const OPERATOR: &str = "Operator options";
const INSTANCE: &str = "Instance options";

/// Install or upgrade the operator
///
/// Applies the CRDs, RBAC objects, Deployment and Service of the operator, and waits for a ready pod. Running the
/// command again changes nothing; with another version or other flags, it upgrades the operator in place. With -f, or
/// with the flags of an instance, it also applies a FluxInstance and waits for it.
///
/// No images of this program are published yet: build one with deploy/Dockerfile and name it with --image.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What would change?\n  \
    flux-operator install --image registry.example.com/flux-operator:v1 --dry-run\n\n  \
    # The operator and an instance that follows Flux 2.x\n  \
    flux-operator install --image registry.example.com/flux-operator:v1 --instance\n\n  \
    # With an instance and the secret for its sync\n  \
    flux-operator create secret basic-auth git --username flux --export \\\n    \
    > secret.yaml\n  \
    flux-operator install --image registry.example.com/flux-operator:v1 \\\n    \
    -f flux.yaml --secret secret.yaml\n\n  \
    # Manifests for Git\n  \
    flux-operator install --image registry.example.com/flux-operator:v1 \\\n    \
    --export > flux-operator.yaml")]
pub struct Args {
    /// Image of the operator; there is no default until images are published
    #[arg(long, value_name = "IMAGE", help_heading = OPERATOR)]
    pub image: Option<String>,
    /// Image pull secret of the operator's pods, repeatable
    #[arg(long, value_name = "NAME", help_heading = OPERATOR, add = crate::args::complete::secrets())]
    pub pull_secret: Vec<String>,
    /// Number of pods; one is active, the others are on standby
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10), help_heading = OPERATOR)]
    pub replicas: u32,
    /// Bind the operator to cluster-admin instead of the smallest role
    ///
    /// Needed if patches of an instance rename roles or add rules to them.
    #[arg(long, help_heading = OPERATOR)]
    pub cluster_admin: bool,
    /// Argument for the operator, repeatable: --operator-arg=--log-level=debug
    #[arg(long, value_name = "ARG", allow_hyphen_values = true, help_heading = OPERATOR)]
    pub operator_arg: Vec<String>,

    /// File or https:// address with a FluxInstance to apply; - reads standard
    /// input
    #[arg(value_hint = clap::ValueHint::FilePath, short, long, value_name = "FILE|URL", alias = "file", conflicts_with = "instance", help_heading = INSTANCE)]
    pub filename: Option<PathBuf>,
    /// Apply an instance built from the flags below; implied by each of them
    #[arg(long, help_heading = INSTANCE)]
    pub instance: bool,
    /// File with Secrets to apply before the instance, repeatable; - reads
    /// standard input, such as the output of `create secret --export`
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, help_heading = INSTANCE)]
    pub secret: Vec<PathBuf>,
    #[command(flatten)]
    pub described: InstanceArgs,

    /// Print the manifests instead of applying them; needs no cluster
    #[arg(long, conflicts_with_all = ["dry_run", "secret"])]
    pub export: bool,
    #[command(flatten)]
    pub dry_run: PreviewArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub wait: WaitArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// # Errors
/// Usage, if no image is given.
pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.flux_namespace();
    let params = args.params(&namespace, required_image(args.image.as_deref())?);
    rights.operator(&params, INSTALLS);
    rights.grants(&params);
    rights.everywhere(LOOKS);
    rights.in_namespace(&namespace, &[when("another operator is replaced", "list get delete", "roles rolebindings")]);
    if !args.secret.is_empty() {
        rights.in_namespace(&namespace, &[always("patch", "secrets"), when("the Secret is new", "create", "secrets")]);
    }
    if args.filename.is_some() || args.describes_instance() {
        const LOSES: &str = "the instance may delete custom resources";
        rights.everywhere(&under(LOSES, COMPARES_CLUSTER));
        rights.in_namespace(&namespace, &under(LOSES, COMPARES_NAMESPACE));
        rights.in_namespace(
            &namespace,
            &[
                always("get patch", "fluxinstances"),
                when("the instance is new", "create", "fluxinstances"),
                when("the command waits for the instance", "list watch", "fluxinstances"),
            ],
        );
    }
    Ok(())
}

/// Rights on each object of the operator.
const INSTALLS: &[Right] = &[
    always("patch", KIND),
    when("the object is new", "create", KIND),
    when("the object is read by its name", "get list", KIND),
    when("the command waits for the object", "watch", KIND),
    when("a binding changes its role and is created again", "delete", KIND),
];
/// Rights to read the objects of others that an installation has to consider.
const LOOKS: &[Right] = &[
    when("the command looks for objects that no operator would reconcile", "list", FLUX),
    always("list", "clusterrolebindings"),
    when(
        "objects that others have installed are compared",
        "get list",
        "clusterroles clusterrolebindings customresourcedefinitions",
    ),
    when("the command looks for another operator", "list", "deployments leases"),
];

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let image = required_image(args.image.as_deref())?;
    if args.filename.is_some() && args.described.is_given() {
        return Err(CliError::usage("-f names an instance, and other flags describe one").hint("use one of the two"));
    }
    if args.export {
        return export(args, image, shell);
    }
    shell.run(async {
        let session = Session::open(shell).await?;
        let usual = session.namespace_or(DEFAULT_NAMESPACE);
        let wanted = wanted(args, &usual, session.cluster.namespace.as_deref(), shell).await?;
        // An operator reconciles only its own namespace.
        let namespace = wanted.as_ref().map_or(usual, namespace_of);
        let secrets = secrets(args, &namespace, shell).await?;
        let params = args.params(&namespace, image);
        let key = format!("deployment/{namespace}/flux-operator");
        let attempted = format!("plan {key}");
        let plan = bounded(&session, &attempted, install_plan(&session.cluster, &params));
        let plan = async {
            let plan = shell.while_waiting("answer", plan).await?;
            plan.map_err(|error| operator_error(&session, &error, "install", &key))
        };
        // Before anything is written: the API server would store a second instance, which nothing reconciles.
        let look = async {
            match &wanted {
                Some(wanted) => read_unless_second(&session, wanted).await.map(drop),
                None => Ok(()),
            }
        };
        let (plan, ()) = tokio::try_join!(plan, look)?;
        warn(&session, &plan, &namespace);
        if args.dry_run.is_set() {
            shell.print(&listing(&plan));
        }
        let distribution = DistributionArgs::default();
        let mode = args.progress.progress;
        if args.dry_run.is_set() {
            let more = if wanted.is_some() { ", then apply the instance" } else { "" };
            shell.status(&format!("(dry run) would {}{more}", summary(&plan)));
            if let Some(wanted) = &wanted {
                agree_to_store(&session, wanted, &distribution, &args.confirm, mode, true).await?;
            }
            return Ok(Exit::Done);
        }
        if can_ask(shell) {
            let what = format!("install the operator in namespace {namespace} ({})", session.cluster.endpoint.place());
            shell.status(&format!("would {}", summary(&plan)));
            let context = session.cluster.endpoint.context.as_deref();
            confirm(shell, &args.confirm, context, &what, Agreement::Yes).await?;
        }
        let session = match &wanted {
            Some(wanted) => {
                agree_to_store(&session, wanted, &distribution, &args.confirm, mode, false).await?;
                // The user's answer must not count against the time-out.
                session.with_new_deadline()
            }
            None => session,
        };
        let again = session.command("install", &namespace);
        shell.interruption().set("the next run completes it", Some(again));
        let installed = carry_out(&session, args, plan, &key).await?;
        let count = |action| installed.changes.iter().filter(|change| change.action == action).count();
        shell.status(&format!(
            "objects: {} created, {} configured, {} deleted ({})",
            count(Action::Created),
            count(Action::Configured),
            count(Action::Deleted),
            session.cluster.endpoint.place()
        ));
        let state = if args.wait.wait { "ready" } else { "applied" };
        shell.print(&format!("{key}: {state}, {VERSION}\n"));
        let next = if wanted.is_some() { "status" } else { "create instance" };
        let exit = match wanted {
            Some(wanted) => apply_instance(&session, args, wanted, secrets).await,
            None => apply_secrets(&session, &secrets).await.map(|()| Exit::Done),
        }?;
        session.suggest(next, &namespace);
        Ok(exit)
    })
}

impl Args {
    fn params(&self, namespace: &str, image: &str) -> OperatorParams {
        OperatorParams {
            replicas: self.replicas,
            cluster_admin: self.cluster_admin,
            image_pull_secrets: self.pull_secret.clone(),
            extra_args: self.operator_arg.clone(),
            ..OperatorParams::new(namespace, image, VERSION)
        }
    }

    fn describes_instance(&self) -> bool {
        self.instance || self.described.is_given()
    }
}

fn export(args: &Args, image: &str, shell: &Shell) -> Result<Exit, CliError> {
    let usual = shell.global().namespace().unwrap_or(DEFAULT_NAMESPACE).to_owned();
    let wanted = shell.run(wanted(args, &usual, None, shell))?;
    let namespace = wanted.as_ref().map_or(usual, namespace_of);
    let mut objects = manifests(&args.params(&namespace, image));
    objects.extend(wanted.map(|wanted| wanted.written));
    let text = manifest_text(&objects, &namespace)
        .map_err(|error| CliError::failed("cannot print the manifests").caused_by(&error))?;
    shell.print(&text);
    Ok(Exit::Done)
}

/// Reads the requested instance before anything is written.
async fn wanted(
    args: &Args,
    namespace: &str,
    context_namespace: Option<&str>,
    shell: &Shell,
) -> Result<Option<InstanceManifest>, CliError> {
    match &args.filename {
        Some(file) => read_instance_at(file, context_namespace, shell).await.map(Some),
        None if args.describes_instance() => args.described.manifest(INSTANCE_NAME, namespace).map(Some),
        None => Ok(None),
    }
}

fn namespace_of(manifest: &InstanceManifest) -> String {
    Target::of_instance(&manifest.instance).namespace
}

async fn secrets(args: &Args, namespace: &str, shell: &Shell) -> Result<Vec<Value>, CliError> {
    let mut all = vec![];
    for file in &args.secret {
        all.extend(read_secrets(file, namespace, shell).await?);
    }
    Ok(all)
}

async fn bounded<T>(session: &Session<'_>, attempted: &str, work: impl Future<Output = T>) -> Result<T, CliError> {
    timeout_at(session.deadline.instant(), work).await.map_err(|_| session.out_of_time(attempted))
}

async fn carry_out(
    session: &Session<'_>,
    args: &Args,
    plan: InstallPlan,
    key: &str,
) -> Result<InstallResult, CliError> {
    let progress = Progress::new(session.shell, args.progress.progress);
    let listener = Listener::new(progress, key, session.place(key));
    let ready_by = args.wait.wait.then(|| session.deadline.instant());
    let mut plan = Some(plan);
    let result = report_retries(&session.cluster, &listener, async |cluster| match plan.take() {
        Some(plan) => install(cluster, plan, ready_by, &listener).await,
        None => Ok(InstallResult::default()),
    });
    let result = bounded(session, &format!("install {key}"), result).await;
    listener.clear();
    result?.map_err(|error| operator_error(session, &error, "install", key))
}

async fn apply_secrets(session: &Session<'_>, secrets: &[Value]) -> Result<(), CliError> {
    for secret in secrets {
        let id = ObjectId::of(secret);
        let apply = session.cluster.apply(secret, CLI_FIELD_MANAGER);
        session.bounded(&format!("apply {}", session.place(&id.lower_case())), apply).await?;
        session.shell.status(&format!("► {} applied", session.place(&id.lower_case())));
    }
    Ok(())
}

async fn apply_instance(
    session: &Session<'_>,
    args: &Args,
    wanted: InstanceManifest,
    secrets: Vec<Value>,
) -> Result<Exit, CliError> {
    // Secrets come first, because the source of the instance cannot be fetched without them.
    apply_secrets(session, &secrets).await?;
    let target = Target::of_instance(&wanted.instance);
    let place = session.place(&target.reference());
    let apply = session.cluster.apply(&wanted.written, CLI_FIELD_MANAGER).await;
    let after = apply.map_err(|error| cli_error(&error))?;
    session.shell.status(&format!("► {place} applied"));
    let resume = session.command(&format!("wait {}", target.words()), &target.namespace);
    session.shell.interruption().set("the object is stored, and the operator continues with it", Some(resume));
    if !args.wait.wait {
        return Ok(Exit::Done);
    }
    let uid = uid_of(&after);
    let followed = [FollowedObject { target, request: None, absent: AbsencePolicy::Ends, uid }];
    until_ready(session, &followed, args.progress.progress).await
}

fn warn(session: &Session<'_>, plan: &InstallPlan, namespace: &str) {
    if plan.replaces_another {
        session.shell.warn("another operator is installed: this operator replaces it in its Deployment");
    }
    if let Some(release) = &plan.helm_release {
        session.shell.warn(&format!(
            "the operator belongs to the Helm release {release}: the next `helm upgrade` undoes this, or fails with conflicts until it is run with --force-conflicts (Helm 4)"
        ));
    }
    let account = format!("ServiceAccount/{namespace}/{OPERATOR_NAME}");
    for id in plan.removes.iter().filter(|id| plan.is_admin_binding(id)) {
        session.shell.warn(&format!("{id} is removed: {account} is no longer cluster-admin; --cluster-admin keeps it"));
    }
    // Other bindings to cluster-admin are kept, because somebody created them on purpose.
    for id in &plan.admin_bindings {
        session.shell.warn(&format!("{id} binds {account} to cluster-admin and is kept: the operator may do anything"));
        session.shell.hint(&format!("remove {account} from it, or install with --cluster-admin"));
    }
    for (service, port, name) in &plan.closed_ports {
        session.shell.warn(&format!("{service} loses port {port} ({name}): this operator serves nothing there"));
    }
}

/// Formats a line per object, without unchanged ones.
fn listing(plan: &InstallPlan) -> String {
    let mut text = String::new();
    for one in &plan.objects {
        if let Some(word) = word(plan, one) {
            text.push_str(&format!("{word}  {}\n", one.object));
            for change in &one.changes {
                text.push_str(&format!("             {change}\n"));
            }
        }
    }
    for id in &plan.removes {
        text.push_str(&format!("delete     {id}\n"));
    }
    for kept in plan.keeps.iter().filter(|kept| kept.object.kind != "Namespace") {
        text.push_str(&format!("keep       {}: {}\n", kept.object, kept.reason));
    }
    text
}

fn word(plan: &InstallPlan, one: &PlannedObject) -> Option<&'static str> {
    match one.step {
        _ if plan.recreates.contains(&one.object) => Some("recreate "),
        Step::Recreate => Some("recreate "),
        Step::Create => Some("create   "),
        Step::Configure => Some("configure"),
        Step::Unchanged | Step::Prune | Step::Skip => None,
    }
}

fn summary(plan: &InstallPlan) -> String {
    if !plan.has_changes() {
        return "change nothing".to_owned();
    }
    let count = |step| plan.objects.iter().filter(|one| one.step == step).count();
    format!(
        "create {}, configure {}, delete {}",
        count(Step::Create),
        count(Step::Configure),
        plan.removes.len() + plan.recreates.len()
    )
}

/// Manifests end up in Git, so they must be readable again.
#[cfg(test)]
mod tests {
    use flux_operator::format::yaml;

    use super::*;
    use crate::flows::operator::{IMAGE_PLACEHOLDER, with_placeholder_explained};

    #[test]
    fn the_placeholder_of_the_image_is_explained_once_and_reads_back() {
        let objects = manifests(&OperatorParams::new("fs", IMAGE_PLACEHOLDER, VERSION));
        let text = with_placeholder_explained(&manifest_text(&objects, "fs").unwrap());
        assert_eq!(text.matches("never pulled").count(), 1);
        assert_eq!(yaml::parse_documents(&text).unwrap(), objects);
        // Clients of registries refuse a name in upper case.
        assert!(IMAGE_PLACEHOLDER.chars().all(|letter| letter.is_ascii_uppercase()));
        for image in [None, Some(""), Some(" ")] {
            assert_eq!(required_image(image).unwrap_err().exit(), Exit::Usage);
        }
    }
}
