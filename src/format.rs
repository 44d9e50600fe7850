//! Texts and their values: YAML, version ranges, Go durations. Pure.

pub mod go_duration;
pub mod version_range;
pub mod yaml;
