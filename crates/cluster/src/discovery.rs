//! Discovery: the version and path at which the API server serves a kind. A served group is cached for some minutes. A
//! missing one is never cached, because the next request may concern a definition that was just installed.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIGroupList, APIResource, APIResourceList};
use kube::discovery::{Discovery, Scope};

use super::call::ApiCall;
use super::{Cluster, ClusterError, Reason};
use crate::api::kinds::{self, ResourceType};
use crate::k8s::split_api_version;

impl Cluster {
    /// Finds the kind for a word: kind, singular, plural, short name, or one of them with `.group`, in any case.
    ///
    /// Kinds of the tables need no request. Others are searched in everything that the server serves; among equal names
    /// the core group wins, then the server's order, as in kubectl.
    ///
    /// # Errors
    /// [`Reason::ApiMissing`] if no kind has this name.
    pub async fn find_resource_type(&self, word: &str) -> Result<ResourceType, ClusterError> {
        if let Some(found) = kinds::find_resource_type(word) {
            return Ok(found);
        }
        let attempted = format!("find the kind {word}");
        let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
        // Only the plain resource lists have short names, so read those for each group.
        let groups = self.answer_text(ApiCall::get("/apis".to_owned())).await;
        let groups: Result<APIGroupList, _> =
            groups.and_then(|text| serde_json::from_slice(&text).map_err(kube::Error::SerdeError));
        let groups = groups.map_err(|e| self.explain_no_list(&e, attempted.clone()))?;
        let mut versions = vec![(String::new(), "v1".to_owned())];
        versions.extend(groups.groups.into_iter().filter_map(|g| {
            let version = g.preferred_version.or_else(|| g.versions.into_iter().next())?;
            Some((g.name, version.group_version))
        }));
        for (_, group_version) in versions.into_iter().filter(|(served, _)| group.is_none_or(|g| g == served)) {
            // An unavailable aggregated API must not hide the other APIs.
            if let Ok(Some(found)) = self.resource_at(&group_version, |r| is_called(r, name)).await {
                return Ok(found);
            }
        }
        Err(self.not_served(attempted, format!("a kind called {word}")))
    }

    /// Finds the path of a kind by its group and kind, in the server's preferred version.
    ///
    /// # Errors
    /// [`Reason::ApiMissing`] if the server does not serve it.
    pub async fn served_resource_type(&self, group: &str, kind: &str) -> Result<ResourceType, ClusterError> {
        let served = self.served_versions(group, kind).await?;
        served.into_iter().next().ok_or_else(|| {
            let api = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
            self.not_served(format!("find the kind {kind}"), api)
        })
    }

    /// Returns all served versions of a kind, the preferred one first; bypasses the cache.
    pub(super) async fn served_versions(&self, group: &str, kind: &str) -> Result<Vec<ResourceType>, ClusterError> {
        let discovery = Box::pin(Discovery::new(self.client.clone()).filter(&[group]).run_aggregated()).await;
        let discovery = discovery.map_err(|e| self.explain_no_list(&e, format!("find the kind {kind}")))?;
        let Some(group) = discovery.get(group) else { return Ok(vec![]) };
        let of_kind = |version: &str| {
            let all = group.versioned_resources(version).into_iter();
            all.filter(|(resource, _)| resource.kind == kind).map(|(resource, capabilities)| ResourceType {
                group: resource.group.into(),
                version: resource.version.into(),
                kind: resource.kind.into(),
                plural: resource.plural.into(),
                namespaced: capabilities.scope == Scope::Namespaced,
            })
        };
        let mut versions: Vec<&str> = group.versions().collect();
        if let Some(favourite) = versions.iter().position(|version| *version == group.preferred_version_or_latest()) {
            versions.swap(0, favourite);
        }
        Ok(versions.into_iter().flat_map(of_kind).collect())
    }

    /// Returns the newest of these versions that the server serves; `versions` are newest first. If it serves none,
    /// returns the first, so that the following request explains what is missing.
    pub async fn newest_served(&self, kind: &ResourceType, versions: &[&str]) -> Result<ResourceType, ClusterError> {
        let at = |version: &str| ResourceType { version: version.to_owned().into(), ..kind.clone() };
        // With a single version there is nothing to choose, so its first request can report that it is not served.
        if let [version, _, ..] = versions {
            for version in versions {
                let candidate = at(version);
                let found = self.resource_at(&candidate.api_version(), |r| r.name == *kind.plural).await;
                match found {
                    Ok(Some(_)) => return Ok(candidate),
                    Ok(None) => {}
                    Err(error) if error.is_api_missing() => {}
                    Err(error) => return Err(error),
                }
            }
            return Ok(at(version));
        }
        Ok(kind.clone())
    }

    /// Returns the versions of a group that the server serves, in the given order; all of them if discovery fails.
    pub async fn served_among(&self, versions: Vec<ResourceType>) -> Vec<ResourceType> {
        let Some(group) = versions.first().map(|version| version.group.clone()) else { return versions };
        let answer = async {
            let text = self.answer_text(ApiCall::get(format!("/apis/{group}"))).await?;
            serde_json::from_slice::<APIGroup>(&text).map_err(kube::Error::SerdeError)
        };
        match answer.await {
            Ok(found) => {
                let is_served =
                    |one: &ResourceType| found.versions.iter().any(|served| *one.version == *served.version);
                versions.into_iter().filter(is_served).collect()
            }
            Err(kube::Error::Api(status)) if status.code == 404 => vec![],
            Err(_) => versions,
        }
    }

    /// Finds a kind in a group and version.
    ///
    /// # Errors
    /// [`Reason::ApiMissing`] if the server does not have the version.
    pub(super) async fn resource_at(
        &self,
        group_version: &str,
        is_meant: impl Fn(&APIResource) -> bool,
    ) -> Result<Option<ResourceType>, ClusterError> {
        let list = match self.served.get(group_version) {
            Some(list) => list,
            None => {
                let root = if group_version.contains('/') { "/apis" } else { "/api" };
                let answer = async {
                    let text = self.answer_text(ApiCall::get(format!("{root}/{group_version}"))).await?;
                    serde_json::from_slice(&text).map_err(kube::Error::SerdeError)
                };
                let answer: kube::Result<APIResourceList> = answer.await;
                let attempted = format!("look up the kinds of {group_version}");
                let list = answer.map_err(|e| self.explain(&e, attempted, None).with_api(group_version))?;
                let list = Arc::new(list);
                self.served.set(group_version, &list);
                list
            }
        };
        let (group, version) = split_api_version(group_version);
        // Names with a slash are subresources.
        let found = list.resources.iter().find(|r| !r.name.contains('/') && is_meant(r));
        Ok(found.map(|found| ResourceType {
            group: group.to_owned().into(),
            version: version.to_owned().into(),
            kind: found.kind.clone().into(),
            plural: found.name.clone().into(),
            namespaced: found.namespaced,
        }))
    }

    /// Explains a failed discovery. Every API server has this list: a 404 comes from a gateway, and says nothing about
    /// any kind.
    fn explain_no_list(&self, error: &kube::Error, attempted: String) -> ClusterError {
        self.explain(error, attempted, None)
            .without_meaning("not found, although every API server lists what it serves")
    }

    pub(super) fn not_served(&self, attempted: String, api: String) -> ClusterError {
        ClusterError::new(attempted, self.endpoint.clone(), Reason::ApiMissing { endpoint: self.endpoint.clone(), api })
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
