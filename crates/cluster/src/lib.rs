//! The only crate that talks to the API server.
//!
//! ```text
//! flags, KUBECONFIG, proxy variables (values, read by the caller)
//!        -> connect -> Cluster { client, endpoint, namespace }
//!                        every request about objects              objects, list, watch
//!                        every call: one limit, few retries       retry
//!                        every failure: what it means, what next  diagnose -> error
//! ```
//! The crate does not depend on the command line, does not print, and does not read the environment.
#![warn(unreachable_pub)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

use flux_operator_core::{api, format, k8s};

mod authorization;
mod call;
mod connect;
mod credential_plugin;
mod diagnose;
mod discovery;
mod error;
pub mod events;
mod http_client;
pub mod kubeconfig;
pub mod lease;
mod lease_guard;
mod list;
mod logs;
mod objects;
mod questions;
mod retry;
mod served;
mod streamed_body;
mod transport;
pub mod watch;

pub use connect::{Cluster, ConnectOptions, InCluster, connect, contexts_with_servers};
pub use credential_plugin::{PluginRuns, PluginTerminal};
pub use error::{Category, ClusterError, DeniedAccess, Endpoint, FieldConflict, Reason, ServerAnswer};
pub use events::post_notification;
pub use kubeconfig::{KubeconfigSource, Overrides};
pub use list::{ListOptions, ObjectList};
pub use logs::{LogOptions, LogStream};
pub use objects::{ApplyResult, DeleteOptions, Propagation, WriteOptions};
pub use retry::{RequestObserver, Retry, RetryObserver, WriteObserver, after};
pub use streamed_body::Pieces;
