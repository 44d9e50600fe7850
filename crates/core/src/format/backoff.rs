//! Pauses between attempts.

use std::time::Duration;

/// Pauses that double up to a maximum, without end.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    pub fn new(first: Duration, longest: Duration) -> Self {
        Backoff { next: first, longest }
    }

    /// Returns the next pause.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause.saturating_mul(2);
        pause
    }
}
