//! How long to wait before something is tried again.

use std::time::Duration;

/// Pauses that double up to a longest one, without end.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub fn new(first: Duration, longest: Duration) -> Self {
        Backoff { next: first, longest }
    }

    /// Returns the pause to make now.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause.saturating_mul(2);
        pause
    }
}
