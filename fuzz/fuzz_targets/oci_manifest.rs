//! A manifest of an image or an index is read or refused; what it names can be asked of it.
#![no_main]

use flux_operator::oci::{Manifest, Platform};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for declared in [None, Some("application/vnd.oci.image.index.v1+json"), Some("application/vnd.oci.image.manifest.v1+json")]
    {
        let Ok(manifest) = Manifest::parse(declared, bytes.to_vec().into()) else { continue };
        assert_eq!(manifest.descriptor().size, bytes.len() as u64);
        let _ = manifest.blobs().count();
        let _ = manifest.for_platform(&Platform::linux_amd64());
    }
});
