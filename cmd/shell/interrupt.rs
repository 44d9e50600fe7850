//! Ctrl-C and SIGTERM: the terminal is left intact, and the user hears what goes on without them.

use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use super::{CliError, Exit};

/// What goes on in the cluster when the command ends now, how to come back to it, and whether it may end now.
pub struct Interruption {
    note: Mutex<Option<Note>>,
    held: watch::Sender<bool>,
}

impl Default for Interruption {
    fn default() -> Self {
        Interruption { note: Mutex::default(), held: watch::Sender::new(false) }
    }
}

/// While it lives an interrupt waits: for the moments between two writes that belong together.
pub struct Held<'a>(&'a Interruption);

impl Drop for Held<'_> {
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
    /// Sets what an interrupt from now on says: `goes_on` completes "interrupted: …", `resume` is a command line.
    pub fn set(&self, goes_on: impl Into<String>, resume: Option<String>) {
        *self.note() = Some(Note { goes_on: goes_on.into(), resume });
    }

    /// A write is about to be sent: unless more is known, an interrupt no longer says that nothing was changed.
    pub fn writes(&self) {
        self.note().get_or_insert_with(|| Note {
            goes_on: "what was sent to the API server may have been carried out".to_owned(),
            resume: None,
        });
    }

    /// Lets no interrupt through until the result is dropped. Keep it short, and bounded.
    pub fn hold(&self) -> Held<'_> {
        self.held.send_replace(true);
        Held(self)
    }

    /// Resolves at the first Ctrl-C or SIGTERM, or when it is no longer held back.
    pub(super) async fn heard(&self) {
        interrupted().await;
        // The sender lives in self: waiting cannot fail.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    fn note(&self) -> MutexGuard<'_, Option<Note>> {
        self.note.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub fn error(&self) -> CliError {
        match self.note().clone() {
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

/// Resolves at the first Ctrl-C or SIGTERM.
pub async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler the signal ends the process as it always did.
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_says_what_goes_on_and_how_to_resume() {
        let interruption = Interruption::default();
        assert_eq!(interruption.error().exit(), Exit::Interrupted);
        interruption.set("the operator goes on", Some("flux-operator wait instance flux".into()));
        let text = interruption.error().text(false);
        assert_eq!(
            text,
            "error: interrupted: the operator goes on\nhint: follow it with `flux-operator wait instance flux`\n"
        );
    }

    #[test]
    fn after_the_first_write_nothing_says_that_nothing_was_changed() {
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
}
