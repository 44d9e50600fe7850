//! age identities: bech32 text with a checksum (BIP 173, without its length limit).
//!
//! Source: <https://github.com/C2SP/C2SP/blob/main/age.md#the-x25519-recipient-type>.

const CHARSET: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Checks a file of identities, one per line; comments and empty lines are skipped. Returns whether a plugin is needed.
pub(super) fn check(text: &str) -> Result<bool, &'static str> {
    let mut plugin = false;
    let mut keys = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // Flux's reader of age accepts neither blanks around an identity nor a comment after it.
        if line.trim() != line {
            return Err("a line begins or ends with blanks, which Flux does not read: remove them");
        }
        if line.starts_with("age1") {
            return Err("it holds a recipient, which is public; the identity begins with AGE-SECRET-KEY-");
        }
        if line.starts_with("-----BEGIN AGE ENCRYPTED FILE") {
            return Err("the identity is encrypted, and Flux has no password for it");
        }
        plugin |= line.starts_with("AGE-PLUGIN-");
        if !plugin && !line.starts_with("AGE-SECRET-KEY-") {
            return Err("a line is not an identity: those begin with AGE-SECRET-KEY-");
        }
        if !checksum_is_right(line) {
            return Err("an identity is damaged: its checksum is wrong");
        }
        keys += 1;
    }
    if keys == 0 { Err("it holds no identity") } else { Ok(plugin) }
}

fn checksum_is_right(text: &str) -> bool {
    // Mixed case is forbidden; identities are upper case throughout.
    let lower = text.to_ascii_lowercase();
    let Some((prefix, data)) = lower.rsplit_once('1') else { return false };
    if !text.is_ascii() || text.bytes().any(|b| b.is_ascii_lowercase()) || prefix.is_empty() || data.len() < 6 {
        return false;
    }
    let values: Option<Vec<u32>> = data.chars().map(|c| CHARSET.find(c).and_then(|i| u32::try_from(i).ok())).collect();
    let Some(values) = values else { return false };
    let high = prefix.bytes().map(|b| u32::from(b >> 5));
    let low = prefix.bytes().map(|b| u32::from(b & 31));
    // Bech32m would give another constant than 1; age uses Bech32.
    polymod(high.chain([0]).chain(low).chain(values)) == 1
}

/// The checksum of BIP 173: a BCH code over GF(32).
fn polymod(values: impl Iterator<Item = u32>) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.fold(1, |checksum, value| {
        let top = checksum >> 25;
        let shifted = ((checksum & 0x01ff_ffff) << 5) ^ value;
        let terms = GENERATOR.iter().enumerate().filter(|(bit, _)| (top >> bit) & 1 == 1);
        terms.fold(shifted, |sum, (_, term)| sum ^ term)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Made for this test with the algorithm of BIP 173 from 32 bytes of 0x42.
    pub(super) fn identity() -> String {
        encode("age-secret-key-", &[0x42; 32])
    }

    fn encode(prefix: &str, bytes: &[u8]) -> String {
        let mut values = vec![];
        let (mut buffer, mut bits) = (0u32, 0);
        for byte in bytes {
            buffer = (buffer << 8) | u32::from(*byte);
            bits += 8;
            while bits >= 5 {
                bits -= 5;
                values.push((buffer >> bits) & 31);
            }
        }
        values.push((buffer << (5 - bits)) & 31);
        let spread =
            prefix.bytes().map(|b| u32::from(b >> 5)).chain([0]).chain(prefix.bytes().map(|b| u32::from(b & 31)));
        let sum = polymod(spread.chain(values.clone()).chain([0; 6])) ^ 1;
        values.extend((0..6).map(|i| (sum >> (5 * (5 - i))) & 31));
        let data: String = values.iter().map(|v| CHARSET.chars().nth(*v as usize).unwrap()).collect();
        format!("{prefix}1{data}").to_uppercase()
    }

    #[test]
    fn the_checksum_of_the_standard_is_known() {
        // Valid strings of BIP 173.
        for text in
            ["A12UEL5L", "AN83CHARACTERLONGHUMANREADABLEPARTTHATCONTAINSTHENUMBER1ANDTHEEXCLUDEDCHARACTERSBIO1TT5TGS"]
        {
            assert!(checksum_is_right(text), "{text}");
        }
        assert!(!checksum_is_right("A12UEL5Q"));
    }

    #[test]
    fn identities_with_comments_pass_and_damaged_ones_fail() {
        let file = format!("# created: 2026-01-01\n# public key: age1abc\n{}\n", identity());
        assert_eq!(check(&file), Ok(false));
        assert!(check(&identity().replace("AGE-SECRET", "AGE-SECRAT")).is_err());
        let mut damaged = identity();
        damaged.replace_range(20..21, if &damaged[20..21] == "Q" { "P" } else { "Q" });
        assert_eq!(check(&damaged), Err("an identity is damaged: its checksum is wrong"));
        for text in ["", "# only", "age1xyz", "hello", "AGE-SECRET-KEY-1XXXX", &identity().to_lowercase()] {
            assert!(check(text).is_err(), "{text}");
        }
        for text in [format!("  {}\n", identity()), format!("{} \n", identity()), format!("  # note\n{}\n", identity())]
        {
            assert!(check(&text).unwrap_err().contains("blanks"), "{text:?}");
        }
        assert_eq!(check(&format!("# note\r\n\r\n{}\r\n", identity())), Ok(false));
        assert_eq!(check(&encode("age-plugin-yubikey-", &[1; 20])), Ok(true));
        assert_eq!(check(&encode("age-secret-key-pq-", &[1; 32])), Ok(false));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_check(text in "(AGE-SECRET-KEY-1)?.{0,80}") {
            let _ = check(&text);
        }
    }
}
