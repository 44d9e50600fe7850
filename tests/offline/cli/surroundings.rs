//! Hostile surroundings: no reader, a full disk, no standard output, input that does not come, names that are not UTF-8.
//!
//! The commands are walked from the help: one that is new has to be named in a table here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use test_support::slow_tests::TimedTest;

use crate::cli::habits::{commands, is_leaf};
use crate::cli::support::{command, run};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
const INSTANCE: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: flux, namespace: flux-system}\n\
    spec:\n  distribution: {version: 2.x, registry: ghcr.io/fluxcd}\n";
const RESOURCE_SET: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: s, namespace: apps}\n\
    spec:\n  resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: apps}}]\n";
const OLD: &str = "apiVersion: helm.toolkit.fluxcd.io/v2beta1\nkind: HelmRelease\nmetadata: {name: a}\n";

/// Every command that does its work on files, and a line that does it in the folder that [`folder`] makes.
const ON_FILES: &[(&str, &str)] = &[
    ("get instance", "--from DUMP"),
    ("get components", "--from DUMP"),
    ("get history", "--from DUMP"),
    ("get inventory", "--from DUMP"),
    ("get inputs", "web --from DUMP"),
    ("get resources", "--from DUMP"),
    ("get suspended", "--from DUMP"),
    ("tree instance", "--from DUMP"),
    ("tree kustomization", "web -n apps --from DUMP"),
    ("tree helmrelease", "web -n apps --from DUMP"),
    ("tree resource", "ks/web -n apps --from DUMP"),
    ("tree resourceset", "web --from DUMP"),
    ("trace", "deployment/source-controller -n flux-system --from DUMP"),
    ("events", "-A --from DUMP"),
    ("debug", "--status ks/web -n apps --from DUMP"),
    ("impact", "ks/web -n apps --from DUMP"),
    ("logs", "--from DUMP"),
    ("report", "- --from DUMP"),
    ("bundle", "--redact DUMP -o -"),
    ("stats", "--from DUMP"),
    ("status", "--from DUMP"),
    ("why", "--from DUMP"),
    ("why instance", "--from DUMP"),
    ("check", "--from DUMP"),
    ("check", "-f old.yaml"),
    ("version", "--from DUMP"),
    ("what-changed", "--since 3650d --from DUMP"),
    ("wait revision", "main@sha1:01234567 --from DUMP"),
    ("export report", "--from DUMP"),
    ("migrate owner", "ks/web --to ks/flux-system -n apps --dry-run --from DUMP"),
    ("migrate", "-f old.yaml"),
    ("migrate", "-f old.yaml --dry-run"),
    ("create instance", "--export"),
    ("create secret basic-auth", "x --username u --password-file word --export"),
    ("create secret registry", "x --server ghcr.io --username u --password-file word --export"),
    ("create secret ssh", "x --private-key-file word --knownhosts-file word --skip-checks --export"),
    (
        "create secret githubapp",
        "x --app-id 1 --app-installation-id 2 --app-private-key-file word --skip-checks --export",
    ),
    ("create secret bucket", "x --accesskey a --secretkey-file word --export"),
    ("create secret proxy", "x --address http://proxy:8080 --export"),
    ("create secret tls", "x --ca-crt-file word --skip-checks --export"),
    ("create secret sops", "x --age-key-file word --skip-checks --export"),
    ("build instance", "-f flux.yaml"),
    ("build resourceset", "-f set.yaml"),
    ("apply instance", "-f flux.yaml --dry-run=client"),
    ("apply resourceset", "-f set.yaml --dry-run=client"),
    ("install", "--export --image r/i:v"),
    ("explain", "fluxinstance.spec"),
    ("distribution versions", ""),
    ("distribution images", ""),
    ("distribution export", "exported"),
    ("distribution pack", "-o packed"),
    ("distribution verify", "here.tar"),
    ("distribution pull", "--distribution oci-layout:here.tar -o pulled"),
    ("artifact pull", "oci-layout:here.tar:distribution -o pulled"),
    ("artifact diff", "oci-layout:here.tar:distribution --path word"),
    ("completion", "bash"),
    ("config view", ""),
];

/// The others, which do nothing without an API server or a registry.
const ELSEWHERE: &[&str] = &[
    "plan",
    "reconcile",
    "reconcile all",
    "upgrade",
    "rollback",
    "suspend",
    "resume",
    "wait",
    "delete",
    "uninstall",
    "uninstall operator",
    "export",
    "migrate bootstrap",
    "distribution push",
    "distribution mirror",
    "distribution check-mirror",
    "artifact push",
    "artifact tag",
    "artifact list",
    "rbac",
    "controller",
];

/// A folder with the files that the lines name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("flux.yaml", INSTANCE), ("old.yaml", OLD), ("set.yaml", RESOURCE_SET), ("word", "abcdefgh\n")]
    {
        fs::write(folder.path().join(name), text).expect("written");
    }
    symlink(packed(), folder.path().join("here.tar")).expect("a link");
    folder
}

/// A packed distribution, made once.
fn packed() -> &'static Path {
    static PACKED: std::sync::LazyLock<PathBuf> = std::sync::LazyLock::new(|| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("packed-{}.tar", std::process::id()));
        run(&["distribution", "pack", "-o", file.to_str().expect("text")]).exits(0);
        file
    });
    &PACKED
}

fn words(path: &str, line: &str) -> Vec<String> {
    let words = path.split_whitespace().chain(line.split_whitespace());
    words.map(|word| if word == "DUMP" { DUMP.to_owned() } else { word.to_owned() }).collect()
}

/// Runs a line in a folder of its own, with this as standard output.
fn run_to(words: &[String], stdout: Stdio) -> Output {
    let folder = folder();
    let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    command(&arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(Child::wait_with_output)
        .expect("the binary runs")
}

/// The writing end of a pipe without a reader.
fn without_reader() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn full_disk() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full").into()
}

/// The program with its standard output closed, as `>&-` does.
fn run_closed(words: &[String]) -> Output {
    let folder = folder();
    let binary = command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" >&-"]).arg(binary.get_program()).args(words).env_clear();
    shell.envs(binary.get_envs().filter_map(|(key, value)| Some((key, value?))));
    shell.current_dir(folder.path()).stdin(Stdio::null()).output().expect("the shell runs")
}

/// Does something with every row, some rows at a time.
fn for_each<T: Sync>(rows: &[T], check: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    check(row);
                }
            });
        }
    });
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_command_is_known_as_one_that_works_on_files_or_elsewhere() {
    let known: BTreeSet<&str> = ON_FILES.iter().map(|(path, _)| *path).chain(ELSEWHERE.iter().copied()).collect();
    for (path, help) in commands() {
        let path = path.join(" ");
        let is_known = known.iter().any(|known| *known == path || known.starts_with(&format!("{path} ")));
        assert!(!is_leaf(&help) || is_known, "add `{path}` to one of the tables above");
    }
}

#[test]
fn a_closed_pipe_changes_neither_the_exit_code_nor_stderr() {
    for_each(ON_FILES, |(path, line)| {
        let words = words(path, line);
        let (open, closed) = (run_to(&words, Stdio::piped()), run_to(&words, without_reader()));
        assert_eq!(open.status.code(), closed.status.code(), "{words:?}: {}", text(&closed.stderr));
        assert_ne!(open.status.code(), Some(2), "{words:?} does nothing: {}", text(&open.stderr));
        assert_eq!(text(&open.stderr), text(&closed.stderr), "{words:?}");
    });
}

#[test]
#[ignore = "slow: it starts each command"]
fn a_full_disk_and_a_closed_standard_output_are_failures() {
    let _timed = TimedTest::of("offline");
    let texts = [("", "--version"), ("", "-V"), ("", "--help"), ("get", "-h"), ("help", "get"), ("", "help")];
    let texts = texts.iter().chain([&("", "__complete get "), &("migrate", "--help")]);
    let rows: Vec<_> = texts.chain(ON_FILES).collect();
    let printed = std::sync::atomic::AtomicUsize::new(0);
    for_each(&rows, |(path, line)| {
        let words = words(path, line);
        if run_to(&words, Stdio::piped()).stdout.is_empty() {
            return;
        }
        printed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for (why, output) in [("space", run_to(&words, full_disk())), ("closed", run_closed(&words))] {
            let stderr = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{words:?}, {why}: {stderr}");
            assert!(stderr.contains("cannot write to standard output") && stderr.contains(why), "{words:?}: {stderr}");
        }
    });
    assert!(printed.into_inner() > 45, "too few rows print anything");
}

#[test]
fn work_behind_a_print_is_done_without_a_reader() {
    let folder = folder();
    let migrate = |stdout| {
        let mut program = command(&["migrate", "-f", "old.yaml"]);
        program.current_dir(folder.path()).stdin(Stdio::null()).stdout(stdout).status().expect("it runs").code()
    };
    assert_eq!(migrate(without_reader()), Some(0));
    let text = fs::read_to_string(folder.path().join("old.yaml")).expect("read");
    assert!(!text.contains("v2beta1"), "{text}");
}

/// Lines that read standard input (`-`), or a file (`INPUT`) that may be a pipe.
const READERS: &[&str] = &[
    "get instance --from -",
    "why --from -",
    "status --from -",
    "report - --from -",
    "get instance --from INPUT",
    "bundle --redact - -o -",
    "bundle --redact INPUT -o -",
    "build instance -f -",
    "build instance -f INPUT",
    "build resourceset -f -",
    "build resourceset -f set.yaml --inputs-from INPUT",
    "build instance -f flux.yaml --distribution -",
    "build instance -f flux.yaml --distribution INPUT",
    "build instance -f flux.yaml --distribution oci://127.0.0.1:1/a/b --registry-ca INPUT",
    "build instance -f flux.yaml --distribution oci://127.0.0.1:1/a/b --verify-key INPUT",
    "plan instance -f - --kubeconfig config",
    "plan instance -f INPUT --kubeconfig config",
    "apply instance -f - --in-process --kubeconfig config",
    "apply instance -f - --kubeconfig config",
    "apply instance -f - --dry-run=client",
    "apply instance --plan - --kubeconfig config",
    "apply instance --plan INPUT --kubeconfig config",
    "delete instance -f - --yes --kubeconfig config",
    "install --export --image r/i:v -f -",
    "install --image r/i:v -f - --kubeconfig config",
    "migrate -f -",
    "migrate -f INPUT",
    "check -f -",
    "check -f INPUT",
    "distribution check-mirror -f - 127.0.0.1:1",
    "create secret basic-auth x --username u --password-stdin --export",
    "create secret basic-auth x --username u --password-file INPUT --export",
    "create secret basic-auth x --bearer-token-stdin --export",
    "create secret sops x --age-key-stdin --export",
    "create secret sops x --age-key-file INPUT --export",
    "create secret tls x --ca-crt-file INPUT --export",
    "create secret ssh x --private-key-file INPUT --knownhosts-file word --export",
];

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n\
    clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n";

/// A line that waits for input, in a folder that has to live as long.
struct Reader {
    child: Child,
    /// Both ends are open: the read neither fails nor ends.
    _pipe: File,
    _folder: tempfile::TempDir,
}

impl Reader {
    fn start(line: &str) -> Reader {
        let folder = folder();
        let input = folder.path().join("input");
        assert!(Command::new("mkfifo").arg(&input).status().expect("mkfifo").success());
        fs::write(folder.path().join("config"), KUBECONFIG).expect("written");
        let pipe = OpenOptions::new().read(true).write(true).open(&input).expect("a pipe");
        let words: Vec<&str> =
            line.split_whitespace().map(|word| if word == "INPUT" { "input" } else { word }).collect();
        let child = command(&words)
            .current_dir(folder.path())
            .stdin(pipe.try_clone().expect("a descriptor"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        Reader { child, _pipe: pipe, _folder: folder }
    }

    /// Waits until a thread is in the read of the pipe.
    fn reads(&self) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            let waits = fs::read_dir(&tasks).into_iter().flatten().flatten().any(|task| {
                let stack = fs::read_to_string(task.path().join("wchan")).unwrap_or_default();
                stack.contains("pipe_read") || stack.contains("pipe_wait")
            });
            if waits {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
    }

    /// The exit code, and the printed text; `None` when the process does not end.
    fn end(mut self) -> Option<(Option<i32>, String)> {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("a status") {
                let mut stderr = String::new();
                std::io::Read::read_to_string(&mut self.child.stderr.take().expect("piped"), &mut stderr)
                    .expect("text");
                return Some((status.code(), stderr));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        None
    }
}

#[test]
fn an_interrupt_ends_every_command_that_waits_for_input() {
    let rows: Vec<(&&str, &str)> = READERS.iter().flat_map(|line| [(line, "-INT"), (line, "-TERM")]).collect();
    for_each(&rows, |(line, signal)| {
        let reader = Reader::start(line);
        reader.reads();
        reader.signal(signal);
        let (code, stderr) = reader.end().unwrap_or_else(|| panic!("`{line}` goes on after {signal}"));
        assert_eq!(code, Some(130), "{line}: {stderr}");
    });
}

#[test]
#[ignore = "slow: each command waits for its timeout"]
fn the_timeout_ends_every_command_that_waits_for_input() {
    let _timed = TimedTest::of("offline");
    for_each(READERS, |line| {
        let reader = Reader::start(&format!("--timeout 1s {line}"));
        let (code, stderr) = reader.end().unwrap_or_else(|| panic!("`{line}` goes on after its --timeout"));
        assert_eq!(code, Some(7), "{line}: {stderr}");
        assert!(stderr.contains("while reading "), "{line}: {stderr}");
    });
}

#[test]
fn a_pipe_in_place_of_a_file_is_read_like_one() {
    let folder = folder();
    let line = format!("{:?} build instance -f <(cat flux.yaml) -o name", command(&[]).get_program());
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().expect("bash");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("deployment.apps/source-controller"), "{}", text(&output.stdout));
}

/// A word that is not UTF-8.
fn other_word() -> OsString {
    OsString::from_vec(b"caf\xe9".to_vec())
}

fn run_words(words: impl IntoIterator<Item = impl AsRef<OsStr>>, folder: &Path) -> (Option<i32>, String, String) {
    let output = command(&[]).args(words).current_dir(folder).stdin(Stdio::null()).output().expect("the binary runs");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
#[ignore = "slow: it starts each command"]
fn an_argument_that_is_not_utf8_is_refused_by_name_and_never_a_panic() {
    let _timed = TimedTest::of("offline");
    let folder = folder();
    let paths: Vec<Vec<String>> =
        commands().into_iter().filter(|(path, _)| !path.is_empty()).map(|(path, _)| path).collect();
    for_each(&paths, |path| {
        let path: Vec<OsString> = path.iter().map(OsString::from).collect();
        for flag in ["--context", "--kubeconfig"] {
            let (code, _, stderr) = run_words(path.iter().chain([&flag.into(), &other_word()]), folder.path());
            assert!(!stderr.contains("panicked"), "{path:?} {flag}: {stderr}");
            if flag != "--kubeconfig" {
                assert_eq!(code, Some(2), "{path:?} {flag}: {stderr}");
            }
        }
        // It may be the name of a file.
        let (code, _, stderr) = run_words(path.iter().chain([&other_word()]), folder.path());
        assert!(code != Some(101) && !stderr.contains("panicked"), "{path:?}: {stderr}");
    });
    for (words, name) in [
        (vec!["get", "instance", "--context"], "the value of --context is not text in UTF-8"),
        (vec!["get", "instance", "-n"], "the value of -n is not text in UTF-8"),
        (vec!["get", "instance"], "the argument \"caf\\xE9\" is not text in UTF-8"),
        (vec!["get", "ks"], "the argument \"caf\\xE9\" is not text in UTF-8"),
        (vec!["delete", "ks", "--yes"], "the argument \"caf\\xE9\" is not text in UTF-8"),
        (vec![], "the argument \"caf\\xE9\" is not text in UTF-8"),
    ] {
        let words = words.into_iter().map(OsString::from).chain([other_word()]);
        let (code, _, stderr) = run_words(words, folder.path());
        assert_eq!((code, stderr.contains(name)), (Some(2), true), "{name}: {stderr}");
    }
    // The value may be a secret.
    let secret = OsString::from_vec(b"--password=canary\xff".to_vec());
    let words = ["create", "secret", "basic-auth", "x", "--username", "u"].map(OsString::from);
    let (code, _, stderr) = run_words(words.into_iter().chain([secret]), folder.path());
    assert_eq!(code, Some(2));
    assert!(stderr.contains("the value of --password is not text") && !stderr.contains("canary"), "{stderr}");
}

#[test]
fn a_variable_that_is_not_utf8_is_refused_by_name() {
    for name in [
        "FLUX_OPERATOR_NAMESPACE",
        "FLUX_OPERATOR_OUTPUT",
        "FLUX_OPERATOR_TIMEOUT",
        "FLUX_OPERATOR_PROTECTED_CONTEXTS",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "RUST_LOG",
    ] {
        let output = command(&["get", "instance", "--from", DUMP]).env(name, other_word()).output().expect("it runs");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.contains(&format!("the variable {name} is not text in UTF-8")), "{stderr}");
    }
    // Folders need not be text.
    let output = command(&["get", "instance", "--from", DUMP])
        .envs(["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "DOCKER_CONFIG"].map(|name| (name, other_word())))
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_configuration_file_is_read_below_a_folder_that_is_not_utf8() {
    let folder = folder();
    let home = folder.path().join(other_word());
    fs::create_dir_all(home.join("flux-operator")).expect("a folder");
    fs::write(home.join("flux-operator/config.yaml"), "colour: never\n").expect("written");
    let output = command(&["get", "instance", "--from", DUMP]).env("XDG_CONFIG_HOME", &home).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn files_whose_names_are_not_utf8_are_read_and_written() {
    let folder = folder();
    let root = folder.path();
    let name = OsStr::from_bytes(b"caf\xe9.yaml");
    fs::write(root.join(name), INSTANCE).expect("written");
    let old = OsStr::from_bytes(b"old-\xe9.yaml");
    fs::write(root.join(old), OLD).expect("written");
    let dump = OsStr::from_bytes(b"dump-\xe9.json");
    fs::copy(DUMP, root.join(dump)).expect("copied");
    let word = OsStr::from_bytes(b"word-\xe9");
    fs::write(root.join(word), "abcdefgh\n").expect("written");
    let lines: &[(&str, &OsStr, i32)] = &[
        ("build instance -f", name, 0),
        ("apply instance --dry-run=client -f", name, 0),
        ("install --export --image r/i:v -f", name, 0),
        ("migrate --dry-run -f", old, 1),
        ("check -f", old, 1),
        ("migrate -f", old, 0),
        ("get instance --from", dump, 0),
        ("bundle -o - --redact", dump, 0),
        ("create secret basic-auth x --username u --export --password-file", word, 0),
        ("distribution pack -o", OsStr::from_bytes(b"packed-\xe9"), 0),
        ("distribution export", OsStr::from_bytes(b"exported-\xe9"), 0),
        ("report --from dump.json", OsStr::from_bytes(b"page-\xe9.html"), 0),
    ];
    fs::copy(DUMP, root.join("dump.json")).expect("copied");
    for (line, file, code) in lines {
        let words = line.split_whitespace().map(OsStr::new).chain([*file]);
        let (found, _, stderr) = run_words(words, root);
        assert_eq!(found, Some(*code), "{line}: {stderr}");
    }
    assert!(!fs::read_to_string(root.join(old)).expect("read").contains("v2beta1"));
    for made in ["packed-", "exported-"] {
        let is_made = fs::read_dir(root).expect("a folder").flatten().any(|entry| {
            let name = entry.file_name();
            name.as_bytes().starts_with(made.as_bytes()) && name.as_bytes().ends_with(b"\xe9")
        });
        assert!(is_made, "{made}");
    }
}

/// A dry run of every command that has one; those of a cluster are asked of a server that is not there.
const DRY_RUNS: &[(&str, &str)] = &[
    ("apply", "-f flux.yaml"),
    ("apply", "resourceset -f set.yaml"),
    ("create instance", "flux"),
    ("create secret basic-auth", "x --username u --password-file word"),
    ("create secret registry", "x --server ghcr.io --username u --password-file word"),
    ("create secret ssh", "x --private-key-file word --knownhosts-file word --skip-checks"),
    ("create secret githubapp", "x --app-id 1 --app-installation-id 2 --app-private-key-file word --skip-checks"),
    ("create secret bucket", "x --accesskey a --secretkey-file word"),
    ("create secret proxy", "x --address http://proxy:8080"),
    ("create secret tls", "x --ca-crt-file word --skip-checks"),
    ("create secret sops", "x --age-key-file word --skip-checks"),
    ("delete", "instance flux"),
    ("delete", "resource ks/a"),
    ("distribution mirror", "127.0.0.1:1/a --from here.tar"),
    ("install", "--image r/i:v"),
    ("install", "--image r/i:v -f flux.yaml"),
    ("migrate", "-f ."),
    ("migrate", "-f old.yaml"),
    ("migrate owner", "ks/web --to ks/flux-system -n apps --from DUMP"),
    ("reconcile all", "-A"),
    ("reconcile", "instance flux"),
    ("reconcile", "ks/a"),
    ("reconcile", "rset/s"),
    ("resume", "instance flux"),
    ("resume", "--overdue"),
    ("resume", "ks/a"),
    ("upgrade", "2.9.x"),
    ("rollback", "flux"),
    ("suspend", "instance flux"),
    ("suspend", "ks/a"),
    ("uninstall", "flux"),
    ("uninstall operator", ""),
];

fn content(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                found.insert(path, bytes);
            }
        }
    }
    found
}

#[test]
#[ignore = "slow: each command asks a server that is not there"]
fn a_dry_run_of_any_command_leaves_the_folder_as_it_was() {
    let _timed = TimedTest::of("offline");
    let known: BTreeSet<&str> = DRY_RUNS.iter().map(|(path, _)| *path).collect();
    for (path, help) in commands() {
        let path = path.join(" ");
        let has_one = help.lines().any(|line| line.trim_start().starts_with("--dry-run"));
        assert_eq!(
            has_one,
            known.contains(path.as_str()),
            "`{path}` belongs into the table above where it has a dry run"
        );
    }
    for_each(DRY_RUNS, |(path, line)| {
        let folder = folder();
        fs::write(folder.path().join("config"), KUBECONFIG).expect("written");
        let before = content(folder.path());
        let mut words = words(path, line);
        words.extend(["--dry-run", "--kubeconfig", "config", "--timeout", "5s"].map(str::to_owned));
        let (_, _, stderr) = run_words(&words, folder.path());
        assert!(!stderr.contains("unexpected argument"), "{words:?}: {stderr}");
        assert!(before == content(folder.path()), "{words:?} has written: {stderr}");
    });
}

#[test]
fn printing_the_rights_of_a_migration_of_files_migrates_nothing() {
    let folder = folder();
    fs::write(folder.path().join("config"), KUBECONFIG).expect("written");
    let before = content(folder.path());
    let (code, _, stderr) = run_words(["rbac", "migrate", "-f", ".", "--kubeconfig", "config"], folder.path());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("needs no rights"), "{stderr}");
    assert!(before == content(folder.path()), "`rbac` has written");
}

#[test]
fn an_input_without_an_end_is_refused() {
    let folder = folder();
    for (words, limit) in [
        (&["apply", "instance", "--kubeconfig", "config", "--plan", "/dev/zero"][..], "larger than"),
        (&["build", "instance", "-f", "/dev/zero"], ""),
        (&["distribution", "verify", "oci://127.0.0.1:1/a/b:c", "--key", "/dev/zero"], "larger than"),
        (&["distribution", "verify", "oci://127.0.0.1:1/a/b:c", "--registry-ca", "/dev/zero"], "larger than"),
    ] {
        let (code, _, stderr) = run_words(words, folder.path());
        assert!(matches!(code, Some(1 | 2)) && stderr.contains(limit), "{words:?}: {code:?} {stderr}");
    }
}

#[test]
fn flux_gets_completions_of_its_plugin_in_the_format_of_cobra() {
    let ask = |words: &[&str]| run(words).exits(0).stdout;
    let answer = ask(&["__complete", "get", "in"]);
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.last(), Some(&":4"), "{answer}");
    assert!(lines.iter().any(|line| line.starts_with("inventory\t")) && lines.contains(&"instance"), "{answer}");
    let answer = ask(&["__completeNoDesc", "get", "in"]);
    assert!(answer.lines().any(|line| line == "inventory") && !answer.contains('\t'), "{answer}");
    let answer = ask(&["__complete", ""]);
    assert!(answer.lines().any(|line| line.starts_with("status\t")), "{answer}");
    // The flag is in the line already: what is asked for is its value.
    let answer = ask(&["__complete", "get", "instance", "--color=al"]);
    assert!(answer.lines().any(|line| line.split('\t').next() == Some("always")), "{answer}");
    let answer = ask(&["__complete", "get", "instance", "--context", "nothing-like-it"]);
    assert_eq!(answer, ":4\n");
    assert_eq!(ask(&["__complete"]).lines().last(), Some(":4"));
}

#[test]
fn a_small_stack_is_enough() {
    let binary = env!("CARGO_BIN_EXE_flux-operator");
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");
    let line = format!("ulimit -s 256 && exec '{binary}' why -A --from '{dump}'");
    let output = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
}
