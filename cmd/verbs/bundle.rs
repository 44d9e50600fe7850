//! `bundle`: everything that explains an installation in one archive, without its secrets.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use flux_operator::api::well_known::DEFAULT_NAMESPACE;
use flux_operator::distribution::Distribution;
use flux_operator::format::{json, tarball};
use flux_operator::inspect::bundle::{Bundle, redact};
use flux_operator::inspect::checks::{CheckOptions, check};
use flux_operator::inspect::read::bundle::{BundleLimits, gather, of_dump};
use flux_operator::inspect::status::status;
use flux_operator::inspect::why::overview;
use flux_operator::k8s::fields;
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;

use crate::output::next_step::{command, sentence};
use crate::output::objects;
use crate::session::Session;
use crate::session::read_source::{instance_type, read_whole_dump};
use crate::terminal::progress::{LineState, Progress, ProgressArgs};
use crate::terminal::{CliError, Exit, Shell};

/// Write all that explains the installation to one archive, without secrets
///
/// Flux objects, definitions, workloads, pods, events, leases, quotas, nodes and
/// logs of the namespaces Flux works in, with what status, why and check say.
/// Every read takes the archive with --from. Secrets and ConfigMaps are names,
/// keys, sizes and salted hashes; values of Secrets are masked wherever they
/// stand, and what looks like a credential is. bundle.json in it lists what was
/// masked and what could not be read. When not everything can be masked,
/// nothing is written.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # All of it, to a file named after the moment\n  \
    flux-operator bundle\n\n  \
    # To this file, in at most 20 seconds\n  \
    flux-operator bundle -o incident.tar.gz --timeout 20s\n\n  \
    # What the receiver does with it\n  \
    flux-operator why --from incident.tar.gz\n\n  \
    # Take the secrets out of a dump that exists\n  \
    flux-operator bundle --redact ./dump -o clean.tar.gz")]
pub struct Args {
    /// File to write, or - for stdout [default: flux-bundle-TIME.tar.gz]
    #[arg(id = "archive", short = 'o', long = "output", value_name = "FILE")]
    pub archive: Option<PathBuf>,
    /// Make it of a dump: a folder, a file, or - for stdin
    #[arg(long, value_name = "DIR|FILE|-")]
    pub redact: Option<PathBuf>,
    /// Megabytes of text at most, before compression
    #[arg(long, value_name = "MIB", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2048))]
    pub max_size: u32,
    /// Write it although secrets may be left in it
    ///
    /// That is so when Secrets cannot be read: their values are then not known,
    /// and only what looks like a credential is masked.
    #[arg(long)]
    pub allow_unmasked: bool,
    /// Last lines of each log
    #[arg(long, value_name = "LINES", default_value_t = 2000)]
    pub log_lines: u32,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

const CLIENT: &str = env!("CARGO_PKG_VERSION");

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    let now = Timestamp::now();
    if shell.rehearses() {
        return make(args, shell, now).map(|_| Exit::Done);
    }
    let path =
        args.archive.clone().unwrap_or_else(|| format!("flux-bundle-{}.tar.gz", now.strftime("%Y%m%d-%H%M%S")).into());
    if path == Path::new("-") && std::io::stdout().is_terminal() {
        return Err(CliError::usage("the archive would be written to the terminal").hint("name a file with -o FILE"));
    }
    // Create the file before reading: an existing file or an unwritable folder is noticed at once.
    let mut file = if path == Path::new("-") { None } else { Some(create(&path)?) };
    let bytes = make(args, shell, now)?;
    match file.as_mut() {
        Some(file) => file.write_all(&bytes).and_then(|()| file.as_file().sync_all()).map_err(|e| failed(&path, &e))?,
        None => shell.print_bytes(&bytes),
    }
    if let Some(file) = file {
        file.persist_noclobber(&path).map_err(|e| failed(&path, &e.error))?;
        shell.print(&format!("{}\n", path.display()));
        shell.hint(&format!("whoever gets it reads it with `flux-operator why --from {}`", path.display()));
    }
    Ok(Exit::Done)
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    let failed = CliError::failed(format!("cannot write {}", path.display())).caused_by(error);
    match error.kind() {
        std::io::ErrorKind::AlreadyExists => failed.hint("choose another name with -o FILE"),
        _ => failed,
    }
}

/// Creates a file that only its owner can read, beside the target; it replaces the target when complete, and is deleted
/// otherwise.
fn create(path: &Path) -> Result<tempfile::NamedTempFile, CliError> {
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(failed(path, &std::io::ErrorKind::AlreadyExists.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::NamedTempFile::new_in(folder).map_err(|e| failed(path, &e))
}

fn make(args: &Args, shell: &Shell, now: Timestamp) -> Result<Vec<u8>, CliError> {
    let salt = salt()?;
    let max_bytes = args.max_size as usize * (1 << 20);
    let bundle = match &args.redact {
        Some(path) => shell.run_on_one_thread(async {
            let dump = read_whole_dump(path, shell).await?;
            // In parallel, because a large dump takes seconds.
            shell.read_input("the dump", move || redact(of_dump(&dump), salt, max_bytes)).await
        })?,
        None => shell.run(async {
            let session = Session::open(shell).await?;
            // Check that the server answers; later failures are recorded in the bundle.
            let version = session.bounded("read the server's version", session.cluster.server_version()).await;
            version?;
            let mut progress = Progress::new(shell, args.progress.progress);
            let limits = BundleLimits { until: session.deadline.instant(), log_lines: args.log_lines };
            let gathered = gather(&session.cluster, limits, |what, done, of| {
                progress.redraw("bundle", &format!("{done} of {of}: {what}"));
            })
            .await;
            if gathered.listed.is_empty() && session.deadline.instant() <= Instant::now() {
                progress.clear();
                return Err(session.out_of_time("read anything for the bundle"));
            }
            progress.set(
                "bundle",
                LineState::Done,
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
        if !args.allow_unmasked && !shell.rehearses() {
            return Err(CliError::failed(format!("cannot mask all secrets, so nothing is written: {why}"))
                .hint("--allow-unmasked writes it all the same; look through it before you give it to someone"));
        }
        shell.warn(&format!("secrets may be left in the bundle: {why}"));
    }
    let files = bundle.files(CLIENT, now, views(&bundle, now)?);
    for unread in &bundle.unread {
        shell.warn(&format!("not in the bundle: {}: {}", unread.what, unread.why));
    }
    shell.status(&format!("✔ {}, {} values masked", objects(bundle.snapshot.all().count()), bundle.masked_values()));
    tarball::write_tarball(&files).map_err(|e| CliError::failed("cannot pack the bundle").caused_by(&e))
}

/// Creates a fresh random salt for each bundle; it is never stored.
fn salt() -> Result<Vec<u8>, CliError> {
    flux_operator::inspect::read::bundle::salt()
        .ok_or_else(|| CliError::failed("cannot make a salt: there are no random numbers"))
}

/// Formats the results of the read commands, for readers without this program.
fn views(bundle: &Bundle, now: Timestamp) -> Result<Vec<(String, String)>, CliError> {
    let snapshot = &bundle.snapshot;
    let instances = snapshot.list(&instance_type(), None);
    let namespace = instances.first().and_then(|instance| fields::namespace(instance));
    let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
    let known: Vec<String> = Distribution::embedded().versions().into_iter().map(|version| version.name).collect();
    let options = CheckOptions { pre: false, namespace, client: CLIENT, now, to: None, distribution: None };
    Ok(vec![
        view("status", &status(snapshot, namespace, CLIENT, &known, now).map_steps(|step| command(&step)))?,
        view("why", &overview(snapshot, None, now).map_steps(|step| command(&step)))?,
        view("check", &check(snapshot, options).map_steps(|step| sentence(&step)))?,
    ])
}

fn view(name: &str, value: &impl Serialize) -> Result<(String, String), CliError> {
    let text =
        json::to_string(value).map_err(|e| CliError::failed(format!("cannot write the view {name}")).caused_by(&e))?;
    Ok((name.to_owned(), text))
}
