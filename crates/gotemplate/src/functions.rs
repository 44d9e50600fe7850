//! The functions that templates can call: one table of name, parameters and implementation.
//!
//! The executor checks arity and types before a function runs, so an implementation can rely on its row.
//!
//! Functions are those of Go's `text/template` and of slim-sprig 3, except those that depend on the machine, and
//! `slugify`, `toYaml` and `mustToYaml` of ResourceSets.

mod builtin;
mod dates;
mod dictionaries;
mod encoding;
mod lists;
mod logic;
mod numbers;
mod paths;
mod patterns;
mod strings;
mod types;

use crate::limits::{Budget, FunctionError};
use crate::print;
use crate::regexp::Patterns;
use crate::text::Text;
use crate::value::{ElementType, Map, Value};

/// State that is available to functions.
pub(crate) struct Context<'a> {
    pub(crate) budget: Budget<'a>,
    pub(crate) data: Value,
    pub(crate) now: Option<i64>,
    pub(crate) random: Option<&'a dyn Fn(u64) -> u64>,
    pub(crate) patterns: &'a Patterns,
}

/// Types of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// `interface {}`
    Any,
    /// A value with its static type, for functions of `text/template` itself.
    Reflect,
    /// `string`
    String,
    /// `int`, which differs from `int64`.
    Int,
    /// `bool`
    Bool,
    /// `float64`
    Float,
    /// `map[string]interface {}`
    Dict,
    /// `time.Time`
    Time,
}

impl Parameter {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Parameter::Any => "interface {}",
            Parameter::Reflect => "reflect.Value",
            Parameter::String => "string",
            Parameter::Int => "int",
            Parameter::Bool => "bool",
            Parameter::Float => "float64",
            Parameter::Dict => "map[string]interface {}",
            Parameter::Time => "time.Time",
        }
    }

    /// Returns the zero value that replaces nil, for types that have one.
    pub(crate) fn zero(self) -> Option<Value> {
        match self {
            Parameter::Any | Parameter::Reflect => Some(Value::Nil),
            Parameter::Dict => Some(Value::Map(Map::nil())),
            _ => None,
        }
    }

    /// Whether a value has the type.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        match (self, value) {
            (Parameter::Any | Parameter::Reflect, _)
            | (Parameter::String, Value::String(_))
            // Integers of the input are `int64`, which Go refuses here: `until inputs.count` needs `int`.
            | (Parameter::Int, Value::Int(_))
            | (Parameter::Bool, Value::Bool(_))
            | (Parameter::Float, Value::Float(_))
            | (Parameter::Time, Value::Time(_)) => true,
            // For Go, the `map[string]string` of `split` is not a dictionary.
            (Parameter::Dict, Value::Map(map)) => map.element() == ElementType::Any,
            _ => false,
        }
    }
}

/// Functions that the executor treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecialFunction {
    /// An ordinary function.
    No,
    /// Stops at the first argument that is false.
    And,
    /// Stops at the first argument that is true.
    Or,
    /// Calls a function value. The values of this engine are never functions.
    Call,
    /// Returns `interface {}` although it can be called without arguments.
    Interface,
}

/// An implementation.
pub(crate) type Implementation = fn(&mut Call<'_>) -> Result<Value, FunctionError>;

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// Type of any further arguments.
    pub(crate) rest: Option<Parameter>,
    pub(crate) special: SpecialFunction,
    pub(crate) run: Implementation,
}

/// Arguments of a call.
pub(crate) struct Call<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<Value>,
    /// A nil argument has the type `interface {}`, so that Go sees a nil pointer instead of nothing.
    pub(crate) nil_is_interface: bool,
}

const NIL: &Value = &Value::Nil;

impl<'c> Call<'c> {
    pub(crate) fn budget(&self) -> &'c Budget<'c> {
        &self.context.budget
    }

    pub(crate) fn value(&self, index: usize) -> &Value {
        self.arguments.get(index).unwrap_or(NIL)
    }

    /// Takes an argument out of the call.
    pub(crate) fn take(&mut self, index: usize) -> Value {
        self.arguments.get_mut(index).map(std::mem::take).unwrap_or_default()
    }

    /// Returns the arguments from an index on.
    pub(crate) fn rest(&self, index: usize) -> &[Value] {
        self.arguments.get(index..).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        self.value(index).as_bytes().unwrap_or_default()
    }

    pub(crate) fn text(&self, index: usize) -> Text {
        match self.value(index) {
            Value::String(text) => text.clone(),
            _ => Text::from(&b""[..]),
        }
    }

    pub(crate) fn int(&self, index: usize) -> i64 {
        match self.value(index) {
            Value::Int(number) => *number,
            _ => 0,
        }
    }

    pub(crate) fn dict(&self, index: usize) -> Map {
        match self.value(index) {
            Value::Map(map) => map.clone(),
            _ => Map::nil(),
        }
    }

    /// Counts a new string and returns it.
    pub(crate) fn created(&self, bytes: Vec<u8>) -> Result<Value, FunctionError> {
        self.budget().create(bytes.len())?;
        Ok(Value::from(bytes))
    }

    /// Returns a value as text, as Sprig's `strval` does.
    pub(crate) fn text_of(&self, value: &Value) -> Result<Text, FunctionError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            other => print::value_bytes(self.budget(), other).map(Text::from),
        }
    }
}

/// Go's message for nil in place of a typed value.
pub(crate) const NIL_DEREFERENCE: &str = "runtime error: invalid memory address or nil pointer dereference";

/// The function that returns the data, under the name from the syntax.
pub(crate) static DATA: Function = Function {
    name: "inputs",
    parameters: &[],
    rest: None,
    special: SpecialFunction::No,
    run: |call| Ok(call.context.data.clone()),
};

/// Finds a function by name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLE.iter().find(|function| function.name == name)
}

const fn fixed(name: &'static str, parameters: &'static [Parameter], run: Implementation) -> Function {
    Function { name, parameters, rest: None, special: SpecialFunction::No, run }
}

const fn open(name: &'static str, parameters: &'static [Parameter], rest: Parameter, run: Implementation) -> Function {
    Function { name, parameters, rest: Some(rest), special: SpecialFunction::No, run }
}

const fn special(
    name: &'static str,
    parameters: &'static [Parameter],
    rest: Parameter,
    special: SpecialFunction,
    run: Implementation,
) -> Function {
    Function { name, parameters, rest: Some(rest), special, run }
}

use Parameter::{Any, Bool, Dict, Float, Int, Reflect, String, Time};

/// Every function except the one that returns the data.
static TABLE: &[Function] = &[
    // text/template
    special("and", &[Reflect], Reflect, SpecialFunction::And, builtin::by_executor),
    special("call", &[Reflect], Reflect, SpecialFunction::Call, builtin::by_executor),
    special("or", &[Reflect], Reflect, SpecialFunction::Or, builtin::by_executor),
    open("eq", &[Reflect], Reflect, builtin::eq),
    fixed("ge", &[Reflect, Reflect], builtin::ge),
    fixed("gt", &[Reflect, Reflect], builtin::gt),
    open("html", &[], Any, builtin::html),
    open("index", &[Reflect], Reflect, builtin::index),
    open("js", &[], Any, builtin::js),
    fixed("le", &[Reflect, Reflect], builtin::le),
    fixed("len", &[Reflect], builtin::len),
    fixed("lt", &[Reflect, Reflect], builtin::lt),
    fixed("ne", &[Reflect, Reflect], builtin::ne),
    fixed("not", &[Reflect], builtin::not),
    open("print", &[], Any, builtin::print),
    open("printf", &[String], Any, builtin::printf),
    open("println", &[], Any, builtin::println),
    open("urlquery", &[], Any, builtin::urlquery),
    // ResourceSet
    fixed("slugify", &[String], strings::slugify),
    fixed("toYaml", &[Any], encoding::to_yaml),
    fixed("mustToYaml", &[Any], encoding::to_yaml),
    // defaults and conditions
    open("all", &[], Any, logic::all),
    open("any", &[], Any, logic::any),
    special("coalesce", &[], Any, SpecialFunction::Interface, logic::coalesce),
    open("default", &[Any], Any, logic::default),
    fixed("empty", &[Any], logic::empty),
    fixed("fail", &[String], logic::fail),
    fixed("ternary", &[Any, Any, Bool], logic::ternary),
    // strings
    open("cat", &[], Any, strings::cat),
    fixed("contains", &[String, String], strings::contains),
    fixed("hasPrefix", &[String, String], strings::has_prefix),
    fixed("hasSuffix", &[String, String], strings::has_suffix),
    fixed("hello", &[], strings::hello),
    fixed("indent", &[Int, String], strings::indent),
    fixed("join", &[String, Any], strings::join),
    fixed("lower", &[String], strings::lower),
    fixed("nindent", &[Int, String], strings::nindent),
    fixed("plural", &[String, String, Int], strings::plural),
    open("quote", &[], Any, strings::quote),
    fixed("repeat", &[Int, String], strings::repeat),
    fixed("replace", &[String, String, String], strings::replace),
    fixed("sortAlpha", &[Any], strings::sort_alpha),
    fixed("split", &[String, String], strings::split),
    fixed("splitList", &[String, String], strings::split_list),
    fixed("splitn", &[String, Int, String], strings::splitn),
    open("squote", &[], Any, strings::squote),
    fixed("substr", &[Int, Int, String], strings::substr),
    fixed("title", &[String], strings::title),
    fixed("toString", &[Any], strings::to_string),
    fixed("toStrings", &[Any], strings::to_strings),
    fixed("trim", &[String], strings::trim),
    fixed("trimAll", &[String, String], strings::trim_all),
    fixed("trimPrefix", &[String, String], strings::trim_prefix),
    fixed("trimSuffix", &[String, String], strings::trim_suffix),
    fixed("trimall", &[String, String], strings::trim_all),
    fixed("trunc", &[Int, String], strings::trunc),
    fixed("upper", &[String], strings::upper),
    // numbers
    open("add", &[], Any, numbers::add),
    fixed("add1", &[Any], numbers::add1),
    fixed("atoi", &[String], numbers::atoi),
    open("biggest", &[Any], Any, numbers::max),
    fixed("ceil", &[Any], numbers::ceil),
    fixed("div", &[Any, Any], numbers::div),
    fixed("float64", &[Any], numbers::float64),
    fixed("floor", &[Any], numbers::floor),
    fixed("int", &[Any], numbers::int),
    fixed("int64", &[Any], numbers::int64),
    open("max", &[Any], Any, numbers::max),
    open("maxf", &[Any], Any, numbers::maxf),
    open("min", &[Any], Any, numbers::min),
    open("minf", &[Any], Any, numbers::minf),
    fixed("mod", &[Any, Any], numbers::remainder),
    open("mul", &[Any], Any, numbers::mul),
    fixed("randInt", &[Int, Int], numbers::rand_int),
    open("round", &[Any, Int], Float, numbers::round),
    open("seq", &[], Int, numbers::seq),
    fixed("sub", &[Any, Any], numbers::sub),
    fixed("toDecimal", &[Any], numbers::to_decimal),
    fixed("until", &[Int], numbers::until),
    fixed("untilStep", &[Int, Int, Int], numbers::until_step),
    // lists
    fixed("append", &[Any, Any], lists::append),
    fixed("chunk", &[Int, Any], lists::chunk),
    fixed("compact", &[Any], lists::compact),
    special("concat", &[], Any, SpecialFunction::Interface, lists::concat),
    fixed("first", &[Any], lists::first),
    fixed("has", &[Any, Any], lists::has),
    fixed("initial", &[Any], lists::initial),
    fixed("last", &[Any], lists::last),
    open("list", &[], Any, lists::list),
    fixed("mustAppend", &[Any, Any], lists::append),
    fixed("mustChunk", &[Int, Any], lists::chunk),
    fixed("mustCompact", &[Any], lists::compact),
    fixed("mustFirst", &[Any], lists::first),
    fixed("mustHas", &[Any, Any], lists::has),
    fixed("mustInitial", &[Any], lists::initial),
    fixed("mustLast", &[Any], lists::last),
    fixed("mustPrepend", &[Any, Any], lists::prepend),
    fixed("mustPush", &[Any, Any], lists::append),
    fixed("mustRest", &[Any], lists::rest),
    fixed("mustReverse", &[Any], lists::reverse),
    open("mustSlice", &[Any], Any, lists::slice),
    fixed("mustUniq", &[Any], lists::uniq),
    open("mustWithout", &[Any], Any, lists::without),
    fixed("prepend", &[Any, Any], lists::prepend),
    fixed("push", &[Any, Any], lists::append),
    fixed("rest", &[Any], lists::rest),
    fixed("reverse", &[Any], lists::reverse),
    // Sprig's `slice` replaces the function of `text/template` with this name.
    open("slice", &[Any], Any, lists::slice),
    open("tuple", &[], Any, lists::list),
    fixed("uniq", &[Any], lists::uniq),
    open("without", &[Any], Any, lists::without),
    // dictionaries
    open("dict", &[], Any, dictionaries::dict),
    open("dig", &[], Any, dictionaries::dig),
    fixed("get", &[Dict, String], dictionaries::get),
    fixed("hasKey", &[Dict, String], dictionaries::has_key),
    open("keys", &[], Dict, dictionaries::keys),
    open("omit", &[Dict], String, dictionaries::omit),
    open("pick", &[Dict], String, dictionaries::pick),
    open("pluck", &[String], Dict, dictionaries::pluck),
    fixed("set", &[Dict, String, Any], dictionaries::set),
    fixed("unset", &[Dict, String], dictionaries::unset),
    fixed("values", &[Dict], dictionaries::values),
    // types
    fixed("deepEqual", &[Any, Any], types::deep_equal),
    fixed("kindIs", &[String, Any], types::kind_is),
    fixed("kindOf", &[Any], types::kind_of),
    fixed("typeIs", &[String, Any], types::type_is),
    fixed("typeIsLike", &[String, Any], types::type_is_like),
    fixed("typeOf", &[Any], types::type_of),
    // encodings
    fixed("adler32sum", &[String], encoding::adler32sum),
    fixed("b32dec", &[String], encoding::b32dec),
    fixed("b32enc", &[String], encoding::b32enc),
    fixed("b64dec", &[String], encoding::b64dec),
    fixed("b64enc", &[String], encoding::b64enc),
    fixed("fromJson", &[String], encoding::from_json),
    fixed("mustFromJson", &[String], encoding::must_from_json),
    fixed("mustToJson", &[Any], encoding::must_to_json),
    fixed("mustToPrettyJson", &[Any], encoding::must_to_pretty_json),
    fixed("mustToRawJson", &[Any], encoding::to_raw_json),
    fixed("sha1sum", &[String], encoding::sha1sum),
    fixed("sha256sum", &[String], encoding::sha256sum),
    fixed("toJson", &[Any], encoding::to_json),
    fixed("toPrettyJson", &[Any], encoding::to_pretty_json),
    fixed("toRawJson", &[Any], encoding::to_raw_json),
    // patterns
    fixed("mustRegexFind", &[String, String], patterns::find),
    fixed("mustRegexFindAll", &[String, String, Int], patterns::find_all),
    fixed("mustRegexMatch", &[String, String], patterns::is_match),
    fixed("mustRegexReplaceAll", &[String, String, String], patterns::replace_all),
    fixed("mustRegexReplaceAllLiteral", &[String, String, String], patterns::replace_all_literal),
    fixed("mustRegexSplit", &[String, String, Int], patterns::split),
    fixed("regexFind", &[String, String], patterns::find),
    fixed("regexFindAll", &[String, String, Int], patterns::find_all),
    fixed("regexMatch", &[String, String], patterns::is_match),
    fixed("regexQuoteMeta", &[String], patterns::quote_meta),
    fixed("regexReplaceAll", &[String, String, String], patterns::replace_all),
    fixed("regexReplaceAllLiteral", &[String, String, String], patterns::replace_all_literal),
    fixed("regexSplit", &[String, String, Int], patterns::split),
    // paths and URLs
    fixed("base", &[String], paths::base),
    fixed("clean", &[String], paths::clean),
    fixed("dir", &[String], paths::dir),
    fixed("ext", &[String], paths::ext),
    fixed("isAbs", &[String], paths::is_abs),
    // On Linux, `path/filepath` works like `path`.
    fixed("osBase", &[String], paths::base),
    fixed("osClean", &[String], paths::clean),
    fixed("osDir", &[String], paths::dir),
    fixed("osExt", &[String], paths::ext),
    fixed("osIsAbs", &[String], paths::is_abs),
    fixed("urlJoin", &[Dict], paths::url_join),
    fixed("urlParse", &[String], paths::url_parse),
    // dates
    fixed("ago", &[Any], dates::ago),
    fixed("duration", &[Any], dates::duration),
    fixed("durationRound", &[Any], dates::duration_round),
    fixed("mustDateModify", &[String, Time], dates::must_date_modify),
    fixed("mustToDate", &[String, String], dates::must_to_date),
    fixed("must_date_modify", &[String, Time], dates::must_date_modify),
    fixed("toDate", &[String, String], dates::to_date),
    fixed("unixEpoch", &[Time], dates::unix_epoch),
];

#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    TABLE.iter().map(|function| function.name).collect()
}
