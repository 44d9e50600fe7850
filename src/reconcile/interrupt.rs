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

/// Where a run hears of interrupts.
pub type Interrupts = watch::Receiver<Option<Interrupt>>;

/// Returns a sender of interrupts and where they are heard.
pub fn channel() -> (watch::Sender<Option<Interrupt>>, Interrupts) {
    watch::channel(None)
}

/// Returns a place where nothing is ever heard.
pub fn never() -> Interrupts {
    channel().1
}

/// Completes when the run is to end; never when nobody can ask any more.
pub async fn interrupted(interrupts: &mut Interrupts) -> Interrupt {
    if let Ok(asked) = interrupts.wait_for(Option::is_some).await
        && let Some(interrupt) = asked.clone()
    {
        return interrupt;
    }
    std::future::pending().await
}

/// Returns the stop that was asked for. A newer request for the same object is none: the run after this one serves it.
pub fn stop(interrupts: &Interrupts) -> Option<Interrupt> {
    interrupts.borrow().clone().filter(|asked| matches!(asked, Interrupt::Stop(_)))
}

/// Completes when the run is to stop; never when nobody can ask any more.
pub async fn stopped(interrupts: &mut Interrupts) -> Interrupt {
    let is_stop = |asked: &Option<Interrupt>| matches!(asked, Some(Interrupt::Stop(_)));
    if let Ok(asked) = interrupts.wait_for(is_stop).await
        && let Some(interrupt) = asked.clone()
    {
        return interrupt;
    }
    std::future::pending().await
}
