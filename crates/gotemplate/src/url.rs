//! URLs by the rules of Go's `net/url`.

use std::net::Ipv6Addr;

use crate::text::{lossy, quoted};

/// Part of a URL, which decides about the escaping.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UrlPart {
    Path,
    UserPassword,
    Host,
    Zone,
    QueryComponent,
    Fragment,
}

/// A parsed URL with decoded parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: Vec<u8>,
    pub(crate) opaque: Vec<u8>,
    /// Name, and password if there is a colon.
    pub(crate) user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    pub(crate) host: Vec<u8>,
    pub(crate) path: Vec<u8>,
    pub(crate) query: Vec<u8>,
    pub(crate) fragment: Vec<u8>,
}

fn is_escaped(byte: u8, part: UrlPart) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    match part {
        UrlPart::Host | UrlPart::Zone => !matches!(
            byte,
            b'!' | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                // Port and brackets are part of the host here. The last three may not be escaped in a host, so Go
                // leaves them.
                | b':'
                | b'['
                | b']'
                | b'<'
                | b'>'
                | b'"'
        ),
        UrlPart::Path => !matches!(byte, b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@'),
        // A `:` would end the name.
        UrlPart::UserPassword => !matches!(byte, b'$' | b'&' | b'+' | b',' | b';' | b'='),
        UrlPart::QueryComponent => true,
        UrlPart::Fragment => !matches!(
            byte,
            b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' | b'!' | b'(' | b')' | b'*'
        ),
    }
}

/// `url.QueryEscape` and similar functions.
pub(crate) fn escape(bytes: &[u8], part: UrlPart) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match *byte {
            b' ' if part == UrlPart::QueryComponent => out.push(b'+'),
            byte if is_escaped(byte, part) => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            byte => out.push(byte),
        }
    }
    out
}

fn hexadecimal(byte: Option<&u8>) -> Option<u8> {
    char::from(*byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn unescape(bytes: &[u8], part: UrlPart) -> Result<Vec<u8>, String> {
    let invalid = |escape: &[u8]| format!("invalid URL escape {}", quoted(escape));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        if byte != b'%' {
            if matches!(part, UrlPart::Host | UrlPart::Zone) && byte.is_ascii() && is_escaped(byte, part) {
                return Err(format!("invalid character {} in host name", quoted(&[byte])));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let escape = rest.get(..rest.len().min(3)).unwrap_or_default();
        let (Some(high), Some(low)) = (hexadecimal(escape.get(1)), hexadecimal(escape.get(2))) else {
            return Err(invalid(escape));
        };
        let decoded = high << 4 | low;
        // In hosts only bytes beyond ASCII may be escaped; in zones also blanks and bytes that hosts cannot contain.
        let refused = match part {
            UrlPart::Host => high < 8 && escape != b"%25",
            UrlPart::Zone => escape != b"%25" && decoded != b' ' && is_escaped(decoded, UrlPart::Host),
            _ => false,
        };
        if refused {
            return Err(invalid(escape));
        }
        out.push(decoded);
        at += 3;
    }
    Ok(out)
}

fn split_at_byte(bytes: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match bytes.iter().position(|byte| *byte == separator) {
        Some(at) => (bytes.get(..at).unwrap_or_default(), bytes.get(at + 1..)),
        None => (bytes, None),
    }
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// Go's message, such as `parse "http://[::1": missing ']' in host`.
    pub(crate) fn parse(text: &[u8]) -> Result<Url, String> {
        let (before, fragment) = split_at_byte(text, b'#');
        let mut url =
            Url::parse_before_fragment(before).map_err(|error| format!("parse {}: {error}", quoted(before)))?;
        if let Some(fragment) = fragment {
            url.fragment =
                unescape(fragment, UrlPart::Fragment).map_err(|error| format!("parse {}: {error}", quoted(text)))?;
        }
        Ok(url)
    }

    fn parse_before_fragment(text: &[u8]) -> Result<Url, String> {
        if text.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
            return Err("net/url: invalid control character in URL".into());
        }
        let mut url = Url::default();
        // The target of `OPTIONS *` in HTTP.
        if text == b"*" {
            url.path = text.to_vec();
            return Ok(url);
        }
        let mut rest = text;
        if let Some((scheme, after)) = scheme(text)? {
            url.scheme = scheme.to_ascii_lowercase();
            rest = after;
        }
        let (before, query) = split_at_byte(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        rest = before;
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            // It could be a scheme with a mistake, such as `cache_object:foo/bar`.
            if split_at_byte(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".into());
            }
        }
        // `///path` without a scheme has no host, and is all path.
        if (!url.scheme.is_empty() || !rest.starts_with(b"///"))
            && let Some(after) = rest.strip_prefix(b"//")
        {
            let end = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            url.authority(authority)?;
            rest = path;
        }
        url.path = unescape(rest, UrlPart::Path)?;
        Ok(url)
    }

    fn authority(&mut self, authority: &[u8]) -> Result<(), String> {
        // The last one, because Go accepts `@` in a name or password.
        let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
            self.host = host(&self.scheme, authority)?;
            return Ok(());
        };
        let (userinfo, after) = authority.split_at(at);
        self.host = host(&self.scheme, after.get(1..).unwrap_or_default())?;
        let is_valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !userinfo.iter().all(is_valid) {
            return Err("net/url: invalid userinfo".into());
        }
        let (name, password) = split_at_byte(userinfo, b':');
        let password = password.map(|password| unescape(password, UrlPart::UserPassword));
        self.user = Some((unescape(name, UrlPart::UserPassword)?, password.transpose()?));
        Ok(())
    }

    /// Returns name and password in their URL form.
    pub(crate) fn user_text(&self) -> Vec<u8> {
        let Some((name, password)) = &self.user else { return Vec::new() };
        let mut out = escape(name, UrlPart::UserPassword);
        if let Some(password) = password {
            out.push(b':');
            out.extend_from_slice(&escape(password, UrlPart::UserPassword));
        }
        out
    }

    /// Returns the host without port and brackets.
    pub(crate) fn hostname(&self) -> &[u8] {
        let host = self.host.as_slice();
        let without_port = match host.iter().rposition(|byte| *byte == b':') {
            Some(at) if host.get(at + 1..).is_some_and(|port| port.iter().all(u8::is_ascii_digit)) => {
                host.get(..at).unwrap_or_default()
            }
            _ => host,
        };
        match without_port {
            [b'[', inside @ .., b']'] => inside,
            other => other,
        }
    }

    /// Formats the URL.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if !self.opaque.is_empty() {
            out.extend_from_slice(&self.opaque);
        } else {
            if !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some() {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    out.extend_from_slice(b"//");
                }
                if self.user.is_some() {
                    out.extend_from_slice(&self.user_text());
                    out.push(b'@');
                }
                out.extend_from_slice(&escape(&self.host, UrlPart::Host));
            }
            let path = if self.path == b"*" { self.path.clone() } else { escape(&self.path, UrlPart::Path) };
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                out.push(b'/');
            }
            if out.is_empty() && split_at_byte(&path, b'/').0.contains(&b':') {
                // Otherwise the first segment would be read as a scheme.
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(&path);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&escape(&self.fragment, UrlPart::Fragment));
        }
        out
    }
}

type SchemeAndRest<'u> = Option<(&'u [u8], &'u [u8])>;

fn scheme(text: &[u8]) -> Result<SchemeAndRest<'_>, String> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok(text.get(..at).zip(text.get(at + 1..))),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn check_port(port: &[u8]) -> Result<(), String> {
    match port {
        [] => Ok(()),
        [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(format!("invalid port {} after host", quoted(port))),
    }
}

fn host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => {
            let Some(closing) = host.iter().rposition(|byte| *byte == b']') else {
                return Err("missing ']' in host".into());
            };
            let port = host.get(closing + 1..).unwrap_or_default();
            check_port(port)?;
            let inside = host.get(1..closing).unwrap_or_default();
            // RFC 6874 writes the `%` before a zone as `%25`.
            let zone_at = crate::text::find(inside, b"%25").unwrap_or(inside.len());
            let (address, zone) = inside.split_at(zone_at);
            let mut name = unescape(address, UrlPart::Host)?;
            let is_address = std::str::from_utf8(&name).is_ok_and(|name| name.parse::<Ipv6Addr>().is_ok());
            name.extend_from_slice(&unescape(zone, UrlPart::Zone)?);
            if !is_address {
                if lossy(&name).parse::<std::net::Ipv4Addr>().is_ok() {
                    return Err("invalid IP-literal".into());
                }
                return Err(format!("invalid host: ParseAddr({}): unable to parse IP", quoted(&name)));
            }
            name.insert(0, b'[');
            name.push(b']');
            name.extend_from_slice(&unescape(port, UrlPart::Host)?);
            return Ok(name);
        }
        Some(_) => return Err("invalid IP-literal".into()),
        None => {}
    }
    let first = host.iter().position(|byte| *byte == b':');
    let last = host.iter().rposition(|byte| *byte == b':');
    if let (Some(first), Some(last)) = (first, last) {
        // Only http and https require a single colon.
        let at = if scheme == b"http" || scheme == b"https" { first } else { last };
        check_port(host.get(at..).unwrap_or_default())?;
    }
    unescape(host, UrlPart::Host)
}
