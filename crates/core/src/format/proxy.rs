//! Selection of the HTTP proxy for a server, by the rules of Go's `ProxyFromEnvironment`, which kubectl follows.
//!
//! kube checks whether the *proxy's* address is in `NO_PROXY`; Go's rules check the server's. Source:
//! <https://pkg.go.dev/golang.org/x/net/http/httpproxy>.

use std::net::IpAddr;

use http::Uri;

/// The proxy variables of the environment; the caller reads them.
#[derive(Clone, Debug, Default)]
pub struct ProxyEnvironment {
    pub https_proxy: Option<String>,
    pub http_proxy: Option<String>,
    /// Comma-separated names, `.suffixes`, addresses or networks, each with an optional port, or `*`.
    pub no_proxy: Option<String>,
}

impl ProxyEnvironment {
    /// Returns the proxy for a server; `None` means a direct connection.
    pub fn proxy_for(&self, server: &Uri) -> Option<&str> {
        let proxy = match server.scheme_str() {
            Some("https") => self.https_proxy.as_deref(),
            _ => self.http_proxy.as_deref(),
        };
        let host = server.host()?.trim_start_matches('[').trim_end_matches(']').to_lowercase();
        let port = server.port_u16().unwrap_or(if server.scheme_str() == Some("https") { 443 } else { 80 });
        // Go never sends a request to this machine through a proxy.
        let direct = is_loopback(&host) || self.no_proxy.as_deref().is_some_and(|list| listed(list, &host, port));
        proxy.filter(|p| !p.is_empty() && !direct)
    }
}

/// Whether a server is on this machine.
pub fn is_local(server: &Uri) -> bool {
    server.host().is_some_and(|host| is_loopback(host.trim_start_matches('[').trim_end_matches(']')))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn listed(list: &str, host: &str, port: u16) -> bool {
    list.split(',').map(|entry| entry.trim().to_lowercase()).filter(|e| !e.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let Some((network, bits)) = entry.split_once('/') {
            return in_network(network, bits, host);
        }
        // A port only counts after a name or IPv4 address, or after brackets.
        let (name, wanted) = match entry.rsplit_once(':') {
            Some((name, number)) if !name.contains(':') || name.ends_with(']') => (name, number.parse().ok()),
            _ => (entry.as_str(), None),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if wanted.is_some_and(|wanted: u16| wanted != port) {
            return false;
        }
        if let (Ok(a), Ok(b)) = (name.parse::<IpAddr>(), host.parse::<IpAddr>()) {
            return a == b;
        }
        // `example.com` covers the name and its subdomains, `.example.com` and `*.example.com` only the subdomains.
        let (exact, suffix) = match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
            Some(domain) => (false, domain),
            None => (true, name),
        };
        (exact && host == suffix) || host.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'))
    })
}

fn in_network(network: &str, bits: &str, host: &str) -> bool {
    let (Ok(network), Ok(host), Ok(bits)) = (network.parse(), host.parse(), bits.parse::<u32>()) else {
        return false;
    };
    let (a, b, width) = match (network, host) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    // For /0 of IPv6 the shift by the full width of the type would overflow.
    bits <= width && (bits == 0 || (a >> (width - bits)) == (b >> (width - bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxied(no_proxy: &str, server: &str) -> bool {
        let environment = ProxyEnvironment {
            https_proxy: Some("http://proxy:3128".into()),
            http_proxy: None,
            no_proxy: Some(no_proxy.into()),
        };
        environment.proxy_for(&server.parse().unwrap()).is_some()
    }

    #[test]
    fn servers_in_no_proxy_are_reached_directly() {
        let server = "https://api.example.com:6443";
        for list in [
            "*",
            "example.com",
            ".example.com",
            "*.example.com",
            "API.example.com",
            "api.example.com:6443",
            "x, example.com",
        ] {
            assert!(!proxied(list, server), "{list}");
        }
        for list in ["", "other.com", "ample.com", "api.example.com:443", ".api.example.com"] {
            assert!(proxied(list, server), "{list}");
        }
    }

    #[test]
    fn addresses_match_networks_and_loopback_is_always_direct() {
        for (list, server) in [
            ("10.0.0.0/8", "https://10.1.2.3"),
            ("10.1.2.3", "https://10.1.2.3:6443"),
            ("fd00::/8", "https://[fd00::1]:6443"),
            ("0.0.0.0/0", "https://192.0.2.1"),
            ("", "https://127.0.0.1:6443"),
            ("", "https://localhost:6443"),
            ("", "https://[::1]:6443"),
        ] {
            assert!(!proxied(list, server), "{list} {server}");
        }
        assert!(proxied("10.0.0.0/8", "https://11.1.2.3"));
        assert!(proxied("10.0.0.0/99", "https://10.1.2.3"));
    }

    #[test]
    fn plain_http_uses_the_other_variable() {
        let environment = ProxyEnvironment { https_proxy: Some("http://proxy".into()), ..ProxyEnvironment::default() };
        assert_eq!(environment.proxy_for(&"http://api.example.com".parse().unwrap()), None);
    }
}
