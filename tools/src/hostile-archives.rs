//! Writes hostile archives that must be refused: seeds of the fuzzer, and input of `tests/offline`.
//!
//! ```text
//! cargo run -p tools --bin hostile-archives -- fuzz/hostile/archive
//! ```
//! `NAME.tar` must be refused compressed or not, `NAME.tar.gz` because of its compression. The output is reproducible.
#![allow(clippy::unwrap_used, reason = "a program of developers: a failed one panics")]

use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// Unpacked size of a bomb: more than the megabyte below which the ratio is not checked.
const BOMB: usize = 5 << 18;

struct Archive(Vec<u8>);

impl Archive {
    fn new() -> Self {
        Archive(Vec::new())
    }

    /// Adds an entry; the name is written directly into the header, because libraries refuse some names.
    fn entry(self, name: &[u8], kind: u8, content: &[u8]) -> Self {
        self.changed(name, kind, content, |_| {})
    }

    /// Like [`Self::entry`], with a header that is changed before its checksum is computed.
    fn changed(mut self, name: &[u8], kind: u8, content: &[u8], change: impl FnOnce(&mut Header)) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::new(kind));
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        if matches!(kind, b'1' | b'2') {
            header.set_link_name("target").unwrap();
        }
        change(&mut header);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str) -> Self {
        self.entry(name.as_bytes(), b'0', b"")
    }

    /// Omits the two empty blocks that end an archive.
    fn cut(mut self, bytes: usize) -> Vec<u8> {
        self.0.truncate(bytes);
        self.0
    }

    fn done(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        self.0
    }
}

/// A record of an extended header, which includes its own length: `LENGTH KEY=VALUE`.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let length = (rest.len()..).find(|length| length.to_string().len() + rest.len() == *length).unwrap();
    format!("{length}{rest}").into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn main() {
    let folder = PathBuf::from(
        std::env::args_os()
            .filter_map(|word| word.into_string().ok())
            .nth(1)
            .unwrap_or_else(|| "fuzz/hostile/archive".to_owned()),
    );
    std::fs::create_dir_all(&folder).unwrap();
    let new = Archive::new;
    let size =
        |text: &'static [u8]| move |header: &mut Header| header.as_old_mut().size[..text.len()].copy_from_slice(text);
    let plain = [
        ("absolute", new().file("/etc/passwd").done()),
        ("leaves-at-once", new().file("../a").done()),
        ("leaves-later", new().file("a/../../b").done()),
        ("folder-leaves", new().entry(b"../a/", b'5', b"").done()),
        ("backslash", new().file("..\\a").done()),
        ("line-break", new().file("a\nb").done()),
        ("not-utf8", new().entry(b"\xff\xfe", b'0', b"").done()),
        ("no-name", new().file("./").done()),
        ("hard-link", new().entry(b"a", b'1', b"").done()),
        ("symbolic-link", new().entry(b"a", b'2', b"").file("a/b").done()),
        ("character-device", new().entry(b"a", b'3', b"").done()),
        ("block-device", new().entry(b"a", b'4', b"").done()),
        ("fifo", new().entry(b"a", b'6', b"").done()),
        ("sparse", new().entry(b"a", b'S', b"").done()),
        ("unknown-kind", new().entry(b"a", b'Z', b"").done()),
        ("twice", new().file("a").file("a").done()),
        ("twice-in-other-words", new().file("a").file("./a").done()),
        ("below-a-file", new().file("a").file("a/b").done()),
        ("file-and-folder", new().file("a").entry(b"a/", b'5', b"").done()),
        ("folder-below-a-file", new().file("a").entry(b"a/b/", b'5', b"").done()),
        ("folder-with-content", new().entry(b"a/", b'5', b"kind: A\n").done()),
        ("long-name-leaves", new().entry(b"././@LongLink", b'L', b"../../etc/passwd\0").file("a").done()),
        ("extended-name-leaves", new().entry(b"x", b'x', &record("path", "../../etc/passwd")).file("a").done()),
        ("extended-size-overflows", new().entry(b"x", b'x', &record("size", "18446744073709551615")).file("a").done()),
        ("extension-of-nothing", new().entry(b"././@LongLink", b'L', b"a\0").done()),
        ("size-beyond-the-end", new().changed(b"a", b'0', b"", size(b"00000004000")).done()),
        ("size-negative", new().changed(b"a", b'0', b"", size(&[0xff; 12])).done()),
        ("size-no-number", new().changed(b"a", b'0', b"", size(b"many")).done()),
        ("checksum-wrong", {
            let mut archive = new().file("a").done();
            archive[0] = b'b';
            archive
        }),
        ("cut-in-header", new().file("a").file("b").cut(512 + 300)),
        ("cut-in-content", new().entry(b"a", b'0', b"kind: A\n").cut(512 + 3)),
    ];
    for (name, bytes) in plain {
        std::fs::write(folder.join(format!("{name}.tar")), bytes).unwrap();
    }
    let good = gzip(&new().file("a").done());
    let with_checksum = |mut bytes: Vec<u8>| {
        let at = bytes.len() - 8;
        bytes[at] ^= 1;
        bytes
    };
    let packed = [
        ("bomb-in-a-file", gzip(&new().entry(b"a", b'0', &vec![0; BOMB]).done())),
        ("bomb-in-a-name", gzip(&new().entry(b"././@LongLink", b'L', &vec![b'a'; BOMB]).file("a").done())),
        ("bomb-in-an-extension", gzip(&new().entry(b"x", b'x', &record("path", &"a".repeat(BOMB))).file("a").done())),
        ("bomb-in-a-comment", gzip(&new().entry(b"g", b'g', &record("comment", &"a".repeat(BOMB))).file("a").done())),
        ("bomb-in-a-folder", gzip(&new().entry(b"a/", b'5', &vec![0; BOMB]).done())),
        ("bomb-behind-the-end", gzip(&[new().file("a").done(), vec![0; BOMB]].concat())),
        ("cut", good[..good.len() - 9].to_vec()),
        ("garbage-behind", [&good[..], b"garbage"].concat()),
        ("checksum-wrong", with_checksum(good)),
        ("twice-compressed", gzip(&gzip(&new().file("a").done()))),
    ];
    for (name, bytes) in packed {
        std::fs::write(folder.join(format!("{name}.tar.gz")), bytes).unwrap();
    }
}
