//! Paths with slashes, by the rules of Go's `path`.

/// `path.Clean`
pub(crate) fn clean(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let rooted = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match parts.last() {
                Some(last) if *last != b".." => {
                    parts.pop();
                }
                // The parent of the root is the root.
                _ if rooted => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let mut cleaned = if rooted { b"/".to_vec() } else { Vec::new() };
    cleaned.extend_from_slice(&parts.join(&b'/'));
    if cleaned.is_empty() { b".".to_vec() } else { cleaned }
}

/// `path.Base`
pub(crate) fn base(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    let trimmed = path.get(..end).unwrap_or_default();
    match trimmed.rsplit(|byte| *byte == b'/').next() {
        Some(name) if !name.is_empty() => name.to_vec(),
        _ => b"/".to_vec(),
    }
}

/// `path.Dir`
pub(crate) fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    clean(path.get(..end).unwrap_or_default())
}

/// `path.Ext`
pub(crate) fn ext(path: &[u8]) -> Vec<u8> {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.iter().rposition(|byte| *byte == b'.').and_then(|at| name.get(at..)).unwrap_or_default().to_vec()
}
