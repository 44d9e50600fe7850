//! Masks credentials in texts: by their form, by the scheme or name before them, in addresses and in arguments. Pure.
//!
//! The value after a name ends at its closing quote; without quotes it ends at white space among flags, and otherwise
//! at the end of the line.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::{Captures, Regex};

use super::MASK;
use super::names::{names_credential, names_query_credential};
use super::words::{
    begins_a_reason, contains_word, is_credential_value, is_masked, is_public_user, is_random_word, is_reference,
    is_scheme, is_word_of_a_sentence, password_letters,
};

/// The extent of masking in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskExtent {
    /// All credentials.
    Credentials,
    /// All credentials, and all queries of addresses.
    CredentialsAndQueries,
    /// Credentials within a single word, and all queries. The line of a log can still be parsed.
    WordsAndQueries,
}

/// The patterns; [`check`] reports one that cannot be compiled.
struct RedactionPatterns {
    key_block: Regex,
    token: Regex,
    scheme: Regex,
    address: Regex,
    driver_address: Regex,
    webhook: Regex,
    element: Regex,
    parameter: Regex,
    query: Regex,
    named: Regex,
    reported: Regex,
    in_sentence: Regex,
    flag: Regex,
    user_flag: Regex,
    short_flag: Regex,
    block_scalar: Regex,
    pair: Regex,
    bare_user: Regex,
    receiver: Regex,
    statement: Regex,
    literal: Regex,
    piped: Regex,
    quoted_manifest: Regex,
}

/// Tokens that are recognised by their prefix. Object names contain neither `_` nor capitals, nor such long runs of
/// letters and digits without a dash.
const TOKENS: [&str; 34] = [
    r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Za-z]+",
    r"gh[pousr]_[A-Za-z0-9_]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct|rtr)-[A-Za-z0-9_.-]{16,}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",
    r"xapp-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}",
    r"npm_[A-Za-z0-9]{16,}",
    r"sk-(?:proj-|ant-[a-z0-9]+-|or-v1-|svcacct-|admin-|live-|test-)?[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*",
    r"[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"AIza[A-Za-z0-9_-]{20,}",
    r"ya29\.[A-Za-z0-9_-]{16,}",
    r"GOCSPX-[A-Za-z0-9_-]{16,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{16,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}",
    r"pypi-[A-Za-z0-9_]{16,}[A-Za-z0-9_-]*",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"do[opr]_v1_[a-f0-9]{32,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{10,}",
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{16,}",
    r"AT(?:ATT|CTT|BB)[A-Za-z0-9]?[A-Za-z0-9_=-]{16,}",
    r"gl(?:sa|c)_[A-Za-z0-9_+/=-]{20,}",
    r"nvapi-[A-Za-z0-9_-]{20,}",
    r"rubygems_[a-f0-9]{32,}",
    r"pul-[a-f0-9]{32,}",
    r"dapi[a-f0-9]{32}",
    r"(?:sbp|figd|xkeysib|dt0c01)[_.-][A-Za-z0-9_.-]{20,}",
    r"NR(?:AK|JS|AA)-[A-Za-z0-9-]{16,}",
    r"PMAK-[A-Za-z0-9-]{20,}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{20,}",
    // A JWT, or other JSON in base64, such as docker's configuration.
    r"eyJ[A-Za-z0-9_+/-]{16,}=*(?:\.[A-Za-z0-9_-]*)*",
];

static PATTERNS: LazyLock<Result<RedactionPatterns, regex::Error>> = LazyLock::new(RedactionPatterns::new);

impl RedactionPatterns {
    fn new() -> Result<Self, regex::Error> {
        Ok(RedactionPatterns {
            // OpenSSL's and OpenSSH's, PGP's, SSH2's with four dashes, PuTTY's; also truncated ones.
            key_block: Regex::new(concat!(
                r"(?:-{4,5} ?BEGIN [^-\n]*PRIVATE KEY[^-\n]* ?-{4,5}[\s\S]*?(?:-{4,5} ?END [^-\n]*PRIVATE KEY[^-\n]* ?-{4,5}|$))",
                r"|(?:PuTTY-User-Key-File-\d[\s\S]*?(?:Private-MAC: ?[0-9a-f]*|$))"
            ))?,
            token: Regex::new(&format!("(^|[^A-Za-z0-9])(?:{})", TOKENS.join("|")))?,
            scheme: Regex::new(r"(?i)(\b(bearer|basic|negotiate)(?:[ \t]+|%20))([A-Za-z0-9._~+/=-]{5,})")?,
            address: Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*)://([^\s"'<>`\\]+)"#)?,
            // `user:password@tcp(host:3306)/db`, the format of Go drivers.
            driver_address: Regex::new(r#"([A-Za-z0-9_.-]+):([^\s"'<>\\]+)@(tcp|udp|unix)\("#)?,
            // Their paths are enough to write to the chat.
            webhook: Regex::new(concat!(
                r"((?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|webhook\.office(?:365)?\.com/[a-z0-9]+/",
                r"|outlook\.office(?:365)?\.com/webhook/|discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot",
                r"|events\.pagerduty\.com/integration/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/))",
                r#"([^\s"'<>?\\]+)"#
            ))?,
            element: Regex::new(r"<([A-Za-z][A-Za-z0-9_.:-]*)((?:\s[^<>]*)?>)([^<>]+)</")?,
            parameter: Regex::new(r#"([?&#]|&amp;|\\u0026)([A-Za-z0-9_.%\[\]-]+)=([^&\s"'<>\\#]+)"#)?,
            query: Regex::new(r#"(://[^\s"'<>?#\\]+)([?#])([^\s"'<>\\]+)"#)?,
            named: Regex::new(r#"(?:([A-Za-z]+) )?([A-Za-z][A-Za-z0-9_.-]*)(\\*["'])?[ \t]*(:=|=>|[:=])[ \t]*"#)?,
            reported: Regex::new(
                r#"(?i)(password|passwd|passphrase|pwd|token|api[ _-]?key)([ \t]+)("[^"\n]{4,}"|'[^'\n]{4,}'|[^\s"'=:,;()\[\]-][^\s"'=:,;()\[\]]{5,})"#,
            )?,
            // `Password for user app: …` and `the token is …`.
            in_sentence: Regex::new(
                r#"(?i)(password|passwd|passphrase|token|secret|api[ _-]?key)((?:[ \t]+for[ \t]+[^\s:=]+(?:[ \t]+[^\s:=]+)?:|[ \t]+(?:is|was)(?:[ \t]+now)?:?)[ \t]+)([^\s"'=:,;()\[\]-][^\s"'=:,;()\[\]]{5,})"#,
            )?,
            flag: Regex::new(
                r#"(^|[\s"'=(\[,])(--?[A-Za-z][A-Za-z0-9_.-]*)(["']?(?:,[ \t]*|[ \t]+))("[^"\n]*"|'[^'\n]*'|[^\s"'-][^\s"']*)"#,
            )?,
            user_flag: Regex::new(
                r#"(^|[\s"'(\[,])(-u|-U|--user|--proxy-user|--userpass|--basic-auth)(["']?(?:,[ \t]*|[ \t]+|=)?["']?)([^\s:"'=,\[-][^\s:"'=,]*):([^\s"']+)"#,
            )?,
            short_flag: Regex::new(r#"(^|[\s"',\[])(-[apPwW])(["']?(?:,[ \t]*|[ \t]+)["']?)?([^\s"',][^\s"']*)"#)?,
            block_scalar: Regex::new(r"^[|>][+-]?\d?[+-]?[ \t]*(?:#.*)?$")?,
            // Name and value in two fields: a variable in a text, an element with attributes, a struct that Go printed.
            pair: Regex::new(concat!(
                r#"(?i)(\b(?:name|key)(?:\\*["'])?[ \t]*[:=][ \t]*(?:\\*["'])?)([a-z][a-z0-9_.-]*)"#,
                r#"((?:\\*["'])?[,;]?\s*(?:\\*["'])?\bvalue(?:\\*["'])?[ \t]*[:=][ \t]*)"#,
                r#"("[^"\n]*"|'[^'\n]*'|\\+"[^"\n]*\\+"|[^\s,;{}\[\]()"'\\][^\s,;}\])"'\\]*)"#
            ))?,
            // `user:password@host:port` and `user:password@host/path`, an address without a scheme.
            bare_user: Regex::new(
                r#"(^|[\s"'=(\[,])([A-Za-z0-9][A-Za-z0-9_.%+-]*):([^\s"'<>@/:=,]+)@([A-Za-z0-9.-]+(?::\d|/))"#,
            )?,
            // The path of a Receiver, which is enough to call it.
            receiver: Regex::new(r"(/hook/)[0-9a-f]{64}")?,
            // Statements of Redis and SQL.
            statement: Regex::new(concat!(
                r#"(?i)(\b(?:requirepass|masterauth)[ \t]+|\buser\b[^\n]{0,200}\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?(?:by|as)[ \t]+)"#,
                r#"("[^"\n]+"|'[^'\n]+'|[^\s"']+)"#
            ))?,
            literal: Regex::new(
                r#"(-{2}from-literal(?:=|[ \t]+|["'],[ \t]*["'])["']?)([^\s"'=]+)=("[^"\n]*"|'[^'\n]*'|[^\s"']+)"#,
            )?,
            piped: Regex::new(concat!(
                r#"(\b(?:echo|printf)[ \t]+(?:-n[ \t]+|["']?%s(?:\\n)?["']?[ \t]+)?)"#,
                r#"("[^"\n]*"|'[^'\n]*'|[^\s|"']+)([ \t]*\|[^|\n]*-stdin\b)"#
            ))?,
            // Parts of a manifest in an answer of the API server that refuses a Secret.
            quoted_manifest: Regex::new(concat!(
                r"(Secret[^\n]*error found in #\d+ byte of \.\.\.\|)([\s\S]*?)",
                r"(\|\.\.\., bigger context \.\.\.\|)([\s\S]*?)(\|\.\.\.|$)"
            ))?,
        })
    }
}

/// Checks that texts can be searched.
///
/// # Errors
/// A pattern cannot be compiled.
pub(super) fn check() -> Result<(), &'static regex::Error> {
    PATTERNS.as_ref().map(|_| ())
}

/// Removes credentials from a text and returns how many it contained; `secrets` are names of Secrets, which are kept.
pub(super) fn mask(text: &str, extent: MaskExtent, secrets: &BTreeSet<String>) -> (String, usize) {
    // A bundle calls `check` first. A page does not, so its whole text is masked if the patterns cannot be compiled.
    let Ok(patterns) = PATTERNS.as_ref() else { return (MASK.to_owned(), 1) };
    let mut masking = Masking { text: text.to_owned(), count: 0 };
    masking.replace(&patterns.key_block, |_| Some(MASK.to_owned()));
    masking.replace(&patterns.token, |found| Some(format!("{}{MASK}", &found[1])));
    masking.replace(&patterns.scheme, |found| is_scheme(&found[2], &found[3]).then(|| format!("{}{MASK}", &found[1])));
    masking.replace(&patterns.address, |found| without_user_info(&found[1], &found[2]));
    masking.replace(&patterns.driver_address, |found| Some(format!("{MASK}@{}(", &found[3])));
    // Most lines have none of these words, and a search for a word costs less than a pattern.
    if text.contains("/hook/") {
        masking.replace(&patterns.receiver, |found| Some(format!("{}{MASK}", &found[1])));
    }
    if text.contains('@') {
        masking.replace(&patterns.bare_user, |found| {
            let is_kept = is_public_user(&found[2], &found[3]) || is_digest_host(&found[4]);
            (!is_kept).then(|| format!("{}{MASK}@{}", &found[1], &found[4]))
        });
    }
    masking.replace(&patterns.webhook, |found| {
        let (value, rest) = split_punctuation(&found[2]);
        (!is_masked(value)).then(|| format!("{}{MASK}{rest}", &found[1]))
    });
    masking.replace(&patterns.element, |found| {
        let is_credential = names_credential(&found[1]) && is_credential_value(&found[1], &found[3], secrets);
        is_credential.then(|| format!("<{}{}{MASK}</", &found[1], &found[2]))
    });
    masking.replace(&patterns.parameter, |found| {
        let (value, rest) = split_punctuation(&found[3]);
        let is_credential = names_query_credential(&found[2]) && !is_masked(value) && !is_reference(value);
        is_credential.then(|| format!("{}{}={MASK}{rest}", &found[1], &found[2]))
    });
    if extent != MaskExtent::Credentials {
        masking.replace(&patterns.query, |found| {
            let (value, rest) = split_punctuation(&found[3]);
            (!is_masked(value) && !value.is_empty()).then(|| format!("{}{}{MASK}{rest}", &found[1], &found[2]))
        });
    }
    if extent != MaskExtent::WordsAndQueries {
        if text.contains("error found in #") {
            masking.replace(&patterns.quoted_manifest, |found| {
                Some(format!("{}{MASK}{}{MASK}{}", &found[1], &found[3], &found[5]))
            });
        }
        masking.mask_pairs(patterns, secrets);
        masking.replace(&patterns.statement, |found| {
            quoted_value(&found[2], secrets).map(|value| format!("{}{value}", &found[1]))
        });
        if text.contains("from-literal") {
            masking.replace(&patterns.literal, |found| {
                quoted_value(&found[3], secrets).map(|value| format!("{}{}={value}", &found[1], &found[2]))
            });
        }
        if text.contains("-stdin") {
            masking.replace(&patterns.piped, |found| {
                quoted_value(&found[2], secrets).map(|value| format!("{}{value}{}", &found[1], &found[3]))
            });
        }
        masking.mask_named(patterns, secrets);
        masking.replace(&patterns.reported, |found| {
            let quote =
                found[3].chars().next().filter(|c| matches!(c, '"' | '\'')).map(String::from).unwrap_or_default();
            let value = found[3].trim_matches(['"', '\'']);
            let is_told = if quote.is_empty() { is_random_word(value) } else { !is_masked(value) };
            is_told.then(|| format!("{}{}{quote}{MASK}{quote}", &found[1], &found[2]))
        });
        masking.replace(&patterns.in_sentence, |found| {
            is_random_word(&found[3]).then(|| format!("{}{}{MASK}", &found[1], &found[2]))
        });
        masking.replace(&patterns.flag, |found| flag_value(found, secrets));
        masking.replace(&patterns.user_flag, |found| {
            (!is_public_user(&found[4], &found[5]))
                .then(|| format!("{}{}{}{}:{MASK}", &found[1], &found[2], &found[3], &found[4]))
        });
        let letters = password_letters(&masking.text);
        if !letters.is_empty() {
            masking.replace(&patterns.short_flag, |found| short_flag_value(found, &letters));
        }
    }
    (masking.text, masking.count)
}

struct Masking {
    text: String,
    count: usize,
}

impl Masking {
    /// Replaces the matches for which `with` returns a text.
    fn replace(&mut self, pattern: &Regex, with: impl Fn(&Captures<'_>) -> Option<String>) {
        let mut replaced = String::new();
        let mut copied = 0;
        for found in pattern.captures_iter(&self.text) {
            let whole = found.get(0).map_or(0..0, |whole| whole.range());
            let Some(new) = with(&found) else { continue };
            // A value that was masked before is not counted again.
            if self.text.get(whole.clone()) == Some(new.as_str()) {
                continue;
            }
            replaced.push_str(self.text.get(copied..whole.start).unwrap_or_default());
            replaced.push_str(&new);
            copied = whole.end;
            self.count += 1;
        }
        if copied > 0 {
            replaced.push_str(self.text.get(copied..).unwrap_or_default());
            self.text = replaced;
        }
    }

    /// Masks values in fields after a field with the name of a credential.
    fn mask_pairs(&mut self, patterns: &RedactionPatterns, secrets: &BTreeSet<String>) {
        self.replace(&patterns.pair, |found| {
            if !names_credential(&found[2]) {
                return None;
            }
            quoted_value(&found[4], secrets).map(|value| format!("{}{}{}{value}", &found[1], &found[2], &found[3]))
        });
    }

    /// Masks values after names of credentials.
    fn mask_named(&mut self, patterns: &RedactionPatterns, secrets: &BTreeSet<String>) {
        let mut masked = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(found) = patterns.named.captures_at(&self.text, at) {
            let Some(whole) = found.get(0) else { break };
            // The next name may be inside the value of this one.
            at = whole.end().max(at + 1);
            let Some(value) = named_value(&self.text, &found, patterns, secrets) else { continue };
            masked.push_str(self.text.get(copied..value.start).unwrap_or_default());
            masked.push_str(MASK);
            (copied, at) = (value.end, value.end);
            self.count += 1;
            if at >= self.text.len() {
                break;
            }
        }
        if copied > 0 {
            masked.push_str(self.text.get(copied..).unwrap_or_default());
            self.text = masked;
        }
    }
}

/// Returns the range of the value after a name, if it is a credential.
fn named_value(
    text: &str,
    found: &Captures<'_>,
    patterns: &RedactionPatterns,
    secrets: &BTreeSet<String>,
) -> Option<std::ops::Range<usize>> {
    let (whole, name) = (found.get(0)?, found.get(2)?);
    let word_before = found.get(1).map_or("", |word| word.as_str());
    let (is_quoted_name, separator) = (found.get(3).is_some(), &found[4]);
    // `api key: x` is a name of two words; `secret data: x` is a sentence.
    let is_pair = !is_quoted_name
        && ["key", "string", "phrase"].iter().any(|last| name.as_str().eq_ignore_ascii_case(last))
        && names_credential(&format!("{word_before} {}", name.as_str()));
    if !names_credential(name.as_str()) && !is_pair {
        return None;
    }
    let before = text.get(..name.start())?.chars().next_back();
    let (start, rest) = (whole.end(), text.get(whole.end()..)?);
    // `Secret/apps/db-password: not found` and `example.com/my-secret:v1` name an object and an image.
    if separator == ":" && matches!(before, Some('/' | '@')) {
        return None;
    }
    let line = rest.lines().next().unwrap_or_default();
    if matches!(before, Some('?' | '&' | '#')) && separator == "=" {
        // A query parameter was already checked.
        return None;
    }
    let scheme = scheme_length(line);
    // A text of several lines, as in TOML and Python. In YAML, three single quotes are an opening and an escaped one.
    let is_tripled = |quotes: &&str| {
        let after = rest.strip_prefix(*quotes);
        after.is_some_and(|after| quotes.starts_with('"') || after.contains(*quotes))
    };
    let tripled = ["\"\"\"", "'''"].into_iter().find(is_tripled);
    let (value_start, end) = if let Some(quotes) = tripled {
        let inner = start + quotes.len();
        let length = text.get(inner..)?.find(quotes);
        (inner, length.map_or(text.len(), |length| inner + length))
    } else if let Some(opening) = opening_quote(rest) {
        let inner = start + opening.len();
        let scheme = scheme_length(text.get(inner..)?);
        let end = closing_quote(text.get(inner..)?, opening).map_or(start + line.len(), |length| inner + length);
        ((inner + scheme).min(end), end)
    } else if line.starts_with('[') && !line.starts_with(MASK) {
        (start + 1, start + line.find(']').unwrap_or(line.len()))
    } else if line.starts_with('{') {
        // The names inside of it are checked separately.
        return None;
    } else if patterns.block_scalar.is_match(line) {
        return block_below(text, whole.start(), start + line.len());
    } else if before == Some('-') {
        let length = line.find(|c: char| c.is_whitespace() || c == '"' || c == '\'').unwrap_or(line.len());
        (start + scheme.min(length), start + length)
    } else {
        // Inside a quoted text the value ends with the quote.
        let line_start = text.get(..name.start())?.rfind('\n').map_or(0, |at| at + 1);
        let ahead = text.get(line_start..name.start())?;
        let is_inside = |quote: char| ahead.matches(quote).count() % 2 == 1 && (quote == '"' || before == Some(quote));
        let quote = ['"', '\''].into_iter().find(|quote| !is_quoted_name && is_inside(*quote));
        let length = quote.and_then(|quote| closing_quote(line, if quote == '"' { "\"" } else { "'" }));
        (start + scheme, start + length.unwrap_or(line.len()))
    };
    let value = text.get(value_start..end)?.trim_end();
    let end = value_start + value.len();
    // The bracket of a masked list.
    let is_kept = (line.starts_with("[[") && is_masked(&format!("{value}]")))
        || !is_credential_value(name.as_str(), value, secrets);
    if is_kept {
        return None;
    }
    // "failed to fetch anonymous token: unexpected status 403" contains a reason and no token.
    let ahead = text.get(..name.start())?.trim_end_matches(['"', '\'', '\\']);
    let follows_a_word = ahead.ends_with(' ') && ahead.trim_end().ends_with(|c: char| c.is_ascii_lowercase());
    let is_prose = separator == ":" && (follows_a_word || !word_before.is_empty()) && begins_a_reason(value);
    (!is_prose).then_some(value_start..end)
}

/// Returns the lines of a block scalar: those that are indented more than the line of its name.
fn block_below(text: &str, name_at: usize, line_end: usize) -> Option<std::ops::Range<usize>> {
    let line_start = text.get(..name_at)?.rfind('\n').map_or(0, |at| at + 1);
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let outer = indent(text.get(line_start..line_end)?);
    let mut lines = text.get(line_end..)?.split_inclusive('\n');
    let first = line_end + lines.next()?.len();
    let below = lines.take_while(|line| line.trim().is_empty() || indent(line) > outer).map(str::len).sum::<usize>();
    let below = text.get(first..first + below)?;
    let start = first + (below.len() - below.trim_start().len());
    let end = first + below.trim_end().len();
    (start < end && !is_masked(text.get(start..end)?)).then_some(start..end)
}

/// Returns the quote at the beginning of a text, with the backslashes of a quoted text around it.
fn opening_quote(text: &str) -> Option<&str> {
    let backslashes = text.bytes().take_while(|byte| *byte == b'\\').count();
    text.as_bytes().get(backslashes).filter(|byte| matches!(byte, b'"' | b'\''))?;
    text.get(..=backslashes)
}

/// Returns the end of a text that begins with `opening`.
fn closing_quote(text: &str, opening: &str) -> Option<usize> {
    let level = opening.len() - 1;
    let quote = opening.as_bytes().last().copied()?;
    let (mut backslashes, mut skipped) = (0, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if skipped {
            skipped = false;
        } else if *byte == b'\\' {
            backslashes += 1;
            continue;
        // If a quote takes `level` backslashes, a literal backslash takes `2 * (level + 1)`.
        } else if *byte == quote && backslashes >= level && (backslashes - level).is_multiple_of(2 * (level + 1)) {
            // Two single quotes are an escaped one in YAML.
            if quote == b'\'' && level == 0 && at > 0 && bytes.get(at + 1) == Some(&b'\'') {
                skipped = true;
            } else {
                return Some(at - backslashes.min(level));
            }
        }
        backslashes = 0;
    }
    None
}

/// Returns the length of `Bearer ` and similar words at the beginning of a value.
fn scheme_length(value: &str) -> usize {
    ["bearer ", "basic ", "token ", "digest ", "negotiate ", "apikey "]
        .into_iter()
        .find(|scheme| value.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)))
        .map_or(0, str::len)
}

/// Removes user and password from an address; `None` if it has none.
fn without_user_info(scheme: &str, rest: &str) -> Option<String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    // The last `@` counts, as in Go and in browsers. If a password contains a slash, the `@` is in the path.
    let at = match authority.rfind('@') {
        Some(at) => at,
        None => {
            let after_colon =
                authority.split_once(':').map(|(_, port)| port.trim_end_matches([',', ';', ')', '.', ':']));
            let is_port = after_colon.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
            if is_port || authority.starts_with('[') || path.is_empty() {
                return None;
            }
            rest.rfind('@')?
        }
    };
    let (user, host) = (rest.get(..at)?, rest.get(at..)?);
    // `ssh://git@…` is a well-known login.
    let is_login = scheme.ends_with("ssh") && !user.contains(':');
    (!is_login && !is_masked(user) && !user.is_empty()).then(|| format!("{scheme}://{MASK}{host}"))
}

/// Reduces an address to its public parts: without user, password, query and fragment.
pub(super) fn plain_address(address: &str) -> String {
    let (address, _) = address.split_once(['?', '#']).unwrap_or((address, ""));
    let plain = address.split_once("://").and_then(|(scheme, rest)| {
        let masked = without_user_info(scheme, rest)?;
        masked.split_once(&format!("://{MASK}@")).map(|(scheme, rest)| format!("{scheme}://{rest}"))
    });
    let plain = plain.unwrap_or_else(|| address.to_owned());
    match without_bare_user_info(&plain) {
        Some(_) => plain.rsplit_once('@').map_or_else(String::new, |(_, host)| host.to_owned()),
        None => plain,
    }
}

/// Removes the user and password from `user:password@host/path`, an address without a scheme that is the whole text;
/// `None` if it has no password.
pub(super) fn without_bare_user_info(address: &str) -> Option<String> {
    let (user, host) = address.rsplit_once('@')?;
    // `registry:5000/app@sha256:…` is an image with its digest.
    let is_digest = host.starts_with("sha") && host.contains(':');
    let is_pair = user.split_once(':').is_some_and(|(name, password)| !name.contains('/') && !is_masked(password));
    (is_pair && !is_digest && !address.contains("://") && !address.contains(char::is_whitespace))
        .then(|| format!("{MASK}@{host}"))
}

/// `sha256:`, which follows an `@` in references to images and revisions.
fn is_digest_host(host: &str) -> bool {
    host.starts_with("sha") && host.contains(':') && !host.contains('.')
}

/// Returns a mask in the quotes of a value; `None` if the value is not a credential.
fn quoted_value(value: &str, secrets: &BTreeSet<String>) -> Option<String> {
    let quote = value.find(['"', '\'']).filter(|at| value.bytes().take(*at).all(|byte| byte == b'\\'));
    let quote = quote.and_then(|at| value.get(..=at)).unwrap_or_default();
    let inner = value.get(quote.len()..).unwrap_or_default();
    let inner = inner.strip_suffix(quote).unwrap_or(inner);
    is_credential_value("", inner, secrets).then(|| format!("{quote}{MASK}{quote}"))
}

/// Masks values in fields after a field with the name of a credential, also on the next line.
pub(super) fn mask_pairs(text: &str, secrets: &BTreeSet<String>) -> (String, usize) {
    let mut masking = Masking { text: text.to_owned(), count: 0 };
    if let Ok(patterns) = PATTERNS.as_ref() {
        masking.mask_pairs(patterns, secrets);
    }
    (masking.text, masking.count)
}

fn flag_value(found: &Captures<'_>, secrets: &BTreeSet<String>) -> Option<String> {
    let (flag, value) = (&found[2], &found[4]);
    let name = flag.trim_start_matches('-');
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = value.trim_matches(['"', '\'']);
    let is_kept = name.len() < 2
        || !names_credential(name)
        || !is_credential_value(name, inner, secrets)
        || (quote.is_none() && is_word_of_a_sentence(inner));
    let quote = quote.map(String::from).unwrap_or_default();
    (!is_kept).then(|| format!("{}{flag}{}{quote}{MASK}{quote}", &found[1], &found[3]))
}

fn short_flag_value(found: &Captures<'_>, letters: &[(char, bool, bool)]) -> Option<String> {
    let (flag, value) = (&found[2], &found[4]);
    let separator = found.get(3).map_or("", |separator| separator.as_str());
    let letter = flag.chars().next_back()?;
    let is_password = letters.iter().any(|(of, attached, apart)| {
        *of == letter && if separator.is_empty() { *attached } else { *apart && !value.starts_with('-') }
    });
    (is_password && !is_masked(value) && !is_reference(value) && !is_word_of_a_sentence(value))
        .then(|| format!("{}{flag}{separator}{MASK}", &found[1]))
}

/// Splits off the punctuation at the end of a word.
fn split_punctuation(word: &str) -> (&str, &str) {
    let value = word.trim_end_matches([':', ',', '.', ';', ')', '}']);
    (value, word.get(value.len()..).unwrap_or_default())
}

/// Returns the credentials in a secret text: passwords of addresses and values after names of credentials.
pub(super) fn credentials_within(text: &str) -> Vec<String> {
    let Ok(patterns) = PATTERNS.as_ref() else { return vec![] };
    let mut found = vec![];
    for address in patterns.address.captures_iter(text) {
        let (Some(scheme), Some(rest)) = (address.get(1), address.get(2)) else { continue };
        let Some(masked) = without_user_info(scheme.as_str(), rest.as_str()) else { continue };
        let host = masked.len() - (scheme.len() + 3 + MASK.len());
        let user_info = rest.as_str().get(..rest.len().saturating_sub(host)).unwrap_or_default();
        if let Some((_, password)) = user_info.split_once(':') {
            found.push(percent_decode_str(password).decode_utf8_lossy().into_owned());
            found.push(password.to_owned());
        }
    }
    // `machine HOST login USER password PASSWORD`, as in `.netrc`.
    let is_netrc = contains_word(text, "machine") && contains_word(text, "login");
    for reported in patterns.reported.captures_iter(text) {
        let value = reported[3].trim_matches(['"', '\'']);
        found.extend((is_netrc || is_random_word(value)).then(|| value.to_owned()));
    }
    let none = BTreeSet::new();
    let mut at = 0;
    while let Some(named) = patterns.named.captures_at(text, at) {
        let Some(whole) = named.get(0) else { break };
        at = whole.end().max(at + 1);
        if let Some(value) = named_value(text, &named, patterns, &none) {
            found.extend(text.get(value.clone()).map(str::to_owned));
            at = value.end.max(at);
        }
        if at >= text.len() {
            break;
        }
    }
    found
}
