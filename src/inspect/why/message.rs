//! Reading causes out of the texts controllers leave: each row is a part of a text seen on a live cluster and what it means.

use super::Reason;

type Row = (&'static str, Reason, &'static str);

fn find(table: &'static [Row], text: &str) -> Option<(Reason, &'static str)> {
    let text = text.to_lowercase();
    table.iter().find(|(part, _, _)| says(&text, part)).map(|(_, reason, summary)| (*reason, *summary))
}

/// Whether a text contains a part; a status code has to stand alone, as ports and commits contain the same digits.
fn says(text: &str, part: &str) -> bool {
    let is_code = part.bytes().all(|b| b.is_ascii_digit());
    let stands_alone = |at: usize| {
        let word = |c: char| c.is_ascii_alphanumeric();
        let (before, after) = (text.get(..at), text.get(at + part.len()..));
        !before.is_some_and(|t| t.ends_with(word)) && !after.is_some_and(|t| t.starts_with(word))
    };
    text.match_indices(part).any(|(at, _)| !is_code || stands_alone(at))
}

/// Why the API server, an admission plugin or the scheduler's side did not take an object.
const REFUSALS: &[Row] = &[
    ("exceeded quota", Reason::QuotaExceeded, "a resource quota is used up"),
    ("failed quota", Reason::QuotaExceeded, "a resource quota demands requests or limits that are not set"),
    ("failed calling webhook", Reason::WebhookRefused, "an admission webhook cannot be reached"),
    ("admission webhook", Reason::WebhookRefused, "an admission webhook refused an object"),
    ("validatingadmissionpolicy", Reason::PolicyRefused, "an admission policy refused an object"),
    ("violates podsecurity", Reason::PolicyRefused, "the namespace's pod security level refused the pod"),
    ("forbidden: user", Reason::Forbidden, "the reconciler lacks a right"),
    ("(forbidden)", Reason::Forbidden, "the API server refused an object"),
    ("is forbidden", Reason::Forbidden, "the API server refused an object"),
    ("(invalid)", Reason::ObjectInvalid, "the API server found an object invalid"),
    ("field is immutable", Reason::ObjectInvalid, "a field cannot be changed on an existing object"),
    ("is invalid:", Reason::ObjectInvalid, "the API server found an object invalid"),
];

/// What refused an object, if the text says so.
pub(crate) fn refusal(text: &str) -> Option<(Reason, &'static str)> {
    find(REFUSALS, text)
}

/// Why a build of an instance failed.
pub(crate) fn build_failure(text: &str) -> (Reason, &'static str) {
    const BUILD: &[Row] = &[
        // Ours name the field first, whatever the patch itself says.
        ("spec.kustomize", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("downgrad", Reason::BadVersionRange, "the version range asks for a downgrade"),
        ("semver", Reason::BadVersionRange, "no Flux version fits the version range"),
        ("constraint", Reason::BadVersionRange, "the version range cannot be read"),
        ("version range", Reason::BadVersionRange, "no Flux version fits the version range"),
        ("no version", Reason::BadVersionRange, "no Flux version fits the version range"),
        ("patch", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("error in remove for path", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("unexpected kind:", Reason::PatchFailed, "a patch of the instance cannot be applied"),
    ];
    find(BUILD, text).unwrap_or((Reason::BuildFailed, "the instance cannot be built"))
}

/// Why content could not be fetched: Git, OCI, Helm and buckets report in the words of their libraries.
pub(crate) fn source_failure(text: &str) -> Option<(Reason, &'static str)> {
    const SOURCES: &[Row] = &[
        ("knownhosts:", Reason::HostKeyWrong, "the server's host key is not the one in known_hosts"),
        ("known_hosts", Reason::HostKeyWrong, "known_hosts lacks the server's host key"),
        ("host key", Reason::HostKeyWrong, "the server's host key is not the one in known_hosts"),
        ("\" not found", Reason::SecretMissing, "a secret the source refers to does not exist"),
        ("no such host", Reason::HostUnreachable, "the server's name cannot be resolved"),
        ("connection refused", Reason::HostUnreachable, "nothing listens at the server's address"),
        ("i/o timeout", Reason::HostUnreachable, "the server does not answer"),
        ("no route to host", Reason::HostUnreachable, "the server cannot be reached"),
        ("network is unreachable", Reason::HostUnreachable, "the server cannot be reached"),
        ("context deadline exceeded", Reason::HostUnreachable, "the server does not answer in time"),
        ("x509:", Reason::CertificateInvalid, "the server's certificate is not trusted"),
        ("tls:", Reason::CertificateInvalid, "the TLS handshake with the server fails"),
        (
            "authentication required",
            Reason::CredentialsRejected,
            "the server wants credentials, or refuses the ones it got",
        ),
        ("authorization failed", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("unable to authenticate", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("unauthorized", Reason::CredentialsRejected, "the server wants credentials, or refuses the ones it got"),
        ("permission denied", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("denied", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("401", Reason::CredentialsRejected, "the server wants credentials, or refuses the ones it got"),
        ("403", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("required fields", Reason::CredentialsRejected, "the secret lacks fields"),
        (
            "repository not found",
            Reason::SourceNotFound,
            "the repository does not exist, or the credentials may not see it",
        ),
        ("couldn't find remote ref", Reason::SourceNotFound, "the branch or tag does not exist"),
        ("reference not found", Reason::SourceNotFound, "the branch or tag does not exist"),
        ("no match found for semver", Reason::SourceNotFound, "no tag fits the version range"),
        ("manifest_unknown", Reason::SourceNotFound, "the tag or repository does not exist"),
        ("name_unknown", Reason::SourceNotFound, "the repository does not exist"),
        ("404", Reason::SourceNotFound, "the address does not exist"),
        ("not found", Reason::SourceNotFound, "the address does not exist"),
    ];
    // `secrets "x" not found` and `bucket 'x' not found` differ in what is missing.
    let found = find(SOURCES, text);
    match found {
        Some((Reason::SecretMissing, _)) if !text.contains("secret") => {
            Some((Reason::SourceNotFound, "something the source refers to does not exist"))
        }
        found => found,
    }
}

/// Why an image cannot be pulled, when the registry said that credentials are the matter.
pub(crate) fn wants_credentials(text: &str) -> bool {
    let text = text.to_lowercase();
    ["unauthorized", "authentication required", "401", "403", "forbidden", "denied", "no basic auth credentials"]
        .iter()
        .any(|part| says(&text, part))
}

/// The word that follows a phrase, up to a comma, blank, quote or colon.
pub(crate) fn after<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(phrase)?;
    let rest = rest.trim_start_matches(['"', '\'', '`']);
    rest.split([',', ' ', '"', '\'', '`', ':']).next().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_code_stands_alone() {
        let absent = "unable to list remote for 'http://127.0.0.1:40325/absent.git': repository not found: ";
        assert_eq!(source_failure(absent).map(|(r, _)| r), Some(Reason::SourceNotFound));
        let refused = "failed to fetch https://charts.example.com/index.yaml : 403 Forbidden";
        assert_eq!(source_failure(refused).map(|(r, _)| r), Some(Reason::CredentialsRejected));
        assert!(!wants_credentials("pulling registry:4010/x@sha256:40114035: not found"));
        assert!(wants_credentials("unexpected status code 401: no"));
    }

    #[test]
    fn refusals_are_told_apart() {
        let cases = [
            (r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1"#, Reason::QuotaExceeded),
            (r#"admission webhook "w.example.com" denied the request: no"#, Reason::WebhookRefused),
            (r#"failed calling webhook "w": Post "https://x": connection refused"#, Reason::WebhookRefused),
            ("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", Reason::PolicyRefused),
            (r#"pods "a" is forbidden: violates PodSecurity "restricted:latest""#, Reason::PolicyRefused),
            ("Deployment/a/b dry-run failed (Invalid): spec.replicas: Invalid value", Reason::ObjectInvalid),
        ];
        for (text, expected) in cases {
            assert_eq!(refusal(text).map(|(r, _)| r), Some(expected), "{text}");
        }
        assert_eq!(refusal("timeout waiting for: [Deployment/a/b]"), None);
    }

    #[test]
    fn build_failures_are_ranges_or_patches() {
        for text in [
            "build failed: no match found for semver: 2.99.x",
            "semver 'abc' parse error: improper constraint: \"abc\"",
            "downgrading from v2.7.3 to v2.6.4 is not supported, reinstall needed",
        ] {
            assert_eq!(build_failure(text).0, Reason::BadVersionRange, "{text}");
        }
        assert_eq!(build_failure("error in remove for path: '/x'").0, Reason::PatchFailed);
        assert_eq!(build_failure("no components defined").0, Reason::BuildFailed);
    }

    #[test]
    fn source_failures_say_what_is_wrong_at_the_other_end() {
        let cases = [
            (
                "failed to checkout and determine revision: unable to list remote for \
                 'ssh://git@127.0.0.1:12747/repo.git': ssh: handshake failed: knownhosts: key mismatch",
                Reason::HostKeyWrong,
            ),
            (
                "failed to checkout and determine revision: unable to list remote for \
                 'ssh://git@127.0.0.1:12747/repo.git': ssh: handshake failed: ssh: unable to authenticate, attempted \
                 methods [none publickey], no supported methods remain",
                Reason::CredentialsRejected,
            ),
            ("dial tcp: lookup nope: no such host", Reason::HostUnreachable),
            ("dial tcp 127.0.0.1:1: connect: connection refused", Reason::HostUnreachable),
            ("failed to get secret 't1/absent': secrets \"absent\" not found", Reason::SecretMissing),
            ("authentication required: no", Reason::CredentialsRejected),
            ("GET x: UNAUTHORIZED: authentication required", Reason::CredentialsRejected),
            ("couldn't find remote ref \"refs/heads/nope\"", Reason::SourceNotFound),
            ("repository not found: ", Reason::SourceNotFound),
            ("x509: certificate signed by unknown authority", Reason::CertificateInvalid),
        ];
        for (text, expected) in cases {
            assert_eq!(source_failure(text).map(|(r, _)| r), Some(expected), "{text}");
        }
        assert_eq!(source_failure("something else"), None);
    }

    #[test]
    fn the_word_after_a_phrase_ends_at_punctuation() {
        assert_eq!(after("exceeded quota: q, requested", "exceeded quota: "), Some("q"));
        assert_eq!(after("secrets \"absent\" not found", "secrets "), Some("absent"));
        assert_eq!(after("nothing", "secrets "), None);
    }
}
