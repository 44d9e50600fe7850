//! Version gates of notation lines: the API versions and the Flux versions in which a line holds.
//!
//! ```text
//! 2.7..                 Flux 2.7.0 and later
//! ..2.8                 up to and including the last patch of 2.8
//! 2.9.4..               from that patch on
//! v1+v1beta2            these API versions, in every Flux version
//! v1beta2:2.3..         that API version, from Flux 2.3.0
//! v1,v1beta2:2.3..      either of the two: the comma means "or"
//! ```

use semver::Version;

/// The versions for which a gate is evaluated: one Flux version and, inside a schema, one API version.
#[derive(Debug, Clone, Copy)]
pub(super) struct GateContext<'a> {
    pub flux: &'a Version,
    /// Empty outside of a schema, where no gate names an API version.
    pub api: &'a str,
}

/// Alternatives, of which one must hold; an empty list always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Gate<'t>(Vec<Alternative<'t>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alternative<'t> {
    /// An empty list means every API version.
    apis: Vec<&'t str>,
    from: VersionTriple,
    to: VersionTriple,
}

type VersionTriple = (u64, u64, u64);
const FIRST: VersionTriple = (0, 0, 0);
const LAST: VersionTriple = (u64::MAX, u64::MAX, u64::MAX);

impl<'t> Gate<'t> {
    pub(crate) const EVERYWHERE: Gate<'static> = Gate(Vec::new());

    /// Reads a gate without its brackets. The error says what is wrong; callers add the line.
    pub(crate) fn parse(text: &'t str) -> Result<Self, String> {
        text.split(',').map(|alternative| Alternative::parse(alternative.trim())).collect::<Result<_, _>>().map(Gate)
    }

    pub(crate) fn holds(&self, place: GateContext<'_>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let flux = (place.flux.major, place.flux.minor, place.flux.patch);
        self.0.iter().any(|alternative| {
            (alternative.apis.is_empty() || alternative.apis.contains(&place.api))
                && alternative.from <= flux
                && flux <= alternative.to
        })
    }

    /// The API versions in the gate, for the check that each exists.
    pub(crate) fn apis(&self) -> impl Iterator<Item = &'t str> {
        self.0.iter().flat_map(|alternative| alternative.apis.iter().copied())
    }
}

impl<'t> Alternative<'t> {
    fn parse(text: &'t str) -> Result<Self, String> {
        let (apis, range) = match text.split_once(':') {
            Some((apis, range)) => (apis, range),
            None if text.starts_with('v') => (text, ""),
            None => ("", text),
        };
        let apis: Vec<&str> = if apis.is_empty() { Vec::new() } else { apis.split('+').collect() };
        if let Some(bad) = apis.iter().find(|api| !is_api_version(api)) {
            return Err(format!("`{bad}` is not an API version such as v1 or v1beta2"));
        }
        if apis.is_empty() && range.is_empty() {
            return Err("the gate is empty: omit it for a line that applies to every version".into());
        }
        let (from, to) = match range.split_once("..") {
            _ if range.is_empty() && text.ends_with(':') => return Err(format!("no Flux version after `{text}`")),
            _ if range.is_empty() => (FIRST, LAST),
            Some(("", "")) => return Err("a range needs a Flux version before or after the dots".into()),
            Some((from, to)) => (
                if from.is_empty() { FIRST } else { bounds(from)?.0 },
                if to.is_empty() { LAST } else { bounds(to)?.1 },
            ),
            None => bounds(range)?,
        };
        if from > to {
            return Err(format!("the range `{range}` is empty"));
        }
        Ok(Self { apis, from, to })
    }
}

/// Returns the first and the last version that `2.7` or `2.9.4` covers.
fn bounds(text: &str) -> Result<(VersionTriple, VersionTriple), String> {
    let wrong = || format!("`{text}` is not a Flux version such as 2.7 or 2.9.4");
    let numbers: Vec<u64> = text.split('.').map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    match *numbers.as_slice() {
        [major, minor] => Ok(((major, minor, 0), (major, minor, u64::MAX))),
        [major, minor, patch] => Ok(((major, minor, patch), (major, minor, patch))),
        _ => Err(wrong()),
    }
}

fn is_api_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(gate: &str, api: &str, flux: &str) -> bool {
        let flux = Version::parse(flux).unwrap();
        Gate::parse(gate).unwrap().holds(GateContext { flux: &flux, api })
    }

    #[test]
    fn a_minor_covers_all_its_patches() {
        assert!(holds("..2.8", "v1", "2.8.8"));
        assert!(!holds("..2.8", "v1", "2.9.0"));
        assert!(holds("2.8", "v1", "2.8.0"));
        assert!(holds("2.7..2.8", "v1", "2.7.0"));
    }

    #[test]
    fn a_patch_is_exact() {
        assert!(!holds("2.9.4..", "v1", "2.9.3"));
        assert!(holds("2.9.4..", "v1", "2.10.0"));
        assert!(holds("..2.9.3", "v1", "2.9.3"));
    }

    #[test]
    fn a_range_belongs_to_the_api_versions_before_it() {
        assert!(holds("v1,v1beta2:2.3..", "v1", "2.2.3"));
        assert!(!holds("v1,v1beta2:2.3..", "v1beta2", "2.2.3"));
        assert!(holds("v1,v1beta2:2.3..", "v1beta2", "2.3.0"));
        assert!(!holds("v1+v1beta2", "v1beta1", "2.3.0"));
    }

    #[test]
    fn errors_say_what_is_expected() {
        for (text, expected) in [
            ("", "the gate is empty"),
            ("..", "before or after the dots"),
            ("2", "not a Flux version"),
            ("2.x..", "not a Flux version"),
            ("2.9..2.8", "is empty"),
            ("v1:", "no Flux version after"),
            ("vee", "not an API version"),
            ("v1+:2.3..", "not an API version"),
        ] {
            let error = Gate::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
