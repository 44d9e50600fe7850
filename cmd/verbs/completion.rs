//! `completion SHELL`: the script that a shell loads to complete commands, flags, values and live object names.

use clap::ValueEnum;
use clap_complete::env::EnvCompleter;

use crate::cli::tree;
use crate::terminal::{CliError, Exit, Shell};

/// Print the completion script for a shell
///
/// The script asks the binary for candidates, so it remains correct when the
/// binary is upgraded. Names come from the cluster if it answers within 300 ms,
/// or within the --request-timeout of the line.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # bash, for this session\n  \
    source <(flux-operator completion bash)\n\n  \
    # zsh, permanently: in a folder of its fpath, before compinit runs\n  \
    flux-operator completion zsh > \"${fpath[1]}/_flux-operator\"\n\n  \
    # fish, permanently\n  \
    flux-operator completion fish > ~/.config/fish/completions/flux-operator.fish")]
pub struct Args {
    /// Shell to print the script for
    #[arg(value_enum)]
    pub shell: CompletionShell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompletionShell {
    Bash,
    Zsh,
    Fish,
    Powershell,
    Elvish,
    Nushell,
}

/// How the library completes words in zsh. The replacement adds no blank after words that continue, such as
/// `jsonpath=`.
const ZSH_WORDS: &str = "[[ -n $other ]] && _describe -V 'values' other";
const ZSH_WORDS_WITHOUT_BLANK: &str = "\
local -a open=(\"${(@M)other:#*=}\")
        other=(\"${(@)other:#*=}\")
        [[ -n $open ]] && _describe -V 'values' open -S ''
        [[ -n $other ]] && _describe -V 'values' other";

/// zsh loads a script in its `fpath` at the first Tab, as the completion function itself. The script must therefore
/// complete that first line, too.
const ZSH_AS_FUNCTION: &str = "\
if [[ $funcstack[1] == _flux-operator ]]; then
    _clap_dynamic_completer_flux_operator
fi
";

impl CompletionShell {
    /// Generates the registration script.
    pub fn script(self) -> Result<Vec<u8>, CliError> {
        use clap_complete::env::{Bash, Elvish, Fish, Powershell, Zsh};
        use clap_complete_nushell::Nushell;
        let name = "flux-operator";
        let mut script = Vec::new();
        let completer: &dyn EnvCompleter = match self {
            CompletionShell::Bash => &Bash,
            CompletionShell::Zsh => &Zsh,
            CompletionShell::Fish => &Fish,
            CompletionShell::Powershell => &Powershell,
            CompletionShell::Elvish => &Elvish,
            // Nushell cannot ask the binary; its script lists commands and flags, not live names.
            CompletionShell::Nushell => {
                clap_complete::generate(Nushell, &mut tree(), name, &mut script);
                return Ok(script);
            }
        };
        completer
            .write_registration("COMPLETE", name, name, name, &mut script)
            .map_err(|e| CliError::failed("cannot write the completion script").caused_by(&e))?;
        if matches!(self, CompletionShell::Bash) {
            script = String::from_utf8_lossy(&script).replace(BASH_END, BASH_END_WITH_BLANKS_ESCAPED).into_bytes();
        }
        if matches!(self, CompletionShell::Zsh) {
            script = String::from_utf8_lossy(&script).replace(ZSH_WORDS, ZSH_WORDS_WITHOUT_BLANK).into_bytes();
            script.extend(ZSH_AS_FUNCTION.bytes());
        }
        Ok(script)
    }
}

pub fn run(args: &Args, shell: &Shell) -> Result<Exit, CliError> {
    shell.print_bytes(&args.shell.script()?);
    Ok(Exit::Done)
}

/// The end of the function for bash, where its candidates are known.
const BASH_END: &str = "        compopt -o nospace\n    fi\n}";
/// Escapes blanks in candidates. Other shells quote candidates themselves, but bash quotes only names of files.
const BASH_END_WITH_BLANKS_ESCAPED: &str = r#"        compopt -o nospace
    fi
    if [[ "${COMP_WORDS[COMP_CWORD]-}" != [\"\']* ]]; then
        COMPREPLY=( "${COMPREPLY[@]// /\\ }" )
    fi
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zsh_script_answers_the_first_tab_and_adds_no_blank_after_unfinished_words() {
        let script = String::from_utf8(CompletionShell::Zsh.script().unwrap()).unwrap();
        let (completer, read) = script.split_once("\ncompdef ").unwrap();
        let name = read.split(' ').next().unwrap();
        assert!(completer.contains(&format!("function {name}()")), "{script}");
        assert_eq!(completer.matches(" open -S ''").count(), 1, "{script}");
        assert!(read.ends_with(&format!("== _flux-operator ]]; then\n    {name}\nfi\n")), "{script}");
    }
}
