//! Writes a version in the layout that [`Distribution::open`](super::Distribution::open) reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Component, Distribution, DistributionError, FluxVersion, Variant};
use crate::format::output_folder::write_below;
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
    /// Existing files are overwritten, so several versions can be exported into the same directory one after the other.
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
            write_below(dir, relative, text.as_bytes(), false)
                .map_err(|source| DistributionError::Write { path, source })?;
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

fn newest_in(dir: &Path) -> Option<FluxVersion> {
    let file = dir.join("flux-images/VERSION");
    // Reading a named pipe would block.
    let text = file.is_file().then(|| fs::read_to_string(file).ok())??;
    FluxVersion::from_folder(text.trim())
}

fn stream(objects: &[Value]) -> Result<String, DistributionError> {
    yaml::document_stream(objects).map_err(|error| emit(&error))
}

fn emit(error: &yaml::YamlError) -> DistributionError {
    DistributionError::Content { file: "export".into(), message: error.to_string() }
}
