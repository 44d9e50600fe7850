//! Formats objects that share a cause or a reason.

use flux_operator::inspect::diagnose::why::AffectedKind;

/// `2 Kustomizations and 1 Deployment`.
pub fn affected_kinds(kinds: &[AffectedKind]) -> String {
    let plural = |kind: &str| match kind {
        _ if kind.ends_with('y') => format!("{}ies", kind.trim_end_matches('y')),
        _ if kind.ends_with('s') => format!("{kind}es"),
        _ => format!("{kind}s"),
    };
    let counted = |one: &AffectedKind| match one.count {
        1 => format!("1 {}", one.kind),
        count => format!("{count} {}", plural(&one.kind)),
    };
    let mut counted: Vec<String> = kinds.iter().map(counted).collect();
    let last = counted.pop().unwrap_or_default();
    if counted.is_empty() { last } else { format!("{} and {last}", counted.join(", ")) }
}

/// Joins the names with the same reason, in the order in which each reason first occurs.
pub fn names_by_reason<'a, R: PartialEq>(rows: impl IntoIterator<Item = (&'a str, R)>) -> Vec<(String, R)> {
    let mut reported: Vec<(String, R)> = vec![];
    for (name, reason) in rows {
        match reported.iter_mut().find(|(_, other)| *other == reason) {
            Some((names, _)) => {
                names.push_str(", ");
                names.push_str(name);
            }
            None => reported.push((name.to_owned(), reason)),
        }
    }
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affected_kinds_are_counted_in_words() {
        let kind = |kind: &str, count: usize| AffectedKind { kind: kind.into(), count };
        assert_eq!(
            affected_kinds(&[kind("Kustomization", 2), kind("Deployment", 1)]),
            "2 Kustomizations and 1 Deployment"
        );
        assert_eq!(affected_kinds(&[kind("GitRepository", 2)]), "2 GitRepositories");
    }
}
