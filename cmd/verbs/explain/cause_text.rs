//! The shape of an explanation.

use serde::Serialize;

/// The explanation of a cause, a refusal, or the reason of a condition.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CauseText {
    /// The word in JSON output: `cause.reason` of `why`, `category` of an error.
    pub cause: &'static str,
    pub title: &'static str,
    pub meaning: &'static str,
    /// How the problem arises.
    pub origin: &'static str,
    /// How to tell it from similar causes.
    pub similar: &'static str,
    /// Commands that show more or fix the problem, in this order.
    pub commands: &'static [&'static str],
}
