//! Objects that a cause affects, in words.

use flux_operator::inspect::why::AffectedKind;

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
