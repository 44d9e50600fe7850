//! An archive is read within its limits or refused; what is read is written and read again unchanged.
#![no_main]

use flux_operator::format::tarball::{ArchiveLimits, index_tar, read_tarball, write_tarball};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = index_tar(std::io::Cursor::new(bytes), 100);
    for bytes in [bytes.to_vec(), compressed(bytes)] {
        let Ok(files) = read_tarball(bytes.as_slice(), &ArchiveLimits::DISTRIBUTION) else { continue };
        for path in files.keys() {
            assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path}");
        }
        let written = write_tarball(&files).expect("files in memory can be written");
        assert_eq!(read_tarball(written.as_slice(), &ArchiveLimits::DISTRIBUTION).expect("what was written"), files);
    }
});

/// Random bytes are hardly ever gzip; within one they are at least a tar archive's.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).expect("in memory");
    encoder.finish().expect("in memory")
}
