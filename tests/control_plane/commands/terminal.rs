//! On a terminal: questions, live lines, narrow windows, and what is left behind.

use std::process::Command;

use kube::api::{Patch, PatchParams};
use rexpect::session::{PtySession, spawn_command};
use serde_json::json;

use crate::cluster_tests;
use crate::commands::cluster_objects::*;
use crate::commands::deleting::{installed, run_operator};
use crate::support::run::shown_text;
use crate::support::{ClusterTest, TestCluster, eventually};

pub fn tests() -> Vec<ClusterTest> {
    cluster_tests![
        a_delete_names_object_and_effect_and_goes_ahead_after_a_yes,
        any_other_answer_changes_nothing,
        an_interrupt_at_the_question_changes_nothing_and_leaves_the_terminal_intact,
        a_termination_during_live_progress_leaves_the_terminal_intact,
        live_lines_never_wrap_in_a_narrow_window,
        a_bundle_shows_on_a_terminal_how_far_it_is,
        messages_from_the_cluster_cannot_steer_the_terminal,
        an_uninstall_wants_the_name_typed_and_leaves_the_work_to_the_operator,
    ]
}

/// How a session on the terminal ends: with the exit code, and whether the terminal's settings are as before.
const END: &str = "\necho \"rc=$?\"; [ \"$before\" = \"$(stty -g)\" ] && echo intact; echo END";

/// The binary in a terminal of the given width, as a shell starts it.
fn terminal(cluster: &TestCluster, columns: u16, arguments: &str) -> PtySession {
    terminal_of(&cluster.command(), columns, arguments)
}

/// The same with the environment of a command.
pub fn terminal_of(command: &Command, columns: u16, arguments: &str) -> PtySession {
    let binary = command.get_program().to_string_lossy().into_owned();
    let script = format!(
        "trap : INT; echo shell=$$.; stty cols {columns} rows 24 echo; before=$(stty -g); {binary} {arguments}{END}"
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env_clear().env("TERM", "xterm-256color");
    shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))).filter(|(key, _)| *key != "COLUMNS"));
    spawn_command(shell, Some(20_000)).expect("a terminal")
}

/// Reads to the end; returns the exit code and everything that was shown.
pub fn end(session: &mut PtySession) -> (i32, String) {
    let before = session.exp_string("rc=").expect("the command ends");
    let code = session.read_line().expect("a code").trim().parse().expect("a number");
    let settings = session.exp_string("END").expect("the terminal's settings");
    assert!(settings.contains("intact"), "the terminal is not as it was before: {settings}");
    (code, shown_text(&before))
}

pub fn cursor_is_visible(shown: &str) -> bool {
    shown.rfind("\x1b[?25l").is_none_or(|hidden| shown.rfind("\x1b[?25h").is_some_and(|visible| visible > hidden))
}

pub async fn on_terminal<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()))
}

async fn a_delete_names_object_and_effect_and_goes_ahead_after_a_yes(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let mut session = terminal(&cluster, 100, "delete instance flux");
    let question = format!("delete fluxinstance/{}/flux (context test)?", cluster.namespace());
    let (code, before, after) = on_terminal(move || {
        let before = session.exp_string("[y/N] ").expect("the question");
        session.send_line("y").expect("sent");
        let (code, after) = end(&mut session);
        (code, before, after)
    })
    .await;
    assert!(before.contains("The instance owns no objects."), "{before}");
    let words = before.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.ends_with(&question), "{before}");
    assert_eq!(code, 0, "{after}");
    assert!(after.contains("flux: deleted"), "{after}");
    assert!(INSTANCE.api(&cluster).get_opt("flux").await.unwrap().is_none());
}

async fn any_other_answer_changes_nothing(cluster: TestCluster) {
    installed(&cluster).await;
    run_operator(&cluster).await;
    let mut session = terminal(&cluster, 100, "delete instance flux");
    let (code, shown) = on_terminal(move || {
        let before = session.exp_string("[y/N] ").expect("the question");
        session.send_line("yep").expect("sent");
        let (code, after) = end(&mut session);
        (code, before + &after)
    })
    .await;
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("The operator uninstalls Flux (2 Deployment)"), "{shown}");
    assert!(shown.contains("cancelled: nothing was changed"), "{shown}");
    assert!(INSTANCE.api(&cluster).get("flux").await.unwrap().metadata.deletion_timestamp.is_none());
}

async fn an_interrupt_at_the_question_changes_nothing_and_leaves_the_terminal_intact(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let mut session = terminal(&cluster, 100, "delete instance flux");
    let (code, shown) = on_terminal(move || {
        session.exp_string("[y/N] ").expect("the question");
        session.send_control('c').expect("sent");
        end(&mut session)
    })
    .await;
    assert_eq!(code, 130, "{shown}");
    assert!(shown.contains("interrupted: nothing was changed"), "{shown}");
    assert!(INSTANCE.api(&cluster).get("flux").await.unwrap().metadata.deletion_timestamp.is_none());
}

async fn a_termination_during_live_progress_leaves_the_terminal_intact(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [ready("Unknown", "Progressing", "at work", 1)]}))
        .await;
    let mut session = terminal(&cluster, 100, "wait instance");
    let (code, shown) = on_terminal(move || {
        session.exp_string("shell=").expect("the shell's own number");
        let shell = session.exp_string(".").expect("the shell's own number");
        let before = session.exp_string("at work").expect("live progress");
        let children = Command::new("pgrep").args(["-P", &shell]).output();
        let child = String::from_utf8(children.expect("pgrep runs").stdout).expect("a number");
        Command::new("kill").arg(child.trim()).status().expect("kill runs");
        let (code, after) = end(&mut session);
        (code, before + &after)
    })
    .await;
    assert_eq!(code, 130, "{shown:?}");
    assert!(cursor_is_visible(&shown), "{shown:?}");
    // The live line is gone before the last words.
    let last = shown.rsplit('\n').nth(1).unwrap_or_default().to_owned();
    assert!(last.contains("interrupted:"), "{last:?} in {shown:?}");
}

async fn live_lines_never_wrap_in_a_narrow_window(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    run_operator(&cluster).await;
    let message = "a message that is much longer than the window is wide, and goes on and on";
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [ready("Unknown", "Progressing", message, 1)]})).await;
    for columns in [24_u16, 40, 80] {
        let mut session = terminal(&cluster, columns, "wait instance --timeout 1s");
        let (code, shown) = on_terminal(move || end(&mut session)).await;
        assert_eq!(code, 7, "{shown}");
        let live = shown.split("error:").next().unwrap_or_default();
        for line in live.split(['\r', '\n']) {
            let visible = without_escapes(line);
            assert!(visible.chars().count() <= usize::from(columns), "{columns} columns: {visible:?}");
        }
    }
}

async fn a_bundle_shows_on_a_terminal_how_far_it_is(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundle.tar.gz");
    let mut session = terminal(&cluster, 80, &format!("bundle -o {}", path.display()));
    let (code, shown) = on_terminal(move || end(&mut session)).await;
    assert_eq!(code, 0, "{shown}");
    let text = without_escapes(&shown);
    let steps: Vec<&str> =
        text.split(['\r', '\n']).filter(|line| line.contains(" of ") && line.contains("bundle")).collect();
    assert!(!steps.is_empty(), "how far it is: {text}");
    assert!(cursor_is_visible(&shown), "{shown:?}");
    // A pipe gets the name of the file and one line of sums.
    let again = folder.path().join("again.tar.gz");
    let piped = crate::inspect::world::run(&cluster, &["bundle", "-o", again.to_str().expect("UTF-8")]).await.exits(0);
    assert!(!piped.stderr.contains(" of ") && !piped.stderr.contains('\r'), "{}", piped.stderr);
}

async fn messages_from_the_cluster_cannot_steer_the_terminal(cluster: TestCluster) {
    create(&cluster, INSTANCE, "flux", json!({})).await;
    let message = "evil \u{1b}]0;title\u{7} \u{1b}[2J text";
    let failed = ready("False", "BuildFailed", message, 1);
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [failed]})).await;
    let mut session = terminal(&cluster, 80, "wait instance");
    let (code, shown) = on_terminal(move || end(&mut session)).await;
    assert_eq!(code, 7, "{shown}");
    assert!(!shown.contains("\u{1b}]0;") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    let ready = ready("True", "Succeeded", message, 1);
    set_status(&cluster, INSTANCE, "flux", json!({"conditions": [ready], "lastAppliedRevision": "v2.9.4"})).await;
    let mut session = terminal(&cluster, 80, "wait instance");
    let (code, shown) = on_terminal(move || end(&mut session)).await;
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("\u{1b}]0;") && !shown.contains("\u{1b}[2J"), "{shown:?}");
}

async fn an_uninstall_wants_the_name_typed_and_leaves_the_work_to_the_operator(cluster: TestCluster) {
    installed(&cluster).await;
    run_operator(&cluster).await;
    let mut session = terminal(&cluster, 100, "uninstall instance");
    let (code, shown) = on_terminal(move || {
        let before = session.exp_string("Type the instance name (flux) to confirm: ").expect("the question");
        session.send_line("y").expect("sent");
        let (code, after) = end(&mut session);
        (code, before + &after)
    })
    .await;
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("Will be deleted:") && shown.contains("Will be kept:"), "{shown}");
    assert!(INSTANCE.api(&cluster).get("flux").await.unwrap().metadata.deletion_timestamp.is_none());

    let mut session = terminal(&cluster, 100, "uninstall instance flux");
    let answered = on_terminal(move || {
        session.exp_string("Type the instance name (flux) to confirm: ").expect("the question");
        session.send_line("flux").expect("sent");
        end(&mut session)
    });
    let ((code, shown), ()) = tokio::join!(answered, async {
        // The operator's part.
        eventually("the deletion", SOON, || async {
            INSTANCE.api(&cluster).get("flux").await.unwrap().metadata.deletion_timestamp
        })
        .await
        .unwrap();
        let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        INSTANCE.api(&cluster).patch("flux", &PatchParams::default(), &none).await.unwrap();
    });
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("flux: uninstalled"), "{shown}");
}

/// The text without the sequences that move the cursor or set colours.
pub fn without_escapes(text: &str) -> String {
    let mut visible = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // CSI: up to a letter.
            for next in characters.by_ref() {
                if next.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            visible.push(character);
        }
    }
    visible
}
