//! A distribution packaged elsewhere: a tree of files with the layout in the module documentation.

use std::borrow::Cow;

use serde_json::Value;

use super::tree::Tree;
use super::{Component, DistributionError, FluxVersion, ImageDigest, Variant};
use crate::format::yaml;

/// A packaged distribution, read from a tree of files.
#[derive(Debug)]
pub(super) struct PackagedTree {
    tree: Box<dyn Tree>,
    versions: Vec<FluxVersion>,
}

impl PackagedTree {
    pub(crate) fn open(tree: Box<dyn Tree>) -> Result<Self, DistributionError> {
        let mut packaged = Self { tree, versions: Vec::new() };
        packaged.versions = packaged.find_versions()?;
        if packaged.versions.is_empty() {
            return Err(packaged.content("flux", "no folder named after a version, such as flux/v2.9.4"));
        }
        Ok(packaged)
    }

    pub(crate) fn versions(&self) -> &[FluxVersion] {
        &self.versions
    }

    /// Returns the content of `flux-images/VERSION/VARIANT.yaml`; `None` if the file does not exist.
    pub(crate) fn digests(
        &self,
        version: &FluxVersion,
        variant: Variant,
    ) -> Result<Option<Vec<ImageDigest>>, DistributionError> {
        let relative = format!("flux-images/{}/{variant}.yaml", version.name);
        let Some(text) = self.text(&relative)? else { return Ok(None) };
        image_digests(&text).map(Some).map_err(|message| self.content(&relative, &message))
    }

    /// Returns the documents of `flux/VERSION/NAME.yaml`; `None` if the file does not exist.
    pub(crate) fn manifests(&self, version: &FluxVersion, name: &str) -> Result<Option<Vec<Value>>, DistributionError> {
        let relative = format!("flux/{}/{name}.yaml", version.name);
        let Some(text) = self.text(&relative)? else { return Ok(None) };
        let documents = yaml::parse_documents(&text).map_err(|error| self.content(&relative, &error.to_string()))?;
        if let Some(at) = documents.iter().position(|document| !is_manifest(document)) {
            let message = format!("document {} has no apiVersion, kind or metadata.name", at + 1);
            return Err(self.content(&relative, &message));
        }
        Ok(Some(documents))
    }

    pub(crate) fn has_manifests(&self, version: &FluxVersion, name: &str) -> bool {
        // An unreadable file counts as present, so that reading it later reports the error.
        !matches!(self.tree.read(&format!("flux/{}/{name}.yaml", version.name)), Ok(None))
    }

    fn find_versions(&self) -> Result<Vec<FluxVersion>, DistributionError> {
        let mut versions: Vec<FluxVersion> = self
            .tree
            .list("flux")
            .map_err(|source| self.unreadable("flux", source))?
            .into_iter()
            .filter_map(|name| FluxVersion::from_folder(&name))
            .collect();
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        Ok(versions)
    }

    fn text(&self, relative: &str) -> Result<Option<Cow<'_, str>>, DistributionError> {
        let bytes = self.tree.read(relative).map_err(|source| self.unreadable(relative, source))?;
        let text = match bytes {
            None => return Ok(None),
            Some(Cow::Borrowed(bytes)) => str::from_utf8(bytes).ok().map(Cow::from),
            Some(Cow::Owned(bytes)) => String::from_utf8(bytes).ok().map(Cow::from),
        };
        text.map(Some).ok_or_else(|| self.content(relative, "not UTF-8 text"))
    }

    fn unreadable(&self, relative: &str, source: std::io::Error) -> DistributionError {
        DistributionError::Read { path: self.tree.name_of(relative).into(), source }
    }

    fn content(&self, relative: &str, message: &str) -> DistributionError {
        DistributionError::Content { file: self.tree.name_of(relative), message: message.to_owned() }
    }
}

fn is_manifest(document: &Value) -> bool {
    let filled = |pointer| document.pointer(pointer).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    filled("/apiVersion") && filled("/kind") && filled("/metadata/name")
}

/// Reads `images: [{name: REGISTRY/COMPONENT, newTag, digest}]`; images of unknown components are skipped.
fn image_digests(text: &str) -> Result<Vec<ImageDigest>, String> {
    let documents = yaml::parse_documents(text).map_err(|error| error.to_string())?;
    let images = documents.first().and_then(|document| document.get("images")).and_then(Value::as_array);
    let mut digests = Vec::new();
    for (index, image) in images.ok_or("no list `images`")?.iter().enumerate() {
        let field = |key: &str| {
            image.get(key).and_then(Value::as_str).ok_or_else(|| format!("images[{index}] has no text `{key}`"))
        };
        let name = field("name")?;
        let Ok(component) = name.rsplit('/').next().unwrap_or(name).parse::<Component>() else { continue };
        let digest = field("digest")?.to_owned();
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("images[{index}].digest `{digest}` is not sha256: and 64 hexadecimal digits"));
        }
        digests.push(ImageDigest { component, tag: field("newTag")?.to_owned(), digest });
    }
    digests.sort_by_key(|digest| digest.component);
    Ok(digests)
}
