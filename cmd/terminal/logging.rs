//! Logs go to stderr: for commands on request, for services always.

use std::io::{IsTerminal, Write};

use flux_operator::inspect::incident::redact::shareable_line;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::terminal::{Color, environment};

/// `-v` shows the program's steps, `-vv` its requests, `-vvv` everything; `RUST_LOG` overrides.
pub fn init(verbose: u8, quiet: bool, color: Color) {
    let from_environment = std::env::var(environment::RUST_LOG).ok().filter(|f| !f.is_empty());
    // A subscriber costs start-up time, so a command without a log has none.
    if from_environment.is_none() && (verbose == 0 || quiet) {
        return;
    }
    let directives = from_environment.unwrap_or_else(|| {
        // kube is excluded, because it logs unreadable answers with their whole content. The client of this program
        // logs requests.
        match verbose {
            1 => "flux_operator=info",
            2 => "flux_operator=debug",
            _ => "trace,kube_client=off",
        }
        .to_owned()
    });
    fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(|| RedactingWriter(std::io::stderr()))
        .with_ansi(color.enabled(std::io::stderr().is_terminal()))
        .finish()
        .with(targets(&directives))
        .init();
}

/// Parses directives such as `info,kube_client=off`; an invalid one is reported and skipped.
fn targets(directives: &str) -> Targets {
    let is_one = |directive: &&str| {
        let is_one = directive.parse::<Targets>().is_ok();
        if !is_one {
            let _ = writeln!(std::io::stderr(), "warning: RUST_LOG: ignoring {directive:?}, which is not TARGET=LEVEL");
        }
        is_one
    };
    let directives = directives.split(',').filter(|directive| !directive.is_empty());
    directives.filter(is_one).collect::<Vec<_>>().join(",").parse().unwrap_or_default()
}

/// Format of a service's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Encoding {
    /// A JSON object per line, with the keys of Flux's own controllers.
    Json,
    /// Lines for people.
    Console,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Error,
}

/// Sets up the log of a service: always on stderr; `RUST_LOG` overrides the level.
pub fn init_service(level: Level, encoding: Encoding) {
    let from_environment = std::env::var(environment::RUST_LOG).ok().filter(|f| !f.is_empty());
    // kube is excluded, because it logs unreadable answers with their whole content. The client of this program logs
    // requests.
    let directives = from_environment.unwrap_or_else(|| match level {
        Level::Trace => "trace,kube_client=off".to_owned(),
        Level::Debug => "flux_operator=debug".to_owned(),
        Level::Info => "flux_operator=info".to_owned(),
        Level::Error => "flux_operator=error".to_owned(),
    });
    let builder =
        fmt().with_max_level(LevelFilter::TRACE).with_writer(|| RedactingWriter(std::io::stderr())).with_ansi(false);
    let targets = targets(&directives);
    match encoding {
        Encoding::Json => builder.fmt_fields(JsonFields::new()).event_format(ServiceJson).finish().with(targets).init(),
        Encoding::Console => builder.finish().with(targets).init(),
    }
}

/// Removes tokens, passwords and queries of addresses from lines: a service's log has more readers than its objects,
/// and foreign errors repeat addresses.
struct RedactingWriter<W>(W);

impl<W: Write> Write for RedactingWriter<W> {
    /// Each event arrives in one piece.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(shareable_line(&String::from_utf8_lossy(line)).as_bytes())?;
        // The caller expects the number of bytes that it passed, but the redacted line may be shorter.
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// The keys of controller-runtime's JSON log: `level`, `ts`, `msg`, then those of the spans and of the event.
struct ServiceJson;

impl<S> FormatEvent<S, JsonFields> for ServiceJson
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &tracing::Event<'_>,
    ) -> std::fmt::Result {
        let mut own = EventFields::default();
        event.record(&mut own);
        let mut line = Map::new();
        line.insert("level".into(), event.metadata().level().as_str().to_lowercase().replace("warn", "warning").into());
        line.insert("ts".into(), format!("{:.3}", Timestamp::now()).into());
        line.insert("msg".into(), own.0.remove("message").unwrap_or_default());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>().map_or("", |fields| fields.fields.as_str());
            line.extend(serde_json::from_str::<Map<String, Value>>(fields).unwrap_or_default());
        }
        line.extend(own.0);
        // controller-runtime logs the object under its kind as well.
        if let [Some(kind), Some(name), Some(namespace)] =
            ["controllerKind", "name", "namespace"].map(|key| line.get(key).cloned())
            && let Some(kind) = kind.as_str()
        {
            line.insert(kind.to_owned(), json!({"name": name, "namespace": namespace}));
        }
        writeln!(writer, "{}", Value::Object(line))
    }
}

#[derive(Default)]
struct EventFields(Map<String, Value>);

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_a_directive_changes_nothing() {
        assert_eq!(targets("info,"), targets("info"));
        assert_eq!(targets("kube_client=off,x=nonsense,,info"), targets("info,kube_client=off"));
    }
}
