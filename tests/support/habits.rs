//! The 61 habits of users at a Kubernetes command line, as rows: the typed line, and the expected result.
//!
//! A row is a line for bash, in which `F` is the built program, `$DUMP` a dump of an installation, and `$HERE` the root
//! of the project. [`on_files`] needs no cluster; [`on_a_cluster`] has one with an installation, and contexts that
//! fail. Another habit or spelling costs one line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use regex::Regex;
use rexpect::session::spawn_command;

/// Number of habits.
pub const HABITS: u8 = 61;
/// A terminal without output for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that ends sooner used its own limit: the usual one of a request is 10 s.
const IN_TIME: Duration = Duration::from_secs(8);

/// Number of rows tried in parallel: most of them wait.
const AT_ONCE: usize = 4;

/// A typed line with its expected result.
#[derive(Clone, Debug)]
pub struct Row {
    pub habit: u8,
    pub line: String,
    code: i32,
    /// Expected on stdout; on a terminal, on the screen.
    shows: Vec<String>,
    hides: Vec<String>,
    /// Expected on stderr.
    says: Vec<String>,
    matches: Vec<String>,
    rows: Option<usize>,
    is_json: bool,
    is_yaml: bool,
    /// Whether stdout, or stderr, must be empty.
    is_without_data: bool,
    is_silent: bool,
    /// Whether every line of stderr must be JSON.
    errors_are_json: bool,
    in_time: bool,
    fits: bool,
    terminal: Option<u16>,
    types: Vec<(String, String)>,
}

/// A line of a habit that must succeed unless stated otherwise.
pub fn row(habit: u8, line: impl Into<String>) -> Row {
    Row {
        habit,
        line: line.into(),
        code: 0,
        shows: vec![],
        hides: vec![],
        says: vec![],
        matches: vec![],
        rows: None,
        is_json: false,
        is_yaml: false,
        is_without_data: false,
        is_silent: false,
        errors_are_json: false,
        in_time: false,
        fits: false,
        terminal: None,
        types: vec![],
    }
}

impl Row {
    pub fn code(self, code: i32) -> Row {
        Row { code, ..self }
    }

    /// stdout must contain this text.
    pub fn shows(mut self, text: &str) -> Row {
        self.shows.push(text.to_owned());
        self
    }

    /// Neither stream may contain this text.
    pub fn hides(mut self, text: &str) -> Row {
        self.hides.push(text.to_owned());
        self
    }

    /// stderr must contain this text.
    pub fn says(mut self, text: &str) -> Row {
        self.says.push(text.to_owned());
        self
    }

    /// stdout must match this pattern.
    pub fn matches(mut self, pattern: &str) -> Row {
        self.matches.push(pattern.to_owned());
        self
    }

    /// stdout must have this many lines.
    pub fn rows(self, rows: usize) -> Row {
        Row { rows: Some(rows), ..self }
    }

    pub fn parses_as_json(self) -> Row {
        Row { is_json: true, ..self }
    }

    pub fn parses_as_yaml(self) -> Row {
        Row { is_yaml: true, ..self }
    }

    pub fn without_data(self) -> Row {
        Row { is_without_data: true, ..self }
    }

    pub fn silent(self) -> Row {
        Row { is_silent: true, ..self }
    }

    pub fn errors_are_json(self) -> Row {
        Row { errors_are_json: true, ..self }
    }

    /// The command must keep its own time limit.
    pub fn in_time(self) -> Row {
        Row { in_time: true, ..self }
    }

    /// No line may be wider than the terminal.
    pub fn fits(self) -> Row {
        Row { fits: true, ..self }
    }

    /// The line runs on a terminal with this many columns.
    pub fn on_terminal(self, columns: u16) -> Row {
        Row { terminal: Some(columns), ..self }
    }

    /// On a terminal, when `prompt` appears, `answer` is typed.
    pub fn types(mut self, prompt: &str, answer: &str) -> Row {
        self.terminal = self.terminal.or(Some(100));
        self.types.push((prompt.to_owned(), answer.to_owned()));
        self
    }
}

/// The environment of the rows.
pub struct FailurePosition {
    pub binary: String,
    /// The home, and the working directory of the line.
    pub folder: std::path::PathBuf,
    pub kubeconfig: String,
    /// Environment variables of the lines.
    pub variables: Vec<(String, String)>,
}

impl FailurePosition {
    /// Installs the program and two plugins for it where the lines find them.
    fn prepare(&self) {
        let programs = self.folder.join("programs");
        fs::create_dir_all(&programs).expect("a folder");
        let here = programs.join("flux-operator");
        if !here.exists() {
            std::os::unix::fs::symlink(&self.binary, &here).expect("linked");
            for plugin in ["hello", "zebra"] {
                let plugin = programs.join(format!("flux-operator-{plugin}"));
                fs::write(&plugin, "#!/bin/sh\necho hello $1; exit 4\n").expect("written");
                fs::set_permissions(&plugin, fs::Permissions::from_mode(0o755)).expect("executable");
            }
        }
    }

    fn shell(&self, script: &str) -> Command {
        let programs = self.folder.join("programs");
        let mut shell = Command::new("bash");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        shell.args(["-c", &format!("F() {{ flux-operator \"$@\"; }}; {script}")]).env_clear();
        shell.env("PATH", path).env("HOME", &self.folder).env("KUBECONFIG", &self.kubeconfig).env("TZ", "UTC");
        shell.env("HERE", crate::repository()).env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        shell.env("DUMP", crate::repository().join("tests/offline/cli/inspect/dump.json"));
        shell.envs(self.variables.iter().map(|(name, value)| (name, value)));
        shell.current_dir(&self.folder);
        shell
    }

    /// Returns the failed expectations of a row.
    pub fn try_row(&self, row: &Row) -> Vec<String> {
        let begun = Instant::now();
        let (code, stdout, stderr) = match row.terminal {
            Some(columns) => self.on_terminal(row, columns),
            None => {
                let output = self.shell(&row.line).stdin(Stdio::null()).output().expect("bash runs");
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
            }
        };
        let took = begun.elapsed();
        let mut wrong = vec![];
        let mut holds = |holds: bool, what: String| {
            if !holds {
                wrong.push(what);
            }
        };
        holds(code == row.code, format!("ends with {code} instead of {}", row.code));
        for text in &row.shows {
            holds(stdout.contains(text), format!("does not show {text:?}"));
        }
        for text in &row.says {
            holds(stderr.contains(text), format!("does not say {text:?}"));
        }
        for text in &row.hides {
            holds(!stdout.contains(text) && !stderr.contains(text), format!("shows {text:?}"));
        }
        for pattern in &row.matches {
            holds(Regex::new(pattern).expect("a pattern").is_match(&stdout), format!("nothing fits {pattern:?}"));
        }
        if let Some(rows) = row.rows {
            holds(stdout.lines().count() == rows, format!("has {} lines instead of {rows}", stdout.lines().count()));
        }
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
        holds(!row.is_json || json(&stdout), "is no JSON".to_owned());
        let is_yaml =
            || flux_operator::format::yaml::parse_documents(&stdout).is_ok_and(|all| !all.is_empty()) && !json(&stdout);
        holds(!row.is_yaml || is_yaml(), "is no YAML".to_owned());
        holds(!row.is_without_data || stdout.is_empty(), "has something on stdout".to_owned());
        holds(!row.is_silent || stderr.is_empty(), "has something on stderr".to_owned());
        let lines_are_json = || !stderr.is_empty() && stderr.lines().all(json);
        holds(!row.errors_are_json || lines_are_json(), "has errors that are no JSON".to_owned());
        if let Some(columns) = row.terminal.filter(|_| row.fits) {
            let escapes = Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]").expect("a pattern");
            let plain = escapes.replace_all(&stdout, "");
            let widest = plain.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or_default();
            holds(widest <= usize::from(columns), format!("is {widest} wide on {columns} columns"));
        }
        if row.in_time {
            holds(took <= IN_TIME, format!("took {took:?}"));
        }
        if !wrong.is_empty() {
            wrong.push(format!("\n  stdout:\n{stdout}\n  stderr:\n{stderr}"));
        }
        wrong
    }

    /// Returns the exit code, the screen, and the content that the line wrote to the file `$SAID`.
    fn on_terminal(&self, row: &Row, columns: u16) -> (i32, String, String) {
        let script = format!(
            "trap : INT; stty cols {columns} rows 50 echo; before=$(stty -g); {}\nrc=$?; [ \"$before\" = \"$(stty -g)\" ] || \
             echo the terminal is not as it was; echo \"rc=$rc.\"",
            row.line
        );
        let patience = u64::try_from(PATIENCE.as_millis()).ok();
        let mut session = spawn_command(self.shell(&script), patience).expect("a terminal");
        let mut screen = String::new();
        for (prompt, answer) in &row.types {
            match session.exp_string(prompt) {
                Ok(before) => screen.push_str(&before),
                Err(error) => return (-1, screen, format!("{prompt:?} was not seen: {error}")),
            }
            screen.push_str(prompt);
            match answer.as_str() {
                "^C" => session.send_control('c').expect("typed"),
                answer => drop(session.send_line(answer).expect("typed")),
            }
        }
        let end = session.exp_regex(r"rc=\d+\.");
        match end {
            Ok((before, code)) => {
                screen.push_str(&before);
                // rexpect returns every byte as a character of its own.
                let bytes: Vec<u8> = screen.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
                let code = code.trim_start_matches("rc=").trim_end_matches('.').parse().expect("a code");
                (code, String::from_utf8_lossy(&bytes).replace('\r', ""), String::new())
            }
            Err(error) => (-1, screen, error.to_string()),
        }
    }
}

/// Tries all rows and reports every failed one.
pub fn all_hold(place: &FailurePosition, rows: &[Row]) {
    place.prepare();
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let wrong = place.try_row(row);
                    if !wrong.is_empty() {
                        let reported = format!("habit {}: `{}` {}", row.habit, row.line, wrong.join(", "));
                        broken.lock().expect("no panic").push(reported);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().expect("no panic");
    assert!(broken.is_empty(), "{} of {} rows do not hold:\n{}", broken.len(), rows.len(), broken.join("\n"));
}

/// Every read that works on a dump.
const READS: &[&str] = &[
    "get instance",
    "get components",
    "get history",
    "get inventory",
    "get resources -A",
    "get ks -A",
    "get suspended -A",
    "events -A",
    "stats",
    "tree instance",
    "tree ks flux-system -n flux-system",
    "trace ks/flux-system -n flux-system",
    "status",
    "check",
    "why",
    "version",
    "what-changed --since 3650d",
    "impact ks/flux-system -n flux-system",
    "debug ks flux-system --vars -n flux-system",
    "export report",
];

/// The rows that need no cluster.
pub fn on_files() -> Vec<Row> {
    let mut rows = vec![];
    // 1: data of every read as JSON and as YAML.
    for read in READS {
        let ends = "; rc=$?; [ $rc = 0 ] || [ $rc = 1 ] || [ $rc = 7 ]";
        rows.push(row(1, format!("F {read} -o json --from $DUMP{ends}")).parses_as_json());
        rows.push(row(1, format!("F {read} -o yaml --from $DUMP{ends}")).parses_as_yaml());
    }
    // 2: names, where there are objects to name; elsewhere the format is refused and not ignored.
    for read in [
        "get instance",
        "get resources -A",
        "get ks -A",
        "get components",
        "get inventory",
        "events -A",
        "tree instance",
    ] {
        rows.push(row(2, format!("F {read} -o name --from $DUMP")).matches(r"\A([a-z.0-9]+/\S+\n)+\z"));
    }
    for read in [
        "trace ks/flux-system -n flux-system",
        "why",
        "why instance",
        "why ks/web -n apps",
        "status",
        "impact instance flux -n flux-system",
    ] {
        let line = format!("F {read} -o name --from $DUMP; rc=$?; [ $rc = 0 ] || [ $rc = 7 ]");
        // The namespace is not deleted with Flux.
        rows.push(row(2, line).matches(r"\A([a-z.0-9]+/\S+\n)+\z").hides("namespace/"));
    }
    rows.push(row(2, "F check -o name --from $DUMP").code(2).says("its rows have no names").without_data());
    rows.extend([
        row(3, "F get ks -A -o wide --from $DUMP").shows("INTERVAL"),
        row(3, "F get components -o wide --from $DUMP").shows("50m/64Mi"),
        row(4, "F get ks -A -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}' --from $DUMP").shows("web\n"),
        row(4, "F get ks -A -o custom-columns=WHAT:.metadata.name,WHERE:.metadata.namespace --from $DUMP")
            .matches(r"\AWHAT +WHERE\n"),
        row(5, "F get ks -A -o jsno --from $DUMP").code(2).says("did you mean json?").without_data(),
        row(5, "F tree instance -o yml --from $DUMP").code(2).says("did you mean yaml?").without_data(),
        row(6, "F get ocirepo -A -o json --from $DUMP").parses_as_json().matches(r#""items": \[\]"#),
        row(6, "F get ocirepo -A --from $DUMP").without_data().says("no "),
        row(7, "F get ks -A --no-headers --from $DUMP").hides("NAME"),
        row(7, "F get ks -A --no-header --from $DUMP").hides("NAME"),
        row(8, "F get ks -A --sort-by ready --no-headers --from $DUMP").rows(3),
        row(8, "F get ks -A --sort-by NAME -o name --from $DUMP").matches(r"(?s)flux-system\n.*web\n"),
        row(8, "F get ks -A --sort-by .metadata.name -o name --from $DUMP").matches(r"(?s)flux-system\n.*web\n"),
        row(8, "F get ks -A --sort-by nope --from $DUMP").code(2).says("columns: ").without_data(),
        row(9, "F get all -A -l 'team in (platform,x)' -o name --from $DUMP").shows("fluxinstance"),
        row(9, "F get all -A -l 'team notin (platform)' -o name --from $DUMP").hides("fluxinstance"),
        row(9, "F get all -A -l '!team' -o name --from $DUMP").hides("fluxinstance"),
        row(9, "F get all -A -l 'team in' --from $DUMP").code(2).without_data(),
    ]);
    // 10: every list by readiness; an empty result is not reported as missing.
    for list in ["get instance", "get components", "get history", "get inventory", "get all -A", "stats", "events -A"] {
        let line = format!("F {list} --ready-status Unknown --from $DUMP");
        rows.push(row(10, line).without_data().says("match"));
    }
    rows.extend([
        row(10, "F get ks -A --ready-status false -o name --from $DUMP").shows("/web"),
        row(10, "F get ks -A --filter ready!=False -o name --from $DUMP").shows("/データ").hides("/web"),
        row(11, "F -n apps get ks -o name --from $DUMP").shows("/web").hides("/flux-system"),
        row(11, "F get ks -A -o name --from $DUMP").shows("/web").shows("/flux-system"),
        row(12, "F get instance -L team --from $DUMP").shows("TEAM").shows("platform"),
        row(12, "F get instance --show-labels --from $DUMP").shows("team=platform"),
    ]);
    // 14: every spelling of a kind, after every verb that reads.
    for kind in ["ks", "Kustomization", "kustomization", "kustomizations", "kustomizations.kustomize.toolkit.fluxcd.io"]
    {
        rows.push(row(14, format!("F get {kind} -A -o name --from $DUMP")).rows(3));
        rows.push(
            row(14, format!("F tree {kind} flux-system -n flux-system --from $DUMP"))
                .shows("Kustomization/flux-system"),
        );
        rows.push(
            row(14, format!("F trace {kind} flux-system -n flux-system --from $DUMP"))
                .shows("Kustomization/flux-system"),
        );
        rows.push(
            row(14, format!("F why {kind} flux-system -n flux-system --from $DUMP; true"))
                .matches("(?i)kustomization/flux-system"),
        );
        rows.push(row(14, format!("F events {kind} web -n apps --from $DUMP")).shows("web"));
        rows.push(
            row(14, format!("F impact {kind}/flux-system -n flux-system --from $DUMP")).matches("(?i)flux-system"),
        );
        rows.push(row(14, format!("F explain {kind}.spec.path")).shows("path"));
    }
    for kind in ["instance", "FluxInstance", "fluxinstance", "fluxinstances", "fluxinstances.fluxcd.controlplane.io"] {
        rows.push(row(14, format!("F get {kind} -o name --from $DUMP")).shows("/flux\n"));
    }
    for words in ["source git", "sources git", "gitrepo", "GitRepository"] {
        rows.push(row(14, format!("F get {words} -A -o name --from $DUMP")).shows("gitrepository"));
    }
    rows.extend([
        row(15, "F get ks/web provider/chat -n apps -o name --from $DUMP").rows(2),
        row(15, "F get ks web データ -n apps -o name --from $DUMP").rows(2),
        row(15, "F get ks,gitrepo -A -o name --from $DUMP").rows(4),
        row(15, "F get ks web nope -n apps -o name --from $DUMP").code(3).shows("/web").says("nope not found"),
    ]);
    // 16 and 17: see every_table_fits_60_80_and_200_columns_and_cuts_no_name for all tables.
    for (columns, list) in [
        (60, "get all -A"),
        (80, "get components"),
        (80, "check"),
        (80, "trace ks/flux-system -n flux-system"),
        (80, "why -A"),
        (80, "status"),
    ] {
        let line = format!("F {list} --from $DUMP 2>&1 | cat > screen; F {list} --from $DUMP; rc=$?; [ $rc != 2 ]");
        rows.push(row(16, line).on_terminal(columns).fits());
    }
    for command in ["debug", "create secret githubapp"] {
        rows.push(row(16, format!("F {command} -h")).on_terminal(60).fits());
    }
    for list in READS {
        let line = format!("F {list} --from $DUMP | grep -cP '\\t|[ \\t]+$'; true");
        rows.push(row(17, line).shows("0\n"));
    }
    rows.extend([
        row(18, "F get ks -A --from $DUMP").matches(r" \d+[smhdy]"),
        row(19, "F gett").code(2).says("'get'"),
        row(19, "F recncile").code(2).says("'reconcile'"),
        row(19, "F aply").code(2).says("'apply'"),
        row(19, "F instal").code(2).says("'install'").hides("uninstall"),
        row(19, "F whyy").code(2).says("'why'"),
        row(19, "F help gett").code(2).says("flux-operator help get"),
        row(20, "F get kustomizatoin").code(2).says("ustomization"),
        row(20, "F reconcile instnce").code(2).says("instance"),
        row(20, "F create secret basicauth").code(2).says("basic-auth"),
        row(20, "F suspend gitrpo x").code(2).says("gitrepo"),
        row(20, "F tree kustomzation x").code(2).says("ustomization"),
        row(21, "F get ks --namspace x").code(2).says("--namespace"),
        row(21, "F apply -f x --in-proces").code(2).says("--in-process"),
        row(21, "F get ks --contxt x").code(2).says("--context"),
        row(22, "F get ks wep -n apps --from $DUMP").code(3).says("did you mean web?"),
        row(22, "F logs pod/web --from $DUMP").code(2).says("Pod is not a Flux kind").says("`kubectl logs pod/web`"),
        row(22, "F logs ks/wep -n apps --from $DUMP").code(3).says("did you mean web?"),
        row(22, "F logs ks/web -n apps --from $DUMP").without_data(),
        row(22, "F debug deploy/web --vars --from $DUMP").code(2).says("`flux-operator trace deploy/NAME`"),
        row(22, "F debug ks a b --vars --from $DUMP").code(2).says("run it once for each"),
        row(22, "F get ks web -n flux-system --from $DUMP").code(3).says("web is in namespace apps"),
        row(23, "F get ks wep -n apps --from $DUMP 2>/dev/null").code(3).without_data(),
        row(23, "F get nope 2>/dev/null").code(2).without_data(),
        row(23, "F get ks 2>/dev/null").code(6).without_data(),
        row(26, "F get ks wep -n apps -o json --from $DUMP").code(3).errors_are_json(),
        row(26, "F gett -o json").code(2).errors_are_json(),
        row(26, "FLUX_OPERATOR_OUTPUT=json F get ks").code(6).errors_are_json(),
        row(26, "F wait ks app --progress json").code(6).errors_are_json(),
        row(27, "F nope").code(2),
        row(27, "F --help | tr '\\n' ' '").shows("2 wrong usage").shows("130 interrupted"),
        row(27, "F get ks").code(6).says("no kubeconfig has a cluster"),
        row(28, "F help nope").code(2),
        row(28, "F get instance nope --from $DUMP").code(3),
        row(28, "F trace ks/nope --from $DUMP").code(3),
        row(28, "F completion tcsh").code(2),
        row(30, "F get ks --timeout abc").code(2).says("write 90s"),
        row(33, "FLUX_OPERATOR_NAMESPACE=apps F get ks -o name --from $DUMP").shows("/web").hides("/flux-system"),
        row(33, "FLUX_OPERATOR_OUTPUT=json F get ks -A --from $DUMP").parses_as_json(),
        row(33, "FLUX_OPERATOR_OUTPUT=jsno F get ks -A --from $DUMP").code(2).says("FLUX_OPERATOR_OUTPUT"),
        row(33, "FLUX_OPERATOR_TIMEOUT=abc F get ks").code(2).says("FLUX_OPERATOR_TIMEOUT"),
        row(33, "F --help").shows("FLUX_OPERATOR_NAMESPACE").shows("FLUX_OPERATOR_TIMEOUT"),
        row(36, "F build instance -f - < $HERE/examples/flux.yaml").parses_as_yaml(),
        row(36, "cat $DUMP | F get ks -A -o name --from -").rows(3),
        row(44, "NO_COLOR=1 F get all -A --from $DUMP").on_terminal(80).hides("\u{1b}["),
        row(44, "F get all -A --from $DUMP --color never").on_terminal(80).hides("\u{1b}["),
        row(44, "F --help --color never").on_terminal(80).hides("\u{1b}["),
        row(44, "F get nope --color never").on_terminal(80).code(2).hides("\u{1b}["),
        row(44, "F get all -A --from $DUMP").on_terminal(80).shows("\u{1b}["),
        row(44, "F get all -A --from $DUMP --color always").shows("\u{1b}["),
        row(44, "F --help --color always").shows("\u{1b}["),
        row(44, "F gett --color always").code(2).says("\u{1b}["),
        row(44, "F get ks nope -A --from $DUMP --color always").code(3).says("\u{1b}["),
    ]);
    for read in ["check", "stats", "events -A", "tree instance", "trace ks/flux-system -n flux-system", "why", "status"]
    {
        rows.push(row(44, format!("F {read} --from $DUMP; true")).on_terminal(80).shows("\u{1b}["));
        rows.push(row(45, format!("F {read} --from $DUMP; true")).hides("\u{1b}["));
    }
    rows.extend([
        row(45, "F --help").hides("\u{1b}["),
        row(45, "F get nope").code(2).hides("\u{1b}["),
        row(46, "F --help | head -1; exit ${PIPESTATUS[0]}").rows(1).silent(),
        row(46, "F get all -A --from $DUMP | head -1; exit ${PIPESTATUS[0]}").rows(1).silent(),
        row(46, "F build instance -f $HERE/examples/flux.yaml | head -1; exit ${PIPESTATUS[0]}").rows(1).silent(),
        row(47, format!("printf ' a b\\r\\n' | {SECRET} --password-stdin {EXPORT}")).shows("password: \" a b\""),
        row(47, format!("printf 'ü' | {SECRET} --password-stdin {EXPORT}")).shows("password: ü"),
        row(47, format!("printf 'a\\nb\\n' | {SECRET} --password-stdin {EXPORT}")).code(2).says("more than one line"),
        row(47, format!("echo x | {SECRET} --password - {EXPORT}")).code(2).says("--password-stdin"),
        row(48, format!("{SECRET} {EXPORT}"))
            .types("Enter the password: ", "geheim")
            .types("Repeat the password: ", "geheim")
            .shows("password: geheim")
            .matches(r"(?s)\A\r?\n?Enter the password: \r?\n?Repeat the password: "),
        row(48, format!("{SECRET} {EXPORT}"))
            .types("Enter the password: ", "^C")
            .code(130)
            .matches(ON_ITS_OWN_LINE)
            .shows("nothing was changed"),
        row(48, format!("{SECRET} {EXPORT} </dev/null")).code(2).says("--password-stdin"),
        row(49, format!("echo y > pw; {SECRET} --password-file pw {EXPORT}")).shows("password: \"y\""),
        row(49, format!("PW=abc {SECRET} --password-env PW {EXPORT}")).shows("password: abc"),
        row(49, format!("{SECRET} --password-env NOPE {EXPORT}")).code(2).says("NOPE is not set"),
        row(50, format!("{SECRET} --password hunter2 {EXPORT}")).on_terminal(80).shows("can see --password"),
    ]);
    for (shell, parses) in [
        ("bash", "bash -n"),
        ("zsh", "cat"),
        ("fish", "cat"),
        ("powershell", "cat"),
        ("elvish", "cat"),
        ("nushell", "cat"),
    ] {
        rows.push(row(
            51,
            format!(
                "F completion {shell} > script.{shell} && [ -s script.{shell} ] && {parses} script.{shell} > /dev/null"
            ),
        ));
    }
    rows.extend([row(52, "F completion tcsh").code(2).says("bash").without_data()]);
    let tab = |habit: u8, line: &str, word: &str| {
        let typed = line.split(' ').count();
        let quoted: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let line = format!(
            "COMPLETE=bash _CLAP_COMPLETE_INDEX={typed} _CLAP_COMPLETE_COMP_TYPE=9 _CLAP_COMPLETE_SPACE=true _CLAP_IFS=$'\\n' F -- \
             flux-operator {}",
            quoted.join(" ")
        );
        row(habit, line).shows(word)
    };
    rows.extend([
        tab(54, "get ks -o ", "yaml"),
        tab(54, "get ks --color ", "never"),
        tab(54, "get ks --ready-status ", "False"),
        tab(54, "wait ks app --for ", "create"),
        tab(54, "wait ks app --progress ", "json"),
        tab(54, "get ks --sort-by ", "path"),
        tab(54, "get ks --filter ", "path="),
        tab(54, "explain instance.spec.", "instance.spec.sync"),
        tab(54, "get components ", "source-controller"),
        tab(54, "completion ", "zsh"),
        tab(54, "apply -f program", "programs/"),
        tab(54, "plan -f program", "programs/"),
        tab(54, "diff -f program", "programs/"),
        tab(54, "delete -f program", "programs/"),
        tab(54, "apply instance -f program", "programs/"),
        row(55, "for page in $HERE/man/*.1; do for part in NAME SYNOPSIS DESCRIPTION OPTIONS; do grep -q \"^.SH $part\" $page || echo $page $part; done; done").without_data(),
        row(55, "grep -L '^.SH EXAMPLES' $HERE/man/flux-operator-get-*.1; true").without_data(),
        row(55, "grep -l '^.SH .*EXTRA' $HERE/man/*.1; true").without_data(),
        row(56, "F get ks --help").shows("Examples:"),
        row(56, "F wait revision --help").shows("Examples:"),
        row(57, "for c in 'get ks' 'create secret githubapp' 'apply instance' status; do F $c --help; F $c -h; done | wc -L").matches(r"\A([0-7]?\d|80)\n\z"),
        row(58, "F version --client -o json").parses_as_json().shows("client"),
        row(58, "F version --from $DUMP").shows("newest: v2.9.").hides("blocked"),
        row(59, "KUBECONFIG=/nonexist F explain instance.spec.sync").shows("url"),
        row(60, "F hello world").code(4).shows("hello world"),
        row(60, "F -n apps hello world").code(2).says("hello is a plugin").says("flux-operator hello"),
        row(60, "F zebr world").code(2).says("'zebra'"),
        tab(60, "zeb", "zebra"),
        row(61, "F get ks -A -q --from $DUMP").silent(),
        row(61, "F get ocirepo -A -q --from $DUMP").silent(),
        row(61, "F get ks -v=6 -A --from $DUMP").shows("web"),
    ]);
    rows
}

/// The echo of Ctrl-C on a terminal, followed by the error on its own line.
const ON_ITS_OWN_LINE: &str = r"(\^C)?\n(\x1b\[[0-9;]*m)*error:";

const SECRET: &str = "F create secret basic-auth git --username u";
const EXPORT: &str = "--namespace flux-system --export";

/// Reads whose missing rights must be reported.
const DENIED: &[&str] = &[
    "get instance",
    "get components",
    "get history",
    "get inventory",
    "get ks",
    "get all -A",
    "get suspended",
    "events",
    "stats",
    "tree instance",
    "tree ks app",
    "trace ks/app",
    "why ks/app",
    "export report",
    "export ks/app",
    "wait ks app",
    "plan instance",
    "suspend ks app",
    "reconcile ks app",
    "impact ks/app",
];

/// Commands against a server that does not answer.
const PATIENT: &[&str] =
    &["get instance", "get ks", "tree instance", "why", "check", "plan instance", "wait ks app", "status"];

/// Writes with their objects.
const WRITES: &[&str] = &[
    "apply instance -f $MANIFEST",
    "reconcile instance",
    "reconcile ks app",
    "reconcile all",
    "suspend ks app",
    "resume ks app",
    "suspend instance",
    "resume instance",
    "create secret basic-auth git --username u --password x",
    "delete ks extra --yes",
    "uninstall instance --in-process --yes",
];

/// The rows of a cluster with an instance installed by this program, the Kustomizations `app` and `extra` and the
/// GitRepository `app`, and no operator. The context is `test`; `apps` is the same in the namespace apps, `nobody` has
/// no rights, `silent` accepts connections and does not answer, `gone` refuses them, `ghost` has no user. `$MANIFEST`
/// is the instance.
pub fn on_a_cluster() -> Vec<Row> {
    let mut rows = vec![];
    for format in ["json", "yaml"] {
        let parsed = |row: Row| if format == "json" { row.parses_as_json() } else { row.parses_as_yaml() };
        for read in ["plan instance", "get instance", "status", "check", "why", "version"] {
            rows.push(parsed(row(1, format!("F {read} -o {format}; [ $? -lt 8 ]"))));
        }
    }
    rows.extend([
        row(2, "F get ks -n flux-system -o name").shows("kustomization.kustomize.toolkit.fluxcd.io/app\n"),
        row(2, "F trace ks/app -n flux-system -o name").matches(r"\A([a-z.0-9]+/\S+\n)+\z"),
        row(11, "F get ks -o name").rows(2),
        row(11, "F get ks -o name -n flux-system").rows(2),
        row(11, "F get ks -A -o name").rows(2),
        row(11, "F --context apps get ks").says("namespace apps"),
        // A manifest without a namespace: the same place in every dry run, and no second instance without a question.
        row(11, "sed 's/,\"namespace\":\"flux-system\"//' $MANIFEST | F --context apps apply -f - --dry-run=client")
            .shows("namespace: apps"),
        row(11, "sed 's/,\"namespace\":\"flux-system\"//' $MANIFEST | F --context apps apply -f - --in-process --dry-run=server")
            .code(1)
            .says("FluxInstance/apps/flux")
            .says("FluxInstance/flux-system/flux already exists"),
        row(11, "sed 's/,\"namespace\":\"flux-system\"//' $MANIFEST | F --context apps plan -f -")
            .code(2)
            .says("FluxInstance/flux-system/flux already exists"),
        // timeout ends a watch as Ctrl-C does.
        row(13, "timeout -s INT 4 flux-operator get ks -n flux-system -w").code(124).shows("app"),
        row(13, "timeout -s INT 4 flux-operator tree ks app -n flux-system -w")
            .code(124)
            .shows("Kustomization/flux-system/app"),
        row(13, "timeout -s INT 4 flux-operator get components -w").code(124).shows("source-controller"),
        row(13, "timeout -s INT 4 flux-operator events -A -w").code(124).shows("ReconciliationSucceeded"),
        row(13, "timeout -s INT 4 flux-operator wait instance --watch").code(124).shows("Reconciliation finished"),
        row(13, "timeout -s INT 4 flux-operator get ks -A -w --context nobody").code(5).says("is not allowed to"),
        row(22, "F get all -n flux-sytem")
            .says("there is no namespace flux-sytem")
            .says("did you mean flux-system?")
            .without_data(),
        row(22, "F tree ks -n flux-sytem").says("there is no namespace flux-sytem; did you mean flux-system?"),
        row(22, "F trace ks -n flux-sytem").says("there is no namespace flux-sytem; did you mean flux-system?"),
        row(22, "F get ks ap -n flux-system").code(3).says("did you mean app?"),
        row(22, "F events instance").shows("FluxInstance/flux"),
        row(22, "F trace instance flux").shows("FluxInstance/flux-system/flux"),
        row(22, "F impact instance flux -o name").shows("deployment"),
        row(22, "F --context apps get ks app").code(3).says("app is in namespace flux-system"),
        row(24, "F reconcile instance --in-process 2>/dev/null").rows(1),
        row(24, "F reconcile instance --in-process >/dev/null").says("►"),
    ]);
    for read in DENIED {
        rows.push(row(25, format!("F {read} --context nobody")).code(5).says("--context nobody").without_data());
        rows.push(row(23, format!("F {read} --context gone --timeout 5s 2>/dev/null")).code(6).without_data());
    }
    rows.extend([
        row(25, "F why --context nobody").code(5).shows("you are not allowed to"),
        row(25, "F check --context nobody")
            .code(5)
            .matches("(?i)may not|not allowed")
            .shows("FluxInstances cannot be read")
            .hides("no FluxInstance in namespace")
            .hides("among 0 Flux objects"),
        row(25, "F why ks/extra -n flux-system --context test; [ $? = 0 ]")
            .matches(r"(?m)^  (flux-operator .* --context test|kubectl --context test .*)$"),
        row(25, "F get ks --context ghost").code(6).says("ghost"),
        row(26, "F get ks nope -n flux-system -o json").code(3).errors_are_json(),
        row(26, "F get ks -o json --context nobody").code(5).errors_are_json(),
        row(26, "F get ks -o json --context gone --timeout 5s").code(6).errors_are_json(),
        row(26, "F get ks -A -o json --sort-by nope").code(2).errors_are_json(),
        row(26, "FLUX_OPERATOR_OUTPUT=json F wait ks nope -n flux-system").code(3).errors_are_json(),
        row(26, "F wait ks nope -n flux-system --progress json").code(3).errors_are_json(),
        row(26, "F reconcile ks app -n flux-system --wait=false --progress json").errors_are_json(),
        row(27, "F get instance nope").code(3),
        row(27, "F get hr -A").code(4),
        row(27, "F get instance --context nobody").code(5),
        row(27, "F get instance --context gone --timeout 5s").code(6),
        row(27, "F wait ks app -n flux-system --for=delete --timeout 1s").code(7),
        row(27, "F get instance --context nope").code(6).says("nope"),
        row(28, "F export report --context nobody").code(5),
        row(28, "F export report -n nope").code(3),
        row(28, "F suspend ks nope -n flux-system").code(3),
    ]);
    // A command for a namespace reports one that does not exist.
    for line in
        ["why", "status", "reconcile all", "resume --overdue", "suspend ks --all", "wait ks --all", "export ks --all"]
    {
        let misspelt = row(22, format!("F {line} -n flux-sytem")).code(3);
        rows.push(misspelt.says("there is no namespace flux-sytem; did you mean flux-system?"));
    }
    for line in [
        "get ks nope",
        "tree ks nope",
        "trace deploy/nope",
        "debug ks nope --vars",
        "impact ks nope",
        "why ks/nope",
        "suspend ks nope",
        "wait ks nope",
        "logs",
        "logs ks/nope",
        "report misspelt.html",
        "wait revision main@sha1:0123",
    ] {
        let misspelt = row(22, format!("F {line} -n flux-sytem")).code(3).in_time().without_data();
        rows.push(misspelt.says("there is no namespace flux-sytem; did you mean flux-system?"));
    }
    rows.extend([
        row(22, "F wait revision main@sha1:0123 ks/nope -n flux-sytem").code(3).says("did you mean flux-system?"),
        row(22, "F create secret basic-auth git --username u --password x -n flux-sytem")
            .code(3)
            .says("did you mean namespace flux-system?")
            .hides("create namespace"),
        row(22, "F create secret basic-auth git --username u --password x -n elsewhere")
            .code(3)
            .says("kubectl create namespace elsewhere"),
    ]);
    // A command that shows the whole cluster says so.
    for (line, code) in [("check", 1), ("version", 0), ("bundle -o misspelt.tar.gz", 0)] {
        let misspelt = row(22, format!("F {line} -n flux-sytem")).code(code).matches(".");
        rows.push(misspelt.says("there is no namespace flux-sytem; did you mean flux-system?"));
    }
    // Without the right to list namespaces, the command reports what it knows and does not mention the namespace.
    for (line, code) in [("get ks nope", 5), ("version", 0)] {
        rows.push(
            row(22, format!("F {line} -n flux-sytem --context nobody")).code(code).hides("there is no namespace"),
        );
    }
    for patient in PATIENT {
        for (limit, says) in [("--timeout 3s", "3s"), ("--timeout=2 --request-timeout=9s", "2s")] {
            // The error names the limit that was given.
            let silent = row(29, format!("F {patient} --context silent {limit}")).code(7).in_time();
            rows.push(silent.says(says).hides("wait longer with --request-timeout"));
        }
    }
    for (limit, ok) in [("3", true), ("3s", true), ("1h30m", true), ("abc", false)] {
        let limited = row(30, format!("F get instance --timeout {limit}"));
        rows.push(if ok { limited.shows("Reconciliation finished") } else { limited.code(2).says("write 90s") });
    }
    rows.extend([
        row(30, "F get instance --context silent --timeout 500ms").code(7).in_time(),
        row(31, "F get instance --kube-context test -o name").shows("/flux"),
        row(31, "KUBECONFIG=/nonexist:$KUBECONFIG F get instance -o name").shows("/flux"),
        row(31, "KUBECONFIG=$KUBECONFIG:/nonexist F get instance -o name").shows("/flux"),
        row(32, "F get instance --as nobody").code(5).says("nobody"),
        row(32, "F get instance --as nobody --as-group system:masters -o name").shows("/flux"),
        row(32, "F get instance --kube-as nobody").code(5),
        row(33, "FLUX_OPERATOR_NAMESPACE=flux-system F get ks -o name").rows(2),
        row(33, "FLUX_OPERATOR_TIMEOUT=1 F get instance --context silent").code(7).in_time(),
    ]);
    for write in WRITES {
        for place in ["", "=client", "=server"] {
            // The output describes the planned change, in words or as manifests.
            let reported = "(?i)dry run|would|nothing was sent|to create|unchanged|^kind: ";
            rows.push(
                row(34, format!("F {write} -n flux-system --dry-run{place} 2>&1")).matches(reported).hides("error:"),
            );
        }
        rows.push(row(34, format!("F {write} -n flux-system --dry-run=nope")).code(2).says("client"));
    }
    rows.extend([
        row(34, "F get ks app -n flux-system -o jsonpath='{.spec.suspend}'").hides("true"),
        row(35, "F plan instance").matches("unchanged +[0-9]+ objects"),
        row(35, "F plan -f $MANIFEST").matches("unchanged +[0-9]+ objects"),
        row(35, "sed 's/source-controller/helm-controller/' $MANIFEST | F plan -f -").code(1).shows("helm-controller"),
        row(35, "F plan instance --context nobody").code(5),
        row(35, "F plan -f nope.yaml").code(2),
        row(35, "F diff -f $MANIFEST").matches("unchanged +[0-9]+ objects"),
        row(36, "F plan -f - < $MANIFEST").matches("unchanged +[0-9]+ objects"),
        row(36, "F build instance -f - < $MANIFEST").parses_as_yaml(),
        row(36, "F apply -f - --dry-run=server < $MANIFEST").says("fluxinstance/flux-system/flux"),
        row(36, "F get ks -A -o json | F get ks -A -o name --from -").rows(2),
        row(36, "F plan instance --out plan.json; F apply --plan - --in-process < plan.json")
            .shows("Reconciliation finished"),
        row(37, "F uninstall instance --in-process")
            .types("Type the instance name (flux) to confirm: ", "no")
            .code(1)
            .shows("context test")
            .shows("nothing was changed")
            .shows("Will be kept:"),
        row(37, "F uninstall instance --in-process").code(2).says("--yes"),
        row(37, "F delete ks extra -n flux-system").types("[y/N] ", "n").code(1).shows("context test"),
        row(37, "F delete ks extra -n flux-system").code(2).says("--yes"),
        row(38, "F delete ks extra -n flux-system --yes --dry-run=server").says("would delete").hides("[y/N]"),
        row(39, "F wait ks app -n flux-system --for=delete --timeout 2s")
            .on_terminal(100)
            .code(7)
            .shows("waiting for it to be deleted"),
        row(39, "TERM=dumb F wait ks app -n flux-system --for=delete --timeout 2s")
            .on_terminal(100)
            .code(7)
            .shows("waiting for it to be deleted"),
        row(39, "F reconcile ks extra -n flux-system --timeout 2s").code(7).says("waiting for it to become ready"),
        row(40, "F reconcile ks extra -n flux-system --timeout 2s")
            .code(7)
            .says("timed out after 2s")
            .says("flux-operator "),
        row(41, "F wait ks nope -n flux-system --timeout 20s").code(3).in_time(),
        row(41, "F wait ks nope -n flux-system --for=create --timeout 1s").code(7).says("created"),
        row(41, "F wait ks extra -n flux-system --for=create --timeout 5s").in_time().shows("extra: created"),
        row(41, "F wait instance --for=condition=Ready --timeout 5s").shows("fluxinstance/flux-system/flux: "),
        row(42, "timeout --preserve-status -s INT 2 flux-operator reconcile ks extra -n flux-system")
            .code(130)
            .says("interrupted: ")
            .says("follow it with `flux-operator wait"),
        row(43, "timeout --foreground --preserve-status -s TERM 2 flux-operator uninstall instance --in-process")
            .on_terminal(80)
            .code(130)
            .shows("nothing was changed"),
        row(46, "F get all -A | head -1; exit ${PIPESTATUS[0]}").rows(1).silent(),
        row(46, "F plan instance | head -1; exit ${PIPESTATUS[0]}").rows(1),
        row(58, "F version -o json").parses_as_json().shows("v1."),
        row(61, "F get ks -A -v").says("asking https://").says("(context test)").shows("app"),
        row(61, "F get ks -A -q").silent(),
        row(61, "F get ks -A -v=6").says("GET").shows("app"),
    ]);
    rows.extend([
        // From the review: existing names, one exit code, the typed text, unknown kinds.
        row(22, "F get instance nope").code(3).says("fluxinstances in namespace flux-system: flux"),
        row(22, "F why instance nope").code(3).says("fluxinstances in namespace flux-system: flux"),
        row(22, "F plan instance nope").code(3).says("fluxinstances in namespace flux-system: flux"),
        row(27, "F build instance -f nope.yaml").code(2).without_data(),
        row(27, "F apply -f nope.yaml").code(2).without_data(),
        row(36, "F apply -f https://example.com/flux.yaml").code(2).says("flux-operator apply -f -"),
        row(21, "F get ks -o jsonpath").code(2).says("write the template: jsonpath='{").hides("did you mean"),
        row(21, "F get ks --nope").code(2).hides("as a value"),
        row(34, "F reconcile instance --force-in-process --dry-run=server").says("unchanged"),
        row(13, "F events -n flux-system | grep 'Flux v2.*installed' | wc -L").matches(r"\A[1-3]\d\d\n\z"),
        row(27, "F check --context nobody | grep -c 'patch namespaces'").shows("1"),
        row(25, "F get rset -A").code(4).says("flux-operator install"),
        row(25, "F get imagepolicy -A").code(4).says("image-reflector-controller"),
        row(46, "F plan instance --out saved.json | head -1; [ -s saved.json ]").rows(1),
        row(41, "F wait ks/nope ks/nope2 -n flux-system").code(3).says("2 of 2 objects are not"),
        row(41, "F wait ks/nope ks/app -n flux-system --timeout 2s").matches("").code(3).hides("1 of 2 objects are"),
        row(11, "F -n default get instance 2>&1 | head -1").shows("no FluxInstance found in namespace default"),
        row(37, "F uninstall instance --in-process")
            .types("Type the instance name (flux) to confirm: ", "no")
            .code(1)
            .on_terminal(80)
            .fits(),
        row(42, "F get ks -n flux-system -w").types("extra", "^C").code(130).hides("error:"),
        row(42, "F uninstall instance --in-process")
            .types("Type the instance name (flux) to confirm: ", "^C")
            .code(130)
            .matches(ON_ITS_OWN_LINE)
            .shows("interrupted: nothing was changed"),
        row(44, "sed 's/source-controller/helm-controller/' $MANIFEST | F plan -f - --diff")
            .code(1)
            .on_terminal(80)
            .shows("\u{1b}["),
    ]);
    // The usual limit of 300 ms is what a busy machine needs just to connect.
    let tab = |line: &str, word: &str| {
        let line = format!("--request-timeout 30s {line}");
        let typed = line.split(' ').count();
        let quoted: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        row(53, format!(
            "COMPLETE=bash _CLAP_COMPLETE_INDEX={typed} _CLAP_COMPLETE_COMP_TYPE=9 _CLAP_COMPLETE_SPACE=true _CLAP_IFS=$'\\n' F -- \
             flux-operator {}",
            quoted.join(" ")
        )).shows(word)
    };
    for verb in [
        "get",
        "suspend",
        "resume",
        "reconcile",
        "wait",
        "export",
        "delete",
        "tree",
        "trace",
        "why",
        "logs",
        "events",
        "impact",
        "debug",
    ] {
        rows.push(tab(&format!("-n flux-system {verb} ks "), "app"));
        rows.push(tab(&format!("-n flux-system {verb} ks/a"), "ks/app"));
        rows.push(tab(&format!("-n flux-system {verb} ks another "), "app"));
        rows.push(tab(&format!("-n flux-system {verb} ks/another ks/a"), "ks/app"));
    }
    rows.extend([
        tab("-n flux-system get resources ks/a", "ks/app"),
        tab("-n flux-system suspend resource ks a", "app"),
        tab("get ks -n flux-s", "flux-system"),
        tab("get ks --context si", "silent"),
    ]);
    rows
}
