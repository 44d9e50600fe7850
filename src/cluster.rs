//! The only module that talks to the API server.
//!
//! ```text
//! flags, KUBECONFIG, proxy variables (values, read by the caller)
//!        -> connect -> Cluster { client, endpoint, namespace }
//!                        every call: one limit, few retries      call
//!                        every failure: what it means, what next  error
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
pub mod requests;
mod retry;
mod streamed_body;
pub mod watch;

pub use connect::{Cluster, ConnectOptions, DEFAULT_REQUEST_TIMEOUT, InCluster, connect};
pub use credential_plugin::PluginTerminal;
pub use error::{Access, Category, ClusterError, Endpoint, FieldConflict, Reason};
pub use kubeconfig::{KubeconfigSource, Overrides};
pub use objects::{ApplyOptions, ListOptions, Outcome};
pub use retry::{Retry, RetryObserver, after};
pub use streamed_body::Pieces;
