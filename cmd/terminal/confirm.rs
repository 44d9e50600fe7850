//! Confirmation before something is deleted.

use std::io::{BufRead, IsTerminal, Write};

use unicode_width::UnicodeWidthStr;

use crate::output::table::terminal_width;
use crate::output::wrap::wrapped;
use crate::terminal::{CliError, Exit, Shell};
use flux_operator::format::harmless::harmless;

#[derive(clap::Args, Clone, Debug, Default)]
pub struct ConfirmArgs {
    /// Skip confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// Confirm a protected context by its name
    #[arg(long, value_name = "NAME")]
    pub confirm_context: Option<String>,
}

/// The required confirmation.
#[derive(Clone, Debug)]
pub enum Agreement<'a> {
    /// `y` or `yes`.
    Yes,
    /// A name that the user types in full, with the noun for the named thing.
    Name { of: &'a str, name: &'a str },
}

/// Asks for confirmation on the terminal. In a protected context, it first asks for the name of the context, even with
/// `--yes`. Without a terminal the command fails with a hint.
///
/// The terminal keeps its usual mode, so an interrupt need not restore anything.
///
/// # Errors
/// Usage when there is no terminal to ask on; failed when the answer is no.
pub async fn confirm(
    shell: &Shell,
    args: &ConfirmArgs,
    context: Option<&str>,
    what: &str,
    agreement: Agreement<'_>,
) -> Result<(), CliError> {
    // A wrong name is refused before any question, because the user may have meant another cluster.
    check_named_context(args, context, what)?;
    // In a protected context `--yes` answers only the second question.
    if let Some((name, question, hint)) = question_of_context(shell, args, context, what) {
        ask(shell, &question, Agreement::Name { of: "context", name }, &hint).await?;
    }
    if args.yes {
        return Ok(());
    }
    ask(shell, what, agreement, WITH_YES).await
}

const WITH_YES: &str = "repeat the command with --yes to go ahead";

/// Returns the name of a protected context, the question for which that name is the answer, and the hint without a
/// terminal.
fn question_of_context<'a>(
    shell: &Shell,
    args: &ConfirmArgs,
    context: Option<&'a str>,
    what: &str,
) -> Option<(&'a str, String, String)> {
    let (name, pattern) = context.zip(protection(shell, context)).filter(|_| args.confirm_context.is_none())?;
    let question = format!("{what}: the context {name} is protected ({pattern})");
    Some((name, question, format!("repeat the command with --confirm-context {name} to go ahead")))
}

/// Returns the first question that the flags do not answer, and the hint without a terminal.
fn unanswered(shell: &Shell, args: &ConfirmArgs, context: Option<&str>, what: &str) -> Option<(String, String)> {
    let of_context = question_of_context(shell, args, context, what).map(|(_, question, hint)| (question, hint));
    of_context.or_else(|| (!args.yes).then(|| (what.to_owned(), WITH_YES.to_owned())))
}

fn cannot_ask(what: &str, hint: &str) -> CliError {
    let error = format!("cannot {what}: confirmation is required, and there is no terminal to ask on");
    CliError::usage(error).hint(hint)
}

/// Refuses a dry run if [`confirm`] would refuse the real run. It asks no question: on a terminal the answer is not
/// known yet, so the dry run passes.
///
/// # Errors
/// Usage, as the run.
pub fn check_consent(shell: &Shell, args: &ConfirmArgs, context: Option<&str>, what: &str) -> Result<(), CliError> {
    check_named_context(args, context, what)?;
    if can_ask(shell) {
        return Ok(());
    }
    match unanswered(shell, args, context, what) {
        Some((question, hint)) => Err(cannot_ask(&question, &hint)),
        None => Ok(()),
    }
}

/// Returns the pattern of the configuration that protects a context.
pub fn protection<'a>(shell: &'a Shell, context: Option<&str>) -> Option<&'a str> {
    shell.config().protects(context?)
}

/// Refuses `--confirm-context` of another context than the current one.
///
/// # Errors
/// Usage.
pub fn check_named_context(args: &ConfirmArgs, context: Option<&str>, what: &str) -> Result<(), CliError> {
    let Some(other) = args.confirm_context.as_deref().filter(|name| Some(*name) != context) else { return Ok(()) };
    let here = context.map_or("there is no context".to_owned(), |name| format!("the context is {name}"));
    Err(CliError::usage(format!("{what}: {here}, not {other}")))
}

/// Whether there is a terminal to ask on.
pub fn can_ask(shell: &Shell) -> bool {
    // The question goes to stderr, and the answer comes from stdin.
    std::io::stdin().is_terminal() && shell.stderr_is_terminal()
}

/// Asks a question with the default answer yes: an empty answer agrees.
///
/// # Errors
/// The input ends without an answer, or the answer cannot be read.
pub async fn agree_by_default(what: &str) -> Result<bool, CliError> {
    let answer = read_answer(&format!("{what}? [Y/n] ")).await?;
    Ok(answer.trim().is_empty() || agreed(answer.trim(), &Agreement::Yes))
}

fn cancelled() -> CliError {
    CliError::new(Exit::Failed, "cancelled: nothing was changed")
}

async fn ask(shell: &Shell, what: &str, agreement: Agreement<'_>, hint: &str) -> Result<(), CliError> {
    if !can_ask(shell) {
        return Err(cannot_ask(what, hint));
    }
    let question = question(what, &agreement, terminal_width());
    let answer = read_answer(&question).await?;
    if agreed(answer.trim(), &agreement) { Ok(()) } else { Err(cancelled()) }
}

/// Reads one line. Ctrl-D is not an answer, so it cancels the command, even if an empty line would agree.
async fn read_answer(question: &str) -> Result<String, CliError> {
    {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{}", harmless(question)).and_then(|()| stderr.flush());
    }
    // Reading blocks, so a separate thread lets an interrupt still end the command.
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let answer = answer
        .await
        .map_err(|e| CliError::failed("cannot read the answer").caused_by(&e))?
        .map_err(|e| CliError::failed("cannot read the answer").caused_by(&e))?;
    if answer.is_empty() {
        // The terminal does not echo Ctrl-D, so without a line end the error would follow the question on the same
        // line.
        let _ = writeln!(std::io::stderr());
        return Err(cancelled());
    }
    Ok(answer)
}

/// Wraps the question at 80 columns, or at its longest name: names are not split.
fn question(what: &str, agreement: &Agreement<'_>, width: usize) -> String {
    let folded = |text: &str| {
        let longest = text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or_default();
        wrapped(text, width.min(80).max(longest), usize::MAX).join("\n")
    };
    match agreement {
        Agreement::Yes => format!("{} ", folded(&format!("{what}? [y/N]"))),
        Agreement::Name { of, name } => {
            format!("{}\nType the {of} name ({name}) to confirm: ", folded(&format!("{what}?")))
        }
    }
}

fn agreed(answer: &str, agreement: &Agreement<'_>) -> bool {
    match agreement {
        Agreement::Yes => answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"),
        Agreement::Name { name, .. } => answer == *name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_wrapped_at_80_columns_unless_a_name_is_longer() {
        let what = "delete kustomization/flux-system/podinfo (context production, https://10.0.0.1:6443): \
                    the context production is protected (prod*)";
        let lines = |width| question(what, &Agreement::Name { of: "context", name: "production" }, width);
        let shown = lines(200);
        assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
        assert_eq!(shown.replace('\n', " "), format!("{what}? Type the context name (production) to confirm: "));
        assert!(lines(60).lines().all(|line| line.len() <= 60), "{}", lines(60));
        assert_eq!(question("delete it", &Agreement::Yes, 80), "delete it? [y/N] ");
        let name = "a".repeat(90);
        let long = question(&format!("delete {name} now"), &Agreement::Yes, 80);
        assert!(long.contains(&name), "{long}");
    }

    #[test]
    fn only_a_clear_yes_or_the_whole_word_agrees() {
        for (answer, ok) in [("y", true), ("YES", true), ("", false), ("n", false), ("yep", false)] {
            assert_eq!(agreed(answer, &Agreement::Yes), ok, "{answer}");
        }
        assert!(agreed("flux", &Agreement::Name { of: "instance", name: "flux" }));
        assert!(!agreed("y", &Agreement::Name { of: "instance", name: "flux" }));
    }
}
