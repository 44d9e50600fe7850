//! How values become text: tables.

pub mod table;
