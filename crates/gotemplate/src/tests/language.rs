use super::{check, check_failures, execute, execution_error, parse_error, rendered};
use crate::Data;

#[test]
fn control_structures_follow_go() {
    assert_eq!(rendered("<< if inputs.e >>1<< else if inputs.z >>2<< else >>3<< end >>"), "3");
    assert_eq!(rendered("<< with inputs.e >>1<< else with inputs.s >><< . >><< end >>"), "Hello World");
    assert_eq!(rendered("<< range inputs.l >><< . >>,<< else >>none<< end >>"), "c,a,b,");
    assert_eq!(rendered("<< range $k, $v := inputs.m >><< $k >>=<< $v >>;<< end >>"), "10=3;9=4;a=1;b=2;");
    assert_eq!(rendered("<< range 3 >><< . >><< end >><< range 0 >>x<< else >>-<< end >>"), "012-");
    assert_eq!(rendered("<< range inputs.l >><< if eq . \"a\" >><< continue >><< end >><< . >><< end >>"), "cb");
    assert_eq!(rendered("<< range inputs.l >><< if eq . \"a\" >><< break >><< end >><< . >><< end >>"), "c");
    assert_eq!(rendered("<< $x := 1 >><< range inputs.l >><< $x = add $x 1 >><< end >><< $x >>"), "4");
    assert_eq!(rendered("<< $x := 1 >><< if true >><< $x := 2 >><< end >><< $x >>"), "1");
}

#[test]
fn templates_can_call_each_other() {
    assert_eq!(rendered("<< define \"t\" >>[<< . >>|<< $ >>]<< end >><< template \"t\" inputs.i >>"), "[5|5]");
    assert_eq!(rendered("<< block \"b\" inputs.s >><< . >><< end >>"), "Hello World");
    let counted = "<< define \"c\" >><< if gt . 0 >><< . >><< template \"c\" (sub . 1) >><< end >><< end >><< template \"c\" 9 >>";
    assert_eq!(rendered(counted), "987654321");
    assert_eq!(
        execution_error("<< template \"none\" >>"),
        "template: resourceset:1:12: executing \"resourceset\" at <{{template \"none\"}}>: template \"none\" not defined"
    );
    let inside = execution_error("<< define \"t\" >>\n  << .x.y >><< end >><< template \"t\" inputs >>");
    assert_eq!(inside, "template: resourceset:2:7: executing \"t\" at <.x.y>: map has no entry for key \"x\"");
}

#[test]
fn trim_markers_and_comments_take_no_place() {
    assert_eq!(rendered("a \n <<- 1 ->> \n b"), "a1b");
    assert_eq!(rendered("<<-1>> <<-  2 ->>"), "-12");
    assert_eq!(rendered("a<</* c\nd */>>b <<- /* c */ ->> c"), "abc");
    assert_eq!(rendered("{{ x }} >> <<\n1\n>>"), "{{ x }} >> 1");
}

#[test]
fn constants_have_the_types_of_go() {
    check(&[
        ("typeOf 1", "int"),
        ("typeOf 1.0", "float64"),
        ("typeOf 1e3", "float64"),
        ("1e3", "1000"),
        ("typeOf 0x1F", "int"),
        ("0b101", "5"),
        ("0o17", "15"),
        ("017", "15"),
        ("1_000", "1000"),
        ("'a'", "97"),
        ("1i", "(0+1i)"),
        ("0x1p4", "16"),
        (r#""a\tb\u00e9\x41""#, "a\tbéA"),
        ("`a\\n`", "a\\n"),
        ("repeat 2.0 \"x\"", "xx"),
    ]);
    check_failures(&[("<< 9223372036854775808 >>", "at <9223372036854775808>: 9223372036854775808 overflows int")]);
}

#[test]
fn parse_errors_have_the_words_and_lines_of_go() {
    let cases = [
        ("<< if true >>\n\n", "3: unexpected EOF"),
        ("a\n<< 1\n", "3: unclosed action started at resourceset:2"),
        ("<< end >>", "1: unexpected {{end}}"),
        ("<< if 1 >><< else >><< else >><< end >>", "1: expected end; found {{else}}"),
        ("<< break >>", "1: {{break}} outside {{range}}"),
        ("<< | upper >>", "1: unexpected \"|\" in command"),
        ("<< if >><< end >>", "1: missing value for if"),
        ("<< nofn 1 >>", "1: function \"nofn\" not defined"),
        ("<< env \"HOME\" >>", "1: function \"env\" not defined"),
        ("<< $x >>", "1: undefined variable \"$x\""),
        ("<< () >>", "1: missing value for parenthesized pipeline"),
        ("<< (1 >>", "1: unclosed left paren"),
        ("<< 1) >>", "1: unexpected right paren"),
        ("<< 1.x >>", "1: bad number syntax: \"1.x\""),
        ("<< 99999999999999999999 >>", "1: integer overflow: \"99999999999999999999\""),
        ("<< 'ab' >>", "1: malformed character constant: 'ab'"),
        ("<< \"a\n\" >>", "1: unterminated quoted string"),
        ("<< `a", "1: unterminated raw quoted string"),
        ("<</* a", "1: unclosed comment"),
        ("<</* a */ b >>", "1: comment ends before closing delimiter"),
        ("<< /* a */ >>", "1: unexpected \"/\" in command"),
        ("<< \"x\".y >>", "1: unexpected . after term \"\\\"x\\\"\""),
        ("<< range $a, $b, $c := inputs >><< end >>", "1: too many declarations in range"),
        (
            "<< define \"x\" >>1<< end >><< define \"x\" >>2<< end >>",
            "1: template: multiple definition of template \"x\"",
        ),
        ("<< if 1 >><< define \"x\" >><< end >><< end >>", "1: unexpected <define> in command"),
        ("<< 1 | 2 >>", "1: non executable command in pipeline stage 2"),
        ("<< inputs.a-b >>", "1: bad character U+002D '-'"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_error(text), format!("template: resourceset:{expected}"), "{text}");
    }
}

#[test]
fn fields_are_looked_up_as_in_go() {
    assert_eq!(rendered("<< inputs.deep.er.val >> << (inputs.deep).er.val >>"), "x x");
    assert_eq!(rendered("<< inputs.n >>,<< range inputs.n >><< else >>none<< end >>"), "<no value>,none");
    let at_inputs = "template: resourceset:1:3: executing \"resourceset\" at <inputs>: ";
    let cases = [
        ("inputs.nope", "map has no entry for key \"nope\""),
        ("inputs.n.x", "nil pointer evaluating interface {}.x"),
        ("inputs.s.x", "can't evaluate field x in type interface {}"),
    ];
    for (expression, expected) in cases {
        assert_eq!(execution_error(&format!("<< {expression} >>")), format!("{at_inputs}{expected}"));
    }
    check_failures(&[
        ("<< .x >>", "at <.x>: nil data; no entry for key \"x\""),
        ("<< $x := 1 >><< $x.y >>", "at <$x.y>: can't evaluate field y in type int"),
        ("<< range inputs.l >><< .x >><< end >>", "at <.x>: can't evaluate field x in type interface {}"),
        ("<< inputs 1 >>", "at <inputs>: wrong number of args for inputs: want 0 got 1"),
    ]);
}

#[test]
fn an_int64_is_not_an_int() {
    assert_eq!(rendered("<< until (int inputs.i) >>"), "[0 1 2 3 4]");
    check_failures(&[
        ("<< until inputs.i >>", "at <inputs>: wrong type for value; expected int; got int64"),
        ("<< upper 5 >>", "at <5>: expected string; found 5"),
        ("<< until 2.5 >>", "at <2.5>: expected integer; found 2.5"),
        ("<< upper nil >>", "at <nil>: cannot assign nil to string"),
        ("<< upper inputs.n >>", "at <inputs>: wrong type for value; expected string; got interface {}"),
        ("<< inputs.n | upper >>", "at <upper>: invalid value; expected string"),
        ("<< upper \"a\" \"b\" >>", "at <upper>: wrong number of args for upper: want 1 got 2"),
    ]);
    assert_eq!(rendered("<< has 5 (list inputs.i) >> << has (int64 5) (list inputs.i) >>"), "false true");
}

#[test]
fn comparison_has_the_rules_of_go() {
    check(&[
        ("eq inputs.i 5", "true"),
        ("eq inputs.i 4 5", "true"),
        ("eq inputs.n nil", "true"),
        ("eq inputs.s nil", "false"),
        ("lt 1 inputs.i", "true"),
        ("ge \"b\" \"a\"", "true"),
        ("and 1 0 2", "0"),
        ("or 0 \"\" 3", "3"),
        ("or 1 (fail \"not evaluated\")", "1"),
        ("not inputs.l", "false"),
    ]);
    check_failures(&[
        ("<< eq 1 1.0 >>", "error calling eq: incompatible types for comparison: int and float64"),
        ("<< eq inputs.l inputs.l >>", "error calling eq: non-comparable type [c a b]: []interface {}"),
        ("<< lt true false >>", "error calling lt: invalid type for comparison"),
        ("<< eq 1 >>", "error calling eq: missing argument for comparison"),
    ]);
}

#[test]
fn without_inputs_the_data_is_a_nil_map() {
    let none = Data::none();
    assert_eq!(
        execute("<< inputs >> << toJson inputs >> << hasKey inputs \"a\" >>", &none).as_deref(),
        Ok("map[] null false")
    );
    let error = execute("<< set inputs \"a\" 1 >>", &none).expect_err("nil map").to_string();
    assert!(error.ends_with("error calling set: assignment to entry in nil map"), "{error}");
}
