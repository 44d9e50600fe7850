//! Confirmation before something is deleted.

use std::io::{BufRead, IsTerminal, Write};

use unicode_width::UnicodeWidthStr;

use crate::output::table::terminal_width;
use crate::output::wrap::wrapped;
use crate::terminal::{CliError, Exit, Shell, harmless};

#[derive(clap::Args, Clone, Debug)]
pub struct ConfirmArgs {
    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Name of the context, where the configuration protects it
    #[arg(long, value_name = "NAME")]
    pub confirm_context: Option<String>,
}

/// The required confirmation.
#[derive(Clone, Debug)]
pub enum Agreement<'a> {
    /// `y` or `yes`.
    Yes,
    /// The given word, typed completely.
    Word(&'a str),
}

/// Asks on the terminal; in a protected context first for its name, regardless of `--yes`. Without a terminal the
/// command stops with a hint to `--yes`.
///
/// The terminal keeps its usual mode, so an interrupt need not restore anything.
///
/// # Errors
/// Usage without a terminal; failed when the answer is no.
pub async fn confirm(
    shell: &Shell,
    args: &ConfirmArgs,
    context: Option<&str>,
    what: &str,
    agreement: Agreement<'_>,
) -> Result<(), CliError> {
    check_named_context(args, context, what)?;
    if shell.rehearses() {
        return Ok(());
    }
    if let Some((name, pattern)) = context.zip(protection(shell, context))
        && args.confirm_context.is_none()
    {
        let what = format!("{what}: the context {name} is protected ({pattern})");
        let hint = format!("repeat the command with --confirm-context {name} to go ahead");
        ask(shell, &what, Agreement::Word(name), &hint).await?;
    }
    if args.yes {
        return Ok(());
    }
    ask(shell, what, agreement, "repeat the command with --yes to go ahead").await
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

async fn ask(shell: &Shell, what: &str, agreement: Agreement<'_>, hint: &str) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() || !shell.stderr_is_terminal() {
        return Err(CliError::usage(format!("{what}: nobody can be asked without a terminal")).hint(hint));
    }
    let question = question(what, &agreement, terminal_width());
    {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{}", harmless(&question)).and_then(|()| stderr.flush());
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
    if agreed(answer.trim(), &agreement) {
        Ok(())
    } else {
        Err(CliError::new(Exit::Failed, "cancelled: nothing was changed"))
    }
}

/// Wraps the question at 80 columns, or at its longest name: names are not split.
fn question(what: &str, agreement: &Agreement<'_>, width: usize) -> String {
    let folded = |text: &str| {
        let longest = text.split_whitespace().map(UnicodeWidthStr::width).max().unwrap_or_default();
        wrapped(text, width.min(80).max(longest), usize::MAX).join("\n")
    };
    match agreement {
        Agreement::Yes => format!("{} ", folded(&format!("{what}? [y/N]"))),
        Agreement::Word(word) => format!("{}\nType {word} to go ahead: ", folded(&format!("{what}?"))),
    }
}

fn agreed(answer: &str, agreement: &Agreement<'_>) -> bool {
    match agreement {
        Agreement::Yes => answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"),
        Agreement::Word(word) => answer == *word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_keeps_within_80_columns_as_far_as_its_names_do() {
        let what = "delete kustomization/flux-system/podinfo (context production, https://10.0.0.1:6443): \
                    the context production is protected (prod*)";
        let lines = |width| question(what, &Agreement::Word("production"), width);
        let shown = lines(200);
        assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
        assert_eq!(shown.replace('\n', " "), format!("{what}? Type production to go ahead: "));
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
        assert!(agreed("flux", &Agreement::Word("flux")));
        assert!(!agreed("y", &Agreement::Word("flux")));
    }
}
