//! `artifact push`: uploads files to a registry.

use std::collections::BTreeMap;

use flux_operator::oci::{self, Reference, annotation};
use jiff::Timestamp;

use super::{ContentArgs, parse_reference};
use crate::output::counted;
use crate::session::registries::{RegistryArgs, answer_of, registry_error};
use crate::terminal::{CliError, Exit, Shell};

/// Push manifests as an OCI artifact for Flux
///
/// Prints the reference with its digest. The same files and annotations always give the same digest.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The manifests of a commit\n  \
    flux-operator artifact push oci://ghcr.io/org/app:6f8e2d1 --path ./deploy \\\n    \
    --source https://github.com/org/app --revision main@sha1:6f8e2d1\n\n  \
    # To a registry on this machine, without the test files\n  \
    flux-operator artifact push oci://localhost:5000/manifests:dev \\\n    \
    --path ./deploy --ignore-paths '.git/,*_test.yaml'")]
pub struct Args {
    /// Destination: oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "REFERENCE", value_parser = parse_reference)]
    pub reference: Reference,
    #[command(flatten)]
    pub content: ContentArgs,
    /// Address of the repository the manifests come from
    #[arg(long, value_name = "URL")]
    pub source: Option<String>,
    /// Revision of the manifests in that repository: BRANCH@sha1:COMMIT
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// Creation time in RFC 3339; without it the digest is reproducible
    #[arg(long, value_name = "TIME")]
    pub created: Option<Timestamp>,
    /// Additional annotations, repeatable
    #[arg(short, long, value_name = "KEY=VALUE", value_parser = parse_annotation)]
    pub annotation: Vec<(String, String)>,
    #[command(flatten)]
    pub registry: RegistryArgs,
}

fn parse_annotation(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or("an annotation is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    if args.reference.digest().is_some() {
        return Err(CliError::usage("cannot push to a digest").hint("name a tag; the digest follows from the files"));
    }
    let files = args.content.read(shell)?;
    let own = [
        (annotation::SOURCE, args.source.clone()),
        (annotation::REVISION, args.revision.clone()),
        (annotation::CREATED, args.created.map(|time| time.to_string())),
    ];
    let mut annotations: BTreeMap<String, String> = args.annotation.iter().cloned().collect();
    // A flag wins over the same key of --annotation.
    annotations.extend(own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    let attempted = format!("push {}", args.reference.url());
    let pushed = shell.run(answer_of(&args.reference.repository, shell, &attempted, None, async {
        let registries = args.registry.open(shell).await?;
        // A registry may have carried out a request whose answer never arrived.
        shell.interruption().writes();
        oci::push_artifact(&registries, &args.reference, &files, &annotations).await.map_err(|e| registry_error(&e))
    }))?;
    shell.status(&format!("pushed {}", counted(files.len(), "file")));
    shell.print(&format!("{}\n", args.reference.at(pushed.digest).url()));
    Ok(Exit::Done)
}
