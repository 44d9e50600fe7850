//! Reports whether the process was started with its standard output closed (`>&-`).
//!
//! Rust's runtime opens `/dev/null` in place of a closed standard stream before `main` begins, so that no file opened later
//! gets its descriptor. From then on, a closed output cannot be distinguished from one that was redirected to `/dev/null`,
//! and all output is lost without an error. The check therefore runs before the runtime starts.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true when standard output was closed at the start of the process.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// An entry in the list of functions that the loader calls before `main`. The function makes one system call and one
/// atomic store, so it does not depend on Rust's runtime.
#[cfg(unix)]
#[used]
#[allow(unsafe_code, reason = "the section decides that the function runs before the runtime has started")]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static CHECK_BEFORE_MAIN: extern "C" fn() = check_stdout;

#[cfg(unix)]
extern "C" fn check_stdout() {
    // Every call on a closed descriptor fails; this one changes nothing.
    let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}
