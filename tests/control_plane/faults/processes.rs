//! Processes that end early: killed at any moment, or asked to stop by Ctrl-C in each stage. The next run completes the work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::matrix::{differences, edit};
use super::site::{Site, instance, spec};
use crate::support::{Fallible, Fault, FaultRule, SavedState, eventually};

const SOON: Duration = Duration::from_secs(60);
/// Added to each request, so that a process does not end between being seen and being killed.
const SLOWLY: Duration = Duration::from_millis(10);

/// The work of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    Install,
    /// A component less, and a Deployment that somebody else edited.
    Change,
    Correct,
    Uninstall,
}

impl Work {
    pub const ALL: [Work; 4] = [Work::Install, Work::Change, Work::Correct, Work::Uninstall];

    fn arguments(self) -> &'static str {
        match self {
            Work::Install => "apply instance -f both.yaml --in-process",
            Work::Change => "apply instance -f one.yaml --in-process",
            Work::Correct => "reconcile instance --in-process",
            Work::Uninstall => "uninstall instance --in-process --yes",
        }
    }
}

/// A site where the built binary works, and what comes of its work undisturbed.
pub struct Workshop {
    pub site: Site,
    binary: PathBuf,
    folder: tempfile::TempDir,
    /// The state before each work.
    starts: BTreeMap<Work, SavedState>,
    ends: BTreeMap<Work, BTreeMap<String, Value>>,
    /// Requests of each undisturbed work.
    requests: BTreeMap<Work, usize>,
}

impl Workshop {
    pub async fn open(binary: &Path) -> Fallible<Workshop> {
        let site = Site::start().await?;
        let folder = tempfile::tempdir()?;
        let both = instance(&spec(&["source-controller", "kustomize-controller"]));
        std::fs::write(folder.path().join("both.yaml"), both.to_string())?;
        std::fs::write(folder.path().join("one.yaml"), instance(&spec(&["source-controller"])).to_string())?;
        let (starts, ends, requests) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut workshop = Workshop { site, binary: binary.to_owned(), folder, starts, ends, requests };
        for work in Work::ALL {
            if matches!(work, Work::Change | Work::Correct) {
                edit(&workshop.site).await;
            }
            workshop.starts.insert(work, workshop.site.plane.save().await?);
            let before = workshop.site.proxy.requests().len();
            workshop.complete(work).await?;
            workshop.requests.insert(work, workshop.site.proxy.requests().len() - before);
            let end = workshop.site.snapshot().await;
            workshop.ends.insert(work, end);
        }
        Ok(workshop)
    }

    /// Makes the cluster what it is before the work begins.
    pub async fn lead_up_to(&mut self, work: Work) -> Fallible<()> {
        self.site.put_back(self.starts.get_mut(&work).ok_or("this work was never done")?).await
    }

    pub fn start(&self, work: Work, more: &str) -> Fallible<Child> {
        let mut command = Command::new(&self.binary);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TZ", "UTC")
            .env("NO_COLOR", "1");
        command.env("HOME", self.folder.path()).env("KUBECONFIG", self.site.proxy.kubeconfig().path());
        command.current_dir(self.folder.path()).args(work.arguments().split_whitespace()).args(more.split_whitespace());
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// Does the work to its end.
    pub async fn complete(&self, work: Work) -> Fallible<()> {
        let output = ended(self.start(work, "")?).await?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{work:?}: {}: {}", output.status, stderr_of(&output)).into())
        }
    }

    /// Completes work that was cut short, and compares the result with that of undisturbed work.
    pub async fn complete_and_compare(&self, work: Work) -> Result<(), String> {
        self.site.proxy.clear_rules();
        let output = self
            .start(work, "")
            .map(ended)
            .map_err(|error| error.to_string())?
            .await
            .map_err(|error| error.to_string())?;
        // An uninstall that was cut off after its last step has nothing left to find: no instance, and mostly no Flux.
        let nothing_left = work == Work::Uninstall && matches!(output.status.code(), Some(3 | 4));
        if !output.status.success() && !nothing_left {
            return Err(format!("the next run failed: {}: {}", output.status, stderr_of(&output)));
        }
        let differences = differences(self.ends.get(&work), &self.site.snapshot().await);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    }

    /// Starts the work, kills it once the API server has been asked `number` times, and has it completed.
    pub async fn kill_after(&self, work: Work, number: usize) -> Result<(), String> {
        self.site.proxy.add_rule(FaultRule::every(Fault::Delay(SLOWLY)));
        let before = self.site.proxy.requests().len();
        let mut child = self.start(work, "").map_err(|error| error.to_string())?;
        // How many requests it takes differs by a few; a process that needs fewer ends by itself.
        eventually("the request", SOON, || {
            let over =
                self.site.proxy.requests().len() >= before + number || child.try_wait().is_ok_and(|e| e.is_some());
            async move { over.then_some(()) }
        })
        .await
        .map_err(|error| error.to_string())?;
        child.kill().map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())?;
        self.complete_and_compare(work).await
    }

    pub fn requests(&self, work: Work) -> usize {
        self.requests.get(&work).copied().unwrap_or(1)
    }
}

pub async fn ended(child: Child) -> Fallible<Output> {
    Ok(tokio::task::spawn_blocking(move || child.wait_with_output()).await??)
}

pub fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Kills a process at `moments` moments that `seed` picks, on `workers` clusters side by side; returns what went wrong.
///
/// # Errors
/// A cluster does not start, or undisturbed work fails.
pub async fn killed(
    binary: &Path,
    moments: usize,
    seed: u64,
    workers: usize,
    progress: fn(&str),
) -> Fallible<Vec<String>> {
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..workers {
        let binary = binary.to_owned();
        tasks.spawn(async move {
            let mut workshop = Workshop::open(&binary).await?;
            let mut failures = vec![];
            for moment in (0..moments).filter(|moment| moment % workers == worker) {
                let Some(work) = Work::ALL.into_iter().nth(moment % Work::ALL.len()) else { continue };
                let number = 1 + picked(seed, moment) % workshop.requests(work);
                workshop.lead_up_to(work).await?;
                let result = workshop.kill_after(work, number).await;
                let what =
                    format!("moment {moment}: {work:?} killed at request {number} of {}", workshop.requests(work));
                progress(&format!("{what}: {result:?}"));
                failures.extend(result.err().map(|error| format!("{what}: {error}")));
            }
            Fallible::Ok(failures)
        });
    }
    let mut failures = vec![];
    while let Some(ended) = tasks.join_next().await {
        failures.extend(ended??);
    }
    Ok(failures)
}

/// A number for each moment, the same for the same seed (the finalizer of SplitMix64).
fn picked(seed: u64, moment: usize) -> usize {
    let mut z = seed.wrapping_add((moment as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) >> 1).unwrap_or_default()
}
