//! The contents of a cluster: components, inventories, events, trees, and their owners.

pub mod changes;
pub mod components;
pub mod debug;
pub(crate) mod dependencies;
pub mod events;
pub(crate) mod health_checks;
pub mod impact;
pub mod inventory;
pub mod judged_objects;
pub mod logs;
pub(crate) mod managed;
pub mod missing;
pub(crate) mod operator;
pub mod resource_set;
pub mod revision;
pub mod suspended;
pub mod trace;
pub mod tree;
pub mod upgrade;
pub mod version;
