//! Turns the notation into CustomResourceDefinitions of one Flux version.

use semver::Version;
use serde_json::{Map, Value, json};

use super::Component;
use super::lines::NotationError;
use super::notation::{ApiVersion, Attribute, Base, Crd, Field, GatedValue, Notation, PrinterColumn, Wrap};
use super::version_gate::{Gate, GateContext};

/// A kind in one Flux version, without its schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdSummary {
    /// For example `source.toolkit.fluxcd.io`.
    pub group: String,
    pub kind: String,
    /// The lower-case plural; with the group it is the name of the CRD.
    pub plural: String,
    /// The name of the controller that serves it, for example `source-controller`.
    pub component: String,
    /// In the order of the CRD: by name.
    pub versions: Vec<ServedVersion>,
}

/// An API version that the API server offers for a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedVersion {
    pub name: String,
    /// True for the one version that is written to etcd.
    pub storage: bool,
    pub deprecated: bool,
}

impl CrdSummary {
    /// Reads a CRD object; None for any other object.
    pub(super) fn from_object(object: &Value, component: Component) -> Option<Self> {
        if object.get("kind")?.as_str()? != "CustomResourceDefinition" {
            return None;
        }
        let text = |pointer: &str| object.pointer(pointer)?.as_str().map(str::to_owned);
        let versions = object
            .pointer("/spec/versions")?
            .as_array()?
            .iter()
            .filter(|version| version.get("served").and_then(Value::as_bool) == Some(true))
            .filter_map(|version| {
                let on = |key: &str| version.get(key).and_then(Value::as_bool).unwrap_or(false);
                let name = version.get("name")?.as_str()?.to_owned();
                Some(ServedVersion { name, storage: on("storage"), deprecated: on("deprecated") })
            })
            .collect();
        Some(Self {
            group: text("/spec/group")?,
            kind: text("/spec/names/kind")?,
            plural: text("/spec/names/plural")?,
            component: component.to_string(),
            versions,
        })
    }
}

impl Crd {
    /// Returns the kind as it is in a Flux version; `None` if that version does not have it.
    pub(super) fn summary(&self, flux: &Version) -> Option<CrdSummary> {
        let place = GateContext { flux, api: "" };
        let on = |gate: &Option<Gate<'_>>| gate.as_ref().is_some_and(|gate| gate.holds(place));
        let versions: Vec<ServedVersion> = self
            .served(flux)
            .map(|version| ServedVersion {
                name: version.name.to_owned(),
                storage: on(&version.storage),
                deprecated: on(&version.deprecated),
            })
            .collect();
        (!versions.is_empty()).then(|| CrdSummary {
            group: self.group.to_owned(),
            kind: self.kind.to_owned(),
            plural: self.plural.to_owned(),
            component: self.component.to_owned(),
            versions,
        })
    }

    fn served(&self, flux: &Version) -> impl Iterator<Item = &ApiVersion> {
        self.versions.iter().filter(move |version| version.gate.holds(GateContext { flux, api: "" }))
    }
}

impl Notation {
    /// Returns the CRD object of a kind as of a Flux version.
    pub(super) fn crd(&self, crd: &Crd, flux: &Version) -> Result<Value, NotationError> {
        let place = GateContext { flux, api: "" };
        let mut annotations = Map::new();
        for (key, value) in self.annotations.iter().filter(|(key, _)| key.gate.holds(place)) {
            annotations.insert(key.value.into(), json!(value));
        }
        let mut labels = Map::new();
        labels.insert("app.kubernetes.io/component".into(), json!(crd.component));
        if !crd.without_part_of.as_ref().is_some_and(|gate| gate.holds(place)) {
            labels.insert("app.kubernetes.io/part-of".into(), json!("flux"));
        }
        let categories = gated(&crd.categories, place);
        let short_names = gated(&crd.short_names, place);
        let mut names = Map::new();
        if !categories.is_empty() {
            // A kind with its own category is also in the two general ones.
            let all: Vec<&str> = ["all", "fluxcd"].into_iter().chain(categories).collect();
            names.insert("categories".into(), json!(all));
        }
        names.insert("kind".into(), json!(crd.kind));
        names.insert("listKind".into(), json!(format!("{}List", crd.kind)));
        names.insert("plural".into(), json!(crd.plural));
        if !short_names.is_empty() {
            names.insert("shortNames".into(), json!(short_names));
        }
        names.insert("singular".into(), json!(crd.kind.to_lowercase()));
        let versions: Vec<Value> =
            crd.served(flux).map(|version| self.version(crd, version, flux)).collect::<Result<_, _>>()?;
        // Insert the parts: `json!` would copy the large ones.
        let metadata = object([
            ("annotations", annotations.into()),
            ("labels", labels.into()),
            ("name", format!("{}.{}", crd.plural, crd.group).into()),
        ]);
        let spec = object([
            ("group", crd.group.into()),
            ("names", names.into()),
            ("scope", "Namespaced".into()),
            ("versions", versions.into()),
        ]);
        Ok(object([
            ("apiVersion", "apiextensions.k8s.io/v1".into()),
            ("kind", "CustomResourceDefinition".into()),
            ("metadata", metadata),
            ("spec", spec),
        ]))
    }

    fn version(&self, crd: &Crd, version: &ApiVersion, flux: &Version) -> Result<Value, NotationError> {
        let place = GateContext { flux, api: "" };
        let on = |gate: &Option<Gate<'_>>| gate.as_ref().is_some_and(|gate| gate.holds(place));
        let columns: Vec<Value> = gated(&version.columns, place)
            .iter()
            .flat_map(|name| self.columns(name))
            .map(PrinterColumn::to_value)
            .collect();
        let mut fields = Map::new();
        if !columns.is_empty() {
            fields.insert("additionalPrinterColumns".into(), columns.into());
        }
        if on(&version.deprecated) {
            fields.insert("deprecated".into(), json!(true));
            let storage = crd.served(flux).find(|other| on(&other.storage)).map_or("", |other| other.name);
            let warning = format!("{} {} is outdated: move to {}/{storage}", crd.kind, version.name, crd.group);
            fields.insert("deprecationWarning".into(), json!(warning));
        }
        fields.insert("name".into(), json!(version.name));
        fields.insert("schema".into(), object([("openAPIV3Schema", self.root(crd, version, flux)?)]));
        fields.insert("served".into(), json!(true));
        fields.insert("storage".into(), json!(on(&version.storage)));
        let subresources = if on(&version.without_status) { json!({}) } else { json!({ "status": {} }) };
        fields.insert("subresources".into(), subresources);
        Ok(fields.into())
    }

    fn root(&self, crd: &Crd, version: &ApiVersion, flux: &Version) -> Result<Value, NotationError> {
        let mut properties = Map::new();
        properties.insert(
            "apiVersion".into(),
            json!({ "description": "The API group and version this object is written in.", "type": "string" }),
        );
        properties.insert(
            "kind".into(),
            json!({ "description": "The kind of this object, in CamelCase as Kubernetes spells it.", "type": "string" }),
        );
        properties.insert("metadata".into(), json!({ "type": "object" }));
        let place = GateContext { flux, api: version.name };
        let required = self.properties(&crd.fields, place, &mut properties)?;
        let mut root = Map::new();
        if let Some(description) = crd.description {
            root.insert("description".into(), json!(description));
        }
        root.insert("properties".into(), properties.into());
        if !required.is_empty() {
            root.insert("required".into(), json!(required));
        }
        root.insert("type".into(), json!("object"));
        Ok(root.into())
    }

    /// Adds the fields that hold at `place` and returns the names of the required ones, sorted.
    fn properties(
        &self,
        fields: &[Field],
        place: GateContext<'_>,
        properties: &mut Map<String, Value>,
    ) -> Result<Vec<&'static str>, NotationError> {
        let mut required = Vec::new();
        for field in fields.iter().filter(|field| field.gate.holds(place)) {
            let schema = self.schema(field, place)?;
            if properties.insert(field.name.to_owned(), schema).is_some() {
                let at = format!("in {} of Flux {}", place.api, place.flux);
                return Err(field.position.error(format!("the field `{}` is given twice {at}", field.name)));
            }
            if field.required.as_ref().is_some_and(|gate| gate.holds(place)) {
                required.push(field.name);
            }
        }
        required.sort_unstable();
        Ok(required)
    }

    fn schema(&self, field: &Field, place: GateContext<'_>) -> Result<Value, NotationError> {
        self.keywords(field, place).map(Keywords::into_value)
    }

    fn keywords(&self, field: &Field, place: GateContext<'_>) -> Result<Keywords, NotationError> {
        let mut schema = self.base(field, place)?;
        let attributes = || {
            field.attributes.iter().filter(|attribute| attribute.gate.holds(place)).map(|attribute| &attribute.value)
        };
        let wrapped = !field.wraps.is_empty();
        for attribute in attributes().filter(|attribute| !(wrapped && attribute.applies_to_container())) {
            schema.set(attribute.keyword(), attribute.value());
        }
        // From the inside out: `[]{}string` is a list of maps.
        for wrap in field.wraps.iter().rev() {
            let inner = schema.into_value();
            schema = Keywords::default();
            match wrap {
                Wrap::List => {
                    schema.set("items", inner);
                    schema.set("type", "array".into());
                }
                Wrap::Map => {
                    schema.set("additionalProperties", inner);
                    schema.set("type", "object".into());
                }
            }
        }
        for attribute in attributes().filter(|attribute| wrapped && attribute.applies_to_container()) {
            schema.set(attribute.keyword(), attribute.value());
        }
        if let Some(description) = field.description {
            schema.set("description", description.into());
        }
        Ok(schema)
    }

    /// Returns the innermost schema: of a list, the schema of its items.
    fn base(&self, field: &Field, place: GateContext<'_>) -> Result<Keywords, NotationError> {
        let mut schema = match field.base {
            Base::Named(name) => {
                let body = self.named(name).ok_or_else(|| field.position.error(format!("no `type {name}`")))?;
                self.keywords(body, place)?
            }
            _ => Keywords::default(),
        };
        match field.base {
            Base::Named(_) => {}
            Base::Any => schema.set("x-kubernetes-preserve-unknown-fields", true.into()),
            Base::Object => {
                let mut properties = Map::with_capacity(field.fields.len());
                let required = self.properties(&field.fields, place, &mut properties)?;
                if !properties.is_empty() {
                    schema.set("properties", properties.into());
                }
                if !required.is_empty() {
                    schema.set("required", json!(required));
                }
                schema.set("type", "object".into());
            }
            Base::String => schema.set("type", "string".into()),
            Base::Time => {
                schema.set("format", "date-time".into());
                schema.set("type", "string".into());
            }
            Base::Bool => schema.set("type", "boolean".into()),
            Base::Int => schema.set("type", "integer".into()),
            Base::Int64 => {
                schema.set("format", "int64".into());
                schema.set("type", "integer".into());
            }
        }
        let values = gated(&field.values, place);
        if !values.is_empty() {
            schema.set("enum", json!(values));
        }
        let rules: Vec<Value> = field
            .rules
            .iter()
            .filter(|rule| rule.gate.holds(place))
            .map(|rule| json!({ "message": rule.message, "rule": rule.expression }))
            .collect();
        if !rules.is_empty() {
            schema.set("x-kubernetes-validations", rules.into());
        }
        Ok(schema)
    }
}

impl Attribute {
    /// Whether the keyword describes a list or map itself instead of its items.
    fn applies_to_container(&self) -> bool {
        matches!(
            self,
            Attribute::Default(_)
                | Attribute::Number("minItems" | "maxItems", _)
                | Attribute::ListType(_)
                | Attribute::ListKeys(_)
        )
    }

    fn keyword(&self) -> &'static str {
        match self {
            Attribute::Default(_) => "default",
            Attribute::Pattern(_) => "pattern",
            Attribute::Number(keyword, _) => keyword,
            Attribute::ListType(_) => "x-kubernetes-list-type",
            Attribute::ListKeys(_) => "x-kubernetes-list-map-keys",
            Attribute::MapType(_) => "x-kubernetes-map-type",
        }
    }

    fn value(&self) -> Value {
        match self {
            Attribute::Default(value) => value.clone(),
            Attribute::Pattern(text) | Attribute::ListType(text) | Attribute::MapType(text) => json!(text),
            Attribute::Number(_, number) => json!(number),
            Attribute::ListKeys(keys) => json!(keys),
        }
    }
}

/// A schema under construction. Searching a handful of pairs is faster than a hash map, and there are thousands of
/// schemas.
#[derive(Default)]
struct Keywords(Vec<(&'static str, Value)>);

impl Keywords {
    fn set(&mut self, keyword: &'static str, value: Value) {
        match self.0.iter_mut().find(|(other, _)| *other == keyword) {
            Some((_, old)) => *old = value,
            None => self.0.push((keyword, value)),
        }
    }

    /// Returns the object with its keys in controller-gen's order, so that exported files read as expected.
    fn into_value(mut self) -> Value {
        self.0.sort_unstable_by_key(|(keyword, _)| *keyword);
        let mut map = Map::with_capacity(self.0.len());
        map.extend(self.0.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)));
        map.into()
    }
}

impl PrinterColumn {
    fn to_value(&self) -> Value {
        let mut column = Map::new();
        column.insert("jsonPath".into(), json!(self.path));
        column.insert("name".into(), json!(self.name));
        if self.wide {
            column.insert("priority".into(), json!(1));
        }
        column.insert("type".into(), json!(self.kind));
        column.into()
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn gated<T: Copy>(values: &[GatedValue<T>], place: GateContext<'_>) -> Vec<T> {
    values.iter().filter(|value| value.gate.holds(place)).map(|value| value.value).collect()
}
