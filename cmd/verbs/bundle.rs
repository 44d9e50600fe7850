//! `bundle`: everything that explains an installation in one archive, without its secrets.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::distribution::Distribution;
use flux_operator::format::whole_file::WholeFile;
use flux_operator::format::{json, tarball};
use flux_operator::inspect::diagnose::checks::{CheckOptions, check};
use flux_operator::inspect::diagnose::health::HealthVerdict;
use flux_operator::inspect::diagnose::next_step::HasNextSteps;
use flux_operator::inspect::diagnose::status::{StatusOptions, status};
use flux_operator::inspect::diagnose::why::{is_installed, overview};
use flux_operator::inspect::incident::bundle::{Bundle, redact};
use flux_operator::inspect::incident::gather::{BundleLimits, gather, of_dump};
use flux_operator::k8s::fields;
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;

use crate::flows::operator::CLIENT_VERSION;
use crate::flows::rights::{FLUX, Right, Rights, always, when};
use crate::output::next_step::{command, sentence};
use crate::output::objects;
use crate::session::Session;
use crate::session::health::{VerdictUse, exit_of};
use crate::session::read_source::{instance_type, read_whole_dump};
use crate::terminal::progress::{Progress, ProgressArgs, State};
use crate::terminal::{CliError, Exit, Shell};

/// Collect a support bundle without secrets
///
/// Collects Flux objects, CRDs, workloads, pods, events, leases, quotas, nodes
/// and logs of the namespaces Flux works in, and the output of status, why and
/// check. Every command that reads a cluster accepts the archive with --from.
/// Secrets and ConfigMaps are reduced to names, keys, sizes and salted hashes.
/// Values of Secrets are masked wherever they appear, and so is text that looks
/// like a credential. The bundle.json in the archive lists what was masked and
/// what could not be read. If something cannot be masked, nothing is written.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Everything, to a file named after the current time\n  \
    flux-operator bundle\n\n  \
    # To a given file, in at most 20 seconds\n  \
    flux-operator bundle -o incident.tar.gz --timeout 20s\n\n  \
    # Read the bundle on another machine\n  \
    flux-operator why --from incident.tar.gz\n\n  \
    # Remove the secrets from an existing dump\n  \
    flux-operator bundle --redact ./dump -o clean.tar.gz")]
pub struct Args {
    /// File to write, or - for stdout [default: flux-bundle-TIME.tar.gz]
    #[arg(id = "archive", short = 'o', long = "output", value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// Make the bundle from a dump: a folder, a file, or - for stdin
    #[arg(long, value_name = "DIR|FILE|-")]
    pub redact: Option<PathBuf>,
    /// Maximum size of the text in megabytes, before compression
    #[arg(long, value_name = "MIB", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2048))]
    pub max_size: u32,
    /// Write the bundle even if secrets may be left in it
    ///
    /// Needed when Secrets cannot be read: their values are then unknown, and
    /// only text that looks like a credential is masked.
    #[arg(long)]
    pub allow_unmasked: bool,
    /// Number of lines from the end of each log
    #[arg(long, value_name = "LINES", default_value_t = 2000)]
    pub log_lines: u32,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// Rights to read everything that is bundled.
const BUNDLED: &[Right] = &[
    always(
        "list",
        "configmaps events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods resourcequotas",
    ),
    always("list", "secrets serviceaccounts services customresourcedefinitions"),
    always("list", "daemonsets deployments replicasets statefulsets jobs"),
    always("list", "leases networkpolicies storageclasses"),
    always("list", "clusterroles clusterrolebindings"),
    always("list", FLUX),
    when("metrics are served", "list", "pods.metrics.k8s.io"),
];

pub fn rights(rights: &mut Rights) {
    rights.everywhere(BUNDLED);
    rights.in_namespace(&rights.flux_namespace(), &[always("get", "pods/log")]);
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    let path =
        args.archive.clone().unwrap_or_else(|| format!("flux-bundle-{}.tar.gz", now.strftime("%Y%m%d-%H%M%S")).into());
    if path == Path::new("-") && std::io::stdout().is_terminal() {
        return Err(CliError::usage("the archive would be written to the terminal").hint("name a file with -o FILE"));
    }
    // Create the file before reading: an existing file or an unwritable folder is noticed at once.
    let file = if path == Path::new("-") { None } else { Some(create(&path)?) };
    let (bytes, exit) = make(args, shell, now)?;
    let Some(mut file) = file else {
        shell.print_bytes(&bytes);
        return Ok(exit);
    };
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(|e| failed(&path, &e))?;
    if !link(&file, &path).map_err(|e| failed(&path, &e))? {
        // If an unnamed file cannot get a name, the archive is written beside its target, and moved there when it is
        // complete.
        let mut whole = WholeFile::beside(&path).map_err(|e| failed(&path, &e))?;
        let file = whole.file();
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(|e| failed(&path, &e))?;
        whole.put_if_absent().map_err(|e| failed(&path, &e))?;
    }
    shell.print(&format!("{}\n", path.display()));
    shell.hint(&format!("the recipient reads it with `flux-operator why --from {}`", path.display()));
    Ok(exit)
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    let attempted = format!("cannot write {}", path.display());
    match error.kind() {
        std::io::ErrorKind::AlreadyExists if path.is_dir() => {
            let file = path.join("bundle.tar.gz");
            CliError::failed(format!("{attempted}: it is a directory"))
                .hint(format!("name a file in it: -o {}", file.display()))
        }
        std::io::ErrorKind::AlreadyExists => {
            CliError::failed(format!("{attempted}: the file exists")).hint("choose another name with -o FILE")
        }
        _ => CliError::failed(attempted).caused_by(error),
    }
}

/// Creates an unnamed file in the folder of the target, readable by its owner only. A killed command leaves nothing
/// behind.
fn create(path: &Path) -> Result<File, CliError> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(failed(path, &std::io::ErrorKind::AlreadyExists.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).map_err(|e| failed(path, &e))
}

/// Gives an unnamed file its name. Returns false if the system or the file system does not support that.
///
/// # Errors
/// Another file has the name already.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};

    // As open(2) describes for O_TMPFILE; AT_EMPTY_PATH would need a capability.
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::EXIST) => Err(std::io::ErrorKind::AlreadyExists.into()),
        Err(_) => Ok(false),
    }
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> std::io::Result<bool> {
    Ok(false)
}

/// Makes the archive; also returns the exit of the command once the archive is written.
fn make(args: &Args, shell: &Shell, now: Timestamp) -> Result<(Vec<u8>, Exit), CliError> {
    let salt = salt()?;
    let max_bytes = args.max_size as usize * (1 << 20);
    let bundle = match &args.redact {
        Some(path) => shell.run(async {
            let dump = read_whole_dump(path, shell).await?;
            // In parallel, because a large dump takes seconds.
            shell.read_input("the dump", move || redact(of_dump(&dump), salt, max_bytes)).await
        })?,
        None => shell.run(async {
            let session = Session::open(shell).await?;
            // Check that the server answers; later failures are recorded in the bundle.
            let version = session.bounded("read the server's version", session.cluster.server_version()).await;
            version?;
            let place = session.cluster.endpoint.place();
            let mut progress = Progress::new(shell, args.progress.progress);
            let limits = BundleLimits { until: session.deadline.instant(), log_lines: args.log_lines };
            let gathered = gather(&session.cluster, limits, |what, done, of| {
                progress.redraw("bundle", &format!("{done} of {of}: {what}"));
            })
            .await;
            if gathered.objects.is_empty()
                && gathered.listed.is_empty()
                && let Some(unread) = gathered.unread.first().filter(|_| session.deadline.instant() > Instant::now())
            {
                progress.clear();
                let error = CliError::new(Exit::Denied, format!("cannot read anything for the bundle in {place}"));
                return Err(error
                    .cause(format!("{}: {}", unread.what, unread.why))
                    .hint("`flux-operator rbac bundle` prints the rights that it needs"));
            }
            if gathered.listed.is_empty() && session.deadline.instant() <= Instant::now() {
                progress.clear();
                return Err(session.out_of_time("read anything for the bundle"));
            }
            progress.set(
                "bundle",
                State::Done,
                &format!("{}, {} logs", objects(gathered.objects.len()), gathered.logs.len()),
            );
            progress.clear();
            // The bundle is for the whole cluster, but a given namespace that does not exist is still reported.
            let named = shell.global().namespace();
            if let Some(named) =
                named.filter(|named| !gathered.objects.iter().any(|one| fields::namespace(one) == Some(*named)))
                && let Some(missing) = session.no_namespace(named).await
            {
                shell.hint(missing.message());
            }
            Ok(redact(gathered, salt, max_bytes))
        })?,
    };
    if let Some(why) = &bundle.incomplete {
        if !args.allow_unmasked {
            return Err(CliError::failed(format!("cannot mask all secrets, so nothing is written: {why}"))
                .hint("--allow-unmasked writes it anyway; review it before you share it"));
        }
        shell.warn(&format!("secrets may be left in the bundle: {why}"));
    }
    let files = bundle.files(CLIENT_VERSION, now, views(&bundle, now)?);
    for unread in &bundle.unread {
        shell.warn(&format!("not in the bundle: {}: {}", unread.what, unread.why));
    }
    shell.status(&format!("✔ {}, {} values masked", objects(bundle.snapshot.all().count()), bundle.masked_values()));
    let bytes = tarball::write_tarball(&files).map_err(|e| CliError::failed("cannot pack the bundle").caused_by(&e))?;
    // A dump, or a list that was refused, may lack what would show an installation.
    let is_known = args.redact.is_none() && bundle.unread.is_empty();
    if is_known && !is_installed(&bundle.snapshot) {
        shell.status("Flux is not installed in this cluster; install it with `flux-operator apply instance -f FILE --in-process`");
        return Ok((bytes, exit_of(HealthVerdict::NotInstalled, VerdictUse::List)));
    }
    Ok((bytes, Exit::Done))
}

/// Creates a fresh random salt for each bundle; it is never stored.
fn salt() -> Result<Vec<u8>, CliError> {
    flux_operator::inspect::incident::gather::salt()
        .ok_or_else(|| CliError::failed("cannot make a salt: there are no random numbers"))
}

/// Formats the results of the read commands, for readers without this program.
fn views(bundle: &Bundle, now: Timestamp) -> Result<Vec<(String, String)>, CliError> {
    let snapshot = &bundle.snapshot;
    let instances = snapshot.list(&instance_type(), None);
    let namespace = instances.first().and_then(|instance| fields::namespace(instance));
    let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
    let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|version| version.name).collect();
    let options = CheckOptions { pre: false, namespace, client: CLIENT_VERSION, now, to: None, distribution: None };
    let looked = StatusOptions { namespace, client: CLIENT_VERSION, known: &known, now, desired: &|_| None };
    Ok(vec![
        view("status", &status(snapshot, looked).in_words(command))?,
        view("why", &overview(snapshot, None, now).in_words(command))?,
        view("check", &check(snapshot, options).in_words(sentence))?,
    ])
}

fn view(name: &str, value: &impl Serialize) -> Result<(String, String), CliError> {
    let text =
        json::to_string(value).map_err(|e| CliError::failed(format!("cannot write the view {name}")).caused_by(&e))?;
    Ok((name.to_owned(), text))
}
