//! Limits of one execution.
//!
//! Templates come from tenants. A loop of 10¹² steps, a string of 10 GB or a value nested a million times must end in
//! an error, never in a killed process.

use std::cell::Cell;

/// Limits of one execution, and its interruption.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Bytes that a template may print.
    pub output_bytes: usize,
    /// Bytes that functions may create in total, counting strings and the slots of lists and maps.
    ///
    /// Each value is counted once, and freed values are not subtracted, so this also limits the memory in use.
    pub created_bytes: u64,
    /// Steps: nodes executed, rounds of loops, items visited by functions.
    pub steps: u64,
    /// Deepest chain of templates that call each other.
    pub template_depth: usize,
    /// Deepest nesting of lists and maps that is printed, compared or converted.
    pub value_depth: usize,
    /// Called regularly; `true` ends the execution. Use it for a deadline.
    pub interrupted: Option<&'a dyn Fn() -> bool>,
}

impl Default for Limits<'_> {
    /// 8 MiB of output, 128 MiB created, 10 million steps, Go's own template depth, no interruption.
    fn default() -> Self {
        Limits {
            output_bytes: 8 << 20,
            created_bytes: 128 << 20,
            steps: 10_000_000,
            // Templates call each other on the heap, so Go's limit and its message can be kept.
            template_depth: 100_000,
            value_depth: 500,
            interrupted: None,
        }
    }
}

/// Why a function returned no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionError {
    pub(crate) reason: String,
    pub(crate) is_limit: bool,
}

impl FunctionError {
    /// An error of the template.
    pub(crate) fn new(reason: impl Into<String>) -> FunctionError {
        FunctionError { reason: reason.into(), is_limit: false }
    }

    /// A limit that was reached.
    pub(crate) fn limit(reason: impl Into<String>) -> FunctionError {
        FunctionError { reason: reason.into(), is_limit: true }
    }
}

/// Counts the resources used by an execution.
pub(crate) struct Budget<'a> {
    pub(crate) limits: Limits<'a>,
    steps: Cell<u64>,
    created: Cell<u64>,
    next_question: Cell<u64>,
}

/// Steps between two calls of `interrupted`.
const STEPS_PER_QUESTION: u64 = 1024;
/// Created bytes that count as one step, so that large strings also reach `interrupted`.
const BYTES_PER_STEP: u64 = 256;

impl<'a> Budget<'a> {
    pub(crate) fn new(limits: Limits<'a>) -> Budget<'a> {
        Budget { limits, steps: Cell::new(0), created: Cell::new(0), next_question: Cell::new(STEPS_PER_QUESTION) }
    }

    /// Counts steps.
    pub(crate) fn step(&self, count: u64) -> Result<(), FunctionError> {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps);
        if steps > self.limits.steps {
            return Err(FunctionError::limit(format!("exceeded the limit of {} steps", self.limits.steps)));
        }
        if steps >= self.next_question.get() {
            self.next_question.set(steps.saturating_add(STEPS_PER_QUESTION));
            if self.limits.interrupted.is_some_and(|interrupted| interrupted()) {
                return Err(FunctionError::limit("interrupted: the template takes too long"));
            }
        }
        Ok(())
    }

    /// Returns the number of remaining steps.
    pub(crate) fn steps_left(&self) -> u64 {
        self.limits.steps.saturating_sub(self.steps.get())
    }

    /// Counts bytes before they are created.
    pub(crate) fn create(&self, bytes: usize) -> Result<(), FunctionError> {
        let created = self.created.get().saturating_add(bytes as u64);
        self.created.set(created);
        if created > self.limits.created_bytes {
            return Err(FunctionError::limit(format!(
                "exceeded the limit of {} bytes that a template may create",
                self.limits.created_bytes
            )));
        }
        self.step(bytes as u64 / BYTES_PER_STEP)
    }

    /// Counts the slots of a list or map before they are created.
    pub(crate) fn create_items(&self, count: usize) -> Result<(), FunctionError> {
        // A slot, and the allocation of a short string for it.
        self.create(count.saturating_mul(64))
    }

    /// Fails when a value is nested too deeply.
    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), FunctionError> {
        if depth > self.limits.value_depth {
            return Err(FunctionError::limit(format!(
                "the value is nested more than {} levels deep",
                self.limits.value_depth
            )));
        }
        Ok(())
    }
}

/// Bytes under construction, counted as they grow.
pub(crate) struct Bytes<'b, 'a> {
    budget: &'b Budget<'a>,
    bytes: Vec<u8>,
    counted: usize,
}

impl<'b, 'a> Bytes<'b, 'a> {
    pub(crate) fn new(budget: &'b Budget<'a>) -> Bytes<'b, 'a> {
        Bytes { budget, bytes: Vec::new(), counted: 0 }
    }

    /// Returns the buffer. [`Bytes::check`] counts appended bytes.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Counts bytes appended since the last call.
    pub(crate) fn check(&mut self) -> Result<(), FunctionError> {
        let added = self.bytes.len().saturating_sub(self.counted);
        // Counting every few bytes would cost more than writing them.
        if added >= 4096 {
            self.counted = self.bytes.len();
            self.budget.create(added)?;
        }
        Ok(())
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        self.bytes.extend_from_slice(bytes);
        self.check()
    }

    /// Counts the rest and returns everything.
    pub(crate) fn finish(self) -> Result<Vec<u8>, FunctionError> {
        self.budget.create(self.bytes.len().saturating_sub(self.counted))?;
        Ok(self.bytes)
    }
}
