//! References to container images: `host:port/path/name:tag@digest`.

/// The parts of a reference, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageParts<'a> {
    /// Registry and path.
    pub repository: &'a str,
    pub tag: Option<&'a str>,
    /// With its algorithm: `sha256:…`.
    pub digest: Option<&'a str>,
}

/// Splits a reference without validating its parts.
pub fn split_image(image: &str) -> ImageParts<'_> {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    // A colon before a slash belongs to the port of the registry.
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => ImageParts { repository, tag: Some(tag), digest },
        _ => ImageParts { repository: name, tag: None, digest },
    }
}

/// Splits the registry off a repository; `None` means Docker Hub. As in Docker, the first part is a registry if it has
/// a dot or a port, or is `localhost`.
pub fn split_registry(repository: &str) -> (Option<&str>, &str) {
    match repository.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (Some(first), rest),
        _ => (None, repository),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_not_a_tag() {
        let parts = |image| {
            let ImageParts { repository, tag, digest } = split_image(image);
            (repository, tag, digest)
        };
        assert_eq!(parts("localhost:5000/a/b"), ("localhost:5000/a/b", None, None));
        assert_eq!(parts("localhost:5000/a/b:v1"), ("localhost:5000/a/b", Some("v1"), None));
        assert_eq!(parts("ghcr.io/a@sha256:b"), ("ghcr.io/a", None, Some("sha256:b")));
        assert_eq!(parts("ghcr.io/a:v1@sha256:b"), ("ghcr.io/a", Some("v1"), Some("sha256:b")));
        assert_eq!(parts("nginx:"), ("nginx", Some(""), None));
    }
}
