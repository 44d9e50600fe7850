//! `help TOPIC`: pages about subjects that concern every command.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// The topics: word, description and page. `help topics` lists them.
const TOPICS: [(&str, &str, &str); 4] = [
    ("exit-codes", "What each exit code means", EXIT_CODES),
    ("environment", "Variables that the program reads", ENVIRONMENT),
    ("output", "Output formats, filters and columns", OUTPUT),
    ("configuration", "The configuration file, with aliases", CONFIGURATION),
];

const EXIT_CODES: &str = "\
Exit codes

  0    done, including \"nothing to change\" and an empty list
  1    failed; `plan` and `diff`: differences were found
  2    wrong usage; `plan` and `diff`: the comparison failed
  3    the object does not exist
  4    the API or CRD is not installed: Flux is not in this cluster
  5    denied: wrong credentials, or missing permissions
  6    the API server cannot be reached, or the kubeconfig has no cluster
  7    the object reports a failure, or the command timed out
  8    some of several clusters cannot be reached; the others succeeded
  130  interrupted

With -o json, an error is printed as one line of JSON on standard error, with
its code and category. `flux-operator explain CATEGORY` explains a category.
";

const ENVIRONMENT: &str = "\
Environment

  FLUX_OPERATOR_NAMESPACE           default of --namespace
  FLUX_OPERATOR_OUTPUT              default of --output
  FLUX_OPERATOR_TIMEOUT             default of --timeout
  FLUX_OPERATOR_PROTECTED_CONTEXTS  contexts, separated by commas, in which
                                    deleting requires the context's name
  FLUX_OPERATOR_PAGER, PAGER        program for output that is longer than the
                                    screen; empty or `cat` disables it
  KUBECONFIG                        kubeconfig files, as for kubectl
  XDG_CONFIG_HOME                   folder of flux-operator/config.yaml
  NO_COLOR                          disables colour if it is not empty
  TERM                              `dumb` prints lines instead of redrawing
  RUST_LOG                          log filter, which replaces -v
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY the proxy, with the usual meaning
  DOCKER_CONFIG, REGISTRY_AUTH_FILE credentials for registries

A flag overrides a variable, and a variable overrides the configuration file.
`flux-operator config view` shows the values in use and where they come from.
";

const OUTPUT: &str = "\
Output

  -o table           the columns that fit the terminal (default)
  -o wide            every column
  -o name            KIND/NAME, one per line
  -o json, yaml      for programs; schemas are in docs/schemas
  -o jsonl           one object per line
  -o jsonpath=T      as in kubectl: jsonpath='{.items[*].name}'
  -o custom-columns= as in kubectl: custom-columns=NAME:.metadata.name

Lists support --sort-by, --filter COLUMN=VALUE, --ready-status, --no-headers and
-l LABELS. The --help of each command lists the formats that it supports.
Data goes to standard output, everything else to standard error. Output to a
pipe is never truncated or coloured. Commands with piped input never prompt.
";

const CONFIGURATION: &str = "\
Configuration file

  $XDG_CONFIG_HOME/flux-operator/config.yaml
  ~/.config/flux-operator/config.yaml         if that variable is not set

  namespace: flux-system      # default of --namespace
  output: wide                # default of --output
  color: never                # default of --color
  inProcess: true             # reconcile in this process if no operator runs
  protectedContexts: [prod-*] # deleting requires the context's name
  contextGroups:              # names for --contexts
    live: [prod-*, '!prod-old']
  aliases:                    # your own names for commands
    ksf: get ks --ready-status False

An alias is replaced by its words, and the arguments after it are kept. A
built-in command overrides an alias of the same name.
`flux-operator config view` shows the values in use and where they come from.
";

/// Whether a word after `help` is a topic.
#[cfg(test)]
pub fn is_topic(word: &str) -> bool {
    word == "topics" || TOPICS.iter().any(|(topic, ..)| *topic == word)
}

/// Returns the page of a line that clap refuses because a topic is not a command.
pub fn page(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    if error.kind() != ErrorKind::InvalidSubcommand || arguments.get(1).is_none_or(|first| first != "help") {
        return None;
    }
    if word == "topics" {
        let line = |(topic, about, _): &(&str, &str, &str)| format!("  flux-operator help {topic:14} {about}\n");
        return Some(format!("Topics\n\n{}", TOPICS.iter().map(line).collect::<String>()));
    }
    let singular = |topic: &str| topic.trim_end_matches('s').to_owned();
    let found = TOPICS.iter().find(|(topic, ..)| singular(topic) == singular(word));
    found.map(|(.., page)| (*page).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Exit;

    #[test]
    fn the_page_of_exit_codes_has_each() {
        for exit in Exit::ALL {
            let (code, _) = exit.code_and_category();
            assert!(EXIT_CODES.lines().any(|line| line.starts_with(&format!("  {code:<4} "))), "{code}");
        }
    }

    #[test]
    fn pages_fit_80_columns() {
        for (topic, _, page) in TOPICS {
            let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{topic}: {wide:?}");
        }
    }
}
