//! `resource.Quantity`: `500m` and `0.5` are equal.

use serde_json::Value;

/// An amount of a resource. Two quantities are equal if the API server formats them the same way. It does not convert
/// between binary and decimal suffixes, so `1048576k` and `1000Mi` differ.
/// (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/>, checked on Kubernetes 1.37.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// In billionths, the smallest unit that the API server stores.
    nanos: i128,
    /// Whether the suffix is `Ki`, `Mi` and so on.
    binary: bool,
}

const ONE: i128 = 1_000_000_000;

impl Quantity {
    /// Parses a quantity. Returns `None` for a text that is not a quantity, has an exponent, or is too precise or too
    /// large to be stored unchanged.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        let (factor, binary) = match suffix {
            "n" => (1, false),
            "u" => (1_000, false),
            "m" => (1_000_000, false),
            "" => (ONE, false),
            "k" => (ONE * 1_000, false),
            "M" => (ONE * 1_000_000, false),
            "G" => (ONE * 1_000_000_000, false),
            "T" => (ONE * 1_000_000_000_000, false),
            "P" => (ONE * 1_000_000_000_000_000, false),
            "Ki" => (ONE << 10, true),
            "Mi" => (ONE << 20, true),
            "Gi" => (ONE << 30, true),
            "Ti" => (ONE << 40, true),
            "Pi" => (ONE << 50, true),
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut nanos = whole.checked_mul(factor)?;
        if !fraction.is_empty() {
            let scale = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let part = fraction.parse::<i128>().ok()?.checked_mul(factor)?;
            if part % scale != 0 {
                return None;
            }
            nanos = nanos.checked_add(part / scale)?;
        }
        // The API server writes amounts below 1024 in powers of ten, regardless of their original form.
        Some(Quantity { nanos, binary: binary && nanos >= 1024 * ONE })
    }

    /// Returns this amount as a percentage of `whole`, rounded down; `None` if `whole` is zero.
    pub fn percent_of(self, whole: Quantity) -> Option<i128> {
        self.nanos.checked_mul(100)?.checked_div(whole.nanos)
    }

    /// Reads a quantity from a manifest, where it may be a number.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }
}

/// Whether a field holds a quantity, by its name and the name of its parent.
pub fn is_quantity_field(key: &str, parent: Option<&str>) -> bool {
    matches!(parent, Some("limits" | "requests" | "hard" | "capacity")) || matches!(key, "sizeLimit" | "divisor")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_quantities_are_computed_across_units() {
        let share = |part: &str, whole: &str| Quantity::parse(part)?.percent_of(Quantity::parse(whole)?);
        assert_eq!(share("998123456n", "1"), Some(99));
        assert_eq!(share("250m", "0.5"), Some(50));
        assert_eq!(share("2", "1000m"), Some(200));
        assert_eq!(share("1", "0"), None);
    }

    #[test]
    fn spellings_that_the_api_server_stores_alike_are_equal() {
        for (left, right) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1Gi", "1024Mi"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "0.5Mi"),
        ] {
            assert_eq!(Quantity::parse(left).unwrap(), Quantity::parse(right).unwrap(), "{left} {right}");
        }
        assert_eq!(Quantity::of(&1.into()), Quantity::parse("1"));
        assert_eq!(Quantity::parse("0Mi"), Quantity::parse("0"));
        assert_eq!(Quantity::parse("100u"), Quantity::parse("0.1m"));
    }

    #[test]
    fn quantities_that_the_api_server_stores_differently_are_not_equal() {
        for (left, right) in [("1", "2"), ("1Gi", "1G"), ("1048576000", "1000Mi"), ("1m", "1")] {
            assert_ne!(Quantity::parse(left), Quantity::parse(right), "{left} {right}");
        }
    }

    #[test]
    fn invalid_and_rounded_quantities_are_not_read() {
        for text in ["", ".", "abc", "1e3", "-1", "1 Gi", "1.0000000001", "99999999999999999999999999999999P"] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }
}
