//! Trees of objects, drawn.

use anstyle::{AnsiColor, Style};
use flux_operator::inspect::tree::TreeNode;
use flux_operator::k8s::kstatus::Status;

use super::table::clean;
use super::wrap::cut;

/// Draws a tree, cut at `width`, with the status behind the name where it is worth a word.
pub fn drawn(tree: &TreeNode, width: Option<usize>, color: bool) -> String {
    let mut lines = vec![(line(tree), tree.status)];
    add_lines(tree, "", &mut lines);
    let drawn = lines.into_iter().map(|(line, status)| {
        let line = clean(&line);
        let line = width.map_or(line.clone(), |width| cut(&line, width));
        match status.and_then(style_of).filter(|_| color) {
            Some(style) => format!("{style}{line}{style:#}\n"),
            None => format!("{line}\n"),
        }
    });
    drawn.collect()
}

fn line(node: &TreeNode) -> String {
    let status = node.status.filter(|status| *status != Status::Current).map(|status| status.to_string());
    let message = node.message.split_whitespace().collect::<Vec<_>>().join(" ");
    let said: Vec<String> = status.into_iter().chain(Some(message).filter(|text| !text.is_empty())).collect();
    if said.is_empty() { node.label.clone() } else { format!("{}  {}", node.label, said.join(": ")) }
}

fn add_lines(node: &TreeNode, indent: &str, lines: &mut Vec<(String, Option<Status>)>) {
    for (index, child) in node.children.iter().enumerate() {
        let last = index + 1 == node.children.len();
        let (branch, below) = if last { ("└── ", "    ") } else { ("├── ", "│   ") };
        lines.push((format!("{indent}{branch}{}", line(child)), child.status));
        add_lines(child, &format!("{indent}{below}"), lines);
    }
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
    fn branches_show_what_hangs_where_and_a_status_that_is_worth_a_word() {
        let pod = node("Pod/fs/hc-1", Some(Status::InProgress), "it\nstarts", vec![]);
        let stage =
            node("controllers (1)", None, "", vec![node("Deployment/fs/hc", Some(Status::Current), "", vec![pod])]);
        let sync = node("Kustomization/fs/fs", Some(Status::Current), "suspended", vec![]);
        let tree = node("FluxInstance/fs/flux", Some(Status::Current), "", vec![stage, sync]);
        assert_eq!(
            drawn(&tree, None, false),
            "FluxInstance/fs/flux\n├── controllers (1)\n│   └── Deployment/fs/hc\n\
             │       └── Pod/fs/hc-1  InProgress: it starts\n└── Kustomization/fs/fs  suspended\n"
        );
        assert_eq!(drawn(&sync_of(&tree), Some(12), false), "Kustomizati…\n");
    }

    fn sync_of(tree: &TreeNode) -> TreeNode {
        tree.children.last().cloned().unwrap()
    }
}
