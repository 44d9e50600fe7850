//! The credentials of an SSH connection are checked or refused, the file of known hosts among them.
#![no_main]

use std::sync::LazyLock;

use flux_operator::secrets::{Credentials, SecretText, Ssh};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ssh_key::private::{Ed25519Keypair, PrivateKey};

/// A key that nobody uses: without one the known hosts are not even looked at.
static KEY: LazyLock<String> = LazyLock::new(|| {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]));
    key.to_openssh(ssh_key::LineEnding::LF).expect("a key can be written").to_string()
});

fuzz_target!(|bytes: &[u8]| {
    for (private_key, known_hosts) in [(KEY.as_bytes(), bytes), (bytes, b"example.com ssh-ed25519 AAAA".as_slice())] {
        let ssh = Ssh {
            private_key: SecretText::from(private_key.to_vec()),
            public_key: None,
            known_hosts: SecretText::from(known_hosts.to_vec()),
            password: None,
        };
        let credentials = Credentials::Ssh(ssh);
        let _ = credentials.content();
        let _ = credentials.check(Timestamp::UNIX_EPOCH);
    }
});
