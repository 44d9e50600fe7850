//! What the operator's Lease says: who holds it, and whether that one still renews it. Pure; taking it needs a cluster.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// How the lease identity of a run from a terminal begins.
pub const TERMINAL_IDENTITY_PREFIX: &str = "flux-operator-ctl/";

/// What client-go's leader election sets when a lease does not say how long it lasts.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// How far the clock of the holder may be off before a lease it renews looks expired.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Who holds a lease, by the identity that stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// An operator in (or beside) the cluster.
    Operator(String),
    /// A run from a terminal; it reconciles once and goes.
    Terminal(String),
}

/// A lease as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    pub holder: Holder,
    pub renewed: Option<Timestamp>,
    /// How long it lasts without a renewal.
    pub duration: Duration,
}

impl LeaseRecord {
    /// Reads a `coordination.k8s.io/v1` Lease.
    pub fn of(lease: &Value) -> Self {
        let spec = |member: &str| lease.get("spec").and_then(|spec| spec.get(member));
        let holder = match spec("holderIdentity").and_then(Value::as_str).unwrap_or_default() {
            "" => Holder::Nobody,
            name if name.starts_with(TERMINAL_IDENTITY_PREFIX) => Holder::Terminal(name.to_owned()),
            name => Holder::Operator(name.to_owned()),
        };
        let seconds = spec("leaseDurationSeconds").and_then(Value::as_u64);
        LeaseRecord {
            holder,
            renewed: spec("renewTime").and_then(Value::as_str).and_then(|text| text.parse().ok()),
            duration: seconds.map_or(DEFAULT_DURATION, Duration::from_secs),
        }
    }

    /// Whether its holder seems to be there: renewed within its duration, as far as two clocks can tell.
    ///
    /// Good enough to say who is there, never to take a lease over.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.holder != Holder::Nobody
            && self
                .renewed
                .is_some_and(|renewed| now.duration_since(renewed).unsigned_abs() <= self.duration + CLOCK_TOLERANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(holder: &str, renewed: &str) -> LeaseRecord {
        LeaseRecord::of(&json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}))
    }

    #[test]
    fn a_holder_is_an_operator_a_terminal_or_nobody() {
        assert_eq!(record("pod-abc_1", "").holder, Holder::Operator("pod-abc_1".into()));
        assert_eq!(record("flux-operator-ctl/host_7", "").holder, Holder::Terminal("flux-operator-ctl/host_7".into()));
        assert_eq!(record("", "").holder, Holder::Nobody);
        assert_eq!(LeaseRecord::of(&json!({})).duration, Duration::from_secs(15));
    }

    #[test]
    fn a_lease_is_fresh_while_it_is_renewed_on_either_clock() {
        let now = "2026-01-01T01:00:00Z".parse().unwrap();
        assert!(record("a", "2026-01-01T00:59:50.000000Z").is_fresh(now));
        assert!(record("a", "2026-01-01T01:00:40.000000Z").is_fresh(now), "a clock that is ahead");
        assert!(!record("a", "2026-01-01T00:58:00.000000Z").is_fresh(now));
        assert!(!record("a", "").is_fresh(now));
        assert!(!record("", "2026-01-01T00:59:50.000000Z").is_fresh(now));
    }
}
