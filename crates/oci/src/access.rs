//! Access to registries: certificates, plain http, proxies, limits. The caller provides all of it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use rustls::ClientConfig;
use secrecy::{ExposeSecret, SecretString};

use super::{Reason, RegistryCredentials};
use crate::format::backoff::Backoff;
use crate::format::proxy::ProxyEnvironment;
use crate::format::tls::{self, ServerTrust};

/// Longest pause before a request is repeated.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Settings and credentials for access to registries.
#[derive(Clone)]
pub struct Access {
    pub credentials: RegistryCredentials,
    /// By `host[:port]`; registries that are not listed use `everywhere`.
    pub registries: BTreeMap<String, RegistryAccess>,
    pub everywhere: RegistryAccess,
    pub proxy: ProxyEnvironment,
    /// Longest wait for the start of an answer, and for the next piece of its body.
    pub stall_timeout: Duration,
    /// First pause before a request is repeated; it doubles with each attempt.
    pub retry_pause: Duration,
    pub user_agent: String,
}

impl Access {
    /// The operating system's CAs, no proxy, and plain http only on loopback.
    pub fn new(credentials: RegistryCredentials) -> Self {
        Access {
            credentials,
            registries: BTreeMap::new(),
            everywhere: RegistryAccess::default(),
            proxy: ProxyEnvironment::default(),
            stall_timeout: Duration::from_secs(30),
            retry_pause: Duration::from_millis(500),
            user_agent: concat!("flux-operator/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// The pauses between the attempts of one request.
    pub(super) fn pauses(&self) -> Backoff {
        Backoff::new(self.retry_pause, LONGEST_PAUSE)
    }

    pub(super) fn of(&self, authority: &str) -> &RegistryAccess {
        self.registries.get(authority).unwrap_or(&self.everywhere)
    }

    /// Whether a registry is accessed without TLS: as configured, and by default only on loopback.
    pub(super) fn is_plain(&self, authority: &str) -> bool {
        let access = self.of(authority);
        // Configured certificates show that a server has TLS, even on loopback.
        let has_certificates = access.authorities.is_some() || access.identity.is_some();
        access.plain_http.unwrap_or(!has_certificates && is_loopback(authority))
    }

    /// Whether credentials may be sent without TLS to a token server that a registry names. A registry on this machine
    /// must not direct them off the machine in clear text. To any other registry without TLS they are already sent in
    /// clear text.
    pub(super) fn may_send_plain(&self, registry: &str, server: &str) -> bool {
        self.is_plain(registry) && (self.is_plain(server) || !is_loopback(registry))
    }
}

/// Settings for one registry.
#[derive(Clone, Debug, Default)]
pub struct RegistryAccess {
    /// CA certificates in PEM that replace those of the operating system.
    pub authorities: Option<Vec<u8>>,
    pub identity: Option<ClientIdentity>,
    /// `None` means plain http on loopback and TLS everywhere else.
    pub plain_http: Option<bool>,
}

/// A client certificate and its key, both in PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    pub certificate: Vec<u8>,
    pub key: SecretString,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity { .. }")
    }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or(authority),
    };
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns the TLS configuration for a registry. `with_identity` is false for other servers to which the registry
/// redirects.
pub(super) fn tls_config(access: &RegistryAccess, with_identity: bool) -> Result<ClientConfig, Reason> {
    let trust = match &access.authorities {
        None => ServerTrust::System,
        Some(pem) => match tls::certificates(pem) {
            none if none.is_empty() => {
                return Err(Reason::Config("the CA file: it holds no certificate in PEM".to_owned()));
            }
            all => ServerTrust::Certificates(all),
        },
    };
    // A client certificate proves an identity, so only the registry it was configured for may see it.
    let identity = access.identity.as_ref().filter(|_| with_identity);
    let identity = identity.map(|one| (one.certificate.as_slice(), one.key.expose_secret().as_bytes()));
    tls::client_config(trust, identity).map_err(|error| Reason::Config(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_used_on_loopback_only_unless_a_flag_allows_it() {
        let mut access = Access::new(RegistryCredentials::Anonymous);
        for (authority, plain) in [
            ("localhost:5000", true),
            ("127.0.0.1:5000", true),
            ("127.9.9.9", true),
            ("[::1]:5000", true),
            ("registry.localhost", true),
            ("localhost.example.com", false),
            ("192.168.1.1:5000", false),
            ("[::2]:5000", false),
            ("ghcr.io", false),
        ] {
            assert_eq!(access.is_plain(authority), plain, "{authority}");
        }
        let reported = |plain_http| RegistryAccess { plain_http, ..RegistryAccess::default() };
        access.registries.insert("lab:5000".into(), reported(Some(true)));
        access.registries.insert("localhost:5000".into(), reported(Some(false)));
        assert!(access.is_plain("lab:5000") && !access.is_plain("localhost:5000"));
        // Configured CAs imply TLS.
        access.everywhere.authorities = Some(Vec::new());
        assert!(!access.is_plain("127.0.0.1:5000"));
    }

    #[test]
    fn credentials_without_tls_need_a_registry_without_tls_and_stay_on_loopback_unless_configured() {
        let mut access = Access::new(RegistryCredentials::Anonymous);
        let plain = RegistryAccess { plain_http: Some(true), ..RegistryAccess::default() };
        access.registries.insert("lab:5000".into(), plain);
        for (registry, server, expected) in [
            ("ghcr.io", "127.0.0.1:80", false),
            ("ghcr.io", "ghcr.io", false),
            ("localhost:5000", "127.0.0.1:5001", true),
            ("localhost:5000", "auth.example.com", false),
            ("localhost:5000", "lab:5000", true),
            ("lab:5000", "auth.lab", true),
        ] {
            assert_eq!(access.may_send_plain(registry, server), expected, "{registry} {server}");
        }
    }

    #[test]
    fn files_without_a_certificate_or_a_key_are_refused() {
        let of = |authorities: Option<&[u8]>, certificate: &[u8]| {
            let identity = ClientIdentity { certificate: certificate.to_vec(), key: "s3cret".into() };
            let authorities = authorities.map(<[u8]>::to_vec);
            let access = RegistryAccess { authorities, identity: Some(identity), plain_http: None };
            tls_config(&access, true).unwrap_err().to_string()
        };
        assert_eq!(of(Some(b"x"), b""), "the CA file: it holds no certificate in PEM");
        let pem = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(of(Some(pem), b""), "the CA file: it holds no certificate in PEM");
        assert_eq!(of(None, b""), "the client certificate: it holds no certificate in PEM");
        assert_eq!(of(None, pem), "the client key: it holds no private key in PEM");
    }
}
