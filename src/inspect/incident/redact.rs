//! Removes secrets from objects, texts and logs, so that a dump or a page can be shared. Pure.
//!
//! ```text
//! Secrets, ConfigMaps ─► names, keys, sizes, salted hashes        values ─► known, and masked in every text
//! other objects       ─► walked: by the names of fields, pairs of name and value, arguments, variables, patches
//! texts of YAML, JSON ─► parsed and walked as well        other texts ─► searched for text that looks like a credential
//! ```
//! Content that explains an installation is kept: names, references, images, hosts, conditions, messages, arguments.

mod arguments;
mod known_values;
mod lines;
mod names;
mod places;
mod text;
mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::api::field_managers::Author;
use crate::format::yaml;
use crate::k8s::{ObjectId, fields};
use known_values::KnownValues;
use lines::{has_fields, key_block_lines, without_colours, without_data_of_templates, without_values_below_names};
use names::names_credential;
use places::{
    COPIES, IDENTITY, KNOWN_DOMAINS, METADATA, PLAIN_HEADERS, entries, is_address, is_data, is_environment,
    is_inventory_entry, is_masked_entry, is_object_name_or_image, is_reference_field, is_secret_entry, mask_fields,
    mask_scalars, mask_text,
};
use text::MaskExtent;

/// Replaces removed text.
pub(crate) const MASK: &str = "[masked]";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Longer values of foreign annotations are copies of objects, certificates or state, which explain nothing about Flux.
const LONGEST_ANNOTATION: usize = 200;
/// Limit for texts nested in texts: deeper ones are searched instead of parsed.
const DEEPEST: usize = 8;
/// Longer texts are not parsed; a Kubernetes object has at most a tenth of this.
const LONGEST_PARSED: usize = 16 << 20;

/// Values masked in an object or log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MaskedValues {
    /// The object, or the pod of the log.
    pub what: String,
    /// Number of masked values.
    pub count: usize,
}

/// Prepares a foreign text for a page that is sent to others: without credentials and queries of addresses.
pub(crate) fn shareable_text(text: &str) -> String {
    text::mask(text, MaskExtent::CredentialsAndQueries, &BTreeSet::new()).0
}

/// Removes tokens from a line of a log, and users, passwords and queries from its addresses.
pub fn shareable_line(line: &str) -> String {
    text::mask(line, MaskExtent::WordsAndQueries, &BTreeSet::new()).0
}

/// Removes user, password, query and fragment from an address.
pub(crate) fn plain_address(address: &str) -> String {
    text::plain_address(address)
}

/// Masks secrets and counts them.
pub(crate) struct Redactor {
    salt: Vec<u8>,
    known: KnownValues,
    /// Names of Secrets, because a field called `secret` may contain one.
    secrets: BTreeSet<String>,
    /// Why masking may be incomplete, if so.
    incomplete: Option<String>,
    masked: BTreeMap<String, usize>,
    /// Cache: whether a field name is that of a credential. The same few hundred names repeat.
    judged: HashMap<String, bool>,
}

impl Redactor {
    /// Creates a redactor. Under one salt, equal values have equal hashes. Without the salt, the hashes reveal nothing.
    pub(crate) fn new(salt: Vec<u8>) -> Self {
        Redactor {
            salt,
            known: KnownValues::default(),
            secrets: BTreeSet::new(),
            incomplete: None,
            masked: BTreeMap::new(),
            judged: HashMap::new(),
        }
    }

    /// Learns the secrets of an object, so that they are masked in every text: the values of a Secret, also of one
    /// inside another object, and the values of fields named like credentials.
    pub(crate) fn learn(&mut self, object: &Value) {
        if fields::kind(object) == "Secret" {
            self.secrets.insert(fields::name(object).to_owned());
        }
        self.learn_within(object);
    }

    fn learn_within(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.learn_within(item)),
            // Values of a ConfigMap are masked in it, but are not secret elsewhere.
            Value::Object(_) if is_data(value) && fields::kind(value) != "ConfigMap" => self.learn_secret(value),
            Value::Object(object) => {
                for (key, value) in object.iter().filter(|(key, _)| *key != "managedFields") {
                    match value {
                        Value::String(text) => {
                            // A plain word could be a reference, and would be masked everywhere.
                            let is_random = text.len() >= 8 && !text.bytes().all(|byte| byte.is_ascii_lowercase());
                            if is_random && self.is_credential(key, text) && !words::is_reference(text) {
                                self.known.add(text);
                                // Docker's configuration has `USER:PASSWORD` in base64.
                                let decoded = decoded_text(text.trim_end_matches('='));
                                let password = decoded.as_deref().and_then(|pair| Some(pair.split_once(':')?.1));
                                password.into_iter().for_each(|password| self.known.add(password));
                            }
                        }
                        other => self.learn_within(other),
                    }
                }
            }
            _ => {}
        }
    }

    fn learn_secret(&mut self, secret: &Value) {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for (key, value) in entries(secret, "data") {
            // Base64 that was written by hand may have line breaks.
            let Ok(bytes) = STANDARD.decode(value.split_ascii_whitespace().collect::<String>()) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if is_secret_entry(key, &text) {
                // The encoding of a text differs from the encodings of its lines, and not all programs write the
                // padding.
                self.known.add_verbatim(value.trim_end_matches('='));
            }
            texts.insert(key, text);
        }
        texts.extend(entries(secret, "stringData").map(|(key, value)| (key, value.to_owned())));
        for (_, text) in texts.iter().filter(|(key, text)| is_secret_entry(key, text)) {
            self.known.add(text);
            self.known.add_verbatim(STANDARD.encode(text).trim_end_matches('='));
            // A configuration contains passwords that may also occur elsewhere.
            text::credentials_within(text).iter().for_each(|value| self.known.add(value));
            for line in text.lines() {
                let value = line.split_once(['=', ':']).map_or("", |(_, value)| value).trim();
                let value = value.trim_end_matches([',', ';']).trim_matches(['"', '\'']);
                if words::is_generated_value(value) {
                    self.known.add(value);
                }
            }
            if let Ok(document) = yaml::parse_one(text) {
                self.learn_within(&document);
                self.learn_generated(&document);
            }
        }
        if let (Some(user), Some(password)) = (texts.get("username"), texts.get("password")) {
            // The form of HTTP basic authentication and of docker's configuration.
            let pair = STANDARD.encode(format!("{}:{}", user.trim(), password.trim()));
            self.known.add_verbatim(pair.trim_end_matches('='));
        }
    }

    /// Learns the values in a file of a Secret that look generated.
    fn learn_generated(&mut self, value: &Value) {
        match value {
            Value::String(text) if words::is_generated_value(text) => self.known.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.learn_generated(item)),
            Value::Object(members) => members.values().for_each(|member| self.learn_generated(member)),
            _ => {}
        }
    }

    /// Prepares the search for everything learnt, and returns why masking may be incomplete, if so.
    pub(crate) fn prepare(&mut self) -> Option<&str> {
        if let Err(error) = text::check() {
            self.incomplete = Some(format!("texts cannot be searched for credentials: {error}"));
        }
        if let Err(error) = self.known.compile() {
            self.incomplete = Some(format!("texts cannot be searched for the values of all Secrets: {error}"));
        }
        self.incomplete.as_deref()
    }

    /// Returns the masked values so far, by object.
    pub(crate) fn masked(&self) -> Vec<MaskedValues> {
        self.masked.iter().map(|(what, count)| MaskedValues { what: what.clone(), count: *count }).collect()
    }

    fn count(&mut self, what: &str, count: usize) {
        if count > 0 {
            *self.masked.entry(what.to_owned()).or_default() += count;
        }
    }

    fn names_credential(&mut self, name: &str) -> bool {
        if let Some(judged) = self.judged.get(name) {
            return *judged;
        }
        let judged = names_credential(name);
        self.judged.insert(name.to_owned(), judged);
        judged
    }

    fn is_credential(&mut self, name: &str, value: &str) -> bool {
        self.names_credential(name) && words::is_credential_value(name, value, &self.secrets)
    }

    /// Removes credentials from the lines of a log.
    pub(crate) fn log(&mut self, what: &str, lines: &[String]) -> Vec<String> {
        self.prepare();
        let mut cleaned = Vec::with_capacity(lines.len());
        let mut count = 0;
        // A log may print the manifest of a Secret. Masking keeps the number of lines.
        let (joined, templated) = without_data_of_templates(&lines.join("\n"));
        // A value may be on another line than its name.
        let (joined, paired) = text::mask_pairs(&joined, &self.secrets);
        let (joined, below) = without_values_below_names(&joined);
        let found = templated + paired + below;
        count += found;
        let printed: Vec<String> = if found > 0 { joined.split('\n').map(str::to_owned).collect() } else { vec![] };
        let mut rest = if found > 0 { printed.as_slice() } else { lines };
        while let Some((line, after)) = rest.split_first() {
            let block = key_block_lines(rest);
            if block > 0 {
                // Keep the number of lines, so that line numbers elsewhere stay valid.
                cleaned.extend((0..block).map(|_| MASK.to_owned()));
                count += 1;
                rest = rest.get(block..).unwrap_or_default();
                continue;
            }
            let (text, masked) = self.cleaned(line, 0);
            cleaned.push(if masked > 0 { text } else { line.clone() });
            count += masked;
            rest = after;
        }
        self.count(what, count);
        cleaned
    }

    /// Removes credentials from an object.
    pub(crate) fn object(&mut self, mut object: Value) -> Value {
        self.prepare();
        let what = ObjectId::of(&object).to_string();
        let mut count = 0;
        let is_core = fields::group(&object).is_empty() && matches!(fields::kind(&object), "Secret" | "ConfigMap");
        if is_core || is_data(&object) {
            count += self.data(&mut object, None);
        } else {
            count += mask_fields(&mut object);
        }
        count += self.members(&mut object, 0);
        self.count(&what, count);
        object
    }

    /// Masks the fields of an object that is or could be in a cluster.
    fn members(&mut self, object: &mut Value, depth: usize) -> usize {
        let owner = fields::kind(object).to_owned();
        let Some(members) = object.as_object_mut() else { return 0 };
        // Only text written by this program may appear under this name.
        if let Some(masked) = members.get_mut("masked").and_then(Value::as_object_mut) {
            masked.values_mut().filter(|entry| !is_masked_entry(entry)).for_each(|entry| *entry = json!({}));
        }
        let mut count = 0;
        for (key, value) in members {
            count += match key.as_str() {
                // Keep the identity of an object, even if a Secret contains the same words.
                "involvedObject" | "masked" | "apiVersion" | "kind" => 0,
                "metadata" => self.metadata(value, &owner, depth),
                _ => self.walk(key, value, depth),
            };
        }
        count
    }

    fn metadata(&mut self, metadata: &mut Value, owner: &str, depth: usize) -> usize {
        let Some(members) = metadata.as_object_mut() else { return 0 };
        for entry in members.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            self.field_set(entry);
        }
        let mut count = 0;
        for (key, value) in members.iter_mut() {
            count += match (key.as_str(), &mut *value) {
                ("annotations", Value::Object(annotations)) => self.annotations(annotations, owner, depth),
                ("labels", Value::Object(labels)) => labels.values_mut().map(|label| self.label(label)).sum(),
                (name, _) if METADATA.contains(&name) => 0,
                (name, value) => self.walk(name, value, depth),
            };
        }
        count
    }

    /// Values of labels are names by which objects are found, so only tokens are masked.
    fn label(&mut self, label: &mut Value) -> usize {
        let Value::String(text) = label else { return 0 };
        let (cleaned, count) = text::mask(text, MaskExtent::WordsAndQueries, &self.secrets);
        *text = cleaned;
        count
    }

    fn annotations(&mut self, annotations: &mut Map<String, Value>, owner: &str, depth: usize) -> usize {
        // kubectl's copy of the whole object would show everything that is masked beside it.
        let mut count = usize::from(annotations.remove(LAST_APPLIED).is_some());
        for (name, value) in annotations {
            let Value::String(text) = value else {
                count += self.walk(name, value, depth);
                continue;
            };
            let domain = name.split_once('/').map_or("", |(domain, _)| domain);
            let is_known = KNOWN_DOMAINS
                .iter()
                .any(|known| domain.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
            // `H4sI` begins every gzip file in base64, such as the copies that tools compress.
            let is_copy = COPIES.iter().any(|end| name.ends_with(end)) || text.starts_with("H4sI");
            if is_copy || (!is_known && text.len() > LONGEST_ANNOTATION) {
                if !text.starts_with(MASK) {
                    *text = format!("{MASK} {} bytes, hash {}", text.len(), self.hash(text.as_bytes()));
                    count += 1;
                }
            } else if let Some(cleaned) = self.structured(text, Some(owner), depth) {
                let (cleaned, masked) = cleaned;
                *text = cleaned;
                count += masked;
            } else {
                count += self.walk(name.rsplit('/').next().unwrap_or(name), value, depth);
            }
        }
        count
    }

    /// Reduces a field set to the names of fields that people own. Removes list items whose value is part of their
    /// name, and the whole field set of a controller, which owns everything that it applies.
    fn field_set(&mut self, entry: &mut Value) {
        let is_by_hand = Author::of(fields::text(entry, "/manager")) == Author::Other;
        let Some(entry) = entry.as_object_mut() else { return };
        match entry.get_mut("fieldsV1") {
            Some(set) if is_by_hand => self.names_only(set),
            _ => {
                entry.remove("fieldsV1");
            }
        }
    }

    fn names_only(&mut self, set: &mut Value) {
        let Some(members) = set.as_object_mut() else { return };
        members.retain(|name, _| !name.starts_with("v:") && self.cleaned(name, DEEPEST).1 == 0);
        members.values_mut().for_each(|below| self.names_only(below));
    }

    fn hash(&self, bytes: &[u8]) -> String {
        let hash = Sha256::new().chain_update(&self.salt).chain_update(bytes).finalize();
        hex::encode(hash).get(..16).unwrap_or_default().to_owned()
    }

    /// Replaces the values of a Secret or ConfigMap by their sizes and hashes. `kind` is given if the object does not
    /// state it.
    fn data(&self, object: &mut Value, kind: Option<&str>) -> usize {
        let is_secret = kind.unwrap_or(fields::kind(object)) == "Secret";
        let Some(members) = object.as_object_mut() else { return 0 };
        let mut keys = Map::new();
        let mut has_data = false;
        for field in ["data", "binaryData", "stringData"] {
            let is_encoded = field == "binaryData" || (field == "data" && is_secret);
            let Some(values) = members.remove(field) else { continue };
            has_data = true;
            for (key, value) in values.as_object().into_iter().flatten() {
                let entry = match value.as_str() {
                    Some(text) => {
                        let decoded = is_encoded.then(|| STANDARD.decode(text).ok()).flatten();
                        let bytes = decoded.unwrap_or_else(|| text.as_bytes().to_vec());
                        json!({"bytes": bytes.len(), "hash": self.hash(&bytes)})
                    }
                    // The value was removed before or is invalid; only its existence is known.
                    None => json!({}),
                };
                keys.insert(key.clone(), entry);
            }
        }
        let mut count = keys.len();
        // An API server does not know other fields of a Secret, but a file may have them.
        const FIELDS: [&str; 6] = ["apiVersion", "kind", "metadata", "type", "immutable", "masked"];
        for (_, value) in members.iter_mut().filter(|(field, _)| is_secret && !FIELDS.contains(&field.as_str())) {
            count += mask_scalars(value);
        }
        if has_data || !members.contains_key("masked") {
            members.insert("masked".into(), Value::Object(keys));
        }
        count
    }

    /// Masks secrets in a value, by the name of its field and by its content.
    fn walk(&mut self, key: &str, value: &mut Value, depth: usize) -> usize {
        match value {
            Value::String(text) => {
                if IDENTITY.contains(&key) && is_object_name_or_image(text) {
                    let (cleaned, count) = text::mask(text, MaskExtent::WordsAndQueries, &self.secrets);
                    *text = cleaned;
                    return count;
                }
                if self.is_credential(key, text) {
                    *text = MASK.to_owned();
                    return 1;
                }
                if let Some(cleaned) =
                    Some(&*text).filter(|_| is_address(key)).and_then(|text| text::without_bare_user_info(text))
                {
                    *text = cleaned;
                    return 1 + self.replace_cleaned(text, depth);
                }
                self.replace_cleaned(text, depth)
            }
            // A number of tokens, as in `maxTokens`, is a limit.
            Value::Number(_) if self.names_credential(key) && !key.to_ascii_lowercase().ends_with("tokens") => {
                *value = MASK.into();
                1
            }
            Value::Array(items) => {
                if is_environment(key) {
                    return items.iter_mut().map(|item| self.variable(item, depth)).sum();
                }
                if arguments::are_arguments(key, items) {
                    return self.arguments(items, "", depth);
                }
                items.iter_mut().map(|item| self.walk(key, item, depth)).sum()
            }
            Value::Object(_) => self.walk_object(key, value, depth),
            _ => 0,
        }
    }

    fn walk_object(&mut self, key: &str, value: &mut Value, depth: usize) -> usize {
        match key {
            "managedFields" => {
                self.field_set(value);
                return 0;
            }
            // Views find objects by these ids.
            _ if is_inventory_entry(value) => return value.get_mut("id").map_or(0, |id| self.label(id)),
            _ if is_environment(key) => return mask_scalars(value),
            _ => {}
        }
        let mut count = 0;
        if is_data(value) {
            count += self.data(value, (!value.get("kind").is_some_and(Value::is_string)).then_some("Secret"));
            return count + self.members(value, depth);
        }
        if value.get("apiVersion").is_some_and(Value::is_string) && value.get("kind").is_some_and(Value::is_string) {
            count += mask_fields(value);
            return count + self.members(value, depth);
        }
        if key == "template" && value.get("spec").is_none() && value.get("data").is_some_and(Value::is_object) {
            // The sources from which an ExternalSecret makes a Secret.
            count += self.data(value, Some("Secret"));
        }
        count += self.pair(key, value);
        count += self.patch_operation(value, depth);
        count += self.targeted_patch(value, depth);
        count += self.container(value, depth);
        let is_below_credential = self.names_credential(key);
        for (name, member) in value.as_object_mut().into_iter().flatten() {
            count += match (name.as_str(), &mut *member) {
                ("metadata", _) => self.metadata(member, "", depth),
                ("annotations", Value::Object(annotations)) => self.annotations(annotations, "", depth),
                ("labels" | "matchLabels", Value::Object(labels)) => {
                    labels.values_mut().map(|label| self.label(label)).sum()
                }
                (name, Value::String(text)) if is_below_credential && !is_reference_field(name) => {
                    let is_value = words::is_credential_value(key, text, &self.secrets);
                    if is_value {
                        *text = MASK.to_owned();
                    }
                    usize::from(is_value)
                }
                (name, Value::Object(_)) if is_below_credential && !is_reference_field(name) => {
                    self.walk_object(key, member, depth)
                }
                _ => self.walk(name, member, depth),
            };
        }
        count
    }

    /// `{name: N, value: V}`: a variable, a header, a parameter.
    fn pair(&mut self, list: &str, value: &mut Value) -> usize {
        let Some(members) = value.as_object_mut() else { return 0 };
        let is_one_of = |field: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(field));
        let is_name = |field: &str| is_one_of(field, &["name", "key", "header", "headerName", "variable", "parameter"]);
        let name = members.iter().filter(|(field, _)| is_name(field)).find_map(|(_, name)| name.as_str());
        let Some(name) = name.map(str::to_owned) else { return 0 };
        let is_header = list.to_ascii_lowercase().ends_with("headers");
        let is_plain_header = PLAIN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        if !(self.names_credential(&name) || (is_header && !is_plain_header)) {
            return 0;
        }
        let values = ["value", "values", "val", "stringValue", "default", "defaultValue"];
        let values = members.iter_mut().filter(|(field, _)| is_one_of(field, &values));
        values.map(|(_, value)| mask_scalars(value)).sum()
    }

    /// An environment entry: `{name: N, value: V}` or `N=V`.
    fn variable(&mut self, item: &mut Value, depth: usize) -> usize {
        match item {
            Value::String(text) => match text.split_once('=') {
                Some((_, value)) if !words::is_credential_value("", value, &self.secrets) => 0,
                Some((name, _)) => {
                    *text = format!("{name}={MASK}");
                    1
                }
                None => 0,
            },
            _ => mask_text(item.get_mut("value")) + self.walk_object("", item, depth),
        }
    }

    /// Masks an operation of a JSON patch (RFC 6902), whose path gives the meaning of its value.
    fn patch_operation(&mut self, value: &mut Value, depth: usize) -> usize {
        let (Some(path), true) = (fields::some_text(value, "/path").map(str::to_owned), value.get("op").is_some())
        else {
            return 0;
        };
        let segments: Vec<String> =
            // `~1` first, or `~01` would become a slash (RFC 6901 §4).
            path.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
        let is_data =
            segments.first().is_some_and(|first| ["data", "stringData", "binaryData"].contains(&first.as_str()));
        let is_variable = segments.iter().any(|segment| is_environment(segment));
        // An index, or `-` for the end of a list, does not name a value.
        let is_place = |segment: &&String| *segment != "-" && !segment.bytes().all(|byte| byte.is_ascii_digit());
        let place = segments.iter().rfind(is_place).cloned().unwrap_or_default();
        let place = place.rsplit('/').next().unwrap_or_default().to_owned();
        let Some(operand) = value.get_mut("value") else { return 0 };
        match operand {
            _ if is_data => mask_scalars(operand),
            Value::String(_) if is_variable => mask_text(Some(operand)),
            Value::Object(_) if is_variable => self.variable(operand, depth),
            _ => self.walk(&place, operand, depth),
        }
    }

    /// Masks a patch for a Secret or ConfigMap, which does not have to state the kind.
    fn targeted_patch(&mut self, value: &mut Value, depth: usize) -> usize {
        let kind = fields::text(value, "/target/kind").to_owned();
        let Some(Value::String(patch)) = value.get_mut("patch") else { return 0 };
        if !["Secret", "ConfigMap"].contains(&kind.as_str()) {
            return 0;
        }
        let Some((cleaned, count)) = self.structured(patch, Some(&kind), depth) else { return 0 };
        *patch = cleaned;
        count
    }

    /// Masks the command and arguments of a container together: the program's name decides which flags take passwords.
    fn container(&mut self, value: &mut Value, depth: usize) -> usize {
        let Some(members) = value.as_object_mut().filter(|members| members.contains_key("image")) else { return 0 };
        let words = |field: &str| {
            let items = members.get(field).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        };
        let image = members.get("image").and_then(Value::as_str).unwrap_or_default();
        let image = image.rsplit('/').next().unwrap_or_default().split([':', '@']).next().unwrap_or_default();
        let program = format!("{image} {} {}", words("command"), words("args"));
        let mut count = 0;
        for field in ["command", "args"] {
            if let Some(items) = members.get_mut(field).and_then(Value::as_array_mut) {
                count += self.arguments(items, &program, depth);
            }
        }
        count
    }

    fn arguments(&mut self, items: &mut [Value], program: &str, depth: usize) -> usize {
        let mut count = arguments::mask(items, program, &self.secrets);
        for item in items {
            if let Value::String(text) = item {
                count += self.replace_cleaned(text, depth);
            } else {
                count += self.walk("", item, depth);
            }
        }
        count
    }

    fn replace_cleaned(&mut self, text: &mut String, depth: usize) -> usize {
        let (cleaned, count) = self.cleaned(text, depth);
        if count > 0 {
            *text = cleaned;
        }
        count
    }

    /// Removes credentials from a text, and returns how many it contained.
    fn cleaned(&mut self, text: &str, depth: usize) -> (String, usize) {
        if text.len() < 4 {
            return (text.to_owned(), 0);
        }
        let plain = without_colours(text);
        let (cleaned, count) = self.cleaned_plain(&plain, depth);
        // A text without credentials keeps its colours.
        if count > 0 { (cleaned, count) } else { (text.to_owned(), 0) }
    }

    fn cleaned_plain(&mut self, text: &str, depth: usize) -> (String, usize) {
        if let Some(cleaned) = self.structured(text, None, depth) {
            return cleaned;
        }
        let (text, known) = self.without_known_values(text);
        let (text, templated) = without_data_of_templates(&text);
        let (text, found) = text::mask(&text, MaskExtent::Credentials, &self.secrets);
        let (text, encoded) = self.without_encoded_texts(text, depth);
        (text, known + templated + found + encoded)
    }

    /// Masks words of base64 that contain credentials, such as encoded configurations and manifests.
    fn without_encoded_texts(&mut self, text: String, depth: usize) -> (String, usize) {
        const SHORTEST: usize = 16;
        // Both alphabets, RFC 4648 §4 and §5.
        let is_of_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
        let is_candidate = |word: &str| word.len() >= SHORTEST && word.len() <= LONGEST_PARSED;
        if depth >= DEEPEST || !text.split(|c| !is_of_base64(c)).any(is_candidate) {
            return (text, 0);
        }
        let (mut cleaned, mut count) = (String::with_capacity(text.len()), 0);
        let mut rest = text.as_str();
        while let Some(start) = rest.find(is_of_base64) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_of_base64(c)).unwrap_or(from.len()));
            cleaned.push_str(before);
            let holds_credential =
                is_candidate(word) && decoded_text(word).is_some_and(|decoded| self.cleaned(&decoded, depth + 1).1 > 0);
            cleaned.push_str(if holds_credential { MASK } else { word });
            count += usize::from(holds_credential);
            rest = if holds_credential { after.trim_start_matches('=') } else { after };
        }
        cleaned.push_str(rest);
        (cleaned, count)
    }

    fn without_known_values(&self, text: &str) -> (String, usize) {
        let places = self.known.find(text);
        let mut cleaned = String::with_capacity(text.len());
        let mut copied = 0;
        for (start, end) in &places {
            cleaned.push_str(text.get(copied..*start).unwrap_or_default());
            cleaned.push_str(MASK);
            copied = *end;
        }
        cleaned.push_str(text.get(copied..).unwrap_or_default());
        (cleaned, places.len())
    }

    /// Removes credentials from keys: a text that is not YAML may still parse as a mapping whose keys contain
    /// everything.
    fn keys(&mut self, value: &mut Value) -> usize {
        match value {
            Value::Array(items) => items.iter_mut().map(|item| self.keys(item)).sum(),
            Value::Object(members) => {
                let mut count = 0;
                let is_text = |key: &String| key.contains([' ', '"', '\'', '=', ':']);
                for key in members.keys().filter(|key| is_text(key)).cloned().collect::<Vec<_>>() {
                    let (cleaned, masked) = self.cleaned(&key, DEEPEST);
                    if masked > 0
                        && let Some(value) = members.remove(&key)
                    {
                        members.insert(cleaned, value);
                        count += masked;
                    }
                }
                count + members.values_mut().map(|member| self.keys(member)).sum::<usize>()
            }
            _ => 0,
        }
    }

    /// Masks a text of YAML or JSON by its structure; `None` if it is neither. An object without kind has the kind of
    /// its owner.
    fn structured(&mut self, text: &str, owner: Option<&str>, depth: usize) -> Option<(String, usize)> {
        if depth >= DEEPEST || text.len() > LONGEST_PARSED {
            return None;
        }
        let trimmed = text.trim();
        // A YAML parser also reads JSON, but the masked text must be written in its original form.
        let is_json = trimmed.starts_with(['{', '[']);
        if !is_json && !has_fields(trimmed) {
            return None;
        }
        let json = is_json.then(|| serde_json::from_str::<Value>(trimmed).ok()).flatten();
        let is_json = json.is_some();
        let mut documents = match json {
            Some(document) => vec![document],
            None => yaml::parse_documents(text).ok()?,
        };
        let is_structure = |value: &Value| match value {
            Value::Object(_) => true,
            Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()) || is_json,
            _ => false,
        };
        if documents.is_empty() || !documents.iter().all(is_structure) {
            return None;
        }
        let mut count = 0;
        for document in &mut documents {
            let takes_owner =
                document.get("kind").is_none() && ["Secret", "ConfigMap"].contains(&owner.unwrap_or_default());
            if takes_owner && document.is_object() {
                let is_data = ["data", "stringData", "binaryData"].iter().any(|field| document.get(*field).is_some());
                count += if is_data { self.data(document, owner) } else { 0 };
            }
            count += self.walk("", document, depth + 1);
            count += self.keys(document);
        }
        if count == 0 {
            // Comments are not part of any document.
            let (text, known) = self.without_known_values(text);
            let (text, found) = text::mask(&text, MaskExtent::Credentials, &self.secrets);
            let has_comments = !is_json && (known + found) > 0 && text.contains('#');
            return Some(if has_comments || known > 0 { (text, known + found) } else { (text, 0) });
        }
        let written = match (is_json, documents.as_slice()) {
            (true, [document]) => Some(document.to_string()),
            _ => yaml::document_stream(&documents).ok(),
        };
        // Mask the whole text if it cannot be written again.
        Some((written.unwrap_or_else(|| MASK.to_owned()), count))
    }
}

/// Decodes a word of base64 to text; `None` for anything else, such as names and keys.
fn decoded_text(word: &str) -> Option<String> {
    let word = word.replace('-', "+").replace('_', "/");
    let text = String::from_utf8(STANDARD_NO_PAD.decode(word).ok()?).ok()?;
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    text.chars().all(is_plain).then_some(text)
}

#[cfg(test)]
mod tests;
