//! `create secret githubapp`

use std::path::PathBuf;

use flux_operator::secrets::{AppInstallation, Credentials, GithubApp};

use super::{SecretArgs, file};
use crate::terminal::{CliError, Shell};

/// Create a Secret with the key of a GitHub App
///
/// For Git repositories on GitHub, without a personal token. Identify the
/// installation by its owner or by its ID.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # An app installed in an organisation\n  \
    flux-operator create secret githubapp github-app-auth \\\n    \
    --namespace=flux-system --app-id=1 --app-installation-owner=my-org \\\n    \
    --app-private-key-file=./private-key.pem\n\n  \
    # On GitHub Enterprise, by the ID of the installation\n  \
    flux-operator create secret githubapp github-app-auth \\\n    \
    --namespace=flux-system --app-id=1 --app-installation-id=2 \\\n    \
    --app-private-key-file=./private-key.pem \\\n    \
    --app-base-url=https://github.example.com/api/v3")]
#[command(group = clap::ArgGroup::new("installation").required(true).args(["app_installation_owner", "app_installation_id"]))]
pub struct Args {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// ID of the app
    #[arg(long, value_name = "ID")]
    pub app_id: String,
    /// Organisation or user the app is installed in
    #[arg(long, value_name = "NAME")]
    pub app_installation_owner: Option<String>,
    /// ID of the installation
    #[arg(long, value_name = "ID")]
    pub app_installation_id: Option<String>,
    /// Private key of the app, in PEM
    #[arg(long, alias = "app-private-key", value_name = "FILE")]
    pub app_private_key_file: PathBuf,
    /// API address of a GitHub Enterprise server
    #[arg(long, value_name = "URL")]
    pub app_base_url: Option<String>,
}

impl Args {
    pub async fn credentials(&self, shell: &Shell) -> Result<Credentials, CliError> {
        let installation = match (&self.app_installation_owner, &self.app_installation_id) {
            (Some(owner), _) => AppInstallation::Owner(owner.clone()),
            (None, id) => AppInstallation::Id(id.clone().unwrap_or_default()),
        };
        Ok(Credentials::GithubApp(GithubApp {
            app_id: self.app_id.clone(),
            installation,
            private_key: file(&self.app_private_key_file, shell).await?,
            base_url: self.app_base_url.clone(),
        }))
    }
}
