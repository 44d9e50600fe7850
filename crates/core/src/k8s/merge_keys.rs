//! Lists of Kubernetes' own kinds that merge by key.
//!
//! The source is the `x-kubernetes-patch-strategy` and `x-kubernetes-list-map-keys` entries of the Kubernetes OpenAPI
//! schema (checked with the one built into kustomize 5.5), limited to fields of the desired state. All other lists, and
//! every list of a custom resource, are replaced as a whole.

/// How a patch changes a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Replaced by the patch's list.
    Atomic,
    /// A union of scalars.
    Set,
    /// Items are identified by these fields; the first one is required.
    Keyed(&'static [&'static str]),
}

/// The known fields of a mapping or of a list's items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema {
    fields: &'static [(&'static str, MergeField)],
}

#[derive(Clone, Copy, Debug)]
enum MergeField {
    Mapping(Schema),
    List(ListKind, Schema),
}

/// No known fields: mappings merge, lists are replaced.
pub(crate) const UNTYPED: Schema = Schema { fields: &[] };

const fn keyed(keys: &'static [&'static str], items: Schema) -> MergeField {
    MergeField::List(ListKind::Keyed(keys), items)
}

const OBJECT_META: Schema = Schema {
    fields: &[("finalizers", MergeField::List(ListKind::Set, UNTYPED)), ("ownerReferences", keyed(&["uid"], UNTYPED))],
};

const CONTAINER: Schema = Schema {
    fields: &[
        ("env", keyed(&["name"], UNTYPED)),
        ("ports", keyed(&["containerPort", "protocol"], UNTYPED)),
        ("volumeMounts", keyed(&["mountPath"], UNTYPED)),
        ("volumeDevices", keyed(&["devicePath"], UNTYPED)),
    ],
};

const POD_SPEC: Schema = Schema {
    fields: &[
        ("containers", keyed(&["name"], CONTAINER)),
        ("initContainers", keyed(&["name"], CONTAINER)),
        ("ephemeralContainers", keyed(&["name"], CONTAINER)),
        ("volumes", keyed(&["name"], UNTYPED)),
        ("imagePullSecrets", keyed(&["name"], UNTYPED)),
        ("hostAliases", keyed(&["ip"], UNTYPED)),
        ("topologySpreadConstraints", keyed(&["topologyKey", "whenUnsatisfiable"], UNTYPED)),
    ],
};

const POD_TEMPLATE: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("spec", MergeField::Mapping(POD_SPEC))] };

const WORKLOAD_SPEC: Schema = Schema { fields: &[("template", MergeField::Mapping(POD_TEMPLATE))] };

const WORKLOAD: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("spec", MergeField::Mapping(WORKLOAD_SPEC))] };

const JOB_TEMPLATE: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("spec", MergeField::Mapping(WORKLOAD_SPEC))] };

const CRON_JOB_SPEC: Schema = Schema { fields: &[("jobTemplate", MergeField::Mapping(JOB_TEMPLATE))] };

const CRON_JOB: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("spec", MergeField::Mapping(CRON_JOB_SPEC))] };

const SERVICE_SPEC: Schema = Schema { fields: &[("ports", keyed(&["port", "protocol"], UNTYPED))] };

const SERVICE: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("spec", MergeField::Mapping(SERVICE_SPEC))] };

const SERVICE_ACCOUNT: Schema =
    Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META)), ("secrets", keyed(&["name"], UNTYPED))] };

const PLAIN: Schema = Schema { fields: &[("metadata", MergeField::Mapping(OBJECT_META))] };

/// API groups that are compiled into Kubernetes, without the core group.
const BUILT_IN_GROUPS: [&str; 17] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// The schema of a whole object.
pub(crate) fn of(group: &str, kind: &str) -> Schema {
    match (group, kind) {
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => WORKLOAD,
        ("batch", "CronJob") => CRON_JOB,
        ("", "Pod") => POD_TEMPLATE,
        ("", "PodTemplate") => WORKLOAD_SPEC,
        ("", "ReplicationController") => WORKLOAD,
        ("", "Service") => SERVICE,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        ("", _) => PLAIN,
        _ if BUILT_IN_GROUPS.contains(&group) => PLAIN,
        _ => UNTYPED,
    }
}

impl Schema {
    /// The schema of a field that holds a mapping.
    pub(crate) fn mapping(self, field: &str) -> Schema {
        match self.field(field) {
            Some(MergeField::Mapping(schema)) => schema,
            Some(MergeField::List(..)) | None => UNTYPED,
        }
    }

    /// How a field that holds a list merges, and the schema of its items.
    pub(crate) fn list(self, field: &str) -> (ListKind, Schema) {
        match self.field(field) {
            Some(MergeField::List(kind, items)) => (kind, items),
            Some(MergeField::Mapping(_)) | None => (ListKind::Atomic, UNTYPED),
        }
    }

    fn field(self, name: &str) -> Option<MergeField> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, schema)| *schema)
    }
}
