//! Flags, output, errors and logging, which all commands share.
//!
//! stdout carries data, stderr carries messages. Nothing here depends on a cluster.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod ascii;
pub mod collected;
mod config;
pub mod confirm;
pub mod environment;
mod error;
mod global_args;
mod hyperlinks;
mod input;
mod interrupt;
pub mod jsonpath;
pub mod lines;
pub mod logging;
mod mistakes;
pub mod output_format;
mod pager;
pub mod progress;
pub mod prompt;
pub mod standard_output;
mod topics;
pub mod usage;

use crate::output::as_started::as_started;
use crate::output::table::terminal_width;
use collected::CollectedOutput;

use ascii::in_ascii;
pub use config::{Config, Glob};
pub use error::{CliError, Exit};
use flux_operator::format::harmless::{harmless, harmless_in_colour};
pub use global_args::{Color, DurationArg, GlobalArgs, SecretArg};
pub use input::{is_stdin, name_of_input, suggested_file, unopened};
pub use interrupt::{Interruption, interrupted};
pub use mistakes::{no_existing_file, no_file};

/// After this time without output, the command prints what it is waiting for.
pub const SILENCE: Duration = Duration::from_millis(900);
/// Stack size of a thread that runs a command, which nests many futures. The main thread may have a smaller stack
/// (`ulimit -s`).
pub const STACK_BYTES: usize = 8 << 20;

/// The terminal of a command, and the flags of every command.
pub struct Shell {
    global: GlobalArgs,
    /// The command without its arguments: `get instance`.
    config: Config,
    command: String,
    structured_errors: bool,
    color: bool,
    stdout_terminal: bool,
    stderr_terminal: bool,
    /// Whether the terminal can only show ASCII.
    ascii_only: bool,
    interruption: Arc<Interruption>,
    /// The server whose answer is awaited, printed after a silence.
    awaited: Mutex<String>,
    /// Number of printed lines; the maximum means continuous progress.
    printed: AtomicUsize,
    /// The purpose for which standard input was read.
    stdin_for: OnceLock<&'static str>,
    /// The first failed write to standard output; nothing is written after it.
    lost_output: OnceLock<io::Error>,
    began: Instant,
    /// Collects all output when the command runs for one cluster of several.
    collected: Option<Arc<CollectedOutput>>,
    /// Output that a pager may show at the end.
    paged: Option<Mutex<Vec<u8>>>,
}

impl Shell {
    pub fn new(global: &GlobalArgs, config: Config, structured_errors: bool, command: impl Into<String>) -> Self {
        let stderr_terminal = io::stderr().is_terminal();
        Shell {
            // Kept apart from the flag, because the namespace of a manifest may differ from this default, but not from
            // `--namespace`.
            global: GlobalArgs { usual_namespace: config.namespace.clone(), ..global.clone() },
            config,
            command: command.into(),
            structured_errors,
            // For stderr only, because stdout may be redirected separately. `stdout_color` is for stdout.
            color: global.color.enabled(stderr_terminal),
            stdout_terminal: io::stdout().is_terminal(),
            stderr_terminal,
            ascii_only: environment::is_ascii_only(),
            interruption: Arc::default(),
            awaited: Mutex::new("the cluster".to_owned()),
            printed: AtomicUsize::new(0),
            stdin_for: OnceLock::new(),
            lost_output: OnceLock::new(),
            began: Instant::now(),
            collected: None,
            paged: None,
        }
    }

    /// Suggests the next command line after a success, if stderr is a terminal. A script has no use for a suggestion.
    pub fn suggest(&self, line: &str) {
        if self.stderr_is_terminal() {
            self.hint(&format!("continue with `{line}`"));
        }
    }

    /// Keeps the output for a pager, if the user has a pager and the command may use one. `given` are the flags of the
    /// line.
    pub fn with_pager(self, given: &[String]) -> Self {
        let has_pager = self.can_redraw() && environment::pager().is_some() && pager::fits(&self.command, given);
        Shell { paged: has_pager.then(Mutex::default), ..self }
    }

    /// Returns the shell of a command that runs for one cluster of several. It collects the output as for a pipe, but
    /// in the colours of this shell, and cannot ask questions.
    pub fn of_one_cluster(
        &self,
        global: &GlobalArgs,
        command: impl Into<String>,
        output: Arc<CollectedOutput>,
    ) -> Self {
        let color = if self.stdout_color() { Color::Always } else { Color::Never };
        let global = GlobalArgs { color, ..global.clone() };
        Shell {
            stdout_terminal: false,
            stderr_terminal: false,
            color: self.color,
            collected: Some(output),
            ..Shell::new(&global, self.config.clone(), self.structured_errors, command)
        }
    }

    /// Returns the collected output of one cluster of several; `None` for a command that prints directly.
    pub fn collected(&self) -> Option<&CollectedOutput> {
        self.collected.as_deref()
    }

    pub fn global(&self) -> &GlobalArgs {
        &self.global
    }

    /// Returns the configuration file.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the time since the command started.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether stderr must be JSON.
    pub fn has_structured_errors(&self) -> bool {
        self.structured_errors
    }

    pub fn stdout_is_terminal(&self) -> bool {
        self.stdout_terminal
    }

    /// Whether stdout can be redrawn: a `dumb` terminal gets lines, like a pipe.
    pub fn can_redraw(&self) -> bool {
        self.stdout_terminal && !environment::is_dumb()
    }

    /// Whether stderr is a terminal, so that progress may be drawn.
    pub fn stderr_is_terminal(&self) -> bool {
        self.stderr_terminal
    }

    /// Whether colour may be used on stdout.
    pub fn stdout_color(&self) -> bool {
        self.global.color.enabled(self.stdout_terminal)
    }

    /// Returns standard input for `what`, to be read completely.
    ///
    /// # Errors
    /// Usage, if it was taken before.
    pub fn stdin(&self, what: &'static str) -> Result<io::Stdin, CliError> {
        match self.stdin_for.set(what) {
            Ok(()) => Ok(io::stdin()),
            Err(what) => Err(CliError::usage("standard input can be read once only")
                .cause(format!(
                    "it is already used for {}, so it cannot be used for {what}",
                    self.stdin_for.get().copied().unwrap_or_default()
                ))
                .hint("give one of them as a file")),
        }
    }

    /// Writes data to stdout.
    ///
    /// It cannot fail, so that no print ends the work in progress: after a failed write nothing more is written, and
    /// [`Shell::exit_of`] reports the failure at the end.
    ///
    /// The text cannot control a terminal; a pipe gets every byte.
    pub fn print(&self, text: &str) {
        if self.stdout_terminal {
            self.print_bytes(self.shown(harmless(text)).as_bytes());
        } else {
            self.print_bytes(text.as_bytes());
        }
    }

    /// Like [`Shell::print`], for text that was coloured here.
    pub fn print_in_colour(&self, text: &str) {
        if self.stdout_terminal {
            self.print_bytes(self.shown(harmless_in_colour(text)).as_bytes());
        } else {
            self.print_bytes(text.as_bytes());
        }
    }

    /// Redraws the screen with coloured text: from the top, each line cleared to its end, then the rest.
    pub fn redraw(&self, text: &str) {
        self.print_bytes(over_the_screen(&self.shown(harmless_in_colour(text))).as_bytes());
    }

    /// Converts a text to characters that the terminal can show.
    fn shown<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.ascii_only { in_ascii(&text).into() } else { text }
    }

    /// Like [`Shell::print`], for bytes.
    pub fn print_bytes(&self, bytes: &[u8]) {
        if let Some(collected) = &self.collected {
            return collected.print(bytes);
        }
        if let Some(paged) = &self.paged {
            paged.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            return;
        }
        self.write_out(bytes);
    }

    fn write_out(&self, bytes: &[u8]) {
        self.note_line();
        if self.output_is_lost() {
            return;
        }
        // Links are added only on a terminal, where copied text does not include them.
        let has_links = self.stdout_color() && self.stdout_terminal && hyperlinks::are_supported();
        let text = if has_links { std::str::from_utf8(bytes).ok() } else { None };
        let linked = text.map(hyperlinks::linked);
        if let Err(error) = standard_output::write(linked.as_ref().map_or(bytes, |text| text.as_bytes())) {
            let _ = self.lost_output.set(error);
        }
    }

    /// Shows the output that was kept for the pager.
    fn show_paged(&self) {
        let Some(paged) = &self.paged else { return };
        let text = std::mem::take(&mut *paged.lock().unwrap_or_else(PoisonError::into_inner));
        if !text.is_empty() && !pager::show(&text) {
            self.write_out(&text);
        }
    }

    /// Whether a write of data failed. A command that only shows changes then has nothing left to do; every other
    /// command continues.
    pub fn output_is_lost(&self) -> bool {
        self.lost_output.get().is_some()
    }

    /// Reports a failure, and returns the exit code of the command: its own, unless a reader lost data.
    pub fn exit_of(&self, ended: Result<Exit, CliError>) -> Exit {
        // Before the check below, because this may lose output, too.
        self.show_paged();
        let lost = self.lost_output.get().and_then(standard_output::failure);
        let exit_of_lost = lost.map(|error| self.report(&error));
        match ended {
            Ok(exit) => exit_of_lost.unwrap_or(exit),
            // The command's own failure decides the exit code.
            Err(error) => self.report(&error),
        }
    }

    /// Prints a line on stderr; silent with `--quiet`. If stderr must be JSON, it prints an object per line, as do the
    /// methods below.
    pub fn status(&self, line: &str) {
        if self.global.quiet {
            return;
        }
        let line = error::without_os_code(line.to_owned());
        match self.structured_errors {
            true => self.event("status", &json!({"message": line})),
            false => self.line(&harmless(&line)),
        }
    }

    /// A warning on stderr, shown also with `--quiet`.
    pub fn warn(&self, text: &str) {
        let text = error::without_os_code(text.to_owned());
        match self.structured_errors {
            true => self.event("warning", &json!({"message": text})),
            false => self.line(&format!("{} {}", self.paint("warning:", error::YELLOW), harmless(&text))),
        }
    }

    /// A hint on stderr; silent with `--quiet`.
    pub fn hint(&self, text: &str) {
        if self.global.quiet {
            return;
        }
        match self.structured_errors {
            true => self.event("hint", &json!({"message": text})),
            false => self.line(&format!("{} {}", self.paint("hint:", error::CYAN), harmless(text))),
        }
    }

    /// A line that the command of one cluster printed, with the context of the cluster.
    pub fn relay(&self, context: &str, line: &str) {
        let event = || serde_json::from_str::<Value>(line).ok().filter(|_| self.structured_errors);
        match event() {
            Some(Value::Object(members)) => {
                let context = std::iter::once(("context".to_owned(), context.into()));
                self.line(&Value::Object(context.chain(members).collect()).to_string());
            }
            _ => self.line(&format!("{}: {line}", harmless(context))),
        }
    }

    /// Prints a line of JSON on stderr: the sort of event, and its fields.
    pub fn event(&self, sort: &str, members: &Value) {
        let mut event = json!({"type": sort});
        if let (Some(event), Some(members)) = (event.as_object_mut(), members.as_object()) {
            event.extend(members.clone());
        }
        self.line(&event.to_string());
    }

    /// Prints an error once and returns its exit code.
    pub fn report(&self, error: &CliError) -> Exit {
        if self.stderr_terminal && error.exit() == Exit::Interrupted {
            // The terminal has printed `^C`, and the cursor is behind it.
            let _ = writeln!(io::stderr().lock());
        }
        let failure = error.for_flags(&self.global);
        match &self.collected {
            Some(collected) if !error.is_silent() => {
                let text = failure.shown(self.structured_errors, self.color);
                text.lines().for_each(|line| collected.keep_stderr_line(line.to_owned()));
            }
            Some(_) => {}
            None => failure.print(self.structured_errors, self.color),
        }
        error.exit()
    }

    fn paint(&self, word: &str, style: anstyle::Style) -> String {
        if self.color { format!("{style}{word}{style:#}") } else { word.to_owned() }
    }

    // A closed stderr must not turn a finished command into a failure.
    fn line(&self, line: &str) {
        let line = as_started(line);
        if let Some(collected) = &self.collected {
            return collected.keep_stderr_line(line.into_owned());
        }
        self.note_line();
        // Only a terminal may lack UTF-8; a file keeps every character.
        let line = if self.stderr_terminal { self.shown(line) } else { line };
        stderr_line(&line);
    }

    /// Notes that a line is printed.
    fn note_line(&self) {
        // The maximum is not incremented, because it means continuous progress.
        let _ = self.printed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |printed| printed.checked_add(1));
    }

    /// Disables the message after a silence, because progress shows what is awaited and other lines would disturb it.
    pub fn disable_waiting_message(&self) {
        self.printed.store(usize::MAX, Ordering::Relaxed);
    }

    /// Sets the server that the message after [`SILENCE`] names.
    pub fn awaits(&self, what: impl Into<String>) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    /// Waits for an answer. If nothing is printed for [`SILENCE`], it prints once which answer it is waiting for. Dumps
    /// are read locally, so they need no message.
    pub async fn while_waiting<T>(&self, attempted: &str, answer: impl Future<Output = T>) -> T {
        let printed = self.printed.load(Ordering::Relaxed);
        // Progress already shows what is awaited, and only a person at a terminal needs the message.
        if printed == usize::MAX || !self.stderr_terminal || self.structured_errors {
            return answer.await;
        }
        // Boxed, because a run nests so many futures that it could overflow the stack.
        let mut answer = Box::pin(answer);
        if let Ok(answered) = tokio::time::timeout(SILENCE, &mut answer).await {
            return answered;
        }
        // If another line was printed in the meantime, there was no silence.
        if self.printed.load(Ordering::Relaxed) == printed {
            let server = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let line = format!("◎ waiting for {server} to {attempted} …");
            let fits = line.chars().count() <= terminal_width();
            self.status(&if fits { line } else { format!("◎ waiting for {server}\n  to {attempted} …") });
        }
        answer.await
    }

    /// Like [`Shell::while_waiting`], for the answer of another server, such as a registry.
    pub async fn while_waiting_for<T>(&self, server: &str, attempted: &str, answer: impl Future<Output = T>) -> T {
        let set = |server| std::mem::replace(&mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner), server);
        let usual = set(server.to_owned());
        let answered = self.while_waiting(attempted, answer).await;
        set(usual);
        answered
    }

    /// Runs until `--timeout`, which is a normal end and returns `None`.
    pub async fn until_timeout<T>(&self, look: impl Future<Output = T>) -> Option<T> {
        match &self.global.timeout {
            // The limit is that of the whole command, so the time since its start counts.
            Some(limit) => tokio::time::timeout(limit.0.saturating_sub(self.elapsed()), look).await.ok(),
            None => Some(look.await),
        }
    }

    /// Returns the message for an interrupt, which commands update as they proceed.
    pub fn interruption(&self) -> &Arc<Interruption> {
        &self.interruption
    }

    /// Like [`Shell::block_on`], but Ctrl-C, SIGTERM and SIGHUP end it with the message of [`Shell::interruption`].
    ///
    /// The future is dropped first, so that live lines are removed before the message.
    pub fn run<T>(&self, future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
        self.block_on(self.interruptible(future))?
    }

    /// Runs a part of a command that an interrupt ends at once.
    pub async fn interruptible<T>(&self, future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
        let ended = {
            // Boxed, because a run nests so many futures that it could overflow the stack.
            let future = Box::pin(future);
            tokio::select! {
                // In this order the signal handlers are installed before the work begins.
                biased;
                () = self.interruption.received() => None,
                result = future => Some(result),
            }
        };
        ended.unwrap_or_else(|| Err(self.interruption.error()))
    }

    /// Runs a future on a new runtime, so that commands without a cluster need none.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> Result<T, CliError> {
        drive(&mut self.runtime(), future)
    }

    /// Returns the builder of a runtime: with one thread for one cluster of several, because the other clusters have
    /// threads of their own.
    fn runtime(&self) -> tokio::runtime::Builder {
        if self.collected.is_some() { tokio::runtime::Builder::new_current_thread() } else { runtime() }
    }
}

fn runtime() -> tokio::runtime::Builder {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2);
    runtime
}

/// Drives a future to its end.
fn drive<T>(runtime: &mut tokio::runtime::Builder, future: impl Future<Output = T>) -> Result<T, CliError> {
    let cannot_start = || {
        let error = CliError::failed("cannot start the async runtime");
        error.hint("raise the limits of this process: `ulimit -n` for open files, `ulimit -u` for threads")
    };
    unless_exhausted(|| {
        let runtime = runtime.enable_all().build().map_err(|e| cannot_start().caused_by(&e))?;
        let result = runtime.block_on(Box::pin(future));
        // Do not wait for blocking tasks (a name look-up that hangs) after the answer is known.
        runtime.shutdown_background();
        Ok(result)
    })
    .unwrap_or_else(|problem| Err(cannot_start().cause(problem)))
}

/// tokio's panic texts if the system gives it no more threads or open files. tokio returns no error for these.
const EXHAUSTED: [&str; 2] = ["OS can't spawn worker thread", "failed to create UnixStream"];

fn exhaustion(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    text.filter(|text| EXHAUSTED.iter().any(|start| text.starts_with(start)))
}

/// Runs `work`; the error is tokio's text if the system gave it no thread or file. Other panics continue.
fn unless_exhausted<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Once per process, because with several clusters every command calls this function, and each call would wrap the
    // hook again.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if exhaustion(panic.payload()).is_none() {
                usual(panic);
            }
        }));
    });
    // The command ends after such a panic, so nothing uses state that it left half-changed.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match exhaustion(&*payload) {
        Some(text) => text.to_owned(),
        None => panic::resume_unwind(payload),
    })
}

fn over_the_screen(text: &str) -> String {
    format!("\u{1b}[H{}\u{1b}[J", text.replace('\n', "\u{1b}[K\n"))
}

/// Whether errors must be JSON: read from the raw arguments, so that usage errors follow it too; without a flag
/// `default` is the requested output.
pub fn wants_structured_errors(arguments: &[OsString], default: Option<&str>) -> bool {
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).take_while(|a| a != "--").collect();
    let follows = |flags: &[&str]| {
        words.iter().enumerate().find_map(|(i, word)| {
            flags.iter().find_map(|flag| {
                // `-ojson` and `-o=json`, but a long flag has its value behind `=`.
                let attached = word.strip_prefix(flag).filter(|_| !flag.starts_with("--") || word.contains('='));
                let attached = attached.map(|value| value.trim_start_matches('=')).filter(|value| !value.is_empty());
                let next = || words.get(i + 1).filter(|_| word == flag).map(|next| next.as_ref());
                attached.or_else(next).map(str::to_owned)
            })
        })
    };
    follows(&["-o", "--output"]).as_deref().or(default).is_some_and(|format| matches!(format, "json" | "jsonl"))
        || follows(&["--progress"]).as_deref() == Some("json")
}

#[cfg(test)]
impl Shell {
    /// A shell for these flags.
    pub fn of_flags(flags: &[&str]) -> Shell {
        #[derive(clap::Parser)]
        struct ColorFlags {
            #[command(flatten)]
            global: GlobalArgs,
        }
        let line = ["flux-operator"].iter().chain(flags);
        let ColorFlags { global } = <ColorFlags as clap::Parser>::try_parse_from(line).expect("known flags");
        Shell::new(&global, Config::default(), false, "test")
    }
}

/// Writes a line to stderr with a single write, so that other programs with the same stderr cannot split it. A closed
/// stderr must not turn a finished command into a failure.
pub fn stderr_line(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_threads_is_an_error_and_other_panics_continue() {
        // No system can allocate such a stack, so the thread cannot be created.
        const STACK: usize = 1 << 46;
        let failure = |result: Result<(), CliError>| format!("{:?}", result.err());
        let at_the_start = drive(runtime().thread_stack_size(STACK), async {});
        assert!(failure(at_the_start).contains("OS can't spawn worker thread"));
        let one_thread = &mut tokio::runtime::Builder::new_current_thread();
        let later = drive(one_thread.thread_stack_size(STACK), async { drop(tokio::task::spawn_blocking(|| ())) });
        assert!(failure(later).contains("OS can't spawn worker thread"));
        let mistake = std::panic::catch_unwind(|| drive(&mut runtime(), async { panic!("a mistake") }));
        assert_eq!(mistake.err().and_then(|payload| payload.downcast_ref::<&str>().copied()), Some("a mistake"));
    }

    #[test]
    fn a_flag_or_else_the_default_requests_json() {
        let wants = |line: &str, default| {
            wants_structured_errors(&line.split(' ').map(OsString::from).collect::<Vec<_>>(), default)
        };
        for line in [
            "get -o json",
            "get -ojson",
            "get -o=json",
            "get --output=json",
            "get --output json",
            "apply --progress=json",
        ] {
            assert!(wants(line, None), "{line}");
        }
        for line in ["get", "get -o yaml", "get -- -o json", "get -o"] {
            assert!(!wants(line, None), "{line}");
        }
        assert!(wants("get ks", Some("json")));
        assert!(!wants("get ks -o table", Some("json")));
    }

    #[test]
    fn redrawing_clears_the_rest_of_the_previous_screen() {
        assert_eq!(over_the_screen("ab\nc\n"), "\u{1b}[Hab\u{1b}[K\nc\u{1b}[K\n\u{1b}[J");
    }
}
