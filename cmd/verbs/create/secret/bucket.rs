//! `create secret bucket`

use std::path::PathBuf;

use flux_operator::secrets::{Bucket, Credentials};

use super::{SecretArgs, read_or_ask, source};
use crate::terminal::prompt::SecretLines;
use crate::terminal::{CliError, SecretArg, Shell};

/// Create a Secret with the keys of an S3-compatible bucket
///
/// Without a source, prompts twice for the secret key, without echo.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # Prompt for the secret key\n  \
    flux-operator create secret bucket bucket-auth --namespace=flux-system \\\n    \
    --accesskey=my-accesskey\n\n  \
    # Read it from a file\n  \
    flux-operator create secret bucket bucket-auth --namespace=flux-system \\\n    \
    --accesskey=my-accesskey --secretkey-file=secretkey.txt")]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Access key
    #[arg(long, value_name = "KEY")]
    pub accesskey: String,
    #[command(flatten)]
    pub secret_key: SecretKeyArgs,
}

/// The only source of the secret key.
#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false)]
pub struct SecretKeyArgs {
    /// Secret key; visible to other users of this machine
    #[arg(long, value_name = "KEY")]
    pub secretkey: Option<SecretArg>,
    /// Read the secret key from standard input: one line, spaces kept
    #[arg(long)]
    pub secretkey_stdin: bool,
    /// Read the secret key from a file of one line
    #[arg(long, value_name = "FILE")]
    pub secretkey_file: Option<PathBuf>,
    /// Read the secret key from the environment variable NAME
    #[arg(long, value_name = "NAME")]
    pub secretkey_env: Option<String>,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let key = &self.secret_key;
        let source = source(
            key.secretkey.as_ref(),
            key.secretkey_stdin,
            key.secretkey_file.as_deref(),
            key.secretkey_env.as_deref(),
        );
        let secret_key = read_or_ask(source, shell, "secret key", "secretkey", SecretLines::One).await?;
        Ok(Credentials::Bucket(Bucket { access_key: self.accesskey.clone(), secret_key }))
    }
}
