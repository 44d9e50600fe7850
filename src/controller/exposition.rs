//! Formats of metrics: OpenMetrics, and the older text format of Prometheus. A client requests a format in the header
//! `Accept` (<https://prometheus.io/docs/instrumenting/content_negotiation/>).

use http::{HeaderMap, header};

/// A format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exposition {
    /// <https://prometheus.io/docs/specs/om/open_metrics_spec/>
    OpenMetrics,
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
    PrometheusText,
}

impl Exposition {
    /// Returns the preferred format of a request. Without a preference, or with only unknown formats, it is the older
    /// format, which every client can read.
    pub(super) fn accepted_by(headers: &HeaderMap) -> Self {
        let ranges = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut best = (Exposition::PrometheusText, 0.0);
        for (format, weight) in ranges.flat_map(|value| value.split(',')).filter_map(media_range) {
            // The first of equal weights counts.
            if weight > best.1 {
                best = (format, weight);
            }
        }
        best.0
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Exposition::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts metrics from OpenMetrics to this format.
    pub(super) fn write(self, open_metrics: String) -> String {
        match self {
            Exposition::OpenMetrics => open_metrics,
            Exposition::PrometheusText => prometheus_text(&open_metrics),
        }
    }
}

/// Parses a media range of an `Accept` header with its weight; `None` if it names neither format, or an unsupported
/// version.
fn media_range(text: &str) -> Option<(Exposition, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let (format, versions): (_, &[&str]) = match parts.next()?.to_ascii_lowercase().as_str() {
        "application/openmetrics-text" => (Exposition::OpenMetrics, &["0.0.1", "1.0.0"]),
        "text/plain" | "text/*" | "*/*" => (Exposition::PrometheusText, &["0.0.4"]),
        _ => return None,
    };
    let mut weight = 1.0;
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "q" => weight = value.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?,
            "version" if !versions.contains(&value) => return None,
            _ => {}
        }
    }
    Some((format, weight))
}

/// Converts metrics to the older format: the family of a counter has the name of its samples, with `_total`, and there
/// is no end marker.
fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + 1024);
    let mut lines = open_metrics.lines().peekable();
    while let Some(line) = lines.next() {
        match Comment::of(line) {
            Some(Comment { keyword: "HELP", name, rest }) => {
                let kind = lines.peek().and_then(|next| Comment::of(next)).filter(|next| next.is_type_of(name));
                let kind = kind.map_or("", |next| next.rest);
                text.push_str(&format!("# HELP {} {rest}\n", family(name, kind)));
            }
            Some(Comment { keyword: "TYPE", name, rest }) => {
                let kind = if rest == "unknown" { "untyped" } else { rest };
                text.push_str(&format!("# TYPE {} {kind}\n", family(name, rest)));
            }
            // The older format has neither units nor an end marker.
            Some(_) => {}
            None => text.push_str(&format!("{line}\n")),
        }
    }
    text
}

fn family(name: &str, kind: &str) -> String {
    if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
}

/// `# KEYWORD NAME REST`
struct Comment<'a> {
    keyword: &'a str,
    name: &'a str,
    rest: &'a str,
}

impl<'a> Comment<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let mut words = line.strip_prefix("# ")?.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        Some(Comment { keyword: word(), name: word(), rest: word() })
    }

    fn is_type_of(&self, name: &str) -> bool {
        self.keyword == "TYPE" && self.name == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Telemetry;

    fn accepted(accept: &[&'static str]) -> Exposition {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, http::HeaderValue::from_static(value));
        }
        Exposition::accepted_by(&headers)
    }

    #[test]
    fn a_reader_gets_the_format_that_it_prefers() {
        let (open, text) = (Exposition::OpenMetrics, Exposition::PrometheusText);
        for (accept, expected) in [
            (&[][..], text),
            (&["*/*"], text),
            (&["text/plain"], text),
            (&["text/plain;version=0.0.4"], text),
            (&["text/html"], text),
            (&["application/openmetrics-text"], open),
            (&["Application/OpenMetrics-Text; version=\"1.0.0\"; charset=utf-8"], open),
            // Requests of Prometheus 2 and 3.
            (
                &[
                    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
                ],
                open,
            ),
            (
                &[
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.1",
                ],
                open,
            ),
            (&["text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.1"], text),
            (&["text/plain;q=0.1", "application/openmetrics-text;q=0.9"], open),
            (&["application/openmetrics-text;version=2.0.0, text/plain;q=0.5"], text),
            (&["application/openmetrics-text;q=0"], text),
            (&["application/openmetrics-text;q=nonsense"], text),
        ] {
            assert_eq!(accepted(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn the_older_format_types_every_counter_by_the_name_of_its_samples() {
        let open = Telemetry::new("v1", "linux/amd64").metrics();
        let text = Exposition::PrometheusText.write(open.clone());
        assert!(open.ends_with("# EOF\n") && open.contains("# TYPE workqueue_adds counter\n"));
        assert!(!text.contains("# EOF") && text.contains("# TYPE workqueue_adds_total counter\n"), "{text}");
        assert!(text.contains("# HELP workqueue_adds_total ") && text.contains("# TYPE workqueue_depth gauge\n"));
        let typed = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!(typed("# HELP "), typed("# TYPE "));
        // Each sample belongs to the preceding family, by one of its names.
        let mut family = ("", "");
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split_once(' ').expect("a name and a type");
            } else if !line.starts_with('#') {
                let name = line.split(['{', ' ']).next().expect("a name");
                let suffix = name.strip_prefix(family.0).unwrap_or_else(|| panic!("{name} after {family:?}"));
                let suffixes: &[&str] = if family.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                assert!(suffixes.contains(&suffix), "{line}");
                assert_eq!(family.1 == "counter", name.ends_with("_total"), "{line}");
            }
        }
        let samples =
            |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(samples(&text), samples(&open));
        assert_eq!(Exposition::OpenMetrics.write(open.clone()), open);
    }
}
