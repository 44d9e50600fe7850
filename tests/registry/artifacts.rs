//! Artifacts and distributions over a real registry: pushed, pulled, cached, mirrored.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use flux_operator::distribution::Distribution;
use flux_operator::fetch::{ArtifactCache, FetchReason, Fetcher, Memory, Source};
use flux_operator::format::ignore::IgnoreRules;
use flux_operator::format::tarball::{ArchiveLimits, Files, read_folder};
use flux_operator::oci::{
    self, Copier, Descriptor, ImageLocation, Layout, Manifest, MediaType, Platform, Reason, Reference, Registries,
    RegistryCredentials,
};
use hyper::body::Bytes;
use serde_json::json;

use super::support::registry::{
    Authentication, FaultyRegistry, Implementation, Mishap, PASSWORD, Passed, Registry, RegistryOptions,
};
use super::{client, login, noise, repository, tests};

tests![
    an_artifact_comes_back_as_it_was_pushed_and_flux_knows_its_types,
    a_distribution_gives_the_same_build_embedded_and_from_a_registry,
    the_cache_saves_requests_and_survives_damage,
    entries_in_use_are_kept_in_a_full_cache,
    a_remembered_artifact_is_not_pulled_again,
    a_tag_that_moves_during_a_pull_gives_the_artifact_it_was_resolved_to,
    a_distribution_that_drips_is_given_up_after_its_time,
    an_unsigned_distribution_is_refused,
    an_image_is_copied_whole_between_registries_and_layouts,
    every_registry_is_written_to_and_read_from,
    a_copy_that_is_cut_at_any_request_is_finished_by_the_next,
    blobs_that_images_share_are_mounted,
];

fn files(pairs: &[(&str, &str)]) -> Files {
    pairs.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec().into())).collect()
}

fn place(client: &Registries, host: &str, path: &str) -> ImageLocation {
    ImageLocation::Repository(client.clone(), repository(host, path))
}

async fn an_artifact_comes_back_as_it_was_pushed_and_flux_knows_its_types() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&registry.host(), "manifests").with_tag("v1").unwrap();
    let content = files(&[("a.yaml", "kind: A\n"), ("b/c.yaml", "kind: C\n")]);
    let annotations =
        BTreeMap::from([("org.opencontainers.image.source".to_owned(), "https://example.com".to_owned())]);
    let pushed = oci::push_artifact(&client, &reference, &content, &annotations).await.unwrap();
    let again = oci::push_artifact(&client, &reference, &content, &annotations).await.unwrap();
    assert_eq!(pushed.digest, again.digest);

    let seen: serde_json::Value =
        serde_json::from_str(&registry.judge("crane", &["manifest", &reference.to_string()]).unwrap()).unwrap();
    assert_eq!(seen["config"]["mediaType"], "application/vnd.cncf.flux.config.v1+json");
    assert_eq!(seen["layers"][0]["mediaType"], "application/vnd.cncf.flux.content.v1.tar+gzip");
    assert_eq!(seen["annotations"]["org.opencontainers.image.source"], "https://example.com");
    // The judge unpacks every layer and compares the digests of the contents with the configuration.
    registry.judge("crane", &["validate", "--remote", &reference.to_string()]).unwrap();

    let place = place(&client, &registry.host(), "manifests");
    let manifest = oci::artifact_manifest(&place, "v1").await.unwrap();
    assert_eq!(oci::artifact_files(&place, &manifest, &ArchiveLimits::ARTIFACT).await.unwrap(), content);
    let small = ArchiveLimits { unpacked_bytes: 5, ..ArchiveLimits::ARTIFACT };
    let error = oci::artifact_files(&place, &manifest, &small).await.unwrap_err();
    assert!(error.reason.to_string().contains("unpacks to more than"), "{error:?}");
}

pub(crate) async fn push_files(client: &Registries, reference: &Reference, pairs: &[(&str, &str)]) -> Manifest {
    oci::push_artifact(client, reference, &files(pairs), &BTreeMap::new()).await.unwrap()
}

/// Pushes the newest embedded version as an artifact.
pub(crate) async fn push_distribution(client: &Registries, reference: &Reference) -> Manifest {
    let embedded = Distribution::embedded();
    let folder = tempfile::tempdir().unwrap();
    embedded.export(embedded.versions().last().unwrap(), folder.path()).unwrap();
    let packed = read_folder(folder.path(), &IgnoreRules::default()).unwrap();
    oci::push_artifact(client, reference, &packed.files, &BTreeMap::new()).await.unwrap()
}

fn revision(distribution: &Distribution) -> String {
    let instance = json!({
        "apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
        "metadata": {"name": "flux", "namespace": "flux-system"},
        "spec": {"distribution": {"version": "2.x", "registry": "ghcr.io/fluxcd"}},
    });
    let instance = serde_json::from_value(instance).unwrap();
    let instance = flux_operator::api::CheckedInstance::check(instance).unwrap();
    let built = flux_operator::build::build(&instance, distribution, &Default::default()).unwrap();
    assert_eq!(built.artifact.as_deref(), distribution.digest());
    built.revision.to_string()
}

async fn a_distribution_gives_the_same_build_embedded_and_from_a_registry() {
    let options = RegistryOptions { authentication: Authentication::Token, ..RegistryOptions::default() };
    let registry = Registry::start_with(options).await.unwrap();
    let host = registry.host();
    let client = client(login(&host, PASSWORD));
    let reference = repository(&host, "flux/manifests").with_tag("latest").unwrap();
    let pushed = push_distribution(&client, &reference).await;
    let fetcher = Fetcher { registries: Some(client.clone()), cache: None, memory: None, key: None };
    let source: Source = reference.url().parse().unwrap();
    let fetched = fetcher.fetch(&source).await.unwrap();
    assert_eq!(fetched.digest(), Some(pushed.digest.to_string().as_str()));
    assert_eq!(revision(&fetched), revision(&Distribution::embedded()));

    let folder = tempfile::tempdir().unwrap();
    let layout = ImageLocation::Layout(Layout::create(folder.path()).unwrap());
    Copier::new(4).copy(&place(&client, &host, "flux/manifests"), "latest", &layout, Some("v1"), None).await.unwrap();
    for name in ["", ":v1"] {
        let source: Source = format!("oci-layout:{}{name}", folder.path().display()).parse().unwrap();
        let local = Fetcher { registries: None, cache: None, memory: None, key: None }.fetch(&source).await.unwrap();
        assert_eq!((local.digest(), revision(&local)), (fetched.digest(), revision(&fetched)));
    }
    // An index leads to the artifact for linux/amd64.
    let entry = Descriptor { platform: Some(Platform::linux_amd64()), ..pushed.descriptor() };
    let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": [entry]});
    let index = Manifest::parse(None, Bytes::from(index.to_string())).unwrap();
    let tag = reference.repository.with_tag("index-of-it").unwrap();
    client.push_manifest(&tag, &index).await.unwrap();
    let fetched = fetcher.fetch(&tag.url().parse().unwrap()).await.unwrap();
    assert_eq!(fetched.digest(), Some(index.digest.to_string().as_str()));

    let missing = fetcher.fetch(&format!("oci://{host}/flux/none:x").parse().unwrap()).await.unwrap_err();
    assert!(matches!(&missing.reason, FetchReason::Oci(error) if matches!(error.reason, Reason::NotFound { .. })));
    // Content that is not a distribution is reported as such.
    let other = repository(&host, "flux/other").with_tag("x").unwrap();
    oci::push_artifact(&client, &other, &files(&[("a", "b")]), &BTreeMap::new()).await.unwrap();
    let error = fetcher.fetch(&other.url().parse().unwrap()).await.unwrap_err();
    assert!(matches!(error.reason, FetchReason::Distribution(_)), "{error:?}");
}

async fn the_cache_saves_requests_and_survives_damage() {
    let registry = Registry::start().await.unwrap();
    let faulty = FaultyRegistry::start(registry.port(), |_, _| Mishap::None).await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&faulty.host(), "flux").with_tag("latest").unwrap();
    let pushed = push_distribution(&client, &repository(&registry.host(), "flux").with_tag("latest").unwrap()).await;
    let folder = tempfile::tempdir().unwrap();
    let cache = ArtifactCache { folder: folder.path().join("artifacts"), max_bytes: 1 << 30 };
    let fetcher = Fetcher { registries: Some(client.clone()), cache: Some(cache.clone()), memory: None, key: None };
    let by_tag: Source = reference.url().parse().unwrap();
    let by_digest: Source = reference.at(pushed.digest.clone()).url().parse().unwrap();
    let requests = async |fetcher: &Fetcher, source: &Source| {
        let before = faulty.passed().len();
        fetcher.fetch(source).await.unwrap();
        faulty.passed().len() - before
    };
    let first = requests(&fetcher, &by_tag).await;
    assert!(first >= 4, "{first}");
    assert_eq!(requests(&fetcher, &by_tag).await, 1, "only the tag is asked for");
    assert_eq!(requests(&fetcher, &by_digest).await, 0);
    let offline = Fetcher { registries: None, ..fetcher.clone() };
    assert_eq!(requests(&offline, &by_digest).await, 0);
    assert!(matches!(offline.fetch(&by_tag).await.unwrap_err().reason, FetchReason::Offline));

    let blob = cache.folder.join("blobs/sha256").join(pushed.content.layers[0].digest.hex());
    std::fs::write(&blob, "damaged").unwrap();
    assert!(requests(&fetcher, &by_digest).await > 0);
    assert_eq!(requests(&fetcher, &by_digest).await, 0, "it was repaired");
    // Many at once, from nothing.
    std::fs::remove_dir_all(&cache.folder).unwrap();
    let fetches = (0..8).map(|_| fetcher.fetch(&by_tag));
    for fetched in futures::future::join_all(fetches).await {
        assert_eq!(fetched.unwrap().digest(), Some(pushed.digest.to_string().as_str()));
    }
}

async fn entries_in_use_are_kept_in_a_full_cache() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let folder = tempfile::tempdir().unwrap();
    let blobs = folder.path().join("blobs/sha256");
    let files = || std::fs::read_dir(&blobs).into_iter().flatten().map(|entry| entry.unwrap().path());
    // Two artifacts fit, three do not.
    let size = 30_000;
    let cache = ArtifactCache { folder: folder.path().to_owned(), max_bytes: 5 * size / 2 };
    let fetcher = Fetcher { registries: Some(client.clone()), cache: Some(cache), memory: None, key: None };
    let offline = Fetcher { registries: None, ..fetcher.clone() };
    let text: String = noise(usize::try_from(size).unwrap() * 3).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut sources = Vec::new();
    for (tag, start) in [("pinned", 0), ("second", 1), ("third", 2)] {
        let reference = repository(&registry.host(), "flux").with_tag(tag).unwrap();
        // Hexadecimal digits pack into half of their number.
        let piece = &text[start * 2 * 30_000..][..2 * 30_000];
        let pushed = push_files(&client, &reference, &[("flux/v2.9.4/rbac.yaml", piece)]).await;
        sources.push(Source::Artifact(reference.at(pushed.digest)));
    }
    let [pinned, second, third] = &sources[..] else { panic!("{sources:?}") };
    for (source, hours) in [(pinned, 2), (second, 1)] {
        let before: Vec<_> = files().collect();
        fetcher.fetch(source).await.unwrap();
        let written = std::time::SystemTime::now() - Duration::from_secs(hours * 3600);
        for path in files().filter(|path| !before.contains(path)) {
            std::fs::File::options().append(true).open(path).unwrap().set_modified(written).unwrap();
        }
    }
    // The older one is in daily use, and so it is not the one that makes room.
    offline.fetch(pinned).await.unwrap();
    fetcher.fetch(third).await.unwrap();
    for source in [pinned, third] {
        offline.fetch(source).await.unwrap();
    }
    assert!(matches!(offline.fetch(second).await.unwrap_err().reason, FetchReason::Offline));
    let kept: u64 = files().map(|path| path.metadata().unwrap().len()).sum();
    assert!(kept <= 5 * size / 2, "{kept}");
}

async fn a_remembered_artifact_is_not_pulled_again() {
    let registry = Registry::start().await.unwrap();
    let counted = FaultyRegistry::start(registry.port(), |_, _| Mishap::None).await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = |path: &str| repository(&counted.host(), path).with_tag("latest").unwrap();
    let mut digest = None;
    for path in ["one", "two", "three"] {
        let pushed = repository(&registry.host(), path).with_tag("latest").unwrap();
        digest = Some(push_distribution(&client, &pushed).await.digest);
    }
    let fetcher = Fetcher { registries: Some(client.clone()), cache: None, memory: Some(Memory::default()), key: None };
    // A reconciliation takes a copy with the credentials of its instance; what is remembered is the same.
    let fetch = async |source: &Reference| {
        let before = counted.passed().len();
        let fetched = fetcher.clone().fetch(&source.url().parse().unwrap()).await.unwrap();
        assert_eq!(fetched.digest(), digest.as_ref().map(ToString::to_string).as_deref());
        let asked = counted.passed()[before..].to_vec();
        let blobs = asked.iter().filter(|passed| passed.line.contains("/blobs/")).count();
        (blobs > 0, asked.len() - blobs)
    };
    assert!(fetch(&reference("one")).await.0);
    assert_eq!(fetch(&reference("one")).await, (false, 1), "only the tag is asked for");
    assert!(!fetch(&reference("one").at(digest.clone().unwrap())).await.0);
    // The one in use and the one before it are kept; the same digest elsewhere may not be for everybody.
    assert!(fetch(&reference("two")).await.0);
    assert!(!fetch(&reference("one")).await.0);
    assert!(fetch(&reference("three")).await.0);
    assert!(fetch(&reference("one")).await.0);
}

async fn a_tag_that_moves_during_a_pull_gives_the_artifact_it_was_resolved_to() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&registry.host(), "flux").with_tag("latest").unwrap();
    let first = push_distribution(&client, &reference).await;
    let second = push_files(&client, &reference, &[("flux/v2.9.3/rbac.yaml", "")]).await;
    let folder = tempfile::tempdir().unwrap();
    let mut at = 0;
    loop {
        client.push_manifest(&reference, &first).await.unwrap();
        // Before request number `at` the tag is another artifact's.
        let (moving, tag, other) = (client.clone(), reference.clone(), second.clone());
        let faulty = FaultyRegistry::start(registry.port(), move |n, _| {
            if n == at {
                let (moving, tag, other) = (moving.clone(), tag.clone(), other.clone());
                let moved = std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    runtime.block_on(async { moving.push_manifest(&tag, &other).await.unwrap() });
                });
                moved.join().unwrap();
            }
            Mishap::None
        });
        let faulty = faulty.await.unwrap();
        let cache = ArtifactCache { folder: folder.path().join(at.to_string()), max_bytes: 1 << 30 };
        let fetcher = Fetcher { registries: Some(client.clone()), cache: Some(cache), memory: None, key: None };
        let source = repository(&faulty.host(), "flux").with_tag("latest").unwrap();
        let fetched = fetcher.fetch(&source.url().parse().unwrap()).await.unwrap();
        let (expected, version) = if at == 0 { (&second, "v2.9.3") } else { (&first, "v2.9.4") };
        assert_eq!(fetched.digest(), Some(expected.digest.to_string().as_str()), "{at}");
        assert_eq!(fetched.versions()[0].to_string(), version, "{at}");
        at += 1;
        if at > faulty.passed().len() {
            break;
        }
    }
    assert!(at > 4, "the tag, the manifest, two blobs: {at}");
}

async fn a_distribution_that_drips_is_given_up_after_its_time() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    push_distribution(&client, &repository(&registry.host(), "flux").with_tag("latest").unwrap()).await;
    let dripping = FaultyRegistry::start(registry.port(), |_, passed: &Passed| {
        if passed.line.contains("/blobs/") { Mishap::Drip } else { Mishap::None }
    });
    let dripping = dripping.await.unwrap();
    let reference = repository(&dripping.host(), "flux").with_tag("latest").unwrap();
    let fetcher = Fetcher { registries: Some(client), cache: None, memory: None, key: None };
    let begin = Instant::now();
    let limit = Duration::from_secs(1);
    let error = fetcher.fetch_within(&reference.url().parse().unwrap(), limit).await.unwrap_err();
    assert!((limit..limit * 5).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let expected = format!("cannot get the distribution from {}: it was not downloaded within 1 s", reference.url());
    assert_eq!(error.sentence(), expected);
}

async fn an_unsigned_distribution_is_refused() {
    let registry = Registry::start().await.unwrap();
    let client = client(RegistryCredentials::Anonymous);
    let reference = repository(&registry.host(), "flux").with_tag("latest").unwrap();
    push_distribution(&client, &reference).await;
    let key = oci::PublicKey::parse(include_bytes!("../../crates/oci/src/samples/cosign.pub")).unwrap();
    let fetcher = Fetcher { registries: Some(client), cache: None, memory: None, key: Some(key) };
    let error = fetcher.fetch(&reference.url().parse().unwrap()).await.unwrap_err();
    assert!(matches!(&error.reason, FetchReason::Oci(error) if matches!(error.reason, Reason::Unsigned { .. })));
    let error = fetcher.fetch(&Source::Path("anything".into())).await.unwrap_err();
    assert!(matches!(error.reason, FetchReason::Unverifiable));
}

/// Pushes an image of two platforms with a shared layer; returns its index.
pub(crate) async fn push_multi(client: &Registries, reference: &Reference, shared: &[u8]) -> Manifest {
    let repository = &reference.repository;
    let mut entries = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let own = format!("{}-{architecture}", repository.path());
        let mut blobs = Vec::new();
        for (kind, bytes) in [("x/config", own.as_bytes()), ("x/layer", shared), ("x/layer", own.as_bytes())] {
            let descriptor = Descriptor::of(kind, bytes);
            let source = oci::BlobSource::Bytes(Bytes::copy_from_slice(bytes));
            client.push_blob(repository, &descriptor, &source, None, None).await.unwrap();
            blobs.push(descriptor);
        }
        let manifest = super::image(&blobs[0], &blobs[1..]);
        client.push_manifest(&repository.with_digest(manifest.digest.clone()), &manifest).await.unwrap();
        let platform = Platform { architecture: architecture.to_owned(), ..Platform::linux_amd64() };
        entries.push(Descriptor { platform: Some(platform), ..manifest.descriptor() });
    }
    let index = json!({"schemaVersion": 2, "mediaType": MediaType::INDEX, "manifests": entries});
    let index = Manifest::parse(None, Bytes::from(index.to_string())).unwrap();
    client.push_manifest(reference, &index).await.unwrap();
    index
}

async fn an_image_is_copied_whole_between_registries_and_layouts() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let client = client(RegistryCredentials::Anonymous);
    let source = repository(&from.host(), "fluxcd/app").with_tag("v1").unwrap();
    let index = push_multi(&client, &source, &noise(300_000)).await;
    let (origin, target) = (place(&client, &from.host(), "fluxcd/app"), place(&client, &to.host(), "mirror/app"));
    let copier = Copier::new(4);
    let expected = copier.bytes_to_copy(&origin, "v1", &target).await.unwrap();
    assert!((300_000..400_000).contains(&expected), "the shared layer once: {expected}");
    let copied = copier.copy(&origin, "v1", &target, Some("v1"), None).await.unwrap();
    assert_eq!(copier.bytes_to_copy(&origin, "v1", &target).await.unwrap(), 0);
    assert_eq!((copied.digest.clone(), copied.was_complete), (index.digest.clone(), false));
    assert!(copied.bytes >= 300_000, "{copied:?}");
    let mirrored = format!("{}/mirror/app:v1", to.host());
    assert_eq!(to.judge("crane", &["digest", &mirrored]).unwrap().trim(), index.digest.to_string());
    let platforms = to.judge("crane", &["manifest", "--platform", "linux/arm64", &mirrored]).unwrap();
    assert!(platforms.contains("layers"), "{platforms}");
    let again = copier.copy(&origin, "v1", &target, Some("v1"), None).await.unwrap();
    assert_eq!((again.bytes, again.was_complete), (0, true));

    let folder = tempfile::tempdir().unwrap();
    let layout = ImageLocation::Layout(Layout::create(folder.path()).unwrap());
    let name = "ghcr.io/fluxcd/app:v1";
    Copier::new(4).copy(&origin, &index.digest.to_string(), &layout, Some(name), None).await.unwrap();
    assert_eq!(Layout::open(folder.path()).unwrap().names().unwrap()[0].0, name);
    let back = place(&client, &to.host(), "from/layout");
    let copied = Copier::new(4).copy(&layout, name, &back, Some("v1"), None).await.unwrap();
    assert_eq!(copied.digest, index.digest);
    let text = format!("{}/from/layout:v1", to.host());
    assert_eq!(to.judge("crane", &["digest", &text]).unwrap().trim(), index.digest.to_string());

    // A layout with a changed file gives an error, not another image.
    let blob = folder.path().join("blobs/sha256").join(index.manifests().unwrap()[0].digest.hex());
    std::fs::write(&blob, "{}").unwrap();
    let error = Copier::new(4).copy(&layout, name, &place(&client, &to.host(), "x"), None, None).await.unwrap_err();
    assert!(matches!(error.reason, Reason::Digest { .. }), "{error:?}");
}

/// Content is copied from one registry to the next, and independent clients see the same digests.
async fn every_registry_is_written_to_and_read_from() {
    let client = client(RegistryCredentials::Anonymous);
    let mut last: Option<Registry> = None;
    for implementation in Implementation::here() {
        let options = RegistryOptions { implementation, ..RegistryOptions::default() };
        let registry = Registry::start_with(options).await.unwrap();
        let host = registry.host();
        let manifests = repository(&host, "flux/manifests").with_tag("latest").unwrap();
        let pushed = push_distribution(&client, &manifests).await;
        let seen = registry.judge("crane", &["digest", &manifests.to_string()]).unwrap();
        assert_eq!(seen.trim(), pushed.digest.to_string(), "{implementation:?}");
        let own = place(&client, &host, "flux/manifests");
        let manifest = oci::artifact_manifest(&own, "latest").await.unwrap();
        let pulled = oci::artifact_files(&own, &manifest, &ArchiveLimits::DISTRIBUTION).await.unwrap();
        assert!(!pulled.is_empty(), "{implementation:?}");

        let image = repository(&host, "fluxcd/app").with_tag("v1").unwrap();
        let index = push_multi(&client, &image, &noise(300_000)).await;
        let own = place(&client, &host, "fluxcd/app");
        for tag in ["v2", "v3"] {
            Copier::new(2).copy(&own, "v1", &own, Some(tag), None).await.unwrap();
        }
        assert_eq!(client.tags(&image.repository).await.unwrap(), ["v1", "v2", "v3"], "{implementation:?}");
        let seen = registry.judge("regctl", &["image", "digest", &format!("{host}/fluxcd/app:v3")]).unwrap();
        assert_eq!(seen.trim(), index.digest.to_string(), "{implementation:?}");
        if let Some(before) = last.replace(registry) {
            let from = place(&client, &before.host(), "fluxcd/app");
            for (from, to) in
                [(&from, &place(&client, &host, "mirror/app")), (&own, &place(&client, &before.host(), "back/app"))]
            {
                let copied = Copier::new(4).copy(from, "v1", to, Some("v1"), None).await.unwrap();
                assert_eq!(copied.digest, index.digest, "{implementation:?}");
                assert_eq!(to.manifest("v1").await.unwrap().digest, index.digest, "{implementation:?}");
            }
        }
    }
}

async fn a_copy_that_is_cut_at_any_request_is_finished_by_the_next() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let client = client(RegistryCredentials::Anonymous);
    let source = repository(&from.host(), "app").with_tag("v1").unwrap();
    let index = push_multi(&client, &source, b"shared").await;
    let origin = place(&client, &from.host(), "app");
    let copy =
        async |from: &ImageLocation, to: &ImageLocation| Copier::new(2).copy(from, "v1", to, Some("v1"), None).await;
    // Everything from there on is cut, on the way to either registry: as if the process or the network had died.
    for (is_source, mishap) in
        [(false, Mishap::Cut), (false, Mishap::CutAnswer), (true, Mishap::Cut), (true, Mishap::CutAnswer)]
    {
        let registry = if is_source { &from } else { &to };
        let mut cuts = 0;
        loop {
            let (at, chosen) = (cuts, mishap.clone());
            let dead =
                FaultyRegistry::start(registry.port(), move |n, _| if n < at { Mishap::None } else { chosen.clone() });
            let dead = dead.await.unwrap();
            let path = format!("{is_source}-{mishap:?}-{at}").to_lowercase();
            let target = place(&client, &to.host(), &path);
            let broken = match is_source {
                true => copy(&place(&client, &dead.host(), "app"), &target).await,
                false => copy(&origin, &place(&client, &dead.host(), &path)).await,
            };
            // The tag is written last, so that an incomplete image is never visible.
            if let Ok(seen) = target.manifest("v1").await {
                assert_eq!(seen.digest, index.digest);
            }
            let was_whole = broken.is_ok();
            assert_eq!(copy(&origin, &target).await.unwrap().digest, index.digest);
            let text = format!("{}/{path}:v1", to.host());
            assert_eq!(to.judge("crane", &["digest", &text]).unwrap().trim(), index.digest.to_string());
            let again = copy(&origin, &target).await.unwrap();
            assert!(again.was_complete && again.bytes == 0, "{path}: {again:?}");
            if was_whole {
                break;
            }
            cuts += 1;
        }
        // Three manifests and three blobs are read, and at the target each is looked for and sent.
        assert!(cuts >= if is_source { 6 } else { 16 }, "{cuts}");
    }
    // A single lost connection is not even reported.
    let faulty =
        FaultyRegistry::start(to.port(), |n, _| if n % 5 == 4 { Mishap::Cut } else { Mishap::None }).await.unwrap();
    copy(&origin, &place(&client, &faulty.host(), "once")).await.unwrap();
}

async fn blobs_that_images_share_are_mounted() {
    let (from, to) = (Registry::start().await.unwrap(), Registry::start().await.unwrap());
    let client = client(RegistryCredentials::Anonymous);
    let counted = FaultyRegistry::start(to.port(), |_, _: &Passed| Mishap::None).await.unwrap();
    let shared = noise(200_000);
    let copier = Copier::new(4);
    let mut sent = Vec::new();
    for name in ["one", "two"] {
        push_multi(&client, &repository(&from.host(), name).with_tag("v1").unwrap(), &shared).await;
        let (origin, target) = (place(&client, &from.host(), name), place(&client, &counted.host(), name));
        sent.push(copier.copy(&origin, "v1", &target, Some("v1"), None).await.unwrap().bytes);
    }
    assert!(sent[0] >= 200_000 && sent[1] < 1000, "{sent:?}");
    assert!(counted.passed().iter().any(|passed| passed.line.contains("mount=") && passed.line.contains("from=one")));
    // At once, too: the second waits for the first, and the platforms of one image for each other.
    let copier = Copier::new(4);
    let copies = ["one", "two"].map(|name| {
        let (origin, target) = (place(&client, &from.host(), name), place(&client, &to.host(), &format!("b/{name}")));
        let copier = &copier;
        async move { copier.copy(&origin, "v1", &target, Some("v1"), None).await.unwrap().bytes }
    });
    let sent: u64 = futures::future::join_all(copies).await.into_iter().sum();
    assert!((200_000..201_000).contains(&sent), "{sent}");
}
