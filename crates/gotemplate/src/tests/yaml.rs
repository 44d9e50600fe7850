use serde_json::json;

use crate::yaml::to_string;

#[test]
fn keys_stand_in_natural_order_and_lists_flush() {
    let value = json!({"a10": 1, "a2": [1, [2, {"x": null}]], "B": {}, "_": [], "2": "x", "10": "y"});
    let expected = "_: []\n\"2\": x\n\"10\": \"y\"\nB: {}\na2:\n- 1\n- - 2\n  - x: null\na10: 1\n";
    assert_eq!(to_string(&value).as_deref(), Ok(expected));
}

#[test]
fn texts_are_quoted_where_a_reader_could_take_them_for_something_else() {
    let cases = [
        ("a", "a"),
        ("", "\"\""),
        ("y", "\"y\""),
        ("No", "\"No\""),
        ("1_0", "\"1_0\""),
        ("0o7", "\"0o7\""),
        ("1.", "\"1.\""),
        ("2024-01-02", "\"2024-01-02\""),
        ("12:30", "\"12:30\""),
        ("1e", "1e"),
        ("NaN", "NaN"),
        (".nan", "\".nan\""),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("?a", "?a"),
        ("it's", "it's"),
        ("'q'", "'''q'''"),
        ("a ", "'a '"),
        ("{{ x }}", "'{{ x }}'"),
        ("a\tb", "\"a\\tb\""),
        ("😀", "\"\\U0001F600\""),
        ("1.2.3", "1.2.3"),
    ];
    for (text, expected) in cases {
        assert_eq!(to_string(&json!(text)), Ok(format!("{expected}\n")), "{text}");
    }
}

#[test]
fn texts_of_several_lines_are_blocks() {
    let value = json!({"a": "x\ny\n", "b": "x\ny", "c": "x\n\n", "d": " x\ny", "e": "x \ny"});
    let expected = "a: |\n  x\n  y\nb: |-\n  x\n  y\nc: |+\n  x\n\nd: |2-\n   x\n  y\ne: \"x \\ny\"\n";
    assert_eq!(to_string(&value).as_deref(), Ok(expected));
}

#[test]
fn long_texts_fold_behind_column_80() {
    let text = "word ".repeat(16) + "tail end";
    let expected = format!(
        "k: {}
  tail end
",
        "word ".repeat(16).trim_end()
    );
    assert_eq!(to_string(&json!({"k": text})).as_deref(), Ok(expected.as_str()));
}

#[test]
fn characters_that_yaml_cannot_hold_are_an_error() {
    let error = to_string(&json!("a\u{7f}")).expect_err("a control character");
    assert_eq!(error.to_string(), "yaml: control characters are not allowed");
}

#[test]
fn keys_that_have_no_order_among_themselves_are_sorted_the_same_way_each_time() {
    let keys: Vec<String> =
        (0..200).map(|number| format!("{}{}", number * 7 % 101, ["", "a", "-"][number % 3])).collect();
    let object = |keys: &mut dyn Iterator<Item = &String>| {
        serde_json::Value::Object(keys.map(|key| (key.clone(), json!(1))).collect())
    };
    assert_eq!(to_string(&object(&mut keys.iter())), to_string(&object(&mut keys.iter().rev())));
}
