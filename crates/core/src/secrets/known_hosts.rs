//! The `known_hosts` file: every line that is not a comment must name hosts and hold a key.
//!
//! Sources: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT", and Flux's own reader (fluxcd/pkg ssh/knownhosts 0.25). Flux
//! refuses the whole file if it cannot parse one line, and ignores lines that do not match a host. Refused lines are
//! errors here, and ignored ones are warnings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ssh_key::PublicKey;
use ssh_key::known_hosts::Marker;

use super::{SecretError, Warnings};

/// Types of keys that Go's SSH library reads (golang.org/x/crypto/ssh 0.41). Flux refuses a file that contains any
/// other type.
const GO_TYPES: [&str; 8] = [
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "sk-ssh-ed25519@openssh.com",
    "ssh-dss",
    "ssh-ed25519",
    "ssh-rsa",
];
/// Suffix that turns the type of a key into the type of its certificate.
const CERTIFICATE: &str = "-cert-v01@openssh.com";
/// Length of the salt and of the HMAC-SHA1 in a hashed host name.
const HASH_BYTES: usize = 20;

pub(super) fn check(file: &[u8]) -> Result<Warnings, SecretError> {
    let what = "knownhosts-file";
    let Ok(text) = std::str::from_utf8(file) else { return Err(SecretError::check(what, "it is not text in UTF-8")) };
    if text.starts_with('\u{feff}') {
        let error = SecretError::check(what, "it begins with a byte order mark, which becomes part of the first line");
        return Err(error.hint("save the file as UTF-8 without it"));
    }
    let mut warnings = vec![];
    let mut trusted = 0;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match read_line(line) {
            Ok(HostLine { revoked, notes }) => {
                trusted += usize::from(!revoked);
                warnings.extend(notes.into_iter().map(|note| format!("{what} line {number}: {note}")));
            }
            Err(problem) => return Err(SecretError::check(format!("{what} line {number}"), problem)),
        }
    }
    if trusted == 0 {
        let error = SecretError::check(what, "no line has a trusted host key");
        return Err(error.hint("get the keys with `ssh-keyscan HOST > known_hosts`, and compare them"));
    }
    Ok(warnings)
}

struct HostLine {
    revoked: bool,
    notes: Vec<String>,
}

fn read_line(line: &str) -> Result<HostLine, String> {
    let fields: Vec<&str> = line.split([' ', '\t']).filter(|field| !field.is_empty()).collect();
    let (marker, rest) = match fields.split_first() {
        Some((first, rest)) if first.starts_with('@') => (Some(*first), rest),
        _ => (None, fields.as_slice()),
    };
    if marker.is_some_and(|m| m.parse::<Marker>().is_err()) {
        return Err("the marker is neither @cert-authority nor @revoked".to_owned());
    }
    let [hosts, algorithm, key, comment @ ..] = rest else {
        return Err("it is not `hosts key-type key`".to_owned());
    };
    check_hosts(hosts)?;
    let revoked = marker == Some("@revoked");
    let mut notes = odd_hosts(hosts);
    let unreadable = match algorithm.bytes().all(|b| b.is_ascii_digit()) {
        true => "it is a key of SSH version 1, which Flux does not read",
        false => "the host key does not parse",
    };
    let blob = STANDARD.decode(key).map_err(|_| unreadable)?;
    // Flux uses the type inside the key and ignores that of the line.
    let type_ = type_of(&blob).ok_or(unreadable)?;
    if !GO_TYPES.contains(&type_.strip_suffix(CERTIFICATE).unwrap_or(type_)) {
        return Err(format!("Flux does not know keys of type {type_}, and refuses the whole file"));
    }
    if *algorithm != type_ {
        notes.push(format!("the line says {algorithm}, but its key has the type {type_}, which Flux uses"));
    }
    if type_.ends_with(CERTIFICATE) {
        notes.push(format!("keys of type {type_} are not checked"));
    } else if PublicKey::from_bytes(&blob).is_err() {
        return Err("the host key does not parse".to_owned());
    }
    if comment.iter().any(|word| STANDARD.decode(word).is_ok_and(|blob| type_of(&blob).is_some())) {
        notes.push("Flux reads the first key of a line only: write a line for each key".to_owned());
    }
    Ok(HostLine { revoked, notes })
}

/// Returns the type recorded inside a key (RFC 4253 §6.6).
fn type_of(blob: &[u8]) -> Option<&str> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let name = rest.get(..u32::from_be_bytes(*length) as usize)?;
    std::str::from_utf8(name).ok().filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()))
}

fn check_hosts(hosts: &str) -> Result<(), &'static str> {
    if let Some(hashed) = hosts.strip_prefix('|') {
        let parts: Vec<&str> = hashed.split('|').collect();
        let is_base64 = |text: &str| STANDARD.decode(text).is_ok();
        return match parts.as_slice() {
            ["1", salt, hash] if is_base64(salt) && is_base64(hash) => Ok(()),
            _ => Err("the hashed host name is damaged"),
        };
    }
    for pattern in hosts.split(',').filter(|pattern| !pattern.is_empty()) {
        let host = pattern.strip_prefix('!').unwrap_or(pattern);
        if host.is_empty() {
            return Err("a host name is empty");
        }
        if host.starts_with('[') && !host.contains("]:") {
            return Err("a host with a port is written as [host]:port");
        }
    }
    Ok(())
}

/// Returns warnings about host names that can never match.
fn odd_hosts(hosts: &str) -> Vec<String> {
    let mut notes = vec![];
    if let Some(hashed) = hosts.strip_prefix('|') {
        let is_short = |text: &str| STANDARD.decode(text).is_ok_and(|bytes| bytes.len() != HASH_BYTES);
        if hashed.split('|').skip(1).any(is_short) {
            notes.push("the hashed host name is damaged, and no host matches the line".to_owned());
        }
        return notes;
    }
    for host in hosts.split(',').map(|host| host.trim_start_matches('!')) {
        if host.is_empty() {
            notes.push("a host name is empty and is ignored".to_owned());
        } else if host == "*" {
            notes.push("the key is trusted for every host".to_owned());
        } else if let Some((scheme, _)) = host.split_once("://") {
            notes.push(format!("{host} is a URL: remove {scheme}:// and the path, or no host matches"));
        } else if let Some((user, _)) = host.split_once('@') {
            notes.push(format!("{host} is a user and a host: remove {user}@, or no host matches"));
        } else if let Some((name, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
            if name.is_empty() || !matches!(port.parse::<u16>(), Ok(1..)) {
                notes.push(format!("{host} has no valid host and port, and no host matches it"));
            }
        } else if host.matches(':').count() == 1 {
            // `host:22` without brackets is a host name that never matches; IPv6 addresses have more colons.
            notes.push("a host with a port is written as [host]:port".to_owned());
        }
    }
    notes
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
            format!("github.com {}", KEY.replace(' ', "\u{c}")),
            format!("[github.com] {KEY}"),
            format!("|1|%|AAAA {KEY}"),
            format!("|2|AAAA|AAAA {KEY}"),
            format!("|1|AAAA {KEY}"),
            format!("a,!,b {KEY}"),
        ] {
            let error = check(format!("{}{bad}\n", lines(&["ok"])).as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with("knownhosts-file line 2: "), "{bad}: {error}");
        }
    }

    #[test]
    fn a_trust_file_without_keys_is_refused() {
        for file in [String::new(), "# only a comment\n".into(), format!("@revoked github.com {KEY}\n")] {
            assert!(check(file.as_bytes()).unwrap_err().to_string().contains("no line has a trusted"), "{file}");
        }
    }

    #[test]
    fn odd_lines_warn() {
        for (line, words) in [
            (format!("* {KEY}"), "trusted for every host"),
            (format!("github.com:22 {KEY}"), "written as [host]:port"),
            (format!("[github.com]:0 {KEY}"), "no host matches it"),
            (format!("[]:22 {KEY}"), "no host matches it"),
            (format!("a,,b {KEY}"), "a host name is empty"),
            (format!("|1|AAAA|AAAA {KEY}"), "no host matches the line"),
            (format!("git@github.com {KEY}"), "remove git@"),
            (format!("https://github.com/a {KEY}"), "remove https:// and the path"),
            (format!("github.com {KEY} {KEY}"), "first key of a line only"),
            (
                format!("github.com {KEY} ecdsa-sha2-nistp256 {}", KEY.split(' ').nth(1).unwrap()),
                "first key of a line only",
            ),
            (format!("github.com {}", KEY.replace("ssh-ed25519", "ssh-rsa")), "the line says ssh-rsa"),
        ] {
            let warnings = check(line.as_bytes()).unwrap();
            assert!(matches!(warnings.as_slice(), [only] if only.contains(words)), "{line}: {warnings:?}");
        }
        for line in [format!("fd00::1 {KEY}"), format!("github.com {KEY} a note of three words")] {
            assert_eq!(check(line.as_bytes()), Ok(vec![]), "{line}");
        }
    }

    #[test]
    fn a_key_type_that_makes_flux_refuse_the_file_is_an_error() {
        let unknown = STANDARD.encode(b"\0\0\0\x0cssh-mldsa-65");
        let error =
            check(format!("github.com {KEY}\nother ssh-mldsa-65 {unknown}\n").as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error,
            "knownhosts-file line 2: Flux does not know keys of type ssh-mldsa-65, and refuses the whole file"
        );
        let certificate = STANDARD.encode(b"\0\0\0\x20ssh-ed25519-cert-v01@openssh.com");
        let line = format!("@cert-authority *.example.com ssh-ed25519-cert-v01@openssh.com {certificate}");
        assert_eq!(check(line.as_bytes()).map(|warnings| warnings.len()), Ok(1));
    }

    #[test]
    fn a_byte_order_mark_is_refused() {
        for file in [format!("\u{feff}github.com {KEY}\n"), format!("\u{feff}# note\ngithub.com {KEY}\n")] {
            assert!(check(file.as_bytes()).unwrap_err().to_string().contains("byte order mark"));
        }
    }

    proptest! {
        #[test]
        fn no_file_breaks_the_check(file in proptest::collection::vec(any::<u8>(), 0..200), hosts in "[|\\[\\]:!,@a-z0-9 ]{0,30}") {
            let _ = check(&file);
            let _ = check(format!("{hosts} {KEY}").as_bytes());
        }
    }
}
