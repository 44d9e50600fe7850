use super::{check, check_failures};

#[test]
fn values_print_as_go_prints_them() {
    check(&[
        ("1e6", "1e+06"),
        ("123456.0", "123456"),
        ("0.00001", "1e-05"),
        ("1e21", "1e+21"),
        ("list 1 nil \"a\" (dict \"k\" 1.5)", "[1 <nil> a map[k:1.5]]"),
        ("print 1 2 \"a\" 3 4", "1 2a3 4"),
        ("println 1 \"a\" | quote", r#""1 a\n""#),
        ("inputs.n", "<no value>"),
        ("printf \"%v\" inputs.n", "<nil>"),
    ]);
}

#[test]
fn verbs_and_flags_follow_go() {
    check(&[
        (r#"printf "%5d|%-5d|%05d|%+d|% d" 42 42 -42 42 42"#, "   42|42   |-0042|+42| 42"),
        (r#"printf "%x %X %#x %o %O %b %c %U %q" 255 255 255 8 8 5 65 233 65"#, "ff FF 0xff 10 0o10 101 A U+00E9 'A'"),
        (
            r#"printf "%f %.2f %e %g %8.3f|%-8.1f|" 1.5 1.005 1.5 1e6 3.14159 2.0"#,
            "1.500000 1.00 1.500000e+00 1e+06    3.142|2.0     |",
        ),
        (
            r#"printf "%s|%10s|%-10s|%.2s|%q|%x|% x" "ab" "ab" "ab" "abc" "a\"b" "ab" "ab""#,
            r#"ab|        ab|ab        |ab|"a\"b"|6162|61 62"#,
        ),
        (
            r#"printf "%#v %T %t" (list 1 "a" nil) inputs.m true"#,
            r#"[]interface {}{1, "a", interface {}(nil)} map[string]interface {} true"#,
        ),
        (r#"printf "%[2]d %[1]d" 1 2"#, "2 1"),
        (r#"printf "%*d|%-*d|" 5 1 5 2"#, "    1|2    |"),
        (r#"printf "%d" (list 1 2)"#, "[1 2]"),
        (r#"printf "%g" 0.1"#, "0.1"),
        (r#"printf "%.3g %#g" 1234.5 1.0"#, "1.23e+03 1.00000"),
    ]);
}

#[test]
fn mistaken_formats_print_what_is_wrong() {
    check(&[
        (r#"printf "%d" "x""#, "%!d(string=x)"),
        (r#"printf "%s" 5"#, "%!s(int=5)"),
        (r#"printf "%d %d" 1"#, "1 %!d(MISSING)"),
        (r#"printf "%d" 1 2"#, "1%!(EXTRA int=2)"),
        (r#"printf "%z" 1"#, "%!z(int=1)"),
        (r#"printf "%""#, "%!(NOVERB)"),
        (r#"printf "%s" nil"#, "%!s(<nil>)"),
        (r#"printf "%[5]d" 1"#, "%!d(BADINDEX)"),
        (r#"printf "%*d" "x" 1"#, "%!(BADWIDTH)1"),
    ]);
    // An address would differ between runs.
    check_failures(&[("<< printf \"%p\" inputs.l >>", "%p is not supported: addresses are not repeatable")]);
}

#[test]
fn escapers_follow_go() {
    check(&[
        ("html \"<a href='x'>&\\\"\"", "&lt;a href=&#39;x&#39;&gt;&amp;&#34;"),
        ("js \"'\\\"<=\\n\"", r#"\'\"\u003C\u003D\u000A"#),
    ]);
}
