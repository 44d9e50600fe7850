//! Versions in a text that is not YAML, such as a Helm template, found line by line.

use std::sync::LazyLock;

use regex::Regex;

use super::{Edit, PlannedEdit, StoredVersions, is_known};

/// Matches `apiVersion: GROUP/VERSION`, also as the first key of a list item, in quotes, with an anchor or a tag, and in
/// JSON over several lines.
static API_VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"^([ \t]*(?:- +)*)["']?apiVersion["']?[ \t]*:[ \t]+(?:[&!][^ \t]*[ \t]+)*"#,
        r#"["']?([a-z0-9.]+)/(v[a-z0-9]+)["']?[ \t]*,?[ \t]*(?:#.*)?$"#
    ))
    .ok()
});

/// Matches `kind: KIND` in the same forms.
static KIND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^([ \t]*(?:- +)*)["']?kind["']?[ \t]*:[ \t]+["']?([A-Za-z]+)["']?[ \t]*,?[ \t]*(?:#.*)?$"#).ok()
});

/// Matches a version and a kind inside a line, as in JSON on one line and in `{…}`.
static VERSION_WITHIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"["']?\bapiVersion["']?[ \t]*:[ \t]*["']?([a-z0-9.]+)(?:/|\\/|\\u002[fF])(v[a-z0-9]+)"#).ok()
});
static KIND_WITHIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"["']?\bkind["']?[ \t]*:[ \t]*["']?([A-Za-z]+)"#).ok());

/// Plans the edits of a text.
pub(super) fn plan(text: &str, stored: &StoredVersions) -> Vec<PlannedEdit> {
    if !text.contains("fluxcd") {
        return vec![];
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let starts = text.split('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some(start)
    });
    let mut edits = vec![];
    for ((index, line), start) in lines.iter().enumerate().zip(starts) {
        // Group and version are ASCII, but the rest of a line may not be.
        let line = line.trim_start_matches('\u{feff}');
        let mark = lines.get(index).map_or(0, |whole| whole.len() - line.len());
        let Some(found) = API_VERSION.as_ref().and_then(|pattern| pattern.captures(line)) else { continue };
        let (Some(indent), Some(group), Some(version)) = (found.get(1), found.get(2), found.get(3)) else { continue };
        let Some(kind) = kind_beside(&lines, index, indent.len()) else { continue };
        let Some(now) = stored.get(group.as_str(), kind) else { continue };
        let (group, old) = (group.as_str(), version.as_str());
        if old == now.version || !is_known(group, kind, old, &now.version) {
            continue;
        }
        edits.push(PlannedEdit {
            range: start + mark + version.start()..start + mark + version.end(),
            new: now.version.clone(),
            edit: Edit {
                line: index as u64 + 1,
                object: kind.to_owned(),
                from: format!("{group}/{old}"),
                to: format!("{group}/{}", now.version),
            },
        });
    }
    edits
}

/// Finds the old versions inside lines whose kind is in the same line. They are only reported.
pub(super) fn within_lines(text: &str, stored: &StoredVersions) -> Vec<Edit> {
    let (Some(versions), Some(kinds)) = (VERSION_WITHIN.as_ref(), KIND_WITHIN.as_ref()) else { return vec![] };
    let mut found = vec![];
    for (index, line) in text.split('\n').enumerate() {
        if !line.contains("fluxcd") || line.trim_start().starts_with('#') {
            continue;
        }
        let kinds: Vec<_> = kinds.captures_iter(line).filter_map(|kind| kind.get(1)).collect();
        for version in versions.captures_iter(line) {
            let (Some(whole), group, old) = (version.get(0), &version[1], &version[2]) else { continue };
            // With several objects on the line, the nearest kind belongs to the version.
            let Some(kind) = kinds.iter().min_by_key(|kind| kind.start().abs_diff(whole.start())) else { continue };
            let kind = kind.as_str();
            let Some(now) = stored.get(group, kind) else { continue };
            if old != now.version && is_known(group, kind, old, &now.version) {
                found.push(Edit {
                    line: index as u64 + 1,
                    object: kind.to_owned(),
                    from: format!("{group}/{old}"),
                    to: format!("{group}/{}", now.version),
                });
            }
        }
    }
    found
}

/// Finds the kind in the mapping that has a key at this column of a line.
fn kind_beside<'a>(lines: &[&'a str], at: usize, column: usize) -> Option<&'a str> {
    let below = lines.iter().skip(at + 1).copied();
    // The key may be the first one of a list item: then another item ends above it.
    let above = lines.iter().take(at).rev().copied();
    let is_first = lines.get(at).is_some_and(|line| line.trim_start().starts_with('-'));
    kind_in(below, column).or_else(|| if is_first { None } else { kind_in(above, column) })
}

fn kind_in<'a>(lines: impl Iterator<Item = &'a str>, column: usize) -> Option<&'a str> {
    for line in lines {
        let text = line.trim_start();
        let is_template = ["{{", "{%", "<<", "#"].iter().any(|mark| text.starts_with(mark));
        if text.is_empty() || is_template {
            continue;
        }
        // In `- kind: …` the key follows the dash, so its line may begin left of the column.
        if text.starts_with("---") || line.len() - text.len() < column && !text.starts_with('-') {
            return None;
        }
        if let Some(found) = KIND.as_ref().and_then(|pattern| pattern.captures(line))
            && found.get(1).is_some_and(|indent| indent.len() == column)
        {
            return found.get(2).map(|kind| kind.as_str());
        }
        if text.starts_with('-') && line.len() - text.len() < column {
            return None;
        }
    }
    None
}
