//! `config`: the settings of this program.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::session::connect::context_namespace;
use crate::terminal::{CliError, Color, Config, Exit, Shell, environment};

/// Show the settings of this program
#[derive(Subcommand, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub enum Command {
    View(ConfigViewArgs),
}

/// Show the settings in use, and where each comes from
///
/// The output is YAML as in the configuration file, with the flag, variable or file of each value in a comment.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
    # The values in use, and where each comes from\n  \
    flux-operator config view\n\n  \
    # The values that a command with these flags would use\n  \
    flux-operator config view -n apps --context staging")]
pub struct ConfigViewArgs {}

pub fn run(command: &Command, shell: &Shell) -> Result<Exit, CliError> {
    let Command::View(_) = command;
    shell.print(&view(shell));
    Ok(Exit::Done)
}

/// The origin of a value.
enum SettingOrigin {
    Flag(&'static str),
    Variable(&'static str),
    File,
    Kubeconfig,
    Default,
}

impl std::fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingOrigin::Flag(flag) => write!(f, "flag {flag}"),
            SettingOrigin::Variable(variable) => write!(f, "variable {variable}"),
            SettingOrigin::File => f.write_str("configuration file"),
            SettingOrigin::Kubeconfig => f.write_str("kubeconfig"),
            SettingOrigin::Default => f.write_str("default"),
        }
    }
}

fn view(shell: &Shell) -> String {
    let (global, config) = (shell.global(), shell.config());
    let mut text = String::new();
    if let Some(path) = Config::path() {
        let state = if path.exists() { "" } else { " (does not exist)" };
        text.push_str(&format!("# {}{state}\n", path.display()));
    }
    let mut add = |key: &str, value: Value, origin: SettingOrigin| {
        // JSON on one line is YAML, too.
        let line = format!("{key}: {value}");
        text.push_str(&format!("{line:<42} # {origin}\n"));
    };
    // clap stores the variable as the value of the flag, so an equal text means the variable.
    let of_flag = |value: &str, flag, variable| match environment::text(variable).is_some_and(|text| text == value) {
        true => SettingOrigin::Variable(variable),
        false => SettingOrigin::Flag(flag),
    };
    let of_file = |is_set: bool| if is_set { SettingOrigin::File } else { SettingOrigin::Default };

    match (&global.namespace, &config.namespace) {
        (Some(flag), _) => add("namespace", json!(flag), of_flag(flag, "--namespace", environment::NAMESPACE)),
        (None, Some(file)) => add("namespace", json!(file), SettingOrigin::File),
        // A missing kubeconfig is not an error of the settings.
        (None, None) => match context_namespace(global) {
            Some(namespace) => add("namespace", json!(namespace), SettingOrigin::Kubeconfig),
            None => add("namespace", json!(None::<String>), SettingOrigin::Default),
        },
    }
    let output = config.usual_output().unwrap_or_else(|| "table".to_owned());
    let origin = match environment::text(environment::OUTPUT) {
        Some(_) => SettingOrigin::Variable(environment::OUTPUT),
        None => of_file(config.output.is_some()),
    };
    add("output", json!(output), origin);
    let origin = match (global.color, config.color) {
        (now, Some(file)) if now == file => SettingOrigin::File,
        (Color::Auto, None) => SettingOrigin::Default,
        _ => SettingOrigin::Flag("--color"),
    };
    add("color", json!(global.color.as_str()), origin);
    add("inProcess", json!(config.in_process), of_file(config.in_process));
    let origin = match environment::text(environment::PROTECTED_CONTEXTS) {
        Some(_) => SettingOrigin::Variable(environment::PROTECTED_CONTEXTS),
        None => of_file(!config.protected_contexts.is_empty()),
    };
    add("protectedContexts", json!(config.protected_contexts), origin);
    add("contextGroups", json!(config.context_groups), of_file(!config.context_groups.is_empty()));
    add("aliases", json!(config.aliases), of_file(!config.aliases.is_empty()));
    // The configuration file cannot contain these.
    let mut also = vec![];
    if let Some(context) = &global.context {
        also.push(format!("context {context} ({})", SettingOrigin::Flag("--context")));
    }
    let kubeconfig = match (&global.kubeconfig, environment::text(environment::KUBECONFIG)) {
        (Some(path), _) => format!("{} ({})", path.display(), SettingOrigin::Flag("--kubeconfig")),
        (None, Some(paths)) => format!("{paths} ({})", SettingOrigin::Variable(environment::KUBECONFIG)),
        (None, None) => format!("~/.kube/config ({})", SettingOrigin::Default),
    };
    also.push(format!("kubeconfig {kubeconfig}"));
    if environment::text(environment::TIMEOUT).is_some() {
        also.push(format!("timeout ({})", SettingOrigin::Variable(environment::TIMEOUT)));
    }
    if let Some((pager, variable)) = environment::pager() {
        also.push(format!("pager {pager} ({})", SettingOrigin::Variable(variable)));
    }
    also.iter().for_each(|line| text.push_str(&format!("# {line}\n")));
    text
}
