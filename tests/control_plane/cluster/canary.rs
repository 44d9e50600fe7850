//! A known secret is passed in every possible way to every command at every log level, and must never be printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::cluster_tests;
use crate::support::{ClusterTest, Fault, FaultProxy, FaultRule, Options, TestCluster};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        every_form_of_the_secret_would_be_found,
        no_command_shows_the_token_it_signs_in_with,
        no_command_shows_an_accepted_token_or_an_answer_that_is_cut_off,
        no_example_shows_the_secrets_it_is_given,
        no_way_of_giving_a_secret_shows_it,
    ]
}

/// Every character class that encodings treat differently.
const CANARY: &str = "Kanarie+/7=vogel&%zingt";

/// Log levels from silent to complete. The last one is the filter that users set to see everything.
const LEVELS: [(&str, &str); 6] = [("", ""), ("-q", ""), ("-v", ""), ("-vv", ""), ("-vvv", ""), TRACED];

/// The most verbose flag, with which a secret would most likely be printed.
const LOUDEST: (&str, &str) = ("-vvv", "");

/// Everything that `-vvv` logs, and what kube logs about answers that it cannot parse.
const TRACED: (&str, &str) = ("", "trace");

/// The secret as text, percent-encoded, escaped for JSON or Rust, and as base64 wherever it may start within other bytes.
fn forms() -> Vec<String> {
    let mut forms = vec![CANARY.to_owned()];
    for keep in ["", "+/=&%", "-._~"] {
        let percent = |upper: bool| -> String {
            let encode = |c: char| match (c.is_ascii_alphanumeric() || keep.contains(c), upper) {
                (true, _) => c.to_string(),
                (false, true) => format!("%{:02X}", u32::from(c)),
                (false, false) => format!("%{:02x}", u32::from(c)),
            };
            CANARY.chars().map(encode).collect()
        };
        forms.extend([percent(true), percent(false)]);
    }
    for before in ["", "x", "xx"] {
        let bytes = format!("{before}{CANARY}");
        // The first and last characters also depend on what stands around the secret.
        let skip = before.len().div_ceil(1) * 4 / 3 + usize::from(!before.is_empty());
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let text = engine.encode(&bytes);
            forms.push(text[skip..text.len() - 2].to_owned());
        }
    }
    forms
}

/// Returns the part of the secret that appears in a text.
fn found(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    forms().into_iter().find(|form| text.contains(form.as_str()))
}

async fn every_form_of_the_secret_would_be_found(_: TestCluster) {
    for text in [
        format!("a {CANARY} b"),
        STANDARD.encode(CANARY),
        STANDARD.encode(format!("user:{CANARY}")),
        STANDARD.encode(format!("u:{CANARY}\n")),
        STANDARD.encode(format!("{{\"auths\":{{\"x\":\"{CANARY}\"}}}}")),
        URL_SAFE_NO_PAD.encode(format!("{CANARY}, and more")),
        "token=Kanarie%2B%2F7%3Dvogel%26%25zingt".to_owned(),
        "token=Kanarie%2b%2f7%3dvogel%26%25zingt".to_owned(),
    ] {
        assert!(found(text.as_bytes()).is_some(), "{text}");
    }
    assert_eq!(found(b"nothing of it"), None);
}

/// Every leaf of the command tree, from the program's own help, with the whole help of each.
fn leaves() -> Vec<(Vec<String>, String)> {
    let mut found = vec![];
    let mut open: Vec<Vec<String>> = vec![vec![]];
    while let Some(path) = open.pop() {
        let output =
            Command::new(env!("CARGO_BIN_EXE_flux-operator")).args(&path).arg("--help").output().expect("help");
        let help = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
        // Longer descriptions go on in lines that are indented further.
        let names =
            lines.filter(|l| l.starts_with("  ") && !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next());
        let children: Vec<_> = names.filter(|n| *n != "help").map(|n| [&path[..], &[n.to_owned()]].concat()).collect();
        match children.is_empty() {
            true => found.push((path, help)),
            false => open.extend(children),
        }
    }
    assert!(found.len() > 20, "only {} leaves", found.len());
    found
}

/// The runnable lines below "Examples:".
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|l| l.trim() != "Examples:").skip(1).map(str::trim);
    let text: Vec<&str> = lines.filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    text.join("\n").replace("\\\n", " ").lines().map(str::to_owned).collect()
}

/// A run to check.
struct Job {
    what: String,
    command: Command,
    /// The secret is what stdout is for: an export.
    data: bool,
}

/// Runs all jobs, a few at a time, and names each that shows the secret.
async fn nothing_is_shown(jobs: Vec<Job>) {
    let count = jobs.len();
    let (queue, shown) = (Mutex::new(jobs), Mutex::new(vec![]));
    let work = move || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(mut job) = { queue.lock().expect("unpoisoned").pop() } {
                        job.command.stdin(Stdio::null());
                        let Output { status, stdout, stderr } = job.command.output().expect("the program runs");
                        // 127: the shell found no program, so nothing was tried.
                        let tried =
                            status.code() != Some(127) || !String::from_utf8_lossy(&stderr).contains("flux-operator");
                        assert!(tried, "{}: {}", job.what, String::from_utf8_lossy(&stderr));
                        let leak = found(&stderr).or_else(|| found(&stdout).filter(|_| !job.data));
                        if let Some(form) = leak {
                            let streams = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
                            let text = format!("{} shows {form}\n{}\n{}", job.what, streams.0, streams.1);
                            shown.lock().expect("unpoisoned").push(text);
                        }
                    }
                });
            }
        });
        shown.into_inner().expect("unpoisoned")
    };
    let shown = tokio::task::spawn_blocking(work).await.expect("joined");
    assert!(shown.is_empty(), "{} of {count} runs:\n{}", shown.len(), shown.join("\n----\n"));
}

/// A shell for one line in which `flux-operator` is the binary at a log level.
fn shell(line: &str, folder: &Path, kubeconfig: &Path, (flag, filter): (&str, &str)) -> Command {
    let bin = folder.join(format!("bin{flag}"));
    std::fs::create_dir_all(&bin).expect("made");
    let program = bin.join("flux-operator");
    if !program.exists() {
        let script = format!("#!/bin/sh\nexec {} {flag} \"$@\"\n", env!("CARGO_BIN_EXE_flux-operator"));
        std::fs::write(&program, script).expect("written");
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    }
    // A watch runs until it is stopped. Its output up to that point is checked.
    let mut command = Command::new("timeout");
    command.args(["4", "bash", "-c", line]).current_dir(folder).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("HOME", folder).env("KUBECONFIG", kubeconfig);
    command.env("FLUX_OPERATOR_TIMEOUT", "1s").env("RUST_LOG", filter);
    for name in ["TOKEN", "GIT_TOKEN", "ENTERPRISE_TOKEN", "GITHUB_TOKEN", "SECRET"] {
        command.env(name, CANARY);
    }
    command
}

async fn no_command_shows_the_token_it_signs_in_with(cluster: TestCluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = cluster.token("canary", CANARY).unwrap();
    let mut basic = cluster.kubeconfig().value();
    basic["users"][0]["user"] = json!({"username": "u", "password": CANARY});
    let basic_path = folder.path().join("basic");
    std::fs::write(&basic_path, basic.to_string()).expect("written");
    let broken = folder.path().join("broken");
    std::fs::write(&broken, format!("users: [{{name: u, user: {{token: '{CANARY}'}}}}, oops: [\n")).expect("written");
    let mut jobs = vec![];
    for (path, help) in leaves() {
        // The arguments a leaf needs are those of its first example.
        let Some(example) = examples(&help).into_iter().next() else { continue };
        let flag = example.replacen("flux-operator", &format!("flux-operator --kube-token='{CANARY}'"), 1);
        let at_levels = |levels: &[(&'static str, &'static str)], what: &str, line: &str, kubeconfig: &Path| {
            let job = |level: &(&'static str, &'static str)| Job {
                what: format!("{what} {level:?} {path:?}: {line}"),
                command: shell(line, folder.path(), kubeconfig, *level),
                data: line.contains("--export"),
            };
            levels.iter().map(job).collect::<Vec<_>>()
        };
        jobs.extend(at_levels(&LEVELS, "kubeconfig", &example, config.path()));
        jobs.extend(at_levels(&[LOUDEST], "password", &example, &basic_path));
        jobs.extend(at_levels(&[LOUDEST], "broken", &example, &broken));
        jobs.extend(at_levels(&[LOUDEST], "--kube-token", &flag, cluster.kubeconfig().path()));
    }
    nothing_is_shown(jobs).await;
}

async fn no_command_shows_an_accepted_token_or_an_answer_that_is_cut_off(cluster: TestCluster) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["token.txt", "proxy-password.txt", "secretkey.txt", "my-private.key", "known_hosts", "private-key.pem"]
    {
        std::fs::write(folder.path().join(name), CANARY).expect("written");
    }
    // Examples delete and uninstall; they have a cluster of their own, with the canary in it.
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let admin = fresh.admin("canary").unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "flux-system", "namespace": "default"},
        "stringData": {"password": CANARY}});
    crate::support::objects::apply(fresh.client(), "default", &[secret]).await.unwrap();
    // The proxy shows a certificate that the API server accepts; the token is passed on beside it.
    let proxy = FaultProxy::start(&admin, folder.path()).await.unwrap();
    let mut config = proxy.kubeconfig().value();
    config["users"][0]["user"] = json!({"token": CANARY});
    let path = folder.path().join("accepted");
    std::fs::write(&path, config.to_string()).expect("written");
    let jobs = |what: &str| -> Vec<Job> {
        let lines = leaves().into_iter().flat_map(|(_, help)| examples(&help));
        let job = |line: String| Job {
            what: format!("{what}: {line}"),
            command: shell(&line, folder.path(), &path, TRACED),
            data: line.contains("--export"),
        };
        lines.map(job).collect()
    };
    nothing_is_shown(jobs("accepted")).await;
    let answered = proxy.requests().iter().filter(|one| one.status.is_some_and(|status| status < 300)).count();
    assert!(answered > 100, "only {answered} requests were accepted");
    // Answers are cut in the middle, including answers with the data of a Secret.
    proxy.add_rule(FaultRule::every(Fault::Truncated { bytes: 400 }));
    nothing_is_shown(jobs("cut off")).await;
}

async fn no_example_shows_the_secrets_it_is_given(cluster: TestCluster) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["token.txt", "proxy-password.txt", "secretkey.txt", "my-private.key", "known_hosts", "private-key.pem"]
    {
        std::fs::write(folder.path().join(name), CANARY).expect("written");
    }
    for name in ["tls.crt", "tls.key", "ca.crt", "age.agekey", "id_ed25519", "id_ed25519.pub"] {
        std::fs::write(folder.path().join(name), format!("-----BEGIN X-----\n{CANARY}\n-----END X-----\n"))
            .expect("written");
    }
    // Examples delete and uninstall; they have a cluster of their own, with a Secret in it.
    let fresh = cluster.fresh(Options::api_server_only()).await;
    let admin = fresh.admin("canary").unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "flux-system", "namespace": "default"},
        "stringData": {"password": CANARY}});
    crate::support::objects::apply(fresh.client(), "default", &[secret]).await.unwrap();
    let mut jobs = vec![];
    for (path, help) in leaves() {
        for line in examples(&help) {
            for level in LEVELS {
                let command = shell(&line, folder.path(), admin.path(), level);
                let data = line.contains("--export");
                jobs.push(Job { what: format!("{level:?} {path:?}: {line}"), command, data });
            }
        }
    }
    nothing_is_shown(jobs).await;
}

async fn no_way_of_giving_a_secret_shows_it(cluster: TestCluster) {
    let folder = tempfile::tempdir().expect("a folder");
    let file: PathBuf = folder.path().join("secret.txt");
    std::fs::write(&file, CANARY).expect("written");
    let eve = cluster.user_without_rights(&format!("eve-{}", cluster.namespace())).unwrap();
    let proxy = cluster.proxy().await;
    proxy.add_rule(FaultRule::every(Fault::Answer { status: 422, retry_after: None }).method("PATCH"));
    let kinds = [
        ("basic-auth", "password", "--username=u"),
        ("registry", "password", "--server=ghcr.io --username=u"),
        ("bucket", "secretkey", "--accesskey=a"),
        ("proxy", "password", "--address=http://proxy:8080 --username=u"),
        ("ssh", "password", "--private-key-file=secret.txt --knownhosts-file=secret.txt"),
        ("ssh", "password", "--private-key-file=secret.txt --knownhosts-file=secret.txt --skip-checks"),
        ("proxy", "password", &format!("--address='http://u:{CANARY}@'")),
        ("proxy", "password", &format!("--address='http://u:{CANARY}@proxy:8080' --username=u")),
    ];
    let mut jobs = vec![];
    let mut number = 0;
    for (kind, flag, rest) in kinds {
        let sources = [
            (format!("--{flag}='{CANARY}'"), ""),
            (format!("--{flag}-stdin"), "printf '%s\\n' \"$SECRET\" | "),
            (format!("--{flag}-stdin"), "printf '%s\\nsecond\\n' \"$SECRET\" | "),
            (format!("--{flag}-file=secret.txt"), ""),
            (format!("--{flag}-env=SECRET"), ""),
            (format!("--{flag}='{CANARY}' --{flag}-stdin"), ""),
            (format!("--{flag}='{CANARY}' --no-such-flag"), ""),
        ];
        for (source, before) in sources {
            let own = cluster.kubeconfig().path();
            for (extra, kubeconfig, levels) in [
                ("", own, &LEVELS[..]),
                ("--dry-run=server", own, &[LOUDEST]),
                ("--export", own, &[LOUDEST]),
                ("", eve.path(), &[LOUDEST]),
                ("", proxy.kubeconfig().path(), &[LOUDEST]),
            ] {
                for level in levels.iter().copied() {
                    number += 1;
                    let line = format!(
                        "{before}flux-operator create secret {kind} c{number} {rest} {source} {extra} -n {}",
                        cluster.namespace()
                    );
                    let command = shell(&line, folder.path(), kubeconfig, level);
                    jobs.push(Job { what: format!("{level:?}: {line}"), command, data: extra == "--export" });
                }
            }
        }
    }
    nothing_is_shown(jobs).await;
}
