//! The floors in `docs/architecture.md`: no room uses a higher floor, every room keeps to its purpose, and inside a
//! room files do not use each other in a circle.
//!
//! Reads the `use` lines and paths of the sources. Everything that the tables below do not allow fails, and so does an
//! unnecessary exception: the lists can only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// The rooms of the library, lowest floor first. A room uses its own floor's rooms as little as a higher floor's.
const FLOORS: &[&[&str]] = &[
    &["k8s", "format"],
    &["api"],
    &["distribution", "kustomize", "secrets"],
    &["build"],
    &["cluster", "oci"],
    &["fetch"],
    &["request", "reconcile", "inspect"],
    &["controller", "operator", "bootstrap"],
];

/// The folders that make up the library, with the room that a folder is when it is not a folder of rooms.
const LIBRARY: &[(&str, Option<&str>)] = &[
    ("src", None),
    ("crates/core/src", None),
    ("crates/cluster/src", Some("cluster")),
    ("crates/oci/src", Some("oci")),
];

/// The rooms of `inspect`, lowest first.
const INSPECT_FLOORS: &[&str] = &["read", "views", "diagnose", "incident"];

/// The floors of the program, lowest first.
const PROGRAM_FLOORS: &[&[&str]] =
    &[&["output"], &["terminal"], &["session"], &["args"], &["flows"], &["verbs"], &["cli"], &["input"], &["fleet"]];

/// Uses that climb or go sideways: room, room it uses, why. They make no circle of files either.
const CLIMBS: &[(&str, &str, &str)] = &[];
const PROGRAM_CLIMBS: &[(&str, &str, &str)] = &[
    ("verbs", "cli", "`completion` and `rbac` read the whole tree"),
    ("args", "input", "completion knows the words of a line"),
    ("terminal", "input", "a mistake is explained in the words that were typed"),
];

/// Where `kube` may be named: a file or folder, and why.
const KUBE: &[(&str, &str)] = &[
    ("crates/cluster/src", "the only room with a client"),
    ("crates/core/src/api/crd/derived.rs", "the definitions that the types derive"),
    ("crates/core/src/api/flux_instance.rs", "the derive macro of a custom resource"),
    ("crates/core/src/api/flux_report.rs", "the derive macro of a custom resource"),
    ("crates/core/src/api/input_provider.rs", "the derive macro of a custom resource"),
    ("crates/core/src/api/reconciled.rs", "the traits that the derive macro implements"),
    ("crates/core/src/api/resource_set.rs", "the derive macro of a custom resource"),
];

/// Files whose texts name flags or commands, and why.
const COMMAND_LINES: &[(&str, &str)] = &[
    ("crates/core/src/secrets/pgp.rs", "how `gpg` exports a key"),
    ("crates/core/src/secrets/sops.rs", "how `gpg` exports a key"),
];

/// Functions that the library must not use: environment, terminal and process belong to the program.
const NOT_IN_THE_LIBRARY: &[&str] = &[
    "env::var",
    "env::args",
    "env::current_dir",
    "std::process::exit",
    "std::process::abort",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "io::stdin(",
    "io::stdout(",
    "io::stderr(",
];

/// Rooms whose texts contain flags of programs in a cluster: the arguments of Flux's controllers and of operators.
const FLAGS_OF_CONTROLLERS: &[&str] =
    &["crates/core/src/api/operator.rs", "crates/core/src/build", "crates/core/src/distribution", "src/bootstrap"];

struct Source {
    /// From the root of the package.
    path: String,
    /// The module that the file is, as if the library were one crate: `crates/core/src/api/crd.rs` is `crate::api::crd`, and
    /// `crates/oci/src/http.rs` is `crate::oci::http`.
    module: String,
    /// Without comments and without the unit tests at its end.
    code: String,
}

impl Source {
    /// The room of a file: `crates/core/src/api/crd.rs` and `crates/core/src/api.rs` are `api`.
    fn room(&self) -> &str {
        self.module.split("::").nth(1).unwrap_or("lib")
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The paths of the `use` lines, one for each name they bring in, and all other paths that begin with a module.
    fn paths(&self) -> (Vec<String>, Vec<String>) {
        static USE_LINE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").expect("a pattern"));
        static PATH: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\b[a-z_][a-z_0-9]*(?:::\w+)+").expect("a pattern"));
        let used = USE_LINE.captures_iter(&self.code).flat_map(|found| names_of_tree(&found[1])).collect();
        let rest = USE_LINE.replace_all(&self.code, "");
        (used, PATH.find_iter(&rest).map(|found| found.as_str().to_string()).collect())
    }

    /// Returns the rooms in `crate::` paths.
    fn rooms_used(&self) -> BTreeSet<String> {
        let path = Regex::new(r"\bcrate::(?:([a-z_0-9]+)|\{([^}]*)\})").expect("a pattern");
        let one = |text: &str| text.trim().split("::").next().unwrap_or_default().to_string();
        path.captures_iter(&self.code)
            .flat_map(|found| match (found.get(1), found.get(2)) {
                (Some(name), _) => vec![one(name.as_str())],
                (_, Some(names)) => names.as_str().split(',').map(one).filter(|name| !name.is_empty()).collect(),
                _ => Vec::new(),
            })
            .collect()
    }
}

/// `a::b` and `a::c` of `a::{b, c}`.
fn names_of_tree(tree: &str) -> Vec<String> {
    let Some((prefix, branches)) = tree.split_once('{') else { return vec![tree.trim().to_string()] };
    let branches = branches.trim_end().strip_suffix('}').expect("a brace that is closed");
    let mut depth = 0;
    let between = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    let names = branches.split(between).filter(|branch| !branch.trim().is_empty()).flat_map(names_of_tree);
    names.map(|name| format!("{}{name}", prefix.trim_start())).collect()
}

/// The names that the `use` lines of each module import, with the paths of their origin.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

fn imports_of(paths: &[String]) -> BTreeMap<String, String> {
    let one = |path: &String| {
        let (path, alias) = path.split_once(" as ").map_or((path.as_str(), None), |(path, alias)| (path, Some(alias)));
        let path = path.trim_end_matches("::self");
        // A crate alone leads nowhere, nor does what is called as its crate.
        let (_, last) = path.rsplit_once("::")?;
        let name = alias.unwrap_or(last);
        (path.split("::").next() != Some(name)).then(|| (name.to_string(), path.to_string()))
    };
    paths.iter().filter_map(one).collect()
}

/// Returns the module whose file declares the item of a path, following re-exports by name; for items of other crates
/// the module that imports them.
fn home_of(imports: &Imports, module: &str, path: &str) -> String {
    if path.is_empty() {
        return module.to_string();
    }
    let (first, rest) = path.split_once("::").unwrap_or((path, ""));
    let child = format!("{module}::{first}");
    match first {
        "crate" => home_of(imports, first, rest),
        "self" => home_of(imports, module, rest),
        "super" => home_of(imports, module.rsplit_once("::").expect("a parent").0, rest),
        _ if imports.contains_key(&child) => home_of(imports, &child, rest),
        _ => match imports.get(module).and_then(|names| names.get(first)) {
            Some(origin) if rest.is_empty() => home_of(imports, module, origin),
            Some(origin) => home_of(imports, module, &format!("{origin}::{rest}")),
            None => module.to_string(),
        },
    }
}

/// Returns all files that a file uses directly or indirectly.
fn reached<'a>(uses: &'a BTreeMap<&str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        let used = uses.get(file).into_iter().flatten().copied();
        next.extend(used.filter(|used| reached.insert(*used)));
    }
    reached
}

/// Fails with the uses that lead back to where they begin. A module and what is below it are one, and so may use each other;
/// what climbs for a reason is left out.
fn check_circles(sources: &[Source], climbs: &[(&str, &str, &str)]) {
    let paths: Vec<_> = sources.iter().map(|source| (source.module.clone(), source, source.paths())).collect();
    let imports: Imports = paths.iter().map(|(module, _, (used, _))| (module.clone(), imports_of(used))).collect();
    let files: BTreeMap<&str, &Source> = paths.iter().map(|(module, source, _)| (module.as_str(), *source)).collect();
    let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, source, (used, others)) in &paths {
        for path in used.iter().chain(others) {
            let home = home_of(&imports, module, path.split(" as ").next().unwrap_or_default());
            let other = files[home.as_str()];
            let is_below =
                |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
            let is_one = is_below(&home, module) || is_below(module, &home);
            let climbs = climbs.iter().any(|(from, to, _)| *from == source.room() && *to == other.room());
            if !is_one && !climbs {
                uses.entry(&source.path).or_default().insert(&other.path);
            }
        }
    }
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > sources.len(), "{} files use nothing", sources.len());
    let all = uses.iter().flat_map(|(file, used)| used.iter().map(move |used| (file, used)));
    let leads_back = all.filter(|(file, used)| reached(&uses, used).contains(*file));
    let circles: Vec<String> = leads_back.map(|(file, used)| format!("{file} uses {used}")).collect();
    assert_none("no circle between files", &circles);
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The sources of the library; files of unit tests are left out.
fn library() -> Vec<Source> {
    LIBRARY.iter().flat_map(|(folder, room)| sources(folder, *room)).collect()
}

/// The sources of the program.
fn program() -> Vec<Source> {
    sources("cmd", None)
}

fn sources(folder: &str, room: Option<&str>) -> Vec<Source> {
    let mut files = Vec::new();
    files_below(&root().join(folder), &mut files);
    files.sort();
    files.retain(|file| !file.ends_with("tests.rs"));
    assert!(files.len() > 10, "{folder} has only {} sources", files.len());
    files.into_iter().map(|file| read_source(&file, folder, room)).collect()
}

fn read_source(file: &Path, folder: &str, room: Option<&str>) -> Source {
    let text = fs::read_to_string(file).expect("UTF-8");
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // Unit tests stand at the end of a file, and a test may use what its room may not.
        let is_test =
            line.starts_with("#[cfg(") && line.contains("test") && lines.peek().is_some_and(|next| next.ends_with('{'));
        if is_test {
            break;
        }
        let is_comment = line.trim_start().starts_with("//");
        code.push_str(if is_comment { "" } else { line });
        code.push('\n');
    }
    let path = file.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
    let below = path.strip_prefix(folder).expect("below its folder").trim_end_matches(".rs");
    let names = below.split('/').filter(|name| !["", "lib", "main"].contains(name));
    let module = ["crate"].into_iter().chain(room).chain(names).collect::<Vec<_>>().join("::");
    let code = match room {
        Some(room) => within_one_crate(&code, room),
        None => code,
    };
    Source { path, module, code }
}

/// The code of a room that is a crate of its own, as it would read if the library were one crate.
fn within_one_crate(code: &str, room: &str) -> String {
    let own = Regex::new(r"\bcrate::(\w+)").expect("a pattern");
    let is_room = |name: &str| FLOORS.concat().contains(&name);
    let code = own.replace_all(code, |found: &regex::Captures| match &found[1] {
        name if is_room(name) => format!("crate::{name}"),
        name => format!("crate::{room}::{name}"),
    });
    code.replace("flux_operator_core::", "crate::")
}

/// Fails with the lines that break a rule.
pub(super) fn assert_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// Checks the uses between rooms against floors and exceptions.
fn check_floors(
    sources: &[Source],
    floor_of: impl Fn(&str) -> Option<usize>,
    room_of: impl Fn(&Source) -> Option<String>,
    climbs: &[(&str, &str, &str)],
) {
    let mut uses: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for source in sources {
        let Some(room) = room_of(source) else { continue };
        for used in source.rooms_used().into_iter().filter(|used| *used != room) {
            uses.entry((room.clone(), used)).or_default().push(&source.path);
        }
    }
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for ((room, used), files) in &uses {
        // An item of `lib.rs` or `main.rs` itself does not belong to a room.
        let (Some(from), Some(to)) = (floor_of(room), floor_of(used)) else {
            wrong.push(format!("{room} or {used} stands on no floor ({})", files.join(", ")));
            continue;
        };
        if climbs.iter().any(|(a, b, _)| a == room && b == used) {
            needed.insert((room.as_str(), used.as_str()));
        } else if to >= from {
            wrong.push(format!("{room} uses {used} ({})", files.join(", ")));
        }
    }
    assert_none("a room uses only rooms of lower floors", &wrong);
    let idle: Vec<String> = climbs
        .iter()
        .filter(|(a, b, _)| !needed.contains(&(*a, *b)))
        .map(|(a, b, _)| format!("{a} uses {b}"))
        .collect();
    assert_none("exceptions that are not needed any more", &idle);
}

/// Fails with the matching lines of files that no exception names, and with the exceptions that match nothing.
fn check_lines(rule: &str, sources: &[Source], exceptions: &[(&str, &str)], matches: impl Fn(&Source, &str) -> bool) {
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for source in sources {
        let exception = exceptions.iter().find(|(path, _)| {
            source.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        });
        for (number, line) in source.lines().filter(|(_, line)| matches(source, line)) {
            match exception {
                Some((path, _)) => _ = needed.insert(*path),
                None => wrong.push(format!("{}:{number}: {}", source.path, line.trim())),
            }
        }
    }
    assert_none(rule, &wrong);
    let idle = exceptions.iter().map(|(path, _)| *path).filter(|path| !needed.contains(path));
    assert_none("exceptions that are not needed any more", &idle.map(String::from).collect::<Vec<_>>());
}

#[test]
fn the_rooms_of_the_library_use_only_lower_floors() {
    let sources = library();
    let rooms: BTreeSet<&str> = sources.iter().map(Source::room).filter(|room| *room != "lib").collect();
    let floor_of = |room: &str| FLOORS.iter().position(|floor| floor.contains(&room));
    for room in rooms {
        assert!(floor_of(room).is_some(), "{room} stands on no floor: put it into FLOORS and docs/architecture.md");
    }
    let room_of = |source: &Source| Some(source.room().to_string()).filter(|room| room != "lib");
    check_floors(&sources, floor_of, room_of, CLIMBS);
}

#[test]
fn the_map_shows_every_room_on_its_floor_and_names_files_that_exist() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).expect("the map");
    let drawing = map.split("```text").nth(1).and_then(|rest| rest.split("```").next()).expect("a drawing");
    let drawn: Vec<Vec<&str>> = drawing
        .split('\u{2500}')
        .filter(|floor| !floor.trim().is_empty())
        .map(|floor| floor.lines().filter_map(|line| line.split_whitespace().next()).collect())
        .collect();
    let library = library();
    let rooms = |floor: &&[&'static str]| -> Vec<&'static str> {
        floor.iter().copied().filter(|room| library.iter().any(|source| source.room() == *room)).collect()
    };
    let mut floors: Vec<Vec<&str>> = FLOORS.iter().rev().map(rooms).filter(|floor| !floor.is_empty()).collect();
    floors.insert(0, vec!["cmd"]);
    let sorted = |floors: Vec<Vec<&'static str>>| -> Vec<BTreeSet<&'static str>> {
        floors.into_iter().map(BTreeSet::from_iter).collect()
    };
    let drawn: Vec<BTreeSet<&str>> = drawn.into_iter().map(BTreeSet::from_iter).collect();
    assert_eq!(drawn, sorted(floors), "docs/architecture.md draws other floors than FLOORS");
    let file = Regex::new(r"`((?:src|cmd|crates|tests|tools|examples|benches|docs)/[a-z_/.-]+)`").expect("a pattern");
    for found in file.captures_iter(&map) {
        assert!(root().join(&found[1]).exists(), "docs/architecture.md names {}, which is not there", &found[1]);
    }
}

#[test]
fn the_rooms_of_the_program_use_only_lower_floors() {
    let floor_of = |room: &str| PROGRAM_FLOORS.iter().position(|floor| floor.contains(&room));
    let room_of = |source: &Source| Some(source.room().to_string()).filter(|room| room != "lib");
    check_floors(&program(), floor_of, room_of, PROGRAM_CLIMBS);
}

#[test]
fn the_rooms_of_inspect_use_only_lower_floors() {
    let used = Regex::new(r"\bcrate::inspect::([a-z]+)").expect("a pattern");
    let floor_of = |room: &str| INSPECT_FLOORS.iter().position(|floor| *floor == room);
    let all = library();
    let inside = all.iter().filter(|source| source.module.starts_with("crate::inspect::"));
    let mut climbs = vec![];
    for source in inside {
        let own = floor_of(source.module.split("::").nth(2).unwrap_or_default());
        assert!(own.is_some(), "{} is in no room of inspect", source.path);
        for (number, line) in source.lines() {
            let higher = used.captures_iter(line).any(|found| floor_of(&found[1]) > own);
            if higher || line.contains("super::super::super") {
                climbs.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_none("a room of inspect uses only lower rooms", &climbs);
}

#[test]
fn a_verb_uses_no_other_verb() {
    let other = Regex::new(r"\bcrate::verbs::([a-z_0-9]+)").expect("a pattern");
    let own = |source: &Source| source.module.split("::").nth(2).unwrap_or_default().to_owned();
    let verbs: Vec<Source> = program().into_iter().filter(|source| source.room() == "verbs").collect();
    check_lines("a verb uses another verb", &verbs, &[], |source, line| {
        other.captures_iter(line).any(|found| found[1] != own(source))
    });
}

#[test]
fn files_do_not_use_each_other_in_a_circle() {
    check_circles(&library(), CLIMBS);
    check_circles(&program(), PROGRAM_CLIMBS);
}

#[test]
fn only_the_cluster_knows_the_kubernetes_client() {
    let client = Regex::new(r"\bkube::").expect("a pattern");
    let mut all = library();
    all.extend(program());
    check_lines("`kube::` outside of crates/cluster", &all, KUBE, |_, line| client.is_match(line));
}

#[test]
fn the_library_knows_no_terminal_and_no_process() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let optional = Regex::new(r#""dep:([a-z0-9_-]+)""#).expect("a pattern");
    let crates: Vec<String> =
        optional.captures_iter(&manifest).map(|found| format!("{}::", found[1].replace('-', "_"))).collect();
    assert!(crates.iter().any(|name| name == "clap::") && crates.len() > 8, "the feature `cli`: {crates:?}");
    let patterns: Vec<Regex> = crates
        .iter()
        .map(String::as_str)
        .chain(NOT_IN_THE_LIBRARY.iter().copied())
        .map(|text| Regex::new(&format!(r"\b{}", regex::escape(text))).expect("a pattern"))
        .collect();
    check_lines("the environment, the terminal and its crates belong to cmd", &library(), &[], |_, line| {
        patterns.iter().any(|pattern| pattern.is_match(line))
    });
}

#[test]
fn the_library_words_no_command_lines() {
    let pages = fs::read_dir(root().join("man")).expect("man").flatten();
    let names: Vec<String> = pages.map(|page| page.file_name().to_string_lossy().into_owned()).collect();
    let verbs: BTreeSet<&str> =
        names.iter().filter_map(|name| name.strip_prefix("flux-operator-")?.split(['-', '.']).next()).collect();
    assert!(verbs.contains("apply") && verbs.len() > 15, "{verbs:?}");
    let verbs: Vec<&str> = verbs.into_iter().collect();
    let command = Regex::new(&format!(r#""[^"]*\bflux-operator ({})\b"#, verbs.join("|"))).expect("a pattern");
    let flag = Regex::new(r#""[^"]*(^|[ `"(])--[a-z][a-z-]+"#).expect("a pattern");
    let rule = "the library returns what to do next as values; cmd/output words them";
    check_lines(rule, &library(), COMMAND_LINES, |source, line| {
        let has_flags_of_others = FLAGS_OF_CONTROLLERS.iter().any(|room| source.path.starts_with(room));
        command.is_match(line) || (!has_flags_of_others && flag.is_match(line))
    });
}
