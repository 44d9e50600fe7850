//! Names, label keys and label values that the API server accepts.
//!
//! Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/> and
//! `labels/#syntax-and-character-set`, checked on Kubernetes 1.37.

/// Longest DNS label, label value, and name part of a label key.
pub(crate) const MAX_LABEL: usize = 63;
/// Longest DNS subdomain.
const MAX_SUBDOMAIN: usize = 253;

/// Whether a text is a DNS label: a namespace, a Service, a shard.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= MAX_LABEL && is_dns_part(text)
}

/// Whether a text is a DNS subdomain, as most object names are. Its parts may be longer than a DNS label.
pub(crate) fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_dns_part)
}

/// Whether a text is the key of a label or annotation: `[DNS subdomain/]name`.
pub(crate) fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_subdomain)
}

/// Whether a text is the value of a label, which may be empty.
pub(crate) fn is_label_value(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    text.is_empty()
        || (text.len() <= MAX_LABEL
            && text.starts_with(alphanumeric)
            && text.ends_with(alphanumeric)
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)))
}

fn is_dns_part(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_dns() {
        for good in ["a", "a-1", "0", "shard1", &"x".repeat(63)] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "ä", &"x".repeat(64)] {
            assert!(!is_dns_label(bad), "{bad}");
        }
        assert!(is_dns_subdomain("a.b-c.d") && is_dns_subdomain(&"x".repeat(253)));
        for bad in ["a..b", "a.", "", "A.b", "a.-b", &"x".repeat(254)] {
            assert!(!is_dns_subdomain(bad), "{bad}");
        }
    }

    #[test]
    fn keys_and_values_of_labels_are_distinguished_from_other_texts() {
        for good in ["a.b/C_d", "x", "sharding.fluxcd.io/key", &"x".repeat(63)] {
            assert!(is_label_key(good), "{good}");
        }
        for bad in ["", "/x", "a/b/c", "a/", "A.b/c", "-x", "x.", &"x".repeat(64)] {
            assert!(!is_label_key(bad), "{bad}");
        }
        for good in ["", "a", "A_b-c.9", &"x".repeat(63)] {
            assert!(is_label_value(good), "{good}");
        }
        for bad in ["-a", "a.", "a b", "a/b", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }
}
