//! Stand-in for `crate::yaml` until that module is here.
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct YamlError(String);

pub fn parse_documents(text: &str) -> Result<Vec<Value>, YamlError> {
    serde_yaml::Deserializer::from_str(text)
        .map(|d| Value::deserialize(d).map_err(|e| YamlError(e.to_string())))
        .filter(|v| !matches!(v, Ok(Value::Null)))
        .collect()
}

pub fn to_string(value: &impl Serialize) -> Result<String, YamlError> {
    serde_yaml::to_string(value).map_err(|e| YamlError(e.to_string()))
}

pub fn document_stream(values: &[Value]) -> Result<String, YamlError> {
    values.iter().map(|v| Ok(format!("---\n{}", to_string(v)?))).collect()
}
