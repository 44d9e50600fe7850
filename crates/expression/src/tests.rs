//! Expressions over one object, with the results that Flux's own library gives
//! (<https://github.com/google/cel-spec/blob/master/doc/langdef.md>, and the extensions of cel-go).

use serde_json::{Map, Value, json};

use super::*;

fn fields() -> Map<String, Value> {
    let object = json!({
        "apiVersion": "example.com/v1", "kind": "Database",
        "metadata": {"name": "db", "namespace": "apps", "generation": 3, "labels": {"app.kubernetes.io/part-of": "shop"},
            "annotations": {"stage": "done"}},
        "spec": {"replicas": 2, "ratio": 0.5, "paused": false, "hosts": ["a", "b"], "size": 10},
        "status": {"phase": "Ready", "readyReplicas": 2, "observedGeneration": 3, "message": null,
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "Up", "observedGeneration": 3},
                {"type": "Synced", "status": "False", "reason": "Lag", "observedGeneration": 2}],
            "endpoints": [], "nodes": {"one": {"ready": true}, "two": {"ready": false}}},
    });
    object.as_object().unwrap().clone()
}

/// `Some` is the result; `None`: the expression has none, and the text is a part of the reason.
const CASES: &[(&str, Option<bool>, &str)] = &[
    // Fields, literals and equality.
    ("true", Some(true), ""),
    ("kind == 'Database'", Some(true), ""),
    ("status.phase == 'Ready'", Some(true), ""),
    ("status.phase != \"Ready\"", Some(false), ""),
    ("status['phase'] == 'Ready'", Some(true), ""),
    ("metadata.labels['app.kubernetes.io/part-of'] == 'shop'", Some(true), ""),
    ("status.message == null", Some(true), ""),
    ("spec.paused", Some(false), ""),
    ("!spec.paused", Some(true), ""),
    ("spec.hosts == ['a', 'b']", Some(true), ""),
    ("spec.hosts[0] == 'a'", Some(true), ""),
    ("metadata.annotations == {'stage': 'done'}", Some(true), ""),
    ("r'a\\b' == 'a\\\\b'", Some(true), ""),
    ("'''a''' == 'a'", Some(true), ""),
    ("status.phase == 1", Some(false), ""),
    // Numbers of several types compare by value.
    ("spec.replicas == status.readyReplicas", Some(true), ""),
    ("spec.replicas == 2.0", Some(true), ""),
    ("spec.ratio < 1", Some(true), ""),
    ("spec.replicas > 1.5", Some(true), ""),
    ("spec.replicas >= 2u", Some(true), ""),
    ("spec.size % 3 == 1", Some(true), ""),
    ("spec.size / 4 == 2", Some(true), ""),
    ("spec.size * 2 - 1 == 19", Some(true), ""),
    ("-spec.replicas == -2", Some(true), ""),
    ("int(spec.ratio * 4.0) == 2", Some(true), ""),
    ("string(spec.replicas) == '2'", Some(true), ""),
    ("double(spec.replicas) == 2.0", Some(true), ""),
    ("spec.size / 0 == 1", None, "division by zero"),
    ("spec.size % 0 == 1", None, "modulus by zero"),
    // Logic: an error counts only where the other side does not decide.
    ("spec.paused || status.phase == 'Ready'", Some(true), ""),
    ("status.gone == 1 || status.phase == 'Ready'", Some(true), ""),
    ("status.phase == 'Ready' || status.gone == 1", Some(true), ""),
    ("status.gone == 1 && status.phase == 'Failed'", Some(false), ""),
    ("status.phase == 'Failed' && status.gone == 1", Some(false), ""),
    ("status.gone == 1 && status.phase == 'Ready'", None, "no such key: gone"),
    ("spec.paused ? status.gone == 1 : status.phase == 'Ready'", Some(true), ""),
    ("!(spec.paused || status.phase == 'Failed')", Some(true), ""),
    // Missing fields.
    ("has(status.phase)", Some(true), ""),
    ("has(status.gone)", Some(false), ""),
    ("has(status.gone) && status.gone == 1", Some(false), ""),
    ("!has(status.gone)", Some(true), ""),
    ("status.gone == 1", None, "no such key: gone"),
    ("status.gone.deep == 1", None, "no such key: gone"),
    ("data.x == '1'", None, "no such attribute(s): data.x"),
    ("kind == 'Database' && data.x.y == 1", None, "no such attribute(s): data.x.y"),
    ("[1].exists(i, data.x == i)", None, "no such attribute(s): data.x"),
    ("data['x'] == '1'", None, "no such attribute(s): data"),
    ("'phase' in status", Some(true), ""),
    ("'gone' in status", Some(false), ""),
    ("'a' in spec.hosts", Some(true), ""),
    ("'c' in spec.hosts", Some(false), ""),
    ("spec.hosts[7] == 'a'", None, "index out of bounds"),
    ("status.?gone.orValue('x') == 'x'", Some(true), ""),
    ("status.?phase.orValue('x') == 'Ready'", Some(true), ""),
    ("status.?gone.hasValue()", Some(false), ""),
    ("status.?gone.?deep.orValue('x') == 'x'", Some(true), ""),
    ("status[?'gone'].orValue(1) == 1", Some(true), ""),
    ("[1, 2] == [1.0, 2u] && {'a': 1} == {'a': 1.0} && 1 != 1.5", Some(true), ""),
    ("9007199254740993 == 9007199254740992", Some(false), ""),
    ("type(spec.replicas) == int && type(status.phase) == string && type(spec.hosts) == list", Some(true), ""),
    ("type(spec.ratio) == int", Some(false), ""),
    ("dyn(status.phase) == 'Ready'", Some(true), ""),
    // Loops.
    ("status.conditions.exists(e, e.type == 'Ready' && e.status == 'True')", Some(true), ""),
    ("status.conditions.exists(e, e.type == 'Stalled')", Some(false), ""),
    ("status.conditions.all(e, e.status == 'True')", Some(false), ""),
    ("status.conditions.exists_one(e, e.status == 'True')", Some(true), ""),
    (
        "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True' && e.observedGeneration == metadata.generation)",
        Some(true),
        "",
    ),
    ("status.conditions.map(e, e.type) == ['Ready', 'Synced']", Some(true), ""),
    ("status.conditions.map(e, e.status == 'True', e.type) == ['Ready']", Some(true), ""),
    ("status.endpoints.all(e, e == 'x')", Some(true), ""),
    ("status.endpoints.exists(e, e == 'x')", Some(false), ""),
    ("status.nodes.all(name, status.nodes[name].ready)", Some(false), ""),
    ("status.nodes.exists(name, status.nodes[name].ready)", Some(true), ""),
    ("size(status.conditions) == 2", Some(true), ""),
    ("status.conditions.size() == 2 && size(status.endpoints) == 0", Some(true), ""),
    ("size(status.nodes) == 2 && size(status.phase) == 5", Some(true), ""),
    // Functions of strings, sets and encoders.
    ("status.phase.startsWith('Re')", Some(true), ""),
    ("status.phase.endsWith('dy')", Some(true), ""),
    ("status.phase.contains('ead')", Some(true), ""),
    ("status.phase.matches('^R.*y$')", Some(true), ""),
    ("status.phase.lowerAscii() == 'ready'", Some(true), ""),
    ("status.phase.upperAscii() == 'READY'", Some(true), ""),
    ("status.phase.indexOf('a') == 2", Some(true), ""),
    ("status.phase.substring(1, 3) == 'ea'", Some(true), ""),
    ("status.phase.replace('Re', 'Stea') == 'Steaady'", Some(true), ""),
    ("'a,b'.split(',') == spec.hosts", Some(true), ""),
    ("spec.hosts.join('-') == 'a-b'", Some(true), ""),
    ("' x '.trim() == 'x'", Some(true), ""),
    ("sets.contains(spec.hosts, ['a'])", Some(true), ""),
    ("sets.equivalent(spec.hosts, ['b', 'a'])", Some(true), ""),
    ("sets.intersects(spec.hosts, ['c'])", Some(false), ""),
    ("base64.decode('YQ==') == b'a'", Some(true), ""),
    // Results that are not true or false, and functions that do not exist.
    ("status.phase", None, "as boolean"),
    ("spec.replicas + 1", None, "as boolean"),
    ("status.phase + 1 == 2", None, "no such overload"),
    ("nosuch(status.phase)", None, "nosuch"),
];

#[test]
fn expressions_have_the_results_that_flux_gives() {
    let fields = fields();
    let mut wrong = vec![];
    for (text, expected, part) in CASES {
        let found = Expression::parse(text).map_err(|error| error.to_string());
        let found = found.and_then(|expression| expression.evaluate(&fields).map_err(|error| error.to_string()));
        let is_right = match (&found, expected) {
            (Ok(found), Some(expected)) => found == expected,
            (Err(reason), None) => reason.contains(part),
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{text}: {found:?}"));
        }
    }
    assert!(CASES.len() >= 60, "{}", CASES.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn an_expression_with_a_mistake_is_refused_with_its_place() {
    for text in ["", "a ==", "a = 1", "a && ", "f(", "'a", "a b", "[1, 2", "a ? b", "1 +* 2"] {
        let refused = Expression::parse(text).map(|expression| expression.text().to_owned());
        let reason = refused.expect_err(text).to_string();
        assert!(reason.starts_with(&format!("failed to parse the CEL expression '{text}': ")), "{reason}");
    }
    let refused = Expression::parse("a == 1 &&").unwrap_err();
    assert!(refused.reason.starts_with("ERROR: <input>:1:"), "{refused}");
}

#[test]
fn an_expression_beyond_the_limits_is_refused() {
    let deep = format!("{}true{}", "(".repeat(1000), ")".repeat(1000));
    let long = format!("'{}' == ''", "x".repeat(MAX_LENGTH));
    let loops = "[1].all(a, [1].all(b, [1].all(c, [1].all(d, d == a))))";
    let in_a_map = format!("{{'a': {loops}}}.a");
    for (text, limit) in
        [(deep.as_str(), "brackets"), (long.as_str(), "bytes"), (loops, "loops"), (in_a_map.as_str(), "loops")]
    {
        assert!(Expression::parse(text).is_err_and(|error| error.reason.contains(limit)), "{limit}");
    }
    assert!(Expression::parse("[1].all(a, [1].all(b, [1].all(c, c == a)))").is_ok());
}

#[test]
fn the_part_that_is_false_is_named_with_its_values() {
    let rows: &[(&str, &[&str])] = &[
        ("status.phase == 'Ready'", &[]),
        ("status.phase == 'Up'", &["status.phase == 'Up' is not true: status.phase is 'Ready'"]),
        (
            "has(status.phase) && (status.readyReplicas == spec.size && spec.paused)",
            &["status.readyReplicas == spec.size is not true: status.readyReplicas is 2, spec.size is 10"],
        ),
        (
            "spec.paused || status.phase == 'Up'",
            &["spec.paused is not true: it is false", "status.phase == 'Up' is not true: status.phase is 'Ready'"],
        ),
        ("!has(status.phase)", &["!has(status.phase) is not true: has(status.phase) is true"]),
        ("has(status.gone)", &["has(status.gone) is not true: the field is missing"]),
        ("status.gone == 1 && spec.paused", &["status.gone == 1 is not true: no such key: gone"]),
        (
            "status.conditions.filter(e, e.type == 'Synced').all(e, e.status == 'True' && e.observedGeneration == metadata.generation)",
            &["e.status == 'True' is not true: e.status is 'False'"],
        ),
        (
            "status.conditions.exists(e, e.type == 'Stalled' && e.status == 'True')",
            &[
                "e.type == 'Stalled' && e.status == 'True' is not true: none of the 2 elements of status.conditions meets it",
            ],
        ),
        (
            "spec.paused ? true : status.phase == 'Up'",
            &["spec.paused ? true : status.phase == 'Up' is not true: it is false"],
        ),
        ("status.phase", &["status.phase is not true: it is 'Ready' and not true or false"]),
    ];
    for (text, expected) in rows {
        let parts: Vec<String> =
            Expression::parse(text).unwrap().explain(&fields()).iter().map(ToString::to_string).collect();
        assert_eq!(parts, *expected, "{text}");
    }
}

/// Go's library evaluates these before it sees an object.
#[test]
fn an_expression_with_an_impossible_constant_is_refused() {
    for text in ["status.phase.matches('^(')", "int('x') == 2", "has(a.b) && [duration('1 hour')].size() == 1"] {
        let error = Expression::parse(text).unwrap_err();
        assert!(error.reason.starts_with("failed to create CEL program: "), "{error}");
    }
    for text in
        ["status.phase.matches(spec.pattern)", "int(spec.x) == 2", "int('2') == 2", "matches(status.phase, '^a$')"]
    {
        assert!(Expression::parse(text).is_ok(), "{text}");
    }
}
