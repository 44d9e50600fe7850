//! Selection of the Flux version, and the rules for moving from one version to another.

use semver::Version;

use super::BuildError;
use super::revision::Revision;
use crate::distribution::{Distribution, FluxVersion};
use crate::format::version_range::{VersionRange, parse_version_lenient};

/// The chosen version, and the one to upgrade to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    pub version: FluxVersion,
    /// The newest release that is newer than the chosen version. The range does not allow it.
    pub newer: Option<FluxVersion>,
}

/// Chooses the newest version in the range.
///
/// With `supported`, only versions with one of these minors count: a packaged distribution may contain unknown patch
/// versions, but not unknown minors.
pub(super) fn select(
    range: &str,
    distribution: &Distribution,
    supported: Option<&[FluxVersion]>,
) -> Result<Selection, BuildError> {
    let parsed: VersionRange = range.parse()?;
    let minor = |version: &FluxVersion| (version.version.major, version.version.minor);
    let mut candidates = distribution.versions();
    if let Some(supported) = supported {
        // Pre-releases in the program's own tables do not make a minor supported.
        candidates.retain(|candidate| {
            supported.iter().any(|known| known.version.pre.is_empty() && minor(known) == minor(candidate))
        });
    }
    let newest = |wanted: &dyn Fn(&FluxVersion) -> bool| {
        candidates.iter().filter(|candidate| wanted(candidate)).max_by(|a, b| a.version.cmp(&b.version)).cloned()
    };
    let Some(version) = newest(&|candidate| parsed.matches(&candidate.version)) else {
        // Name the version, because the range does match it: the program is too old for it.
        let unknown = distribution.versions().into_iter().filter(|candidate| parsed.matches(&candidate.version));
        if let Some(unknown) = unknown.max_by(|a, b| a.version.cmp(&b.version)) {
            return Err(BuildError::UnknownMinor { version: unknown.name, distribution: distribution.to_string() });
        }
        return Err(BuildError::NoVersion {
            range: range.to_string(),
            distribution: distribution.to_string(),
            newest: newest(&|_| true).map(|version| version.name),
        });
    };
    let newer = newest(&|candidate| candidate.version.pre.is_empty() && candidate.version > version.version);
    Ok(Selection { version, newer })
}

/// Checks whether an installation may move from one version to another. The first may be a whole revision, or empty if
/// nothing is installed. An older patch version is allowed; an older minor is not, because Flux does not migrate stored
/// objects backwards.
///
/// # Errors
/// [`BuildError::Downgrade`]; [`BuildError::UnreadableVersion`] when either text is not a version.
pub fn check_downgrade(from: &str, to: &str) -> Result<(), BuildError> {
    if from.is_empty() {
        return Ok(());
    }
    let (old, new) = (read(from)?, read(to)?);
    if (new.1.major, new.1.minor) < (old.1.major, old.1.minor) {
        return Err(BuildError::Downgrade { from: old.0, to: new.0 });
    }
    Ok(())
}

/// As [`check_downgrade`], for a version that an operator will choose from a range. The operator's distribution may
/// have versions that `distribution` lacks, so a range is refused only if it excludes the installed version and its
/// newest known version is a downgrade.
///
/// # Errors
/// [`BuildError::Downgrade`].
pub fn check_range(installed: &str, range: &str, distribution: &Distribution) -> Result<(), BuildError> {
    let (Ok(parsed), Ok((_, current))) = (range.parse::<VersionRange>(), read(installed)) else { return Ok(()) };
    match select(range, distribution, None) {
        Ok(selection) if !parsed.matches(&current) => check_downgrade(installed, &selection.version.name),
        _ => Ok(()),
    }
}

/// Whether the move from one version to another is a minor upgrade: same major, greater minor. Both may be revisions. A
/// first installation is not an upgrade.
///
/// # Errors
/// [`BuildError::UnreadableVersion`].
pub fn is_minor_upgrade(from: &str, to: &str) -> Result<bool, BuildError> {
    if from.is_empty() {
        return Ok(false);
    }
    let (from, to) = (read(from)?.1, read(to)?.1);
    Ok(from.major == to.major && from.minor < to.minor)
}

fn read(revision: &str) -> Result<(String, Version), BuildError> {
    let unreadable = || BuildError::UnreadableVersion(revision.to_string());
    let parsed: Revision = revision.parse().map_err(|_| unreadable())?;
    let version = parse_version_lenient(&parsed.version).ok_or_else(unreadable)?;
    Ok((parsed.version, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_in_the_range_is_chosen_and_a_newer_release_is_known() {
        let selection = select("2.8.x", &Distribution::embedded(), None).unwrap();
        assert_eq!(selection.version.name, "v2.8.8");
        assert_eq!(selection.newer.as_ref().map(|v| v.name.as_str()), Some("v2.9.4"));
        let selection = select("*", &Distribution::embedded(), None).unwrap();
        assert_eq!((selection.version.name.as_str(), selection.newer), ("v2.9.4", None));
    }

    #[test]
    fn an_older_release_is_not_newer_than_a_pre_release() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["v2.8.8", "v2.9.4", "v2.10.0-rc.1", "v2.10.0-rc.2"] {
            std::fs::create_dir_all(folder.path().join("flux").join(version)).unwrap();
        }
        let distribution = Distribution::open(folder.path()).unwrap();
        let chosen = |range: &str| {
            let selection = select(range, &distribution, None).unwrap();
            (selection.version.name, selection.newer.map(|newer| newer.name))
        };
        assert_eq!(chosen("v2.10.0-rc.1"), ("v2.10.0-rc.1".to_owned(), None));
        assert_eq!(chosen("2.8.x"), ("v2.8.8".to_owned(), Some("v2.9.4".to_owned())));
    }

    #[test]
    fn unknown_minor_versions_are_not_chosen_but_unknown_patches_of_known_minor_versions_are() {
        let distribution = Distribution::embedded();
        let known = |names: &[&str]| names.iter().map(|n| FluxVersion::from_folder(n).unwrap()).collect::<Vec<_>>();
        let supported = known(&["v2.2.1", "v2.3.0", "v2.7.0-rc.1"]);
        let pick = |range: &str| select(range, &distribution, Some(&supported)).map(|s| s.version.name).ok();
        assert_eq!(pick("2.x").as_deref(), Some("v2.3.0"));
        assert_eq!(pick("*").as_deref(), Some("v2.3.0"));
        assert_eq!(pick("2.2.x").as_deref(), Some("v2.2.3"));
        assert_eq!(pick("v2.4.0"), None);
        let error = select("2.4.x", &distribution, Some(&supported)).unwrap_err().to_string();
        assert!(error.ends_with("the minor version of flux v2.4.0 in the embedded distribution"), "{error}");
    }

    #[test]
    fn ranges_without_a_version_say_so_and_name_the_newest() {
        let error = select("2.99.x", &Distribution::embedded(), None).unwrap_err();
        assert!(error.to_string().starts_with("no match found for semver: 2.99.x in "), "{error}");
        assert!(error.to_string().contains("the newest is v2.9.4"), "{error}");
        let error = select("abc", &Distribution::embedded(), None).unwrap_err();
        assert_eq!(error.to_string(), "semver 'abc' parse error: improper constraint: \"abc\"");
    }

    #[test]
    fn a_range_is_refused_if_it_excludes_the_installed_version_and_would_downgrade_it() {
        let check = |installed: &str, range: &str| check_range(installed, range, &Distribution::embedded()).is_ok();
        assert!(!check("v2.9.4@sha256:ab", "2.7.x") && !check("v2.9.4", "2.8.1"));
        assert!(check("v2.7.5", "2.9.x") && check("v2.9.4", "2.9.1") && check("", "2.7.x"));
        // An operator may know versions that this program does not know.
        assert!(check("v2.12.0", "2.x") && check("v2.12.0", ">=2.12.1") && check("v2.9.4", "nonsense"));
    }

    #[test]
    fn downgrades_across_minors_are_refused_and_patch_downgrades_are_not() {
        let error = check_downgrade("v2.7.3@sha256:ab", "v2.6.4").unwrap_err();
        assert_eq!(error.to_string(), "downgrading from v2.7.3 to v2.6.4 is not supported, reinstall needed");
        assert!(check_downgrade("v3.0.0", "v2.9.4").is_err());
        for (from, to) in [("", "v2.2.3"), ("v2.7.3", "v2.7.0"), ("v2.7.3", "v2.8.0"), ("v2.9.4", "v3.0.0")] {
            assert!(check_downgrade(from, to).is_ok(), "{from} {to}");
        }
        assert!(check_downgrade("flux", "v2.9.4").is_err());
    }

    #[test]
    fn a_minor_upgrade_keeps_the_major() {
        for (from, to, expected) in [
            ("v2.3.0", "v2.4.0", true),
            ("v2.3.0@sha256:a", "v2.4.0@sha256:b", true),
            ("v2.3.0", "v2.3.1", false),
            ("v2.3.0", "v2.3.0", false),
            ("v2.3.0", "v3.4.0", false),
            ("", "v2.3.0", false),
        ] {
            assert_eq!(is_minor_upgrade(from, to).unwrap(), expected, "{from} {to}");
        }
        assert!(is_minor_upgrade("x", "v2.3.0").is_err());
        assert!(is_minor_upgrade("v2.3.0", "x").is_err());
    }
}
