//! Schemas: of the kinds that people write, of the configuration file, and of what `-o json` of each view holds. Lists of real objects have
//! the schema of their kind instead.

use flux_operator::api::crd;
use flux_operator::format::json;
use flux_operator::inspect::diagnose::checks::CheckReport;
use flux_operator::inspect::diagnose::instance::HistoryRow;
use flux_operator::inspect::diagnose::status::StatusView;
use flux_operator::inspect::diagnose::why::{Overview, Why};
use flux_operator::inspect::incident::page::Page;
use flux_operator::inspect::incident::report::StatsRow;
use flux_operator::inspect::views::changes::ChangeRow;
use flux_operator::inspect::views::components::ComponentRow;
use flux_operator::inspect::views::impact::Impact;
use flux_operator::inspect::views::inventory::InventoryRow;
use flux_operator::inspect::views::suspended::SuspendedRow;
use flux_operator::inspect::views::trace::Trace;
use flux_operator::inspect::views::tree::TreeNode;
use flux_operator::inspect::views::version::VersionView;
use flux_operator::request::OwnerMigration;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use super::File;
use crate::fleet::FleetResult;
use crate::flows::manifest_files::FileMigration;
use crate::terminal::Config;

/// The JSON form of a list of rows.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is asked for")]
struct RowList<T> {
    /// Name of the list.
    kind: String,
    items: Vec<T>,
}

/// Returns the schema of the output, where an omitted field is optional.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of what a command prints as JSON.
pub struct OutputSchema {
    /// Of the file.
    pub name: &'static str,
    /// The command without the name of the program.
    pub command: &'static str,
    pub schema: Schema,
}

/// Returns the schemas of views in the order of the guide.
pub fn outputs() -> Vec<OutputSchema> {
    let outputs = [
        ("status", "status", schema::<StatusView>()),
        ("components", "get components", schema::<RowList<ComponentRow>>()),
        ("history", "get history", schema::<RowList<HistoryRow>>()),
        ("inventory", "get inventory", schema::<RowList<InventoryRow>>()),
        ("suspended", "get suspended", schema::<RowList<SuspendedRow>>()),
        ("stats", "stats", schema::<RowList<StatsRow>>()),
        ("what-changed", "what-changed", schema::<RowList<ChangeRow>>()),
        ("tree", "tree", schema::<TreeNode>()),
        ("trace", "trace", schema::<Trace>()),
        ("version", "version", schema::<VersionView>()),
        ("check", "check", schema::<CheckReport>()),
        ("why", "why KIND/NAME", schema::<Why>()),
        ("why-all", "why", schema::<Overview>()),
        ("impact", "impact", schema::<Impact>()),
        ("report", "report", schema::<Page>()),
        ("migrate", "migrate -f, check -f", schema::<FileMigration>()),
        ("migrate-owner", "migrate owner", schema::<OwnerMigration>()),
        ("fleet-result", "every read with --contexts", schema::<FleetResult>()),
    ];
    outputs.map(|(name, command, schema)| OutputSchema { name, command, schema }).into()
}

/// Returns every schema with its file name.
pub fn all() -> Vec<File> {
    let schemas = outputs().into_iter().map(|output| (output.name, output.schema));
    // The other schemas describe output, this one input.
    let config = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Config>();
    let kinds = [
        ("fluxinstance", crd::flux_instance_schema()),
        ("resourceset", crd::resource_set_schema()),
        ("resourcesetinputprovider", crd::input_provider_schema()),
    ];
    let kinds = kinds.map(|(name, schema)| (name, json::to_string(schema)));
    let written = schemas.chain([("config", config)]).map(|(name, schema)| (name, json::to_string(&schema)));
    written.chain(kinds).map(|(name, text)| (format!("{name}.json"), text.unwrap().into_bytes())).collect()
}
