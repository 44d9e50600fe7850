//! A distribution that somebody else packaged: a directory or a `.tar.gz` with the layout the module documentation shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component as PathPart, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::Value;

use super::{Component, DistributionError, FluxVersion, ImageDigest, Variant};
use crate::format::yaml;

/// Bounds of what is read from an archive. The largest known one unpacks to 20 MB in 400 files.
const MAX_ENTRIES: usize = 10_000;
const MAX_TOTAL_BYTES: u64 = 128 << 20;
const MAX_FILE_BYTES: u64 = 8 << 20;

/// The files of a distribution, by their path below its root.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    files: Files,
    versions: Vec<FluxVersion>,
    digests: BTreeMap<(String, &'static str), Vec<ImageDigest>>,
}

#[derive(Debug)]
enum Files {
    Directory(PathBuf),
    Unpacked(BTreeMap<String, Vec<u8>>),
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, DistributionError> {
        let unreadable = |source| DistributionError::Read { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        let files = if metadata.is_dir() {
            Files::Directory(path.to_owned())
        } else {
            let file = File::open(path).map_err(unreadable)?;
            Files::Unpacked(unpack(path, file)?)
        };
        let mut archive = Self { path: path.to_owned(), files, versions: Vec::new(), digests: BTreeMap::new() };
        archive.versions = archive.find_versions()?;
        if archive.versions.is_empty() {
            return Err(archive.content("flux", "no folder named after a version, such as flux/v2.9.4"));
        }
        archive.digests = archive.read_digests()?;
        Ok(archive)
    }

    pub(crate) fn versions(&self) -> &[FluxVersion] {
        &self.versions
    }

    pub(crate) fn digests(&self, version: &FluxVersion, variant: Variant) -> Option<&Vec<ImageDigest>> {
        self.digests.get(&(version.name.clone(), variant.as_str()))
    }

    /// Returns the documents of `flux/VERSION/NAME.yaml`; None when there is no such file.
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
        let relative = format!("flux/{}/{name}.yaml", version.name);
        match &self.files {
            Files::Directory(root) => root.join(relative).is_file(),
            Files::Unpacked(files) => files.contains_key(&relative),
        }
    }

    fn find_versions(&self) -> Result<Vec<FluxVersion>, DistributionError> {
        let mut versions: Vec<FluxVersion> =
            self.children("flux")?.into_iter().filter_map(|name| FluxVersion::from_folder(&name)).collect();
        versions.sort_by(|a, b| a.version.cmp(&b.version));
        Ok(versions)
    }

    fn read_digests(&self) -> Result<BTreeMap<(String, &'static str), Vec<ImageDigest>>, DistributionError> {
        let mut all = BTreeMap::new();
        for version in &self.versions {
            for variant in Variant::ALL {
                let relative = format!("flux-images/{}/{variant}.yaml", version.name);
                let Some(text) = self.text(&relative)? else { continue };
                let digests = image_digests(&text).map_err(|message| self.content(&relative, &message))?;
                all.insert((version.name.clone(), variant.as_str()), digests);
            }
        }
        Ok(all)
    }

    /// Returns the names of the folders directly below a folder; a missing folder has none.
    fn children(&self, folder: &str) -> Result<BTreeSet<String>, DistributionError> {
        match &self.files {
            Files::Unpacked(files) => Ok(files
                .keys()
                .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.split_once('/'))
                .map(|(name, _)| name.to_owned())
                .collect()),
            Files::Directory(root) => {
                let path = root.join(folder);
                let unreadable = |source| DistributionError::Read { path: path.clone(), source };
                match std::fs::read_dir(&path) {
                    Ok(entries) => {
                        let mut names = BTreeSet::new();
                        for entry in entries {
                            let entry = entry.map_err(unreadable)?;
                            if entry.path().is_dir() {
                                names.insert(entry.file_name().to_string_lossy().into_owned());
                            }
                        }
                        Ok(names)
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
                    Err(error) => Err(unreadable(error)),
                }
            }
        }
    }

    fn text(&self, relative: &str) -> Result<Option<String>, DistributionError> {
        let bytes = match &self.files {
            Files::Unpacked(files) => match files.get(relative) {
                Some(bytes) => bytes.clone(),
                None => return Ok(None),
            },
            Files::Directory(root) => {
                let path = root.join(relative);
                let unreadable = |source| DistributionError::Read { path: path.clone(), source };
                let file = match File::open(&path) {
                    Ok(file) => file,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(unreadable(error)),
                };
                let mut bytes = Vec::new();
                file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
                bytes
            }
        };
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(self.content(relative, "larger than 8 MiB"));
        }
        String::from_utf8(bytes).map(Some).map_err(|_| self.content(relative, "not UTF-8 text"))
    }

    fn content(&self, relative: &str, message: &str) -> DistributionError {
        let file = match &self.files {
            Files::Directory(root) => root.join(relative).display().to_string(),
            Files::Unpacked(_) => format!("{}:{relative}", self.path.display()),
        };
        DistributionError::Content { file, message: message.to_owned() }
    }
}

fn is_manifest(document: &Value) -> bool {
    let filled = |pointer| document.pointer(pointer).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    filled("/apiVersion") && filled("/kind") && filled("/metadata/name")
}

/// Reads `images: [{name: REGISTRY/COMPONENT, newTag, digest}]`; images of components unknown to us are left out.
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

/// Reads an archive into memory. Nothing is written to disk, so a hostile one can at most be refused.
fn unpack(path: &Path, file: File) -> Result<BTreeMap<String, Vec<u8>>, DistributionError> {
    let unsafe_entry = |name: &str, message: &str| DistributionError::UnsafeArchive {
        path: path.to_owned(),
        entry: name.to_owned(),
        message: message.to_owned(),
    };
    let unreadable = |source| DistributionError::Read { path: path.to_owned(), source };
    // A second bound, whatever the headers claim: the contents, and a header and padding for each entry.
    let stream = MultiGzDecoder::new(file).take(MAX_TOTAL_BYTES + 1024 * MAX_ENTRIES as u64 + MAX_FILE_BYTES);
    let mut archive = tar::Archive::new(stream);
    let mut files = BTreeMap::new();
    let mut total: u64 = 0;
    for (count, entry) in archive.entries().map_err(unreadable)?.enumerate() {
        let mut entry = entry.map_err(unreadable)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if count >= MAX_ENTRIES {
            return Err(unsafe_entry(&name, "the archive has more than 10000 entries"));
        }
        let kind = entry.header().entry_type();
        let relative = relative_path(Path::new(&name)).map_err(|message| unsafe_entry(&name, message))?;
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() {
            return Err(unsafe_entry(&name, "only files and directories are allowed, no links or devices"));
        }
        let size = entry.size();
        total = total.saturating_add(size);
        if size > MAX_FILE_BYTES {
            return Err(unsafe_entry(&name, "the file is larger than 8 MiB"));
        }
        if total > MAX_TOTAL_BYTES {
            return Err(unsafe_entry(&name, "the archive unpacks to more than 128 MiB"));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(unreadable)?;
        if files.insert(relative, bytes).is_some() {
            return Err(unsafe_entry(&name, "the archive holds this file twice"));
        }
    }
    Ok(files)
}

/// Returns the path with `/` between its parts; only plain names and `.` are allowed.
fn relative_path(path: &Path) -> Result<String, &'static str> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            PathPart::CurDir => {}
            PathPart::Normal(name) => parts.push(name.to_str().ok_or("the name is not UTF-8")?),
            PathPart::ParentDir => return Err("the path leaves the archive with `..`"),
            PathPart::RootDir | PathPart::Prefix(_) => return Err("the path is absolute"),
        }
    }
    Ok(parts.join("/"))
}
