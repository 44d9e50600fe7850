//! Changes that a minor version of Flux brings to existing installations, besides its definitions: flags and feature
//! gates of controllers, defaults, and the required Kubernetes version.
//!
//! The facts come from the controllers' own texts: `internal/features` (each gate with the version that introduced it),
//! `--help` and `CHANGELOG.md` of source-controller 1.9.4, kustomize-controller 1.9.4, helm-controller 1.6.3,
//! notification-controller 1.9.3, image-reflector-controller 1.2.4 and image-automation-controller 1.2.4
//! (<https://github.com/fluxcd>). `tags.txt` maps them to versions of Flux. For source-watcher they come from
//! `cmd/main.go` and `CHANGELOG.md` of 2.2 (<https://github.com/fluxcd/source-watcher>). A new minor adds rows.

use semver::Version;

use super::Component;
use super::Component::{
    HelmController as Helm, ImageAutomationController as Automation, ImageReflectorController as Reflector,
    KustomizeController as Kustomize, NotificationController as Notification, SourceController as Source,
    SourceWatcher as Watcher,
};

/// Minor and patch of Flux 2.
type MinorRelease = (u64, u64);
const ALWAYS: MinorRelease = (0, 0);

/// A feature gate: its controller, its name, the release that introduced it, and the first release that ignores or
/// rejects it.
struct FeatureGate(Component, &'static str, MinorRelease, Option<MinorRelease>);

const GATES: &[FeatureGate] = &[
    FeatureGate(Source, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Source, "ObjectLevelWorkloadIdentity", (6, 0), None),
    FeatureGate(Kustomize, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Kustomize, "DisableStatusPollerCache", ALWAYS, None),
    FeatureGate(Kustomize, "DisableFailFastBehavior", ALWAYS, None),
    FeatureGate(Kustomize, STRICT_SUBSTITUTION, (3, 0), None),
    FeatureGate(Kustomize, "GroupChangeLog", (5, 0), None),
    FeatureGate(Kustomize, "ObjectLevelWorkloadIdentity", (6, 0), None),
    FeatureGate(Kustomize, "AdditiveCELDependencyCheck", (7, 0), None),
    FeatureGate(Kustomize, "ExternalArtifact", (7, 0), None),
    FeatureGate(Kustomize, "CancelHealthCheckOnNewRevision", (7, 0), None),
    FeatureGate(Kustomize, "DisableConfigWatchers", (7, 4), None),
    FeatureGate(Kustomize, "DirectSourceFetch", (8, 0), None),
    FeatureGate(Kustomize, "MigrateAPIVersion", (8, 6), None),
    FeatureGate(Helm, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Helm, "DetectDrift", ALWAYS, None),
    FeatureGate(Helm, "CorrectDrift", ALWAYS, None),
    FeatureGate(Helm, "AllowDNSLookups", ALWAYS, None),
    FeatureGate(Helm, "OOMWatch", ALWAYS, None),
    // "ignored, prints warning from v1.5.0".
    FeatureGate(Helm, "AdoptLegacyReleases", ALWAYS, Some((8, 0))),
    FeatureGate(Helm, "DisableChartDigestTracking", (6, 0), None),
    FeatureGate(Helm, "ObjectLevelWorkloadIdentity", (7, 0), None),
    FeatureGate(Helm, "AdditiveCELDependencyCheck", (7, 0), None),
    FeatureGate(Helm, "ExternalArtifact", (7, 0), None),
    FeatureGate(Helm, "DisableConfigWatchers", (7, 4), None),
    FeatureGate(Helm, "DirectSourceFetch", (8, 0), None),
    FeatureGate(Helm, "UseHelm3Defaults", (8, 0), None),
    FeatureGate(Helm, "CancelHealthCheckOnNewRevision", (8, 0), None),
    FeatureGate(Helm, "DefaultToRetryOnFailure", (8, 2), None),
    FeatureGate(Notification, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Notification, "ObjectLevelWorkloadIdentity", (6, 0), None),
    FeatureGate(Notification, "DisableConfigWatchers", (7, 5), None),
    FeatureGate(Reflector, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Reflector, "ObjectLevelWorkloadIdentity", (6, 0), None),
    FeatureGate(Reflector, "FluxStorage", (9, 0), None),
    FeatureGate(Automation, "CacheSecretsAndConfigMaps", ALWAYS, None),
    FeatureGate(Automation, "GitForcePushBranch", ALWAYS, None),
    FeatureGate(Automation, "GitShallowClone", ALWAYS, None),
    FeatureGate(Automation, "GitAllBranchReferences", ALWAYS, None),
    FeatureGate(Automation, "GitSparseCheckout", (7, 0), None),
    FeatureGate(Automation, "ObjectLevelWorkloadIdentity", (6, 0), None),
    // source-watcher 2.1.0.
    FeatureGate(Watcher, "DirectSourceFetch", (8, 0), None),
];

/// The feature gate that makes a variable without a value an error; on by default since Flux 2.9 (kustomize-controller
/// 1.9.0).
pub const STRICT_SUBSTITUTION: &str = "StrictPostBuildSubstitutions";

/// Flags that every controller of 2.9 has.
const COMMON_FLAGS: &str = "concurrent default-service-account enable-leader-election events-addr feature-gates health-addr \
    kube-api-burst kube-api-qps leader-election-lease-duration leader-election-release-on-cancel \
    leader-election-renew-deadline leader-election-retry-period log-encoding log-level max-retry-delay metrics-addr \
    min-retry-delay token-cache-max-duration token-cache-max-size watch-all-namespaces watch-label-selector \
    watch-configs-label-selector no-cross-namespace-refs insecure-allow-http";

/// Further flags of each controller in 2.9.
const FLAGS: [(Component, &str); 7] = [
    (
        Source,
        "artifact-digest-algo artifact-retention-records artifact-retention-ttl helm-cache-max-size helm-cache-purge-interval \
         helm-cache-ttl helm-chart-file-max-size helm-chart-max-size helm-index-max-size interval-jitter-percentage \
         requeue-dependency ssh-hostkey-algos ssh-kex-algos storage-addr storage-adv-addr storage-path",
    ),
    (
        Kustomize,
        "concurrent-ssa custom-apply-stage-kinds default-decryption-service-account default-kubeconfig-service-account \
         http-retry insecure-kubeconfig-exec insecure-kubeconfig-tls interval-jitter-percentage no-remote-bases \
         override-manager requeue-dependency sops-age-secret sops-vault-configmap",
    ),
    (
        Helm,
        "default-kubeconfig-service-account graceful-shutdown-timeout http-retry http-timeout insecure-kubeconfig-exec \
         insecure-kubeconfig-tls interval-jitter-percentage oom-watch-current-memory-path oom-watch-interval \
         oom-watch-max-memory-path oom-watch-memory-threshold override-manager requeue-dependency snapshot-digest-algo",
    ),
    (Notification, "export-http-path-metrics rate-limit-interval receiverAddr"),
    (
        Reflector,
        "gc-interval requeue-dependency storage-compression-threshold storage-path storage-value-log-file-size",
    ),
    (Automation, "requeue-dependency ssh-hostkey-algos ssh-kex-algos"),
    (
        Watcher,
        "artifact-digest-algo artifact-retention-records artifact-retention-ttl http-retry interval-jitter-percentage \
         reconciliation-timeout requeue-dependency storage-addr storage-adv-addr storage-path",
    ),
];

/// Flags introduced after Flux 2.2: controllers, flags, and first release.
const YOUNGER_FLAGS: [(&[Component], &str, MinorRelease); 6] = [
    (&[Source, Kustomize, Notification, Reflector, Automation], "token-cache-max-size", (6, 0)),
    (&[Source, Notification, Reflector, Automation], "default-service-account", (7, 0)),
    (&[Kustomize], "default-decryption-service-account", (7, 0)),
    (&[Kustomize, Helm], "default-kubeconfig-service-account", (7, 0)),
    (&[Kustomize], "custom-apply-stage-kinds", (8, 0)),
    (&[Helm], "override-manager", (8, 0)),
];

/// Removed flags: controller, flag, first release without it, and what to do instead.
const REMOVED_FLAGS: [(Component, &str, MinorRelease, &str); 3] = [
    // image-reflector-controller 1.0.0: "Remove deprecated auto-login flags".
    (Reflector, "aws-autologin-for-ecr", (7, 0), "set spec.provider: aws on the ImageRepository"),
    (Reflector, "azure-autologin-for-acr", (7, 0), "set spec.provider: azure on the ImageRepository"),
    (Reflector, "gcp-autologin-for-gcr", (7, 0), "set spec.provider: gcp on the ImageRepository"),
];

/// The oldest Kubernetes minor that each Flux minor supports: the requirement of `flux check --pre`
/// (`kubernetesConstraints` of `cmd/flux/check.go` in flux2 v2.2.3, v2.3.0, v2.4.0 and v2.6.4),
/// <https://github.com/fluxcd/flux2/pull/5200> (2.5), <https://github.com/fluxcd/website/pull/2353> (2.7),
/// <https://github.com/fluxcd/flux2/pull/5730> (2.8), <https://fluxcd.io/flux/installation/> (2.9).
const KUBERNETES: [(u64, u64); 8] = [(2, 26), (3, 28), (4, 28), (5, 30), (6, 31), (7, 32), (8, 33), (9, 33)];

/// Why a version of a controller does not accept an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentProblem {
    /// The flag does not exist: the controller exits at once.
    UnknownFlag { flag: String, advice: Option<&'static str> },
    /// The feature gate does not exist: the controller exits at once.
    UnknownGate(String),
    /// The feature gate exists but no longer has an effect.
    IgnoredGate(String),
}

impl ArgumentProblem {
    /// Describes the problem in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            ArgumentProblem::UnknownFlag { flag, advice: Some(advice) } => {
                format!("the flag --{flag} was removed; {advice}")
            }
            ArgumentProblem::UnknownFlag { flag, advice: None } => format!("there is no flag --{flag}"),
            ArgumentProblem::UnknownGate(gate) => format!("there is no feature gate {gate}"),
            ArgumentProblem::IgnoredGate(gate) => format!("the feature gate {gate} is ignored"),
        }
    }

    /// Whether the controller refuses to start.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, ArgumentProblem::IgnoredGate(_))
    }
}

fn release(version: &Version) -> MinorRelease {
    (version.minor, version.patch)
}

/// Returns the problems of an argument (`--flag`, `--flag=value`) of a controller in a version of Flux. Controllers and
/// flags that are not recorded have no problems.
pub fn argument_problems(version: &Version, component: Component, argument: &str) -> Vec<ArgumentProblem> {
    let at = release(version);
    let Some(argument) = argument.strip_prefix("--") else { return vec![] };
    let (flag, value) = argument.split_once('=').unwrap_or((argument, ""));
    let Some((_, own)) = FLAGS.iter().find(|(of, _)| *of == component) else { return vec![] };
    if let Some((.., advice)) = REMOVED_FLAGS.iter().find(|(of, name, ..)| *of == component && *name == flag) {
        let is_gone =
            REMOVED_FLAGS.iter().any(|(of, name, since, _)| *of == component && *name == flag && at >= *since);
        let problem = ArgumentProblem::UnknownFlag { flag: flag.to_owned(), advice: Some(advice) };
        return if is_gone { vec![problem] } else { vec![] };
    }
    let is_listed = own.split_whitespace().chain(COMMON_FLAGS.split_whitespace()).any(|known| known == flag);
    let is_too_young =
        YOUNGER_FLAGS.iter().any(|(of, name, since)| of.contains(&component) && *name == flag && at < *since);
    // The list is from 2.9: a flag that is missing from it may exist in older versions.
    if is_too_young || (!is_listed && version.minor >= 9) {
        return vec![ArgumentProblem::UnknownFlag { flag: flag.to_owned(), advice: None }];
    }
    if flag != "feature-gates" {
        return vec![];
    }
    let names =
        value.split(',').filter_map(|gate| gate.split('=').next()).map(str::trim).filter(|name| !name.is_empty());
    names.filter_map(|name| gate_problem(at, component, name)).collect()
}

fn gate_problem(at: MinorRelease, component: Component, name: &str) -> Option<ArgumentProblem> {
    // These two names switch the gates of every controller.
    if ["AllAlpha", "AllBeta"].contains(&name) {
        return None;
    }
    match GATES.iter().find(|FeatureGate(of, known, ..)| *of == component && *known == name) {
        Some(FeatureGate(_, _, since, _)) if at < *since => Some(ArgumentProblem::UnknownGate(name.to_owned())),
        Some(FeatureGate(_, _, _, Some(ignored))) if at >= *ignored => {
            Some(ArgumentProblem::IgnoredGate(name.to_owned()))
        }
        Some(_) => None,
        None => Some(ArgumentProblem::UnknownGate(name.to_owned())),
    }
}

/// Whether a variable without a value is an error by default, without a feature gate.
pub fn substitutes_strictly(version: &Version) -> bool {
    release(version) >= (9, 0)
}

/// Whether post-renderers also get the hooks of a chart by default, without a setting of the HelmRelease or a feature
/// gate (helm-controller 1.6.0).
pub fn renders_hooks(version: &Version) -> bool {
    release(version) >= (9, 0)
}

/// Whether a Receiver of type `gcr` needs `email` and `audience` in its Secret (notification-controller 1.9.0,
/// CVE-2026-40109).
pub fn wants_gcr_audience(version: &Version) -> bool {
    release(version) >= (9, 0)
}

/// The oldest Kubernetes minor (of 1.x) that a version of Flux supports, if recorded.
pub fn oldest_kubernetes(version: &Version) -> Option<u64> {
    KUBERNETES.iter().find(|(minor, _)| *minor == version.minor).map(|(_, kubernetes)| *kubernetes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(version: &str, component: Component, argument: &str) -> Vec<String> {
        let version = Version::parse(version).unwrap();
        argument_problems(&version, component, argument).iter().map(ArgumentProblem::sentence).collect()
    }

    #[test]
    fn gates_are_known_from_the_patch_on_that_brought_them() {
        let gate = "--feature-gates=StrictPostBuildSubstitutions=true,MigrateAPIVersion=true";
        assert_eq!(problems("2.2.3", Kustomize, gate).len(), 2);
        assert_eq!(problems("2.8.5", Kustomize, gate), ["there is no feature gate MigrateAPIVersion"]);
        assert!(problems("2.8.6", Kustomize, gate).is_empty());
        assert_eq!(problems("2.9.4", Helm, gate).len(), 2, "gates are of one controller");
    }

    #[test]
    fn an_ignored_gate_does_not_keep_a_controller_from_starting() {
        let version = Version::parse("2.8.0").unwrap();
        let found = argument_problems(&version, Helm, "--feature-gates=AdoptLegacyReleases=false");
        assert_eq!(found, [ArgumentProblem::IgnoredGate("AdoptLegacyReleases".into())]);
        assert!(!found[0].is_fatal());
        assert!(problems("2.7.5", Helm, "--feature-gates=AdoptLegacyReleases=false").is_empty());
    }

    #[test]
    fn removed_flags_come_with_advice() {
        let flag = "--aws-autologin-for-ecr";
        assert!(problems("2.6.4", Reflector, flag).is_empty());
        assert_eq!(
            problems("2.7.0", Reflector, flag),
            ["the flag --aws-autologin-for-ecr was removed; set spec.provider: aws on the ImageRepository"]
        );
        assert_eq!(problems("2.9.4", Source, "--no-such-flag=1"), ["there is no flag --no-such-flag"]);
        assert!(problems("2.9.4", Source, "--concurrent=10").is_empty());
        assert_eq!(problems("2.9.4", Watcher, "--anything"), ["there is no flag --anything"]);
        assert!(problems("2.9.4", Watcher, "--reconciliation-timeout=5m").is_empty());
        let gate = "--feature-gates=DirectSourceFetch=true";
        assert_eq!(problems("2.7.5", Watcher, gate).len(), 1);
        assert!(problems("2.8.0", Watcher, gate).is_empty());
        assert_eq!(problems("2.7.0", Helm, "--override-manager=x").len(), 1);
    }

    #[test]
    fn every_minor_that_is_known_says_which_kubernetes_it_wants() {
        let mut before = 0;
        for version in crate::distribution::Distribution::embedded().versions() {
            let wanted = oldest_kubernetes(&version.version).unwrap_or_else(|| panic!("{}", version.name));
            assert!(wanted >= before, "{}: {wanted} after {before}", version.name);
            before = wanted;
        }
        assert_eq!(
            (oldest_kubernetes(&Version::new(2, 2, 3)), oldest_kubernetes(&Version::new(2, 9, 4))),
            (Some(26), Some(33))
        );
    }

    #[test]
    fn every_argument_of_every_controller_as_it_is_released_is_known() {
        let distribution = crate::distribution::Distribution::embedded();
        let mut seen = 0;
        for version in distribution.versions() {
            for component in Component::ALL {
                let Ok(objects) = distribution.component(&version, component) else { continue };
                let arguments = objects.iter().flat_map(|object| {
                    crate::k8s::fields::items(object, "/spec/template/spec/containers/0/args").iter()
                });
                for argument in arguments.filter_map(serde_json::Value::as_str) {
                    seen += 1;
                    let found = argument_problems(&version.version, component, argument);
                    assert!(found.is_empty(), "{} {argument}: {found:?}", version.name);
                }
            }
        }
        assert!(seen > 500, "{seen}");
    }

    #[test]
    fn every_flag_and_gate_that_our_own_build_sets_is_known() {
        for argument in ["--feature-gates=ObjectLevelWorkloadIdentity=true", "--feature-gates=ExternalArtifact=true"] {
            assert!(problems("2.9.4", Kustomize, argument).is_empty(), "{argument}");
        }
        assert!(problems("2.6.0", Reflector, "--feature-gates=ObjectLevelWorkloadIdentity=true").is_empty());
        assert!(problems("2.9.4", Notification, "--receiverAddr=:1").is_empty());
    }
}
