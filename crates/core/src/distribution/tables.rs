//! The tables of versions, tags and digests. They are text and read on demand; CRDs are not read.

use semver::Version;

use super::{Component, DistributionError, FluxVersion, ImageDigest, Variant};

const TAGS: &str = include_str!("tags.txt");
const DIGESTS: &str = include_str!("digests.txt");

/// Returns the installable versions, oldest first.
pub(super) fn versions() -> Result<Vec<FluxVersion>, DistributionError> {
    let mut versions = Vec::new();
    for (number, row) in rows() {
        let name = row.split_whitespace().next().unwrap_or_default();
        let version =
            Version::parse(name).map_err(|_| bad_row("tags.txt", number, "the first word is not a version"))?;
        versions.push(FluxVersion { name: format!("v{version}"), version });
    }
    versions.sort_by(|a, b| a.version.cmp(&b.version));
    Ok(versions)
}

/// Returns whether a version can be installed.
pub(super) fn has(version: &Version) -> bool {
    let wanted = version.to_string();
    rows().any(|(_, row)| row.split_whitespace().next() == Some(wanted.as_str()))
}

/// Returns the tag of a component; None when the version or, in it, the component does not exist.
pub(super) fn tag(version: &Version, component: Component) -> Option<&'static str> {
    let mut lines = TAGS.lines().filter(|line| !line.starts_with('#'));
    let column = lines.next()?.split_whitespace().position(|heading| heading == component.as_str())?;
    let wanted = version.to_string();
    let row = lines.find(|line| line.split_whitespace().next() == Some(wanted.as_str()))?;
    row.split_whitespace().nth(column).filter(|tag| *tag != "-")
}

/// Returns the digests of all images of a variant in the order of [`Component::ALL`].
pub(super) fn digests(version: &Version, variant: Variant) -> Option<Vec<ImageDigest>> {
    let wanted = version.to_string();
    let mut lines = DIGESTS.lines().skip_while(|line| *line != wanted).skip(1).take_while(|line| line.starts_with(' '));
    lines.find(|line| line.trim() == variant.as_str() && !line.starts_with("    "))?;
    lines
        .take_while(|line| line.starts_with("    "))
        .map(|line| {
            let mut words = line.split_whitespace();
            let component: Component = words.next()?.parse().ok()?;
            let digest = format!("sha256:{}", words.next()?);
            let tag = words.next().or_else(|| tag(version, component))?.to_owned();
            Some(ImageDigest { component, tag, digest })
        })
        .collect()
}

fn rows() -> impl Iterator<Item = (usize, &'static str)> {
    TAGS.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).skip(1).map(|(index, line)| (index + 1, line))
}

fn bad_row(file: &str, line: usize, what: &str) -> DistributionError {
    DistributionError::Content { file: file.to_owned(), message: format!("line {line}: {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_tag_table_is_well_formed() {
        let versions = versions().unwrap();
        assert!(versions.len() >= 29);
        for (_, row) in rows() {
            assert_eq!(row.split_whitespace().count(), 1 + Component::ALL.len(), "{row}");
        }
        for version in &versions {
            for component in Component::ALL {
                let expected = component != Component::SourceWatcher || version.version >= Version::new(2, 7, 0);
                assert_eq!(tag(&version.version, component).is_some(), expected, "{} {component}", version.name);
            }
        }
    }

    #[test]
    fn every_digest_is_64_hexadecimal_digits_and_every_component_has_one() {
        for version in versions().unwrap() {
            for variant in Variant::ALL {
                let Some(digests) = digests(&version.version, variant) else {
                    // The three plain variants exist for every version.
                    assert_eq!(variant, Variant::EnterpriseDistrolessFips, "{}", version.name);
                    continue;
                };
                let components: Vec<Component> = digests.iter().map(|digest| digest.component).collect();
                let expected: Vec<Component> =
                    Component::ALL.into_iter().filter(|c| tag(&version.version, *c).is_some()).collect();
                assert_eq!(components, expected, "{} {variant}", version.name);
                for digest in digests {
                    let hex = digest.digest.strip_prefix("sha256:").unwrap();
                    assert!(hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{digest:?}");
                }
            }
        }
    }

    #[test]
    fn fips_images_exist_for_the_last_patches_from_2_5_and_for_every_version_from_2_8() {
        let with_fips = versions()
            .unwrap()
            .into_iter()
            .filter(|version| digests(&version.version, Variant::EnterpriseDistrolessFips).is_some())
            .map(|version| version.name)
            .collect::<Vec<_>>();
        assert_eq!(with_fips.first_chunk(), Some(&["v2.5.1", "v2.6.4", "v2.7.5"].map(str::to_owned)));
        let from_2_8 =
            versions().unwrap().into_iter().filter(|version| version.version >= Version::new(2, 8, 0)).count();
        assert_eq!(with_fips.len(), 3 + from_2_8);
    }
}
