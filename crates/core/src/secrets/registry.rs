//! Credentials of a container registry, in Docker's format.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use zeroize::Zeroizing;

use super::basic_auth::{check_user, check_user_and_password};
use super::{SecretContent, SecretError, SecretText, Warnings, content, required, required_text};

const TYPE: &str = "kubernetes.io/dockerconfigjson";
/// The address under which clients store credentials of Docker Hub, for historical reasons.
pub const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// `kubernetes.io/dockerconfigjson`: key `.dockerconfigjson`.
#[derive(Clone, Debug)]
pub struct Registry {
    /// `ghcr.io`, `registry.example.com:5000`. A scheme and a final slash are removed, because Flux looks up the host.
    pub server: String,
    pub username: String,
    pub password: SecretText,
}

impl Registry {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        required_text("server", &self.server)?;
        required_text("username", &self.username)?;
        let password = required("password", &self.password)?;
        let password =
            password.expose_text().ok_or_else(|| SecretError::invalid("password", "it is not text in UTF-8"))?;
        let both = Zeroizing::new(format!("{}:{password}", self.username));
        let auth = Zeroizing::new(STANDARD.encode(both.as_bytes()));
        // Written by hand, so that every copy of the password is zeroed; quoting a string cannot fail.
        let quoted = |text: &str| Zeroizing::new(serde_json::to_string(text).unwrap_or_default());
        let text = format!(
            "{{\n  \"auths\": {{\n    {}: {{\n      \"username\": {},\n      \"password\": {},\n      \"auth\": {}\n    }}\n  }}\n}}",
            *quoted(stored_server(&self.server)),
            *quoted(&self.username),
            *quoted(password),
            *quoted(&auth)
        );
        Ok(content(TYPE, [(".dockerconfigjson", Some(text.into()))]))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let mut warnings = check_server(&self.server)?;
        warnings.extend(match self.password.expose_text() {
            // A key file of Google contains line breaks, so control characters are expected.
            Some(text) if serde_json::from_str::<HashMap<String, IgnoredAny>>(text).is_ok() => {
                check_user(&self.username)?
            }
            _ => check_user_and_password(&self.username, &self.password)?,
        });
        Ok(warnings)
    }
}

/// The key of the credentials: the server without scheme and final slash, except the address of Docker Hub.
fn stored_server(server: &str) -> &str {
    let plain = ["https://", "http://"].iter().find_map(|scheme| server.strip_prefix(scheme)).unwrap_or(server);
    let plain = plain.trim_end_matches('/');
    // A path means something to other clients, so such an address is kept whole.
    if server == DOCKER_HUB || plain.is_empty() || plain.contains('/') { server } else { plain }
}

/// A registry is `host`, `host:port`, or either with a path; a scheme is ignored by Kubernetes and refused by Flux.
fn check_server(server: &str) -> Result<Warnings, SecretError> {
    let wrong = |problem: &str| SecretError::check(format!("server `{server}`"), problem);
    if server == DOCKER_HUB {
        return Ok(vec![]);
    }
    if let Some(rest) = server.strip_prefix("oci://") {
        return Err(wrong("a registry does not start with oci://").hint(format!("write {rest}")));
    }
    let (scheme, rest) = server.split_once("://").map_or((None, server), |(scheme, rest)| (Some(scheme), rest));
    if scheme.is_some_and(|s| s != "https" && s != "http") {
        return Err(wrong("a registry is host or host:port"));
    }
    if rest.contains('@') {
        return Err(wrong("the address must not contain credentials"));
    }
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(authority, path)| (authority, path));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, Some(port)),
        Some(_) => return Err(wrong("the host is missing")),
        None => (authority, None),
    };
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|p| p > 0)) {
        return Err(wrong("the port is not a number from 1 to 65535"));
    }
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '[' | ']' | ':' | '*');
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(wrong("a registry is host or host:port"));
    }
    let mut warnings = vec![];
    if scheme.is_some() {
        let stored = stored_server(server);
        warnings.push(match stored == authority {
            true => {
                format!("the credentials are stored for `{stored}`, because Flux looks for a registry without scheme")
            }
            false => format!("server `{server}` has a scheme; Flux looks for `{authority}`"),
        });
    }
    if matches!(host, "docker.io" | "index.docker.io" | "registry-1.docker.io") {
        warnings.push(format!("Docker Hub's credentials are looked up under {DOCKER_HUB}, not `{server}`"));
    }
    let image_like = path.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    if image_like {
        return Err(wrong("this is an image, not a registry").hint(format!("write {authority}")));
    }
    if !path.is_empty() {
        warnings.push(format!("server `{server}` has a path; Flux looks for `{authority}`"));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_config_has_dockers_form() {
        let registry = Registry { server: "ghcr.io".into(), username: "flux".into(), password: "pass".into() };
        let content = registry.content().unwrap();
        assert_eq!(
            content.data[".dockerconfigjson"].expose_text().unwrap(),
            "{\n  \"auths\": {\n    \"ghcr.io\": {\n      \"username\": \"flux\",\n      \"password\": \"pass\",\n      \"auth\": \"Zmx1eDpwYXNz\"\n    }\n  }\n}"
        );
    }

    #[test]
    fn a_server_is_stored_as_flux_looks_for_it() {
        for (server, stored) in [
            ("https://ghcr.io/", "ghcr.io"),
            ("http://registry.example.com:5000", "registry.example.com:5000"),
            ("ghcr.io/", "ghcr.io"),
            ("ghcr.io", "ghcr.io"),
            ("ghcr.io/org", "ghcr.io/org"),
            (DOCKER_HUB, DOCKER_HUB),
        ] {
            let registry = Registry { server: server.into(), username: "u".into(), password: "p".into() };
            let content = registry.content().unwrap();
            let config: serde_json::Value = serde_json::from_slice(content.data[".dockerconfigjson"].expose()).unwrap();
            assert_eq!(config["auths"][stored]["username"], "u", "{server}: {config}");
        }
    }

    #[test]
    fn quotes_and_control_characters_are_escaped() {
        let registry = Registry { server: "ghcr.io".into(), username: "a\"b".into(), password: "p\\\t\u{1}ü".into() };
        let content = registry.content().unwrap();
        let config: serde_json::Value = serde_json::from_slice(content.data[".dockerconfigjson"].expose()).unwrap();
        assert_eq!(config["auths"]["ghcr.io"]["username"], "a\"b");
        assert_eq!(config["auths"]["ghcr.io"]["password"], "p\\\t\u{1}ü");
    }

    #[test]
    fn a_json_key_of_several_lines_is_a_password_without_a_warning() {
        let key = "{\n  \"private_key\": \"-----BEGIN\\nMIIE\\n\"\n}";
        let server = || "europe-docker.pkg.dev".to_owned();
        let registry = Registry { server: server(), username: "_json_key".into(), password: key.into() };
        assert_eq!(registry.check(), Ok(vec![]));
        let content = registry.content().unwrap();
        let config: serde_json::Value = serde_json::from_slice(content.data[".dockerconfigjson"].expose()).unwrap();
        assert_eq!(config["auths"]["europe-docker.pkg.dev"]["password"], key);
        let text = Registry { server: server(), username: "u".into(), password: "a\nb".into() };
        assert_eq!(text.check().map(|warnings| warnings.len()), Ok(1));
    }

    #[test]
    fn servers_are_hosts_with_an_optional_port() {
        for server in
            ["ghcr.io", "registry.example.com:5000", "localhost", "10.0.0.1:5000", "[fd00::1]:5000", DOCKER_HUB]
        {
            assert_eq!(check_server(server), Ok(vec![]), "{server}");
        }
        for server in ["https://ghcr.io", "docker.io", "ghcr.io/org"] {
            assert_eq!(check_server(server).map(|w| w.len()), Ok(1), "{server}");
        }
        for server in [
            "oci://ghcr.io",
            "",
            "ghcr.io:0",
            "ghcr.io:port",
            ":5000",
            "a b",
            "ghcr.io/org/app:v1",
            "u:p@ghcr.io",
            "ftp://x",
        ] {
            assert!(check_server(server).is_err(), "{server}");
        }
    }

    proptest! {
        #[test]
        fn no_server_text_breaks_the_check(server in ".{0,40}") {
            let _ = check_server(&server);
        }
    }
}
