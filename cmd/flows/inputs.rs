//! The input sets of a ResourceSet or a provider, as several commands show them.

use flux_operator::inspect::views::resource_set;
use flux_operator::inspect::views::resource_set::ResolvedInputs;
use flux_operator::k8s::ObjectId;
use serde_json::Value;

use crate::session::read_source::Source;
use crate::terminal::{CliError, Shell};

/// Returns the input sets of a ResourceSet or a provider.
///
/// # Errors
/// They cannot be read or combined.
pub async fn resolved(shell: &Shell, source: &Source<'_>, object: &Value) -> Result<ResolvedInputs, CliError> {
    let inputs = match resource_set::is_resource_set(object) {
        true => source.view(shell, |snapshot| resource_set::inputs(snapshot, object)).await?.with_warnings(shell),
        false => resource_set::exported(object),
    };
    let unreadable =
        |why: String| CliError::failed(format!("cannot resolve the inputs of {}", ObjectId::of(object))).cause(why);
    inputs.map_err(unreadable)
}
