//! Path of a value in an object, in readable form and as a JSON pointer.

use std::fmt;

/// A path of fields and list positions from the root of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(Vec<PathStep>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathStep {
    Field(String),
    Item(usize),
}

impl FieldPath {
    /// Parses a dotted text such as `spec.sync.url`; names must not contain dots.
    pub fn of(dotted: &str) -> Self {
        FieldPath::default().below(dotted)
    }

    /// Appends a dotted text to this path.
    #[must_use]
    pub fn below(&self, dotted: &str) -> Self {
        let names = dotted.split('.').filter(|name| !name.is_empty());
        names.fold(self.clone(), |path, name| path.field(name))
    }

    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        self.with(PathStep::Field(name.into()))
    }

    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        self.with(PathStep::Item(index))
    }

    /// Returns the RFC 6901 JSON pointer of the path.
    pub fn pointer(&self) -> String {
        self.0.iter().fold(String::new(), |pointer, step| match step {
            PathStep::Field(name) => format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")),
            PathStep::Item(index) => format!("{pointer}/{index}"),
        })
    }

    fn with(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        FieldPath(steps)
    }
}

impl fmt::Display for FieldPath {
    /// Formats `spec.components[2]`, and `metadata.labels[app.kubernetes.io/name]` for names that are not plain words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Item(index) => write!(f, "[{index}]")?,
                PathStep::Field(name) if name.contains(['.', '/']) => write!(f, "[{name}]")?,
                PathStep::Field(name) if position == 0 => f.write_str(name)?,
                PathStep::Field(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_people_write_them_and_point_as_json_pointers_do() {
        let path = FieldPath::of("spec.kustomize.patches").item(2).field("a.b/c~d");
        assert_eq!(path.to_string(), "spec.kustomize.patches[2][a.b/c~d]");
        assert_eq!(path.pointer(), "/spec/kustomize/patches/2/a.b~1c~0d");
    }
}
