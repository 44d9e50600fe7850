//! Cache of API discovery.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;

/// Lifetime of an entry.
const REMEMBERED: Duration = Duration::from_secs(300);

/// Discovery of each group and version.
#[derive(Default)]
pub(super) struct DiscoveryCache(Mutex<HashMap<String, (Instant, Arc<APIResourceList>)>>);

impl DiscoveryCache {
    pub(super) fn get(&self, group_version: &str) -> Option<Arc<APIResourceList>> {
        let served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, list) = served.get(group_version)?;
        (when.elapsed() < REMEMBERED).then(|| list.clone())
    }

    pub(super) fn set(&self, group_version: &str, list: &Arc<APIResourceList>) {
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.insert(group_version.to_owned(), (Instant::now(), list.clone()));
    }
}
