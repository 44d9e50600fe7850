//! Ctrl-C, SIGTERM and SIGHUP: restores the terminal and tells the user which work continues in the cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use crate::terminal::{CliError, Exit};

/// The work that continues in the cluster if the command ends now, how to resume it, and whether the command may end
/// now.
pub struct Interruption {
    note: Mutex<Option<Note>>,
    has_written: AtomicBool,
    held: watch::Sender<bool>,
}

impl Default for Interruption {
    fn default() -> Self {
        Interruption { note: Mutex::default(), has_written: AtomicBool::default(), held: watch::Sender::new(false) }
    }
}

/// Delays interrupts while it exists, between two writes that belong together.
pub struct InterruptGuard<'a>(&'a Interruption);

impl Drop for InterruptGuard<'_> {
    fn drop(&mut self) {
        self.0.held.send_replace(false);
    }
}

#[derive(Clone)]
struct Note {
    goes_on: String,
    resume: Option<String>,
}

impl Interruption {
    /// Sets the message of later interrupts: `goes_on` completes "interrupted: …", `resume` is a command line.
    pub fn set(&self, goes_on: impl Into<String>, resume: Option<String>) {
        *self.note() = Some(Note { goes_on: goes_on.into(), resume });
    }

    /// Marks the command as read-only: an interrupt is its normal end and needs no message.
    pub fn mark_read_only(&self) {
        *self.note() = Some(Note { goes_on: String::new(), resume: None });
    }

    /// Notes a write or a file change. From now on, the message for an interrupt no longer claims that nothing was
    /// changed.
    pub fn writes(&self) {
        self.has_written.store(true, Ordering::Relaxed);
        self.note().get_or_insert_with(|| Note {
            goes_on: "requests that were sent may have been carried out".to_owned(),
            resume: None,
        });
    }

    /// Reports whether a write was sent; those of a lease and dry runs do not count.
    pub fn has_written(&self) -> bool {
        self.has_written.load(Ordering::Relaxed)
    }

    /// Delays interrupts until the result is dropped. Keep it short and limited.
    pub fn hold(&self) -> InterruptGuard<'_> {
        self.held.send_replace(true);
        InterruptGuard(self)
    }

    /// Resolves at the first Ctrl-C, SIGTERM or SIGHUP; if interrupts are delayed then, as soon as they are not.
    pub(super) async fn received(&self) {
        // A signal during a delay is not lost: the command ends when the delay ends.
        interrupted().await;
        // Waiting cannot fail, because `self` owns the sender.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    fn note(&self) -> MutexGuard<'_, Option<Note>> {
        self.note.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn error(&self) -> CliError {
        match self.note().clone() {
            Some(Note { goes_on, .. }) if goes_on.is_empty() => CliError::silent(Exit::Interrupted),
            Some(Note { goes_on, resume }) => {
                let error = CliError::new(Exit::Interrupted, format!("interrupted: {goes_on}"));
                match resume {
                    Some(command) => error.hint(format!("follow it with `{command}`")),
                    None => error,
                }
            }
            None => CliError::new(Exit::Interrupted, "interrupted: nothing was changed"),
        }
    }
}

/// Resolves at the first Ctrl-C, SIGTERM or SIGHUP. SIGHUP is included, so that a closed terminal ends a run
/// gracefully.
pub async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let is_sighup_ignored = is_sighup_ignored();
        if let (Ok(mut terminate), Ok(mut hang_up)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv(), if !is_sighup_ignored => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler the signal ends the process as usual.
        std::future::pending::<()>().await;
    }
}

/// Whether the process was started with SIGHUP ignored, as by `nohup`, to outlive its terminal. A signal handler would
/// change that, so this is checked before a handler is installed; `false` if it cannot be checked.
#[cfg(unix)]
fn is_sighup_ignored() -> bool {
    static IGNORED: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        ignores_hang_up(&status)
    });
    *IGNORED
}

/// Parses the mask of ignored signals; SIGHUP is number 1.
#[cfg(unix)]
fn ignores_hang_up(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_interrupt_names_the_continuing_work_and_how_to_resume() {
        let interruption = Interruption::default();
        assert_eq!(interruption.error().exit(), Exit::Interrupted);
        interruption.set("the operator continues", Some("flux-operator wait instance flux".into()));
        let text = interruption.error().text(false);
        insta::assert_snapshot!(text, @r"
        error: interrupted: the operator continues
        hint: follow it with `flux-operator wait instance flux`
        ");
    }

    #[test]
    fn after_the_first_write_no_message_claims_that_nothing_was_changed() {
        let interruption = Interruption::default();
        assert!(interruption.error().text(false).contains("nothing was changed"));
        interruption.writes();
        assert!(interruption.error().text(false).contains("may have been carried out"));
        interruption.set("2 of 3 requests are answered", None);
        interruption.writes();
        assert!(interruption.error().text(false).contains("2 of 3"), "what is known better stays");
    }

    #[tokio::test]
    async fn a_held_interrupt_waits_for_its_release() {
        let interruption = Interruption::default();
        let mut held = interruption.held.subscribe();
        let guard = interruption.hold();
        assert!(*held.borrow_and_update());
        drop(guard);
        assert!(held.wait_for(|held| !held).await.is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_process_under_nohup_is_distinguished_from_others() {
        assert!(ignores_hang_up("Name:\tx\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hang_up("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hang_up(""));
    }
}
