//! Objects and texts of every family, each with the words that must be masked and those that must be kept.

use super::*;

const CANARY: &str = "canary-7d1f-s3cr3t";

fn secret(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps",
        "annotations": {LAST_APPLIED: format!("{{\"data\":\"{value}\"}}")}},
        "type": "Opaque", "data": {"password": STANDARD.encode(value), "username": STANDARD.encode("git")}})
}

fn redactor() -> Redactor {
    let mut redactor = Redactor::new(b"salt".to_vec());
    redactor.learn(&secret(CANARY));
    redactor
}

fn line(redactor: &mut Redactor, text: &str) -> String {
    redactor.log("pod/x", &[text.to_owned()]).concat()
}

#[test]
fn a_secret_is_its_keys_sizes_and_hashes() {
    let reported = redactor().object(secret(CANARY));
    assert!(
        !reported.to_string().contains(CANARY) && !reported.to_string().contains(&STANDARD.encode(CANARY)),
        "{reported}"
    );
    assert_eq!(reported["masked"]["password"]["bytes"], CANARY.len());
    assert_eq!(reported["masked"]["password"]["hash"].as_str().map(str::len), Some(16));
    assert_eq!((reported.get("data"), reported["type"].as_str()), (None, Some("Opaque")));
    let other = Redactor::new(b"other".to_vec()).object(secret(CANARY));
    assert_ne!(other["masked"]["password"]["hash"], reported["masked"]["password"]["hash"], "a salt for each bundle");
    let trimmed = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": null}});
    assert_eq!(redactor().object(trimmed)["masked"], json!({"password": {}}));
}

#[test]
fn a_value_is_masked_in_every_place() {
    let mut redactor = redactor();
    let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "apps"},
        "message": format!("login with {CANARY} failed, {} too", STANDARD.encode(CANARY))});
    let reported = redactor.object(object);
    assert_eq!(reported["message"], "login with [masked] failed, [masked] too");
    assert_eq!(line(&mut redactor, &format!("dial {CANARY}: no")), "dial [masked]: no");
    assert_eq!(redactor.masked().iter().map(|m| m.count).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn credentials_are_known_by_their_looks() {
    let mut redactor = Redactor::new(vec![]);
    let cases = [
        ("clone https://git:hunter2hunter@example.com/x", "clone https://[masked]@example.com/x"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [masked]"),
        (r#"{"password":"hunter2","user":"a"}"#, r#"{"password":"[masked]","user":"a"}"#),
        ("--token=abcdef --x=1", "--token=[masked] --x=1"),
        ("ghp_0123456789012345678901234567890123 is used", "[masked] is used"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[masked]"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\nx", "[masked]\nx"),
    ];
    for (text, expected) in cases {
        assert_eq!(line(&mut redactor, text), expected);
    }
    for kept in [
        "failed to get secret 'apps/absent': secrets \"absent\" not found",
        "invalid 'bad' secret data: required fields 'accesskey' and 'secretkey'",
        "timeout waiting for: [Deployment/default/stuck status: 'InProgress']",
        "--watch-label-selector=!sharding.fluxcd.io/key",
        "Get \"https://git.example.com/app/info/refs?service=git-upload-pack\": dial tcp",
    ] {
        assert_eq!(line(&mut redactor, kept), kept, "what explains a failure stays");
    }
}

#[test]
fn values_of_charts_variables_and_environments_are_masked_by_their_place() {
    let mut redactor = Redactor::new(vec![]);
    let release = json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "w", "namespace": "a"},
        "spec": {"interval": "5m", "values": {"db": {"pass": "x1", "port": 5432, "tls": true}, "hosts": ["a"]}}});
    let reported = redactor.object(release);
    assert_eq!(reported["spec"]["values"], json!({"db": {"pass": MASK, "port": MASK, "tls": true}, "hosts": [MASK]}));
    assert_eq!(reported["spec"]["interval"], "5m");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "namespace": "a"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "args": ["--events-addr=http://n"],
            "env": [{"name": "A", "value": "x1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]}}}});
    let container = redactor.object(deployment)["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(container["env"][0]["value"], MASK);
    assert_eq!(container["env"][1]["valueFrom"]["secretKeyRef"]["name"], "s");
    assert_eq!(container["args"][0], "--events-addr=http://n");
    let provider = json!({"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Provider", "metadata": {"name": "p", "namespace": "a"},
        "spec": {"type": "slack", "address": "https://hooks.slack.com/services/T0/B0/XYZ"}});
    assert_eq!(redactor.object(provider)["spec"]["address"], "https://hooks.slack.com/[masked]");
}

#[test]
fn object_identities_are_kept_even_if_a_secret_holds_the_same_words() {
    let mut redactor = Redactor::new(vec![]);
    redactor.learn(&secret("podinfo"));
    let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "podinfo", "namespace": "podinfo"},
        "involvedObject": {"kind": "Pod", "name": "podinfo"}, "message": "by podinfo"});
    let reported = redactor.object(object);
    assert_eq!(
        (&reported["metadata"]["name"], &reported["involvedObject"]["name"]),
        (&json!("podinfo"), &json!("podinfo"))
    );
    assert_eq!(reported["message"], "by [masked]");
}

#[test]
fn field_sets_of_people_keep_only_names() {
    let mut redactor = Redactor::new(vec![]);
    redactor.learn(&json!({"kind": "Secret", "data": {"p": STANDARD.encode("canary-7d1f")}}));
    let set = json!({"f:spec": {"f:args": {"v:\"--token=canary\"": {}}, "k:{\"name\":\"canary-7d1f\"}": {}, "f:replicas": {}}});
    let entry = |manager: &str| json!({"manager": manager, "time": "t", "fieldsV1": set});
    let object = json!({"kind": "A", "metadata": {"name": "a", "managedFields": [entry("kubectl"), entry("kustomize-controller")]}});
    assert_eq!(
        redactor.object(object)["metadata"]["managedFields"],
        json!([{"manager": "kubectl", "time": "t", "fieldsV1": {"f:spec": {"f:args": {}, "f:replicas": {}}}},
            {"manager": "kustomize-controller", "time": "t"}])
    );
}

#[test]
fn redacting_twice_changes_nothing() {
    let mut redactor = redactor();
    let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": format!("password={CANARY}")});
    let once = redactor.object(object);
    let before = redactor.masked();
    assert_eq!(redactor.object(once.clone()), once);
    assert_eq!(redactor.masked(), before, "nothing is counted twice");
}

/// A text, the words that must be masked, and the words that must be kept.
type MaskCase = (&'static str, &'static [&'static str], &'static [&'static str]);

#[track_caller]
fn judge(name: &str, cleaned: &str, gone: &[&str], stays: &[&str]) {
    for word in gone {
        assert!(!cleaned.contains(word), "{name}: {word} is left in {cleaned}");
    }
    for word in stays {
        assert!(cleaned.contains(word), "{name}: {word} is not in {cleaned}");
    }
}

/// Checks every row twice: redacted text must not change again.
fn judge_texts(rows: &[MaskCase]) {
    for (text, gone, stays) in rows {
        let mut redactor = Redactor::new(vec![]);
        redactor
            .learn(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": "apps"}}));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let object = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": text});
        let object = redactor.object(object);
        let message = object["message"].as_str().unwrap();
        judge(text, message, gone, stays);
        assert_eq!(redactor.object(object.clone()), object, "a second time");
        if lines.len() == 1 {
            judge(text, &redactor.log("x", &lines).join("\n"), gone, stays);
        }
    }
}

#[test]
fn values_after_a_name_are_masked_to_their_quote_or_to_the_end_of_the_line() {
    judge_texts(&[
        (
            r#"login failed with password "CAN1 correct horse CAN2" for user x"#,
            &["CAN"],
            &["login failed", "for user x"],
        ),
        ("password: CAN1,CAN2;x; and CAN3", &["CAN"], &["password:"]),
        ("dial db: password=CAN1 with CAN2\nthe next line stays", &["CAN"], &["dial db", "the next line stays"]),
        (r#"{"level":"info","password":"CAN1 and CAN2","hook":"kept"}"#, &["CAN"], &["info", "kept"]),
        (r#"ts=1 msg="auth: password: CAN1 CAN2" level=error"#, &["CAN"], &["level=error"]),
        (r#"body {\"password\":\"CAN1 \\\"x\\\" CAN2\",\"user\":\"kept\"} end"#, &["CAN"], &["kept", "end"]),
        ("password: 'CAN1 it''s CAN2' user: kept", &["CAN"], &["kept"]),
        ("the file holds\n  password: |\n    CAN1\n    CAN2\n  user: kept", &["CAN"], &["kept"]),
        ("DB_PASS=CAN1 PGPASSWORD=CAN2", &["CAN"], &["DB_PASS="]),
        ("api key: CAN1", &["CAN"], &["api key"]),
        ("X-Api-Key: CAN1", &["CAN"], &["X-Api-Key"]),
        ("Cookie: session=CAN1; other=CAN2", &["CAN"], &["Cookie"]),
        ("DefaultEndpointsProtocol=https;AccountName=kept;AccountKey=CAN1==;EndpointSuffix=x", &["CAN"], &["kept"]),
        ("export STRIPE_KEY=CAN1", &["CAN"], &["STRIPE_KEY"]),
        (r#"{"auths":{"ghcr.io":{"username":"kept","auth":"CAN1dXNlcjpwYXNz"}}}"#, &["CAN"], &["ghcr.io", "kept"]),
        ("map[password:CAN1 user:x]", &["CAN"], &["map["]),
        ("tokens: [CAN1, CAN2] kept", &["CAN"], &["kept"]),
        ("with token CAN1xyz rejected, x-api-token CAN2xyz; password hunter2CAN rejected", &["CAN"], &["rejected"]),
        ("openssl -passin pass:CAN1", &["CAN"], &["openssl"]),
    ]);
}

#[test]
fn reasons_names_images_and_hosts_stay() {
    for kept in [
        "failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://ghcr.io/token: 403 Forbidden",
        "oauth2: cannot fetch token: 401 Unauthorized",
        "failed to get secret 'apps/absent': secrets \"absent\" not found",
        "invalid 'bad' secret data: required fields 'accesskey' and 'secretkey'",
        "timeout waiting for: [Secret/apps/my-token status: 'NotFound', Deployment/default/stuck status: 'InProgress']",
        "Secret/apps/db-password: not found",
        "pulling image ghcr.io/acme/vault-secret:v1.2.3@sha256:8a8ed0a57b8b86f561d5a4309a69f65e62f0cebe4de8801593c5ff35a3bc3c23",
        "stored artifact for revision 'main@sha1:0123456789012345678901234567890123456789'",
        "Applied revision: main@sha1:0123456789012345678901234567890123456789",
        "clone ssh://git@github.com/org/fleet failed: dial tcp 140.82.121.4:22: connect: connection refused",
        "Get \"https://git.example.com/app/info/refs?service=git-upload-pack\": dial tcp: lookup git.example.com: no such host",
        "WWW-Authenticate: Bearer realm=\"https://ghcr.io/token\",service=\"ghcr.io\"",
        "Basic authentication failed: the bearer token is not valid",
        "the flag --token is required",
        "--password=$(DB_PASSWORD) --watch-all-namespaces=true --concurrency=10",
        "pod sk-controller-manager-7d9f8b6c5-abcde and disk-0123456789abcdef0123 are kept",
        "automountServiceAccountToken: false",
        "secret: apps/creds",
        "HelmChart 'flux-system/x-token' is not ready: latest generation of object has not been reconciled",
        "mkdir -p /var/lib/x && psql -p 5432 -h db.apps.svc",
        "oci://ghcr.io/org/charts/app@sha256:abc and https://example.com:8443/a/@scope/b",
        "health check failed after 30s: context deadline exceeded",
        "the token my-token-abc12 of ServiceAccount apps/web and token v1beta1 are kept, the token expired yesterday",
        "exec: user 1000:1000: curl --user 1000:1000 http://x",
    ] {
        let mut redactor = Redactor::new(vec![]);
        redactor
            .learn(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds", "namespace": "apps"}}));
        assert_eq!(line(&mut redactor, kept), kept);
        assert_eq!(redactor.masked(), []);
    }
}

#[test]
fn tokens_schemes_and_addresses_are_masked_in_any_text() {
    judge_texts(&[
        ("used npm_CAN1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa here", &["CAN"], &["used", "here"]),
        ("sk-CAN1aaaaaaaaaaaaaaaaaaaaaa sk-ant-api03-CAN2aaaaaaaaaaaaaaaaaaaa-x", &["CAN"], &[]),
        (
            "AIzaCAN1aaaaaaaaaaaaaaaaaaaaaaaaaaa, hvs.CAN2aaaaaaaaaaaaaaaaaaaaa; dckr_pat_CAN3aaaaaaaaaaaaaaaaaa",
            &["CAN"],
            &[],
        ),
        ("glpat-CAN1aaaaaaaaaaaaaaaa xoxb-CAN2-aaaaaaaaaaaa AKIACAN3AAAAAAAAAAAA", &["CAN"], &[]),
        ("token_ghp_CAN1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &["CAN"], &[]),
        ("github_pat_CAN1aaaaaaaaaaaaaaaaaaaa eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU4xIn0.CAN2", &["CAN", "eyJ"], &[]),
        ("got Basic CAN1dXNlcjpw and Bearer CAN2.x", &["CAN"], &["Basic", "Bearer"]),
        ("clone https://git:CAN1p@CAN2ss@example.com/x failed", &["CAN"], &["example.com/x failed"]),
        ("https://u:CAN1/CAN2@example.com/x", &["CAN"], &["example.com/x"]),
        (
            "https://CAN1@example.com/x redis://:CAN2@r:6379/0 amqp://u:CAN3@h1,u:CAN4@h2",
            &["CAN"],
            &["example.com", "r:6379"],
        ),
        ("user:CAN1@tcp(db:3306)/app", &["CAN"], &["tcp(db:3306)/app"]),
        (
            "GET https://a.blob.core.windows.net/c?sv=2022&sig=CAN1%3D&se=1: 403",
            &["CAN"],
            &["blob.core.windows.net", "sv=2022", "se=1", "403"],
        ),
        (
            "https://b.s3.amazonaws.com/x?X-Amz-Signature=CAN1&X-Amz-Credential=CAN2&X-Amz-Security-Token=CAN3&x=kept",
            &["CAN"],
            &["kept"],
        ),
        ("https://x/y?access_token=CAN1 https://x/y#id_token=CAN2 https://x/z?key=CAN3", &["CAN"], &["https://x/y"]),
        (r#"{"u":"https://x/y?a=1\u0026token=CAN1"}"#, &["CAN"], &["a=1"]),
        (
            "Post https://hooks.slack.com/services/T0/B0/CAN1: 404, https://discord.com/api/webhooks/1/CAN2",
            &["CAN"],
            &["hooks.slack.com", "404"],
        ),
        ("<server><password>CAN1</password><name>kept</name></server>", &["CAN"], &["kept"]),
        ("jdbc:postgresql://host/db?user=kept&password=CAN1", &["CAN"], &["kept"]),
    ]);
}

#[test]
fn command_lines_in_texts_lose_their_passwords() {
    judge_texts(&[
        ("run: tool --token CAN1 --x kept", &["CAN"], &["--x kept"]),
        ("run: tool --db-pass=CAN1 --x kept", &["CAN"], &["--x kept"]),
        ("mysql -pCAN1 -h kept", &["CAN"], &["-h kept"]),
        ("sshpass -p CAN1 ssh kept", &["CAN"], &["ssh kept"]),
        ("redis-cli -a CAN1 ping", &["CAN"], &["ping"]),
        ("curl -u u:CAN1 http://kept", &["CAN"], &["http://kept"]),
        ("curl --user 'u:CAN1 x' -H 'Authorization: Bearer CAN2' http://kept", &["CAN"], &["http://kept"]),
        ("docker login -u kept -p CAN1 ghcr.io", &["CAN"], &["kept", "ghcr.io"]),
    ]);
}

#[test]
fn key_blocks_are_masked_in_every_form_and_over_the_lines_of_a_log() {
    for label in
        ["RSA PRIVATE KEY", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        let block = format!(
            "-----BEGIN {label}-----\nMIIECANARYaaaaaaaaaaaa\n\nMIIECANARYbbbbbbbbbbbb=\n=CAN1\n-----END {label}-----"
        );
        let mut redactor = Redactor::new(vec![]);
        let event = json!({"kind": "Event", "metadata": {"name": "e"}, "message": format!("before {block} after")});
        let event = redactor.object(event);
        assert_eq!(event["message"], "before [masked] after");
        let escaped = line(&mut redactor, &format!("key {:?} after", block));
        judge(label, &escaped, &["CAN"], &["key", "after"]);
        let mut lines: Vec<String> = block.lines().map(|line| format!("2026-01-01T00:00:00Z {line}")).collect();
        lines.insert(0, "before".into());
        lines.push("after".into());
        let log = redactor.log("x", &lines);
        assert_eq!((log.len(), log[0].as_str(), log[lines.len() - 1].as_str()), (lines.len(), "before", "after"));
        judge(label, &log.join("\n"), &["CAN"], &[]);
        // The log begins or ends inside the block.
        judge(label, &redactor.log("x", &lines[..3]).join("\n"), &["CAN"], &["before"]);
        let tail = ["MIIECANARYaaaaaaaaaaaa", "MIIECANARYbbbbbbbbbbbb=", &format!("-----END {label}-----"), "after"]
            .map(str::to_owned);
        judge(label, &redactor.log("x", &tail).join("\n"), &["CAN"], &["after"]);
    }
}

/// Fields of an object, the words that must be masked, and the words that must be kept.
#[test]
fn objects_are_masked_by_their_structure() {
    let container = |container: Value| json!({"spec": {"template": {"spec": {"containers": [container]}}}});
    let patch = |patch: &str| json!({"spec": {"patches": [{"patch": patch}]}});
    let rows: Vec<(Value, &[&str], &[&str])> = vec![
        (
            json!({"spec": {"adminUser": "kept", "adminPassword": "CAN1", "conn": {"passphrase": "CAN2", "port": 5432}}}),
            &["CAN"],
            &["kept", "5432"],
        ),
        (
            json!({"spec": {"password": 123_456_789, "pin": "CAN1", "tokens": ["CAN2", "CAN3"]}}),
            &["CAN", "123456789"],
            &[],
        ),
        (
            json!({"spec": {"credentials": {"user": "CAN1", "nested": {"x": "CAN2"}, "secretRef": {"name": "kept"}}}}),
            &["CAN"],
            &["kept"],
        ),
        (
            json!({"spec": {"auth": {"secretRef": {"name": "kept", "key": "entry"}}, "secretName": "named", "sync": {"pullSecret": "pulled"}}}),
            &[],
            &["kept", "entry", "named", "pulled"],
        ),
        (
            json!({"spec": {"volumes": [{"secret": {"secretName": "kept", "items": [{"key": "k1", "path": "p1"}]}}, {"projected": {"sources": [{"serviceAccountToken": {"path": "token1", "audience": "aud1", "expirationSeconds": 3607}}]}}]}}),
            &[],
            &["kept", "k1", "p1", "token1", "aud1", "3607"],
        ),
        (
            container(
                json!({"image": "ghcr.io/x/kept:1", "args": ["--token", "CAN1", "--db-pass=CAN2", "-p", "CAN3", "--port", "8080"]}),
            ),
            &["CAN"],
            &["kept", "--token", "8080"],
        ),
        (container(json!({"image": "mysql:8", "args": ["-pcansecret", "-ukept"]})), &["cansecret"], &["kept"]),
        (
            container(json!({"image": "x", "command": ["sh", "-c", "export KEY=CAN1; mysql -pCAN2"]})),
            &["CAN"],
            &["sh", "-c"],
        ),
        (
            container(
                json!({"image": "x", "lifecycle": {"postStart": {"exec": {"command": ["curl", "-u", "u:CAN1", "http://kept"]}}}}),
            ),
            &["CAN"],
            &["u:", "http://kept"],
        ),
        (
            container(
                json!({"image": "x", "args": ["--user=u:CAN1", "-H", "X-Token: CAN2", "-port=8080", "-p", "8081", "--password", "$(KEPT)"]}),
            ),
            &["CAN"],
            &["8080", "8081", "$(KEPT)"],
        ),
        (
            container(
                json!({"image": "x", "env": [{"name": "A", "value": "CAN1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "kept", "key": "k1"}}}]}),
            ),
            &["CAN"],
            &["kept", "k1"],
        ),
        (
            container(
                json!({"livenessProbe": {"httpGet": {"path": "/kept", "httpHeaders": [{"name": "Authorization", "value": "Bearer CAN1"}, {"name": "X-Any", "value": "CAN2"}, {"name": "Accept", "value": "text/html"}]}}}),
            ),
            &["CAN"],
            &["/kept", "text/html", "X-Any"],
        ),
        (
            json!({"spec": {"params": [{"name": "password", "value": "CAN1"}, {"name": "path", "value": "kept"}]}}),
            &["CAN"],
            &["kept"],
        ),
        (json!({"spec": {"extraEnv": {"A": "CAN1"}, "environment": ["B=CAN2"]}}), &["CAN"], &["B="]),
        (
            json!({"spec": {"resources": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept"}, "stringData": {"api": "CAN1", "conf": "x\nCAN2"}},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept2"}, "data": {"api": "CAN3"}},
            {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept3"}, "data": {"a": "Q0FOMQ=="}}]}]}}),
            &["CAN", "Q0FOMQ"],
            &["kept", "kept2", "kept3"],
        ),
        (
            json!({"spec": {"resourcesTemplate": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: kept\nstringData:\n  api: CAN1\n"}}),
            &["CAN"],
            &["kept", "api"],
        ),
        (
            json!({"spec": {"resourcesTemplate": "<<- range $x := inputs.all >>\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: << $x.kept >>\nstringData:\n  api: CAN1\n  more: |\n    CAN2\n---\nkind: Deployment\nspec: kept2\n<<- end >>\n"}}),
            &["CAN"],
            &["kept", "kept2", "stringData"],
        ),
        (
            patch("apiVersion: v1\nkind: Secret\nmetadata: {name: kept}\nstringData:\n  api: CAN1\n"),
            &["CAN"],
            &["kept"],
        ),
        (patch("stringData: {api: CAN1}\n"), &["CAN"], &[]),
        (
            patch("- op: replace\n  path: /data/x\n  value: CAN1\n- op: add\n  path: /spec/replicas\n  value: 3\n"),
            &["CAN"],
            &["/spec/replicas", "3"],
        ),
        (
            patch(
                "- op: add\n  path: /spec/template/spec/containers/0/env/-\n  value: {name: A, value: CAN1}\n- op: add\n  path: /spec/template/spec/containers/0/args/-\n  value: --token=CAN2\n",
            ),
            &["CAN"],
            &["--token"],
        ),
        (
            json!({"spec": {"postRenderers": [{"kustomize": {"patches": [{"target": {"kind": "Secret"}, "patch": "data:\n  x: CAN1\n"}]}}]}}),
            &["CAN"],
            &["Secret"],
        ),
        (
            json!({"spec": {"kustomize": {"patches": [{"patch": "{\"kind\": \"Secret\", \"stringData\": {\"x\": \"CAN1\"}}"}]}}}),
            &["CAN"],
            &[],
        ),
        (json!({"spec": {"config": "server:\n  host: kept\n  password: CAN1 and CAN2\n"}}), &["CAN"], &["kept"]),
        (
            json!({"spec": {"registry": "u:CAN1@ghcr.io/kept", "repository": "ghcr.io/kept2:v1@sha256:abc", "proxy": "u:CAN2@proxy:3128"}}),
            &["CAN"],
            &["ghcr.io/kept", "ghcr.io/kept2:v1@sha256:abc", "proxy:3128"],
        ),
        (
            json!({"status": {"conditions": [{"type": "Ready", "reason": "Kept", "message": "bad dsn postgres://u:CAN1@db/x"}]}}),
            &["CAN"],
            &["Kept", "db/x"],
        ),
        (
            json!({"metadata": {"annotations": {"kapp.k14s.io/original": "{\"kind\":\"Secret\",\"stringData\":{\"api\":\"CAN1\"}}", "objectset.rio.cattle.io/applied": "H4sICAN2", "example.com/token": "CAN3",
            "example.com/long": "CAN4 ".repeat(60), "example.com/json": "{\"password\":\"CAN5\",\"x\":\"kept\"}", "reconcile.fluxcd.io/requestedAt": "2026-01-01"}}}),
            &["CAN"],
            &["2026-01-01", "kept", "300 bytes"],
        ),
        (
            json!({"metadata": {"name": "kept", "labels": {"app": "kept2", "x": "ghp_CAN1aaaaaaaaaaaaaaaaaaaaaaaa"}}}),
            &["CAN"],
            &["kept", "kept2"],
        ),
    ];
    for (fields, gone, stays) in rows {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "Thing"});
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let name = object.to_string();
        let mut redactor = Redactor::new(vec![]);
        redactor.learn(&object);
        let cleaned = redactor.object(object);
        judge(&name, &cleaned.to_string(), gone, stays);
        assert_eq!(redactor.object(cleaned.clone()), cleaned, "a second time");
    }
}

#[test]
fn values_of_secrets_are_found_inside_other_texts() {
    let data = |entries: &[(&str, &str)]| {
        let entries: Map<String, Value> =
            entries.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into())).collect();
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "apps"}, "data": entries})
    };
    let mut redactor = Redactor::new(vec![]);
    for secret in [
        data(&[
            ("address", "https://hooks.slack.com/services/T0/B0/CAN1hook"),
            ("username", "git"),
            ("password", "CAN2 p@ss/word"),
        ]),
        data(&[("address", "https://chat.example.com"), ("proxy", "http://proxy.example.com:3128")]),
        data(&[(".dockerconfigjson", r#"{"auths":{"ghcr.io":{"username":"x","password":"CAN3inside"}}}"#)]),
        data(&[("conf", "user = x\ndb = postgres://u:CAN4inside@db/x\nmail_password = CAN5 inside\n")]),
        json!({"spec": {"resources": [{"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "CAN6-nested"}}]}}),
        json!({"spec": {"adminPassword": "CAN7-of-a-field"}}),
    ] {
        redactor.learn(&secret);
    }
    for (text, stays) in [
        ("Post \"https://hooks.slack.com/services/T0/B0/CAN1hook\": dial tcp: no route", "no route"),
        ("with CAN2 p@ss/word failed", "failed"),
        (&format!("sent {} to", STANDARD.encode("git:CAN2 p@ss/word")), "sent"),
        (&format!("sent {} to", STANDARD.encode("CAN2 p@ss/word")), "sent"),
        ("path /CAN2%20p%40ss%2Fword/x", "path"),
        ("tried CAN3inside, CAN4inside and CAN5 inside", "tried"),
        ("nested CAN6-nested and CAN7-of-a-field", "nested"),
    ] {
        let cleaned = line(&mut redactor, text);
        judge(text, &cleaned, &["CAN", "Q0FO", "OkNBTj"], &[stays]);
    }
    let kept = "Post \"https://chat.example.com\" by http://proxy.example.com:3128: no such host";
    assert_eq!(line(&mut redactor, kept), kept);
}

#[test]
fn lines_of_a_configuration_that_say_nothing_stay_readable() {
    let mut redactor = Redactor::new(vec![]);
    redactor.learn(&json!({"kind": "Secret", "stringData": {"kubeconfig": "apiVersion: v1\nkind: Config\nclusters:\n- name: x\ntoken: CAN1-token\n"}}));
    let kept = "patch with apiVersion: v1 and clusters: is invalid";
    assert_eq!(line(&mut redactor, kept), kept);
    assert_eq!(line(&mut redactor, "with CAN1-token"), "with [masked]");
}

#[test]
fn a_manifest_of_a_secret_in_a_log_loses_its_values() {
    let log = "rendered\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: kept\ndata:\n  a: CAN1\n  b: CAN2\ntype: Opaque\n---\nend";
    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let cleaned = Redactor::new(vec![]).log("x", &lines);
    assert_eq!(cleaned.len(), lines.len());
    judge("log", &cleaned.join("\n"), &["CAN"], &["kept", "type: Opaque", "end"]);
}

#[test]
fn more_than_a_megabyte_of_secrets_is_masked_in_every_text() {
    let mut redactor = Redactor::new(vec![]);
    let value = |number: usize| hex::encode(Sha256::digest(number.to_string())).repeat(62);
    for number in 0..300 {
        redactor.learn(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("s{number}")},
            "data": {"k": STANDARD.encode(value(number))}}));
    }
    redactor.learn(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pw"}, "data": {"k": STANDARD.encode("CANARY99secret")}}));
    assert_eq!(redactor.prepare(), None);
    for number in 0..50 {
        let text = format!("login with CANARY99secret and {} failed {number}", value(number % 300));
        assert_eq!(line(&mut redactor, &text), format!("login with [masked] and [masked] failed {number}"));
    }
}

#[test]
fn lines_of_a_service_lose_words_and_queries_only() {
    let line = r#"{"level":"error","msg":"clone https://git:CAN1@example.com/x?a=CAN2: token: no","name":"kept"}"#;
    let cleaned = shareable_line(line);
    judge("line", &cleaned, &["CAN"], &["kept", "example.com/x", "token: no"]);
    assert!(serde_json::from_str::<Value>(&cleaned).is_ok(), "{cleaned}");
    judge("page", &shareable_text("password: CAN1\nhttps://x/y?any=CAN2 kept"), &["CAN"], &["kept", "https://x/y"]);
    assert_eq!(plain_address("https://u:p@ss@example.com/x?a=b#c"), "https://example.com/x");
    assert_eq!(plain_address("u:p@ghcr.io/org"), "ghcr.io/org");
    for kept in ["ssh://git@example.com/x", "git@github.com:org/x", "ghcr.io/org", "oci://ghcr.io/a/b"] {
        assert_eq!(plain_address(kept), kept);
    }
}

#[test]
fn the_dump_of_the_tests_is_left_as_it_is() {
    let dump: Value = serde_json::from_str(include_str!("../../../../tests/offline/cli/inspect/dump.json")).unwrap();
    let mut redactor = Redactor::new(vec![]);
    let items = dump["items"].as_array().unwrap();
    items.iter().for_each(|object| redactor.learn(object));
    for object in items {
        assert_eq!(redactor.object(object.clone()), *object);
    }
    assert_eq!(redactor.masked(), []);
}

#[test]
fn credentials_are_found_in_texts_within_texts_and_in_words_of_base64() {
    let mut redactor = Redactor::new(vec![]);
    let secret = "b: \"apiVersion: v1\\nkind: Secret\\nstringData:\\n  z: CANARY-1\\n\"\n";
    let encoded = STANDARD.encode("user: a\npassword: CANARY-2\n");
    let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {
        "nested": format!("a: '{}'\n", secret.replace('\n', "\n\n  ")),
        "encoded": encoded,
        "script": format!("echo {encoded} | base64 -d"),
        "toml": "password = \"\"\"\nCANARY-3\n\"\"\"\nuser = 'b'\n",
        "command": ["redis-cli", "config", "set", "requirepass", "CANARY4x9Q"],
        "plain": STANDARD.encode("nothing of interest is in here"),
        "target": {"template": {"data": {"config": "fixed=CANARY-5"}}},
    }});
    let text = redactor.object(object).to_string();
    assert!(!text.contains("CANARY") && !text.contains(encoded.trim_end_matches('=')), "{text}");
    assert!(text.contains(&STANDARD.encode("nothing of interest is in here")) && text.contains("user = 'b'"), "{text}");
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}, "extra": {"a": "CANARY"}});
    assert!(!redactor.object(secret).to_string().contains("CANARY"));
}

#[test]
fn logs_with_colours_and_sentences_are_masked() {
    let lines = [
        "\u{1b}[36mpassword\u{1b}[0m=\u{1b}[32mCANARY1\u{1b}[0m",
        "Password for user alice: CANARY2x9",
        "the token is CANARY3x9",
        "generated password is now: CANARY4x9",
        "\u{1b}[36mmsg\u{1b}[0m=started",
        "the secret for registry ghcr.io: not found",
        "the token is expired",
    ];
    let cleaned = Redactor::new(vec![]).log("pod", &lines.map(str::to_owned));
    assert!(!cleaned.concat().contains("CANARY"), "{cleaned:?}");
    assert_eq!(cleaned[4..], lines[4..]);
}

#[test]
fn names_and_values_in_separate_fields_of_a_text_are_pairs() {
    judge_texts(&[
        (r#"set {"name":"DB_PASSWORD","value":"CAN1 x"} failed"#, &["CAN"], &["DB_PASSWORD", "failed"]),
        (r#"<add key="db.password" value="CAN1"/> kept"#, &["CAN"], &["db.password", "kept"]),
        (r#"v1.EnvVar{Name:"DB_PASSWORD", Value:"CAN1", ValueFrom:nil}"#, &["CAN"], &["DB_PASSWORD", "ValueFrom:nil"]),
        ("env name: DB_PASSWORD value: CAN1, then kept", &["CAN"], &["DB_PASSWORD", "kept"]),
        (r#"msg="{\"name\":\"API_TOKEN\",\"value\":\"CAN1\"}" kept"#, &["CAN"], &["API_TOKEN", "kept"]),
        (r#"{"name":"LOG_LEVEL","value":"debug"} failed"#, &[], &["debug"]),
        (r#"{"name":"DB_PASSWORD","value":"$(OTHER)"} failed"#, &[], &["$(OTHER)"]),
        (r#"{\"password\":\"CAN1\"}"#, &["CAN"], &["password"]),
        (r#"{\\\"user\\\":\\\"kept\\\",\\\"password\\\":\\\"CAN1\\\"}"#, &["CAN"], &["password"]),
        ("\u{1b}[31mpassword\u{1b}[0m=\u{1b}[32mCAN1\u{1b}[0m", &["CAN"], &["password"]),
    ]);
}

#[test]
fn colours_within_colours_are_taken_away_once() {
    // Each pass over such a text would uncover another colour.
    let nested = format!("{}{} password=CAN1", "\u{1b}".repeat(100_000), "[".repeat(100_000));
    judge("line", &line(&mut Redactor::new(vec![]), &nested), &["CAN"], &["password"]);
}

#[test]
fn statements_addresses_without_scheme_and_literals_lose_their_passwords() {
    judge_texts(&[
        ("CREATE USER 'kept'@'%' IDENTIFIED BY 'CAN1 x'", &["CAN"], &["kept"]),
        ("requirepass CAN1", &["CAN"], &["requirepass"]),
        ("HTTP_PROXY=kept:CAN1@127.0.0.1:8080 failed", &["CAN"], &["127.0.0.1:8080", "failed"]),
        ("dial 'x:CAN1@git.example.com/x': no route", &["CAN"], &["git.example.com/x", "no route"]),
        ("image podinfo:6.0.0@sha256:0123 and main:1@sha1:ab", &[], &["podinfo:6.0.0@sha256:0123", "main:1@sha1:ab"]),
        (
            "kubectl create secret generic kept --from-literal=a=CAN1 --from-literal b='CAN2 x'",
            &["CAN"],
            &["kept", "a=", "b="],
        ),
        ("echo CAN1 | docker login -u kept --password-stdin", &["CAN"], &["docker login -u kept"]),
        ("echo \"$TOKEN\" | docker login --password-stdin", &[], &["$TOKEN"]),
        (
            r#"Secret in version "v1" cannot be handled as a Secret: illegal base64, error found in #10 byte of ...|CAN1|..., bigger context ...|"a":"CAN2"}|..."#,
            &["CAN"],
            &["cannot be handled", "bigger context"],
        ),
        (
            "Receiver initialized for path: /hook/0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b",
            &["0a1b"],
            &["Receiver initialized for path: /hook/"],
        ),
    ]);
}

#[test]
fn parameters_and_literals_of_objects_are_masked() {
    let parameters = json!([{"Name": "db_password", "Value": "CAN1"}, {"name": "token", "default": "CAN2"},
        {"key": "api_key", "val": "CAN3"}, {"name": "level", "default": "kept"}]);
    let object = json!({"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"parameters": parameters,
        "args": ["create", "secret", "--from-literal", "a=CAN4", "--from-literal=b=CAN5", "--from-file=c=kept-file"]}});
    judge("object", &Redactor::new(vec![]).object(object).to_string(), &["CAN"], &["kept", "kept-file", "a=", "b="]);
    let provider = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
        "spec": {"defaultValues": {"a": "CAN1"}}, "status": {"exportedInputs": [{"a": "CAN1", "branch": "kept"}]}});
    judge("inputs", &Redactor::new(vec![]).object(provider).to_string(), &["CAN"], &["kept"]);
}

#[test]
fn passwords_inside_files_of_secrets_are_known() {
    let entries = [
        ("auth.json", format!(r#"{{"auths":{{"ghcr.io":{{"auth":"{}"}}}}}}"#, STANDARD.encode("x:CAN1inside"))),
        (".netrc", "machine git.example.com login x password CAN-two-inside\n".to_owned()),
        ("url", "https://x:CAN3%2Finside@git.example.com/x".to_owned()),
        (".env", "export SOME_NAME='CAN4inside9xY'\nLEVEL=debug\n".to_owned()),
        ("values.yaml", "a: {b: [CAN5inside9xY, plain-word], image: ghcr.io/x/y}\n".to_owned()),
        ("store.bin", "\u{1}\u{2}CAN6 inside the store\u{0}\u{1}".to_owned()),
        ("password", "CAN7/inside".to_owned()),
    ];
    let data: Map<String, Value> =
        entries.iter().map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into())).collect();
    let mut redactor = Redactor::new(vec![]);
    redactor.learn(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data}));
    let text =
        "tried CAN1inside CAN-two-inside CAN3/inside CAN4inside9xY CAN5inside9xY CAN6 inside the store CAN7%2finside";
    judge("line", &line(&mut redactor, text), &["CAN"], &["tried"]);
    let kept = "debug plain-word ghcr.io/x/y git.example.com";
    assert_eq!(line(&mut redactor, kept), kept);
}

#[test]
fn values_on_other_lines_than_their_names_are_masked_in_logs() {
    let log = "- name: DB_PASSWORD\n  value: CAN1\n{\n  \"name\": \"API_TOKEN\",\n  \"value\": \"CAN2\",\n}\n  password:\n    CAN3\n  \
               token: |\n    CAN4\n    CAN5\n  level: kept\n\"passwords\": [\n  \"CAN6\",\n],\nauth:\n  user: kept2\nthe token:\nkept3";
    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
    let cleaned = Redactor::new(vec![]).log("x", &lines);
    assert_eq!(cleaned.len(), lines.len());
    judge("log", &cleaned.join("\n"), &["CAN"], &["level: kept", "user: kept2", "kept3"]);
}
