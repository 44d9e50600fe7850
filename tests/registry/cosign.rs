//! The real cosign: it makes keys and signatures, and judges what it finds, as people use it with keys of their own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use flux_operator::oci::Reference;
use tempfile::TempDir;

use super::support::go_program::GoProgram;

const COSIGN: GoProgram = GoProgram {
    name: "cosign",
    folder: "tests/programs/cosign",
    inputs: &["go.mod"],
    output: "cosign",
    packages: &["tool"],
    programs: &["cosign"],
    optimised: false,
    link_flags: "",
};

/// How cosign keeps a signature beside what it signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A layer of an image under the tag `sha256-<hex>.sig`; what cosign 1 and 2 write.
    Tag,
    /// A sigstore bundle that refers to the manifest; what cosign 3 writes.
    Bundle,
}

/// cosign with a folder of its own, where its keys are.
pub struct Cosign {
    program: PathBuf,
    folder: TempDir,
}

impl Cosign {
    pub async fn new() -> Cosign {
        let ensured = tokio::task::spawn_blocking(|| COSIGN.ensure().map_err(|error| error.to_string())).await.unwrap();
        let cosign = Cosign { program: ensured.unwrap().join("cosign"), folder: tempfile::tempdir().unwrap() };
        // Without one that names no services, signing asks the internet for them.
        cosign.run(&["signing-config", "create", "--out", "services.json"]).unwrap();
        cosign
    }

    /// Makes a key pair of that name, and returns the file of its public half.
    pub fn make_key(&self, name: &str) -> PathBuf {
        self.run(&["generate-key-pair", "--output-key-prefix", name]).unwrap();
        self.public_key(name)
    }

    /// Signs a manifest, which the reference names by its digest.
    pub fn sign(&self, key: &str, manifest: &Reference, form: Form) {
        let (key, manifest) = (format!("{key}.key"), manifest.to_string());
        let how: &[&str] = match form {
            Form::Tag => &["--use-signing-config=false", "--tlog-upload=false", "--new-bundle-format=false"],
            Form::Bundle => &["--signing-config", "services.json"],
        };
        self.run(&[&["sign", "--key", &key, "--allow-http-registry", "-y"], how, &[&manifest]].concat()).unwrap();
    }

    /// Returns whether cosign finds a signature that the key verifies.
    pub fn verifies(&self, key: &str, manifest: &Reference) -> bool {
        let key = self.public_key(key).display().to_string();
        let options = ["verify", "--key", &key, "--insecure-ignore-tlog", "--allow-http-registry"];
        self.run(&[&options[..], &[&manifest.to_string()]].concat()).is_ok()
    }

    fn public_key(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.pub"))
    }

    fn run(&self, arguments: &[&str]) -> Result<(), String> {
        let home = self.folder.path();
        let output = Command::new(&self.program)
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("COSIGN_PASSWORD", "")
            .current_dir(home)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(format!("cosign {}: {printed}", arguments.join(" "))) }
    }
}
