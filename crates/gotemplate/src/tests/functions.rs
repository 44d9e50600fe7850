use super::{check, check_failures};
use crate::functions;

#[test]
fn every_function_is_in_the_table_once() {
    let mut names = functions::names();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for absent in ["now", "env", "date", "uuidv4", "getHostByName", "include", "lookup", "semver", "fromYaml"] {
        assert!(!names.contains(&absent), "{absent}");
    }
}

#[test]
fn strings() {
    check(&[
        ("title \"it's a-b_c\"", "It'S A-B_c"),
        ("trimAll \"xy\" \"xyaxy\"", "a"),
        ("substr 1 3 \"abcd\"", "bc"),
        ("trunc -2 \"abcd\"", "cd"),
        ("nindent 2 \"a\\nb\"", "\n  a\n  b"),
        ("splitList \"\" \"aé\"", "[a é]"),
        ("(split \",\" \"a,b\")._1", "b"),
        ("join \"-\" (list 1 nil \"b\")", "1-b"),
        ("quote nil 1 \"a\\\"b\"", r#""1" "a\"b""#),
        ("replace \"\" \"-\" \"ab\"", "-a-b-"),
        ("upper \"straße ǆ\"", "STRAßE Ǆ"),
        ("sortAlpha (list 10 9 \"b\")", "[10 9 b]"),
    ]);
    check_failures(&[
        ("<< repeat -1 \"a\" >>", "error calling repeat: strings: negative Repeat count"),
        ("<< substr 3 1 \"abcd\" >>", "error calling substr: runtime error: slice bounds out of range [3:1]"),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("add 1.9 \"2\" true", "4"),
        ("typeOf (add 1 2)", "int64"),
        ("round -1.5 0", "-2"),
        ("round 2.345 2", "2.35"),
        ("seq 0", "1 0"),
        ("seq 10 -3 0", "10 7 4 1"),
        ("until -3", "[0 -1 -2]"),
        ("int 1e19", "-9223372036854775808"),
        ("atoi \"99999999999999999999\"", "9223372036854775807"),
        ("atoi \"123456789012345678901.5\"", "9223372036854775807"),
        ("atoi \"-99999999999999999999x\"", "-9223372036854775808"),
        ("atoi \"9223372036854775808x\"", "0"),
        ("float64 \"1_000.5\"", "1000.5"),
        ("float64 \"1_\"", "0"),
        ("float64 \"1__0\"", "0"),
        ("float64 \"1_e3\"", "0"),
        ("float64 \"0x_1_0p0\"", "16"),
        ("toDecimal 17", "15"),
        ("maxf 1 2.5", "2.5"),
        ("randInt 3 5", "4"),
    ]);
    check_failures(&[
        ("<< div 1 0 >>", "error calling div: runtime error: integer divide by zero"),
        ("<< randInt 5 5 >>", "error calling randInt: invalid argument to Intn"),
    ]);
}

#[test]
fn lists_and_dictionaries() {
    check(&[
        ("uniq (list 1 \"1\" 1.0 1)", "[1 1 1]"),
        ("chunk 2 inputs.l", "[[c a] [b]]"),
        ("typeOf (chunk 2 inputs.l)", "[][]interface {}"),
        ("slice inputs.l 1 2", "[a]"),
        ("without inputs.l \"a\"", "[c b]"),
        ("toJson (rest (list))", "null"),
        ("keys inputs.m", "[10 9 a b]"),
        ("values inputs.m", "[3 4 1 2]"),
        ("dig \"deep\" \"er\" \"val\" \"d\" inputs", "x"),
        ("dig \"no\" \"d\" inputs", "d"),
        ("omit inputs.m \"10\" \"9\"", "map[a:1 b:2]"),
        ("dict \"a\" 1 \"b\"", "map[a:1 b:]"),
        ("get inputs \"nope\" | default \"d\"", "d"),
    ]);
    check_failures(&[
        ("<< first inputs.s >>", "error calling first: Cannot find first on type string"),
        ("<< first nil >>", "error calling first: runtime error: invalid memory address or nil pointer dereference"),
        ("<< chunk 0 inputs.l >>", "error calling chunk: runtime error: makeslice: len out of range"),
        (
            "<< dig \"s\" \"x\" \"d\" inputs >>",
            "interface conversion: interface {} is string, not map[string]interface {}",
        ),
        ("<< index inputs.l 9 >>", "error calling index: index out of range: 9"),
    ]);
}

#[test]
fn encodings() {
    check(&[
        ("adler32sum \"v1.0.0\"", "93520228"),
        ("sha1sum \"\"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("b64enc \"a\"", "YQ=="),
        ("b64dec \"YQ=\"", "illegal base64 data at input byte 3"),
        ("b64dec \"YQ=x\"", "illegal base64 data at input byte 2"),
        ("b32dec \"MF\"", "illegal base32 data at input byte 0"),
        ("b32dec \"MFRGGZDFM\"", "illegal base32 data at input byte 8"),
        ("b32dec \"MFRGG=x=\"", "illegal base32 data at input byte 5"),
        ("b32dec \"MF====\"", "illegal base32 data at input byte 6"),
        ("b32dec \"MFR=====\"", "illegal base32 data at input byte 3"),
        ("b32dec \"MF=======\"", "a"),
        ("b32enc \"ab\"", "MFRA===="),
        ("b32dec \"MFRA====\"", "ab"),
        ("toJson (list 1e6 1e21 \"<\" nil)", r#"[1000000,1e+21,"\u003c",null]"#),
        ("toRawJson \"<\"", "\"<\""),
        ("toPrettyJson (dict \"a\" (list 1))", "{\n  \"a\": [\n    1\n  ]\n}"),
        ("fromJson \"[1e6,{}]\"", "[1e+06 map[]]"),
        ("toYaml (dict \"n\" \"y\" \"l\" (list 1))", "l:\n- 1\n\"n\": \"y\"\n"),
    ]);
    check_failures(&[
        ("<< mustFromJson \"{a\" >>", "invalid character 'a' looking for beginning of object key string"),
        ("<< mustToJson (float64 \"NaN\") >>", "error calling mustToJson: json: unsupported value: NaN"),
    ]);
}

#[test]
fn patterns_have_the_syntax_of_go() {
    check(&[
        ("regexReplaceAll \"(a)(b)\" \"ab\" \"$2${1}W$1W\"", "baW"),
        ("regexReplaceAll \"a*\" \"baac\" \"-\"", "-b-c-"),
        ("regexFindAll \"a?\" \"éa\" -1", "[ a]"),
        ("regexSplit \"\" \"éa\" -1", "[é a]"),
        ("regexMatch \"^\\\\d$\" \"٣\"", "false"),
        ("regexMatch \"(\" \"x\"", "false"),
        ("regexFind \"\\\\Qa.b\\\\E+\" \"xa.bb\"", "a.bb"),
        ("regexReplaceAll \"(?P<1x>a)\" \"a\" \"[$1x]\"", "[a]"),
        ("regexFind \"(?i)ab(?-i)C\" \"xABC\"", "ABC"),
        ("regexFind \"[[:alpha:]\\\\d_-]+\" \"!a1_-!\"", "a1_-"),
        ("regexQuoteMeta \"a.b\"", "a\\.b"),
    ]);
    let cases = [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{10}){101}", "invalid repeat count: `{101}`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("\\\\p{Nope}", "invalid character class range: `\\p{Nope}`"),
        ("\\\\1", "invalid escape sequence: `\\1`"),
    ];
    for (pattern, expected) in cases {
        let text = format!("<< mustRegexMatch \"{pattern}\" \"x\" >>");
        check_failures(&[(&text, &format!("error parsing regexp: {expected}"))]);
    }
}

#[test]
fn paths_and_urls() {
    check(&[
        ("clean \"/a/../b//c/.\"", "/b/c"),
        ("base \"/\"", "/"),
        ("dir \"a/b\"", "a"),
        ("ext \"a.b/c\"", ""),
        ("(urlParse \"https://u:p@[::1]:8/a%20b?q=1#f\").hostname", "::1"),
        ("urlJoin (dict \"scheme\" \"https\" \"host\" \"h\" \"path\" \"a b\")", "https://h/a%20b"),
        ("urlquery \"a b&c\"", "a+b%26c"),
    ]);
    check_failures(&[(
        "<< urlParse \"http://[::1\" >>",
        "unable to parse url: parse \"http://[::1\": missing ']' in host",
    )]);
}

#[test]
fn dates_are_in_utc() {
    check(&[
        ("toDate \"2006-01-02\" \"2024-05-06\"", "2024-05-06 00:00:00 +0000 UTC"),
        ("(toDate \"2006-01-02\" \"2024-05-06\").Weekday", "Monday"),
        ("(toDate \"2006-01-02\" \"2024-05-06\").Format \"Mon Jan _2 06\"", "Mon May  6 24"),
        ("toDate \"2006-01-02T15:04:05Z07:00\" \"2024-05-06T01:02:03.5+02:00\"", "2024-05-06 01:02:03.5 +0200 +0200"),
        // Blanks of a layout match blanks, a tab only a tab.
        ("toDate \"  2006\" \" 2024\"", "2024-01-01 00:00:00 +0000 UTC"),
        ("toDate \" \\t2006\" \" 2024\"", "0001-01-01 00:00:00 +0000 UTC"),
        ("toDate \"x\" \"y\"", "0001-01-01 00:00:00 +0000 UTC"),
        ("unixEpoch (mustDateModify \"-1h\" (toDate \"2006-01-02\" \"1970-01-02\"))", "82800"),
        ("duration 90", "0s"),
        ("duration \"90\"", "1m30s"),
        ("durationRound \"25h\"", "1d"),
        ("durationRound \"24h\"", "24h"),
        ("ago (int64 1795651140)", "1m0s"),
    ]);
    check_failures(&[(
        "<< mustToDate \"2006-01-02\" \"bad\" >>",
        "parsing time \"bad\" as \"2006-01-02\": cannot parse \"bad\" as \"2006\"",
    )]);
}
