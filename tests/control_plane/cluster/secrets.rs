//! `create secret` against a real API server: every kind, every source of a password, every refusal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::program::{end, finish, on_terminal, run};
use crate::cluster_tests;
use crate::support::certificates::Authority;
use crate::support::{ClusterTest, Fault, FaultRule, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_kind_is_created_changed_unchanged_and_refused,
        documented_command_lines_work_word_for_word,
        every_source_gives_the_exact_password,
        two_sources_or_none_are_wrong_usage,
        a_password_is_asked_for_twice_and_never_shown,
        answers_that_differ_are_refused,
        the_passphrase_of_an_encrypted_key_is_asked_for_once,
        a_proxy_asks_only_with_a_user_name,
        a_password_on_the_command_line_is_warned_about_on_a_terminal,
        a_signal_at_the_prompt_leaves_the_terminal_intact,
        labels_annotations_and_immutable_are_stored,
        another_type_or_an_immutable_secret_is_replaced_only_when_asked,
        a_replacement_that_is_refused_leaves_the_old_secret,
        a_replacement_whose_second_write_fails_puts_the_old_secret_back_or_says_that_it_cannot,
        a_secret_that_changes_during_its_replacement_is_not_replaced,
        a_secret_that_a_finalizer_keeps_is_not_reported_as_restored,
        a_secret_that_someone_creates_during_a_replacement_is_not_overwritten,
        a_replacement_that_is_killed_leaves_nothing_under_another_name_and_is_repeated,
        fields_of_another_manager_are_a_conflict_with_a_way_out,
        dry_runs_store_nothing,
        an_export_needs_no_cluster_and_can_be_applied,
        a_missing_namespace_says_how_to_make_it,
        skipped_checks_write_what_looks_wrong,
        the_namespace_is_the_flag_then_the_context,
    ]
}

const HOSTS: &str = "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n";
const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/core/src/secrets/samples");

fn secrets(cluster: &TestCluster) -> Api<Secret> {
    Api::namespaced(cluster.client(), cluster.namespace())
}

async fn stored(cluster: &TestCluster, name: &str) -> Secret {
    secrets(cluster).get(name).await.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn value<'a>(secret: &'a Secret, key: &str) -> &'a [u8] {
    &secret.data.as_ref().expect("data")[key].0
}

/// The files a person has: keys, certificates, host keys.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        let files = Files(tempfile::tempdir().expect("a folder"));
        for (name, sample) in [
            ("my-private.key", "ed25519-pkcs8.pem"),
            ("rsa.key", "rsa-pkcs1.pem"),
            ("rsa.pub", "rsa.pub"),
            ("private-key.pem", "rsa-pkcs8.pem"),
            ("gpg.asc", "pgp-open.asc"),
            ("gpg-rsa.asc", "pgp-open-rsa.asc"),
            ("locked.asc", "pgp-protected.asc"),
        ] {
            std::fs::copy(Path::new(SAMPLES).join(sample), files.path(name)).expect("copied");
        }
        files.write("known_hosts", HOSTS);
        let authority = Authority::new("a test's authority").unwrap();
        let (one, two) = (authority.server(&["one"]).unwrap(), authority.server(&["two"]).unwrap());
        files.write("ca.crt", authority.certificate());
        files.write("tls.crt", &one.certificate);
        files.write("tls.key", &one.key);
        files.write("other.key", &two.key);
        files.write("other.crt", &two.certificate);
        files.write("age.txt", "AGE-SECRET-KEY-1XXXX\n");
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }
}

/// The binary, started in a folder.
fn within(cluster: &TestCluster, files: &Files) -> Command {
    let mut command = cluster.command();
    command.current_dir(files.0.path());
    command
}

struct Case {
    kind: &'static str,
    type_: &'static str,
    keys: &'static [&'static str],
    first: &'static str,
    /// Differs from the first in at least one value.
    second: &'static str,
    /// Arguments and what the error says.
    refused: &'static [(&'static str, &'static str)],
}

const CASES: &[Case] = &[
    Case {
        kind: "basic-auth",
        type_: "kubernetes.io/basic-auth",
        keys: &["password", "username"],
        first: "--username=admin --password=one",
        second: "--username=admin --password=two",
        refused: &[("--username=a:b --password=x", "colon"), ("--username=a --password=", "password is required")],
    },
    Case {
        kind: "registry",
        type_: "kubernetes.io/dockerconfigjson",
        keys: &[".dockerconfigjson"],
        first: "--server=ghcr.io --username=flux --password=one",
        second: "--server=ghcr.io --username=flux --password=two",
        refused: &[("--server=oci://ghcr.io --username=flux --password=one", "oci://")],
    },
    Case {
        kind: "ssh",
        type_: "Opaque",
        keys: &["identity", "identity.pub", "known_hosts"],
        first: "--private-key-file=rsa.key --public-key-file=rsa.pub --knownhosts-file=known_hosts",
        second: "--private-key-file=private-key.pem --public-key-file=rsa.pub --knownhosts-file=known_hosts",
        refused: &[
            (
                "--private-key-file=my-private.key --public-key-file=rsa.pub --knownhosts-file=known_hosts",
                "does not belong",
            ),
            ("--private-key-file=rsa.pub --knownhosts-file=known_hosts", "public key"),
            ("--private-key-file=rsa.key --knownhosts-file=rsa.pub", "line 1"),
            ("--private-key-file=absent --knownhosts-file=known_hosts", "cannot read absent"),
        ],
    },
    Case {
        kind: "githubapp",
        type_: "Opaque",
        keys: &["githubAppID", "githubAppInstallationID", "githubAppPrivateKey"],
        first: "--app-id=1 --app-installation-id=2 --app-private-key-file=private-key.pem",
        second: "--app-id=1 --app-installation-id=3 --app-private-key-file=private-key.pem",
        refused: &[
            ("--app-id=1 --app-installation-id=2 --app-private-key-file=my-private.key", "RSA"),
            ("--app-id=1 --app-private-key-file=private-key.pem", "app-installation-owner"),
        ],
    },
    Case {
        kind: "bucket",
        type_: "Opaque",
        keys: &["accesskey", "secretkey"],
        first: "--accesskey=AKIA --secretkey=one",
        second: "--accesskey=AKIA --secretkey=two",
        refused: &[("--secretkey=one", "--accesskey"), ("--accesskey=AKIA --secretkey=", "secretkey is required")],
    },
    Case {
        kind: "proxy",
        type_: "Opaque",
        keys: &["address", "password", "username"],
        first: "--address=http://proxy.example.com:8080 --username=u --password=one",
        second: "--address=http://proxy.example.com:8080 --username=u --password=two",
        refused: &[("--address=10.0.0.1:8080", "scheme"), ("--address=", "address is required")],
    },
    Case {
        kind: "tls",
        type_: "kubernetes.io/tls",
        keys: &["ca.crt", "tls.crt", "tls.key"],
        first: "--tls-crt-file=tls.crt --tls-key-file=tls.key --ca-crt-file=ca.crt",
        second: "--tls-crt-file=other.crt --tls-key-file=other.key --ca-crt-file=ca.crt",
        refused: &[
            ("--tls-crt-file=tls.crt --tls-key-file=other.key", "does not belong"),
            ("--tls-crt-file=tls.crt", "--tls-key-file"),
            ("--ca-crt-file=rsa.key", "no certificate"),
        ],
    },
    Case {
        kind: "sops",
        type_: "Opaque",
        // Named by a checksum of the key.
        keys: &[],
        first: "--gpg-key-file=gpg.asc",
        second: "--gpg-key-file=gpg-rsa.asc",
        refused: &[
            ("--gpg-key-file=locked.asc", "passphrase"),
            ("--age-key-file=age.txt", "checksum"),
            ("", "age or GPG key is required"),
        ],
    },
];

async fn every_kind_is_created_changed_unchanged_and_refused(cluster: TestCluster) {
    let files = Files::new();
    for case in CASES {
        let name = format!("s-{}", case.kind);
        let arguments = |rest: &'static str| {
            let mut all = vec!["create", "secret", case.kind, name.as_str()];
            all.extend(rest.split_whitespace());
            all
        };
        let line = |what: &str| format!("secret/{}/{name} {what} (context ", cluster.namespace());
        run(within(&cluster, &files), &arguments(case.first)).await.exits(0).stdout_has(&line("created"));
        let first = stored(&cluster, &name).await;
        assert_eq!(first.type_.as_deref(), Some(case.type_), "{}", case.kind);
        if !case.keys.is_empty() {
            let keys: Vec<_> = first.data.iter().flatten().map(|(key, _)| key.as_str()).collect();
            assert_eq!(keys, case.keys, "{}", case.kind);
        }
        let managers = first.metadata.managed_fields.iter().flatten();
        let managers: Vec<_> = managers.map(|m| (m.manager.as_deref(), m.operation.as_deref())).collect();
        assert_eq!(managers, [(Some("flux-operator-ctl"), Some("Apply"))], "{}", case.kind);

        run(within(&cluster, &files), &arguments(case.first)).await.exits(0).stdout_has(&line("unchanged"));
        assert_eq!(stored(&cluster, &name).await.metadata.resource_version, first.metadata.resource_version);
        run(within(&cluster, &files), &arguments(case.second)).await.exits(0).stdout_has(&line("configured"));
        let second = stored(&cluster, &name).await;
        assert_ne!(second.data, first.data, "{}", case.kind);

        for (refused, why) in case.refused {
            let outcome = run(within(&cluster, &files), &arguments(refused)).await.stderr_has(why);
            assert!([1, 2].contains(&outcome.code), "{refused}: {outcome:?}");
        }
        assert_eq!(stored(&cluster, &name).await.metadata.resource_version, second.metadata.resource_version);
    }
}

async fn documented_command_lines_work_word_for_word(cluster: TestCluster) {
    let files = Files::new();
    cluster.apply(&[json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}})]).await;
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_flux-operator"), files.path("flux-operator")).expect("linked");
    let lines = [
        "echo $ENTERPRISE_TOKEN | flux-operator create secret registry flux-enterprise-auth \\\n  \
         --namespace=flux-system \\\n  --server=ghcr.io \\\n  --username=flux \\\n  --password-stdin",
        "flux-operator create secret basic-auth git-token-auth \\\n  --namespace=flux-system \\\n  \
         --username=git-username \\\n  --password=git-token",
        "flux-operator create secret ssh git-ssh-auth \\\n  --namespace=flux-system \\\n  \
         --private-key-file=my-private.key \\\n  --knownhosts-file=./known_hosts",
        "flux-operator create secret registry oci-token-auth \\\n  --namespace=flux-system \\\n  \
         --server=ghcr.io \\\n  --username=ghcr-username \\\n  --password=ghcr-token",
    ];
    for line in lines {
        let mut shell = Command::new("bash");
        shell.args(["-c", line]).env_clear().current_dir(files.0.path());
        shell.env("PATH", format!("{}:/usr/bin:/bin", files.0.path().display()));
        shell.env("KUBECONFIG", cluster.kubeconfig().path()).env("ENTERPRISE_TOKEN", "t0ken with space");
        finish(shell, "").await.exits(0).stdout_has("created");
    }
    let api = Api::<Secret>::namespaced(cluster.client(), "flux-system");
    let registry = api.get("flux-enterprise-auth").await.unwrap();
    let config: Value = serde_json::from_slice(value(&registry, ".dockerconfigjson")).unwrap();
    assert_eq!(config["auths"]["ghcr.io"]["password"], "t0ken with space");
    assert_eq!(config["auths"]["ghcr.io"]["auth"], STANDARD.encode("flux:t0ken with space"));
    assert_eq!(value(&api.get("git-token-auth").await.unwrap(), "password"), b"git-token");
    let identity = std::fs::read(files.path("my-private.key")).unwrap();
    assert_eq!(value(&api.get("git-ssh-auth").await.unwrap(), "identity"), identity);
}

const PASSWORD: &str = " pass with spaces ü ";

async fn every_source_gives_the_exact_password(cluster: TestCluster) {
    let files = Files::new();
    files.write("password", &format!("{PASSWORD}\r\n"));
    let flag = format!("--password={PASSWORD}");
    let with_line_end = format!("{PASSWORD}\n");
    for (name, source, input) in [
        ("flag", flag.as_str(), ""),
        ("stdin", "--password-stdin", with_line_end.as_str()),
        ("bare-stdin", "--password-stdin", PASSWORD),
        ("file", "--password-file=password", ""),
        ("environment", "--password-env=THE_PASSWORD", ""),
    ] {
        let mut command = within(&cluster, &files);
        command.args(["create", "secret", "basic-auth", name, "--username=u", source]).env("THE_PASSWORD", PASSWORD);
        let outcome = finish(command, input).await.exits(0).stderr_has("white space");
        assert!(!outcome.stderr.contains("pass with"), "{}", outcome.stderr);
        assert_eq!(value(&stored(&cluster, name).await, "password"), PASSWORD.as_bytes(), "{name}");
    }
    for (name, source, input) in [
        ("b-stdin", "--secretkey-stdin", "s3\n"),
        ("b-env", "--secretkey-env=KEY", ""),
        ("b-file", "--secretkey-file=key", ""),
    ] {
        files.write("key", "s3\n");
        let mut command = within(&cluster, &files);
        command.args(["create", "secret", "bucket", name, "--accesskey=a", source]).env("KEY", "s3");
        finish(command, input).await.exits(0);
        assert_eq!(value(&stored(&cluster, name).await, "secretkey"), b"s3", "{name}");
    }
}

async fn two_sources_or_none_are_wrong_usage(cluster: TestCluster) {
    let base = ["create", "secret", "basic-auth", "never", "--username=u"];
    for (sources, why) in [
        (vec!["--password=a", "--password-stdin"], "cannot be used with"),
        (vec!["--password-file=a", "--password-env=B"], "cannot be used with"),
        (vec![], "no terminal"),
        (vec!["--password-env=NOT_SET"], "NOT_SET is not set"),
    ] {
        let mut command = cluster.command();
        command.args(base).args(sources);
        finish(command, "").await.exits(2).stderr_has(why);
    }
    let mut command = cluster.command();
    command.args(base).arg("--password-stdin");
    finish(command, "one\ntwo\n").await.exits(2).stderr_has("more than one line");
    for kind in
        [vec!["registry", "never", "--server=ghcr.io", "--username=u"], vec!["bucket", "never", "--accesskey=a"]]
    {
        let mut command = cluster.command();
        command.args(["create", "secret"]).args(kind);
        finish(command, "").await.exits(2).stderr_has("no terminal to prompt on");
    }
    assert!(secrets(&cluster).get_opt("never").await.unwrap().is_none());
}

async fn a_password_is_asked_for_twice_and_never_shown(cluster: TestCluster) {
    for (name, arguments, key) in [
        ("asked-basic", vec!["basic-auth", "asked-basic", "--username=u"], "password"),
        ("asked-bucket", vec!["bucket", "asked-bucket", "--accesskey=a"], "secretkey"),
        ("asked-registry", vec!["registry", "asked-registry", "--server=ghcr.io", "--username=u"], ".dockerconfigjson"),
    ] {
        let mut all = vec!["create", "secret"];
        all.extend(arguments);
        let mut terminal = on_terminal(cluster.command(), &all);
        let mut shown = terminal.exp_string("Enter the ").expect("a question");
        terminal.send_line("Ty ped 1").expect("typed");
        shown += &terminal.exp_string("Repeat the ").expect("a second question");
        terminal.send_line("Ty ped 1").expect("typed");
        let (code, rest) = end(terminal);
        shown += &rest;
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains("Ty ped"), "{shown}");
        let secret = stored(&cluster, name).await;
        let text = String::from_utf8(value(&secret, key).to_vec()).unwrap();
        assert!(text == "Ty ped 1" || text.contains("\"password\": \"Ty ped 1\""), "{text}");
    }
}

async fn answers_that_differ_are_refused(cluster: TestCluster) {
    let mut terminal = on_terminal(cluster.command(), &["create", "secret", "basic-auth", "differ", "--username=u"]);
    terminal.exp_string("Enter the password: ").expect("a question");
    terminal.send_line("one").expect("typed");
    terminal.exp_string("Repeat the password: ").expect("a second question");
    terminal.send_line("two").expect("typed");
    let (code, rest) = end(terminal);
    assert_eq!(code, 1, "{rest}");
    assert!(rest.contains("differ"), "{rest}");
    assert!(secrets(&cluster).get_opt("differ").await.unwrap().is_none());
}

async fn the_passphrase_of_an_encrypted_key_is_asked_for_once(cluster: TestCluster) {
    let files = Files::new();
    let kdf = ssh_key::Kdf::Bcrypt { salt: vec![7; 16], rounds: 1 };
    let pair = ssh_key::private::Ed25519Keypair::from_seed(&[1; 32]);
    let key = ssh_key::PrivateKey::new(pair.into(), "sample").unwrap();
    let locked = key.encrypt_with(ssh_key::Cipher::Aes256Ctr, kdf, 1, "open sesame").unwrap();
    files.write("locked.key", &locked.to_openssh(ssh_key::LineEnding::LF).unwrap());
    let arguments =
        ["create", "secret", "ssh", "locked", "--private-key-file=locked.key", "--knownhosts-file=known_hosts"];

    let mut terminal = on_terminal(within(&cluster, &files), &arguments);
    terminal.exp_string("Enter the passphrase of locked.key: ").expect("a question");
    terminal.send_line("wrong").expect("typed");
    let (code, rest) = end(terminal);
    assert!(code == 1 && rest.contains("does not decrypt the key"), "{code}: {rest}");

    let mut terminal = on_terminal(within(&cluster, &files), &arguments);
    terminal.exp_string("Enter the passphrase of locked.key: ").expect("a question");
    terminal.send_line("open sesame").expect("typed");
    let (code, rest) = end(terminal);
    assert!(code == 0 && !rest.contains("Repeat"), "{code}: {rest}");
    assert_eq!(value(&stored(&cluster, "locked").await, "password"), b"open sesame");

    run(within(&cluster, &files), &arguments).await.exits(2).stderr_has("no terminal");
    let open = ["create", "secret", "ssh", "open", "--private-key-file=rsa.key", "--knownhosts-file=known_hosts"];
    let (code, rest) = end(on_terminal(within(&cluster, &files), &open));
    assert!(code == 0 && !rest.contains("Enter the"), "{code}: {rest}");
}

async fn a_proxy_asks_only_with_a_user_name(cluster: TestCluster) {
    let address = "--address=http://proxy.example.com:8080";
    let (code, rest) = end(on_terminal(cluster.command(), &["create", "secret", "proxy", "silent", address]));
    assert!(code == 0 && !rest.contains("Enter"), "{code}: {rest}");
    let mut terminal = on_terminal(cluster.command(), &["create", "secret", "proxy", "asked", address, "--username=u"]);
    terminal.exp_string("Enter the password: ").expect("a question");
    terminal.send_line("pw").expect("typed");
    terminal.exp_string("Repeat the password: ").expect("a second question");
    terminal.send_line("pw").expect("typed");
    assert_eq!(end(terminal).0, 0);
    assert_eq!(value(&stored(&cluster, "asked").await, "password"), b"pw");
}

async fn a_password_on_the_command_line_is_warned_about_on_a_terminal(cluster: TestCluster) {
    let arguments = ["create", "secret", "basic-auth", "loud", "--username=u", "--password=pw"];
    let (code, shown) = end(on_terminal(cluster.command(), &arguments));
    assert!(code == 0 && shown.contains("warning:") && shown.contains("--password-stdin"), "{code}: {shown}");
    let quiet = run(cluster.command(), &arguments).await.exits(0);
    assert_eq!(quiet.stderr, "");
}

async fn a_signal_at_the_prompt_leaves_the_terminal_intact(cluster: TestCluster) {
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let start =
        format!("sh -c 'echo pid=$$; exec {binary} create secret basic-auth asked --username=u'; echo rc=$?; stty -g");
    for signal in ["TERM", "INT", "key"] {
        let mut shell = Command::new("sh");
        let own = cluster.command();
        shell.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // A shell that gets the signal as well must not end before its child.
        let script = format!("trap : INT TERM; echo before=$(stty -g); {start}");
        let mut terminal = on_terminal(shell, &["-c", &script]);
        terminal.exp_string("before=").expect("the settings");
        let before = terminal.read_line().expect("a line").trim().to_owned();
        terminal.exp_string("pid=").expect("a pid");
        let pid = terminal.read_line().expect("a line").trim().to_owned();
        terminal.exp_string("Enter the password: ").expect("a question");
        match signal {
            "key" => terminal.send_control('c').expect("typed"),
            name => {
                let status = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
                assert!(status.success());
            }
        }
        let (_, rest) = end(terminal);
        assert!(rest.contains("rc=130"), "{signal}: {rest}");
        assert!(rest.contains("interrupted"), "{signal}: {rest}");
        assert!(rest.trim_end().ends_with(&before), "{signal}: {before}\n{rest}");
    }
}

async fn labels_annotations_and_immutable_are_stored(cluster: TestCluster) {
    let arguments = [
        "create",
        "secret",
        "basic-auth",
        "meta",
        "--username=u",
        "--password=p",
        "--label=team=a,tier=web",
        "--label=x.io/y=z",
        "--annotation=note=see https://example.com/?a=b, then wait",
        "--annotation=a=1,b=2",
        "--immutable",
    ];
    run(cluster.command(), &arguments).await.exits(0);
    let secret = stored(&cluster, "meta").await;
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    assert_eq!(secret.metadata.labels, Some(pairs(&[("team", "a"), ("tier", "web"), ("x.io/y", "z")])));
    let annotations = pairs(&[("note", "see https://example.com/?a=b, then wait"), ("a", "1"), ("b", "2")]);
    assert_eq!(secret.metadata.annotations, Some(annotations));
    assert_eq!(secret.immutable, Some(true));
    let mut bad = arguments.to_vec();
    bad.push("--label=team=a b");
    run(cluster.command(), &bad).await.exits(2).stderr_has("label `team`");
    let upper = ["create", "secret", "basic-auth", "Upper", "--username=u", "--password=p"];
    run(cluster.command(), &upper).await.exits(2).stderr_has("name `Upper`");
}

async fn another_type_or_an_immutable_secret_is_replaced_only_when_asked(cluster: TestCluster) {
    let basic = ["create", "secret", "basic-auth", "old", "--username=u", "--password=p", "--immutable"];
    run(cluster.command(), &basic).await.exits(0);
    run(cluster.command(), &basic).await.exits(0).stdout_has("unchanged");
    let other = ["create", "secret", "basic-auth", "old", "--username=u", "--password=q", "--immutable"];
    run(cluster.command(), &other).await.exits(1).stderr_has("immutable").stderr_has("--replace");
    let bucket = ["create", "secret", "bucket", "old", "--accesskey=a", "--secretkey=s"];
    run(cluster.command(), &bucket).await.exits(1).stderr_has("kubernetes.io/basic-auth").stderr_has("--replace");
    assert_eq!(value(&stored(&cluster, "old").await, "password"), b"p");

    let with = |arguments: &[&'static str], flag: &'static str| [arguments, &["--replace", flag]].concat();
    run(cluster.command(), &with(&bucket, "--dry-run=server")).await.exits(0).stdout_has("replaced");
    assert_eq!(value(&stored(&cluster, "old").await, "password"), b"p");
    run(cluster.command(), &with(&other, "--quiet")).await.exits(0).stdout_has("replaced");
    assert_eq!(value(&stored(&cluster, "old").await, "password"), b"q");
    run(cluster.command(), &with(&bucket, "--quiet")).await.exits(0).stdout_has("replaced");
    assert_eq!(stored(&cluster, "old").await.type_.as_deref(), Some("Opaque"));
}

async fn a_replacement_that_is_refused_leaves_the_old_secret(cluster: TestCluster) {
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client());
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(cluster.client());
    let name = format!("refuse-{}", cluster.namespace());
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace()}}},
            "validations": [{"expression": "!has(object.metadata.labels) || !('refused' in object.metadata.labels)", "message": "no such secret here"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]}});
    policies.create(&PostParams::default(), &serde_json::from_value(policy).unwrap()).await.unwrap();
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
    let basic = ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one"];
    run(cluster.command(), &basic).await.exits(0);
    let before = stored(&cluster, "kept").await;
    let probe = [
        "create",
        "secret",
        "basic-auth",
        "probe",
        "--username=u",
        "--password=a",
        "--label=refused=yes",
        "--dry-run=server",
    ];
    // The API server picks a new policy up in its own time.
    for _ in 0..100 {
        if run(cluster.command(), &probe).await.code != 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let bucket =
        ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace", "--label=refused=yes"];
    run(cluster.command(), &bucket).await.exits(1).stderr_has("no such secret here").stderr_has("is unchanged");
    let after = stored(&cluster, "kept").await;
    assert_eq!((after.metadata.uid, after.data), (before.metadata.uid, before.data));
    policies.delete(&name, &DeleteParams::default()).await.unwrap();
    bindings.delete(&name, &DeleteParams::default()).await.unwrap();
}

async fn a_replacement_whose_second_write_fails_puts_the_old_secret_back_or_says_that_it_cannot(cluster: TestCluster) {
    let proxy = cluster.proxy().await;
    let through = |arguments: &[&str]| {
        let mut command = cluster.command();
        command.env("KUBECONFIG", proxy.kubeconfig().path()).args(arguments).stdin(Stdio::null());
        command
    };
    let bucket = ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace"];
    let refused = |status: u16| Fault::Answer { status, retry_after: None };
    // How many requests of this method are answered so. The writes after the deletion are patches.
    for (method, fault, times) in [
        ("PATCH", refused(422), 1),
        ("PATCH", refused(403), 1),
        ("PATCH", refused(409), 1),
        ("PATCH", refused(500), 1),
        ("PATCH", Fault::CutAfter, 1),
        ("PATCH", refused(422), usize::MAX),
        ("PATCH", refused(500), usize::MAX),
        ("PATCH", Fault::CutBefore, usize::MAX),
        ("DELETE", refused(500), 1),
        ("DELETE", Fault::CutAfter, 1),
        ("DELETE", Fault::CutBefore, 1),
        ("DELETE", refused(403), usize::MAX),
    ] {
        let place = format!("{fault:?} on {method}, {times} times");
        proxy.clear_rules();
        let _ = secrets(&cluster).delete("kept", &DeleteParams::default()).await;
        let basic =
            ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one", "--label=a=b", "--immutable"];
        run(cluster.command(), &basic).await.exits(0);
        let before = stored(&cluster, "kept").await;
        let is_secret = |uri: &str| uri.ends_with("/secrets/kept") || uri.contains("/secrets/kept?");
        proxy.add_rule(FaultRule::first(times, fault).method(method).uri(is_secret));
        let run = run(through(&bucket), &[]).await;
        match secrets(&cluster).get_opt("kept").await.unwrap() {
            Some(now) if run.code == 0 => assert_eq!(value(&now, "secretkey"), b"b", "{place}"),
            Some(now) => {
                assert_eq!(run.stderr.contains("is restored"), method == "PATCH", "{place}: {}", run.stderr);
                assert_eq!(
                    (now.data, now.type_, now.immutable),
                    (before.data, before.type_, before.immutable),
                    "{place}"
                );
                assert_eq!(now.metadata.labels, before.metadata.labels, "{place}");
            }
            None => {
                assert_ne!(run.code, 0, "{place}");
                assert!(run.stderr.contains("cannot be restored"), "{place}: {}", run.stderr);
            }
        }
        // The next attempt succeeds, whatever the first failure was.
        proxy.clear_rules();
        finish(through(&bucket), "").await.exits(0);
        assert_eq!(value(&stored(&cluster, "kept").await, "secretkey"), b"b", "{place}");
        assert!(secrets(&cluster).get_opt("kept.replacing").await.unwrap().is_none(), "{place}");
    }
}

async fn a_secret_that_changes_during_its_replacement_is_not_replaced(cluster: TestCluster) {
    let basic = ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one"];
    run(cluster.command(), &basic).await.exits(0);
    let proxy = cluster.proxy().await;
    let (release, allowed) = tokio::sync::watch::channel(false);
    proxy.add_rule(FaultRule::first(1, Fault::WaitFor(allowed)).method("DELETE"));
    let mut command = cluster.command();
    command.env("KUBECONFIG", proxy.kubeconfig().path());
    let bucket = ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace"];
    let (run, ()) = tokio::join!(run(command, &bucket), async {
        eventually("the deletion", Duration::from_secs(20), || async {
            (proxy.count("DELETE", |_| true) > 0).then_some(())
        })
        .await
        .unwrap();
        let theirs = Patch::Merge(json!({"data": {"password": STANDARD.encode("two")}}));
        secrets(&cluster).patch("kept", &PatchParams::default(), &theirs).await.unwrap();
        release.send_replace(true);
    });
    run.exits(1).stderr_has("changed by someone else in the meantime").stderr_has("run the command again");
    assert_eq!(value(&stored(&cluster, "kept").await, "password"), b"two");
    assert!(secrets(&cluster).get_opt("kept.replacing").await.unwrap().is_none(), "nothing is left beside");
}

async fn a_secret_that_a_finalizer_keeps_is_not_reported_as_restored(cluster: TestCluster) {
    let basic = ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one"];
    run(cluster.command(), &basic).await.exits(0);
    let finalizers = |names: Value| Patch::Merge(json!({"metadata": {"finalizers": names}}));
    let api = secrets(&cluster);
    api.patch("kept", &PatchParams::default(), &finalizers(json!(["example.com/keep"]))).await.unwrap();
    let bucket = ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace"];
    let outcome = run(cluster.command(), &[&bucket[..], &["--request-timeout=2s"]].concat()).await.exits(7);
    let outcome = outcome.stderr_has("metadata.finalizers").stderr_has("run the command again when it is gone");
    assert!(!outcome.stderr.contains("restored"), "{}", outcome.stderr);
    let kept = stored(&cluster, "kept").await;
    assert!(kept.metadata.deletion_timestamp.is_some() && value(&kept, "password") == b"one");
    api.patch("kept", &PatchParams::default(), &finalizers(Value::Null)).await.unwrap();
    run(cluster.command(), &bucket).await.exits(0);
    assert_eq!(value(&stored(&cluster, "kept").await, "secretkey"), b"b");
}

async fn a_secret_that_someone_creates_during_a_replacement_is_not_overwritten(cluster: TestCluster) {
    let basic = ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one"];
    run(cluster.command(), &basic).await.exits(0);
    let proxy = cluster.proxy().await;
    let (release, allowed) = tokio::sync::watch::channel(false);
    // The first read is before the deletion, the second one looks whether the Secret is gone.
    let is_secret = |uri: &str| uri.contains("/secrets/kept");
    proxy.add_rule(FaultRule::nth(2, Fault::WaitFor(allowed)).method("GET").uri(is_secret));
    let mut command = cluster.command();
    command.env("KUBECONFIG", proxy.kubeconfig().path());
    let bucket = ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace"];
    let (run, ()) = tokio::join!(run(command, &bucket), async {
        eventually("the second read", Duration::from_secs(20), || async {
            (proxy.count("GET", is_secret) > 1).then_some(())
        })
        .await
        .unwrap();
        let theirs = json!({"metadata": {"name": "kept"}, "stringData": {"token": "theirs"}});
        secrets(&cluster).create(&PostParams::default(), &serde_json::from_value(theirs).unwrap()).await.unwrap();
        release.send_replace(true);
    });
    let run = run.exits(1).stderr_has("created by someone else in the meantime");
    assert!(!run.stderr.contains("restored"), "{}", run.stderr);
    assert_eq!(value(&stored(&cluster, "kept").await, "token"), b"theirs");
}

async fn a_replacement_that_is_killed_leaves_nothing_under_another_name_and_is_repeated(cluster: TestCluster) {
    let basic = ["create", "secret", "basic-auth", "kept", "--username=u", "--password=one"];
    run(cluster.command(), &basic).await.exits(0);
    let proxy = cluster.proxy().await;
    let is_new = |uri: &str| uri.contains("/secrets/kept?");
    proxy.add_rule(FaultRule::every(Fault::Hang).method("PATCH").uri(is_new));
    let bucket = ["create", "secret", "bucket", "kept", "--accesskey=a", "--secretkey=b", "--replace"];
    let mut command = cluster.command();
    command.env("KUBECONFIG", proxy.kubeconfig().path()).args(bucket).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let hangs = eventually("the new Secret to be created", Duration::from_secs(20), || async {
        (proxy.count("PATCH", is_new) > 0).then_some(())
    });
    hangs.await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(secrets(&cluster).get_opt("kept").await.unwrap().is_none(), "it was killed in between");
    assert!(secrets(&cluster).get_opt("kept.replacing").await.unwrap().is_none(), "the dry run has stored something");
    run(cluster.command(), &bucket).await.exits(0);
    assert_eq!(value(&stored(&cluster, "kept").await, "secretkey"), b"b");
}

async fn fields_of_another_manager_are_a_conflict_with_a_way_out(cluster: TestCluster) {
    let patch = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared"}, "type": "kubernetes.io/basic-auth",
        "data": {"username": STANDARD.encode("u"), "password": STANDARD.encode("theirs")},
    });
    let params = PatchParams::apply("somebody-else");
    secrets(&cluster).patch("shared", &params, &Patch::Apply(&patch)).await.unwrap();
    let arguments = ["create", "secret", "basic-auth", "shared", "--username=u", "--password=ours"];
    let outcome = run(cluster.command(), &arguments).await.exits(1);
    let outcome = outcome.stderr_has(".data.password is owned by field manager somebody-else");
    assert!(outcome.stderr.contains("--force-conflicts"), "{}", outcome.stderr);
    assert_eq!(value(&stored(&cluster, "shared").await, "password"), b"theirs");
    let forced = [&arguments[..], &["--force-conflicts"]].concat();
    run(cluster.command(), &forced).await.exits(0).stdout_has("configured");
    assert_eq!(value(&stored(&cluster, "shared").await, "password"), b"ours");
}

async fn dry_runs_store_nothing(cluster: TestCluster) {
    let base = ["create", "secret", "basic-auth", "dry", "--username=u", "--password=p"];
    let with = |flag: &'static str| [&base[..], &[flag]].concat();
    run(cluster.command(), &with("--dry-run=server"))
        .await
        .exits(0)
        .stdout_has("dry created")
        .stdout_has("server dry run");
    let mark = cluster.mark().await;
    for flag in ["--dry-run=client", "--dry-run"] {
        run(cluster.command(), &with(flag)).await.exits(0).stdout_has("nothing was sent");
    }
    assert!(cluster.requests_since(mark).await.is_empty());
    assert!(secrets(&cluster).get_opt("dry").await.unwrap().is_none());
    let mark = cluster.mark().await;
    run(cluster.command(), &with("--dry-run=none")).await.exits(0).stdout_has("dry created");
    assert_eq!(cluster.requests_since(mark).await.len(), 2, "one to look, one to apply");
    // The API server refuses the same objects in a dry run.
    let absent = [&with("--dry-run=server")[..], &["-n", "absent"]].concat();
    run(cluster.command(), &absent).await.exits(3).stderr_has("namespace/absent not found");
}

async fn an_export_needs_no_cluster_and_can_be_applied(cluster: TestCluster) {
    let files = Files::new();
    let arguments = [
        "create",
        "secret",
        "ssh",
        "exported",
        "--private-key-file=rsa.key",
        "--knownhosts-file=known_hosts",
        "--export",
        "--immutable",
        "-n",
        cluster.namespace(),
    ];
    let mut alone = within(&cluster, &files);
    alone.env("KUBECONFIG", "/nowhere");
    let exported = run(alone, &arguments).await.exits(0);
    assert_eq!(exported.stderr, "");
    assert!(exported.stdout.starts_with("---\napiVersion: v1\nimmutable: true\nkind: Secret\nmetadata:\n"));
    let object = flux_operator::format::yaml::parse_one(&exported.stdout).unwrap();
    assert_eq!(object["stringData"]["known_hosts"], HOSTS);
    cluster.apply(&[object]).await;
    let key = std::fs::read(files.path("rsa.key")).unwrap();
    assert_eq!(value(&stored(&cluster, "exported").await, "identity"), key);
}

async fn a_missing_namespace_says_how_to_make_it(cluster: TestCluster) {
    let arguments = ["create", "secret", "basic-auth", "lost", "--username=u", "--password=p", "-n", "absent"];
    let outcome = run(cluster.command(), &arguments).await.exits(3).stderr_has("namespace/absent not found");
    assert!(outcome.stderr.contains("kubectl create namespace absent"), "{}", outcome.stderr);
}

async fn skipped_checks_write_what_looks_wrong(cluster: TestCluster) {
    let files = Files::new();
    let arguments = ["create", "secret", "sops", "odd", "--age-key-file=age.txt"];
    run(within(&cluster, &files), &arguments).await.exits(1).stderr_has("--skip-checks");
    let skipped = [&arguments[..], &["--skip-checks"]].concat();
    run(within(&cluster, &files), &skipped).await.exits(0).stdout_has("created");
    let stdin = ["create", "secret", "sops", "odd", "--age-key-stdin", "--skip-checks"];
    let mut command = within(&cluster, &files);
    command.args(stdin);
    finish(command, "AGE-SECRET-KEY-1XXXX\r\n").await.exits(0).stdout_has("configured");
    let secret = stored(&cluster, "odd").await;
    assert_eq!(value(&secret, "949618069.agekey"), b"AGE-SECRET-KEY-1XXXX");
}

async fn the_namespace_is_the_flag_then_the_context(cluster: TestCluster) {
    let base = ["create", "secret", "basic-auth", "here", "--username=u", "--password=p"];
    let own = format!("secret/{}/here created", cluster.namespace());
    run(cluster.command(), &base).await.exits(0).stdout_has(&own);
    let export = [&base[..], &["--export"]].concat();
    run(cluster.command(), &export).await.exits(0).stdout_has(&format!("namespace: {}", cluster.namespace()));
    let flag = [&base[..], &["--namespace=default"]].concat();
    run(cluster.command(), &flag).await.exits(0).stdout_has("secret/default/here created");
    let mut variable = cluster.command();
    variable.env("FLUX_OPERATOR_NAMESPACE", "default");
    run(variable, &base).await.exits(0).stdout_has("secret/default/here unchanged");
}
