//! Draws trees of objects.

use anstyle::{AnsiColor, Style};
use flux_operator::inspect::views::tree::TreeNode;
use flux_operator::k8s::kstatus::Status;
use unicode_width::UnicodeWidthStr;

use crate::output::wrap::cut;
use flux_operator::format::harmless::on_one_line;

/// Minimum width of the text beside a name; a narrower one gets its own line.
const LEAST: usize = 16;

/// Draws a tree, with the status after a name if it matters. Messages are truncated at `width`, and long names continue
/// below their kind and namespace.
pub fn drawn(tree: &TreeNode, width: Option<usize>, color: bool) -> String {
    let mut text = String::new();
    add(tree, "", "", &mut |node, head, below| {
        for line in lines(node, head, below, width) {
            text.push_str(&match node.status.and_then(style_of).filter(|_| color) {
                Some(style) => format!("{style}{line}{style:#}\n"),
                None => format!("{line}\n"),
            });
        }
    });
    text
}

/// Calls `each` for every node with the prefix of its name and of the lines below.
fn add(node: &TreeNode, head: &str, indent: &str, each: &mut impl FnMut(&TreeNode, &str, &str)) {
    let below = if node.children.is_empty() { "    " } else { "│   " };
    each(node, head, &format!("{indent}{below}"));
    for (index, child) in node.children.iter().enumerate() {
        let is_last = index + 1 == node.children.len();
        let (branch, below) = if is_last { ("└── ", "    ") } else { ("├── ", "│   ") };
        add(child, &format!("{indent}{branch}"), &format!("{indent}{below}"), each);
    }
}

fn lines(node: &TreeNode, head: &str, below: &str, width: Option<usize>) -> Vec<String> {
    let status = node.status.filter(|status| *status != Status::Current).map(|status| status.to_string());
    let message = node.message.split_whitespace().collect::<Vec<_>>().join(" ");
    let status_text: Vec<String> = status.into_iter().chain(Some(message).filter(|text| !text.is_empty())).collect();
    let (label, status_text) = (on_one_line(&node.label), on_one_line(&status_text.join(": ")));
    let width = width.unwrap_or(usize::MAX);
    let whole = format!("{head}{label}");
    let mut lines = match label.rsplit_once('/').filter(|_| whole.width() > width) {
        Some((kind, name)) => vec![format!("{head}{kind}/"), format!("{below}{name}")],
        None => vec![whole],
    };
    let Some(last) = lines.last_mut().filter(|_| !status_text.is_empty()) else { return lines };
    let room = width.saturating_sub(last.width() + 2);
    if room < LEAST && room < status_text.width() {
        lines.push(format!("{below}{}", cut(&status_text, width.saturating_sub(below.width()))));
    } else {
        *last = format!("{last}  {}", cut(&status_text, room));
    }
    lines
}

fn style_of(status: Status) -> Option<Style> {
    match status {
        Status::Current => None,
        Status::Failed | Status::NotFound => Some(AnsiColor::Red.on_default()),
        _ => Some(AnsiColor::Yellow.on_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(label: &str, status: Option<Status>, message: &str, children: Vec<TreeNode>) -> TreeNode {
        TreeNode { object: None, label: label.into(), status, message: message.into(), children }
    }

    #[test]
    fn branches_show_the_tree_and_any_notable_status() {
        let pod = node("Pod/fs/hc-1", Some(Status::InProgress), "it\nstarts", vec![]);
        let stage =
            node("controllers (1)", None, "", vec![node("Deployment/fs/hc", Some(Status::Current), "", vec![pod])]);
        let sync = node("Kustomization/fs/fs", Some(Status::Current), "suspended", vec![]);
        let tree = node("FluxInstance/fs/flux", Some(Status::Current), "", vec![stage, sync]);
        insta::assert_snapshot!(drawn(&tree, None, false), @r"
        FluxInstance/fs/flux
        ├── controllers (1)
        │   └── Deployment/fs/hc
        │       └── Pod/fs/hc-1  InProgress: it starts
        └── Kustomization/fs/fs  suspended
        ");
    }

    #[test]
    fn a_narrow_terminal_cuts_messages_and_no_name() {
        let pod = node("Pod/flux-system/helm-controller-1", Some(Status::InProgress), "it is pulling", vec![]);
        let deployment =
            node("Deployment/flux-system/helm-controller", Some(Status::Failed), "no pod is ready", vec![pod]);
        let tree = node("FluxInstance/fs/flux", None, "", vec![deployment, node("Secret/fs/a", None, "x", vec![])]);
        insta::assert_snapshot!(drawn(&tree, Some(34), false), @r"
        FluxInstance/fs/flux
        ├── Deployment/flux-system/
        │   │   helm-controller
        │   │   Failed: no pod is ready
        │   └── Pod/flux-system/
        │           helm-controller-1
        │           InProgress: it is pul…
        └── Secret/fs/a  x
        ");
    }
}
