//! Packs what a release consists of, from a program that is built: the same input gives the same bytes.
//!
//! ```text
//! cargo run -p tools --bin release -- --program FILE --target TRIPLE --to DIR [--authorities FILE]
//!
//!   DIR/flux-operator-VERSION-TRIPLE.tar.gz   program, man pages, completions, bill of materials; for Windows a .zip
//!   DIR/….tar.gz.sha256                       its checksum, as `install.sh --checksum` takes it
//!   DIR/….cdx.json                            bill of materials (CycloneDX 1.5): every crate that is compiled in
//!   DIR/image-ARCH/                           the image as an OCI layout       (with --authorities)
//!   DIR/rootfs/                               the same files, for deploy/Dockerfile
//! ```
//! `tools/release.sh` builds the program and calls this.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const NAME: &str = "flux-operator";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Nobody, by the custom of images without a distribution.
const USER: &str = "65532";

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A file of an archive, its mode, and its content; a folder where there is none.
type Entries = BTreeMap<String, (u32, Option<Vec<u8>>)>;

fn main() -> ExitCode {
    match release() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn release() -> Fallible<()> {
    let mut arguments: BTreeMap<String, String> = BTreeMap::new();
    let words: Vec<String> = std::env::args_os().filter_map(|word| word.into_string().ok()).skip(1).collect();
    for pair in words.chunks(2) {
        let [flag, value] = pair else { return Err(format!("{} needs a value", pair.join(" ")).into()) };
        arguments.insert(flag.clone(), value.clone());
    }
    let argument = |flag: &str| arguments.get(flag).ok_or_else(|| format!("{flag} is missing"));
    let (program, target) = (PathBuf::from(argument("--program")?), argument("--target")?.clone());
    let to = PathBuf::from(argument("--to")?);
    fs::create_dir_all(&to)?;
    let program = fs::read(&program).map_err(|error| format!("cannot read {}: {error}", program.display()))?;
    let bill = serde_json::to_vec_pretty(&bill_of_materials(&target)?)?;

    let stem = format!("{NAME}-{VERSION}-{target}");
    let is_windows = target.contains("windows");
    let entries = archive_entries(&stem, if is_windows { "flux-operator.exe" } else { NAME }, &program, &bill)?;
    let (ending, archive) = if is_windows { ("zip", zip(&entries)?) } else { ("tar.gz", gzip(&tar(&entries)?)?) };
    write(&to.join(format!("{stem}.{ending}")), &archive)?;
    write(&to.join(format!("{stem}.{ending}.sha256")), format!("{}  {stem}.{ending}\n", hex(&archive)).as_bytes())?;
    write(&to.join(format!("{stem}.cdx.json")), &bill)?;
    if let Some(authorities) = arguments.get("--authorities") {
        let authorities = fs::read(authorities).map_err(|error| format!("cannot read {authorities}: {error}"))?;
        image(&to, &target, program, authorities)?;
    }
    Ok(())
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn write(path: &Path, bytes: &[u8]) -> Fallible<()> {
    fs::write(path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

fn gzip(bytes: &[u8]) -> Fallible<Vec<u8>> {
    // Without name and time, so that the same content is the same archive.
    let mut encoder = GzEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Sorted, of nobody, without times.
fn tar(entries: &Entries) -> Fallible<Vec<u8>> {
    let mut builder = tar::Builder::new(vec![]);
    for (name, (mode, content)) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_mode(*mode);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        let bytes = content.as_deref().unwrap_or_default();
        header.set_size(bytes.len() as u64);
        header.set_entry_type(if content.is_some() { tar::EntryType::Regular } else { tar::EntryType::Directory });
        builder.append_data(&mut header, name, bytes)?;
    }
    Ok(builder.into_inner()?)
}

/// Sorted, at the first time that the format knows.
fn zip(entries: &Entries) -> Fallible<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
    for (name, (mode, content)) in entries {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(*mode);
        archive.start_file(name, options)?;
        archive.write_all(content.as_deref().unwrap_or_default())?;
    }
    Ok(archive.finish()?.into_inner())
}

fn archive_entries(stem: &str, program_name: &str, program: &[u8], bill: &[u8]) -> Fallible<Entries> {
    let mut entries: Entries = BTreeMap::new();
    let mut add = |name: &str, mode, content: Vec<u8>| entries.insert(format!("{stem}/{name}"), (mode, Some(content)));
    add(program_name, 0o755, program.to_vec());
    add("bill-of-materials.cdx.json", 0o644, bill.to_vec());
    for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
        add(file, 0o644, fs::read(root().join(file))?);
    }
    for folder in ["man", "completions"] {
        for entry in fs::read_dir(root().join(folder))? {
            let entry = entry?;
            add(&format!("{folder}/{}", entry.file_name().to_string_lossy()), 0o644, fs::read(entry.path())?);
        }
    }
    Ok(entries)
}

/// Every crate that is compiled into the program for a target, with its licence and where it comes from.
fn bill_of_materials(target: &str) -> Fallible<Value> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target])
        .current_dir(root())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let list = |pointer: &str| metadata.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let by_id = |list: Vec<Value>| -> BTreeMap<String, Value> {
        list.into_iter().map(|one| (one["id"].as_str().unwrap_or_default().to_owned(), one)).collect()
    };
    let (packages, nodes) = (by_id(list("/packages")), by_id(list("/resolve/nodes")));
    let own = metadata["resolve"]["root"].as_str().ok_or("no root package")?.to_owned();
    let uses = |id: &str| -> Vec<String> {
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array()).cloned().unwrap_or_default();
        // Those of build scripts and tests are not in the program.
        let is_normal = |one: &Value| {
            one["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
        };
        let normal = dependencies.iter().filter(|one| is_normal(one));
        normal.filter_map(|one| one["pkg"].as_str().map(str::to_owned)).collect()
    };
    let mut compiled: BTreeSet<String> = BTreeSet::new();
    let mut due = vec![own.clone()];
    while let Some(id) = due.pop() {
        if compiled.insert(id.clone()) {
            due.extend(uses(&id));
        }
    }
    let name = |id: &str| -> String {
        let package = packages.get(id).cloned().unwrap_or_default();
        let text = |member: &str| package[member].as_str().unwrap_or_default().to_owned();
        format!("pkg:cargo/{}@{}", text("name"), text("version"))
    };
    let component = |id: &String, kind: &str| {
        let package = packages.get(id).cloned().unwrap_or_default();
        let mut component = json!({
            "type": kind, "bom-ref": name(id), "purl": name(id),
            "name": package["name"], "version": package["version"],
        });
        if let Some(licence) = package["license"].as_str() {
            // Some crates still write the slash of old.
            component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
        }
        component
    };
    let components: Vec<Value> = compiled.iter().filter(|id| **id != own).map(|id| component(id, "library")).collect();
    let dependencies: Vec<Value> = compiled
        .iter()
        .map(|id| {
            let mut on: Vec<String> = uses(id).iter().map(|id| name(id)).collect();
            on.sort();
            json!({"ref": name(id), "dependsOn": on})
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(&own, "application"), "properties": [{"name": "target", "value": target}]},
        "components": components,
        "dependencies": dependencies,
    }))
}

/// One layer from scratch: the program, whom it trusts, who it is, and a place for temporary files.
fn image(to: &Path, target: &str, program: Vec<u8>, authorities: Vec<u8>) -> Fallible<()> {
    let architecture = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        other => return Err(format!("no image is made for {}", other.unwrap_or_default()).into()),
    };
    let mut files: Entries = BTreeMap::new();
    for folder in ["etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/local/", "usr/local/bin/"] {
        files.insert(folder.to_owned(), (0o755, None));
    }
    files.insert("tmp/".to_owned(), (0o1777, None));
    let passwd = format!("nonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n");
    files.insert("etc/passwd".to_owned(), (0o644, Some(passwd.into_bytes())));
    files.insert("etc/group".to_owned(), (0o644, Some(format!("nonroot:x:{USER}:\n").into_bytes())));
    files.insert("etc/ssl/certs/ca-certificates.crt".to_owned(), (0o644, Some(authorities)));
    files.insert(format!("usr/local/bin/{NAME}"), (0o755, Some(program)));
    write_rootfs(&to.join("rootfs"), &files)?;

    let layer = tar(&files)?;
    let packed = gzip(&layer)?;
    let layout = to.join(format!("image-{architecture}"));
    if layout.exists() {
        fs::remove_dir_all(&layout)?;
    }
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let blob = |bytes: &[u8], media_type: &str| -> Fallible<Value> {
        fs::write(layout.join("blobs/sha256").join(hex(bytes)), bytes)?;
        Ok(json!({"mediaType": media_type, "digest": format!("sha256:{}", hex(bytes)), "size": bytes.len()}))
    };
    let labels = json!({
        "org.opencontainers.image.title": NAME,
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "Apache-2.0",
    });
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": [format!("/usr/local/bin/{NAME}")],
            "Cmd": ["controller"],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", hex(&layer))]},
        "history": [{"created_by": "tools/release.sh"}],
    });
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(&serde_json::to_vec(&config)?, "application/vnd.oci.image.config.v1+json")?,
        "layers": [blob(&packed, "application/vnd.oci.image.layer.v1.tar+gzip")?],
    });
    let mut entry = blob(&serde_json::to_vec(&manifest)?, "application/vnd.oci.image.manifest.v1+json")?;
    entry["platform"] = json!({"architecture": architecture, "os": "linux"});
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": format!("v{VERSION}")});
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]});
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    fs::write(layout.join("index.json"), serde_json::to_vec(&index)?)?;
    println!("{} ({} bytes)", layout.display(), packed.len());
    Ok(())
}

fn write_rootfs(folder: &Path, files: &Entries) -> Fallible<()> {
    use std::os::unix::fs::PermissionsExt;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (name, (mode, content)) in files {
        let path = folder.join(name);
        match content {
            Some(bytes) => fs::write(&path, bytes)?,
            None => fs::create_dir_all(&path)?,
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
    }
    Ok(())
}
