//! Where the API server serves a kind that no table knows: asked once per call, in two requests.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResource};
use kube::discovery::{ApiCapabilities, ApiResource, Discovery, Scope};

use super::{Cluster, ClusterError, Reason};
use crate::api::kinds::{self, ResourceType};

impl Cluster {
    /// Finds the kind a word means: kind, singular, plural, short name, or one of them with `.group`; in any case.
    ///
    /// Kinds of the tables cost no request. Others are looked up with everything the server serves; among equal names the
    /// core group wins, then the order of the server, as in kubectl.
    ///
    /// # Errors
    /// [`Reason::ApiMissing`] if nothing is called so.
    pub async fn find_resource_type(&self, word: &str) -> Result<ResourceType, ClusterError> {
        if let Some(found) = kinds::find_resource_type(word) {
            return Ok(found);
        }
        let attempted = format!("find the kind {word}");
        let missing = || {
            let reason = Reason::ApiMissing { endpoint: self.endpoint.clone(), api: format!("a kind called {word}") };
            ClusterError::new(attempted.clone(), self.endpoint.clone(), reason)
        };
        let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
        // Short names are only in the plain resource lists, so those are read, group by group.
        let groups: APIGroupList =
            self.client.list_api_groups().await.map_err(|e| self.explain(e, attempted.as_str(), None))?;
        let mut versions = vec![(String::new(), "v1".to_owned())];
        versions.extend(groups.groups.into_iter().filter_map(|g| {
            let version = g.preferred_version.or_else(|| g.versions.into_iter().next())?.version;
            Some((g.name, version))
        }));
        for (served, version) in versions.into_iter().filter(|(served, _)| group.is_none_or(|g| g == served)) {
            let list = if served.is_empty() {
                self.client.list_core_api_resources(&version).await
            } else {
                self.client.list_api_group_resources(&format!("{served}/{version}")).await
            };
            // An aggregated API whose server is away must not hide the others.
            let Ok(list) = list else { continue };
            if let Some(found) = list.resources.iter().find(|r| is_called(r, name)) {
                return Ok(ResourceType {
                    group: served.into(),
                    version: version.into(),
                    kind: found.kind.clone().into(),
                    plural: found.name.clone().into(),
                    namespaced: found.namespaced,
                });
            }
        }
        Err(missing())
    }

    /// Finds where a kind is served, by the group and kind an object writes; the version is the one the server prefers.
    ///
    /// # Errors
    /// [`Reason::ApiMissing`] if the server does not serve it.
    pub async fn served_resource_type(&self, group: &str, kind: &str) -> Result<ResourceType, ClusterError> {
        let attempted = format!("find the kind {kind}");
        let discovery = Discovery::new(self.client.clone()).filter(&[group]).run_aggregated().await;
        let discovery = discovery.map_err(|e| self.explain(e, attempted.as_str(), None))?;
        let found = discovery.get(group).and_then(|g| g.recommended_kind(kind));
        found.map(resource_type).ok_or_else(|| {
            let api = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
            let reason = Reason::ApiMissing { endpoint: self.endpoint.clone(), api };
            ClusterError::new(attempted, self.endpoint.clone(), reason)
        })
    }
}

fn resource_type((found, capabilities): (ApiResource, ApiCapabilities)) -> ResourceType {
    ResourceType {
        group: found.group.into(),
        version: found.version.into(),
        kind: found.kind.into(),
        plural: found.plural.into(),
        namespaced: capabilities.scope == Scope::Namespaced,
    }
}

fn is_called(resource: &APIResource, word: &str) -> bool {
    let same = |name: &str| name.eq_ignore_ascii_case(word);
    // Names with a slash are subresources.
    !resource.name.contains('/')
        && (same(&resource.name)
            || same(&resource.kind)
            || same(&resource.singular_name)
            || resource.short_names.iter().flatten().any(|s| same(s)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_answers_to_all_its_names_but_not_for_its_subresources() {
        let widget = APIResource {
            name: "widgets".into(),
            kind: "Widget".into(),
            singular_name: "widget".into(),
            short_names: Some(vec!["wd".into()]),
            ..APIResource::default()
        };
        for word in ["widgets", "Widget", "WIDGET", "wd"] {
            assert!(is_called(&widget, word), "{word}");
        }
        assert!(!is_called(&widget, "w"));
        let status = APIResource { name: "widgets/status".into(), kind: "Widget".into(), ..APIResource::default() };
        assert!(!is_called(&status, "widget"));
    }
}
