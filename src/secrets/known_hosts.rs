//! The `known_hosts` file: every line that is no comment must name hosts and hold a key.
//!
//! Source: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT".

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ssh_key::known_hosts::{Entry, HostPatterns, Marker};

use super::{SecretError, Warnings};

/// Length of the salt and of the HMAC-SHA1 in a hashed host name.
const HASH_BYTES: usize = 20;

pub(super) fn check(file: &[u8]) -> Result<Warnings, SecretError> {
    let what = "knownhosts-file";
    let Ok(text) = std::str::from_utf8(file) else { return Err(SecretError::check(what, "it is not text in UTF-8")) };
    let mut warnings = vec![];
    let mut trusted = 0;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read_line(line) {
            Ok(Line { revoked, note }) => {
                trusted += usize::from(!revoked);
                warnings.extend(note.map(|note| format!("{what} line {number}: {note}")));
            }
            Err(problem) => return Err(SecretError::check(format!("{what} line {number}"), problem)),
        }
    }
    if trusted == 0 {
        let error = SecretError::check(what, "no line trusts a host key");
        return Err(error.hint("get the keys with `ssh-keyscan HOST > known_hosts`, and compare them"));
    }
    Ok(warnings)
}

struct Line {
    revoked: bool,
    note: Option<String>,
}

fn read_line(line: &str) -> Result<Line, &'static str> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (marker, rest) = match fields.split_first() {
        Some((first, rest)) if first.starts_with('@') => (Some(*first), rest),
        _ => (None, fields.as_slice()),
    };
    if marker.is_some_and(|m| m.parse::<Marker>().is_err()) {
        return Err("the marker is neither @cert-authority nor @revoked");
    }
    let [hosts, algorithm, key, ..] = rest else { return Err("it is not `hosts key-type key`") };
    check_hosts(hosts)?;
    if algorithm.bytes().all(|b| b.is_ascii_digit()) {
        return Err("it is a key of SSH version 1, which nobody uses any more");
    }
    let revoked = marker == Some("@revoked");
    // The parser wants single spaces.
    let parsed: Result<Entry, _> = format!("{hosts} {algorithm} {key}").parse();
    match parsed {
        Ok(entry) => Ok(Line { revoked, note: odd_hosts(entry.host_patterns()) }),
        // A key of a type the parser does not know is taken if it says the same type inside.
        Err(_) if names_itself(key, algorithm) => {
            Ok(Line { revoked, note: Some(format!("keys of type {algorithm} are not checked")) })
        }
        Err(_) => Err("the host key does not parse"),
    }
}

fn check_hosts(hosts: &str) -> Result<(), &'static str> {
    if let Some(hashed) = hosts.strip_prefix('|') {
        let parts: Vec<&str> = hashed.split('|').collect();
        let is_hash = |text: &str| STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == HASH_BYTES);
        return match parts.as_slice() {
            ["1", salt, hash] if is_hash(salt) && is_hash(hash) => Ok(()),
            _ => Err("the hashed host name is damaged"),
        };
    }
    for host in hosts.split(',').map(|h| h.trim_start_matches('!')) {
        if host.is_empty() {
            return Err("a host name is empty");
        }
        if let Some(inner) = host.strip_prefix('[') {
            let port = inner.split_once("]:").map(|(name, port)| (!name.is_empty(), port.parse::<u16>()));
            if !matches!(port, Some((true, Ok(1..)))) {
                return Err("a host with a port is written as [host]:port");
            }
        }
    }
    Ok(())
}

fn odd_hosts(hosts: &HostPatterns) -> Option<String> {
    match hosts {
        HostPatterns::Patterns(patterns) if patterns.iter().any(|p| p == "*") => {
            Some("the key is trusted for every host".to_owned())
        }
        // `host:22` without brackets is a host name that never matches; IPv6 addresses have more colons.
        HostPatterns::Patterns(patterns)
            if patterns.iter().any(|p| !p.starts_with('[') && p.matches(':').count() == 1) =>
        {
            Some("a host with a port is written as [host]:port".to_owned())
        }
        _ => None,
    }
}

/// Whether an SSH key blob begins with the given type name (RFC 4253 §6.6).
fn names_itself(key: &str, algorithm: &str) -> bool {
    let Ok(blob) = STANDARD.decode(key) else { return false };
    let known = ["ssh-ed25519", "ssh-rsa"].contains(&algorithm) || algorithm.starts_with("ecdsa-sha2-");
    let length = blob.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes) as usize);
    !known && length == Some(algorithm.len()) && blob.get(4..4 + algorithm.len()) == Some(algorithm.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // GitHub publishes it: https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/githubs-ssh-key-fingerprints
    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";

    fn lines(hosts: &[&str]) -> String {
        hosts.iter().map(|h| format!("{h} {KEY}\n")).collect()
    }

    #[test]
    fn every_form_of_a_line_is_accepted() {
        let hashed = "|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM=";
        let file = format!(
            "# github.com:22 SSH-2.0\n\n{}@cert-authority *.example.com {KEY}\n@revoked old.example.com {KEY}\nhost\t{KEY} with a comment\r\n",
            lines(&["github.com", "github.com,192.0.2.1", "[git.example.com]:2222", hashed, "!a,b"])
        );
        assert_eq!(check(file.as_bytes()), Ok(vec![]));
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        for bad in [
            "github.com".to_owned(),
            format!("@other github.com {KEY}"),
            "github.com ssh-ed25519 AAAA".to_owned(),
            "github.com ssh-ed25519 !!!!".to_owned(),
            "github.com 1024 35 123".to_owned(),
            format!("[github.com]:0 {KEY}"),
            format!("[github.com] {KEY}"),
            format!("|1|AAAA|AAAA {KEY}"),
            format!("a,,b {KEY}"),
        ] {
            let error = check(format!("{}{bad}\n", lines(&["ok"])).as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("knownhosts-file line 2: "), "{bad}: {error}");
        }
    }

    #[test]
    fn a_file_that_trusts_nobody_is_refused() {
        for file in [String::new(), "# only a comment\n".into(), format!("@revoked github.com {KEY}\n")] {
            assert!(check(file.as_bytes()).unwrap_err().to_string().contains("no line trusts"), "{file}");
        }
    }

    #[test]
    fn odd_hosts_and_unknown_key_types_warn() {
        let unknown = STANDARD.encode(b"\0\0\0\x07ssh-newrest");
        for line in [format!("* {KEY}"), format!("github.com:22 {KEY}"), format!("github.com ssh-new {unknown}")] {
            assert_eq!(check(line.as_bytes()).map(|w| w.len()), Ok(1), "{line}");
        }
        assert_eq!(check(format!("fd00::1 {KEY}").as_bytes()), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_check(file in proptest::collection::vec(any::<u8>(), 0..200), hosts in "[|\\[\\]:!,@a-z0-9 ]{0,30}") {
            let _ = check(&file);
            let _ = check(format!("{hosts} {KEY}").as_bytes());
        }
    }
}
