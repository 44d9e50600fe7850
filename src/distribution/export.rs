//! Writes a version in the layout that [`Distribution::open`](super::Distribution::open) reads.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Component, Distribution, DistributionError, FluxVersion, Variant};
use crate::format::yaml;

impl Distribution {
    /// Writes one version below `dir`, which is created if need be, and returns the written paths relative to it.
    ///
    /// Files that exist are overwritten, so several versions can be exported into the same directory one after the other;
    /// `flux-images/VERSION` then names the newest of them.
    ///
    /// # Errors
    /// When the version is not part of this distribution, or a file cannot be written.
    pub fn export(&self, version: &FluxVersion, dir: &Path) -> Result<Vec<PathBuf>, DistributionError> {
        let manifests = Path::new("flux").join(&version.name);
        let images = Path::new("flux-images").join(&version.name);
        let mut files = Vec::new();
        for component in self.components(version) {
            let text = stream(&self.component(version, component)?)?;
            files.push((manifests.join(format!("{component}.yaml")), text));
        }
        files.push((manifests.join("rbac.yaml"), stream(&self.rbac(version)?)?));
        files.push((manifests.join("policies.yaml"), stream(&self.policies(version)?)?));
        for variant in Variant::ALL {
            if let Some(list) = self.image_list(version, variant) {
                let text = yaml::to_string(&list).map_err(|error| emit(&error))?;
                files.push((images.join(format!("{variant}.yaml")), text));
            }
        }
        let newest = newest_in(dir).filter(|other| other.version > version.version);
        let newest = newest.as_ref().unwrap_or(version);
        files.push((PathBuf::from("flux-images/VERSION"), format!("{}\n", newest.name)));
        for (relative, text) in &files {
            let path = dir.join(relative);
            let failed = |source| DistributionError::Write { path: path.clone(), source };
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(failed)?;
            }
            fs::write(&path, text).map_err(failed)?;
        }
        Ok(files.into_iter().map(|(relative, _)| relative).collect())
    }

    fn image_list(&self, version: &FluxVersion, variant: Variant) -> Option<Value> {
        let images: Vec<Value> = self
            .digests(version, variant)?
            .iter()
            .map(|image| {
                let name = format!("{}/{}", variant.registry(), image.component);
                json!({ "name": name, "newTag": image.tag, "digest": image.digest })
            })
            .collect();
        Some(json!({ "images": images }))
    }

    /// Returns the components that a version has, in the order of [`Component::ALL`].
    pub fn components(&self, version: &FluxVersion) -> Vec<Component> {
        Component::ALL.into_iter().filter(|component| self.has_component(version, *component)).collect()
    }
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
