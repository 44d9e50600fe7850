//! Progress while a command waits: redrawn lines on a terminal, a plain line per change elsewhere, or JSON.
//!
//! Everything goes to stderr. A key identifies each line, such as the name of a component or of an object.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use flux_operator::format::harmless::on_one_line;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::output::table::columns_of;
use crate::terminal::ascii::in_ascii;
use crate::terminal::{Shell, environment, stderr_line};

/// Style of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// Live lines on a terminal, plain lines elsewhere
    #[default]
    Auto,
    /// A plain line per change
    Plain,
    /// A JSON object per change and line
    Json,
    /// Nothing
    None,
}

/// The flag of every command that waits.
#[derive(clap::Args, Clone, Debug)]
pub struct ProgressArgs {
    /// How to show progress, on standard error
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub progress: ProgressMode,
}

/// State of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Done,
    Failed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Done => "done",
            State::Failed => "failed",
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            State::Waiting => "◎",
            State::Done => "✔",
            State::Failed => "✗",
        }
    }
}

/// Lines of progress; dropping it removes live lines from the terminal.
pub struct Progress {
    renderer: Renderer,
    lines: HashMap<String, ProgressLine>,
    /// Whether whole values are printed as JSON instead of lines.
    raw: bool,
}

struct ProgressLine {
    state: State,
    text: String,
    since: Instant,
    bar: Option<ProgressBar>,
}

enum Renderer {
    /// With the maximum width of keys.
    Live(MultiProgress, usize),
    Plain,
    Json,
    Silent,
}

/// Longer keys are truncated on a terminal, so that their text is visible on 80 columns.
const KEY_WIDTH: usize = 32;

impl Progress {
    pub fn new(shell: &Shell, mode: ProgressMode) -> Self {
        // With structured errors, stderr must contain only JSON.
        let talkative = !shell.global().quiet && !shell.has_structured_errors();
        if shell.collected().is_some() {
            // The progress of one cluster would look like the progress of all clusters.
            return Progress { renderer: Renderer::Silent, lines: HashMap::new(), raw: false };
        }
        if mode != ProgressMode::None {
            shell.disable_waiting_message();
        }
        // A terminal without cursor movement gets a line for every change.
        let can_redraw = !environment::is_dumb();
        let renderer = match mode {
            // An explicit mode overrides `--quiet`.
            ProgressMode::Json => Renderer::Json,
            ProgressMode::Plain => Renderer::Plain,
            ProgressMode::Auto
                // The log lines of `-v` would break live lines.
                if talkative && can_redraw && shell.stderr_is_terminal() && shell.global().verbosity() == 0 =>
            {
                let target = ProgressDrawTarget::stderr_with_hz(10);
                let width = columns_of(comfy_table::Table::new().use_stderr());
                Renderer::Live(MultiProgress::with_draw_target(target), KEY_WIDTH.min(width * 2 / 5).max(4))
            }
            ProgressMode::Auto if talkative => Renderer::Plain,
            ProgressMode::Auto | ProgressMode::None => Renderer::Silent,
        };
        Progress { renderer, lines: HashMap::new(), raw: false }
    }

    /// Whether lines are redrawn on a terminal.
    pub fn is_live(&self) -> bool {
        matches!(self.renderer, Renderer::Live(..))
    }

    /// Whether anything is shown at all.
    pub fn is_shown(&self) -> bool {
        !matches!(self.renderer, Renderer::Silent)
    }

    /// Shows that a line failed, if no error follows directly.
    pub fn fail(&mut self, key: &str, text: &str) {
        // The error that follows contains the same text. Plain lines cannot be removed, so the text would appear twice.
        if !matches!(self.renderer, Renderer::Plain) {
            self.set(key, State::Failed, text);
        }
    }

    /// Sets the state of a line; does nothing if neither state nor text changed.
    pub fn set(&mut self, key: &str, state: State, text: &str) {
        let text = one_line(text);
        let known = self.lines.get(key);
        if known.is_some_and(|l| l.state == state && l.text == text) {
            return;
        }
        let since = known.map_or_else(Instant::now, |l| l.since);
        let bar = self.lines.get_mut(key).and_then(|l| l.bar.take());
        let bar = match &self.renderer {
            Renderer::Live(all, width) => {
                let bar = bar.unwrap_or_else(|| {
                    // The bar is configured before it is added, because adding a bar draws it.
                    let bar =
                        ProgressBar::new_spinner().with_prefix(shown(&cut(key, *width))).with_message(shown(&text));
                    bar.set_style(style(state));
                    let bar = all.add(bar);
                    bar.enable_steady_tick(Duration::from_millis(120));
                    bar
                });
                bar.set_style(style(state));
                bar.set_message(shown(&text));
                if state != State::Waiting {
                    bar.abandon();
                }
                Some(bar)
            }
            Renderer::Plain => {
                write_line(&format!("{} {key}: {text}{}", state.symbol(), elapsed(since.elapsed())));
                None
            }
            Renderer::Json if self.raw => None,
            Renderer::Json => {
                let value = json!({
                    "type": "progress", "object": key, "state": state.word(), "message": text,
                    "elapsedSeconds": (since.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
                });
                write_line(&value.to_string());
                None
            }
            Renderer::Silent => None,
        };
        self.lines.insert(key.to_owned(), ProgressLine { state, text, since, bar });
    }

    /// Whether there are no lines yet.
    pub fn has_no_lines(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether changes are printed as JSON.
    pub fn is_json(&self) -> bool {
        matches!(self.renderer, Renderer::Json)
    }

    /// Prints a value as a line of JSON; then nothing else is printed.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        // Values of the library always serialise.
        if let Ok(line) = serde_json::to_string(value) {
            write_line(&line);
        }
        self.raw = true;
    }

    /// Changes the text of a live line for a step too small for its own line.
    pub fn redraw(&mut self, key: &str, text: &str) {
        if matches!(self.renderer, Renderer::Live(..)) {
            self.set(key, State::Waiting, text);
        }
    }

    /// Prints a small step only where lines are cheap: not above live lines.
    pub fn detail(&self, key: &str, text: &str) {
        if matches!(self.renderer, Renderer::Plain) {
            self.note(key, text);
        }
    }

    /// Prints a message above the live lines; JSON and hidden progress omit it.
    pub fn say(&self, text: &str) {
        match &self.renderer {
            Renderer::Live(all, _) => {
                let _ = all.println(shown(text));
            }
            Renderer::Plain => write_line(text),
            Renderer::Json | Renderer::Silent => {}
        }
    }

    /// Prints an event above the live lines.
    pub fn note(&self, key: &str, text: &str) {
        let text = one_line(text);
        match &self.renderer {
            Renderer::Live(all, _) => {
                // A closed terminal must not end the command.
                let _ = all.println(shown(&format!("  {key}: {text}")));
            }
            Renderer::Plain => write_line(&format!("  {key}: {text}")),
            Renderer::Json if self.raw => {}
            Renderer::Json => write_line(&json!({"type": "event", "object": key, "message": text}).to_string()),
            Renderer::Silent => {}
        }
    }

    /// Removes the live lines from the terminal, so that later output starts on its own line.
    pub fn clear(&self) {
        if let Renderer::Live(all, _) = &self.renderer {
            for line in self.lines.values() {
                if let Some(bar) = &line.bar {
                    bar.finish_and_clear();
                }
            }
            let _ = all.clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.lines.values().filter_map(|l| l.bar.as_ref()).any(|b| !b.is_finished()) {
            self.clear();
        }
    }
}

fn style(state: State) -> ProgressStyle {
    let template = match state {
        State::Waiting => "{spinner} {prefix} {elapsed:>4} {wide_msg}".to_owned(),
        State::Done | State::Failed => format!("{} {{prefix}} {{elapsed:>4}} {{wide_msg}}", shown(state.symbol())),
    };
    // The templates are the constants above; the plain one is a valid fallback.
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    if environment::is_ascii_only() { style.tick_chars("-\\|/ ") } else { style }
}

fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0 => String::new(),
        seconds @ 1..60 => format!(" ({seconds}s)"),
        seconds => format!(" ({}m{}s)", seconds / 60, seconds % 60),
    }
}

/// A message on one line, with single blanks.
pub fn one_line(text: &str) -> String {
    on_one_line(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Keeps the end of a long key, which is the name.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(length - width.saturating_sub(1)).collect();
    format!("…{tail}")
}

/// Converts a text to characters that the terminal can show.
fn shown(text: &str) -> String {
    if environment::is_ascii_only() { in_ascii(text) } else { text.to_owned() }
}

fn write_line(line: &str) {
    let line = if std::io::stderr().is_terminal() { shown(line) } else { line.to_owned() };
    stderr_line(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_from_the_cluster_cannot_steer_the_terminal() {
        assert_eq!(one_line("a\nb\x1b[31m\tc\n"), "a b[31m c");
    }

    #[test]
    fn elapsed_time_is_short() {
        let text = |seconds| elapsed(Duration::from_secs(seconds));
        assert_eq!((text(0), text(59), text(61)), (String::new(), " (59s)".into(), " (1m1s)".into()));
    }

    #[test]
    fn long_keys_are_cut_to_whole_characters() {
        assert_eq!(cut("fluxinstance/ü-system/flux", 14), "…ü-system/flux");
        assert_eq!(cut("short", 14), "short");
    }
}
