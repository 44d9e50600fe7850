//! The kinds of the `fluxcd.controlplane.io` group as types, and every name of the API.
//!
//! Pure: values in, values out; no client, no clock.

mod checked;
mod components;
pub mod conditions;
pub mod crd;
pub mod field_managers;
pub mod flux_instance;
mod flux_report;
pub mod history;
mod input_provider;
pub mod inventory;
pub mod kinds;
pub mod lease;
pub mod manifest;
pub mod object_words;
pub mod operator;
mod owner;
mod reconciled;
mod resource_set;
mod rules;
mod settings;
pub mod takeover;
pub mod well_known;

pub use checked::{CheckedInstance, InvalidInstance, Problem};
pub use components::{CONTAINER, Component, UnknownName, Variant, own_container};
pub use flux_instance::*;
pub use flux_report::*;
pub use input_provider::*;
pub use owner::{InventoryOwner, OwnerKind};
pub use reconciled::{Reconciled, RunStatus};
pub use resource_set::*;
pub use rules::FieldPath;
