//! The shape of an explanation.

use serde::Serialize;

/// The explanation of a cause, a refusal, or the reason of a condition.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CauseText {
    /// The word that JSON output has: `cause.reason` of `why`, `category` of an error.
    pub cause: &'static str,
    pub title: &'static str,
    pub meaning: &'static str,
    /// How it comes about.
    pub origin: &'static str,
    /// How to tell it from similar causes.
    pub neighbours: &'static str,
    /// Commands that show more or mend it, in this order.
    pub commands: &'static [&'static str],
}
