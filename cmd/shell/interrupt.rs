//! Ctrl-C and SIGTERM: the terminal is left intact, and the user hears what goes on without them.

use std::sync::Mutex;

use super::{CliError, Exit};

/// What goes on in the cluster when the command ends now, and how to come back to it.
#[derive(Default)]
pub struct Interruption(Mutex<Option<Note>>);

#[derive(Clone)]
struct Note {
    goes_on: String,
    resume: Option<String>,
}

impl Interruption {
    /// Sets what an interrupt from now on says: `goes_on` completes "interrupted: …", `resume` is a command line.
    pub fn set(&self, goes_on: impl Into<String>, resume: Option<String>) {
        let mut note = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *note = Some(Note { goes_on: goes_on.into(), resume });
    }

    pub fn error(&self) -> CliError {
        let note = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        match note {
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
}
