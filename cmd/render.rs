//! How values become text: tables, and the command lines that next steps stand for.

pub mod hints;
pub mod next_step;
pub mod table;
