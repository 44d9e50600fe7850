//! `$XDG_CONFIG_HOME/flux-operator/config.yaml`: the user's default flags.
//!
//! Precedence: flag, then environment, then this file, then default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::Resettable;
use flux_operator::format::glob;
use flux_operator::format::yaml;
use schemars::JsonSchema;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

use crate::terminal::output_format::Format;
use crate::terminal::{CliError, Color, environment};

/// Limit for the file; ten lines are usual.
const MAX_BYTES: u64 = 64 * 1024;

/// Defaults of flags, and the clusters to be careful with.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Namespace to work in where neither `--namespace` nor a manifest says one.
    pub namespace: Option<String>,
    /// Default of `--output`, as on the command line.
    pub output: Option<FormatText>,
    /// Default of `--color`.
    pub color: Option<Color>,
    /// Do the operator's work in this process where the cluster has no operator, as `--in-process` does.
    pub in_process: bool,
    /// Contexts, `*` and `?` allowed, in which deleting and uninstalling require the context's name, typed or with
    /// `--confirm-context`.
    #[schemars(with = "Vec<String>")]
    pub protected_contexts: Vec<Glob>,
    /// Names for several contexts, for `--contexts`: patterns as above, those with `!` before them exclude.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub context_groups: BTreeMap<String, Vec<Glob>>,
    /// Your own words for a command line: `ksf: get ks --ready-status False`. A command takes precedence over an alias
    /// of the same name.
    #[schemars(with = "BTreeMap<String, String>")]
    pub aliases: BTreeMap<String, Alias>,
}

/// The command line that an alias stands for, without the name of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Alias(String);

impl FromStr for Alias {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match shlex::split(text) {
            Some(words) if words.first().is_some_and(|word| !word.starts_with('-')) => Ok(Alias(text.to_owned())),
            Some(_) => Err(format!("the alias `{text}` does not begin with a command")),
            None => Err(format!("the alias `{text}` has a quote that does not end")),
        }
    }
}

impl<'de> Deserialize<'de> for Alias {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text("a command line", str::parse::<Alias>))
    }
}

/// A value of `-o`.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(transparent)]
pub struct FormatText(String);

impl<'de> Deserialize<'de> for FormatText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = |text: &str| text.parse::<Format>().map(|_| FormatText(text.to_owned())).map_err(|e| e.to_string());
        deserializer.deserialize_str(Text("an output format", parse))
    }
}

/// A pattern of names: `*` matches any text, `?` any character.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Glob(String);

impl Glob {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether the pattern matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        glob::matches(&self.0, text)
    }
}

impl FromStr for Glob {
    type Err = String;

    /// Other glob syntax is refused, because its characters would be taken literally, and the pattern would protect
    /// nothing.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.chars().find(|c| "[]{}".contains(*c)) {
            None => Ok(Glob(text.to_owned())),
            Some(foreign) => Err(format!(
                "the pattern {text} holds a {foreign}: only * (any text) and ? (any character) stand for something; write a \
                 pattern for each name"
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text("a pattern of contexts", str::parse::<Glob>))
    }
}

/// A visitor with the expected form and the parser of a text, so that an invalid text is refused while its position is
/// known.
struct Text<F>(&'static str, F);

impl<T, F: Fn(&str) -> Result<T, String>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).map_err(E::custom)
    }
}

impl Config {
    /// Reads the user's file; a missing file counts as empty. `FLUX_OPERATOR_PROTECTED_CONTEXTS` replaces the list of
    /// protected contexts.
    ///
    /// # Errors
    /// Usage, with the line, if the file is invalid, the variable contains an invalid pattern, or a variable of this
    /// program is not text.
    pub fn read() -> Result<Config, CliError> {
        if let Some(variable) = environment::variable_without_text() {
            return Err(without_text(&variable));
        }
        let mut config = Config::path().map_or_else(|| Ok(Config::default()), |path| Config::from_file(&path))?;
        // An empty variable counts as unset, so it cannot switch the protection of the file off.
        if let Some(list) = environment::text(environment::PROTECTED_CONTEXTS) {
            let patterns = list.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
            let patterns: Result<_, String> = patterns.map(str::parse).collect();
            config.protected_contexts = patterns.map_err(|cause| {
                CliError::usage(format!("cannot read the variable {}", environment::PROTECTED_CONTEXTS)).cause(cause)
            })?;
        }
        Ok(config)
    }

    fn from_file(path: &Path) -> Result<Config, CliError> {
        let what = || format!("cannot read the configuration file {}", path.display());
        let mut text = String::new();
        match File::open(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Config::default());
            }
            Err(error) => return Err(CliError::usage(what()).caused_by(&error)),
            Ok(file) => file.take(MAX_BYTES + 1).read_to_string(&mut text),
        }
        .map_err(|error| CliError::usage(what()).caused_by(&error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(CliError::usage(what()).cause(format!("it is larger than {MAX_BYTES} bytes")));
        }
        Config::parse(&text).map_err(|cause| {
            CliError::usage(what())
                .cause(cause)
                .hint("it may hold namespace, output, color, inProcess, protectedContexts, contextGroups and aliases; `flux-operator help configuration` describes them")
        })
    }

    /// Parses the text of a file; the error contains the line.
    fn parse(text: &str) -> Result<Config, String> {
        // A file that is empty or has only comments is null.
        serde_yaml::from_str::<Option<Config>>(text).map(Option::unwrap_or_default).map_err(|error| {
            let reported = error.to_string();
            // For a duplicate key this library has no position, but the parser of manifests reports the position of the
            // second key.
            let twice = || yaml::parse_documents(text).err()?.location().map(|place| place.line);
            let line = match reported.contains("duplicate field") {
                true => twice(),
                false => error.location().map(|place| place.line() as u64),
            };
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            // The library appends the position to its text, and calls an invalid value a variant, which is Rust's word.
            let reported = reported.split(" at line ").next().unwrap_or_default();
            format!("{line}{}", reported.replace("unknown variant ", "invalid value "))
        })
    }

    /// Returns the path of the user's file, which may not exist.
    pub fn path() -> Option<PathBuf> {
        Some(environment::configuration_folder()?.join("config.yaml"))
    }

    /// Returns the pattern that protects a context, if any.
    pub fn protects(&self, context: &str) -> Option<&str> {
        self.protected_contexts.iter().map(|pattern| pattern.0.as_str()).find(|pattern| glob::matches(pattern, context))
    }

    /// Replaces an alias in place of the command by its words. `positional` finds the first word that is not a flag.
    pub fn with_alias(
        &self,
        arguments: &[OsString],
        tree: &clap::Command,
        positional: fn(&[OsString], usize, &[&clap::Command]) -> Option<usize>,
    ) -> Vec<OsString> {
        let place = if self.aliases.is_empty() { None } else { positional(arguments, 1, &[tree]) };
        let alias = place.and_then(|at| self.aliases.get(arguments.get(at)?.to_str()?).map(|alias| (at, alias)));
        let is_command = |at: usize| {
            arguments.get(at).and_then(|word| word.to_str()).is_some_and(|word| tree.find_subcommand(word).is_some())
        };
        match alias.filter(|(at, _)| !is_command(*at)) {
            Some((at, alias)) => {
                let words = shlex::split(&alias.0).unwrap_or_default().into_iter().map(OsString::from);
                let (before, after) = arguments.split_at(at);
                before.iter().cloned().chain(words).chain(after.iter().skip(1).cloned()).collect()
            }
            None => arguments.to_vec(),
        }
    }

    /// Returns the default of `--output`: from the environment, or else from this file.
    pub fn usual_output(&self) -> Option<String> {
        environment::text(environment::OUTPUT).or_else(|| self.output.as_ref().map(|output| output.0.clone()))
    }

    /// Applies the defaults to every command that has the flag and supports the value.
    pub fn with_defaults(&self, command: clap::Command) -> clap::Command {
        let command = match self.color {
            Some(color) => command.mut_arg("color", |flag| flag.default_value(color.as_str())),
            None => command,
        };
        let variable = environment::text(environment::OUTPUT);
        match (variable.as_deref(), self.output.as_ref().map(|output| output.0.as_str())) {
            (None, None) => command,
            (variable, file) => with_output(command, variable, file),
        }
    }
}

/// Returns the error for a variable that is not text.
pub fn without_text(variable: &str) -> CliError {
    CliError::usage(format!("the variable {variable} is not text in UTF-8"))
}

/// Commands whose output has no named objects.
const NAMELESS: [&str; 5] = ["check", "debug", "migrate", "report", "stats"];

/// Whether a command supports a format.
fn takes(command: &clap::Command, format: &str) -> bool {
    let is_list = || command.get_arguments().any(|flag| flag.get_id() == "sort_by");
    match format.parse() {
        Ok(Format::Name) => !NAMELESS.contains(&command.get_name()),
        Ok(Format::CustomColumns(_)) => is_list(),
        _ => true,
    }
}

/// Sets the default of `--output` only where the flag also reads the variable. Other `--output` flags have different
/// formats.
fn with_output(command: clap::Command, variable: Option<&str>, file: Option<&str>) -> clap::Command {
    let is_ours = |flag: &clap::Arg| {
        flag.get_id() == "output" && flag.get_env().is_some_and(|variable| variable == environment::OUTPUT)
    };
    let command = if command.get_arguments().any(is_ours) {
        let is_left_out = variable.is_some_and(|format| !takes(&command, format));
        let usual = file.filter(|format| takes(&command, format)).map(str::to_owned);
        command.mut_arg("output", |flag| {
            let flag = if is_left_out { flag.env(Resettable::Reset) } else { flag };
            match usual {
                Some(usual) => flag.default_value(usual),
                None => flag,
            }
        })
    } else {
        command
    };
    command.mut_subcommands(|below| with_output(below, variable, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_hold_all_some_or_nothing() {
        for empty in ["", "# nothing yet\n", "---\n", "{}"] {
            assert_eq!(Config::parse(empty), Ok(Config::default()), "{empty:?}");
        }
        let all = "namespace: flux\noutput: wide\ncolor: never\nprotectedContexts: [prod-*, live]\n\
                   contextGroups: {live: ['prod-*', '!prod-legacy']}\n";
        let config = Config::parse(all).unwrap();
        assert_eq!((config.namespace.as_deref(), config.output), (Some("flux"), Some(FormatText("wide".into()))));
        assert_eq!((config.color, config.protected_contexts.len()), (Some(Color::Never), 2));
        let live: Vec<&str> = config.context_groups["live"].iter().map(Glob::as_str).collect();
        assert_eq!(live, ["prod-*", "!prod-legacy"]);
    }

    #[test]
    fn content_that_is_not_allowed_is_reported_with_its_line() {
        for (text, line, word) in [
            ("namespace: a\n\ncolour: never\n", 3, "colour"),
            ("namespace: a\noutput: tabel\n", 2, "table"),
            ("color: sometimes\n", 1, "sometimes"),
            ("protectedContexts: prod\n", 1, "sequence"),
            ("a: b: c\n", 1, ""),
            ("namespace: a\n# again\nnamespace: b\n", 3, "duplicate field `namespace`"),
            ("protectedContexts: [a]\n\n'protectedContexts': [b]\n", 3, "duplicate field `protectedContexts`"),
            ("{output: wide,\n output: json}\n", 2, "duplicate field `output`"),
            ("protectedContexts:\n- live\n- prod-[ab\n", 3, "the pattern prod-[ab holds a [: only * "),
            ("protectedContexts: [\"prod-[ab]\"]\n", 1, "the pattern prod-[ab] holds a ["),
            ("protectedContexts:\n- 'eu-{a,b}'\n", 2, "write a pattern for each name"),
            ("contextGroups:\n  live:\n  - 'prod-[ab]'\n", 3, "the pattern prod-[ab] holds a ["),
        ] {
            let error = Config::parse(text).unwrap_err();
            assert!(error.starts_with(&format!("line {line}: ")) && error.contains(word), "{text:?}: {error}");
            assert_eq!(error.matches("line").count(), 1, "{error}");
        }
    }

    #[test]
    fn a_pattern_protects_contexts_whose_whole_name_matches() {
        let config =
            Config { protected_contexts: vec![Glob("prod-*".into()), Glob("eu?".into())], ..Config::default() };
        for (context, protected) in [
            ("prod-eu", Some("prod-*")),
            ("prod-", Some("prod-*")),
            ("my-prod-eu", None),
            ("eu1", Some("eu?")),
            ("eu", None),
            ("eu12", None),
        ] {
            assert_eq!(config.protects(context), protected, "{context}");
        }
        assert!(glob::matches("*a*b", "xxaxxb") && !glob::matches("*a*b", "xxbxxa"));
    }
}
