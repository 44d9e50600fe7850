//! Facts about Kubernetes objects: pure, no input or output, nothing about Flux.

pub mod crd_fields;
pub mod kstatus;
pub mod label_selector;
pub mod pod_trouble;
