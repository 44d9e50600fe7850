//! Output of a command that runs for one cluster of several. It is kept, and later joined with the output of the other
//! clusters.

use std::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::output::listing::Cell;
use crate::output::table::Heading;

/// A piece of data that was printed.
#[derive(Debug)]
pub enum PrintedPiece {
    Text(String),
    /// Rows of a table, before they are laid out.
    Rows {
        headings: Vec<Heading>,
        rows: Vec<Vec<Cell>>,
    },
}

/// Output of a command for one cluster.
#[derive(Default)]
pub struct CollectedOutput(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    printed: Vec<PrintedPiece>,
    stderr_lines: Vec<String>,
    view: Option<Box<dyn Any + Send>>,
}

impl CollectedOutput {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps text for standard output.
    pub fn print(&self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let mut contents = self.contents();
        match contents.printed.last_mut() {
            Some(PrintedPiece::Text(before)) => before.push_str(&text),
            _ => contents.printed.push(PrintedPiece::Text(text.into_owned())),
        }
    }

    /// Keeps rows of a table.
    pub fn rows(&self, headings: Vec<Heading>, rows: Vec<Vec<Cell>>) {
        self.contents().printed.push(PrintedPiece::Rows { headings, rows });
    }

    /// Keeps a line for standard error.
    pub fn keep_stderr_line(&self, line: String) {
        self.contents().stderr_lines.push(line);
    }

    /// Keeps the value that the command would draw, for a view of all clusters.
    pub fn keep(&self, view: impl Any + Send) {
        self.contents().view = Some(Box::new(view));
    }

    /// Returns the view that was kept, once.
    pub fn take_view<T: Any>(&self) -> Option<T> {
        self.contents().view.take()?.downcast::<T>().ok().map(|view| *view)
    }

    /// Returns the text that was printed.
    pub fn text(&self) -> String {
        let text = |printed: &PrintedPiece| match printed {
            PrintedPiece::Text(text) => text.clone(),
            PrintedPiece::Rows { .. } => String::new(),
        };
        self.contents().printed.iter().map(text).collect()
    }

    /// Returns the printed output, once.
    pub fn take_printed(&self) -> Vec<PrintedPiece> {
        std::mem::take(&mut self.contents().printed)
    }

    /// Returns the lines for standard error, once.
    pub fn take_stderr_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.contents().stderr_lines)
    }
}
