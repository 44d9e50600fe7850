//! Texts and their values: YAML, JSON, version ranges, Go durations, ages, pauses, image references, proxy rules, certificates,
//! archives, ignore patterns, files that are read with a bound or written below a folder. No network.

pub mod age;
pub mod backoff;
pub mod error;
pub mod file;
pub mod go_duration;
pub mod ignore;
pub mod image;
pub mod json;
pub mod nearest;
pub mod output_folder;
pub mod proxy;
pub mod search_path;
pub mod tarball;
pub mod tls;
pub mod version_range;
pub use flux_operator_yaml as yaml;
