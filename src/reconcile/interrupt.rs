//! Asking a run to end early, in order.

use tokio::sync::watch;

/// Why a run is to end before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// Somebody asked for a new run of the same object; `Kind/namespace/name` of what asked.
    Superseded(String),
    /// Whoever started the run wants it to stop: Ctrl-C, a shutdown, the command's deadline.
    Stop(String),
}

/// Which interrupts end a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hear {
    /// Only a stop: a newer request for the same object is served by the run after this one.
    StopOnly,
    All,
}

impl Hear {
    fn heeds(self, asked: &Option<Interrupt>) -> bool {
        match asked {
            None => false,
            Some(Interrupt::Stop(_)) => true,
            Some(Interrupt::Superseded(_)) => self == Hear::All,
        }
    }
}

/// Where a run hears of interrupts; the last one that was asked for counts.
pub type Interrupts = watch::Receiver<Option<Interrupt>>;

/// Returns a sender of interrupts and where they are heard.
pub fn channel() -> (watch::Sender<Option<Interrupt>>, Interrupts) {
    watch::channel(None)
}

/// Returns a place where nothing is ever heard.
pub fn never() -> Interrupts {
    channel().1
}

/// Completes when the work is to end; never when nobody can ask any more. Every value is looked at as it comes: a stop
/// that follows a newer request is heard, too.
pub async fn interrupted(interrupts: &Interrupts, hear: Hear) -> Interrupt {
    let mut interrupts = interrupts.clone();
    if let Ok(asked) = interrupts.wait_for(|asked| hear.heeds(asked)).await
        && let Some(interrupt) = asked.clone()
    {
        return interrupt;
    }
    std::future::pending().await
}

/// Returns the stop that was asked for.
pub fn requested_stop(interrupts: &Interrupts) -> Option<Interrupt> {
    interrupts.borrow().clone().filter(|asked| matches!(asked, Interrupt::Stop(_)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_short_wait_hears_a_stop_after_a_newer_request_and_never_the_request() {
        let (sender, interrupts) = channel();
        let newer = Interrupt::Superseded("FluxInstance/a/flux".into());
        let stop = Interrupt::Stop("shutdown".into());
        sender.send_replace(Some(newer.clone()));
        assert_eq!(interrupted(&interrupts, Hear::All).await, newer);
        let short = tokio::spawn(async move { interrupted(&interrupts, Hear::StopOnly).await });
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!short.is_finished());
        sender.send_replace(Some(newer));
        sender.send_replace(Some(stop.clone()));
        assert_eq!(short.await.unwrap(), stop);
    }
}
