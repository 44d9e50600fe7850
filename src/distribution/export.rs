//! Writes a version in the layout that [`Distribution::open`](super::Distribution::open) reads.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Component, Distribution, DistributionError, FluxVersion, Variant};
use crate::format::tarball::Files;
use crate::format::yaml;

impl Distribution {
    /// Returns one version as files with the layout of a packaged distribution, to be put into an archive or artifact.
    ///
    /// # Errors
    /// When the version is not part of this distribution.
    pub fn files(&self, version: &FluxVersion) -> Result<Files, DistributionError> {
        let mut files = self.version_files(version)?;
        files.insert("flux-images/VERSION".to_owned(), format!("{}\n", version.name));
        Ok(files.into_iter().map(|(path, text)| (path, text.into_bytes().into())).collect())
    }

    fn version_files(&self, version: &FluxVersion) -> Result<BTreeMap<String, String>, DistributionError> {
        let (manifests, images) = (format!("flux/{}", version.name), format!("flux-images/{}", version.name));
        let mut files = BTreeMap::new();
        for component in self.components(version) {
            let text = stream(&self.component(version, component)?)?;
            files.insert(format!("{manifests}/{component}.yaml"), text);
        }
        files.insert(format!("{manifests}/rbac.yaml"), stream(&self.rbac(version)?)?);
        files.insert(format!("{manifests}/policies.yaml"), stream(&self.policies(version)?)?);
        for variant in Variant::ALL {
            if let Some(list) = self.image_list(version, variant)? {
                let text = yaml::to_string(&list).map_err(|error| emit(&error))?;
                files.insert(format!("{images}/{variant}.yaml"), text);
            }
        }
        Ok(files)
    }

    /// Writes one version below `dir`, which is created if need be, and returns the written paths relative to it.
    ///
    /// Files that exist are overwritten, so several versions can be exported into the same directory one after the other;
    /// `flux-images/VERSION` then names the newest of them.
    ///
    /// # Errors
    /// When the version is not part of this distribution, or a file cannot be written.
    pub fn export(&self, version: &FluxVersion, dir: &Path) -> Result<Vec<PathBuf>, DistributionError> {
        let files = self.version_files(version)?;
        let mut files: Vec<(PathBuf, String)> = files.into_iter().map(|(path, text)| (path.into(), text)).collect();
        let newest = newest_in(dir).filter(|other| other.version > version.version);
        let newest = newest.as_ref().unwrap_or(version);
        files.push((PathBuf::from("flux-images/VERSION"), format!("{}\n", newest.name)));
        for (relative, text) in &files {
            let path = dir.join(relative);
            write_below(dir, relative, text).map_err(|source| DistributionError::Write { path, source })?;
        }
        Ok(files.into_iter().map(|(relative, _)| relative).collect())
    }

    fn image_list(&self, version: &FluxVersion, variant: Variant) -> Result<Option<Value>, DistributionError> {
        let Some(digests) = self.digests(version, variant)? else { return Ok(None) };
        let images: Vec<Value> = digests
            .iter()
            .map(|image| {
                let name = format!("{}/{}", variant.registry(), image.component);
                json!({ "name": name, "newTag": image.tag, "digest": image.digest })
            })
            .collect();
        Ok(Some(json!({ "images": images })))
    }

    /// Returns the components that a version has, in the order of [`Component::ALL`].
    pub fn components(&self, version: &FluxVersion) -> Vec<Component> {
        Component::ALL.into_iter().filter(|component| self.has_component(version, *component)).collect()
    }
}

/// Writes a file below a folder: whole or not at all, and never through a link that somebody put into the folder.
fn write_below(dir: &Path, relative: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut folder = dir.to_owned();
    for part in relative.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is no folder", folder.display())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
            Err(error) => return Err(error),
        }
    }
    let name = relative.file_name().unwrap_or_default();
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = folder.join(temporary);
    // What an earlier process of this number left behind; creating anew follows no link.
    let _ = fs::remove_file(&temporary);
    let written = fs::File::create_new(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        // A rename replaces a link instead of following it.
        .and_then(|()| fs::rename(&temporary, folder.join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn newest_in(dir: &Path) -> Option<FluxVersion> {
    let text = fs::read_to_string(dir.join("flux-images/VERSION")).ok()?;
    FluxVersion::from_folder(text.trim())
}

fn stream(objects: &[Value]) -> Result<String, DistributionError> {
    yaml::document_stream(objects).map_err(|error| emit(&error))
}

fn emit(error: &yaml::YamlError) -> DistributionError {
    DistributionError::Content { file: "export".into(), message: error.to_string() }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_in_the_folder_are_not_followed() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = elsewhere.path().join("precious");
        fs::write(&target, "mine").unwrap();
        fs::create_dir(folder.path().join("flux")).unwrap();
        symlink(&target, folder.path().join("flux/rbac.yaml")).unwrap();
        write_below(folder.path(), Path::new("flux/rbac.yaml"), "new").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.path().join("flux/rbac.yaml")).unwrap(), "new");
        let names: Vec<_> = fs::read_dir(folder.path().join("flux")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["rbac.yaml"], "nothing is left over");
        symlink(elsewhere.path(), folder.path().join("flux-images")).unwrap();
        assert!(write_below(folder.path(), Path::new("flux-images/VERSION"), "v1").is_err());
        assert!(!elsewhere.path().join("VERSION").exists());
    }
}
