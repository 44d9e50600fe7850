//! The guide and the README: every command in them runs, and every link leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use test_support::guide::{self, BlockKind, Surroundings};
use test_support::slow_tests::TimedTest;

use crate::cli::support;
use test_support::needs;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn markdown_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            markdown_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

fn run_offline_commands(shell: &str) {
    let mut failures = vec![];
    let mut count = 0;
    for page in guide::pages(root()) {
        let folder = tempfile::tempdir().expect("a folder");
        let surroundings = Surroundings {
            shell,
            program: Path::new(env!("CARGO_BIN_EXE_flux-operator")),
            folder: folder.path(),
            kubeconfig: None,
        };
        guide::copy_examples(root(), folder.path());
        match guide::run_page(&page, &surroundings) {
            Ok(ran) => count += ran,
            Err(differences) => failures.push(differences),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 20, "only {count} commands ran");
}

#[test]
fn every_offline_command_of_the_guide_gives_the_output_that_is_shown() {
    run_offline_commands("bash");
}

#[test]
fn every_offline_command_of_the_guide_gives_the_same_output_in_zsh() {
    if needs::has_programs(&["zsh"], "the package zsh") {
        run_offline_commands("zsh");
    }
}

#[test]
#[ignore = "slow: it makes the site of the guide"]
fn the_site_of_the_guide_has_every_page_and_a_search() {
    let _timed = TimedTest::of("offline");
    if !needs::has_programs(&["mdbook"], "`cargo install --locked mdbook --no-default-features --features search`") {
        return;
    }
    let site = tempfile::tempdir().expect("a folder");
    let mut mdbook = Command::new("mdbook");
    let output = mdbook.arg("build").arg(root().join("docs")).arg("--dest-dir").arg(site.path()).output();
    let output = output.expect("mdbook runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !talk.contains("WARN") && !talk.contains("ERROR"), "{talk}");
    let summary = fs::read_to_string(root().join("docs/guide/SUMMARY.md")).expect("the summary");
    let pages = Regex::new(r"\]\(([^)]+)\.md\)").expect("a pattern");
    let link = Regex::new(r##" href="([^"#:?]+)[^":]*""##).expect("a pattern");
    for page in pages.captures_iter(&summary) {
        let file = site.path().join(format!("{}.html", &page[1]));
        let html = fs::read_to_string(&file).expect("the page");
        for found in link.captures_iter(&html) {
            assert!(file.with_file_name(&found[1]).exists(), "{}: {}", &page[1], &found[1]);
        }
    }
    let is_index = |name: &str| name.starts_with("searchindex");
    let mut names = fs::read_dir(site.path()).expect("the site").flatten();
    assert!(names.any(|entry| is_index(&entry.file_name().to_string_lossy())), "the site has a search");
}

#[test]
fn every_block_with_a_command_of_this_program_is_run_or_says_why_not() {
    for page in guide::pages(root()) {
        for block in page.blocks() {
            let place = format!("{}:{}", page.path, block.line);
            match &block.kind {
                BlockKind::NotRun(reason) => assert!(reason.len() > 10, "{place}: say why it does not run"),
                BlockKind::Other(info) => {
                    let is_command = |line: &str| line.trim_start_matches("$ ").starts_with("flux-operator ");
                    assert!(
                        info == "yaml" || !block.text.lines().any(is_command),
                        "{place}: a block of commands is marked `console`, `console cluster` or `console not run: REASON`"
                    );
                }
                BlockKind::Offline | BlockKind::Cluster => {
                    let commands = block.commands();
                    assert!(!commands.is_empty(), "{place}");
                    // An interactive zsh passes the words of a comment to the command.
                    let comment = commands.iter().find(|shown| shown.command.contains(" # "));
                    assert_eq!(comment, None, "{place}");
                }
                BlockKind::File(_) => {}
            }
        }
    }
}

#[test]
#[ignore = "slow: it asks for the help of each command"]
fn every_flag_and_verb_in_a_block_that_does_not_run_exists() {
    let _timed = TimedTest::of("offline");
    let pages = guide::pages(root());
    let blocks = pages.iter().flat_map(|page| page.blocks().into_iter().map(move |block| (page, block)));
    for (page, block) in blocks.filter(|(_, block)| matches!(block.kind, BlockKind::NotRun(_) | BlockKind::Cluster)) {
        for shown in block.commands() {
            let Some(line) = shown.command.split(" | ").find_map(|part| part.strip_prefix("flux-operator ")) else {
                continue;
            };
            // A namespace may stand before the verb.
            let line = line.strip_prefix("-n ").map_or(line, |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
            let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('>')).collect();
            let named: Vec<&str> = words.iter().copied().take_while(|word| !word.starts_with('-')).collect();
            let help = support::run(&[&named[..], &["--help"]].concat());
            assert_eq!(help.code, 0, "{}:{}: {line}\n{}", page.path, block.line, help.stderr);
            // Without a noun a verb is about the instance, and has its flags.
            let of_instance = support::run(&[named[0], "instance", "--help"]).stdout;
            let flags = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
            for flag in flags.map(|word| word.split('=').next().unwrap_or(word)) {
                let exists = help.stdout.contains(flag) || of_instance.contains(flag);
                assert!(exists, "{}:{}: {line}: {flag} does not exist", page.path, block.line);
            }
        }
    }
}

#[test]
fn relative_links_and_their_anchors_exist() {
    let mut files = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    markdown_files(&root().join("docs"), &mut files);
    let link = Regex::new(r#"\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)""#).expect("a pattern");
    // A pattern in code looks like a link.
    let code = Regex::new(r"(?s)\n```.*?\n```|`[^`\n]*`").expect("a pattern");
    let mut broken = vec![];
    for file in files {
        let text = fs::read_to_string(&file).expect("UTF-8");
        let text = code.replace_all(&text, "");
        for found in link.captures_iter(&text) {
            let target = found.get(1).or(found.get(2)).expect("a group").as_str();
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if path.is_empty() { file.clone() } else { file.with_file_name("").join(path) };
            let has_anchor = || {
                let text = fs::read_to_string(&linked).unwrap_or_default();
                anchor.is_empty() || guide::anchors(&text).iter().any(|one| one == anchor)
            };
            if !linked.exists() || !has_anchor() {
                broken.push(format!("{}: {target}", file.strip_prefix(root()).expect("below").display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_summary_of_the_site_and_its_links_stay_in_the_guide() {
    let folder = root().join("docs/guide");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).expect("the summary");
    let mut files = vec![];
    markdown_files(&folder, &mut files);
    let out = Regex::new(r"\]\((?:\.\./)+(?:schemas|\w+\.md)").expect("a pattern");
    for file in &files {
        let name = file.strip_prefix(&folder).expect("below").to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name} is not in SUMMARY.md");
        let text = fs::read_to_string(file).expect("UTF-8");
        let depth = name.matches('/').count();
        let leaves = out.find_iter(&text).any(|found| found.as_str().matches("../").count() > depth);
        assert!(!leaves, "{name} links to a file that the site does not have");
    }
}

#[test]
fn every_alert_carries_a_runbook_that_can_be_explained() {
    let rules = fs::read_to_string(root().join("deploy/monitoring/alerts.yaml")).expect("the rules");
    let runbook = Regex::new(r#"\n        runbook: "?flux-operator explain (.+?)"?\n"#).expect("a pattern");
    let words: Vec<&str> = runbook.captures_iter(&rules).map(|found| found.get(1).expect("a word").as_str()).collect();
    assert_eq!(words.len(), rules.matches("- alert: ").count(), "{words:?}");
    for word in words.into_iter().filter(|word| *word != "{{ $labels.reason }}") {
        support::run(&["explain", word]).exits(0);
    }
    // Reasons of conditions are not always causes.
    for reason in ["ArtifactFailed", "BuildFailed", "InstallFailed", "GitOperationFailed", "DependencyNotReady"] {
        support::run(&["explain", reason]).exits(0).stdout_has("COMMANDS");
    }
}

#[test]
fn every_picture_shows_a_command_that_exists() {
    let folder = root().join("docs/guide/pictures");
    let title = Regex::new("<title>flux-operator ([^<]+)</title>").expect("a pattern");
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the pictures").flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "svg") {
            continue;
        }
        let svg = fs::read_to_string(entry.path()).expect("UTF-8");
        let shown = title.captures(&svg).and_then(|found| found.get(1)).expect("the command is the title").as_str();
        let words: Vec<&str> = shown.split_whitespace().collect();
        let verb: Vec<&str> = words.iter().copied().take_while(|word| !word.starts_with('-')).collect();
        let help = support::run(&[&verb[..verb.len().min(2)], &["--help"]].concat()).exits(0).stdout;
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{}: `{shown}`: {flag} does not exist", entry.path().display());
        }
        assert!(help.contains("Usage: flux-operator "), "{shown}");
        count += 1;
    }
    assert_eq!(count, 6, "`cargo run -p tools --bin pictures` makes them");
    support::run(&["report", "--help"]).exits(0).stdout_has("HTML");
    for page in ["report-light.png", "report-dark.png"] {
        assert!(fs::read(folder.join(page)).expect("the page").starts_with(b"\x89PNG"), "{page}");
    }
}

#[test]
fn a_page_and_its_blocks_are_read_as_they_are_marked() {
    let text = "# A title: `x`\n```yaml file=a.yaml\na: 1\n```\n```console cluster\n$ one \\\n  two\nshown 3s\n…\n$ three\n[exits with 7]\n```\n\
                ```console not run: it needs a cloud\n$ four\n```\n";
    let page = guide::GuidePage { path: "a.md".into(), text: text.into() };
    let blocks = page.blocks();
    let kinds: Vec<&BlockKind> = blocks.iter().map(|block| &block.kind).collect();
    let expected = [BlockKind::File("a.yaml".into()), BlockKind::Cluster, BlockKind::NotRun("it needs a cloud".into())];
    assert_eq!(kinds, expected.iter().collect::<Vec<_>>());
    let commands = blocks[1].commands();
    assert_eq!(commands[0].command, "one \\\n  two");
    assert_eq!(commands[0].output, ["shown 3s", "…"]);
    assert_eq!((commands[1].exit, commands[1].output.len()), (7, 0));
    assert_eq!(guide::anchors(text), ["a-title-x"]);
}
