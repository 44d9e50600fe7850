//! The revision of a build: the Flux version and a digest of all built objects.
//!
//! ```text
//! v2.9.4@sha256:<SHA-256 of [object,object,…]>
//! ```
//! The digest covers the built objects as one JSON array without white space: objects in apply order, keys of every
//! mapping sorted, descriptions included. It is taken before `spec.commonMetadata` and the ownership labels are set, so
//! it reflects what is installed and not how it is labelled. Do not change this form: every installation would report
//! an upgrade that did not happen.

use std::fmt;
use std::io::Write;
use std::str::FromStr;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A Flux version and the digest of its build, as in `status.lastAppliedRevision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// For example `v2.9.4`.
    pub version: String,
    /// `sha256:` and 64 hexadecimal digits; `None` if a parsed revision has no digest.
    pub digest: Option<String>,
}

/// A text that is not a revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a revision: want version@digest with at most one @")]
pub struct RevisionError(pub String);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

impl FromStr for Revision {
    type Err = RevisionError;

    /// Splits at the `@`. Older operators recorded an OCI reference in front of it, which is accepted.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || RevisionError(text.to_string());
        let (version, digest) = match text.split_once('@') {
            Some((version, digest)) if !digest.contains('@') && !digest.is_empty() => {
                (version, Some(digest.to_string()))
            }
            Some(_) => return Err(fail()),
            None => (text, None),
        };
        // A scheme, registry port and repository may precede the tag, so the tag follows the last colon of the last
        // path segment.
        let last = version.rsplit('/').next().unwrap_or(version);
        let version = last.rsplit_once(':').map_or(last, |(_, tag)| tag);
        if version.is_empty() { Err(fail()) } else { Ok(Revision { version: version.to_string(), digest }) }
    }
}

/// The digest of objects in apply order: `sha256:` and 64 hexadecimal digits.
pub fn digest(objects: &[Value]) -> String {
    let mut hash = Sha256::new();
    let mut buffer = Vec::with_capacity(64 * 1024);
    buffer.push(b'[');
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            buffer.push(b',');
        }
        write_canonical(object, &mut buffer);
        hash.update(&buffer);
        buffer.clear();
    }
    buffer.push(b']');
    hash.update(&buffer);
    format!("sha256:{}", hex::encode(hash.finalize()))
}

/// Appends a value as JSON without white space, the keys of mappings sorted by their bytes.
fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_scalar(key, out);
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::String(text) => write_scalar(text, out),
        // Only null, booleans and numbers are left; `Display` is their JSON form. Writing to memory cannot fail.
        scalar => drop(write!(out, "{scalar}")),
    }
}

fn write_scalar(text: &str, out: &mut Vec<u8>) {
    // A string always has a JSON form and memory can always be written to.
    drop(serde_json::to_writer(out, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_is_that_of_compact_json_with_sorted_keys() {
        let objects = [json!({"b": [1, {"z": null, "a": true}], "a": "x\n\"é"}), json!({})];
        let text = "[{\"a\":\"x\\n\\\"é\",\"b\":[1,{\"a\":true,\"z\":null}]},{}]";
        assert_eq!(digest(&objects), format!("sha256:{}", hex::encode(Sha256::digest(text.as_bytes()))));
        assert_eq!(digest(&[]), format!("sha256:{}", hex::encode(Sha256::digest(b"[]"))));
    }

    #[test]
    fn key_order_does_not_change_the_digest_and_object_order_does() {
        let (a, b) = (json!({"x": 1, "y": 2}), json!({"y": 2, "x": 1}));
        assert_eq!(digest(std::slice::from_ref(&a)), digest(&[b]));
        assert_ne!(digest(&[a.clone(), json!({})]), digest(&[json!({}), a]));
    }

    #[test]
    fn revisions_split_at_the_at_sign() {
        for (text, version, digest) in [
            ("v2.9.4@sha256:ab", "v2.9.4", Some("sha256:ab")),
            ("v1.2.3", "v1.2.3", None),
            ("v1.2.3-rc.1@sha256:x", "v1.2.3-rc.1", Some("sha256:x")),
            ("oci://host/org/app:v1@sha256:x", "v1", Some("sha256:x")),
            ("host:5000/org/app:v1@sha256:x", "v1", Some("sha256:x")),
            ("oci://localhost:5000/org/app:rc-abc", "rc-abc", None),
        ] {
            let revision: Revision = text.parse().unwrap();
            assert_eq!((revision.version.as_str(), revision.digest.as_deref()), (version, digest), "{text}");
        }
        for text in ["", "a@b@c", "v1@", "@sha256:x"] {
            assert!(text.parse::<Revision>().is_err(), "{text}");
        }
    }
}
