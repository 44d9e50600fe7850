//! The registry client against a real registry, what it wrote judged by crane and regctl, what
//! it verifies signed by cosign, and against a faulty one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a failed test panics"
)]

mod artifacts;
mod commands;
mod cosign;
mod faults;
mod mirrors;
mod protocol;
mod sources;

use std::cmp::Reverse;
use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use flux_operator::oci::{
    Access, BlobSource, Descriptor, DockerConfig, Manifest, MediaType, Reference, Registries, RegistryCredentials,
    Repository,
};
use hyper::body::Bytes;
use libtest_mimic::{Arguments, Completion, Trial};
use serde_json::json;
use test_support as support;
use test_support::registry;
use test_support::slow_tests::{SlowTests, note_duration};

/// A test: its name, and its function.
type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()> + Send>>);

/// Lists async test functions of a module.
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        pub fn tests() -> Vec<crate::Test> {
            vec![$((concat!(module_path!(), "::", stringify!($test)), || Box::pin($test()))),*]
        }
    };
}
pub(crate) use tests;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let reason = if arguments.list { None } else { registry::unavailable_because() };
    let mut tests: Vec<Test> =
        [protocol::tests(), artifacts::tests(), commands::tests(), sources::tests(), mirrors::tests(), faults::tests()]
            .concat()
            .into_iter()
            .map(|(name, test)| (name.split_once("::").map_or(name, |(_, rest)| rest), test))
            .collect();
    let names: Vec<&str> = tests.iter().map(|(name, _)| *name).collect();
    let slow = SlowTests::of("registry");
    slow.check(&names);
    tests.sort_by_key(|(name, _)| Reverse(slow.seconds(name)));
    let trials = tests.into_iter().map(|(name, test)| {
        let reason = reason.clone();
        let trial = Trial::ignorable_test(name, move || match reason {
            Some(reason) if std::env::var("CI").is_ok_and(|value| value == "true") => {
                Err(format!("CI=true, but the test cannot run: it {reason}").into())
            }
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
                let started = Instant::now();
                // Building the registry comes first, and may take minutes.
                runtime.block_on(async { tokio::time::timeout(Duration::from_secs(900), test()).await })?;
                note_duration("registry", name, started.elapsed());
                Ok(Completion::Completed)
            }
        });
        trial.with_ignored_flag(slow.is_ignored(name))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// A client that repeats quickly and waits briefly.
fn client(credentials: RegistryCredentials) -> Registries {
    Registries::new(access(credentials))
}

fn access(credentials: RegistryCredentials) -> Access {
    let mut access = Access::new(credentials);
    access.retry_pause = Duration::from_millis(5);
    access.stall_timeout = Duration::from_secs(20);
    access
}

/// The registry's one user, as docker's configuration has it.
fn login(host: &str, password: &str) -> RegistryCredentials {
    let config = json!({"auths": {host: {"username": registry::USER, "password": password}}});
    RegistryCredentials::Docker(DockerConfig::parse("test", config.to_string().as_bytes()).unwrap())
}

fn repository(host: &str, path: &str) -> Repository {
    format!("{host}/{path}").parse().unwrap()
}

/// Pushes an artifact of one layer and returns its manifest.
async fn push(client: &Registries, reference: &Reference, content: &[u8]) -> Manifest {
    let repository = &reference.repository;
    let mut descriptors = Vec::new();
    for (media_type, bytes) in [("application/vnd.test.config+json", b"{}".as_slice()), ("text/plain", content)] {
        let descriptor = Descriptor::of(media_type, bytes);
        let source = BlobSource::Bytes(Bytes::copy_from_slice(bytes));
        client.push_blob(repository, &descriptor, &source, None, None).await.unwrap();
        descriptors.push(descriptor);
    }
    let manifest = image(&descriptors[0], &descriptors[1..]);
    client.push_manifest(reference, &manifest).await.unwrap();
    manifest
}

fn image(config: &Descriptor, layers: &[Descriptor]) -> Manifest {
    let text = json!({"schemaVersion": 2, "mediaType": MediaType::MANIFEST, "config": config, "layers": layers});
    Manifest::parse(None, Bytes::from(text.to_string())).unwrap()
}

/// Bytes that do not compress and do not repeat within a test.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[0]
        })
        .collect()
}
