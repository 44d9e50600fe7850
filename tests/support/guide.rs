//! The guide as a test reads it: pages of Markdown, and the command blocks in them.
//!
//! A block is marked in its fence:
//! ```text
//! console               runs offline, in the order of its page; the output shown is the output got
//! console cluster       the same against a cluster
//! console not run: WHY  does not run, and says why
//! yaml file=NAME        is written to a file that later blocks of the page read
//! ```
//! In a block, `$ ` begins a command; the lines below are its output on both streams, and without any nothing is compared.
//! `…` stands for any text: alone on a line for any number of lines. `[exits with 7]` below a command expects that exit code.
//! It is not a comment in the command, because an interactive zsh has no comments and takes the words as arguments.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;

/// A page of the guide, by its path in the repository.
#[derive(Clone, Debug)]
pub struct GuidePage {
    pub path: String,
    pub text: String,
}

/// The purpose of a fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Offline,
    Cluster,
    NotRun(String),
    File(String),
    Other(String),
}

#[derive(Clone, Debug)]
pub struct GuideBlock {
    pub kind: BlockKind,
    /// Number of the fence's line.
    pub line: usize,
    pub text: String,
}

/// A command with the output that the page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCommand {
    pub command: String,
    pub exit: i32,
    pub output: Vec<String>,
}

/// README and the pages of the guide that people wrote or that show commands, without the reference.
pub fn pages(repository: &Path) -> Vec<GuidePage> {
    let mut paths = vec!["README.md".to_owned()];
    let entries = fs::read_dir(repository.join("docs/guide")).expect("the guide").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    paths.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/guide/{name}")));
    paths.sort();
    let read = |path: String| GuidePage { text: fs::read_to_string(repository.join(&path)).expect("UTF-8"), path };
    paths.into_iter().map(read).collect()
}

/// Copies the examples of the repository: the README is read beside them.
pub fn copy_examples(repository: &Path, folder: &Path) {
    let examples = folder.join("examples");
    fs::create_dir(&examples).expect("a folder");
    for example in fs::read_dir(repository.join("examples")).expect("the examples").flatten() {
        fs::copy(example.path(), examples.join(example.file_name())).expect("copied");
    }
}

impl GuidePage {
    pub fn blocks(&self) -> Vec<GuideBlock> {
        let mut blocks: Vec<GuideBlock> = vec![];
        let mut is_open = false;
        for (index, line) in self.text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), is_open) {
                (Some(_), true) => is_open = false,
                (Some(info), false) => {
                    is_open = true;
                    blocks.push(GuideBlock { kind: kind_of(info.trim()), line: index + 1, text: String::new() });
                }
                (None, true) => {
                    let block = blocks.last_mut().expect("an open block");
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, false) => {}
            }
        }
        assert!(!is_open, "{}: a block is not closed", self.path);
        blocks
    }
}

fn kind_of(info: &str) -> BlockKind {
    if let Some(reason) = info.strip_prefix("console not run:") {
        return BlockKind::NotRun(reason.trim().to_owned());
    }
    match info {
        "console" => BlockKind::Offline,
        "console cluster" => BlockKind::Cluster,
        _ => match info.split_once(" file=") {
            Some((_, name)) => BlockKind::File(name.to_owned()),
            None => BlockKind::Other(info.to_owned()),
        },
    }
}

impl GuideBlock {
    /// The commands of the block, each with what is shown below it.
    pub fn commands(&self) -> Vec<ShownCommand> {
        let mut commands: Vec<ShownCommand> = vec![];
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => {
                    commands.push(ShownCommand { command: command.to_owned(), exit: 0, output: vec![] });
                }
                (None, Some(last)) if last.command.ends_with('\\') => {
                    last.command.push('\n');
                    last.command.push_str(line);
                }
                (None, Some(last)) if last.output.is_empty() && line.starts_with("[exits with ") => {
                    let code = line.trim_start_matches("[exits with ").trim_end_matches(']');
                    last.exit = code.parse().expect("an exit code");
                }
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("line {}: a block of commands begins with `$ `", self.line),
            }
        }
        commands
    }
}

/// Where the commands of a page run.
pub struct Surroundings<'a> {
    /// `bash`, or another shell that takes `-c` and redirections as bash does.
    pub shell: &'a str,
    pub program: &'a Path,
    pub folder: &'a Path,
    pub kubeconfig: Option<&'a Path>,
}

/// Runs the blocks of a page in their order: with a kubeconfig also those that need a cluster.
///
/// Returns how many commands ran, or everything that differs from what the page shows.
///
/// # Errors
/// The differences, each with its place.
pub fn run_page(page: &GuidePage, surroundings: &Surroundings<'_>) -> Result<usize, String> {
    let (mut count, mut differences) = (0, String::new());
    for block in page.blocks() {
        let runs = match &block.kind {
            BlockKind::File(name) => {
                fs::write(surroundings.folder.join(name), &block.text).map_err(|e| format!("{name}: {e}"))?;
                false
            }
            BlockKind::Offline => true,
            BlockKind::Cluster => surroundings.kubeconfig.is_some(),
            BlockKind::NotRun(_) | BlockKind::Other(_) => false,
        };
        for shown in if runs { block.commands() } else { vec![] } {
            count += 1;
            let (exit, output) = run(&shown.command, surroundings);
            let place = format!("{}:{}: $ {}", page.path, block.line, shown.command);
            if exit != shown.exit {
                let _ = writeln!(differences, "{place}\n  ends with {exit} instead of {}:\n{output}", shown.exit);
            } else if !shown.output.is_empty() && !is_shown(&shown.output, &output) {
                let shown = shown.output.join("\n");
                let _ = writeln!(differences, "{place}\n--- shown\n{shown}\n--- got\n{output}");
            }
        }
    }
    if differences.is_empty() { Ok(count) } else { Err(differences) }
}

fn run(command: &str, surroundings: &Surroundings<'_>) -> (i32, String) {
    let mut folders = vec![surroundings.program.parent().expect("a folder").to_owned()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new(surroundings.shell);
    shell.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(surroundings.folder).env_clear();
    shell
        .env("PATH", std::env::join_paths(folders).expect("folders"))
        .env("HOME", surroundings.folder)
        .env("TZ", "UTC");
    let none = surroundings.folder.join("no-kubeconfig");
    shell.env("KUBECONFIG", surroundings.kubeconfig.unwrap_or(&none)).stdin(Stdio::null());
    let output = shell.output().expect("the shell runs");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether an output is the one that is shown, but for times, digests and the width of columns.
fn is_shown(shown: &[String], got: &str) -> bool {
    let shown: Vec<String> = shown.iter().map(|line| normal(line)).collect();
    let got: Vec<String> = got.trim_end().lines().map(normal).collect();
    matches_lines(&shown, &got)
}

fn normal(line: &str) -> String {
    let digest = Regex::new(r"sha256:([0-9a-f]{8,64}|…)").expect("a pattern");
    let time = Regex::new(r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z|\b[0-9.]+(ms|s|m|h|d)([0-9.]+(ms|s|m))?\b").expect("a pattern");
    let line = digest.replace_all(line, "DIGEST");
    let line = time.replace_all(&line, "TIME").into_owned();
    // A live line has its time only when it took some.
    let line = line.replace(" (TIME)", "");
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn matches_lines(shown: &[String], got: &[String]) -> bool {
    match shown.split_first() {
        None => got.is_empty(),
        Some((first, rest)) if first == "…" => (0..=got.len()).any(|skipped| matches_lines(rest, &got[skipped..])),
        Some((first, rest)) => {
            got.split_first().is_some_and(|(line, more)| matches(first, line) && matches_lines(rest, more))
        }
    }
}

fn matches(shown: &str, got: &str) -> bool {
    let parts: Vec<String> = shown.split('…').map(regex::escape).collect();
    // An ellipsis of the program itself stands for itself as well.
    Regex::new(&format!("^{}$", parts.join(".*"))).expect("a pattern").is_match(got)
}

/// The anchors of a page as forges make them of headings.
pub fn anchors(text: &str) -> Vec<String> {
    let mut is_open = false;
    let headings = text.lines().filter(|line| {
        is_open ^= line.starts_with("```");
        !is_open && line.starts_with('#')
    });
    let slug = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}
