//! An HTTP proxy for Flux's sources.

use super::basic_auth::check_user_and_password;
use super::{OPAQUE, SecretContent, SecretError, SecretText, Warnings, content, required_text};

/// `Opaque`: key `address`, and `username` and `password` if given.
#[derive(Clone, Debug)]
pub struct Proxy {
    /// `http://proxy.example.com:8080`; kept as it is.
    pub address: String,
    pub username: Option<String>,
    pub password: Option<SecretText>,
}

impl Proxy {
    pub(super) fn content(&self) -> Result<SecretContent, SecretError> {
        let address = required_text("address", &self.address)?;
        let username = self.username.as_deref().filter(|u| !u.is_empty()).map(SecretText::from);
        let password = self.password.clone().filter(|p| !p.is_empty());
        Ok(content(OPAQUE, [("address", Some(address)), ("username", username), ("password", password)]))
    }

    pub(super) fn check(&self) -> Result<Warnings, SecretError> {
        let mut warnings = check_address(&self.address)?;
        match (&self.username, &self.password) {
            (Some(username), Some(password)) => warnings.extend(check_user_and_password(username, password)?),
            (None, Some(_)) => warnings.push("the password has no user name, so it will not be used".to_owned()),
            _ => {}
        }
        Ok(warnings)
    }
}

/// Checks the address of the proxy. Errors do not repeat the address, because it may hold a password.
fn check_address(address: &str) -> Result<Warnings, SecretError> {
    let wrong = |problem: &str| SecretError::check("address", problem);
    let mut warnings = vec![];
    let rest = match address.split_once("://") {
        Some(("http" | "https" | "socks5", rest)) => rest,
        Some(_) => return Err(wrong("the scheme is not http, https or socks5")),
        None => {
            // Go's URL parser, which Flux uses, reads `host:` as a scheme, but refuses a scheme that begins with a
            // digit.
            if address.starts_with(|c: char| c.is_ascii_digit() || c == '[') {
                let problem = "an address that begins with a number needs a scheme";
                return Err(wrong(problem).hint("write it as http://ADDRESS:PORT"));
            }
            warnings.push("the address has no scheme: add http:// to make it explicit".to_owned());
            address
        }
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = match authority.rsplit_once('@') {
        Some((_, host)) => {
            warnings.push("the address contains credentials: pass the user name and password separately".to_owned());
            host
        }
        None => authority,
    };
    let url: Result<http::Uri, _> = format!("http://{host_and_port}").parse();
    match url {
        Ok(url) if url.host().is_some_and(|h| !h.is_empty()) => {}
        _ => return Err(wrong("it is not host:port").hint("write it as http://HOST:PORT")),
    }
    // An IPv6 address contains colons, so its port follows the closing bracket.
    let port = host_and_port.rsplit_once(']').map_or(host_and_port, |(_, after)| after).rsplit_once(':');
    if port.is_some_and(|(_, port)| !port.parse::<u16>().is_ok_and(|p| p > 0)) {
        return Err(wrong("the port is not a number from 1 to 65535"));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_urls_and_odd_ones_warn() {
        for address in
            ["http://proxy.example.com:8080", "https://proxy", "socks5://[fd00::1]:1080", "http://10.0.0.1:3128/"]
        {
            assert_eq!(check_address(address), Ok(vec![]), "{address}");
        }
        for address in ["proxy.example.com:8080", "http://user:pass@proxy:8080"] {
            assert_eq!(check_address(address).map(|w| w.len()), Ok(1), "{address}");
        }
        for address in ["10.0.0.1:8080", "ftp://proxy", "http://", "http://proxy:0", "http://proxy:x", "http://a b"] {
            assert!(check_address(address).is_err(), "{address}");
        }
    }

    #[test]
    fn absent_credentials_leave_no_keys() {
        let proxy = Proxy { address: "http://proxy".into(), username: None, password: None };
        assert_eq!(proxy.content().unwrap().data.keys().collect::<Vec<_>>(), ["address"]);
    }

    proptest! {
        #[test]
        fn an_address_is_never_repeated(secret in "[a-z]{8}", tail in ".{0,20}") {
            let text = format!("http://u:{secret}@{tail}");
            if let Err(error) = check_address(&text) {
                prop_assert!(!error.to_string().contains(&secret));
            }
        }
    }
}
