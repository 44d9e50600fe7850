//! Health and its causes: verdicts, root causes and next steps.

pub mod checks;
pub mod health;
pub mod instance;
pub mod marks;
pub mod next_step;
pub mod resources;
pub mod rollback;
pub mod status;
pub mod why;
