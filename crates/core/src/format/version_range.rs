//! Version ranges with the rules of Masterminds/semver v3, the library that Flux uses to select versions.
//!
//! The `semver` crate's own `VersionReq` would install other versions of Flux (`2.7` means `^2.7` there and `2.7.*`
//! here; spaces, `||` and hyphen ranges are errors there), so only its `Version` is used.
//!
//! ```text
//! range      = group *( "||" group )          one of the groups
//! group      = comparator *( ( " " | "," ) comparator )   all of them
//! comparator = [ operator ] [ "v" ] part [ "." part [ "." part ] ] [ "-" pre-release ] [ "+" build ]
//! operator   = "=" "!=" ">" "<" ">=" "=>" "<=" "=<" "~" "~>" "^"
//! part       = number | "x" | "X" | "*"
//! ```
//! `a - b` (with spaces) is short for `>=a, <=b`. A missing part counts as a wildcard. A pre-release matches only if a
//! comparator of the same group names one.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use semver::{BuildMetadata, Prerelease, Version};

/// A parsed version range; [`fmt::Display`] returns the original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    groups: Vec<Vec<Comparator>>,
}

/// A text that is not a version range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("semver '{range}' parse error: improper constraint: \"{range}\"{}", .part.as_ref().map(|p| format!(" (at \"{p}\")")).unwrap_or_default())]
pub struct VersionRangeError {
    /// The whole text, as given.
    pub range: String,
    /// The unreadable piece, if it is not the whole text.
    pub part: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparator {
    operator: RangeOperator,
    version: Version,
    /// The first part that is missing or a wildcard.
    wildcard: Wildcard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeOperator {
    TildeOrEqual,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wildcard {
    Major,
    Minor,
    Patch,
    None,
}

/// Longest first, so that `>=` is not read as `>`.
const OPERATORS: [(&str, RangeOperator); 12] = [
    (">=", RangeOperator::GreaterOrEqual),
    ("=>", RangeOperator::GreaterOrEqual),
    ("<=", RangeOperator::LessOrEqual),
    ("=<", RangeOperator::LessOrEqual),
    ("!=", RangeOperator::NotEqual),
    ("~>", RangeOperator::Tilde),
    ("=", RangeOperator::TildeOrEqual),
    (">", RangeOperator::Greater),
    ("<", RangeOperator::Less),
    ("~", RangeOperator::Tilde),
    ("^", RangeOperator::Caret),
    ("", RangeOperator::TildeOrEqual),
];

impl FromStr for VersionRange {
    type Err = VersionRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let groups = text
            .split("||")
            .map(|group| {
                parse_group(group)
                    .map_err(|part| VersionRangeError { range: text.to_string(), part: (part != text).then_some(part) })
            })
            .collect::<Result<_, _>>()?;
        Ok(VersionRange { text: text.to_string(), groups })
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl VersionRange {
    /// Whether the range contains the version. Build metadata is ignored.
    pub fn matches(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let names_pre_release = group.iter().any(|comparator| !comparator.version.pre.is_empty());
            (version.pre.is_empty() || names_pre_release) && group.iter().all(|comparator| comparator.matches(version))
        })
    }
}

impl Comparator {
    fn matches(&self, v: &Version) -> bool {
        let con = &self.version;
        let order = v.cmp_precedence(con);
        match self.operator {
            RangeOperator::TildeOrEqual if self.wildcard == Wildcard::None => order == Ordering::Equal,
            RangeOperator::TildeOrEqual | RangeOperator::Tilde => self.tilde(v, order),
            RangeOperator::NotEqual => self.not_equal(v, order),
            RangeOperator::Less => order == Ordering::Less,
            RangeOperator::GreaterOrEqual => order != Ordering::Less,
            // `>2` means "a later major", `>2.7` "a later minor".
            RangeOperator::Greater => match self.wildcard {
                _ if v.major != con.major => v.major > con.major,
                Wildcard::Minor => false,
                Wildcard::Patch => v.minor > con.minor,
                Wildcard::None | Wildcard::Major => order == Ordering::Greater,
            },
            // `<=2` means "any 2.x", `<=2.7` "any 2.7.x".
            RangeOperator::LessOrEqual => match self.wildcard {
                Wildcard::None => order != Ordering::Greater,
                Wildcard::Minor => v.major <= con.major,
                // Masterminds treats a wildcard alone as 0.0, not as everything.
                Wildcard::Patch | Wildcard::Major => (v.major, v.minor) <= (con.major, con.minor),
            },
            RangeOperator::Caret => self.caret(v, order),
        }
    }

    fn tilde(&self, v: &Version, order: Ordering) -> bool {
        let con = &self.version;
        if order == Ordering::Less {
            return false;
        }
        // Masterminds' special case: `~0.0.0` (and so `*`) matches everything.
        if (con.major, con.minor, con.patch) == (0, 0, 0) && matches!(self.wildcard, Wildcard::None | Wildcard::Major) {
            return true;
        }
        v.major == con.major && (v.minor == con.minor || self.wildcard <= Wildcard::Minor)
    }

    fn not_equal(&self, v: &Version, order: Ordering) -> bool {
        let con = &self.version;
        match self.wildcard {
            // Masterminds treats a wildcard alone as 0.0.0.
            Wildcard::None | Wildcard::Major => order != Ordering::Equal,
            Wildcard::Minor => v.major != con.major,
            Wildcard::Patch => {
                (v.major, v.minor) != (con.major, con.minor)
                    || ((!v.pre.is_empty() || !con.pre.is_empty()) && v.pre != con.pre)
            }
        }
    }

    fn caret(&self, v: &Version, order: Ordering) -> bool {
        let con = &self.version;
        if order == Ordering::Less || v.major != con.major {
            return false;
        }
        if con.major > 0 || self.wildcard == Wildcard::Minor {
            return true;
        }
        // Below 1.0.0, the first non-zero part must stay the same.
        if con.minor > 0 || self.wildcard == Wildcard::Patch {
            return v.minor == con.minor;
        }
        v.minor == 0 && v.patch == con.patch
    }
}

/// Parses a version as Masterminds does: an optional `v`, one to three numeric parts (`v2.7` is 2.7.0), and an optional
/// pre-release or build suffix, which may follow any part. Returns `None` for everything else.
pub fn parse_version_lenient(text: &str) -> Option<Version> {
    let scanned = scan_version(text)?;
    if scanned.length != text.len() || scanned.wildcards.iter().any(|wild| *wild) {
        return None;
    }
    Some(scanned.version)
}

/// Parses one AND group. The error is the piece that could not be read.
fn parse_group(group: &str) -> Result<Vec<Comparator>, String> {
    let mut comparators = Vec::new();
    let mut rest = group.trim_ascii_start();
    if rest.is_empty() {
        return Err(group.to_string());
    }
    while !rest.is_empty() {
        let (comparator, after) = parse_comparator(rest).ok_or_else(|| rest.trim_ascii_end().to_string())?;
        rest = after;
        // `a - b`: without spaces on both sides the hyphen begins a pre-release.
        if let Some(upper) = hyphen_upper_bound(rest) {
            if comparator.operator != RangeOperator::TildeOrEqual {
                return Err(group.trim_ascii().to_string());
            }
            let (upper, after) = parse_comparator(upper).ok_or_else(|| upper.to_string())?;
            if upper.operator != RangeOperator::TildeOrEqual {
                return Err(group.trim_ascii().to_string());
            }
            comparators.push(Comparator { operator: RangeOperator::GreaterOrEqual, ..comparator });
            comparators.push(Comparator { operator: RangeOperator::LessOrEqual, ..upper });
            rest = after;
        } else {
            comparators.push(comparator);
        }
        rest = next_comparator(rest)?;
    }
    Ok(comparators)
}

/// Skips the separator between two comparators: white space, or a comma and white space.
fn next_comparator(rest: &str) -> Result<&str, String> {
    let trimmed = rest.trim_ascii_start();
    if trimmed.is_empty() {
        return Ok("");
    }
    match trimmed.strip_prefix(',') {
        Some(after) if !after.trim_ascii().is_empty() => Ok(after.trim_ascii_start()),
        Some(_) => Err(trimmed.to_string()),
        None if trimmed.len() < rest.len() => Ok(trimmed),
        None => Err(trimmed.trim_ascii_end().to_string()),
    }
}

fn hyphen_upper_bound(rest: &str) -> Option<&str> {
    let after = rest.trim_ascii_start();
    let upper = after.strip_prefix('-')?;
    (after.len() < rest.len() && upper.starts_with(|c: char| c.is_ascii_whitespace())).then(|| upper.trim_ascii_start())
}

fn parse_comparator(text: &str) -> Option<(Comparator, &str)> {
    let (prefix, operator) = OPERATORS.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let after = text.get(prefix.len()..)?.trim_ascii_start();
    let scanned = scan_version(after)?;
    let [major, minor, patch] = scanned.wildcards;
    let wildcard = if major {
        Wildcard::Major
    } else if minor || scanned.parts < 2 {
        Wildcard::Minor
    } else if patch || scanned.parts < 3 {
        Wildcard::Patch
    } else {
        Wildcard::None
    };
    let mut version = scanned.version;
    // Everything after the first wildcard is a wildcard too: `2.x.5` is `2.x`.
    match wildcard {
        Wildcard::Major => (version.major, version.minor, version.patch) = (0, 0, 0),
        Wildcard::Minor => (version.minor, version.patch) = (0, 0),
        Wildcard::Patch => version.patch = 0,
        Wildcard::None => {}
    }
    Some((Comparator { operator: *operator, version, wildcard }, after.get(scanned.length..)?))
}

struct ScannedVersion {
    version: Version,
    /// How many of the three parts were written.
    parts: usize,
    wildcards: [bool; 3],
    /// Bytes read.
    length: usize,
}

/// Reads `[v]N[.N[.N]][-pre][+build]` at the beginning of the text; a part may be a wildcard.
fn scan_version(text: &str) -> Option<ScannedVersion> {
    let mut rest = text.strip_prefix('v').unwrap_or(text);
    let mut numbers = [0u64; 3];
    let mut wildcards = [false; 3];
    let mut parts = 0;
    for (number, wildcard) in numbers.iter_mut().zip(wildcards.iter_mut()) {
        let candidate = if parts == 0 {
            rest
        } else {
            match rest.strip_prefix('.') {
                Some(after) => after,
                None => break,
            }
        };
        let end = candidate.find(|c: char| !c.is_ascii_digit()).unwrap_or(candidate.len());
        if end > 0 {
            *number = candidate.get(..end)?.parse().ok()?;
            rest = candidate.get(end..)?;
        } else {
            rest = candidate.strip_prefix(['x', 'X', '*'])?;
            *wildcard = true;
        }
        parts += 1;
    }
    let mut pre = Prerelease::EMPTY;
    if let Some((identifier, after)) = rest.strip_prefix('-').and_then(identifiers) {
        pre = Prerelease::new(identifier).ok()?;
        rest = after;
    }
    let mut build = BuildMetadata::EMPTY;
    if let Some((identifier, after)) = rest.strip_prefix('+').and_then(identifiers) {
        build = BuildMetadata::new(identifier).ok()?;
        rest = after;
    }
    let [major, minor, patch] = numbers;
    Some(ScannedVersion {
        version: Version { major, minor, patch, pre, build },
        parts,
        wildcards,
        length: text.len() - rest.len(),
    })
}

/// Splits off the dot-separated identifiers of a pre-release or build suffix; `None` when there is none.
fn identifiers(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.')).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Whether a version contains changes released in `major.minor.patch`. A pre-release counts as its release, because it
/// contains the same changes.
pub fn is_at_least(version: &Version, major: u64, minor: u64, patch: u64) -> bool {
    (version.major, version.minor, version.patch) >= (major, minor, patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the highest candidate in the range, as version selection does.
    fn pick(range: &str, candidates: &[&str]) -> Option<String> {
        let range: VersionRange = range.parse().unwrap();
        candidates
            .iter()
            .filter(|name| range.matches(&parse_version_lenient(name).unwrap()))
            .max_by_key(|name| parse_version_lenient(name).unwrap())
            .map(|name| name.to_string())
    }

    fn matches(range: &str, version: &str) -> bool {
        range.parse::<VersionRange>().unwrap().matches(&parse_version_lenient(version).unwrap())
    }

    /// (range, versions inside, versions outside)
    const TABLE: &[(&str, &[&str], &[&str])] = &[
        ("2.3.0", &["2.3.0", "v2.3.0", "2.3.0+build"], &["2.3.1", "2.9.3", "2.3.0-rc.1"]),
        ("v2.3.0", &["2.3.0"], &["2.3.1"]),
        ("=2.3.0", &["2.3.0"], &["2.3.1"]),
        ("2.7.5", &["2.7.5"], &["2.7.6", "2.9.3"]),
        ("2.x", &["2.0.0", "2.9.4"], &["1.9.9", "3.0.0", "2.9.0-rc.1"]),
        ("2.*", &["2.0.0", "2.9.4"], &["1.9.9", "3.0.0"]),
        ("2.X", &["2.0.0", "2.9.4"], &["1.9.9", "3.0.0"]),
        ("2", &["2.0.0", "2.9.4"], &["1.9.9", "3.0.0"]),
        ("2.7.x", &["2.7.0", "2.7.9"], &["2.6.9", "2.8.0"]),
        ("2.7", &["2.7.0", "2.7.9"], &["2.6.9", "2.8.0"]),
        ("=2.7", &["2.7.0", "2.7.9"], &["2.6.9", "2.8.0"]),
        ("*", &["0.0.0", "0.0.1", "2.9.4", "99.1.1"], &["2.8.0-rc.1"]),
        ("x", &["0.0.1", "2.9.4"], &["2.8.0-rc.1"]),
        ("*-0", &["2.9.4", "2.8.0-rc.1"], &[]),
        (">=2.7", &["2.7.0", "3.1.0"], &["2.6.9"]),
        (">2", &["3.0.0"], &["2.0.0", "2.9.9"]),
        (">2.x", &["3.0.0"], &["2.9.9"]),
        (">2.7", &["2.8.0", "3.0.0"], &["2.7.0", "2.7.9"]),
        (">2.7.1", &["2.7.2"], &["2.7.1"]),
        ("<=2", &["1.0.0", "2.9.9"], &["3.0.0"]),
        ("<=2.7", &["2.7.9", "1.9.9"], &["2.8.0", "3.0.0"]),
        ("<2.7", &["2.6.9"], &["2.7.0", "2.7.1"]),
        ("!=2.7.x", &["2.6.9", "2.8.0"], &["2.7.0", "2.7.9"]),
        ("!=2.7.0", &["2.7.1", "3.0.0"], &["2.7.0", "2.8.0-beta.1"]),
        ("!=2", &["1.0.0", "3.0.0"], &["2.0.0", "2.9.0"]),
        ("~2.7.1", &["2.7.1", "2.7.9"], &["2.7.0", "2.8.0"]),
        ("~2.7", &["2.7.0", "2.7.9"], &["2.8.0"]),
        ("~> 2.7", &["2.7.0", "2.7.9"], &["2.8.0"]),
        ("~2", &["2.0.0", "2.9.9"], &["3.0.0"]),
        ("~0.0.0", &["0.0.0", "5.0.0"], &[]),
        ("^2", &["2.0.0", "2.9.9"], &["3.0.0", "1.9.9"]),
        ("^2.7", &["2.7.0", "2.9.9"], &["3.0.0", "2.6.9"]),
        ("^2.7.x", &["2.7.0", "2.9.9"], &["3.0.0"]),
        ("^0.2", &["0.2.0", "0.2.9"], &["0.3.0", "1.0.0"]),
        ("^0.0.3", &["0.0.3"], &["0.0.4", "0.1.0"]),
        ("^0.0", &["0.0.0", "0.0.9"], &["0.1.0"]),
        ("^0", &["0.0.0", "0.9.9"], &["1.0.0"]),
        (">=2.7 <3", &["2.7.0", "2.9.9"], &["2.6.9", "3.0.0"]),
        (">=2.7, <3", &["2.7.0", "2.9.9"], &["2.6.9", "3.0.0", "1.9.9"]),
        (">=2.7,<3", &["2.7.0", "2.9.9"], &["2.6.9", "3.0.0"]),
        (">= 2.7 , < 3", &["2.7.0"], &["3.0.0"]),
        ("2.x || 3.x", &["2.9.9", "3.0.0"], &["1.0.0", "4.0.0"]),
        ("2.7 - 2.9", &["2.7.0", "2.9.9"], &["2.6.9", "2.10.0"]),
        ("v2.7.1 - v2.9.0", &["2.7.1", "2.9.0"], &["2.7.0", "2.9.1"]),
        ("=>2.7", &["2.7.0"], &["2.6.9"]),
        ("=<2.7", &["2.7.9"], &["2.8.0"]),
        ("2.x-0", &["2.9.9", "2.9.0-rc.1"], &["3.0.0"]),
        (">=2.7.0-0", &["2.8.0-beta.1", "2.7.0-rc.1", "2.7.0"], &["2.6.9"]),
        (">=2.7.0-0 <3", &["2.8.0-beta.1"], &["3.0.0"]),
        ("2.8.0-rc.1", &["2.8.0-rc.1"], &["2.8.0-rc.2", "2.8.0"]),
        ("<2.7.0-0 || >=2.8", &["2.8.0"], &["2.9.0-rc.1"]),
        // A wildcard after an operator; each result is that of Masterminds' semver 3.4.0.
        ("!=*", &["0.0.1", "2.9.4"], &["0.0.0", "2.8.0-rc.1"]),
        ("<=x", &["0.0.0", "0.0.3"], &["0.1.0", "2.9.4"]),
        ("=<*-0", &["0.0.3"], &["0.1.0-beta", "2.9.4"]),
        ("^*", &["0.0.0"], &["0.0.1", "0.1.0", "2.9.4"]),
        ("1 - *", &[], &["0.0.0", "1.0.0", "2.9.4"]),
        (">=*", &["0.0.0", "2.9.4"], &["2.8.0-rc.1"]),
        ("~*", &["0.0.0", "2.9.4"], &["2.8.0-rc.1"]),
    ];

    #[test]
    fn every_form_has_the_meaning_of_masterminds() {
        for (range, inside, outside) in TABLE {
            for version in *inside {
                assert!(matches(range, version), "{range} must hold {version}");
            }
            for version in *outside {
                assert!(!matches(range, version), "{range} must not hold {version}");
            }
        }
    }

    #[test]
    fn texts_that_are_not_a_range_are_refused_with_the_text_in_the_message() {
        for text in [
            "",
            " ",
            "\u{a0}2.7",
            "2.7\u{a0}",
            "abc",
            "2.7 ||",
            "|| 2.7",
            ">",
            "2.7,",
            "2.7;2.8",
            "2.7.5.1",
            "2..7",
            ">=2.7 - 2.9",
            "latest",
        ] {
            let error = text.parse::<VersionRange>().unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("semver '{text}' parse error: improper constraint:")),
                "{error}"
            );
        }
        assert_eq!(
            "abc".parse::<VersionRange>().unwrap_err().to_string(),
            "semver 'abc' parse error: improper constraint: \"abc\""
        );
        assert_eq!(
            "".parse::<VersionRange>().unwrap_err().to_string(),
            "semver '' parse error: improper constraint: \"\""
        );
    }

    #[test]
    fn the_highest_matching_candidate_wins() {
        let candidates = ["v2.2.0", "v2.2.1", "v2.3.0"];
        assert_eq!(pick("v2.3.0", &candidates).as_deref(), Some("v2.3.0"));
        assert_eq!(pick("2.2.x", &candidates).as_deref(), Some("v2.2.1"));
        assert_eq!(pick("2.x", &candidates).as_deref(), Some("v2.3.0"));
        assert_eq!(pick("*", &candidates).as_deref(), Some("v2.3.0"));
        assert_eq!(pick("3.x", &candidates), None);
        assert_eq!(pick("2.x", &["v2.9.0", "v2.10.0"]).as_deref(), Some("v2.10.0"));
    }

    #[test]
    fn lenient_versions_need_neither_three_parts_nor_a_bare_number() {
        assert_eq!(parse_version_lenient("v2.7"), Some(Version::new(2, 7, 0)));
        assert_eq!(parse_version_lenient("2"), Some(Version::new(2, 0, 0)));
        assert_eq!(parse_version_lenient("v1.2.3-rc.1").unwrap().to_string(), "1.2.3-rc.1");
        for text in ["", "v", "2.x", "x", "2.7.5.1", "2.7-", "flux", "2.7 "] {
            assert_eq!(parse_version_lenient(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_prints_as_it_was_written() {
        assert_eq!(">= 2.7 , <3".parse::<VersionRange>().unwrap().to_string(), ">= 2.7 , <3");
    }
}
