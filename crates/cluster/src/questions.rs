//! Requests that are not about a single object: the server's version, permissions, names, logs.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{ApiCall, encode, object_path};
use super::retry::RepeatPermission;
use super::{Cluster, ClusterError};
use crate::api::kinds::{POD, ResourceType};

/// The part of a server-side table that holds names: in every kind, the first cell of a row is the name.
#[derive(Deserialize)]
struct NameTable {
    #[serde(default)]
    rows: Vec<NameRow>,
}

#[derive(Deserialize)]
struct NameRow {
    cells: Vec<Value>,
}

impl Cluster {
    /// Returns the answer of `/version`.
    pub async fn server_version(&self) -> Result<Value, ClusterError> {
        let answer = self.answer(ApiCall::get("/version".to_owned())).await;
        answer.map_err(|e| self.explain(&e, "read the server's version", None))
    }

    /// Whether this user has a permission; `None` as `namespace` means the whole cluster.
    pub async fn may(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Result<bool, ClusterError> {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource, "namespace": namespace}},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned();
        let answer = self.answer(ApiCall::with_body(Method::POST, path, "application/json", &review)).await;
        let answer = answer.map_err(|e| self.explain(&e, "check the user's rights", None))?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false))
    }

    /// Returns the last lines of a container's log, of the previous run if `previous`.
    ///
    /// Never retried: a log only explains a failure, and the caller has already waited for other answers.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        previous: bool,
        lines: u32,
    ) -> Result<Vec<String>, ClusterError> {
        let answer = async {
            let path = object_path(&POD, Some(namespace), pod)?;
            let container = encode(container);
            let path = format!("{path}/log?container={container}&tailLines={lines}&previous={previous}");
            let repeat = RepeatPermission { never: true, ..RepeatPermission::default() };
            self.answer_text(ApiCall { repeat, ..ApiCall::get(path) }).await
        };
        let text =
            answer.await.map_err(|e| self.explain(&e, format!("read the log of pod/{namespace}/{pod}"), None))?;
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }

    /// Returns the names of a kind for completion: one page, as a table without objects, which is a fifth of their
    /// metadata (<https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables>).
    ///
    /// # Errors
    /// As for any list.
    pub async fn names(&self, resource: &ResourceType, namespace: Option<&str>) -> Result<Vec<String>, ClusterError> {
        let path = format!("{}?limit=5000&includeObject=None", resource.path(namespace, None));
        let accept = Some("application/json;as=Table;g=meta.k8s.io;v=v1");
        let answer = async {
            let text = self.answer_text(ApiCall { accept, ..ApiCall::get(path) }).await?;
            serde_json::from_slice::<NameTable>(&text).map_err(kube::Error::SerdeError)
        };
        let attempted = || format!("list {}", resource.resource_name());
        let table = answer.await.map_err(|e| self.explain(&e, attempted(), None))?;
        let name = |row: NameRow| row.cells.first().and_then(Value::as_str).map(str::to_owned);
        Ok(table.rows.into_iter().filter_map(name).collect())
    }
}
