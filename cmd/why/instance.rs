//! `why instance`: one screen from the instance to the first real cause.

use anstyle::{AnsiColor, Style};
use flux_operator::inspect::listing::short_age;
use flux_operator::inspect::why::{Why, why};
use jiff::Timestamp;

use crate::common::read_source::{FromArgs, Source, instance_type, within};
use crate::render::next_step::command;
use crate::render::table::{clean, cut, terminal_width};
use crate::shell::output::{Format, ViewArgs, structured};
use crate::shell::{CliError, Exit, Shell};

/// Explain why an instance is not ready
///
/// Walks from the instance to its components, pods, events, logs, source and
/// secrets, stops at the first real cause, and says what to run next. Ends with 0
/// when the instance is ready and with 7 when a cause was found.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # What is wrong, and what to do\n  \
    flux-operator why instance\n\n  \
    # The cause as one word, for scripts\n  \
    flux-operator why instance -o jsonpath='{.cause.reason}'\n\n  \
    # From a dump somebody sent\n  \
    flux-operator why instance --from ./dump")]
pub struct Args {
    /// Name of the instance
    #[arg(default_value = "flux", add = crate::common::complete::instances())]
    pub name: String,
    #[command(flatten)]
    pub from: FromArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.run(async {
        let source = Source::open(shell, &args.from).await?;
        let namespace = source.instance_namespace();
        let now = source.now();
        let viewed = within(shell, async {
            let instance = source.object(shell, &instance_type(), Some(&namespace), &args.name).await?;
            source.view(shell, |snapshot| why(snapshot, &instance, now)).await
        })
        .await??;
        for refusal in &viewed.refusals {
            shell.warn(&format!("not everything could be looked at: {}", refusal.reason));
        }
        let found = viewed.value.map_steps(|step| command(&step));
        let text = match structured(&found, &args.view.output)? {
            Some(text) => text,
            None if matches!(args.view.output, Format::Name) => {
                let object = found.cause.as_ref().map_or(&found.object, |c| &c.object);
                format!("{object}\n")
            }
            None => screen(shell, &found, now),
        };
        shell.print_in_colour(&text)?;
        Ok(if found.ready { Exit::Done } else { Exit::Unhealthy })
    })
}

fn screen(shell: &Shell, why: &Why<String>, now: Timestamp) -> String {
    let width = shell.stdout_is_terminal().then(terminal_width);
    let color = shell.stdout_color();
    let paint = |text: String, style: AnsiColor| {
        if color { format!("{}{text}{:#}", style.on_default(), Style::new()) + "\u{1b}[0m" } else { text }
    };
    let mut text = String::new();
    let mut line = |mark: &str, content: String, style: Option<AnsiColor>| {
        let whole = clean(&format!("{mark}{content}"));
        let whole = width.map_or(whole.clone(), |width| cut(&whole, width));
        let whole = whole.trim_end().to_owned();
        text.push_str(&match style {
            Some(style) => paint(whole, style),
            None => whole,
        });
        text.push('\n');
    };
    for step in &why.walk {
        let (mark, style) = match step.ok {
            Some(true) => ("✔ ", None),
            Some(false) => ("✗ ", Some(AnsiColor::Red)),
            None => ("• ", None),
        };
        line(mark, format!("{}  {}", step.object, step.says), style);
    }
    let Some(cause) = &why.cause else {
        line("", format!("{} is ready", why.object), Some(AnsiColor::Green));
        return text;
    };
    line("", String::new(), None);
    line("Cause: ", format!("{} ({:?})", cause.summary, cause.reason), Some(AnsiColor::Red));
    line("Object: ", cause.object.to_string(), None);
    line("Evidence:", String::new(), None);
    for evidence in &cause.evidence {
        let age = evidence.at.map(|at| format!(", {} ago", short_age(at, now))).unwrap_or_default();
        line("  ", format!("{}{age}: {}", evidence.from, evidence.text), None);
    }
    // Commands are for copying: never cut.
    text.push_str("Next:\n");
    for command in &cause.next {
        text.push_str(&format!("  {}\n", clean(command)));
    }
    text
}
