//! Texts and their values: YAML, JSON, version ranges, Go durations, ages, image references, proxy rules, archives, ignore patterns. No network.

pub mod age;
pub(crate) mod error;
pub mod go_duration;
pub mod ignore;
pub(crate) mod image;
pub mod json;
pub mod nearest;
pub mod proxy;
pub mod tarball;
pub mod version_range;
pub mod yaml;
