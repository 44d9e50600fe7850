//! `migrate owner`: moves objects from one Flux owner to another without deleting them.

use flux_operator::api::kinds;
use flux_operator::api::object_words;
use flux_operator::api::well_known::CLI_FIELD_MANAGER;
use flux_operator::inspect::views::inventory;
use flux_operator::k8s::ObjectId;
use flux_operator::request::{Owner, OwnerMigration, SuspendNote, inventory_patch, plan_move, suspend_patch};
use serde_json::Value;

use crate::args::PreviewArgs;
use crate::args::objects::unknown_kind;
use crate::flows::rights::{KIND, Right, Rights, always, when};
use crate::output::objects;
use crate::session::Session;
use crate::session::connect::cli_error;
use crate::session::read_source::{FromArgs, Source};
use crate::session::target::Target;
use crate::terminal::confirm::{Agreement, ConfirmArgs, check_consent, confirm};
use crate::terminal::output_format::{ViewArgs, structured};
use crate::terminal::{CliError, Exit, Shell};

/// Move objects from one Flux owner to another, without loss
///
/// Objects that a Kustomization, HelmRelease or ResourceSet applied get the labels and fields of the new owner. They
/// are removed from the inventory of the old owner, which therefore never prunes them. The old owner is suspended;
/// resume it when its content no longer has the objects. The command first shows the plan and asks for confirmation.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Only show the plan\n  \
    flux-operator -n apps migrate owner ks/all --to hr/web --dry-run\n\n  \
    # One object, to a Kustomization in another namespace\n  \
    flux-operator -n apps migrate owner ks/all --to shop/ks/web \\\n    \
    --object deployment/web\n\n  \
    # In a script\n  \
    flux-operator -n apps migrate owner rset/all --to ks/web --yes")]
pub struct Args {
    /// The current owner, as KIND/NAME
    #[arg(value_name = "KIND/NAME", add = crate::args::complete::resources())]
    pub owner: String,
    /// The new owner, as KIND/NAME or NAMESPACE/KIND/NAME
    #[arg(long, value_name = "OWNER")]
    pub to: String,
    /// Only this object of the inventory, as KIND/NAME; repeatable
    #[arg(long, value_name = "KIND/NAME")]
    pub object: Vec<String>,
    #[command(flatten)]
    pub dry_run: PreviewArgs,
    #[command(flatten)]
    pub confirm: ConfirmArgs,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn rights(args: &Args, rights: &mut Rights) -> Result<(), CliError> {
    let namespace = rights.namespace_or("default");
    for (word, rows) in [(&args.owner, OLD_OWNER), (&args.to, &[always("get", KIND)][..])] {
        let (at, word) = match word.splitn(3, '/').collect::<Vec<_>>().as_slice() {
            [at, kind, name] => ((*at).to_owned(), format!("{kind}/{name}")),
            _ => (namespace.clone(), word.clone()),
        };
        let (kind, name) = object_words::object(&word)?;
        let kind = kinds::find(kind).ok_or_else(|| unknown_kind(kind))?;
        rights.of_kind(&kind.resource_type(), Some(&at), &[name], rows);
    }
    for word in &args.object {
        let (kind, name) = object_words::object(word)?;
        let kind = kinds::find_resource_type(kind).ok_or_else(|| unknown_kind(kind))?;
        rights.of_kind(&kind, Some(&namespace), &[name], &[always("get patch", KIND)]);
    }
    if args.object.is_empty() {
        // An inventory can hold any kind, and `rbac` does not ask the cluster for it.
        rights.everywhere(&[when("the object moves", "get patch", "*.*")]);
    }
    Ok(())
}

/// Rights on the old owner.
const OLD_OWNER: &[Right] =
    &[always("get", KIND), always("patch", "KIND/status"), when("it is not suspended yet", "patch", KIND)];

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.from.from.is_some() && !args.dry_run.is_set() {
        return Err(CliError::usage("a dump cannot be changed").hint("--dry-run shows the plan"));
    }
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let (from, old) = read_owner(shell, &source, &args.owner).await?;
        let (to, new) = read_owner(shell, &source, &args.to).await?;
        if from.id() == to.id() {
            return Err(CliError::usage("both owners are the same"));
        }
        let migration = plan(&source, args, &from, &old, &new).await?;
        if let Some(text) = structured(&migration, &args.view.output)? {
            shell.print(&text);
        } else {
            shell.print(&plan_text(&migration));
        }
        if migration.moves.is_empty() {
            shell.status("there is nothing to move");
            return Ok(Exit::Done);
        }
        let session = match source {
            Source::Cluster(session) => session,
            Source::Dump(..) => return Ok(Exit::Done),
        };
        let question = format!(
            "move {} from {} to {}",
            objects(migration.moves.len()),
            from.reference(),
            session.place(&to.reference())
        );
        let context = session.cluster.endpoint.context.as_deref();
        if args.dry_run.is_set() {
            check_consent(shell, &args.confirm, context, &question)?;
            return Ok(Exit::Done);
        }
        confirm(shell, &args.confirm, context, &question, Agreement::Yes).await?;
        // The user's answer must not count against the time-out.
        let session = session.with_new_deadline();
        carry_out(&session, &migration, &from).await?;
        print_remaining_steps(&session, &migration, &from, &to);
        Ok(Exit::Done)
    })
}

/// Reads `KIND/NAME` in the namespace of the command, or with its own namespace in front.
async fn read_owner(shell: &Shell, source: &Source<'_>, word: &str) -> Result<(Target, Value), CliError> {
    let (namespace, word) = match word.splitn(3, '/').collect::<Vec<_>>().as_slice() {
        [namespace, kind, name] => (Some((*namespace).to_owned()), format!("{kind}/{name}")),
        _ => (None, word.to_owned()),
    };
    let (kind, name) = object_words::object(&word)?;
    let kind = kinds::find(kind).ok_or_else(|| unknown_kind(kind))?;
    match source {
        Source::Cluster(session) => {
            let namespace = namespace.unwrap_or_else(|| session.namespace());
            let target = Target { kind, namespace, name: name.to_owned() };
            let object = session.get(&target).await?;
            Ok((target, object))
        }
        Source::Dump(_, flag) => {
            let namespace = namespace.as_ref().or(flag.as_ref()).map(String::as_str);
            let object = source.object(shell, &kind.resource_type(), namespace, name).await?;
            let ObjectId { namespace, name, .. } = ObjectId::of(&object);
            Ok((Target { kind, namespace, name }, object))
        }
    }
}

fn owner(object: &Value) -> Result<Owner, CliError> {
    Owner::of(object).map_err(|e| CliError::usage(e.to_string()))
}

async fn plan(
    source: &Source<'_>,
    args: &Args,
    from: &Target,
    old: &Value,
    new: &Value,
) -> Result<OwnerMigration, CliError> {
    let (giver, taker) = (owner(old)?, owner(new)?);
    let wanted = wanted(args, old)?;
    let (mut moves, mut gone) = (vec![], vec![]);
    for id in wanted {
        let live = match source {
            Source::Cluster(session) => session.bounded(&format!("read {id}"), session.cluster.read(&id)).await?,
            Source::Dump(snapshot, _) => snapshot.get_ref(&id).cloned(),
        };
        match live {
            None => gone.push(id),
            Some(live) => {
                let step = plan_move(&live, &giver, &taker);
                // The object must still belong to the old owner, or to the new one if an earlier run moved it.
                if let (false, true) = (giver.claims(&live) || taker.claims(&live), step.patch.is_some()) {
                    let error =
                        CliError::failed(format!("cannot move {id}: it does not carry the labels of {}", giver.id));
                    return Err(error.hint("another owner has taken it over: see `flux-operator trace`"));
                }
                moves.push(step);
            }
        }
    }
    if giver.is_release() && !args.object.is_empty() {
        let error = CliError::usage(
            "the objects of a HelmRelease can only be moved together: Helm uninstalls a release as a whole",
        );
        return Err(error.hint("leave --object out"));
    }
    Ok(OwnerMigration { from: giver.id, to: taker.id, suspends: !from.is_suspended(old), moves, gone })
}

/// Returns the named objects of the old inventory, or all.
fn wanted(args: &Args, old: &Value) -> Result<Vec<ObjectId>, CliError> {
    let entries = inventory::entries(old);
    if args.object.is_empty() {
        return Ok(entries);
    }
    let mut wanted = vec![];
    for word in &args.object {
        let (kind, name) = object_words::object(word)?;
        let resource = kinds::find_resource_type(kind);
        let is_it = |id: &&ObjectId| {
            let of_kind = match &resource {
                Some(resource) => resource.group == id.group && resource.kind == id.kind,
                None => id.kind.eq_ignore_ascii_case(kind),
            };
            of_kind && id.name == name
        };
        let found: Vec<&ObjectId> = entries.iter().filter(is_it).collect();
        match found.as_slice() {
            [one] => wanted.push((*one).clone()),
            [] => {
                return Err(CliError::new(Exit::NotFound, format!("{word} is not in the inventory of {}", args.owner)));
            }
            _ => return Err(CliError::usage(format!("{word} is in the inventory in several namespaces"))),
        }
    }
    Ok(wanted)
}

fn plan_text(migration: &OwnerMigration) -> String {
    let mut lines = vec![];
    if migration.suspends {
        lines.push(format!("{} is suspended", migration.from));
    }
    for one in &migration.moves {
        let says = if one.steps.is_empty() { "already has the new owner".to_owned() } else { one.steps.join("; ") };
        lines.push(format!("{}: {says}", one.object));
    }
    for id in &migration.gone {
        lines.push(format!("{id}: is not in the cluster, and is only removed from the inventory"));
    }
    lines.push(format!(
        "{} to leave the inventory of {}",
        objects(migration.moves.len() + migration.gone.len()),
        migration.from
    ));
    lines.iter().map(|line| format!("{}\n", flux_operator::format::harmless::on_one_line(line))).collect()
}

/// Carries out the migration. It may be interrupted after any step: the old owner cannot prune anything while it is
/// suspended, and a second run continues.
async fn carry_out(session: &Session<'_>, migration: &OwnerMigration, from: &Target) -> Result<(), CliError> {
    if migration.suspends {
        let reason = format!("objects move to {}", migration.to);
        let note = SuspendNote { reason: Some(&reason), until: None };
        session.patch(from, "suspend", &suspend_patch(from.kind.suspension, note), false).await?;
    }
    for one in &migration.moves {
        let Some(patch) = &one.patch else { continue };
        let send = session.cluster.json_patch(&one.object, patch, CLI_FIELD_MANAGER);
        session.bounded(&format!("change the owner of {}", one.object), send).await?;
    }
    let moved: Vec<ObjectId> =
        migration.moves.iter().map(|one| one.object.clone()).chain(migration.gone.clone()).collect();
    let attempted = format!("take objects out of the inventory of {}", migration.from);
    let old = session.get(from).await?;
    let (id, moved) = (&ObjectId::of(&old), &moved);
    // The owner was read again after its suspension. Its controller may still write the status, so a conflict is
    // retried.
    let leave = |old: Value| async move {
        let Some(patch) = inventory_patch(&old, moved) else { return Ok(()) };
        session.cluster.merge_patch(id, Some("status"), &patch, CLI_FIELD_MANAGER).await.map(drop)
    };
    session.cluster.retry_on_conflict(id, old, leave).await.map(drop).map_err(|error| {
        cli_error(&error).hint(format!("{attempted}: repeat the command; it continues where it stopped"))
    })
}

fn print_remaining_steps(session: &Session<'_>, migration: &OwnerMigration, from: &Target, to: &Target) {
    let shell = session.shell;
    shell.status(&format!("✔ moved {} to {}", objects(migration.moves.len()), session.place(&to.reference())));
    shell.status("Remaining steps:");
    let release = migration.from.kind == "HelmRelease";
    let mut steps = vec![format!(
        "add the objects to the content of {}, then {}",
        migration.to,
        session.command(&format!("reconcile {}", to.words()), &to.namespace)
    )];
    steps.push(match release {
        // helm-controller uninstalls nothing when a suspended release is deleted.
        true => format!("delete {} while it is suspended: nothing is uninstalled", migration.from),
        false => format!(
            "remove the objects from the content of {}, then {}",
            migration.from,
            session.command(&format!("resume {}", from.words()), &from.namespace)
        ),
    });
    for (index, step) in steps.iter().enumerate() {
        shell.status(&format!("  {}. {step}", index + 1));
    }
}
