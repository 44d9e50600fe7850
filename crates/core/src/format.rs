//! Formats and their values: YAML, JSON, version ranges, Go durations, ages, backoff, image references, proxy rules,
//! certificates, archives, ignore patterns, and bounded file access. No network.

pub mod age;
pub mod backoff;
pub mod error;
pub mod file;
pub mod glob;
pub mod go_duration;
pub mod harmless;
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
pub mod whole_file;
pub mod wrap;
pub use flux_operator_yaml as yaml;
