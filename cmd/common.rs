//! What the commands share that name objects, write to them and wait for them: the edge between the terminal and the
//! library's requests.

pub mod args;
pub mod complete;
pub mod connect;
pub mod desired;
mod follow;
mod impact;
pub mod instance_args;
mod inventory;
pub mod lines;
pub mod list;
pub mod manifest_file;
pub mod manifest_files;
pub mod operator;
pub mod read_source;
pub mod registries;
pub mod rehearsal;
mod request;
pub mod run_in_process;
pub mod saved_plan;
mod session;
mod target;
pub mod watch;

pub use follow::{
    Followed, all_or_error, follow_sent, request_and_follow, state_of, suspended, uid_of, until_created, until_gone,
    until_ready, watch,
};
pub use impact::impact_text;
pub use inventory::inventory_counts;
pub use request::{CONCURRENT, RequestKind, request_deletion, send};
pub use session::{HINT_LIMIT, Session};
pub use target::{Target, instance_kind};
