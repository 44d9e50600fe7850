#!/bin/sh
# Writes a kustomize folder that stands for the default instance of a Flux version, for comparisons.
#
# usage: equivalent-folder.sh FLUX_OPERATOR VERSION DIR
#
# The manifests are those of `distribution export`; the kustomization says in kustomize's words what `build instance` does.
set -eu
binary=$1 version=$2 dir=$3

"$binary" --quiet distribution export --version "$version" "$dir/exported" >/dev/null
mkdir -p "$dir/roles"
cp "$dir/exported/flux/v$version/"*.yaml "$dir/"
mv "$dir/rbac.yaml" "$dir/roles/"

cat >"$dir/namespace.yaml" <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: flux-system
  labels:
    pod-security.kubernetes.io/warn: restricted
    pod-security.kubernetes.io/warn-version: latest
  annotations:
    fluxcd.controlplane.io/prune: disabled
YAML

cat >"$dir/roles/kustomization.yaml" <<YAML
namespace: flux-system
nameSuffix: -flux-system
resources: [rbac.yaml]
patches:
- target: {kind: ClusterRole, name: crd-controller}
  patch: |
    - op: test
      path: /rules/11/resources/0
      value: serviceaccounts/token
    - op: remove
      path: /rules/11
YAML

{
    cat <<YAML
namespace: flux-system
resources:
- namespace.yaml
- policies.yaml
- roles
- source-controller.yaml
- kustomize-controller.yaml
- helm-controller.yaml
- notification-controller.yaml
patches:
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: all}
    spec:
      template:
        spec:
          nodeSelector: {kubernetes.io/os: linux}
- target: {kind: Deployment, name: notification-controller}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/args/0, value: --watch-all-namespaces=true}
    - {op: replace, path: /spec/template/spec/containers/0/args/1, value: --log-level=info}
- target: {kind: Deployment, name: (source|kustomize|helm)-controller}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/args/0, value: "--events-addr=http://notification-controller.flux-system.svc.cluster.local./"}
    - {op: replace, path: /spec/template/spec/containers/0/args/1, value: --watch-all-namespaces=true}
    - {op: replace, path: /spec/template/spec/containers/0/args/2, value: --log-level=info}
- target: {kind: Deployment, name: source-controller}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/args/6, value: "--storage-adv-addr=source-controller.\$(RUNTIME_NAMESPACE).svc.cluster.local."}
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: all}
    spec:
      template:
        metadata:
          labels: {app.kubernetes.io/part-of: flux}
          annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}
- target: {kind: CustomResourceDefinition, name: alerts.notification.toolkit.fluxcd.io}
  patch: |
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/eventSources/items/properties/kind/enum/-, value: FluxInstance}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/eventSources/items/properties/kind/enum/-, value: ResourceSet}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/eventSources/items/properties/kind/enum/-, value: ResourceSetInputProvider}
- target: {kind: CustomResourceDefinition, name: receivers.notification.toolkit.fluxcd.io}
  patch: |
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/resources/items/properties/kind/enum/-, value: FluxInstance}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/resources/items/properties/kind/enum/-, value: ResourceSet}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/resources/items/properties/kind/enum/-, value: ResourceSetInputProvider}
- target: {kind: ClusterRole, name: crd-controller-flux-system}
  patch: |
    - {op: add, path: /rules/-, value: {apiGroups: [fluxcd.controlplane.io], resources: ["*"], verbs: ["*"]}}
- target: {kind: Deployment}
  patch: |
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --feature-gates=ObjectLevelWorkloadIdentity=false}
images:
YAML
    "$binary" distribution images --version "$version" --registry ghcr.io/fluxcd -o name |
        sed -n 's|^ghcr.io/fluxcd/\([^:]*\):\([^@]*\)@\(.*\)$|- {name: fluxcd/\1, newName: ghcr.io/fluxcd/\1, newTag: \2, digest: "\3"}|p'
    cat <<YAML
transformers: [annotations.yaml, labels.yaml]
YAML
} >"$dir/kustomization.yaml"

cat >"$dir/annotations.yaml" <<YAML
apiVersion: builtin
kind: AnnotationsTransformer
metadata: {name: annotations}
annotations:
  kustomize.toolkit.fluxcd.io/ssa: Ignore
  kustomize.toolkit.fluxcd.io/prune: Disabled
fieldSpecs: [{path: metadata/annotations, create: true}]
YAML
cat >"$dir/labels.yaml" <<YAML
apiVersion: builtin
kind: LabelTransformer
metadata: {name: labels}
labels:
  app.kubernetes.io/managed-by: flux-operator
  app.kubernetes.io/instance: flux-system
  app.kubernetes.io/version: v$version
  app.kubernetes.io/part-of: flux
fieldSpecs: [{path: metadata/labels, create: true}]
YAML
