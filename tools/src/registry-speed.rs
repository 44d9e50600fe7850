//! Measures distributions from a registry, and copies of images between registries.
//!
//! ```text
//! cargo build --profile dist
//! cargo run --release -p tools --bin registry-speed [RUNS]
//! ```
//! Starts two registries on loopback. First `build instance` with the embedded manifests, with an artifact from the
//! registry, and with one from the cache: median wall time and peak memory of RUNS runs (11 by default). Then all seven
//! images of a version, for two platforms and of the size of Flux's, from one registry to the other: `distribution
//! mirror` beside `crane copy`, one image after the other, each round to new repositories; then the same with one of
//! the registries behind a slow line, beside the time that the bytes alone need. Never fails because of a result.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "measure.rs"]
mod measure;
#[path = "program.rs"]
mod program;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flux_operator::api::Component;
use flux_operator::distribution::Distribution;
use flux_operator::oci::{
    Access, BlobSource, Descriptor, Manifest, MediaType, Platform, Reference, Registries, RegistryCredentials,
    Repository,
};
use hyper::body::Bytes;
use measure::{Once, median};
use serde_json::json;
use test_support::Fallible;
use test_support::registry::{Registry, unavailable_because};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Compressed size of the layer of each platform, in bytes; all images share another layer.
const OWN_LAYER: usize = 24 << 20;
const SHARED_LAYER: usize = 4 << 20;
/// Rounds of copying.
const ROUNDS: usize = 5;
/// Bandwidth of the slow line in MiB per second.
const SLOW_LINE: usize = 100;

const INSTANCE: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\n\
    metadata: {name: flux, namespace: flux-system}\nspec:\n  distribution: {version: 2.x, registry: ghcr.io/fluxcd}\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os().filter_map(|word| word.into_string().ok()).skip(1).collect();
    if let Some((measure::CHILD, command)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return measure::measure(command);
    }
    if let Some(reason) = unavailable_because() {
        println!("not measured: it {reason}");
        return ExitCode::SUCCESS;
    }
    let runs = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(11);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match runtime.block_on(run(runs)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(runs: usize) -> Fallible<()> {
    let binary = program::shipped()?;
    let home = tempfile::tempdir()?;
    let program = Program { binary, home: home.path().to_path_buf() };
    let (from, to) = (Registry::start().await?, Registry::start().await?);
    builds(&program, &from, runs).await?;
    mirrors(&program, &from, &to).await
}

/// The measured program with its own home.
struct Program {
    binary: PathBuf,
    home: PathBuf,
}

impl Program {
    async fn once(&self, arguments: &str) -> Fallible<Once> {
        let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let environment: Vec<(&str, OsString)> = vec![("HOME", self.home.clone().into())];
        let once = measure::once(&self.binary, &words, environment).await?;
        if once.code == 0 { Ok(once) } else { Err(format!("`{arguments}` ended with {}", once.code).into()) }
    }
}

async fn builds(program: &Program, registry: &Registry, runs: usize) -> Fallible<()> {
    let file = program.home.join("flux.yaml");
    std::fs::write(&file, INSTANCE)?;
    let artifact = format!("oci://{}/flux/manifests:latest", registry.host());
    program.once(&format!("distribution push {artifact}")).await?;
    let tagged = artifact.trim_start_matches("oci://");
    let digest = registry.judge("crane", &["digest", tagged])?;
    let pinned = format!("{artifact}@{}", digest.trim());
    let build = format!("build instance -f {}", file.display());
    println!("## `build instance`, median of {runs}\n");
    println!("| manifests | wall ms | CPU ms | peak MiB |\n| --- | --- | --- | --- |");
    for (what, arguments) in [
        ("embedded", build.clone()),
        ("pulled", format!("{build} --distribution {artifact} --no-cache")),
        ("cached, the tag asked for", format!("{build} --distribution {artifact}")),
        ("cached, by digest", format!("{build} --distribution {pinned}")),
    ] {
        program.once(&arguments).await?;
        let mut all = Vec::new();
        for _ in 0..runs {
            all.push(program.once(&arguments).await?);
        }
        let of = |figure: fn(&Once) -> f64| median(all.iter().map(figure).collect());
        let (wall, cpu) = (of(|one| one.milliseconds), of(|one| one.cpu));
        println!("| {what} | {wall:.1} | {cpu:.1} | {:.1} |", of(|one| one.mebibytes));
    }
    println!();
    Ok(())
}

async fn mirrors(program: &Program, from: &Registry, to: &Registry) -> Fallible<()> {
    let embedded = Distribution::embedded();
    let newest = embedded.versions().pop().ok_or("no version")?;
    let client = Registries::new(Access::new(RegistryCredentials::Anonymous));
    let mut images = Vec::new();
    for (number, component) in Component::ALL.into_iter().enumerate() {
        let tag = embedded.tag(&newest, component)?;
        let repository = format!("{}/src/{component}", from.host()).parse::<Repository>()?;
        push_image(&client, &repository.with_tag(&tag)?, number as u64).await?;
        images.push(format!("{component}:{tag}"));
    }
    let mebibytes = (images.len() * 2 * OWN_LAYER + SHARED_LAYER) >> 20;
    println!("## {} images for two platforms, {mebibytes} MiB, median of {ROUNDS}\n", images.len());
    println!(
        "| what is slow | the bytes alone, ms | `distribution mirror`, ms | peak MiB | `crane copy`, one after the other, ms |\n\
         | --- | --- | --- | --- | --- |"
    );
    let (slow_from, slow_to) = (behind_a_slow_line(&from.host()).await?, behind_a_slow_line(&to.host()).await?);
    let bytes_alone = format!("{}", mebibytes * 1000 / SLOW_LINE);
    for (what, from, host, alone) in [
        ("nothing: both share two cores", &from.host(), &to.host(), "-"),
        ("the source", &slow_from, &to.host(), &bytes_alone),
        ("the target", &from.host(), &slow_to, &bytes_alone),
    ] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let target = |who: &str| format!("{host}/{}-{who}-{round}", what.replace([' ', ':'], "-"));
            ours.push(program.once(&format!("distribution mirror {} --registry {from}/src", target("ours"))).await?);
            let start = Instant::now();
            for image in &images {
                to.judge("crane", &["copy", &format!("{from}/src/{image}"), &format!("{}/{image}", target("crane"))])?;
            }
            theirs.push(start.elapsed().as_secs_f64() * 1000.0);
        }
        let of = |figure: fn(&Once) -> f64| median(ours.iter().map(figure).collect());
        let (wall, peak, crane) = (of(|one| one.milliseconds), of(|one| one.mebibytes), median(theirs));
        println!("| {what} | {alone} | {wall:.0} | {peak:.1} | {crane:.0}, 1/{:.1} |", crane / wall);
    }
    Ok(())
}

/// Returns the address of a registry behind a line of [`SLOW_LINE`] MiB per second, in both directions and over all
/// connections together.
async fn behind_a_slow_line(host: &str) -> Fallible<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let free_at = Arc::new(Mutex::new(Instant::now()));
    let host = host.to_owned();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(&host).await else { continue };
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            tokio::spawn(relay(from_client, to_server, free_at.clone()));
            tokio::spawn(relay(from_server, to_client, free_at.clone()));
        }
    });
    Ok(address)
}

async fn relay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, free_at: Arc<Mutex<Instant>>) -> std::io::Result<()> {
    let mut piece = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut piece).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        let takes = Duration::from_secs_f64(count as f64 / (SLOW_LINE << 20) as f64);
        let passed_at = {
            let mut free_at = free_at.lock().unwrap();
            *free_at = (*free_at).max(Instant::now()) + takes;
            *free_at
        };
        tokio::time::sleep_until(passed_at.into()).await;
        to.write_all(&piece[..count]).await?;
    }
}

/// Pushes an image for two platforms: a layer shared by all images, and one of its own.
async fn push_image(client: &Registries, reference: &Reference, number: u64) -> Fallible<()> {
    let repository = &reference.repository;
    let mut entries = Vec::new();
    for (place, architecture) in ["amd64", "arm64"].into_iter().enumerate() {
        let config = format!("{{\"architecture\": \"{architecture}\", \"number\": {number}}}").into_bytes();
        let own = noise(OWN_LAYER, 2 * number + place as u64 + 2);
        let mut blobs = Vec::new();
        for (kind, bytes) in [
            ("application/vnd.oci.image.config.v1+json", config),
            ("application/vnd.oci.image.layer.v1.tar+gzip", noise(SHARED_LAYER, 1)),
            ("application/vnd.oci.image.layer.v1.tar+gzip", own),
        ] {
            let descriptor = Descriptor::of(kind, &bytes);
            client.push_blob(repository, &descriptor, &BlobSource::Bytes(bytes.into()), None, None).await?;
            blobs.push(descriptor);
        }
        let manifest = json!({"schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": blobs[0],
            "layers": &blobs[1..]});
        let manifest = Manifest::parse(None, Bytes::from(manifest.to_string()))?;
        client.push_manifest(&repository.with_digest(manifest.digest.clone()), &manifest).await?;
        let platform = Platform { architecture: architecture.to_owned(), ..Platform::linux_amd64() };
        entries.push(Descriptor { platform: Some(platform), ..manifest.descriptor() });
    }
    let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": entries});
    client.push_manifest(reference, &Manifest::parse(None, Bytes::from(index.to_string()))?).await?;
    Ok(())
}

/// Incompressible bytes, always the same for a seed.
fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed);
    let mut bytes = Vec::with_capacity(count);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}
