//! Facts about Kubernetes objects: pure, without input or output, and independent of Flux.

pub mod crd_fields;
pub mod diff;
pub mod documentation;
pub mod fields;
pub mod kstatus;
pub mod label_selector;
pub mod managed_fields;
pub(crate) mod merge_keys;
pub mod names;
mod object_id;
pub mod pod_trouble;
pub mod quantity;
pub mod rbac;
mod resource_type;

pub use object_id::{InvalidInventoryId, ObjectId, split_api_version};
pub use quantity::{Quantity, is_quantity_field};
pub use resource_type::{ResourceType, storage_version};
