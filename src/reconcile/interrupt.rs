//! Interrupts a run in an orderly way.

use tokio::sync::watch;

/// Why a run has to end early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// A new run of the same object was requested; `Kind/namespace/name` of the requester.
    Superseded(String),
    /// The run has to stop: Ctrl-C, a shutdown, the command's deadline.
    Stop(String),
}

/// The interrupts that end a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptPolicy {
    /// Only a stop: the run after this one serves a newer request.
    StopOnly,
    All,
}

impl InterruptPolicy {
    fn applies_to(self, asked: &Option<Interrupt>) -> bool {
        match asked {
            None => false,
            Some(Interrupt::Stop(_)) => true,
            Some(Interrupt::Superseded(_)) => self == InterruptPolicy::All,
        }
    }
}

/// Receiver of interrupts; the last one counts.
pub type Interrupts = watch::Receiver<Option<Interrupt>>;

/// Returns a sender and a receiver of interrupts.
pub fn channel() -> (watch::Sender<Option<Interrupt>>, Interrupts) {
    watch::channel(None)
}

/// Returns a receiver without any interrupts.
pub fn never() -> Interrupts {
    channel().1
}

/// Completes when the work has to end, and never without a sender. It checks every value, so a stop after a newer
/// request is noticed too.
pub async fn interrupted(interrupts: &Interrupts, policy: InterruptPolicy) -> Interrupt {
    let mut interrupts = interrupts.clone();
    if let Ok(asked) = interrupts.wait_for(|asked| policy.applies_to(asked)).await
        && let Some(interrupt) = asked.clone()
    {
        return interrupt;
    }
    std::future::pending().await
}

/// Returns the requested stop, if there is one.
pub(crate) fn requested_stop(interrupts: &Interrupts) -> Option<Interrupt> {
    interrupts.borrow().clone().filter(|asked| matches!(asked, Interrupt::Stop(_)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stop_only_wait_ignores_a_newer_request_and_ends_at_a_later_stop() {
        let (sender, interrupts) = channel();
        let newer = Interrupt::Superseded("FluxInstance/a/flux".into());
        let stop = Interrupt::Stop("shutdown".into());
        sender.send_replace(Some(newer.clone()));
        assert_eq!(interrupted(&interrupts, InterruptPolicy::All).await, newer);
        let short = tokio::spawn(async move { interrupted(&interrupts, InterruptPolicy::StopOnly).await });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!short.is_finished());
        sender.send_replace(Some(newer));
        sender.send_replace(Some(stop.clone()));
        assert_eq!(short.await.unwrap(), stop);
    }
}
