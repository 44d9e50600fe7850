//! Reads causes from the messages of controllers. Each row of a table has a part of a message seen on a live cluster,
//! and its meaning.

use super::Reason;

type MessageRule = (&'static str, Reason, &'static str);

fn find(table: &'static [MessageRule], text: &str) -> Option<(Reason, &'static str)> {
    let text = text.to_lowercase();
    // The first matching row decides, so specific texts come before general ones.
    table.iter().find(|(part, _, _)| contains_part(&text, part)).map(|(_, reason, summary)| (*reason, *summary))
}

/// Whether a text contains a part; a status code has to stand alone, as ports and commits contain the same digits.
fn contains_part(text: &str, part: &str) -> bool {
    let is_code = part.bytes().all(|b| b.is_ascii_digit());
    let stands_alone = |at: usize| {
        let word = |c: char| c.is_ascii_alphanumeric();
        let (before, after) = (text.get(..at), text.get(at + part.len()..));
        !before.is_some_and(|t| t.ends_with(word)) && !after.is_some_and(|t| t.starts_with(word))
    };
    text.match_indices(part).any(|(at, _)| !is_code || stands_alone(at))
}

/// Reasons for which the API server, its storage or an admission plugin refuses an object.
const REFUSALS: &[MessageRule] = &[
    ("conversion webhook", Reason::WebhookRefused, "the conversion webhook of a CRD cannot be reached"),
    ("because it is being terminated", Reason::NamespaceTerminating, "the namespace is being deleted"),
    ("client rate limiter wait", Reason::Throttled, "the controller has reached its own request limit"),
    ("too many requests", Reason::Throttled, "the API server receives more requests than it can answer"),
    ("database space exceeded", Reason::StorageFull, "the storage of the API server (etcd) is full"),
    ("request entity too large", Reason::ObjectTooLarge, "an object is larger than the API server accepts"),
    ("must have at most 262144 bytes", Reason::ObjectTooLarge, "the annotations of an object are too large"),
    ("apply failed with", Reason::FieldConflict, "another field manager owns an applied field"),
    ("exceeded quota", Reason::QuotaExceeded, "a resource quota is used up"),
    ("failed quota", Reason::QuotaExceeded, "a resource quota requires requests or limits that are not set"),
    ("per container is", Reason::LimitExceeded, "the namespace's limit range refused the pod"),
    ("per pod is", Reason::LimitExceeded, "the namespace's limit range refused the pod"),
    (
        "error looking up service account",
        Reason::ServiceAccountMissing,
        "the service account of the pods does not exist",
    ),
    ("failed calling webhook", Reason::WebhookRefused, "an admission webhook cannot be reached"),
    ("admission webhook", Reason::WebhookRefused, "an admission webhook refused an object"),
    ("validatingadmissionpolicy", Reason::PolicyRefused, "an admission policy refused an object"),
    ("no matches for kind", Reason::DefinitionMissing, "the API server does not serve a kind at this version"),
    ("violates podsecurity", Reason::PolicyRefused, "the namespace's pod security level refused the pod"),
    ("field is immutable", Reason::ImmutableField, "a field cannot be changed on an existing object"),
    ("forbidden: user", Reason::Forbidden, "the reconciler lacks a right"),
    ("(forbidden)", Reason::Forbidden, "the API server refused an object"),
    ("is forbidden", Reason::Forbidden, "the API server refused an object"),
    ("(invalid)", Reason::ObjectInvalid, "the API server rejected an object as invalid"),
    ("is invalid:", Reason::ObjectInvalid, "the API server rejected an object as invalid"),
    (
        "failed to create typed patch",
        Reason::ObjectInvalid,
        "a field of an object has a different type than in its schema",
    ),
    ("namespace not specified", Reason::ObjectInvalid, "an object has no namespace"),
];

/// Failures of a Kustomization other than a refusal of its objects.
const KUSTOMIZATIONS: &[MessageRule] = &[
    ("cross-namespace references", Reason::AccessDenied, "references to other namespaces are disabled"),
    ("artifact not found", Reason::ArtifactUnavailable, "the source has no artifact"),
    (
        "failed to download archive",
        Reason::ArtifactUnavailable,
        "the artifact cannot be fetched from source-controller",
    ),
    ("failed to verify archive", Reason::ArtifactCorrupt, "the artifact does not match the digest of its source"),
    ("path not found", Reason::KustomizationFailed, "the path does not exist in the source"),
    ("decryption secret", Reason::DecryptionFailed, "the secret with the decryption keys does not exist"),
    ("sops data key", Reason::DecryptionFailed, "the keys of the Kustomization cannot decrypt a file"),
    ("failed to decrypt", Reason::DecryptionFailed, "a file cannot be decrypted"),
    ("substitute from", Reason::SubstitutionFailed, "a ConfigMap or Secret with variables does not exist"),
    ("variable not set", Reason::SubstitutionFailed, "a variable has no value"),
    ("envsubst error", Reason::SubstitutionFailed, "variables cannot be substituted"),
    ("variable substitution failed", Reason::SubstitutionFailed, "variables cannot be substituted"),
    ("post build failed", Reason::SubstitutionFailed, "variables cannot be substituted"),
    ("kubeconfig secret", Reason::SecretMissing, "the secret with the kubeconfig of the other cluster cannot be read"),
    ("malformedyaml", Reason::KustomizationFailed, "a file in the source is not valid YAML"),
    (
        "may not add resource with an already registered id",
        Reason::KustomizationFailed,
        "two files define the same object",
    ),
    ("no matches for id", Reason::KustomizationFailed, "a patch matches no object"),
    ("accumulating resources", Reason::KustomizationFailed, "a kustomization refers to a resource that cannot be read"),
    ("kustomize build failed", Reason::KustomizationFailed, "the manifests of the source cannot be built"),
    ("\"namespaces\" not found", Reason::NamespaceMissing, "the namespace of an object does not exist"),
    ("not found: namespaces \"", Reason::NamespaceMissing, "the namespace of an object does not exist"),
    ("timeout waiting for", Reason::HealthCheckFailed, "the applied objects do not become healthy"),
    ("failed early due to", Reason::HealthCheckFailed, "the applied objects do not become healthy"),
    ("health check failed", Reason::HealthCheckFailed, "the applied objects do not become healthy"),
    ("prune failed", Reason::PruneFailed, "an object that was removed from the source cannot be deleted"),
    ("delete failed", Reason::PruneFailed, "an object that was removed from the source cannot be deleted"),
];

/// Failures of a ResourceSet before a refusal of its objects.
const RESOURCE_SETS: &[MessageRule] = &[
    ("map has no entry for key", Reason::InputMissing, "a template uses a value that its input set does not have"),
    ("nil data; no entry for key", Reason::InputMissing, "a template uses a value outside of its inputs"),
    ("duplicate resource", Reason::ObjectCollision, "two steps render the same object"),
    ("failed to parse template", Reason::TemplateFailed, "a template cannot be parsed"),
    ("failed to execute template", Reason::TemplateFailed, "a template cannot be rendered"),
    ("failed to parse multi-doc", Reason::TemplateFailed, "a template cannot be parsed"),
    ("failed to execute multi-doc", Reason::TemplateFailed, "a template cannot be rendered"),
    ("failed to read object", Reason::TemplateFailed, "a template renders text that is not an object"),
    ("failed to parse the cel expression", Reason::ExpressionInvalid, "a readyExpr is not a valid expression"),
    ("failed to compute inputs", Reason::BuildFailed, "the inputs cannot be combined"),
    ("build failed", Reason::BuildFailed, "the objects cannot be built"),
];

/// Failures of a Helm release other than a refusal of its objects.
const RELEASES: &[MessageRule] = &[
    ("cross-namespace references", Reason::AccessDenied, "references to other namespaces are disabled"),
    ("chart values reference", Reason::ValuesMissing, "a ConfigMap or Secret with values cannot be read"),
    ("values don't meet the specifications", Reason::ValuesInvalid, "the values do not fit the schema of the chart"),
    ("unable to compose values", Reason::ValuesInvalid, "the values cannot be read"),
    ("kubeconfig secret", Reason::SecretMissing, "the secret with the kubeconfig of the other cluster cannot be read"),
    ("is in progress", Reason::HelmLocked, "an earlier action on the release never finished"),
    (
        "invalid ownership metadata",
        Reason::HelmOwnership,
        "an object of the chart already exists and is not part of this release",
    ),
    ("cannot re-use a name", Reason::HelmOwnership, "a release with this name already exists"),
    ("no deployed releases", Reason::HelmLocked, "no version of the release was ever deployed"),
    ("hooks failed", Reason::HelmHookFailed, "a hook of the chart fails"),
    ("failed pre-", Reason::HelmHookFailed, "a hook of the chart fails"),
    ("failed post-", Reason::HelmHookFailed, "a hook of the chart fails"),
    ("helm test failed", Reason::HelmTestFailed, "a test of the chart fails"),
    ("execution error at", Reason::ChartFailed, "a template of the chart fails on purpose"),
    ("error calling", Reason::ChartFailed, "a template of the chart cannot be rendered"),
    ("parse error at", Reason::ChartFailed, "a template of the chart cannot be read"),
    ("nil pointer evaluating", Reason::ChartFailed, "a template of the chart needs a value that is not set"),
    ("error converting yaml", Reason::ChartFailed, "a template of the chart does not render valid YAML"),
    ("kubeversion", Reason::ChartFailed, "the chart does not support this version of Kubernetes"),
    ("failed to download archive", Reason::ArtifactUnavailable, "the chart cannot be fetched from source-controller"),
    ("failed to load chart", Reason::ArtifactCorrupt, "the archive is not a Helm chart"),
    ("unable to load chart", Reason::ArtifactCorrupt, "the archive is not a Helm chart"),
    ("not ready. status", Reason::HealthCheckFailed, "the installed objects do not become healthy"),
    ("timed out waiting", Reason::HealthCheckFailed, "the installed objects do not become healthy"),
    ("context deadline exceeded", Reason::HealthCheckFailed, "the installed objects do not become healthy in time"),
    ("timeout waiting for", Reason::HealthCheckFailed, "the installed objects do not become healthy"),
    ("failed early due to", Reason::HealthCheckFailed, "the installed objects do not become healthy"),
];

/// Failures of a chart, which come before those of its repository.
const CHARTS: &[MessageRule] = &[
    ("invalid chart reference: stat", Reason::ChartNotFound, "the source has no chart at this path"),
    ("chart with version matching", Reason::ChartNotFound, "the repository has no such version of the chart"),
    ("no chart name found", Reason::ChartNotFound, "the repository has no chart with this name"),
    ("no chart version found", Reason::ChartNotFound, "the repository has no such version of the chart"),
    ("dependency build error", Reason::ChartNotFound, "a dependency of the chart cannot be fetched"),
    ("chart metadata", Reason::ArtifactCorrupt, "the archive is not a Helm chart"),
    ("missing chart.yaml", Reason::ArtifactCorrupt, "the archive is not a Helm chart"),
    ("chart.yaml file is missing", Reason::ArtifactCorrupt, "the archive is not a Helm chart"),
];

/// Failures of image scanning and image updates.
const IMAGES: &[MessageRule] = &[
    ("cannot determine latest tag", Reason::ImagePolicyUnmatched, "no tag of the image matches the policy"),
    ("version list argument cannot be empty", Reason::ImagePolicyUnmatched, "no tag of the image matches the policy"),
    ("unable to determine latest version", Reason::ImagePolicyUnmatched, "no tag of the image matches the policy"),
    ("has not been scanned", Reason::DependencyNotReady, "the ImageRepository has not been scanned yet"),
    ("hook declined", Reason::PushRejected, "the Git server rejects the push"),
    ("non-fast-forward", Reason::PushRejected, "the branch to push to has newer commits"),
    ("failed to push", Reason::PushRejected, "the changes cannot be pushed"),
];

/// Why a Kustomization failed, if the text says so.
pub(crate) fn kustomization_failure(text: &str) -> Option<(Reason, &'static str)> {
    // The text of a refusal may contain any words, so look for the failures before it first.
    find(KUSTOMIZATIONS, text).or_else(|| refusal(text))
}

/// Why a ResourceSet failed, if the text says so.
pub(crate) fn resource_set_failure(text: &str) -> Option<(Reason, &'static str)> {
    let lower = text.to_lowercase();
    let copies = ["failed to copy data from", "failed to get kubeconfig", "failed to resolve fluxcd.controlplane.io"];
    if lower.contains("not found") && copies.iter().any(|part| lower.contains(part)) {
        return Some((Reason::DependencyMissing, "an object to copy data from does not exist"));
    }
    find(RESOURCE_SETS, text).or_else(|| kustomization_failure(text))
}

/// Why a HelmRelease failed, if the text says so.
pub(crate) fn release_failure(text: &str) -> Option<(Reason, &'static str)> {
    find(RELEASES, text).or_else(|| refusal(text))
}

/// Why a chart cannot be fetched, if the text says so.
pub(crate) fn chart_failure(text: &str) -> Option<(Reason, &'static str)> {
    find(CHARTS, text).or_else(|| source_failure(text))
}

/// Why images cannot be followed, if the text says so.
pub(crate) fn image_failure(text: &str) -> Option<(Reason, &'static str)> {
    find(IMAGES, text).or_else(|| source_failure(text))
}

/// Returns why no node takes a pod, by the message of the scheduler.
pub(crate) fn unschedulable(text: &str) -> &'static str {
    const NODES: &[(&str, &str)] = &[
        ("insufficient cpu", "no node has the CPU that the pod requests"),
        ("insufficient memory", "no node has the memory that the pod requests"),
        ("insufficient ephemeral-storage", "no node has the disk that the pod requests"),
        ("too many pods", "every node runs its maximum number of pods"),
        ("untolerated taint", "every node has a taint that the pod does not tolerate"),
        ("volume node affinity", "the volume of the pod is on a node that cannot run the pod"),
        ("anti-affinity", "the pod's anti-affinity excludes every node"),
        ("topology spread", "no node meets the topology spread constraints of the pod"),
        ("didn't match pod's node affinity", "no node has the labels that the pod requires"),
    ];
    let text = text.to_lowercase();
    NODES.iter().find(|(part, _)| text.contains(part)).map_or("no node can run the pod", |(_, summary)| summary)
}

/// Returns why a container cannot be created, by the message of the kubelet.
pub(crate) fn container_config(text: &str) -> Option<(Reason, String)> {
    let lower = text.to_lowercase();
    let absent = |kind: &str| after(text, kind).filter(|_| lower.contains("not found"));
    if let Some(name) = absent("secret ") {
        return Some((Reason::SecretMissing, format!("the secret {name} that the pod needs does not exist")));
    }
    if let Some(name) = absent("configmap ") {
        return Some((Reason::ConfigMapMissing, format!("the ConfigMap {name} that the pod needs does not exist")));
    }
    if lower.contains("couldn't find key") {
        return Some((Reason::ContainerConfigError, "a key that the container needs does not exist".to_owned()));
    }
    if lower.contains("runasnonroot") {
        let summary = "the pod may not run as root, but its image does";
        return Some((Reason::ContainerConfigError, summary.to_owned()));
    }
    let starts = ["executable file not found", "no such file or directory", "exec format error"];
    if starts.iter().any(|part| lower.contains(part)) {
        return Some((Reason::ContainerConfigError, "the command of the container cannot be run".to_owned()));
    }
    None
}

/// An object that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedObject {
    pub kind: String,
    /// Empty for a cluster-scoped object.
    pub namespace: String,
    pub name: String,
}

/// Returns the objects that a text names as `Kind/namespace/name` or `Kind/name`, in order.
pub(crate) fn named_objects(text: &str) -> Vec<NamedObject> {
    let outside = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.' | ':' | '_'));
    let mut named: Vec<NamedObject> = vec![];
    for word in text.split(outside) {
        let parts: Vec<&str> = word.trim_end_matches([':', '.']).split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind, name] => (kind, "", name),
            [kind, namespace, name] => (kind, namespace, name),
            _ => continue,
        };
        let is_kind = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(char::is_alphanumeric);
        let object = NamedObject { kind: kind.into(), namespace: namespace.into(), name: name.into() };
        if is_kind && !name.is_empty() && !named.contains(&object) {
            named.push(object);
        }
    }
    named
}

/// The host of an address: `https://user@git.example.com:8443/x` is `git.example.com:8443`.
pub(crate) fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next()?;
    // The last `@` ends the credentials, which may contain another.
    authority.rsplit('@').next().filter(|host| !host.is_empty())
}

/// The quota, policy or webhook that refused an object, if the text says so.
pub(crate) fn refusal(text: &str) -> Option<(Reason, &'static str)> {
    find(REFUSALS, text)
}

/// Why a build of an instance failed.
pub(crate) fn build_failure(text: &str) -> (Reason, &'static str) {
    const BUILD: &[MessageRule] = &[
        // Errors of this program begin with the field, whatever the text of the patch contains.
        ("spec.kustomize", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("downgrad", Reason::BadVersionRange, "the version range requires a downgrade"),
        ("semver", Reason::BadVersionRange, "no Flux version matches the version range"),
        ("constraint", Reason::BadVersionRange, "the version range cannot be read"),
        ("version range", Reason::BadVersionRange, "no Flux version matches the version range"),
        ("no version", Reason::BadVersionRange, "no Flux version matches the version range"),
        ("patch", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("error in remove for path", Reason::PatchFailed, "a patch of the instance cannot be applied"),
        ("unexpected kind:", Reason::PatchFailed, "a patch of the instance cannot be applied"),
    ];
    find(BUILD, text).unwrap_or((Reason::BuildFailed, "the instance cannot be built"))
}

/// Why content could not be fetched: Git, OCI, Helm and buckets report in the words of their libraries.
pub(crate) fn source_failure(text: &str) -> Option<(Reason, &'static str)> {
    const SOURCES: &[MessageRule] = &[
        ("cross-namespace references", Reason::AccessDenied, "references to other namespaces are disabled"),
        ("no space left on device", Reason::StorageFull, "the storage of source-controller is full"),
        ("toomanyrequests", Reason::RateLimited, "the server received too many requests"),
        ("rate limit", Reason::RateLimited, "the server received too many requests"),
        ("429", Reason::RateLimited, "the server received too many requests"),
        ("proxyconnect", Reason::ProxyFailed, "the proxy cannot be reached"),
        ("url validation failed", Reason::UrlInvalid, "the address cannot be used"),
        ("no matching signatures", Reason::SignatureInvalid, "the fetched content lacks the required signature"),
        ("signature verification of", Reason::SignatureInvalid, "the fetched content lacks the required signature"),
        (
            "failed to verify the signature",
            Reason::SignatureInvalid,
            "the fetched content lacks the required signature",
        ),
        ("certificate has expired", Reason::CertificateExpired, "the server's certificate has expired"),
        ("failed to parse private key", Reason::SecretIncomplete, "the private key in the secret cannot be read"),
        ("required fields", Reason::SecretIncomplete, "the secret lacks fields"),
        (
            "no layer found with media type",
            Reason::SourceFailed,
            "the artifact has no layer with the requested media type",
        ),
        ("unexpected eof", Reason::SourceFailed, "the server ends its answer early"),
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
            "the server requires credentials, or rejects those it received",
        ),
        ("authorization failed", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("unable to authenticate", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("unauthorized", Reason::CredentialsRejected, "the server requires credentials, or rejects those it received"),
        ("permission denied", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("denied", Reason::CredentialsRejected, "the server refuses the credentials"),
        ("401", Reason::CredentialsRejected, "the server requires credentials, or rejects those it received"),
        ("403", Reason::CredentialsRejected, "the server refuses the credentials"),
        (
            "repository not found",
            Reason::SourceNotFound,
            "the repository does not exist, or the credentials have no access to it",
        ),
        ("couldn't find remote ref", Reason::SourceNotFound, "the branch or tag does not exist"),
        ("reference not found", Reason::SourceNotFound, "the branch or tag does not exist"),
        ("no match found for semver", Reason::SourceNotFound, "no tag matches the version range"),
        (
            "failed to get credential",
            Reason::CredentialsRejected,
            "the cloud provides no credentials for the controller's identity",
        ),
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

/// Whether a registry refused an image because of the credentials.
pub(crate) fn wants_credentials(text: &str) -> bool {
    let text = text.to_lowercase();
    ["unauthorized", "authentication required", "401", "403", "forbidden", "denied", "no basic auth credentials"]
        .iter()
        .any(|part| contains_part(&text, part))
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
    fn a_status_code_is_not_part_of_a_longer_number() {
        let absent = "unable to list remote for 'http://127.0.0.1:40325/absent.git': repository not found: ";
        assert_eq!(source_failure(absent).map(|(r, _)| r), Some(Reason::SourceNotFound));
        let refused = "failed to fetch https://charts.example.com/index.yaml : 403 Forbidden";
        assert_eq!(source_failure(refused).map(|(r, _)| r), Some(Reason::CredentialsRejected));
        assert!(!wants_credentials("pulling registry:4010/x@sha256:40114035: not found"));
        assert!(wants_credentials("unexpected status code 401: no"));
    }

    #[test]
    fn refusals_are_distinguished() {
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
    fn source_failures_explain_the_answer_of_the_server() {
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
    fn objects_are_found_in_the_words_of_the_controllers() {
        let named = |text: &str| -> Vec<String> {
            named_objects(text).iter().map(|o| format!("{} {} {}", o.kind, o.namespace, o.name)).collect()
        };
        let text = "health check failed after 30.04s: timeout waiting for: [Deployment/default/stuck status: 'InProgress', \
                    Job/a/b status: 'Failed']";
        assert_eq!(named(text), ["Deployment default stuck", "Job a b"]);
        assert_eq!(named("ClusterRole/system:view dry-run failed (Forbidden): no"), ["ClusterRole  system:view"]);
        assert!(named("GET https://x/y/z: install/upgrade/rollback").is_empty());
        assert_eq!(host("https://u:p@git.example.com:8443/x"), Some("git.example.com:8443"));
        assert_eq!(host("oci://ghcr.io/org/x"), Some("ghcr.io"));
    }

    #[test]
    fn the_word_after_a_phrase_ends_at_punctuation() {
        assert_eq!(after("exceeded quota: q, requested", "exceeded quota: "), Some("q"));
        assert_eq!(after("secrets \"absent\" not found", "secrets "), Some("absent"));
        assert_eq!(after("nothing", "secrets "), None);
    }
}
