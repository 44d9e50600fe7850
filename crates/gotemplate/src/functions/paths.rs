//! Paths and URLs.

use super::{Call, NIL_DEREFERENCE};
use crate::limits::FunctionError;
use crate::path;
use crate::text::{Text, lossy};
use crate::url::Url;
use crate::value::{ElementType, Map, Value};

pub(super) fn base(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(path::base(call.bytes(0)))
}

pub(super) fn clean(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(path::clean(call.bytes(0)))
}

pub(super) fn dir(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(path::dir(call.bytes(0)))
}

pub(super) fn ext(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    call.created(path::ext(call.bytes(0)))
}

pub(super) fn is_abs(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    Ok(Value::Bool(call.bytes(0).starts_with(b"/")))
}

pub(super) fn url_parse(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let url = Url::parse(call.bytes(0)).map_err(|error| FunctionError::new(format!("unable to parse url: {error}")))?;
    call.budget().create(call.bytes(0).len())?;
    call.budget().create_items(8)?;
    let userinfo = url.user_text();
    let hostname = url.hostname().to_vec();
    let parts: [(&str, Vec<u8>); 8] = [
        ("fragment", url.fragment),
        ("host", url.host),
        ("hostname", hostname),
        ("opaque", url.opaque),
        ("path", url.path),
        ("query", url.query),
        ("scheme", url.scheme),
        ("userinfo", userinfo),
    ];
    let entries = parts.into_iter().map(|(key, part)| (Text::from(key.as_bytes()), Value::from(part))).collect();
    Ok(Value::Map(Map::from_unsorted(ElementType::Any, entries)))
}

pub(super) fn url_join(call: &mut Call<'_>) -> Result<Value, FunctionError> {
    let map = call.dict(0);
    let part = |key: &str| match map.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(text.to_vec()),
        // Sprig asks nil for its kind, which panics.
        Some(Value::Nil) => Err(FunctionError::new(NIL_DEREFERENCE)),
        Some(other) => Err(FunctionError::new(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind_name()
        ))),
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        // Sprig parses a made-up URL, which its message can show.
        let text = format!("proto://{}@host", lossy(&userinfo));
        let parsed = Url::parse(text.as_bytes())
            .map_err(|error| FunctionError::new(format!("unable to parse userinfo in dict: {error}")))?;
        url.user = parsed.user;
    }
    call.created(url.to_text())
}
