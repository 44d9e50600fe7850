//! Distinguishes differences in documentation, which the API server ignores, from other differences between two
//! definitions.

/// Whether a path leads to documentation. The path is written as in a difference
/// (`spec.versions[name=v1].schema.openAPIV3Schema.properties.spec.description`, with or without a leading dot).
///
/// Documentation is descriptions and examples of a schema, descriptions of printer columns, and messages of validation
/// rules. A property called `description` is not documentation.
pub fn is_documentation(path: &str) -> bool {
    let inside = |part: &str| path.contains(part);
    let Some((parent, field)) = path.rsplit_once('.') else { return false };
    let parent = parent.rsplit('.').next().unwrap_or_default();
    let names_fields = matches!(parent, "properties" | "patternProperties" | "definitions");
    match field {
        "description" => {
            !names_fields && (inside(".schema.openAPIV3Schema") || parent.starts_with("additionalPrinterColumns["))
        }
        "example" | "title" => !names_fields && inside(".schema.openAPIV3Schema"),
        "message" => parent.starts_with("x-kubernetes-validations["),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_is_distinguished_from_meaning() {
        let schema = "spec.versions[name=v1].schema.openAPIV3Schema";
        let cases = [
            ("description", true),
            ("properties.spec.description", true),
            ("properties.spec.x-kubernetes-validations[0].message", true),
            ("properties.spec.x-kubernetes-validations[0].rule", false),
            ("properties.description", false),
            ("properties.description.type", false),
            ("properties.description.description", true),
            ("properties.spec.default", false),
        ];
        for (rest, expected) in cases {
            assert_eq!(is_documentation(&format!("{schema}.{rest}")), expected, "{rest}");
            assert_eq!(is_documentation(&format!(".{schema}.{rest}")), expected, "{rest}");
        }
        assert!(is_documentation("spec.versions[name=v1].additionalPrinterColumns[name=Age].description"));
        assert!(!is_documentation("metadata.annotations.description"));
        assert!(!is_documentation("spec.description"));
        assert!(!is_documentation("data"));
    }
}
