//! `create secret sops`

use std::path::PathBuf;

use flux_operator::secrets::{Credentials, KeyKind, SecretText, Sops, SopsKey};
use zeroize::Zeroizing;

use super::{SecretArgs, file};
use crate::terminal::{CliError, Shell, prompt};

/// Create a Secret with keys that decrypt files encrypted by SOPS
///
/// Takes any number of age identities and GPG private keys without passphrase.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # An age identity from a file\n  \
    flux-operator create secret sops sops-keys --namespace=flux-system \\\n    \
    --age-key-file=./age.agekey\n\n  \
    # A GPG key straight from the key ring\n  \
    gpg --export-secret-keys --armor flux | flux-operator create secret \\\n    \
    sops sops-keys --namespace=flux-system --gpg-key-stdin")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Files with age identities, repeatable or separated by commas
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub age_key_file: Vec<PathBuf>,
    /// Files with armoured GPG private keys, repeatable or separated by commas
    #[arg(long, value_name = "FILE", value_delimiter = ',')]
    pub gpg_key_file: Vec<PathBuf>,
    /// Read age identities from standard input
    #[arg(long, conflicts_with = "gpg_key_stdin")]
    pub age_key_stdin: bool,
    /// Read an armoured GPG private key from standard input
    #[arg(long)]
    pub gpg_key_stdin: bool,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let mut keys = vec![];
        for (kind, paths, stdin) in [
            (KeyKind::Age, &self.age_key_file, self.age_key_stdin),
            (KeyKind::Gpg, &self.gpg_key_file, self.gpg_key_stdin),
        ] {
            for path in paths {
                keys.push(SopsKey { kind, origin: path.display().to_string(), text: file(path, shell).await? });
            }
            if stdin {
                let text = without_last_line_end(&prompt::stdin(shell).await?);
                keys.push(SopsKey { kind, origin: "standard input".to_owned(), text });
            }
        }
        Ok(Credentials::Sops(Sops { keys }))
    }
}

/// Removes the line end that a pipe adds, and converts Windows line ends, so that the entry's name stays the same.
fn without_last_line_end(bytes: &[u8]) -> SecretText {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec().into() };
    let lines = Zeroizing::new(text.replace("\r\n", "\n"));
    lines.strip_suffix('\n').unwrap_or(&lines).into()
}
