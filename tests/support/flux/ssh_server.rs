//! An OpenSSH server on loopback that accepts no login, for failures before a Git repository is reached.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::control_plane::FreePorts;
use crate::server_process::ServerProcess;
use crate::{Fallible, eventually};

/// OpenSSH re-executes itself and therefore requires an absolute path.
const SSHD: &str = "/usr/sbin/sshd";
/// Folder into which a server started by root confines its unprivileged part; packages leave its creation to the init
/// system.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// The running server; it stops when dropped or when the process ends.
pub struct SshServer {
    port: u16,
    folder: PathBuf,
    _process: ServerProcess,
    _ports: FreePorts<1>,
}

impl SshServer {
    /// Returns why no server can be started here, or `None` if one can.
    pub fn unavailable_because() -> Option<String> {
        // Without a known argument it prints its usage and exits.
        let keygen = Command::new("ssh-keygen").arg("-?").stdin(Stdio::null()).output();
        let can_run = Path::new(SSHD).is_file() && keygen.is_ok();
        (!can_run).then(|| format!("needs OpenSSH: {SSHD} and ssh-keygen"))
    }

    /// Starts a server with its own host key, with its files in a subfolder of `folder`.
    ///
    /// # Errors
    /// The server sends no greeting; the error contains its last output.
    pub async fn start(folder: &Path) -> Fallible<SshServer> {
        let free = FreePorts::find()?;
        let [port] = free.ports;
        let folder = folder.join(format!("ssh-{port}"));
        fs::create_dir_all(&folder)?;
        let host_key = generate_key(&folder.join("host"))?.file;
        let config = folder.join("sshd_config");
        let text = format!(
            "ListenAddress 127.0.0.1\nHostKey \"{}\"\nPidFile none\nUsePAM no\nStrictModes no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nAuthorizedKeysFile none\n",
            host_key.display()
        );
        fs::write(&config, text)?;
        match fs::create_dir(PRIVILEGE_SEPARATION) {
            // Only root needs the folder, and only root can create it.
            Err(error) if !matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::PermissionDenied) => {
                return Err(error.into());
            }
            _ => {}
        }
        let arguments =
            ["-D", "-e", "-f", &config.display().to_string(), "-p", &port.to_string()].map(str::to_owned).to_vec();
        let process = ServerProcess::start("sshd", Path::new(SSHD), &arguments, &BTreeMap::new(), &folder)?;
        let greeted = eventually("sshd to greet", Duration::from_secs(10), || greets(port)).await;
        if let Err(error) = greeted {
            return Err(format!("{error}\n{}", process.last_log_lines(10)).into());
        }
        Ok(SshServer { port, folder, _process: process, _ports: free })
    }

    /// The address of a repository.
    pub fn url(&self, repository: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{repository}.git", self.port)
    }

    /// The line of a `known_hosts` file that trusts this server.
    pub fn known_hosts(&self) -> Fallible<String> {
        self.known_hosts_with(&fs::read_to_string(self.folder.join("host.pub"))?)
    }

    /// The line of a `known_hosts` file that expects another key of this server.
    pub fn wrong_known_hosts(&self) -> Fallible<String> {
        self.known_hosts_with(&self.key("other-host")?.public)
    }

    fn known_hosts_with(&self, public_key: &str) -> Fallible<String> {
        Ok(format!("[127.0.0.1]:{} {}\n", self.port, public_key.trim()))
    }

    /// Creates a key pair that the server does not know.
    pub fn key(&self, name: &str) -> Fallible<SshKey> {
        generate_key(&self.folder.join(name))
    }
}

/// A key pair, in OpenSSH's formats.
pub struct SshKey {
    file: PathBuf,
    pub private: String,
    pub public: String,
}

fn generate_key(file: &Path) -> Fallible<SshKey> {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
        .arg(file)
        .stdin(Stdio::null())
        .output()?;
    if !made.status.success() {
        return Err(format!("ssh-keygen failed: {}", String::from_utf8_lossy(&made.stderr)).into());
    }
    let private = fs::read_to_string(file)?;
    let public = fs::read_to_string(file.with_extension("pub"))?;
    Ok(SshKey { file: file.to_path_buf(), private, public })
}

async fn greets(port: u16) -> Option<()> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let mut greeting = [0; 4];
    stream.read_exact(&mut greeting).await.ok()?;
    (&greeting == b"SSH-").then_some(())
}
