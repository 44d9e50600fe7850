//! Go programs, built once per `go.sum` into the user's cache and shared by all checkouts.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::{Error, Fallible};

/// A folder with a `go.mod`, and the programs to build from it.
pub struct GoProgram {
    /// Name in messages.
    pub name: &'static str,
    /// The folder of the `go.mod`, relative to the repository.
    pub folder: &'static str,
    /// The files that decide whether a build is stale besides `go.sum`, relative to `folder`.
    pub inputs: &'static [&'static str],
    /// The folder of the cache that receives one folder of programs per fingerprint.
    pub output: &'static str,
    /// The packages to build; each becomes one program.
    pub packages: &'static [&'static str],
    /// The names of the programs that the build leaves in `output`.
    pub programs: &'static [&'static str],
    /// Whether it works so much that optimisation is worth its time: a build takes a quarter less without.
    pub optimised: bool,
    /// Passed to the linker, besides stripping.
    pub link_flags: &'static str,
}

impl GoProgram {
    /// Returns whether the programs are there and match their sources: then nothing needs Go.
    pub fn is_built(&self) -> bool {
        self.output_folder().is_ok_and(|folder| self.programs.iter().all(|p| folder.join(p).is_file()))
    }

    /// Returns the folder with the programs, after building them if needed.
    ///
    /// Several test binaries may ask at once: the first builds, the others wait for it.
    ///
    /// # Errors
    /// When Go is missing or the build fails; the message ends with what Go printed.
    pub fn ensure(&self) -> Fallible<PathBuf> {
        let folder = self.output_folder()?;
        if self.is_built() {
            return Ok(folder);
        }
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("build.lock"))?;
        lock.lock()?;
        if !self.is_built() {
            self.build(&folder)?;
        }
        Ok(folder)
    }

    fn build(&self, folder: &Path) -> Fallible<()> {
        eprintln!("building {} with Go into {} (minutes the first time, then kept)", self.name, folder.display());
        // Built beside the old ones and moved over them: a program that runs right now stays whole.
        let fresh = tempfile::tempdir_in(folder)?;
        // DWARF is for debuggers, which nobody runs on them.
        let compiler_flags = if self.optimised { "-dwarf=false" } else { "-dwarf=false -N -l" };
        let output = Command::new("go")
            .args(["build", "-trimpath", "-mod=readonly"])
            .arg(format!("-gcflags=all={compiler_flags}"))
            .arg(format!("-ldflags=-s -w {}", self.link_flags))
            .arg("-o")
            .arg(fresh.path().join(""))
            .args(self.packages)
            .current_dir(self.source_folder())
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run `go build` for {}: {error}", self.name))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Error::from(format!("go build of {} failed:\n{}", self.name, super::last_lines(&text, 30))));
        }
        for program in self.programs {
            fs::rename(fresh.path().join(program), folder.join(program))?;
        }
        Ok(())
    }

    fn fingerprint(&self) -> std::io::Result<String> {
        let mut hash = Sha256::new();
        for input in self.inputs.iter().copied().chain(["go.sum"]) {
            let bytes = fs::read(self.source_folder().join(input))?;
            hash.update(format!("{input} {}\n", bytes.len()));
            hash.update(bytes);
        }
        hash.update(self.packages.join(" "));
        hash.update(self.link_flags);
        Ok(hex::encode(hash.finalize()))
    }

    fn source_folder(&self) -> PathBuf {
        super::repository().join(self.folder)
    }

    /// The programs of another version of the sources are in another folder, so checkouts do not disturb each other.
    fn output_folder(&self) -> std::io::Result<PathBuf> {
        let fingerprint = self.fingerprint()?;
        Ok(cache_folder().join(self.output).join(&fingerprint[..16]))
    }
}

/// Returns whether a `go` command can be run.
pub fn go_is_installed() -> bool {
    let status =
        Command::new("go").arg("version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

/// `$XDG_CACHE_HOME/flux-operator-tests`, by default below `~/.cache`; without a home a folder of this package.
fn cache_folder() -> PathBuf {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(|| super::repository().join("target")).join("flux-operator-tests")
}
