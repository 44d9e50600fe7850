//! The operator's Lease: its holder, and whether the holder still renews it. Pure; taking it needs a cluster.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

/// Prefix of the lease identity of a run from a terminal.
pub const TERMINAL_IDENTITY_PREFIX: &str = "flux-operator-ctl/";

/// client-go's default for a lease without a duration.
const DEFAULT_DURATION: Duration = Duration::from_secs(15);

/// Tolerance for the holder's clock before a renewed lease looks expired.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// The holder of a lease, by its recorded identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Vacant,
    /// An operator inside or outside the cluster.
    Operator(String),
    /// A run from a terminal, which reconciles once.
    Terminal(String),
}

impl Holder {
    /// Returns the identity; `None` if the lease is free.
    pub fn identity(&self) -> Option<&str> {
        match self {
            Holder::Vacant => None,
            Holder::Operator(identity) | Holder::Terminal(identity) => Some(identity),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.identity().unwrap_or("no holder"))
    }
}

/// Whether the holder of a lease is alive, judged by its last renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Renewed within its duration by our clock.
    Fresh,
    /// Renewed within its duration if the holder's clock is off by up to a minute. Only watching the lease can tell.
    Unclear,
    Expired,
}

/// A lease as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    pub holder: Holder,
    pub renewed: Option<Timestamp>,
    /// Lifetime without a renewal.
    pub duration: Duration,
}

impl LeaseRecord {
    /// Reads a `coordination.k8s.io/v1` Lease.
    pub fn of(lease: &Value) -> Self {
        let spec = |member: &str| lease.get("spec").and_then(|spec| spec.get(member));
        let holder = match spec("holderIdentity").and_then(Value::as_str).unwrap_or_default() {
            "" => Holder::Vacant,
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

    /// Returns whether the holder is alive. This is not sufficient to take a lease over, which requires watching it.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        let Some(renewed) = self.renewed.filter(|_| self.holder != Holder::Vacant) else { return Freshness::Expired };
        // Either clock may be ahead, so a renewal in the future also counts as recent.
        match now.duration_since(renewed).unsigned_abs() {
            age if age <= self.duration => Freshness::Fresh,
            age if age <= self.duration + CLOCK_TOLERANCE => Freshness::Unclear,
            _ => Freshness::Expired,
        }
    }

    /// Returns the time since which an operator could have taken the lease; `None` if an operator holds it, even if the
    /// lease has expired.
    pub fn free_since(&self) -> Option<Timestamp> {
        let renewed = self.renewed?;
        match self.holder {
            Holder::Vacant => Some(renewed),
            Holder::Terminal(_) => renewed.checked_add(self.duration).ok(),
            Holder::Operator(_) => None,
        }
    }

    /// Whether the holder seems to be alive, which is enough to report it.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.freshness(now) != Freshness::Expired
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
    fn a_holder_is_an_operator_or_a_terminal_or_missing() {
        assert_eq!(record("pod-abc_1", "").holder, Holder::Operator("pod-abc_1".into()));
        assert_eq!(record("flux-operator-ctl/host_7", "").holder, Holder::Terminal("flux-operator-ctl/host_7".into()));
        assert_eq!(record("", "").holder, Holder::Vacant);
        assert_eq!(LeaseRecord::of(&json!({})).duration, Duration::from_secs(15));
    }

    #[test]
    fn a_lease_is_fresh_while_it_is_renewed_on_either_clock() {
        let freshness =
            |holder: &str, renewed: &str| record(holder, renewed).freshness("2026-01-01T01:00:00Z".parse().unwrap());
        assert_eq!(freshness("a", "2026-01-01T00:59:50.000000Z"), Freshness::Fresh);
        assert_eq!(freshness("a", "2026-01-01T01:00:10.000000Z"), Freshness::Fresh, "a clock that is a little ahead");
        assert_eq!(freshness("a", "2026-01-01T01:00:40.000000Z"), Freshness::Unclear, "a clock that is ahead");
        assert_eq!(freshness("a", "2026-01-01T00:59:20.000000Z"), Freshness::Unclear, "a clock that is behind");
        assert_eq!(freshness("a", "2026-01-01T00:58:00.000000Z"), Freshness::Expired);
        assert_eq!(freshness("a", ""), Freshness::Expired);
        assert_eq!(freshness("", "2026-01-01T00:59:50.000000Z"), Freshness::Expired);
    }
}
