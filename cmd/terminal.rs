//! What every command shares at the terminal: flags, output, errors, logging.
//!
//! stdout carries data, stderr carries talk. Nothing here knows a cluster.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod config;
pub mod confirm;
pub mod environment;
mod error;
mod global_args;
mod harmless;
mod input;
mod interrupt;
pub mod jsonpath;
pub mod lines;
pub mod logging;
mod mistakes;
pub mod output_format;
pub mod progress;
pub mod prompt;
pub mod standard_output;
pub mod usage;

use crate::output::as_started::as_started;

pub use config::Config;
pub use error::{CliError, Exit};
pub use global_args::{Color, DurationArg, GlobalArgs, SecretArg};
pub use harmless::harmless;
use harmless::{harmless_in_colour, in_ascii};
pub use input::{is_stdin, name_of_input};
pub use interrupt::{Interruption, interrupted};
pub use mistakes::no_file;

/// A person who hears nothing for longer wonders.
pub const SILENCE: Duration = Duration::from_millis(900);

/// The terminal a command talks to, and the flags every command knows.
pub struct Shell {
    global: GlobalArgs,
    /// `get instance`: what was asked for, without arguments.
    config: Config,
    command: String,
    structured_errors: bool,
    color: bool,
    stdout_terminal: bool,
    stderr_terminal: bool,
    /// Terminals show nothing else.
    ascii_only: bool,
    interruption: Arc<Interruption>,
    /// What is waited for when nothing has been said for a while.
    awaited: Mutex<String>,
    /// How often something has been said; the highest number stands for progress that goes on.
    said: AtomicUsize,
    /// What standard input was read for.
    stdin_for: OnceLock<&'static str>,
    /// The first write to standard output that failed; nothing is written after it.
    lost_output: OnceLock<io::Error>,
    began: Instant,
}

impl Shell {
    pub fn new(global: &GlobalArgs, config: Config, structured_errors: bool, command: impl Into<String>) -> Self {
        let stderr_terminal = io::stderr().is_terminal();
        Shell {
            global: GlobalArgs { usual_namespace: config.namespace.clone(), ..global.clone() },
            config,
            command: command.into(),
            structured_errors,
            color: global.color.enabled(stderr_terminal),
            stdout_terminal: io::stdout().is_terminal(),
            stderr_terminal,
            ascii_only: environment::is_ascii_only(),
            interruption: Arc::default(),
            awaited: Mutex::new("the cluster".to_owned()),
            said: AtomicUsize::new(0),
            stdin_for: OnceLock::new(),
            lost_output: OnceLock::new(),
            began: Instant::now(),
        }
    }

    pub fn global(&self) -> &GlobalArgs {
        &self.global
    }

    /// What the configuration file says.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How long the command has been at work.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether who reads stderr expects JSON.
    pub fn has_structured_errors(&self) -> bool {
        self.structured_errors
    }

    pub fn stdout_is_terminal(&self) -> bool {
        self.stdout_terminal
    }

    /// Whether what stands on stdout can be drawn over: a `dumb` terminal gets lines, as a pipe does.
    pub fn can_redraw(&self) -> bool {
        self.stdout_terminal && !environment::is_dumb()
    }

    /// Progress may be drawn only when this is true.
    pub fn stderr_is_terminal(&self) -> bool {
        self.stderr_terminal
    }

    /// Whether colour may be used on stdout.
    pub fn stdout_color(&self) -> bool {
        self.global.color.enabled(self.stdout_terminal)
    }

    /// Standard input, for `what`: whoever reads it reads all of it.
    ///
    /// # Errors
    /// Usage, when it was taken before.
    pub fn stdin(&self, what: &'static str) -> Result<io::Stdin, CliError> {
        match self.stdin_for.set(what) {
            Ok(()) => Ok(io::stdin()),
            Err(what) => Err(CliError::usage("standard input can be read once only")
                .cause(format!(
                    "{} comes from it, and so would {what}",
                    self.stdin_for.get().copied().unwrap_or_default()
                ))
                .hint("give one of them as a file")),
        }
    }

    /// Writes data to stdout.
    ///
    /// It cannot fail, so that no print in the middle of work can end the work: after a write that failed nothing more is
    /// written, and [`Shell::exit_of`] reports it when the command is done.
    ///
    /// On a terminal nothing in the text can steer the terminal; a pipe gets every byte.
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

    /// Draws coloured text over what was on the screen: from its top, each line cleared to its end, then the rest.
    pub fn redraw(&self, text: &str) {
        self.print_bytes(over_the_screen(&self.shown(harmless_in_colour(text))).as_bytes());
    }

    /// The text as a terminal can show it.
    fn shown<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.ascii_only { in_ascii(&text).into() } else { text }
    }

    /// Like [`Shell::print`], for bytes.
    pub fn print_bytes(&self, bytes: &[u8]) {
        self.speaks();
        if self.output_is_lost() {
            return;
        }
        if let Err(error) = standard_output::write(bytes) {
            let _ = self.lost_output.set(error);
        }
    }

    /// Reports whether nothing that is printed arrives any more. A command that only shows changes as they come has nothing left to
    /// do then; every other command goes on.
    pub fn output_is_lost(&self) -> bool {
        self.lost_output.get().is_some()
    }

    /// Reports what failed, and returns the exit code of the command: its own, unless data was lost that somebody waits for.
    pub fn exit_of(&self, ended: Result<Exit, CliError>) -> Exit {
        let lost = self.lost_output.get().and_then(standard_output::failure);
        let exit_of_lost = lost.map(|error| self.report(&error));
        match ended {
            Ok(exit) => exit_of_lost.unwrap_or(exit),
            Err(error) => self.report(&error),
        }
    }

    /// One line of talk on stderr; silent with `--quiet`. Who expects JSON there gets an object a line, as of everything below.
    pub fn status(&self, line: &str) {
        if self.global.quiet {
            return;
        }
        match self.structured_errors {
            true => self.event("status", &json!({"message": line})),
            false => self.line(&harmless(line)),
        }
    }

    /// A warning on stderr, shown also with `--quiet`.
    pub fn warn(&self, text: &str) {
        match self.structured_errors {
            true => self.event("warning", &json!({"message": text})),
            false => self.line(&format!("{} {}", self.paint("warning:", error::YELLOW), harmless(text))),
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

    /// One line of JSON on stderr: what sort of event it is, and its members.
    pub fn event(&self, sort: &str, members: &Value) {
        let mut event = json!({"type": sort});
        if let (Some(event), Some(members)) = (event.as_object_mut(), members.as_object()) {
            event.extend(members.clone());
        }
        self.line(&event.to_string());
    }

    /// Prints an error once and returns the exit code it stands for.
    pub fn report(&self, error: &CliError) -> Exit {
        if self.stderr_terminal && error.exit() == Exit::Interrupted {
            // The terminal has written `^C`, and the cursor stands behind it.
            let _ = writeln!(io::stderr().lock());
        }
        error.print_for(self.structured_errors, self.color, &self.global);
        error.exit()
    }

    fn paint(&self, word: &str, style: anstyle::Style) -> String {
        if self.color { format!("{style}{word}{style:#}") } else { word.to_owned() }
    }

    // A closed stderr must not turn a finished command into a failure.
    fn line(&self, line: &str) {
        self.speaks();
        let line = as_started(line);
        let line = if self.stderr_terminal { self.shown(line) } else { line };
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Something is being said.
    fn speaks(&self) {
        // Not beyond the mark of progress.
        let _ = self.said.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |said| said.checked_add(1));
    }

    /// From now on progress says what is waited for; a line in between would disturb its picture.
    pub fn has_progress(&self) {
        self.said.store(usize::MAX, Ordering::Relaxed);
    }

    /// What a person is told to wait for when nothing is said for a second.
    pub fn awaits(&self, what: impl Into<String>) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = what.into();
    }

    /// Waits for an answer, and says once what for when nothing has been said for a second. Who reads a file needs no company.
    pub async fn while_waiting<T>(&self, attempted: &str, answer: impl Future<Output = T>) -> T {
        let said = self.said.load(Ordering::Relaxed);
        if said == usize::MAX || !self.stderr_terminal || self.structured_errors {
            return answer.await;
        }
        // On the heap: a run is deep enough to fill the stack otherwise.
        let mut answer = Box::pin(answer);
        if let Ok(answered) = tokio::time::timeout(SILENCE, &mut answer).await {
            return answered;
        }
        if self.said.load(Ordering::Relaxed) == said {
            let whom = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.status(&format!("◎ waiting for {whom} to {attempted} …"));
        }
        answer.await
    }

    /// The same for an answer of somebody else than the one that is waited for otherwise: of a registry.
    pub async fn while_waiting_for<T>(&self, whom: &str, attempted: &str, answer: impl Future<Output = T>) -> T {
        let set = |whom| std::mem::replace(&mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner), whom);
        let usual = set(whom.to_owned());
        let answered = self.while_waiting(attempted, answer).await;
        set(usual);
        answered
    }

    /// Looks on; `None` when `--timeout` is over, which is the end that was asked for.
    pub async fn while_wanted<T>(&self, look: impl Future<Output = T>) -> Option<T> {
        match &self.global.timeout {
            Some(limit) => tokio::time::timeout(limit.0.saturating_sub(self.elapsed()), look).await.ok(),
            None => Some(look.await),
        }
    }

    /// What an interrupt says; commands set it as they go.
    pub fn interruption(&self) -> &Arc<Interruption> {
        &self.interruption
    }

    /// Like [`Shell::block_on`], but Ctrl-C and SIGTERM end it with what [`Shell::interruption`] says.
    ///
    /// The future is dropped first, so that live lines are off the terminal when the message comes.
    pub fn run<T>(&self, future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
        self.block_on(self.interruptible(future))?
    }

    /// The part of a command that an interrupt ends at once.
    pub async fn interruptible<T>(&self, future: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
        let ended = {
            // On the heap: a run is deep enough to fill the stack otherwise.
            let future = Box::pin(future);
            tokio::select! {
                biased;
                () = self.interruption.heard() => None,
                result = future => Some(result),
            }
        };
        ended.unwrap_or_else(|| Err(self.interruption.error()))
    }

    /// Runs a future on a runtime made for this call; commands without a cluster never pay for one.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> Result<T, CliError> {
        drive(&mut runtime(), future)
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

/// What tokio says when it panics because the system gives it no more threads, or no more open files. It has no error for them.
const EXHAUSTED: [&str; 2] = ["OS can't spawn worker thread", "failed to create UnixStream"];

fn exhaustion(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<String>().map(String::as_str).or_else(|| payload.downcast_ref::<&str>().copied());
    text.filter(|text| EXHAUSTED.iter().any(|start| text.starts_with(start)))
}

/// Runs `work`; the error is tokio's sentence if the system gave it no thread or no file. Every other panic goes on.
fn unless_exhausted<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if exhaustion(panic.payload()).is_none() {
                usual(panic);
            }
        }));
    });
    // What the work has changed is not used after a panic: the command ends.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match exhaustion(&*payload) {
        Some(text) => text.to_owned(),
        None => panic::resume_unwind(payload),
    })
}

fn over_the_screen(text: &str) -> String {
    format!("\u{1b}[H{}\u{1b}[J", text.replace('\n', "\u{1b}[K\n"))
}

/// Whether errors are wanted as JSON: read from the raw arguments, so that usage errors honour it as well; without a flag
/// `default` is the output that is asked for.
pub fn wants_structured_errors(arguments: &[OsString], default: Option<&str>) -> bool {
    let words: Vec<_> = arguments.iter().map(|a| a.to_string_lossy()).take_while(|a| a != "--").collect();
    let follows = |flags: &[&str]| {
        words.iter().enumerate().find_map(|(i, word)| {
            flags.iter().find_map(|flag| {
                let attached = word.strip_prefix(flag).filter(|_| !flag.starts_with("--") || word.contains('='));
                let attached = attached.map(|value| value.trim_start_matches('=')).filter(|value| !value.is_empty());
                let next = || words.get(i + 1).filter(|_| word == flag).map(|next| next.as_ref());
                attached.or_else(next).map(str::to_owned)
            })
        })
    };
    follows(&["-o", "--output"]).as_deref().or(default) == Some("json")
        || follows(&["--progress"]).as_deref() == Some("json")
}

#[cfg(test)]
impl Shell {
    /// As a command line with these flags has it.
    pub fn of_flags(flags: &[&str]) -> Shell {
        #[derive(clap::Parser)]
        struct Flags {
            #[command(flatten)]
            global: GlobalArgs,
        }
        let line = ["flux-operator"].iter().chain(flags);
        let Flags { global } = <Flags as clap::Parser>::try_parse_from(line).expect("known flags");
        Shell::new(&global, Config::default(), false, "test")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_threads_is_an_error_and_other_panics_go_on() {
        // No system has room for a stack like this, so the thread cannot be made.
        const STACK: usize = 1 << 46;
        let told = |result: Result<(), CliError>| format!("{:?}", result.err());
        let at_the_start = drive(runtime().thread_stack_size(STACK), async {});
        assert!(told(at_the_start).contains("OS can't spawn worker thread"));
        let one_thread = &mut tokio::runtime::Builder::new_current_thread();
        let later = drive(one_thread.thread_stack_size(STACK), async { drop(tokio::task::spawn_blocking(|| ())) });
        assert!(told(later).contains("OS can't spawn worker thread"));
        let mistake = std::panic::catch_unwind(|| drive(&mut runtime(), async { panic!("a mistake") }));
        assert_eq!(mistake.err().and_then(|payload| payload.downcast_ref::<&str>().copied()), Some("a mistake"));
    }

    #[test]
    fn json_is_asked_for_by_a_flag_or_else_by_the_default() {
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
    fn redrawing_clears_what_the_last_picture_left() {
        assert_eq!(over_the_screen("ab\nc\n"), "\u{1b}[Hab\u{1b}[K\nc\u{1b}[K\n\u{1b}[J");
    }
}
