//! Tests by rule. Expected texts were compared with Go 1.26 and slim-sprig 3.0.0.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::slug::slugify;
use crate::{Data, ExecutionError, Limits, Options, ParseError, Syntax, Template};

mod functions;
mod language;
mod limits;
mod printing;
mod yaml;

fn parse(text: &str) -> Result<Template, ParseError> {
    Template::parse("resourceset", text, &Syntax::resource_set())
}

fn inputs() -> Data {
    Data::from(&json!({
        "i": 5, "f": 2.75, "s": "Hello World", "t": true, "n": null, "e": "", "z": 0,
        "l": ["c", "a", "b"], "m": {"b": 2, "a": 1, "10": 3, "9": 4}, "deep": {"er": {"val": "x"}},
    }))
}

fn execute(text: &str, data: &Data) -> Result<String, ExecutionError> {
    let random = |bound: u64| bound - 1;
    let options = Options { now: Some(1_795_651_200), random: Some(&random), ..Options::default() };
    parse(text).expect("the template parses").execute(data, &options)
}

/// Renders a template that must succeed.
fn rendered(text: &str) -> String {
    execute(text, &inputs()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the message of a template whose execution must fail.
fn execution_error(text: &str) -> String {
    execute(text, &inputs()).expect_err(text).to_string()
}

/// Returns the message of a text that must be refused.
fn parse_error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(rendered(&format!("<< {expression} >>")), *expected, "{expression}");
    }
}

#[track_caller]
fn check_failures(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let error = execution_error(text);
        assert!(error.ends_with(expected), "{text}: {error}");
    }
}

#[test]
fn slugs_are_short_ascii_names() {
    assert_eq!(slugify("  Feat/Hello_World & more @ home's "), "feat-hello_world-and-more-at-homes");
    assert_eq!(slugify("北京 Zürich"), "bei-jing-zurich");
    assert_eq!(slugify(&"abc ".repeat(30)), format!("{}abc", "abc-".repeat(14)) + "-abc");
    assert_eq!(slugify(&"x".repeat(80)), "x".repeat(63));
    assert_eq!(slugify("---"), "");
}

#[test]
fn one_template_serves_many_inputs_fast() {
    let template = parse("name: << inputs.name | upper >>\nport: << add inputs.port 1 >>\n").expect("parses");
    let started = Instant::now();
    for port in 0..1_000 {
        let data = Data::from(&json!({"name": "app", "port": port}));
        let text = template.execute(&data, &Options::default()).expect("renders");
        assert_eq!(text, format!("name: APP\nport: {}\n", port + 1));
    }
    // Generous, because the build may be unoptimised and the machine busy.
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn templates_can_be_shared_between_threads() {
    fn is_shareable<T: Send + Sync>(_: &T) {}
    is_shareable(&parse("x").expect("parses"));
}

#[test]
fn a_template_says_whether_it_changes_its_data_or_differs_from_run_to_run() {
    assert!(parse("<< if true >><< $_ := set inputs \"a\" 1 >><< end >>").expect("parses").changes_data());
    assert!(parse("<< (unset inputs \"a\").b >>").expect("parses").changes_data());
    assert!(!parse("<< inputs.set >>").expect("parses").changes_data());
    assert!(!parse("<< randInt 1 5 >>").expect("parses").is_repeatable());
    assert!(!parse("<< durationRound .inputs.time >>").expect("parses").is_repeatable());
    assert!(parse("<< add 1 5 >>").expect("parses").is_repeatable());
}

#[test]
fn executions_with_the_same_data_see_what_set_changed() {
    let data = inputs();
    assert_eq!(execute("<< $_ := set inputs \"new\" 1 >><< inputs.new >>", &data).as_deref(), Ok("1"));
    assert_eq!(execute("<< inputs.new >>", &data).as_deref(), Ok("1"));
}

#[test]
fn the_default_syntax_is_that_of_go() {
    let data = Data::from(&json!({"a": 1}));
    let template = Template::parse("t", "{{ .a }} {{ .b }} {{ $.a }}", &Syntax::default()).expect("parses");
    assert_eq!(template.execute(&data, &Options::default()).as_deref(), Ok("1 <no value> 1"));
    assert!(Template::parse("t", "{{ inputs }}", &Syntax::default()).is_err());
}

#[test]
fn output_that_is_not_utf_8_is_an_error_of_its_own() {
    let error = execute("a\n<< trunc 1 \"é\" >>", &inputs()).expect_err("half a character");
    assert_eq!(error.line, None);
    assert!(error.to_string().contains("not valid UTF-8 (first bad byte in line 2"), "{error}");
}

#[test]
fn limits_default_to_what_a_controller_can_bear() {
    let limits = Limits::default();
    assert!(limits.output_bytes <= 16 << 20 && limits.created_bytes <= 1 << 30);
}
