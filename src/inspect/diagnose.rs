//! How it stands and why: verdicts, causes, and the steps that lead out.

pub mod checks;
pub mod health;
pub mod instance;
pub mod marks;
pub mod next_step;
pub mod resources;
pub mod rollback;
pub mod status;
pub mod why;
