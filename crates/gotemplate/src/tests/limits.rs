use std::cell::Cell;

use serde_json::json;

use super::{execute, inputs, parse, parse_error};
use crate::{Data, Limits, Options};

/// Executes a template that must reach a limit.
#[track_caller]
fn reached(text: &str) -> String {
    // Smaller than by default, because the build may be unoptimised.
    let limits = Limits { created_bytes: 32 << 20, steps: 1_500_000, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let error = parse(text).expect("parses").execute(&inputs(), &options).expect_err(text);
    assert!(error.is_limit, "{text}: {error}");
    error.reason
}

#[test]
fn functions_that_multiply_are_stopped_before_they_allocate() {
    for text in [
        "<< repeat 9999999999 \"x\" >>",
        "<< until 99999999999 >>",
        "<< untilStep 0 9223372036854775807 1 >>",
        "<< seq 1 999999999999 >>",
        "<< indent 9999999999 \"a\\nb\" >>",
        "<< range until 1000 >><< repeat 1000000 \"x\" | len >><< end >>",
        "<< $x := \"x\" >><< range until 64 >><< $x = cat $x $x >><< end >>",
        "<< $x := list 1 >><< range until 64 >><< $x = list $x $x >><< end >><< $x | quote >>",
        "<< $x := list 1 >><< range until 64 >><< $x = list $x $x >><< end >><< deepEqual $x $x >>",
    ] {
        reached(text);
    }
    // Go itself refuses widths like this one.
    assert_eq!(execute("<< printf \"%1000000000d\" 1 >>", &inputs()).as_deref(), Ok("%!(NOVERB)%!(EXTRA int=1)"));
}

#[test]
fn loops_end_by_steps_and_output_by_bytes() {
    assert!(reached("<< range 3000000000 >><< end >>").contains("steps"));
    assert!(reached("<< range 100000 >><< range 100000 >>x<< end >><< end >>").contains("steps"));
    assert!(reached("<< range 200 >><< repeat 100000 \"x\" >><< end >>").contains("bytes of output"));
}

#[test]
fn an_execution_can_be_interrupted() {
    let questions = Cell::new(0);
    let interrupted = || {
        questions.set(questions.get() + 1);
        questions.get() > 2
    };
    let options =
        Options { limits: Limits { interrupted: Some(&interrupted), ..Limits::default() }, ..Options::default() };
    let template = parse("<< range 3000000000 >><< end >>").expect("parses");
    let error = template.execute(&Data::none(), &options).expect_err("interrupted");
    assert!(error.is_limit && error.reason.contains("interrupted"), "{error}");
}

#[test]
fn endless_recursion_ends_with_the_message_of_go() {
    let error = execute("<< define \"r\" >><< template \"r\" . >><< end >><< template \"r\" >>", &inputs());
    assert_eq!(
        error.expect_err("recursion").to_string(),
        "template: resourceset:1:28: executing \"r\" at <{{template \"r\" .}}>: exceeded maximum template depth (100000)"
    );
}

#[test]
fn deep_nesting_is_refused_when_it_is_parsed() {
    for (open, close) in [("<< if true >>", "<< end >>"), ("<< range 1 >>", "<< end >>")] {
        let text = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        assert!(parse_error(&text).contains("max expression depth exceeded"));
    }
    let text = format!("<< {}1{} >>", "(".repeat(100_000), ")".repeat(100_000));
    assert!(parse_error(&text).contains("max expression depth exceeded"));
    let text = format!("<< {}1{} >>", "(".repeat(100), ")".repeat(100));
    assert_eq!(execute(&text, &inputs()).as_deref(), Ok("1"));
    let text = format!("{}x{}", "<< if true >>".repeat(100), "<< end >>".repeat(100));
    assert_eq!(execute(&text, &inputs()).as_deref(), Ok("x"));
}

#[test]
fn deeply_nested_values_are_neither_followed_nor_dropped_by_recursion() {
    let nest = "<< $x := list 1 >><< range 50000 >><< $x = list $x >><< end >>";
    assert_eq!(execute(nest, &inputs()).as_deref(), Ok(""));
    for function in ["toJson", "toYaml", "print", "quote", "toRawJson", "deepEqual $x"] {
        assert!(reached(&format!("{nest}<< {function} $x >>")).contains("levels deep"), "{function}");
    }
    let maps = "<< $x := dict >><< range 50000 >><< $n := dict >><< $_ := set $x \"k\" $n >><< $x = $n >><< end >>";
    assert_eq!(execute(maps, &inputs()).as_deref(), Ok(""));
    let json = format!("<< fromJson `{}{}` | len >>", "[".repeat(100_000), "]".repeat(100_000));
    reached(&json);
}

#[test]
fn a_map_cannot_be_put_into_itself() {
    for text in ["<< set inputs \"self\" inputs >>", "<< set inputs.deep \"up\" (list (dict \"x\" inputs)) >>"] {
        let error = execute(text, &inputs()).expect_err(text);
        assert!(error.reason.contains("the map would contain itself"), "{error}");
    }
}

#[test]
fn large_patterns_and_texts_are_refused_in_time() {
    let pattern = r"\pL{1000}";
    let data =
        Data::from(&json!({"re": pattern, "deep": "(".repeat(1000) + &")".repeat(1000), "long": "x".repeat(1 << 20)}));
    let error = execute("<< mustRegexMatch inputs.re inputs.long >>", &data).expect_err("too large");
    assert!(error.is_limit || error.reason.contains("expression too large"), "{error}");
    let error = execute("<< mustRegexMatch inputs.deep \"x\" >>", &data).expect_err("too deep");
    assert!(error.reason.contains("expression nests too deeply"), "{error}");
}
