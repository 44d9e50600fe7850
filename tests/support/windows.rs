//! The program for Windows, built here and run under Wine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::run::Run;

const TARGET: &str = "x86_64-pc-windows-gnu";
/// Wine 8 lacks this library of Windows 10, from which Rust's standard library takes random numbers.
const RANDOM_NUMBERS: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
     BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return RtlGenRandom(data, (ULONG)size); }\n";
/// How to install what [`wine`] looks for.
pub const NEEDS: &str = "needs wine64 and gcc-mingw-w64-x86-64 (and `rustup target add x86_64-pc-windows-gnu`)";

/// The Wine that runs the program for Windows, if MinGW, which links it, is installed as well.
pub fn wine() -> Option<PathBuf> {
    let folders = ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/local/bin/wine64"];
    let wine = folders.iter().map(PathBuf::from).find(|file| file.is_file())?;
    let compiler = Command::new("x86_64-w64-mingw32-gcc").arg("--version").output().is_ok_and(|o| o.status.success());
    compiler.then_some(wine)
}

/// The program with a Windows user and a folder of its own.
pub struct WindowsProgram {
    wine: PathBuf,
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl WindowsProgram {
    /// Builds the program of the package in the folder `repository`, and the library that Wine lacks.
    ///
    /// # Panics
    /// Where one of them cannot be built.
    pub fn build(wine: PathBuf, repository: &Path) -> WindowsProgram {
        let folder = tempfile::tempdir().expect("a folder");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        // CI builds it there, while other checks run.
        let target = repository.join(target).join("others");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--locked", "--target", TARGET, "--bin", "flux-operator", "--target-dir"])
            .arg(&target)
            .current_dir(repository)
            .status()
            .expect("cargo runs");
        assert!(built.success());
        let program = folder.path().join("flux-operator.exe");
        let made = target.join(TARGET).join("debug/flux-operator.exe");
        std::fs::copy(made, &program).expect("the program");
        std::fs::write(folder.path().join("random.c"), RANDOM_NUMBERS).expect("written");
        let library = Command::new("x86_64-w64-mingw32-gcc")
            .args(["-shared", "-o", "bcryptprimitives.dll", "random.c", "-ladvapi32"])
            .current_dir(folder.path())
            .status()
            .expect("the compiler runs");
        assert!(library.success());
        WindowsProgram { wine, program, folder }
    }

    /// The folder in which the program is and runs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(&self.program, arguments)
    }

    /// The command of another file with the program.
    pub fn command_of(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.wine);
        command.arg(program).args(arguments).current_dir(self.folder.path()).env_remove("KUBECONFIG");
        // A home and configuration of its own; Wine's own messages would stand in the program's standard error.
        command.env("WINEPREFIX", self.folder.path().join("wine")).env("WINEDEBUG", "-all").env("USER", "tester");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with_input(arguments, "")
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut child = self.start(self.command(arguments));
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
        Run::from(child.wait_with_output().expect("ended"))
    }

    /// Starts a command with pipes for its three streams.
    pub fn start(&self, mut command: Command) -> Child {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Wine runs")
    }

    /// A folder of the Windows user, by its path below `AppData` or the profile.
    pub fn of_user(&self, below: &str) -> PathBuf {
        self.folder.path().join("wine/drive_c/users/tester").join(below)
    }

    pub fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }
}
