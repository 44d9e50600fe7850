//! The texts of causes and refusals. Each explains what the word means, how the problem arises, how to tell it from
//! similar ones, and which commands fix it.
//!
//! These texts are the only source for `explain`, for the incidents in the guide and for the runbooks of alerts. The
//! commands use the names of the guide's examples (`apps`, `podinfo`, `flux-system`).

use flux_operator::inspect::diagnose::why::Reason;

pub use super::cause_text::CauseText;
use super::reasons::{EXPLAINED_BY_CAUSES, REASONS};
use crate::terminal::Exit;

/// Makes the list of texts and a `match` without a wildcard, so that the program does not compile while a variant has
/// no text.
macro_rules! texts {
    ($list:ident, $kind:ident, [$($without:ident),*], $($variant:ident {
        title: $title:literal,
        meaning: $meaning:literal,
        origin: $origin:literal,
        similar: $similar:literal,
        commands: [$($command:literal),* $(,)?],
    })*) => {
        pub const $list: &[CauseText] = &[$(CauseText {
            cause: stringify!($variant),
            title: $title,
            meaning: $meaning,
            origin: $origin,
            similar: $similar,
            commands: &[$($command),*],
        }),*];

        const _: fn($kind) = |variant| match variant {
            $($kind::$variant => (),)*
            $($kind::$without => (),)*
        };
    };
}

/// Finds the text of a cause, a refusal, or the reason of a condition or an event; ignores case.
pub fn find(word: &str) -> Option<&'static CauseText> {
    let reason = EXPLAINED_BY_CAUSES.iter().find(|(reason, _)| reason.eq_ignore_ascii_case(word));
    let word = reason.map_or(word, |(_, cause)| cause);
    CAUSES.iter().chain(REFUSALS).chain(REASONS).find(|text| text.cause.eq_ignore_ascii_case(word))
}

texts! { CAUSES, Reason, [],
    ImagePullFailed {
        title: "The node cannot pull an image",
        meaning: "The kubelet failed to pull the image of a container, for a reason other than credentials.",
        origin: "The tag or the repository does not exist, the registry cannot be reached from the node, or the \
                 image has no build for the node's architecture.",
        similar: "If the registry asks for credentials, the cause is PullSecretMissing or PullSecretRejected. A \
                     source that Flux itself cannot pull is SourceNotFound or HostUnreachable.",
        commands: [
            "flux-operator build instance -f flux.yaml -o images",
            "kubectl -n flux-system describe pod --selector app.kubernetes.io/part-of=flux",
            "flux-operator -n flux-system reconcile instance flux",
        ],
    }
    PullSecretMissing {
        title: "The registry wants credentials, and the pod has no pull secret",
        meaning: "The registry refuses to serve the image without credentials, and the pull secret of the pod does \
                  not exist or is not set.",
        origin: "The instance does not set `spec.distribution.imagePullSecret`, the Secret was never created, or it \
                 was created in another namespace.",
        similar: "If the Secret exists and the registry refuses it, the cause is PullSecretRejected.",
        commands: [
            "flux-operator -n flux-system create secret registry registry-auth --server registry.example.com \
             --username flux --password-stdin",
            "flux-operator -n flux-system reconcile instance flux",
        ],
    }
    PullSecretRejected {
        title: "The registry refuses the pull secret",
        meaning: "The pod has a pull secret, and the registry answered that these credentials may not pull the \
                  image.",
        origin: "The token has expired, belongs to another user, may not read the repository, or is stored for \
                 another host than the one in the image name.",
        similar: "If there is no Secret, the cause is PullSecretMissing. If the registry cannot be reached at \
                     all, it is ImagePullFailed.",
        commands: [
            "flux-operator -n flux-system create secret registry registry-auth --server registry.example.com \
             --username flux --password-stdin",
            "flux-operator -n flux-system reconcile instance flux",
        ],
    }
    CrashLoop {
        title: "A container starts and ends again and again",
        meaning: "The container starts and exits, and the kubelet waits longer before each restart.",
        origin: "A wrong argument or setting, a missing permission, an unavailable dependency, or a bug in the \
                 program. The container's last log line is shown as evidence.",
        similar: "A container killed for its memory use is OutOfMemory. A container that never started is \
                     ContainerConfigError. A container that the kubelet restarts because a probe fails is \
                     ProbeFailing.",
        commands: [
            "kubectl -n apps logs podinfo-6c7d9b4f5d-x2x5q --previous",
            "flux-operator -n apps debug hr podinfo --values",
            "flux-operator what-changed --since 2h",
        ],
    }
    OutOfMemory {
        title: "A container uses more memory than its limit and is killed",
        meaning: "The kernel killed the container because it reached its memory limit (reason `OOMKilled`).",
        origin: "More objects or larger artifacts than the limit allows for, or a memory leak.",
        similar: "A pod that was removed because the whole node was short of memory is Evicted.",
        commands: [
            "kubectl -n flux-system top pod --containers",
            "flux-operator explain instance.spec.cluster.size",
        ],
    }
    ContainerConfigError {
        title: "A container cannot be created",
        meaning: "The kubelet has the image, but it cannot create or start the container.",
        origin: "A key is missing in a Secret or ConfigMap, the image runs as root although the pod forbids it, or \
                 the command does not exist in the image.",
        similar: "If the whole Secret or ConfigMap is missing, the cause is SecretMissing or ConfigMapMissing. A \
                     container that started and exited is CrashLoop.",
        commands: [
            "kubectl -n apps describe pod podinfo-6c7d9b4f5d-x2x5q",
            "flux-operator -n apps trace pod podinfo-6c7d9b4f5d-x2x5q",
        ],
    }
    ProbeFailing {
        title: "A container runs, but its probe fails",
        meaning: "The readiness, liveness or startup probe of a running container fails, so the pod does not become \
                  ready or is restarted.",
        origin: "The program is still starting, listens on another port, or waits for a dependency that does not \
                 answer.",
        similar: "If the program crashes or exits, the cause is CrashLoop.",
        commands: [
            "kubectl -n apps logs deployment/podinfo",
            "kubectl -n apps describe pod podinfo-6c7d9b4f5d-x2x5q",
        ],
    }
    QuotaExceeded {
        title: "A resource quota refuses the object",
        meaning: "A ResourceQuota of the namespace is used up, or it requires requests and limits that the pod does \
                  not set.",
        origin: "More replicas or larger requests than the quota allows, or a new quota.",
        similar: "A LimitRange that refuses individual values is LimitExceeded. If the nodes lack capacity, the \
                     cause is Unschedulable.",
        commands: [
            "kubectl -n apps describe resourcequota",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ClaimPending {
        title: "A volume claim of the pod is not bound",
        meaning: "The pod waits for a PersistentVolumeClaim that does not exist or has no volume yet.",
        origin: "The storage class does not exist, no default class is set, the provisioner is not running, or no \
                 capacity is left.",
        similar: "A bound volume that cannot be attached to the node is VolumeUnavailable.",
        commands: [
            "kubectl -n flux-system describe pvc",
            "kubectl get storageclass",
        ],
    }
    Unschedulable {
        title: "No node takes the pod",
        meaning: "The scheduler found no suitable node for the pod. Its message lists the reasons, with the number \
                  of nodes for each.",
        origin: "Not enough CPU or memory, taints without tolerations, a node selector or affinity that no node \
                 matches, or a volume in another zone.",
        similar: "A node that exists but is not ready is NodeNotReady. A quota of the namespace is QuotaExceeded.",
        commands: [
            "kubectl -n apps describe pod podinfo-6c7d9b4f5d-x2x5q",
            "kubectl get nodes",
        ],
    }
    WebhookRefused {
        title: "An admission webhook refuses the object, or cannot be reached",
        meaning: "The API server calls a webhook before it stores the object, and the webhook refused the object or \
                  did not answer.",
        origin: "A policy of the cluster, or a webhook whose pods are down.",
        similar: "A refusal by a ValidatingAdmissionPolicy or by the pod security level of the namespace is \
                     PolicyRefused. A missing permission is Forbidden.",
        commands: [
            "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    PolicyRefused {
        title: "An admission policy refuses the object",
        meaning: "A ValidatingAdmissionPolicy or the pod security level of the namespace refused the object.",
        origin: "The object breaks a rule of the cluster. For example, it runs as root in a namespace with the level \
                 `restricted`.",
        similar: "A refusal by an external service is WebhookRefused.",
        commands: [
            "kubectl get validatingadmissionpolicies",
            "kubectl get namespace apps --show-labels",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    Forbidden {
        title: "The reconciler lacks a right",
        meaning: "The API server refused a request from Flux because the ServiceAccount that Flux used lacks the \
                  permission.",
        origin: "A tenant applies an object that its roles do not allow, or a role was changed or deleted.",
        similar: "If admission refuses the content of an object, the cause is PolicyRefused or WebhookRefused. \
                     References between namespaces that Flux itself refuses are AccessDenied.",
        commands: [
            "kubectl auth can-i create deployments -n apps --as system:serviceaccount:apps:flux",
            "flux-operator check",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    HostUnreachable {
        title: "The server of a source cannot be reached",
        meaning: "The controller could not open a connection to the server, or got no answer in time.",
        origin: "A wrong host name or port, a DNS failure, a network policy, a firewall, or a required proxy that is \
                 not configured.",
        similar: "If the server answers and its certificate is not trusted, the cause is CertificateInvalid. If \
                     the proxy cannot be reached, it is ProxyFailed.",
        commands: [
            "flux-operator -n apps create secret proxy egress --address http://proxy.example.com:3128",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    HostKeyWrong {
        title: "The SSH host key of the Git server is not trusted",
        meaning: "The server's host key is missing from `known_hosts` in the Secret, or differs from the key there.",
        origin: "The server has a new key, the Secret was made for another host, or the connection is intercepted.",
        similar: "If the server refuses your key, the cause is CredentialsRejected.",
        commands: [
            "flux-operator -n apps create secret ssh git-ssh-auth --private-key-file ./identity --knownhosts-file \
             ./known_hosts",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    CertificateInvalid {
        title: "The TLS certificate of the server is not trusted",
        meaning: "The TLS handshake failed: no trusted authority signed the certificate, or it names another host.",
        origin: "A private certificate authority that Flux does not know, a proxy that intercepts TLS, or a wrong \
                 address.",
        similar: "A certificate that has expired is CertificateExpired.",
        commands: [
            "flux-operator -n apps create secret tls git-ca --ca-crt-file ./ca.crt",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    CredentialsRejected {
        title: "The server refuses the credentials",
        meaning: "The server asked for credentials and refused the ones it received, or received none.",
        origin: "An expired or revoked token, a wrong user name, a deploy key that was removed, or a repository \
                 that the user may not read.",
        similar: "If the Secret does not exist, the cause is SecretMissing; if it lacks a field, \
                     SecretIncomplete. Some servers answer `not found` instead, which is SourceNotFound.",
        commands: [
            "flux-operator -n apps create secret basic-auth git-token-auth --username git --password-stdin",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    SecretMissing {
        title: "A Secret that is referred to does not exist",
        meaning: "A Flux object or a pod refers to a Secret that is not in its namespace.",
        origin: "It was never created, it was created in another namespace, or it was deleted.",
        similar: "A Secret that exists but lacks a field is SecretIncomplete. A missing pull secret of a pod is \
                     PullSecretMissing.",
        commands: [
            "flux-operator -n apps create secret basic-auth git-token-auth --username git --password-stdin",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    SourceNotFound {
        title: "The address, branch, tag or version does not exist",
        meaning: "The server answered that the address, branch, tag or version in the source does not exist.",
        origin: "A typing mistake, a deleted branch, a version range without a match, or credentials without access \
                 to the repository.",
        similar: "A chart that is missing from a Helm repository is ChartNotFound. A path that is missing from \
                     the source is KustomizationFailed.",
        commands: [
            "flux-operator -n apps events gitrepository/podinfo",
            "kubectl -n apps edit gitrepository podinfo",
        ],
    }
    SourceFailed {
        title: "The source cannot be fetched",
        meaning: "Fetching the source failed with a message that no other cause explains.",
        origin: "See the message of the condition, which is shown as evidence.",
        similar: "Known messages have their own causes: HostUnreachable, CertificateInvalid, CredentialsRejected, \
                     SourceNotFound.",
        commands: [
            "flux-operator -n apps logs gitrepository/podinfo --since 1h",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    KustomizationFailed {
        title: "The manifests of the source cannot be built or applied",
        meaning: "The source was fetched, but its manifests cannot be built.",
        origin: "The path does not exist, a file is not valid YAML, two files define the same object, or a \
                 kustomization refers to a missing file.",
        similar: "An object that the API server refuses is ObjectInvalid, Forbidden or PolicyRefused. A variable \
                     that cannot be substituted is SubstitutionFailed; a file that cannot be decrypted is \
                     DecryptionFailed.",
        commands: [
            "flux-operator -n apps events kustomization/podinfo",
            "flux-operator -n apps reconcile kustomization podinfo --with-source",
        ],
    }
    DependencyNotReady {
        title: "A dependency is not ready",
        meaning: "The object waits for another object in its `dependsOn`, or for an ImageRepository that has not \
                  been scanned.",
        origin: "The other object fails or has not been reconciled yet. `why` continues with the other object if \
                 that object explains the wait.",
        similar: "A dependency that does not exist is DependencyMissing. Circular dependencies are \
                     DependencyCycle.",
        commands: [
            "flux-operator why",
            "flux-operator -n apps wait kustomization podinfo",
        ],
    }
    ArtifactUnavailable {
        title: "The artifact of the source cannot be fetched",
        meaning: "The source has no artifact, source-controller does not serve it, or the artifact of the \
                  distribution cannot be pulled.",
        origin: "source-controller was restarted and is fetching again, a network policy blocks its port, or the \
                 source itself fails.",
        similar: "An artifact that is served with the wrong content is ArtifactCorrupt.",
        commands: [
            "flux-operator get all -A --ready-status False",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    RevisionNotApplied {
        title: "A newer revision of the source is not applied",
        meaning: "The source has had a newer revision for a long time, and the Kustomization still has the older \
                  one.",
        origin: "kustomize-controller is overloaded, hangs in a health check, or does not see the object.",
        similar: "If the controller is not running, the cause is ControllerStopped or ControllerNotReady.",
        commands: [
            "flux-operator logs --controller kustomize --since 1h",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    BadVersionRange {
        title: "No Flux version fits the version range",
        meaning: "`spec.distribution.version` cannot be parsed, matches no version, or requests an older minor \
                  version than the installed one.",
        origin: "A typing mistake, a version that this program or the artifact does not have, or a range that was \
                 lowered.",
        similar: "A patch that cannot be applied is PatchFailed.",
        commands: [
            "flux-operator distribution versions",
            "flux-operator plan instance -f flux.yaml",
        ],
    }
    PatchFailed {
        title: "A patch of the instance cannot be applied",
        meaning: "A patch in `spec.kustomize.patches` matches no object or cannot be applied to it.",
        origin: "A renamed object, a path that the new Flux version does not have, or a wrong operation.",
        similar: "Errors elsewhere in the build are BuildFailed.",
        commands: [
            "flux-operator build instance -f flux.yaml",
            "flux-operator plan instance -f flux.yaml --diff",
        ],
    }
    BuildFailed {
        title: "The instance cannot be built",
        meaning: "The objects of the instance cannot be generated from its spec and the distribution.",
        origin: "A component that the version does not have, or values that contradict each other.",
        similar: "A version range without a match is BadVersionRange. A patch that cannot be applied is \
                     PatchFailed.",
        commands: [
            "flux-operator build instance -f flux.yaml",
            "flux-operator explain instance.spec",
        ],
    }
    Suspended {
        title: "Reconciliation is suspended",
        meaning: "The object was suspended. Its current state is kept and nothing is applied.",
        origin: "`suspend`, `flux suspend`, `spec.suspend: true` in Git, or the annotation \
                 `fluxcd.controlplane.io/reconcile: disabled`.",
        similar: "An object that no controller reconciles at all is ShardUnserved or ControllerMissing.",
        commands: [
            "flux-operator get suspended -A",
            "flux-operator -n apps resume kustomization podinfo",
        ],
    }
    StuckFinalizer {
        title: "Deletion waits for a finalizer",
        meaning: "The object was deleted, and a finalizer keeps it until its controller has cleaned up.",
        origin: "The controller does not run, fails to clean up, or was uninstalled before its objects.",
        similar: "A namespace that is being deleted refuses new objects: NamespaceTerminating.",
        commands: [
            "kubectl -n apps get kustomization podinfo -o jsonpath='{.metadata.finalizers}'",
            "flux-operator status",
            "flux-operator -n apps logs kustomization/podinfo",
        ],
    }
    TemplateFailed {
        title: "A template of a ResourceSet cannot be rendered",
        meaning: "A template contains an error, or its output is not a Kubernetes object. The condition names the \
                  line of the template. Nothing is applied or pruned.",
        origin: "A function called with the wrong type of value, a missing `end`, or a value that breaks the YAML \
                 around it.",
        similar: "A value that is missing from an input set is InputMissing.",
        commands: [
            "flux-operator -n apps debug rset web --inputs",
            "flux-operator build rset -f web.yaml --live",
        ],
    }
    InputMissing {
        title: "An input set lacks a value that a template uses",
        meaning: "The template reads `inputs.NAME`, but the input set has no value of that name. Nothing is applied \
                  or pruned.",
        origin: "A typing mistake, or a provider that exports the value for only some of its sets.",
        similar: "A template with any other error is TemplateFailed.",
        commands: [
            "flux-operator -n apps debug rset web --inputs",
            "flux-operator -n apps get inputs rset/web",
            "kubectl -n apps edit resourceset web",
        ],
    }
    ObjectCollision {
        title: "Two steps of a ResourceSet render the same object",
        meaning: "Two steps render an object of the same kind, namespace and name, so each would overwrite the \
                  other's object. Nothing is applied.",
        origin: "The name does not contain the value that distinguishes its input set from the others.",
        similar: "Within one step the first object is applied, and `build rset --strict` reports the others.",
        commands: [
            "flux-operator build rset -f web.yaml --live --explain",
            "kubectl -n apps edit resourceset web",
        ],
    }
    ExpressionInvalid {
        title: "An expression of a ResourceSet is not valid",
        meaning: "A `readyExpr` cannot be parsed as CEL, so the operator cannot check what the ResourceSet waits \
                  for. It does not retry until the spec changes.",
        origin: "A typing mistake in the expression.",
        similar: "A valid expression that evaluates to false is DependencyNotReady.",
        commands: [
            "kubectl -n apps edit resourceset web",
        ],
    }
    SecondInstance {
        title: "The cluster has another FluxInstance already",
        meaning: "A cluster can have only one FluxInstance, and another one already exists. Nothing is applied for \
                  this one.",
        origin: "A manifest was applied to a second namespace, or under a second name.",
        similar: "An instance that no operator reconciles is OperatorAbsent.",
        commands: [
            "flux-operator get instance -A",
            "flux-operator -n flux2 delete instance flux",
        ],
    }
    OperatorAbsent {
        title: "No operator reconciles the object",
        meaning: "The operator reconciles this kind of object, but no operator is running in the cluster.",
        origin: "The operator was never installed, is scaled to zero, crashes, or has not renewed its lease.",
        similar: "A missing controller of Flux is ControllerMissing.",
        commands: [
            "flux-operator install --image registry.example.com/flux-operator:v1",
            "flux-operator -n flux-system reconcile instance flux --in-process",
        ],
    }
    ObjectFailed {
        title: "An applied object reports failure",
        meaning: "Flux applied the object, and the object itself reports that it failed.",
        origin: "See the status of the object. A Deployment that was scaled to zero on purpose is reported as well.",
        similar: "If a pod explains the failure, the pod's cause is reported instead: CrashLoop, ImagePullFailed \
                     or a similar one.",
        commands: [
            "flux-operator -n apps tree kustomization podinfo",
            "flux-operator what-changed --since 2h",
        ],
    }
    ObjectMissing {
        title: "An applied object was deleted",
        meaning: "The object is in the inventory of Flux but not in the cluster.",
        origin: "A person or another tool deleted it. The next reconciliation creates it again.",
        similar: "An object that was never created because it was refused is ObjectInvalid or Forbidden.",
        commands: [
            "flux-operator what-changed --since 2h",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ObjectInvalid {
        title: "The API server finds an object invalid",
        meaning: "The API server refused an object because of its content.",
        origin: "A misspelled field, a value of the wrong type, a missing namespace, or a field that the version of \
                 the kind does not have.",
        similar: "A field that may not change is ImmutableField. An unknown kind is DefinitionMissing.",
        commands: [
            "flux-operator -n apps events kustomization/podinfo",
            "flux-operator explain helmrelease.spec",
        ],
    }
    ReconciliationFailed {
        title: "The last reconciliation failed",
        meaning: "The object reports a failure with a message that no other cause explains.",
        origin: "See the message of the condition, which is shown as evidence.",
        similar: "Known messages have their own causes.",
        commands: [
            "flux-operator -n apps events kustomization/podinfo",
            "flux-operator -n apps logs kustomization/podinfo --since 1h",
        ],
    }
    InProgress {
        title: "Reconciliation has not ended yet",
        meaning: "The controller is reconciling the object, or its pods are starting.",
        origin: "A recent change. If this lasts, a health check is waiting for an object.",
        similar: "A rollout that timed out is RolloutFailed; a health check that failed is HealthCheckFailed.",
        commands: [
            "flux-operator -n apps wait kustomization podinfo",
            "flux-operator -n apps tree kustomization podinfo",
        ],
    }
    CertificateExpired {
        title: "The TLS certificate of the server has expired",
        meaning: "The server presented a certificate that has expired.",
        origin: "The certificate was not renewed, or the clock of the node is wrong.",
        similar: "A certificate from an unknown authority is CertificateInvalid.",
        commands: [
            "openssl s_client -connect git.example.com:443",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    SignatureInvalid {
        title: "A signature is missing or does not match",
        meaning: "The source requires a signature, and the fetched content is not signed by a trusted key or \
                  identity.",
        origin: "The artifact was pushed without a signature, was signed with another key, or was replaced.",
        similar: "Content that does not match its digest is ArtifactCorrupt.",
        commands: [
            "kubectl -n apps get ocirepository podinfo -o jsonpath='{.spec.verify}'",
            "flux-operator -n apps reconcile ocirepository podinfo",
        ],
    }
    SecretIncomplete {
        title: "A Secret lacks a field or holds an unusable one",
        meaning: "The Secret exists, but a key in it is missing or cannot be read.",
        origin: "It was created for another type of credentials, or a private key is truncated or has a password.",
        similar: "If the Secret does not exist, the cause is SecretMissing.",
        commands: [
            "kubectl -n apps describe secret git-ssh-auth",
            "flux-operator -n apps create secret ssh git-ssh-auth --private-key-file ./identity --knownhosts-file \
             ./known_hosts",
        ],
    }
    RateLimited {
        title: "The server answers that it had too many requests",
        meaning: "The registry or Git server limits the rate of requests.",
        origin: "A short interval, many sources on one host, or requests without credentials.",
        similar: "If the API server of the cluster limits requests, the cause is Throttled.",
        commands: [
            "flux-operator get all -A --filter kind=OCIRepository",
            "kubectl -n apps edit ocirepository podinfo",
        ],
    }
    ProxyFailed {
        title: "The proxy cannot be reached",
        meaning: "The source is fetched through a proxy, and the connection to the proxy failed.",
        origin: "A wrong address in the proxy Secret, or a proxy that is down.",
        similar: "If the server behind the proxy does not answer, the cause is HostUnreachable.",
        commands: [
            "flux-operator -n apps create secret proxy egress --address http://proxy.example.com:3128",
            "flux-operator -n apps reconcile gitrepository podinfo",
        ],
    }
    UrlInvalid {
        title: "The address of the source cannot be used",
        meaning: "The address cannot be parsed, or it has a scheme that this kind does not support.",
        origin: "A typing mistake, `https://` where `oci://` is needed, or credentials inside the address.",
        similar: "A valid address that does not exist is SourceNotFound.",
        commands: [
            "flux-operator explain gitrepository.spec.url",
            "kubectl -n apps edit gitrepository podinfo",
        ],
    }
    StorageFull {
        title: "A volume or the database of the API server is full",
        meaning: "source-controller cannot write artifacts, or the API server cannot store objects.",
        origin: "Large repositories on a small volume, or etcd at its limit.",
        similar: "A volume that cannot be attached is VolumeUnavailable.",
        commands: [
            "kubectl -n flux-system exec deployment/source-controller -- df -h /data",
            "flux-operator explain instance.spec.storage",
        ],
    }
    AccessDenied {
        title: "References between namespaces are switched off",
        meaning: "The object refers to an object in another namespace, and Flux is configured to refuse such \
                  references.",
        origin: "`spec.cluster.multitenant: true`, or `--no-cross-namespace-refs` on a controller.",
        similar: "A request that the API server refuses is Forbidden.",
        commands: [
            "flux-operator explain instance.spec.cluster.multitenant",
            "kubectl -n apps edit kustomization podinfo",
        ],
    }
    ArtifactCorrupt {
        title: "The content of an artifact does not match",
        meaning: "The digest of the artifact differs from the one that its source announced, or a chart archive is \
                  not a chart.",
        origin: "The artifact was replaced while it was fetched, or something other than a chart was pushed.",
        similar: "A missing signature is SignatureInvalid.",
        commands: [
            "flux-operator -n apps reconcile helmrelease podinfo --with-source",
        ],
    }
    ChartNotFound {
        title: "The chart or its version does not exist",
        meaning: "The source does not have the chart, or no version of it fits the range.",
        origin: "A typing mistake, a version that was not published yet, or a dependency of the chart that cannot \
                 be fetched.",
        similar: "If the repository itself does not exist, the cause is SourceNotFound.",
        commands: [
            "kubectl -n apps get helmchart",
            "flux-operator -n apps reconcile helmrelease podinfo --with-source",
        ],
    }
    ChartFailed {
        title: "A template of the chart cannot be rendered",
        meaning: "Helm has the chart and the values, but rendering fails.",
        origin: "A required value is not set, a template is wrong, or the chart refuses this Kubernetes version.",
        similar: "Values that break the schema of the chart are ValuesInvalid. Objects that the API server \
                     refuses are ObjectInvalid.",
        commands: [
            "flux-operator -n apps debug hr podinfo --values",
            "flux-operator -n apps events hr/podinfo",
        ],
    }
    ValuesMissing {
        title: "Values of a Helm release come from an object that does not exist",
        meaning: "`spec.valuesFrom` names a ConfigMap, Secret or key that does not exist.",
        origin: "A typing mistake, another namespace, or an object that a later Kustomization creates.",
        similar: "Values that exist but do not fit the chart are ValuesInvalid.",
        commands: [
            "flux-operator -n apps debug hr podinfo --values",
            "flux-operator -n apps reconcile helmrelease podinfo",
        ],
    }
    ValuesInvalid {
        title: "The values do not fit the chart",
        meaning: "The values cannot be read, or they break the schema of the chart.",
        origin: "A value of the wrong type, a field that the schema does not allow, or invalid YAML in `valuesFrom`.",
        similar: "Errors in templates are ChartFailed.",
        commands: [
            "flux-operator -n apps debug hr podinfo --values -o wide",
            "flux-operator -n apps reconcile helmrelease podinfo",
        ],
    }
    HelmLocked {
        title: "An earlier action on the release did not end",
        meaning: "Helm's record says that an install or upgrade is pending, or that no version was ever deployed.",
        origin: "helm-controller was stopped during the action, or a `helm` command on the same release was \
                 interrupted.",
        similar: "A release with the same name and another owner is HelmOwnership.",
        commands: [
            "flux-operator -n apps debug hr podinfo --history",
            "flux-operator -n apps reconcile hr podinfo --reset",
        ],
    }
    HelmOwnership {
        title: "Something else owns the release or one of its objects",
        meaning: "An object of the chart exists without Helm's ownership metadata, or with that of another release.",
        origin: "It was created by hand or by another tool, or two releases contain it.",
        similar: "Two field managers that apply the same field are FieldConflict.",
        commands: [
            "flux-operator -n apps trace deployment podinfo",
            "flux-operator -n apps debug hr podinfo --history",
        ],
    }
    HelmHookFailed {
        title: "A hook of the chart fails",
        meaning: "Helm ran a Job or Pod before or after the action, and it failed.",
        origin: "See the pod of the hook. While the pod exists, `why` explains it too.",
        similar: "A failed test of the chart is HelmTestFailed.",
        commands: [
            "kubectl -n apps get jobs,pods",
            "flux-operator -n apps logs hr/podinfo",
        ],
    }
    HelmTestFailed {
        title: "A test of the chart fails",
        meaning: "The release was installed, and `helm test` failed.",
        origin: "The application does not answer as the test expects.",
        similar: "A hook that fails during an install or upgrade is HelmHookFailed.",
        commands: [
            "kubectl -n apps get pods",
            "flux-operator -n apps debug hr podinfo --status",
        ],
    }
    HelmFailed {
        title: "The action of Helm failed",
        meaning: "An install, upgrade, rollback or uninstall failed with a message that no other cause explains.",
        origin: "See the message of the condition, which is shown as evidence.",
        similar: "Known messages have their own causes: ChartFailed, ValuesInvalid, HelmLocked, \
                     HealthCheckFailed.",
        commands: [
            "flux-operator -n apps debug hr podinfo --history",
            "flux-operator -n apps reconcile hr podinfo --force",
        ],
    }
    SubstitutionFailed {
        title: "A variable of the manifests cannot be substituted",
        meaning: "`spec.postBuild` of the Kustomization refers to a missing object, or a variable has no value.",
        origin: "A missing ConfigMap or Secret, a misspelled variable, or text such as `${x}` that was not meant as \
                 a variable.",
        similar: "Manifests that cannot be built are KustomizationFailed.",
        commands: [
            "flux-operator -n apps debug ks podinfo --vars",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    DecryptionFailed {
        title: "A file cannot be decrypted",
        meaning: "SOPS has no key for a file, or the Secret with the keys does not exist.",
        origin: "A file was encrypted for another key, or the key was not added to the cluster.",
        similar: "Other missing Secrets are SecretMissing.",
        commands: [
            "flux-operator -n apps create secret sops sops-keys --age-key-file ./age.agekey",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    DependencyMissing {
        title: "A dependency or source does not exist",
        meaning: "`dependsOn` or `sourceRef` names an object that is not in the cluster.",
        origin: "A typing mistake, another namespace, or an object that was deleted or not created yet.",
        similar: "An object that exists but fails is DependencyNotReady.",
        commands: [
            "flux-operator get all -A",
            "kubectl -n apps edit kustomization podinfo",
        ],
    }
    DependencyCycle {
        title: "Dependencies wait for each other in a circle",
        meaning: "Following `dependsOn` leads back to the object, so each object waits for the others.",
        origin: "Two changes that were made independently.",
        similar: "A single dependency that fails is DependencyNotReady.",
        commands: [
            "kubectl -n apps edit kustomization podinfo",
        ],
    }
    DefinitionMissing {
        title: "The API server does not know a kind",
        meaning: "An object has a kind that no installed CRD serves.",
        origin: "The CRD comes from another Kustomization or chart that was not applied first.",
        similar: "A kind that is served only at other versions is DefinitionVersionUnserved.",
        commands: [
            "kubectl get crds",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    DefinitionVersionUnserved {
        title: "The API server does not serve a kind at this version",
        meaning: "The CRD is installed, but does not serve the version that the manifest uses.",
        origin: "Manifests that use an old API version after an upgrade, or a new one before it.",
        similar: "A kind that the API server does not know at all is DefinitionMissing.",
        commands: [
            "flux-operator migrate -f ./clusters --dry-run",
            "flux-operator check -f ./clusters",
        ],
    }
    NamespaceMissing {
        title: "The namespace of an object does not exist",
        meaning: "An object cannot be applied because its namespace does not exist.",
        origin: "The namespace is created by another Kustomization, or it was deleted.",
        similar: "A namespace that is being deleted is NamespaceTerminating.",
        commands: [
            "kubectl create namespace apps",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    NamespaceTerminating {
        title: "The namespace is being deleted",
        meaning: "The API server accepts no new objects in a namespace that is being deleted.",
        origin: "The namespace was deleted. The finalizer of an object in it may block the deletion.",
        similar: "The object that blocks the deletion has the cause StuckFinalizer.",
        commands: [
            "kubectl get namespace apps -o jsonpath='{.status.conditions}'",
            "flux-operator what-changed --since 2h",
        ],
    }
    ServiceAccountMissing {
        title: "The ServiceAccount of the pods does not exist",
        meaning: "Pods cannot be created because their ServiceAccount does not exist.",
        origin: "It was deleted, or it comes from another Kustomization.",
        similar: "A ServiceAccount without the required permissions is Forbidden.",
        commands: [
            "kubectl -n apps get serviceaccounts",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ConfigMapMissing {
        title: "A ConfigMap that the pod needs does not exist",
        meaning: "A container refers to a ConfigMap that is not in its namespace.",
        origin: "A typing mistake, a generated name that changed, or an object that was deleted.",
        similar: "A missing key in a ConfigMap is ContainerConfigError. A missing Secret is SecretMissing.",
        commands: [
            "kubectl -n apps get configmaps",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ImmutableField {
        title: "A field cannot be changed on an existing object",
        meaning: "Kubernetes does not allow changes to this field. The object would have to be deleted and created \
                  again.",
        origin: "A changed selector of a Deployment, a changed Job template, or a changed storage class of a claim.",
        similar: "Values that are invalid even in a new object are ObjectInvalid.",
        commands: [
            "flux-operator -n apps impact kustomization/podinfo",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ObjectTooLarge {
        title: "An object is larger than the API server takes",
        meaning: "The API server or etcd refused an object because of its size, or its annotations are larger than \
                  256 KiB.",
        origin: "Large files in a ConfigMap, or `kubectl apply`, which stores the object in an annotation.",
        similar: "A full database is StorageFull.",
        commands: [
            "flux-operator -n apps events kustomization/podinfo",
        ],
    }
    FieldConflict {
        title: "Another field manager owns a field",
        meaning: "Server-side apply refused a change because another manager owns the field.",
        origin: "An autoscaler, another operator, or a person changed the field.",
        similar: "An object that belongs to another Helm release is HelmOwnership.",
        commands: [
            "flux-operator what-changed --since 2h",
            "kubectl -n apps get deployment podinfo -o yaml --show-managed-fields",
        ],
    }
    LimitExceeded {
        title: "A LimitRange refuses the pod",
        meaning: "A LimitRange of the namespace allows only smaller or larger values.",
        origin: "Requests or limits of a container that are outside the range.",
        similar: "A quota of the whole namespace is QuotaExceeded.",
        commands: [
            "kubectl -n apps describe limitrange",
        ],
    }
    Throttled {
        title: "Requests to the API server are limited",
        meaning: "The API server answers `too many requests`, or the controller has reached its own request limit.",
        origin: "Many objects with short intervals, or another client that overloads the API server.",
        similar: "A controller at its CPU limit is ControllerThrottled. A registry that limits requests is \
                     RateLimited.",
        commands: [
            "flux-operator stats",
            "flux-operator explain instance.spec.cluster.size",
        ],
    }
    PruneFailed {
        title: "An object that left the source cannot be deleted",
        meaning: "The source lacks an object that Flux applied earlier, and the API server refuses Flux's request to delete it.",
        origin: "A missing permission, a webhook, or a finalizer.",
        similar: "A deletion that was accepted but does not finish is StuckFinalizer.",
        commands: [
            "flux-operator -n apps events kustomization/podinfo",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    HealthCheckFailed {
        title: "What was applied does not become healthy",
        meaning: "Everything was applied, but an object did not become ready in time.",
        origin: "See the objects below it. `why` continues with the pod that explains the failure, if there is one.",
        similar: "If a rollout has a more specific cause, that cause is reported: CrashLoop, ImagePullFailed, \
                     Unschedulable.",
        commands: [
            "flux-operator -n apps tree kustomization podinfo",
            "flux-operator -n apps reconcile kustomization podinfo",
        ],
    }
    ImagePolicyUnmatched {
        title: "No tag of the image fits the policy",
        meaning: "The ImageRepository was scanned, and none of its tags fits the ImagePolicy.",
        origin: "A filter that matches nothing, or a range without a version.",
        similar: "A repository that was not scanned yet is DependencyNotReady.",
        commands: [
            "kubectl -n apps get imagepolicy",
            "flux-operator -n apps reconcile imagerepository podinfo",
        ],
    }
    PushRejected {
        title: "The Git server refuses a push",
        meaning: "image-automation-controller made a commit, and the server refused it.",
        origin: "A protected branch, a read-only token, or a branch that has new commits.",
        similar: "Credentials that are refused altogether are CredentialsRejected.",
        commands: [
            "flux-operator -n apps create secret basic-auth git-token-auth --username git --password-stdin",
            "flux-operator -n apps reconcile imageupdateautomation podinfo",
        ],
    }
    ControllerMissing {
        title: "A controller of Flux is not installed",
        meaning: "Objects of this kind need a controller that is not in the cluster.",
        origin: "The component is not in `spec.components`, or its Deployment was deleted.",
        similar: "A controller that is scaled to zero is ControllerStopped. A controller whose pods fail is \
                     ControllerNotReady or has the cause of its pod.",
        commands: [
            "flux-operator get components",
            "flux-operator plan instance flux",
            "flux-operator reconcile instance flux",
        ],
    }
    ControllerStopped {
        title: "A controller of Flux is scaled to zero",
        meaning: "The Deployment of the controller exists but has no replicas.",
        origin: "It was scaled down, for example during an incident.",
        similar: "A Deployment that does not exist is ControllerMissing.",
        commands: [
            "flux-operator what-changed --since 24h",
            "kubectl -n flux-system scale deployment kustomize-controller --replicas 1",
        ],
    }
    ControllerNotReady {
        title: "No pod of a controller is ready",
        meaning: "The Deployment of the controller has pods, but none of them is ready.",
        origin: "The pods are starting, or they fail for a reason that cannot be determined.",
        similar: "If a pod explains the failure, the pod's cause is reported instead: CrashLoop, OutOfMemory, \
                     ImagePullFailed.",
        commands: [
            "flux-operator get components",
            "kubectl -n flux-system describe deployment kustomize-controller",
        ],
    }
    ControllerThrottled {
        title: "A controller of Flux uses all the CPU that it may use",
        meaning: "The measured CPU of the controller's pod is at its limit, so its queue grows.",
        origin: "More objects than the installation is sized for.",
        similar: "Limits on requests to the API server are Throttled.",
        commands: [
            "kubectl -n flux-system top pod",
            "flux-operator explain instance.spec.cluster.size",
        ],
    }
    ShardUnserved {
        title: "No controller selects the object",
        meaning: "Controllers are running, but none of them watches objects with these labels or in this namespace.",
        origin: "A label of a shard that does not exist, or controllers that watch only their own namespace.",
        similar: "A controller that is not installed is ControllerMissing.",
        commands: [
            "flux-operator explain instance.spec.sharding",
            "kubectl -n apps get kustomization podinfo --show-labels",
        ],
    }
    Evicted {
        title: "The node evicted the pod",
        meaning: "The node was short of memory, disk or process IDs, and removed the pod.",
        origin: "Pods without requests on a full node, or logs and volumes that fill its disk.",
        similar: "A container over its own limit is OutOfMemory.",
        commands: [
            "kubectl get nodes",
            "kubectl -n apps describe pod podinfo-6c7d9b4f5d-x2x5q",
        ],
    }
    NodeNotReady {
        title: "The node of the pod is not ready",
        meaning: "The pod was placed on a node that no longer reports to the API server.",
        origin: "The machine or its network is down, or its kubelet is stopped.",
        similar: "A pod without a node is Unschedulable.",
        commands: [
            "kubectl get nodes",
            "kubectl describe node worker-1",
        ],
    }
    JobFailed {
        title: "A Job failed",
        meaning: "The Job used up its retries, exceeded its deadline, or was ended by its pod failure policy.",
        origin: "Its container exits with an error. The container's last log line is shown as evidence.",
        similar: "If Helm runs the Job as a hook and its pods are gone, the cause is HelmHookFailed.",
        commands: [
            "kubectl -n apps logs job/migrate",
            "kubectl -n apps describe job migrate",
        ],
    }
    VolumeUnavailable {
        title: "A volume cannot be attached or mounted",
        meaning: "The claim is bound, but the node cannot attach or mount its volume.",
        origin: "The volume is still in use on another node, or the storage driver fails.",
        similar: "A claim without a volume is ClaimPending.",
        commands: [
            "kubectl get volumeattachments",
            "kubectl -n apps describe pod podinfo-6c7d9b4f5d-x2x5q",
        ],
    }
    AddressPending {
        title: "A load balancer has no address",
        meaning: "A Service of type LoadBalancer or an Ingress waits for an address.",
        origin: "The cluster has no controller for load balancers, or the cloud provider refuses to assign an \
                 address.",
        similar: "Failing pods behind it have their own causes.",
        commands: [
            "kubectl -n apps describe service podinfo",
        ],
    }
    RolloutPaused {
        title: "A rollout is paused",
        meaning: "The Deployment has `spec.paused: true`, so no new pods are created.",
        origin: "`kubectl rollout pause`, or a tool for staged rollouts.",
        similar: "A rollout that timed out is RolloutFailed.",
        commands: [
            "kubectl -n apps rollout resume deployment/podinfo",
        ],
    }
    RolloutFailed {
        title: "A rollout did not end in time",
        meaning: "The Deployment made no progress within `progressDeadlineSeconds`.",
        origin: "New pods do not become ready and no pod explains why.",
        similar: "If a pod explains the failure, the pod's cause is reported instead.",
        commands: [
            "kubectl -n apps rollout status deployment/podinfo",
            "flux-operator -n apps why deployment/podinfo",
        ],
    }
}

texts! { REFUSALS, Exit, [Done],
    Failed {
        title: "The command failed for a reason without a category of its own (exit code 1)",
        meaning: "The operation did not succeed. The message says what failed, and `causes` say why.",
        origin: "A conflict with another change, a file that cannot be read, or a check that failed.",
        similar: "Wrong flags are Usage. An object that reports failure is Unhealthy.",
        commands: ["flux-operator why", "flux-operator status"],
    }
    Differences {
        title: "The comparison found differences (exit code 1)",
        meaning: "`plan` found changes that an apply would make. Nothing was changed.",
        origin: "A changed file, a newer version in the range, or drift in the cluster.",
        similar: "A comparison that fails exits with another code.",
        commands: ["flux-operator plan instance -f flux.yaml --diff", "flux-operator apply instance -f flux.yaml"],
    }
    Usage {
        title: "The command line cannot be understood (exit code 2)",
        meaning: "A flag, argument or file is wrong, so nothing was attempted.",
        origin: "A misspelled flag, a missing argument, a file that does not exist, or a manifest that breaks a rule.",
        similar: "A valid name that does not exist in the cluster is NotFound.",
        commands: ["flux-operator help", "flux-operator explain instance.spec"],
    }
    PartlyUnreachable {
        title: "Some clusters could not be reached (exit code 8)",
        meaning: "A command over several contexts got no answer from at least one cluster. It succeeded on all \
                  others.",
        origin: "A cluster that is stopped, a network that is not connected, or an expired credential.",
        similar: "No answer from any cluster is Unreachable.",
        commands: ["flux-operator version --contexts '*'", "flux-operator status --context NAME"],
    }
    NotFound {
        title: "The object does not exist (exit code 3)",
        meaning: "The API server or the dump has no object of this kind and name in this namespace.",
        origin: "A misspelled name, another namespace, or another context than intended.",
        similar: "A kind that the API server does not know is ApiMissing.",
        commands: ["flux-operator get all -A", "kubectl config current-context"],
    }
    ApiMissing {
        title: "The API or its CRD is not installed (exit code 4)",
        meaning: "The API server does not serve the kind that the command needs.",
        origin: "Flux or the operator is not installed in this cluster, or was removed from it.",
        similar: "A missing object of a known kind is NotFound.",
        commands: ["flux-operator check --pre", "flux-operator apply instance -f flux.yaml --in-process"],
    }
    Denied {
        title: "The server refuses the credentials or the right (exit code 5)",
        meaning: "The API server or the registry answered 401 or 403.",
        origin: "An expired login, a missing role, or a token for another registry.",
        similar: "A permission that Flux itself lacks is the cause Forbidden.",
        commands: ["flux-operator rbac -- status", "kubectl auth whoami"],
    }
    Unreachable {
        title: "The server cannot be reached (exit code 6)",
        meaning: "The connection to the API server or registry failed, TLS failed, or the kubeconfig names no \
                  cluster.",
        origin: "A kubeconfig or context that is missing, a wrong address, DNS, a proxy, a VPN that is down, or an \
                 authority that is not trusted.",
        similar: "A server that answers but refuses is Denied. A server that is too slow for `--timeout` is \
                     Unhealthy.",
        commands: ["kubectl cluster-info", "flux-operator version"],
    }
    Unhealthy {
        title: "The object reports failure, or the time ran out (exit code 7)",
        meaning: "The request was made, but the object did not become ready, or `why` or `status` found a failure.",
        origin: "See the cause: `why` names it.",
        similar: "A request that the server refused is Denied or Failed.",
        commands: ["flux-operator why", "flux-operator status"],
    }
    Interrupted {
        title: "The command was interrupted (exit code 130)",
        meaning: "Ctrl-C or SIGTERM ended the command.",
        origin: "A person, or a CI system that cancelled the job.",
        similar: "A `--timeout` that expired is Unhealthy.",
        commands: ["flux-operator status"],
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::Cli;
    use crate::flows::rights::Rights;

    #[test]
    fn every_word_is_listed_once_and_is_not_the_name_of_a_kind() {
        let all = CAUSES.iter().chain(REFUSALS).chain(REASONS);
        let words: std::collections::BTreeSet<String> = all.clone().map(|text| text.cause.to_lowercase()).collect();
        assert_eq!(words.len(), all.count());
        for word in words {
            assert!(flux_operator::api::kinds::find(&word).is_none(), "{word} is a kind");
        }
        for (reason, cause) in EXPLAINED_BY_CAUSES {
            assert!(CAUSES.iter().all(|text| text.cause != reason), "{reason} is a cause of its own");
            assert!(find(reason).is_some_and(|text| text.cause == cause), "{reason}");
        }
        for exit in Exit::ALL {
            let word = exit.code_and_category().1;
            assert_eq!(find(word).is_none(), exit == Exit::Done, "{word}");
        }
    }

    #[test]
    fn similar_causes_are_words_of_the_list() {
        let pattern = regex::Regex::new(r"\b(?:[A-Z][a-z]+){2,}\b").expect("a pattern");
        let other = ["ConfigMap", "ServiceAccount", "LimitRange", "ResourceQuota", "LoadBalancer", "HelmRelease"];
        let other =
            [&other[..], &["ValidatingAdmissionPolicy", "ImageRepository", "ImagePolicy", "StatefulSet"]].concat();
        for text in CAUSES.iter().chain(REFUSALS).chain(REASONS) {
            for word in pattern.find_iter(text.similar).map(|found| found.as_str()) {
                assert!(find(word).is_some() || other.contains(&word), "{}: {word} cannot be explained", text.cause);
            }
        }
    }

    #[test]
    fn the_commands_of_every_text_are_accepted() {
        for text in CAUSES.iter().chain(REFUSALS).chain(REASONS) {
            for command in text.commands.iter().filter(|command| command.starts_with("flux-operator ")) {
                let words: Vec<OsString> = command.split_whitespace().map(OsString::from).collect();
                match Cli::try_parse_from(&words) {
                    Ok(cli) => {
                        let refused = cli.command.rights(&mut Rights::new(None)).err();
                        let is_unknown = refused.is_some_and(|error| error.message().starts_with("unknown kind"));
                        assert!(!is_unknown, "{}: {command}", text.cause);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{}: {command}: {error}", text.cause)
                    }
                }
            }
        }
    }
}
