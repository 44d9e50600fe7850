//! How values become text: tables, trees, explanations, and the command lines that next steps stand for.

pub mod field_text;
pub mod hints;
pub mod next_step;
pub mod page;
pub mod screen;
pub mod table;
pub mod tree;
pub mod wrap;
