use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn one(text: &str) -> Value {
    parse_one(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn refused(text: &str) -> String {
    match parse_documents(text) {
        Ok(values) => panic!("{:?} was read as {values:?}", text.get(..40.min(text.len()))),
        Err(error) => error.to_string(),
    }
}

#[test]
fn plain_scalars_have_the_types_kubectl_gives_them() {
    let table = [
        ("true", json!(true)),
        ("on", json!(true)),
        ("yes", json!(true)),
        ("y", json!(true)),
        ("off", json!(false)),
        ("n", json!(false)),
        ("0644", json!(420)),
        ("0123", json!(83)),
        ("08", json!(8)),
        ("1_000", json!(1000)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("0b11", json!(3)),
        ("1e3", json!(1000)),
        ("1.0", json!(1)),
        ("-2.0", json!(-2)),
        ("1.5", json!(1.5)),
        ("2026-01-02", json!("2026-01-02")),
        ("12:30:45", json!("12:30:45")),
        ("\"on\"", json!("on")),
        ("'0644'", json!("0644")),
        ("~", json!(null)),
        ("", json!(null)),
        ("!custom x", json!("x")),
    ];
    for (text, expected) in table {
        assert_eq!(one(&format!("a: {text}\n")), json!({ "a": expected }), "{text}");
    }
}

#[test]
fn a_patch_keeps_the_words_that_only_yaml_1_1_takes_for_booleans() {
    let text = "{a: on, b: y, c: true, d: 0644}";
    assert_eq!(parse_patch_documents(text).unwrap(), [json!({"a": "on", "b": "y", "c": true, "d": 420})]);
}

#[test]
fn merge_keys_are_expanded_and_local_keys_win() {
    assert_eq!(
        one("base: &b {x: 1, z: 2}\nuse:\n  <<: *b\n  z: 3\n"),
        json!({"base": {"x": 1, "z": 2}, "use": {"x": 1, "z": 3}})
    );
}

#[test]
fn empty_documents_are_left_out() {
    let text = "---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n";
    assert_eq!(parse_documents(text).unwrap(), [json!({"a": 1}), json!({"b": 2})]);
    assert_eq!(parse_documents("").unwrap(), [] as [Value; 0]);
    assert!(matches!(parse_one("# only a comment\n"), Err(YamlError::NotOneDocument { found: 0 })));
    assert!(matches!(parse_one(text), Err(YamlError::NotOneDocument { found: 2 })));
}

#[test]
fn byte_order_mark_and_carriage_returns_are_accepted() {
    assert_eq!(one("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\n"), json!({"a": 1, "b": "x\ny\n"}));
}

#[test]
fn json_is_read() {
    assert_eq!(one(r#"{"a": [1, "x"], "b": {"c": null}}"#), json!({"a": [1, "x"], "b": {"c": null}}));
}

#[test]
fn keys_are_always_text() {
    assert_eq!(one("{y: 1, 0644: 2, 1.0: 4}"), json!({"y": 1, "0644": 2, "1.0": 4}));
}

#[test]
fn key_order_is_kept() {
    let value = one("z: 1\na: 2\nm: 3\n");
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["z", "a", "m"]);
    assert_eq!(to_string(&value).unwrap(), "z: 1\na: 2\nm: 3\n");
}

#[test]
fn errors_say_where() {
    for (text, expected) in [
        ("a: 1\nb: 2\na: 3\n", "duplicate key \"a\" at line 3, column 1"),
        ("a: [1, 2\nb: 3\n", "illegal placement of ':' indicator at line 2, column 2"),
        ("a: *missing\n", "the alias names an anchor that is not defined before it at line 1, column 4"),
        ("b: &a [*a]\n", "the alias refers to a node that contains it at line 1, column 8"),
        (
            "a: {{ template }}\n",
            "a key must be text, not a mapping or a list (templates like {{ … }} need quotes) at line 1, column 5",
        ),
        ("a:\n\t- x\n", "tabs disallowed within this context (block indentation) at line 2, column 2"),
        ("a: .inf\n", ".inf is not a number that a manifest can hold at line 1, column 4"),
        ("a: x\u{0}y\n", "the text contains a NUL byte at line 1, column 5"),
        ("null: 1\n", "a key must be text, not null at line 1, column 1"),
    ] {
        assert_eq!(refused(text), expected, "{text:?}");
    }
}

/// Every hostile input has to be refused with little work, in a debug build. Work is the processor time of this thread,
/// because the elapsed time depends on the load of the machine.
fn quickly<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let result = run();
    let used = processor_time() - start;
    assert!(used < Duration::from_secs(10), "{what} took {used:?} of processor time");
    result
}

/// Returns the processor time that this thread has used, from proc(5); zero on systems without it.
fn processor_time() -> Duration {
    let Ok(stat) = std::fs::read_to_string("/proc/thread-self/stat") else { return Duration::ZERO };
    // The second field is the name of the thread, in brackets, and may hold spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // Linux counts in hundredths of a second, regardless of the frequency of its own clock.
    Duration::from_millis(ticks * 10)
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [previous.as_str(); 10].join(", "));
    }
    let message = quickly("bomb", || refused(&bomb));
    assert!(message.starts_with("the document is larger than the limit"), "{message}");
    let mut merges = String::from("m0: &m0 {a: 1}\n");
    for level in 1..40 {
        merges += &format!("m{level}: &m{level} {{<<: [*m{p}, *m{p}], k{level}: 1}}\n", p = level - 1);
    }
    quickly("merge bomb", || refused(&merges));
}

#[test]
fn many_aliases_of_small_anchors_are_read_and_copies_of_a_large_one_are_refused() {
    let aliases = |count: usize| (0..count).map(|n| format!("  key{n}: *app\n")).collect::<String>();
    let read = one(&format!("name: &app web\nvalues:\n{}", aliases(5_000)));
    assert_eq!(read["values"].as_object().map(|values| values.len()), Some(5_000));
    assert_eq!(read["values"]["key4999"], "web");
    let bomb = format!("name: &app {}\nvalues:\n{}", "x".repeat(1 << 20), aliases(5_000));
    let message = quickly("copies", || refused(&bomb));
    assert!(message.starts_with("the document is larger than the limit"), "{message}");
    quickly("positions of copies", || parse_positions(&bomb));
}

#[test]
fn an_alias_as_a_key_may_stand_right_before_its_colon() {
    for (text, expected) in [
        ("x: &app web\n*app:\n  a: 1\n", json!({"x": "web", "web": {"a": 1}})),
        ("x: &app web\nv:\n  *app: 1\n  b: *app\n", json!({"x": "web", "v": {"web": 1, "b": "web"}})),
        ("x: &app web\nv: {*app: 1, b: 2}\n", json!({"x": "web", "v": {"web": 1, "b": 2}})),
        ("x: &app web\nv:\n- *app: 1\n", json!({"x": "web", "v": [{"web": 1}]})),
        ("x: &app web\n*app :\n- 1\n", json!({"x": "web", "web": [1]})),
        ("x: &a-b_c web\n*a-b_c:  1\n", json!({"x": "web", "web": 1})),
        (
            "t: '*app:'\nu: |\n  *app: 1\nx: &app web\n*app: 1\n",
            json!({"t": "*app:", "u": "*app: 1\n", "x": "web", "web": 1}),
        ),
    ] {
        assert_eq!(one(text), expected, "{text:?}");
    }
    assert_eq!(
        refused("x: &app web\nv: {*app: 1, c: *none}\n"),
        "the alias names an anchor that is not defined before it at line 2, column 17"
    );
    let text = "x: &app web\nv: {*app: 1, c: {d: 2}}\n";
    let positions = parse_positions(text);
    assert_eq!(positions[0].value("/v/c/d"), Some(Location { line: 2, column: 21 }));
    assert_eq!(positions[0].value("/v/web"), Some(Location { line: 2, column: 11 }));
    assert_eq!(positions[0].key("/v/web"), Some(Location { line: 2, column: 5 }));
}

#[test]
fn lines_of_a_quoted_scalar_may_begin_anywhere() {
    for (text, expected) in [
        ("v:\n  z: '{\n\"a\": 1,\n  \"b\": 2\n}'\n  w: 1\n", json!({"v": {"z": "{ \"a\": 1, \"b\": 2 }", "w": 1}})),
        ("v: \"a\nb\"\nw: \"c\n\nd\"\n", json!({"v": "a b", "w": "c\nd"})),
        ("v: 'it''s\nso'\nw: \"a \\\" \\\nb\"\n", json!({"v": "it's so", "w": "a \" b"})),
        ("v:\n- \"a\nb\"\n- c\n", json!({"v": ["a b", "c"]})),
        ("v:\n  z: \"a\n\tb\"\n", json!({"v": {"z": "a b"}})),
        ("v: \"a\n#b\"\n", json!({"v": "a #b"})),
        ("v: \"a\r\nb\"\r\nw: 1\r\n", json!({"v": "a b", "w": 1})),
        ("v: \"a\rb\"\rw: 1\r", json!({"v": "a b", "w": 1})),
        ("v: \"a\n\u{a0}\nb\"\n", json!({"v": "a \u{a0} b"})),
        ("x: &k w\nv: \"ü\nb\"\n*k: 1\n", json!({"x": "w", "v": "ü b", "w": 1})),
    ] {
        assert_eq!(one(text), expected, "{text:?}");
    }
    for text in ["v: \"a\n---\nb\"\n", "\"a\nb\": 1\n", "v: a\nb\n", "v: \"a\nb\n", "v:\n  z: a\n b\n"] {
        assert!(parse_documents(text).is_err(), "{text:?}");
    }
    assert_eq!(
        refused("v: 'a\nb'\nw: *none\n"),
        "the alias names an anchor that is not defined before it at line 3, column 4"
    );
    assert_eq!(parse_positions("v: 'a\nb'\nw: {x: 1}\n")[0].value("/w/x"), Some(Location { line: 3, column: 8 }));
    let many: String = (0..4_000).map(|n| format!("k{n}: \"a\nb\"\n")).collect();
    quickly("many scalars to mend", || assert!(parse_documents(&many).is_err()));
    let keys: String =
        std::iter::once("x: &k w\n".to_owned()).chain((0..20_000).map(|n| format!("a{n}:\n  *k: 1\n"))).collect();
    quickly("many keys to part", || assert!(parse_documents(&keys).is_ok()));
    let wide = format!("{}k: \"{}\"\n", " ".repeat(100_000), "a\n".repeat(100_000));
    quickly("a wide scalar to mend", || assert!(parse_documents(&wide).is_err()));
}

#[test]
fn json_that_is_not_yaml_is_read_as_json() {
    let long = "k".repeat(2_000);
    assert_eq!(one(&format!("{{\"{long}\": null}}")), json!({ long.as_str(): null }));
    assert_eq!(one("{\"a\": \"\u{7f}\", \"b\": 1.0}"), json!({"a": "\u{7f}", "b": 1}));
    assert_eq!(parse_documents("{\"a\": 1}\n{\"b\": null}\n").unwrap(), [json!({"a": 1}), json!({"b": null})]);
    assert_eq!(refused("{\"a\": 1, \"a\": 2}"), "duplicate key \"a\" at line 1, column 10");
    let deep = format!("{{\"{long}\": {}{}}}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1));
    assert!(parse_documents(&deep).is_err());
    assert!(parse_documents("{\"a\": 1}\nb: 2\n").is_err());
}

#[test]
fn a_patch_that_ends_with_a_block_scalar_loses_its_final_line_breaks() {
    let read = |text: &str| parse_patch_documents(text).unwrap();
    for block in ["|\n  a\n  b\n", "|+\n  a\n  b\n\n\n", "|-\n  a\n  b", "|\n  a\n  b\n  \n"] {
        assert_eq!(read(&format!("v: {block}")), [json!({"v": "a\nb"})], "{block:?}");
        assert_eq!(
            read(&format!("x: 1\nv:\n- w: {}", block.replace("\n ", "\n    "))),
            [json!({"x": 1, "v": [{"w": "a\nb"}]})]
        );
    }
    assert_eq!(read("v: |\n  a\n# end\n"), [json!({"v": "a\n"})]);
    assert_eq!(read("v: |\n  a\n---\nw: |\n  b\n"), [json!({"v": "a\n"}), json!({"w": "b"})]);
    assert_eq!(read("b: &b {c: 1}\nv:\n  <<: *b\n  d: |\n    a\n"), [json!({"b": {"c": 1}, "v": {"d": "a", "c": 1}})]);
    // In a file, kubectl adds the last line break itself.
    assert_eq!(one("v: |\n  a"), json!({"v": "a\n"}));
}

#[test]
fn positions_know_the_letters_of_a_scalar() {
    let positions = parse_positions("a: 1.10\nb: [0x1F, &x 'it''s', *x]\n");
    let text = |pointer: &str| positions[0].text(pointer);
    assert_eq!((text("/a"), text("/b/0"), text("/b/1")), (Some("1.10"), Some("0x1F"), Some("it's")));
    assert_eq!((text("/b/2"), text("/b"), text("/c")), (Some("it's"), None, None));
}

#[test]
fn deep_nesting_is_refused() {
    let depth = 100_000;
    quickly("flow", || refused(&"[".repeat(depth)));
    quickly("flow map", || refused(&"{a: ".repeat(depth)));
    quickly("sequence dashes", || refused(&"- ".repeat(depth)));
    let stairs: String = (0..2000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    quickly("block map", || refused(&stairs));
    let message = refused(&format!("{}{}", "[".repeat(MAX_DEPTH + 1), "]".repeat(MAX_DEPTH + 1)));
    assert_eq!(message, "nesting is deeper than the 128 levels that are read at most at line 1, column 129");
    let allowed = format!("{}1{}", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
    assert!(parse_documents(&allowed).is_ok());
    assert_eq!(parse_positions(&allowed).len(), 1);
    quickly("positions", || parse_positions(&"[".repeat(depth)));
}

#[test]
fn fifty_megabytes_are_refused_before_they_are_parsed_or_even_read() {
    let line = "a: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n";
    let text = line.repeat(50 * 1024 * 1024 / line.len());
    assert!(matches!(quickly("parse", || parse_documents(&text)), Err(YamlError::TooLarge)));
    // An endless reader: the limit must apply while reading.
    assert!(matches!(quickly("read", || read(std::io::repeat(b'a'))), Err(YamlError::TooLarge)));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_line() {
    let error = read(&b"a: 1\nb: \xff\xfe\n"[..]).unwrap_err();
    assert_eq!(error.to_string(), "the text is not valid UTF-8 (first bad byte in line 2)");
    assert_eq!(read("grün: ✓\n".as_bytes()).unwrap(), "grün: ✓\n");
}

#[test]
fn utf_16_with_a_byte_order_mark_is_read() {
    let text = "grün: ✓\r\n";
    for (mark, order) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)] {
        let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(order)).collect();
        assert_eq!(read(bytes.as_slice()).unwrap(), text);
        let half = read(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!(half.to_string(), "the text begins with a byte order mark of UTF-16, but it is not valid UTF-16");
    }
    assert_eq!(read(&[0xFF, 0xFE][..]).unwrap(), "");
}

#[test]
fn a_long_head_of_comments_is_read() {
    let text = format!("{}a: 1\n", "# a line of a licence\n".repeat(500));
    assert_eq!(one(&text), json!({"a": 1}));
    assert_eq!(parse_positions(&text)[0].key("/a"), Some(Location { line: 501, column: 1 }));
}

#[test]
fn a_large_list_of_small_mappings_is_read() {
    let text = "- name: abcdefgh\n  value: some text\n".repeat(60_000);
    assert_eq!(quickly("list", || one(&text)).as_array().unwrap().len(), 60_000);
}

#[test]
fn positions_name_values_and_keys() {
    let text = "# head\nspec:\n  sync:\n    kind: Git\n    a/b: 1\n  list:\n  - x\n  - name: y\n";
    let positions = &parse_positions(text)[0];
    let at = |line, column| Some(Location { line, column });
    assert_eq!(positions.value("/spec/sync/kind"), at(4, 11));
    assert_eq!(positions.key("/spec/sync/kind"), at(4, 5));
    assert_eq!(positions.key("/spec/sync/a~1b"), at(5, 5));
    assert_eq!(positions.value("/spec/list/0"), at(7, 5));
    assert_eq!(positions.value("/spec/list/1/name"), at(8, 11));
    assert_eq!(positions.key("/spec/list/1"), at(8, 5));
    // The position of a missing field is that of its parent.
    assert_eq!(positions.value("/spec/sync/url"), positions.value("/spec/sync"));
    assert_eq!(positions.key("/spec/sync/url"), at(3, 3));
    assert_eq!(positions.value(""), at(2, 1));
}

#[test]
fn positions_follow_documents_aliases_and_merges() {
    let text = "---\n---\na: &x {k: 1}\nb: *x\nc:\n  <<: *x\n---\nz: 1\n";
    let all = parse_positions(text);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].value("/b").map(|l| l.line), Some(4));
    assert_eq!(all[0].value("/b/k"), Some(Location { line: 3, column: 11 }));
    assert_eq!(all[0].value("/c/k"), Some(Location { line: 3, column: 11 }));
    assert_eq!(all[1].key("/z"), Some(Location { line: 8, column: 1 }));
}

#[test]
fn words_that_yaml_1_1_readers_mistake_are_quoted() {
    for word in [
        "on",
        "off",
        "y",
        "n",
        "yes",
        "No",
        "TRUE",
        "null",
        "~",
        "",
        "1_000",
        "12:30:45",
        "2026-01-02",
        "=",
        "<<",
        "0644",
        "0o17",
        "0x1F",
        "1e3",
        ".inf",
        ".nan",
        "-",
        "- a",
        "a: b",
        "a #b",
        "#",
        "&a",
        "*a",
        "!x",
        "%x",
        "@x",
        "`x",
        " x",
        "x ",
        "x:",
        "[",
        "{",
        "1.10",
        "-1",
        "+1",
        "---",
        "...",
        "?",
        "|",
        ">",
        "'",
        "\"",
        "a\tb",
        "\\",
    ] {
        for text in [to_string(&json!({"k": word})).unwrap(), to_string(&json!([word])).unwrap()] {
            let strict: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
            let read = serde_json::to_value(strict).unwrap();
            assert!(read == json!({"k": word}) || read == json!([word]), "{word:?} was written as {text}");
            assert_eq!(one(&text), read);
        }
    }
    for word in ["on", "off", "y", "n", "1_000", "12:30:45", "2026-01-02", "=", "<<"] {
        let text = to_string(&json!({"k": word})).unwrap();
        assert!(text.contains('\'') || text.contains('"'), "{text}");
    }
}

#[test]
fn text_of_several_lines_is_a_block_and_long_lines_are_not_folded() {
    let long = "word ".repeat(100);
    let value = json!({"script": "a\nb\n", "no-newline": "a\nb", "long": long.trim_end()});
    let text = to_string(&value).unwrap();
    assert!(text.contains("script: |\n  a\n  b\n"), "{text}");
    assert!(text.contains("no-newline: |-\n  a\n  b\n"), "{text}");
    assert!(text.lines().any(|line| line.len() > 450), "{text}");
    assert_eq!(one(&text), value);
}

#[test]
fn every_document_of_a_stream_starts_with_its_marker() {
    let values = [json!({"a": 1}), json!({"b": []}), json!({"c": {}})];
    assert_eq!(document_stream(&values).unwrap(), "---\na: 1\n---\nb: []\n---\nc: {}\n");
    assert_eq!(parse_documents(&document_stream(&values).unwrap()).unwrap(), values);
}

/// Text of the kinds that break emitters: leading and trailing space, tabs, newlines, indicators, control characters.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_string()),
        Just("\t".to_string()),
        Just(" ".to_string()),
        Just("\r".to_string()),
        Just("#".to_string()),
        Just(": ".to_string()),
        Just("- ".to_string()),
        Just("---".to_string()),
        Just("'".to_string()),
        Just("\"".to_string()),
        Just("\\".to_string()),
        Just("\u{85}".to_string()),
        Just("\u{2028}".to_string()),
        Just("\u{feff}".to_string()),
        Just("\u{7f}".to_string()),
        Just("0".to_string()),
        "[a-z]{1,4}",
        any::<char>().prop_filter("NUL is refused on purpose", |c| *c != '\0').prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000i64..1_000_000).prop_map(|n| Value::from(n as f64 + 0.5)),
        nasty().prop_map(Value::from),
        nasty().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(nasty(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn positions_leave_out_the_same_empty_documents() {
    let names = ["str", "null", "int", "float", "bool", "seq", "map", "binary", "foobinary", "timestamp", "x", "0"];
    let spellings = |name: &str| {
        ["!", "!!"].map(|handle| format!("{handle}{name}")).into_iter().chain(
            ["tag:yaml.org,2002:", "tag:yaml.org,2002:!", "tag:example.org,2002:"].map(|uri| format!("!<{uri}{name}>")),
        )
    };
    let tags = names.into_iter().flat_map(spellings).chain(["", "!", "!!"].map(String::from));
    for tag in tags {
        for scalar in ["", "~", "null", "Null", "''", "'~'", "text"] {
            let text = format!("{tag} {scalar}\n---\na: 1\n");
            if let Ok(values) = parse_documents(&text) {
                assert_eq!(values.len(), parse_positions(&text).len(), "{text}");
            }
        }
    }
}

/// Checks that the simple reader agrees with the library. Returns whether the simple reader applied.
fn is_simple(text: &str) -> bool {
    let both = [false, true].map(|strict_booleans| parse_both(text, strict_booleans));
    for read in both.iter().flatten() {
        let [simple, library] = read.as_ref().unwrap_or_else(|error| panic!("{text:?}: the library says {error}"));
        assert_eq!(simple, library, "{text:?}");
    }
    both.iter().all(Option::is_some)
}

#[test]
fn scalars_have_the_same_type_without_the_library() {
    const WORDS: &[&str] = &[
        "y",
        "N",
        "yes",
        "No",
        "on",
        "OFF",
        "true",
        "True",
        "FALSE",
        "null",
        "Null",
        "NULL",
        "none",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        ".inf",
        "-.INF",
        "+.inf",
        "-inf",
        ".nan",
        "~",
        "=",
        "<<",
        "<none>",
        "<<x",
        "0",
        "00",
        "007",
        "0644",
        "08",
        "-0",
        "+1",
        "-1",
        "1_000",
        "_1",
        "1__0",
        "0x1F",
        "-0x1f",
        "0o17",
        "0b101",
        "1:30",
        "12:30:45",
        "1.0",
        "1.",
        ".5",
        "-.5",
        "1e3",
        "1E+3",
        "1e",
        "e5",
        "0.1.2",
        "1.2.3",
        "v1",
        "10m",
        "100Mi",
        "1Gi",
        "5 m",
        "1 000",
        "2001-12-14",
        "2001-12-14 21:59:43",
        "2026-11-24T00:00:00Z",
        "123456789012345678",
        "1234567890123456789",
        "12345678901234567890",
        "123456789012345678901234567890",
        "0.1234567890123456789",
        "9007199254740993",
        "1e400",
        "-",
        "--",
        "---",
        "...",
        "....",
        "-c",
        "--flag",
        "--flag=5s",
        "-5s",
        "--5",
        "---5",
        "--- 5",
        "- 5",
        "? 5",
        "?5",
        ":5",
        ":8080",
        "::",
        "a:b",
        "/path",
        "^a+$",
        "(x)",
        "$(y)",
        ".spec.url",
        ".5x",
        "._",
        "é",
        "é1",
        "٣",
        "5\u{a0}",
        "true\u{a0}",
        "\u{a0}true",
        "\u{2003}1",
        "5\u{85}",
        "a#b",
        "5#",
        "%5",
        "@5",
        "`5",
        "!5",
        "&5",
        "*5",
        ">5",
        "|5",
        "'5",
        "\"5",
        "[5",
        "{5",
        "]5",
        "}5",
        ",5",
        "5,",
        "5]",
        "5:",
        "a,",
        "60-5",
        "+",
        "+.",
        "++5",
        "190:20:30",
        "0x",
        "0xg",
        "+.nan",
        "-Infinity",
        "--inf",
        "5.inf",
        "3fa9c0",
        "3fa9z0",
        "1_k",
        ".k",
        "+k",
        "-k",
        "1:k",
        "1e-7",
    ];
    for word in WORDS {
        for text in [
            format!("{word}\n"),
            format!("a: {word}\n"),
            format!("a:\n  b:\n  - {word}\n  - c\n"),
            format!("- {word}\n"),
            format!("{word}: 1\n"),
            format!("a: [{word}, b]\n"),
            format!("a: {{b: {word}}}\n"),
            format!("a: {{{word}: b}}\n"),
            format!("a: {word} # why\n"),
            format!("a: {word}\n  {word}\n\n  {word}\n"),
            format!("a: '{word}'\nb: |\n  {word}\nc: >-\n  {word}\n"),
            format!("--- {word}\n--- {word}\n"),
        ] {
            is_simple(&text);
        }
    }
}

#[test]
fn ordinary_manifests_are_read_without_the_library_and_unusual_yaml_is_not() {
    let text = "# a comment\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {}}\ndata:\n  a: |\n    x: 1\n  \
        b: \"\\u0041\"\n  c: it's\n  empty:\nargs: [--a=1, -b, :8080, /x, 10m, 0644, yes, 1.0, -1]\n...\n---\n- 1\n- - true\n---\n~\n";
    assert!(is_simple(text));
    let unusual = [
        "a: &x 1\nb: *x\n",
        "a: !!str 1\n",
        "a: {b: 1}\n<<: {c: 2}\n",
        "%YAML 1.2\n---\na: 1\n",
        "a: 1\na: 2\n",
        "? [a]\n: 1\n",
        "1: a\n",
        "yes: a\n",
        "text\n",
        "a: .inf\n",
        "a: 'open\n",
        "a: b: c\n",
    ];
    for text in unusual {
        assert!(!is_simple(text), "{text}");
    }
    let empty = "---\n".repeat(MAX_DOCUMENTS + 1);
    assert!(!is_simple(&empty) && parse_documents(&empty).is_err(), "empty documents count");
    let long = format!("a: \"{}\"\n", "\\L".repeat(MAX_INPUT_BYTES / 3 + 1));
    assert!(!is_simple(&long) && parse_documents(&long).is_err(), "what escapes stand for counts");
    let deep = |depth: usize| format!("{}1{}\n", "[".repeat(depth), "]".repeat(depth));
    assert!(is_simple(&deep(MAX_DEPTH)));
    assert!(!is_simple(&deep(MAX_DEPTH + 1)) && parse_documents(&deep(MAX_DEPTH + 1)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Written text is read back unchanged by this reader and by the libyaml family, which reads like go-yaml.
    #[test]
    fn two_readers_agree_with_what_is_written(value in value()) {
        let text = to_string(&value).unwrap();
        if value != Value::Null {
            prop_assert_eq!(&one(&text), &value, "{}", text);
        }
        let other: serde_yaml::Value = match serde_yaml::from_str(&text) {
            Ok(other) => other,
            Err(error) => return Err(TestCaseError::fail(format!("{error}: {text:?}"))),
        };
        prop_assert_eq!(&serde_json::to_value(other).unwrap(), &value, "{}", text);
        is_simple(&text);
    }

    #[test]
    fn any_text_is_read_or_refused_without_panic(text in "\\PC{0,60}|[ -~\n\t]{0,120}|[!:a0~' -]{0,12}") {
        is_simple(&text);
        let positions = parse_positions(&text);
        if let Ok(values) = parse_documents(&text) {
            prop_assert_eq!(values.len(), positions.len());
        }
    }
}

#[test]
fn escaped_quotes_comments_without_a_blank_and_tabs_in_brackets_are_read() {
    let text = "a: \"it\\'s\"\nb: 'b'#c\nc: |#c\n  x\nd: {\n\t\"e\": [\n\t\t1\n]}\n";
    assert_eq!(one(text), json!({"a": "it's", "b": "b", "c": "x\n", "d": {"e": [1]}}));
    // The position is that of the text as written.
    let error = parse_documents("a: {b: \"it\\'s\", c: *x}").expect_err("refused");
    assert_eq!(error.location().map(|location| location.column), Some(20), "{error}");
}

/// Forms from <https://github.com/yaml/yaml-test-suite> (MIT) that `kubectl` 1.32 reads differently, each with the
/// reason.
#[test]
fn deviations_from_kubectl_are_these() {
    for (text, expected) in [
        // In kubectl the merge key wins if it is last; in the specification of merge keys it never wins.
        ("x: &x {a: 1}\nv: {a: 2, <<: *x}\n", json!({"x": {"a": 1}, "v": {"a": 2}})),
        // kubectl turns such keys into 8, 1000 and true, which an author does not mean.
        ("010: a\n1e3: b\nyes: c\n", json!({"010": "a", "1e3": "b", "yes": "c"})),
        // kubectl reads mixed case as text; the library ignores the case.
        ("a: tRUE\nb: nULL\n", json!({"a": true, "b": null})),
        // kubectl refuses directives, application tags, names with dots, tabs as blanks and flow mappings that are not
        // JSON.
        ("%YAML 1.2\n---\na: 1\n", json!({"a": 1})),
        ("a: &x-y.z b\n", json!({"a": "b"})),
        ("a:\n-\tb\n", json!({"a": ["b"]})),
        ("{a: 1,}\n", json!({"a": 1})),
        ("a: \"\\ud83d\\ude00\"\n", json!({"a": "\u{1f600}"})),
    ] {
        assert_eq!(one(text), expected, "{text:?}");
    }
    // kubectl takes the last of two keys, and truncates the text at the wrong indentation.
    for text in ["a: 1\na: 2\n", "  a: 1\n b: 2\n", "a: 1e400\n"] {
        assert!(parse_documents(text).is_err(), "{text:?}");
    }
}
