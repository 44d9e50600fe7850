//! Every label, annotation, reason, finalizer and field manager, defined once.
//!
//! The values are those of the reference operator and of Flux itself, so that either operator can take over from the
//! other.

/// API group of the operator's own kinds.
pub const GROUP: &str = "fluxcd.controlplane.io";
/// The only served and stored version of [`GROUP`].
pub const VERSION: &str = "v1";
/// `apiVersion` of the operator's own kinds.
pub const API_VERSION: &str = "fluxcd.controlplane.io/v1";
/// The only accepted name of a FluxInstance and of a FluxReport.
pub const INSTANCE_NAME: &str = "flux";
/// Name of the FluxInstance custom resource definition.
pub const INSTANCE_CRD: &str = "fluxinstances.fluxcd.controlplane.io";
/// Default namespace of an instance.
pub const DEFAULT_NAMESPACE: &str = "flux-system";
/// Finalizer on a FluxInstance that an operator reconciles.
pub const FINALIZER: &str = "fluxcd.controlplane.io/finalizer";
/// Finalizer of Flux's own controllers on their custom resources.
pub const FLUX_FINALIZER: &str = "finalizers.fluxcd.io";

/// Field manager of the reconciler, in-process or in the cluster.
pub const RECONCILER_FIELD_MANAGER: &str = "flux-operator";
/// Field manager of every other write of the command line.
pub const CLI_FIELD_MANAGER: &str = "flux-operator-ctl";
/// Lease and Deployment name of the operator.
pub const OPERATOR_NAME: &str = "flux-operator";

/// Secret in which the reference operator records the issuer of its entitlement; only the issuer is ever read from it.
pub const ENTITLEMENT_SECRET: &str = "flux-operator-entitlement";
/// Key of the issuer in [`ENTITLEMENT_SECRET`].
pub const ENTITLEMENT_VENDOR: &str = "vendor";

/// Labels and annotations of the operator.
pub const OWNER_NAME_LABEL: &str = "fluxcd.controlplane.io/name";
pub const OWNER_NAMESPACE_LABEL: &str = "fluxcd.controlplane.io/namespace";
/// The same two labels on objects that a ResourceSet applies.
pub const SET_OWNER_NAME_LABEL: &str = "resourceset.fluxcd.controlplane.io/name";
pub const SET_OWNER_NAMESPACE_LABEL: &str = "resourceset.fluxcd.controlplane.io/namespace";
pub const PRUNE: &str = "fluxcd.controlplane.io/prune";
/// `disabled` (any case) on a ResourceSet: objects are kept when the providers export no inputs at all.
pub const PRUNE_WITHOUT_INPUTS_ANNOTATION: &str = "fluxcd.controlplane.io/pruneWithoutInputs";
/// `enabled` (any case) on a ResourceSet or one of its objects: if an immutable field changes, the object is recreated.
pub const FORCE_ANNOTATION: &str = "fluxcd.controlplane.io/force";
/// `enabled` on a Job of a ResourceSet: the Job is recreated after it has failed.
pub const RECREATE_ON_FAILURE_ANNOTATION: &str = "fluxcd.controlplane.io/recreateOnFailure";
/// `namespace/name` of the ConfigMap or Secret whose data is copied to an object of the same kind.
pub const COPY_FROM_ANNOTATION: &str = "fluxcd.controlplane.io/copyFrom";
/// `namespace/name[:key]` of the Secret with a kubeconfig. Its address and certificate authority are copied to a
/// ConfigMap.
pub const CONVERT_KUBECONFIG_FROM_ANNOTATION: &str = "fluxcd.controlplane.io/convertKubeConfigFrom";
/// `Kind/namespace/name[,…]` of ConfigMaps and Secrets whose checksum is added as [`CHECKSUM_ANNOTATION`].
pub const CHECKSUM_FROM_ANNOTATION: &str = "fluxcd.controlplane.io/checksumFrom";
pub const CHECKSUM_ANNOTATION: &str = "fluxcd.controlplane.io/checksum";
pub const RECONCILE_ANNOTATION: &str = "fluxcd.controlplane.io/reconcile";
pub const RECONCILE_EVERY_ANNOTATION: &str = "fluxcd.controlplane.io/reconcileEvery";
pub const RECONCILE_ARTIFACT_EVERY_ANNOTATION: &str = "fluxcd.controlplane.io/reconcileArtifactEvery";
pub const RECONCILE_TIMEOUT_ANNOTATION: &str = "fluxcd.controlplane.io/reconcileTimeout";
pub const REVISION_ANNOTATION: &str = "fluxcd.controlplane.io/revision";
/// `Enabled` (any case): drift of an installed object is corrected at once instead of at the next interval.
pub const RECONCILE_ON_DRIFT_ANNOTATION: &str = "fluxcd.controlplane.io/reconcileOnDrift";
/// `Enabled` (any case): an upgrade whose health check fails is rolled back to the last working revision.
pub const ROLLBACK_ANNOTATION: &str = "fluxcd.controlplane.io/rollback";
/// An older minor version, such as `v2.8.8`, to which the instance may go back.
pub const OLDER_MINOR_ANNOTATION: &str = "fluxcd.controlplane.io/allowOlderMinor";
pub const PROFILE_ANNOTATION: &str = "fluxcd.controlplane.io/profile";
/// The reason of a suspension in the user's words, and its planned end (RFC 3339). They are notes for people, written
/// by `suspend` and removed by `resume`; no controller reads them.
pub const SUSPEND_REASON_ANNOTATION: &str = "fluxcd.controlplane.io/suspendReason";
pub const SUSPEND_UNTIL_ANNOTATION: &str = "fluxcd.controlplane.io/suspendUntil";
/// Value of [`RECONCILE_ANNOTATION`] and [`PRUNE`] (any case) that disables the feature.
pub const DISABLED: &str = "disabled";
pub const ENABLED: &str = "enabled";

/// Request tokens, shared with Flux's own kinds.
pub const REQUESTED_AT_ANNOTATION: &str = "reconcile.fluxcd.io/requestedAt";
pub const FORCE_AT_ANNOTATION: &str = "reconcile.fluxcd.io/forceAt";
/// Clears the failures of a HelmRelease when it equals [`REQUESTED_AT_ANNOTATION`]
/// (<https://fluxcd.io/flux/components/helm/helmreleases/#resetting-remediation-retries>).
pub const RESET_AT_ANNOTATION: &str = "reconcile.fluxcd.io/resetAt";

/// Keys that make kustomize-controller ignore objects of the operator.
pub const KUSTOMIZE_SSA_ANNOTATION: &str = "kustomize.toolkit.fluxcd.io/ssa";
pub const KUSTOMIZE_PRUNE_ANNOTATION: &str = "kustomize.toolkit.fluxcd.io/prune";
pub const SHARDING_ROLE: &str = "sharding.fluxcd.io/role";
pub const SHARDING_KEY: &str = "sharding.fluxcd.io/key";

/// Kubernetes' recommended labels.
pub const PART_OF_LABEL: &str = "app.kubernetes.io/part-of";
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
pub const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";
pub const VERSION_LABEL: &str = "app.kubernetes.io/version";
pub const NAME_LABEL: &str = "app.kubernetes.io/name";

/// Condition types.
pub mod condition {
    pub const READY: &str = "Ready";
    pub const RECONCILING: &str = "Reconciling";
    pub const STALLED: &str = "Stalled";
    /// Whether the newest known version of Flux is installed; only on the FluxInstance.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// Conditions written by a reconciler of instances; all others belong to other programs.
    pub const OURS: [&str; 4] = [READY, RECONCILING, STALLED, UP_TO_DATE];
}

/// Reasons of conditions and events.
pub mod reason {
    pub const PROGRESSING: &str = "Progressing";
    pub const PROGRESSING_WITH_RETRY: &str = "ProgressingWithRetry";
    pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
    pub const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
    pub const RECONCILIATION_DISABLED: &str = "ReconciliationDisabled";
    pub const BUILD_FAILED: &str = "BuildFailed";
    pub const ARTIFACT_FAILED: &str = "ArtifactFailed";
    pub const HEALTH_CHECK_FAILED: &str = "HealthCheckFailed";
    pub const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
    pub const OUTDATED_VERSION: &str = "OutdatedVersion";
    pub const UP_TO_DATE: &str = "UpToDate";
    pub const NEW_VERSION_AVAILABLE: &str = "NewVersionAvailable";
    pub const ROLLED_BACK: &str = "RolledBack";
    /// Reason of the event that lists the changes of a ResourceSet.
    pub const APPLY_SUCCEEDED: &str = "ApplySucceeded";
    pub const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
    pub const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
    /// Objects that a ResourceSet no longer renders are kept until its providers have exported.
    pub const PRUNING_WITHHELD: &str = "PruningWithheld";
    pub const DRIFT_DETECTED: &str = "DriftDetected";
    pub const DRIFT_CONTESTED: &str = "DriftContested";
    pub const INVALID_SCHEDULE: &str = "InvalidSchedule";
    pub const INVALID_SPEC: &str = "InvalidSpec";
    pub const SKIPPED_DUE_TO_SCHEDULE: &str = "SkippedDueToSchedule";
}
