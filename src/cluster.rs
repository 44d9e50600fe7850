//! The only module that talks to the API server.
//!
//! ```text
//! flags, KUBECONFIG, proxy variables (values, read by the caller)
//!        -> connect -> Cluster { client, endpoint, namespace }
//!                        every request about objects              objects, requests
//!                        every call: one limit, few retries       retry
//!                        every failure: what it means, what next  diagnose -> error
//! ```
//! It knows no commands, prints nothing and reads no environment.

mod connect;
mod credential_plugin;
mod diagnose;
mod discovery;
mod error;
pub mod events;
mod http_client;
pub mod kubeconfig;
pub mod lease;
mod objects;
mod questions;
pub mod requests;
mod retry;
mod streamed_body;
mod transport;
pub mod watch;

pub use connect::{Cluster, ConnectOptions, DEFAULT_REQUEST_TIMEOUT, InCluster, connect};
pub use credential_plugin::PluginTerminal;
pub use error::{Access, Category, ClusterError, Endpoint, FieldConflict, Reason};
pub use events::post_notification;
pub use kubeconfig::{KubeconfigSource, Overrides};
pub use objects::{ApplyOptions, DeleteOptions, List, ListOptions, Outcome};
pub use retry::{Retry, RetryObserver, after};
pub use streamed_body::Pieces;
