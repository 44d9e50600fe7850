//! The grammar of references: `[oci://][host[:port]/]repository[:tag][@digest]`.
//!
//! Source: <https://github.com/distribution/reference/blob/v0.6.0/reference.go>, and Docker's rule for short names: a
//! first part without dot and port that is not `localhost` is not a host, and the image is on Docker Hub.

use std::fmt;
use std::str::FromStr;

use super::Digest;

/// Docker Hub in references; its API has another name.
const DOCKER_HUB: &str = "docker.io";
/// Longest name of a repository, host included.
const MAX_NAME_LENGTH: usize = 255;
const MAX_TAG_LENGTH: usize = 128;

/// A repository in a registry, with blobs and manifests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    registry: String,
    path: String,
}

/// A manifest in a repository, by tag, digest or both; the digest takes precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    pub repository: Repository,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a text is not a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a reference to an artifact: {problem}")]
pub struct ReferenceError {
    text: String,
    problem: String,
}

impl Repository {
    /// `host[:port]` as written; `docker.io` for Docker Hub.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name within the registry: `fluxcd/source-controller`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// `host[:port]` that answers the registry's API.
    pub(super) fn authority(&self) -> &str {
        if self.registry == DOCKER_HUB { "registry-1.docker.io" } else { &self.registry }
    }

    /// Returns the repository of the same path below `prefix`, which is `host[:port][/path]`.
    ///
    /// # Errors
    /// The result is not a valid repository.
    pub fn below(prefix: &str, path: &str) -> Result<Repository, ReferenceError> {
        let text = format!("{}/{path}", prefix.trim_end_matches('/'));
        let reference: Reference = text.parse()?;
        match reference {
            Reference { repository, tag: None, digest: None } => Ok(repository),
            _ => Err(ReferenceError { text, problem: "a registry has no tag and no digest".to_owned() }),
        }
    }

    pub fn with_tag(&self, tag: &str) -> Result<Reference, ReferenceError> {
        format!("{self}:{tag}").parse()
    }

    pub fn with_digest(&self, digest: Digest) -> Reference {
        Reference { repository: self.clone(), tag: None, digest: Some(digest) }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

impl FromStr for Repository {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        match text.parse()? {
            Reference { repository, tag: None, digest: None } => Ok(repository),
            _ => Err(ReferenceError { text: text.to_owned(), problem: "a repository has no tag and no digest".into() }),
        }
    }
}

impl Reference {
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The requested name: the digest, else the tag, else `latest`.
    pub fn name(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }

    /// The same tag, pinned to a digest.
    pub fn at(&self, digest: Digest) -> Reference {
        Reference { digest: Some(digest), ..self.clone() }
    }

    /// With `oci://` in front.
    pub fn url(&self) -> String {
        format!("oci://{self}")
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        match (&self.tag, &self.digest) {
            (None, None) => f.write_str(":latest"),
            (tag, digest) => {
                tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
                digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
            }
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // Before a host, an `@` ends credentials, which the error must not repeat.
        if let Some((_, host)) = text.split_once('@').filter(|(_, rest)| rest.contains('/')) {
            let problem = "a reference must not contain credentials".to_owned();
            return Err(ReferenceError { text: format!("…@{host}"), problem });
        }
        parse(text).map_err(|problem| ReferenceError { text: text.chars().take(300).collect(), problem })
    }
}

fn parse(text: &str) -> Result<Reference, String> {
    let rest = text.strip_prefix("oci://").unwrap_or(text);
    if let Some((scheme, _)) = rest.split_once("://") {
        return Err(format!("it starts with {scheme}://, not oci://"));
    }
    let (rest, digest) = match rest.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest.parse::<Digest>().map_err(|error| error.to_string())?)),
        None => (rest, None),
    };
    // A colon after the last slash starts the tag; one before it starts the port.
    let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match rest.get(name_start..).and_then(|last| last.rsplit_once(':')) {
        // In `oci://host:5000` the colon cannot start a tag, because a repository has to follow.
        Some((_, tag)) if name_start > 0 || !text.starts_with("oci://") => {
            (rest.strip_suffix(tag).and_then(|r| r.strip_suffix(':')).unwrap_or(rest), Some(tag))
        }
        _ => (rest, None),
    };
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!("`{tag}` is not a tag (letters, digits, `_`, `.` and `-`, at most 128 of them)"));
    }
    let is_host = |part: &str| part.contains(['.', ':']) || part == "localhost";
    let (registry, path) = match name.split_once('/') {
        Some((first, path)) if is_host(first) => (first.to_ascii_lowercase(), path.to_owned()),
        _ if is_host(name) && text.starts_with("oci://") => return Err("the repository is missing".to_owned()),
        Some(_) => (DOCKER_HUB.to_owned(), name.to_owned()),
        // Docker's own images have no owner; the registry keeps them under `library`.
        None => (DOCKER_HUB.to_owned(), format!("library/{name}")),
    };
    let (registry, path) = match registry.as_str() {
        // The three names of Docker Hub become one, so that credentials and mounts find each other.
        "index.docker.io" | "registry-1.docker.io" | DOCKER_HUB if !path.contains('/') => {
            (DOCKER_HUB.to_owned(), format!("library/{path}"))
        }
        "index.docker.io" | "registry-1.docker.io" => (DOCKER_HUB.to_owned(), path),
        _ => (registry, path),
    };
    check_host(&registry)?;
    if let Some(part) = path.split('/').find(|part| !is_path_part(part)) {
        return Err(match part {
            "" => "a part of the repository is empty".to_owned(),
            part => format!(
                "`{part}` is not a part of a repository (lower-case letters and digits, single `.`, `_` or `-` between them)"
            ),
        });
    }
    if registry.len() + path.len() > MAX_NAME_LENGTH {
        return Err(format!("the name is longer than {MAX_NAME_LENGTH} characters"));
    }
    Ok(Reference { repository: Repository { registry, path }, tag: tag.map(str::to_owned), digest })
}

fn check_host(text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is not host or host:port");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or_else(wrong)?;
            address.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
            (None, if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or_else(wrong)?) })
        }
        None => match text.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(text), None),
        },
    };
    let is_label = |label: &str| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_host = host.is_none_or(|host| host.split('.').all(is_label));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0) && !port.starts_with('+'));
    if is_host && is_port { Ok(()) } else { Err(wrong()) }
}

fn is_tag(text: &str) -> bool {
    let first = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let other = |b: u8| first(b) || matches!(b, b'.' | b'-');
    text.len() <= MAX_TAG_LENGTH && text.bytes().next().is_some_and(first) && text.bytes().all(other)
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn is_path_part(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_separator = |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|b| b == b'-');
    let begins_and_ends = text.bytes().next().is_some_and(word) && text.bytes().last().is_some_and(word);
    let separators = text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()).filter(|s| !s.is_empty());
    begins_and_ends && separators.into_iter().all(is_separator)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn parts(text: &str) -> (String, String, Option<String>, bool) {
        let reference: Reference = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let Reference { repository, tag, digest } = reference;
        (repository.registry, repository.path, tag, digest.is_some())
    }

    #[test]
    fn references_have_a_registry_a_repository_and_a_name() {
        for (text, registry, path, tag) in [
            ("oci://ghcr.io/fluxcd/source-controller:v1.6.2", "ghcr.io", "fluxcd/source-controller", Some("v1.6.2")),
            ("ghcr.io/a/b", "ghcr.io", "a/b", None),
            ("oci://localhost:5000/a", "localhost:5000", "a", None),
            ("oci://127.0.0.1:5000/a/b-c__d.e:1_2", "127.0.0.1:5000", "a/b-c__d.e", Some("1_2")),
            ("[::1]:5000/a:x", "[::1]:5000", "a", Some("x")),
            ("oci://[2001:db8::1]/a", "[2001:db8::1]", "a", None),
            ("alpine:3", "docker.io", "library/alpine", Some("3")),
            ("fluxcd/flux-cli", "docker.io", "fluxcd/flux-cli", None),
            ("oci://docker.io/alpine", "docker.io", "library/alpine", None),
            ("index.docker.io/a/b", "docker.io", "a/b", None),
            ("Registry.Example.com/a", "registry.example.com", "a", None),
        ] {
            let expected = (registry.to_owned(), path.to_owned(), tag.map(str::to_owned), false);
            assert_eq!(parts(text), expected, "{text}");
            let (registry, path, tag, _) = expected;
            assert_eq!(parts(&format!("{text}@{DIGEST}")), (registry, path, tag, true), "{text}@digest");
        }
    }

    #[test]
    fn invalid_references_are_refused_with_the_reason() {
        for (text, reason) in [
            ("", "empty"),
            ("https://ghcr.io/a", "https://, not oci://"),
            ("oci://ghcr.io", "the repository is missing"),
            ("oci://ghcr.io/", "empty"),
            ("oci://ghcr.io/a//b", "empty"),
            ("oci://ghcr.io/A", "`A` is not a part"),
            ("oci://ghcr.io/a..b", "`a..b` is not a part"),
            ("oci://ghcr.io/../b", "`..` is not a part"),
            ("oci://ghcr.io/a:", "`` is not a tag"),
            ("oci://ghcr.io/a:-x", "`-x` is not a tag"),
            ("oci://ghcr.io/a@sha256:12", "64 hexadecimal digits"),
            (
                "oci://user:password@ghcr.io/a",
                "`…@ghcr.io/a` is not a reference to an artifact: a reference must not contain credentials",
            ),
            ("oci://ghcr.io:0/a", "host:port"),
            ("oci://ghcr.io:+80/a", "host:port"),
            ("oci://ghcr.io:99999/a", "host:port"),
            ("oci://-x.io/a", "host:port"),
            ("oci://[::1/a", "host:port"),
            ("oci://ghcr.io/a?b", "is not a part"),
            ("oci://ghcr.io/a b", "is not a part"),
        ] {
            let error = text.parse::<Reference>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(format!("ghcr.io/{}", "a".repeat(256)).parse::<Reference>().is_err());
        assert!(format!("ghcr.io/a:{}", "a".repeat(129)).parse::<Reference>().is_err());
    }

    #[test]
    fn the_digest_takes_precedence_over_the_tag_and_the_default_is_latest() {
        let name = |text: &str| text.parse::<Reference>().unwrap().name();
        assert_eq!(name("ghcr.io/a"), "latest");
        assert_eq!(name("ghcr.io/a:x"), "x");
        assert_eq!(name(&format!("ghcr.io/a:x@{DIGEST}")), DIGEST);
        assert_eq!("ghcr.io/a".parse::<Reference>().unwrap().url(), "oci://ghcr.io/a:latest");
    }

    #[test]
    fn a_repository_moves_below_a_prefix() {
        let moved = Repository::below("localhost:5000/mirror/", "fluxcd/source-controller").unwrap();
        assert_eq!(moved.to_string(), "localhost:5000/mirror/fluxcd/source-controller");
        assert!(Repository::below("localhost:5000/x", "a:tag").is_err());
    }

    proptest! {
        #[test]
        fn printed_values_parse_to_the_same_values(text in "(oci://)?[a-z0-9.:\\[\\]-]{0,12}(/[a-z0-9._-]{0,6}){0,3}(:[a-zA-Z0-9._-]{0,5})?(@sha256:[0-9a-f]{63,64})?") {
            if let Ok(reference) = text.parse::<Reference>() {
                let again: Reference = reference.url().parse().unwrap();
                prop_assert_eq!(again.url(), reference.url());
                prop_assert_eq!(again.repository, reference.repository);
            }
        }
    }
}
