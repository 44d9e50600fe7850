//! All environment variables that the program reads.
//!
//! Precedence: flag, then environment, then configuration file, then kubeconfig, then default. `RUST_LOG`, `NO_COLOR`
//! and `HOME` mean what they mean everywhere.

use std::path::PathBuf;

use flux_operator::format::proxy::ProxyEnvironment;

/// List of kubeconfig files, as for kubectl.
pub const KUBECONFIG: &str = "KUBECONFIG";
/// Default of `--namespace`.
pub const NAMESPACE: &str = "FLUX_OPERATOR_NAMESPACE";
/// Default of `--output`.
pub const OUTPUT: &str = "FLUX_OPERATOR_OUTPUT";
/// Default of `--timeout`.
pub const TIMEOUT: &str = "FLUX_OPERATOR_TIMEOUT";
/// Contexts in which deleting requires the context's name, separated by commas; replaces the list of the configuration
/// file.
pub const PROTECTED_CONTEXTS: &str = "FLUX_OPERATOR_PROTECTED_CONTEXTS";
/// Pager for output longer than the screen; an empty value or `cat` disables it.
pub const PAGER: &str = "FLUX_OPERATOR_PAGER";
/// The pager that all programs use.
pub const USUAL_PAGER: &str = "PAGER";
/// The folder of configuration files.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Disables colour if set to a non-empty text (<https://no-color.org>).
pub const NO_COLOR: &str = "NO_COLOR";
/// The terminal type; `dumb` ones get lines instead of redrawn output.
pub const TERM: &str = "TERM";
/// The width of help texts if standard output is not a terminal.
pub const COLUMNS: &str = "COLUMNS";
/// The name of the terminal program, which tells whether the terminal supports links.
pub const TERM_PROGRAM: &str = "TERM_PROGRAM";
pub const VTE_VERSION: &str = "VTE_VERSION";
pub const KONSOLE_VERSION: &str = "KONSOLE_VERSION";
pub const WT_SESSION: &str = "WT_SESSION";
/// The locale: the first of these that is set tells whether the terminal understands UTF-8.
pub const LOCALE: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// Log filter; overrides `-v`.
pub const RUST_LOG: &str = "RUST_LOG";
/// Folders of plugins named `flux-operator-NAME` and of credential plugins.
pub const PATH: &str = "PATH";
/// Proxy for `https` servers; the lower-case spelling is read as well, as is usual.
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";
/// Proxy for `http` servers.
pub const HTTP_PROXY: &str = "HTTP_PROXY";
/// Servers that need no proxy.
pub const NO_PROXY: &str = "NO_PROXY";
/// Folder of docker's `config.json`, with the credentials of registries.
pub const DOCKER_CONFIG: &str = "DOCKER_CONFIG";
/// Podman's file with the credentials of registries.
pub const REGISTRY_AUTH_FILE: &str = "REGISTRY_AUTH_FILE";
/// Default parent folder of that file.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// The folder of caches.
const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The folders of configuration and of caches on Windows.
const APPDATA: &str = "APPDATA";
const LOCALAPPDATA: &str = "LOCALAPPDATA";
/// Set in every pod: the address of the API server.
pub const SERVICE_HOST: &str = "KUBERNETES_SERVICE_HOST";
pub const SERVICE_PORT: &str = "KUBERNETES_SERVICE_PORT";

/// The namespace that a controller reconciles; a pod gets it from the downward API.
pub const RUNTIME_NAMESPACE: &str = "RUNTIME_NAMESPACE";
/// Default of `controller --reporting-interval`.
pub const REPORTING_INTERVAL: &str = "REPORTING_INTERVAL";
/// Default of `controller --override-manager`, separated by commas.
pub const OVERRIDE_MANAGERS: &str = "OVERRIDE_MANAGERS";
/// Default of `controller --default-service-account`.
pub const DEFAULT_SERVICE_ACCOUNT: &str = "DEFAULT_SERVICE_ACCOUNT";
/// Address for a controller's notifications, regardless of installed controllers.
pub const NOTIFICATION_CONTROLLER_ADDRESS: &str = "NOTIFICATION_CONTROLLER_ADDRESS";
/// If set, a controller sends no notifications.
pub const NOTIFICATIONS_DISABLED: &str = "NOTIFICATIONS_DISABLED";

/// Whether the terminal supports neither colours nor cursor movement.
pub fn is_dumb() -> bool {
    text(TERM).is_some_and(|terminal| terminal == "dumb")
}

/// Whether the locale is not UTF-8. An unset locale counts as UTF-8, because containers usually have none.
pub fn is_ascii_only() -> bool {
    let locale = LOCALE.into_iter().find_map(text);
    locale.is_some_and(|locale| !locale.to_lowercase().replace('-', "").contains("utf8"))
}

/// Returns the text of a variable; an empty value counts as unset. A value that is not UTF-8 was refused before (see
/// [`variable_without_text`]).
pub fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Returns the path in a variable; an empty value counts as unset.
pub fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Returns the program's folder for configuration: below `$XDG_CONFIG_HOME` or `~/.config`, on Windows below
/// `%APPDATA%`.
pub fn configuration_folder() -> Option<PathBuf> {
    own_folder(XDG_CONFIG_HOME, ".config", APPDATA)
}

/// Returns the program's folder for caches: below `$XDG_CACHE_HOME` or `~/.cache`, on Windows below `%LOCALAPPDATA%`.
pub fn cache_folder() -> Option<PathBuf> {
    own_folder(XDG_CACHE_HOME, ".cache", LOCALAPPDATA)
}

fn own_folder(xdg_variable: &str, below_home: &str, windows_variable: &str) -> Option<PathBuf> {
    // The specification requires that relative paths are ignored:
    // https://specifications.freedesktop.org/basedir-spec/latest/
    let named = path(xdg_variable).filter(|folder| folder.is_absolute());
    let of_system = if cfg!(windows) { path(windows_variable) } else { None };
    let below_home = || std::env::home_dir().map(|home| home.join(below_home));
    Some(named.or(of_system).or_else(below_home)?.join("flux-operator"))
}

/// Returns the pager and the variable that names it.
pub fn pager() -> Option<(String, &'static str)> {
    // `FLUX_OPERATOR_PAGER` overrides `PAGER` even if it is empty, so an empty value disables the pager.
    let variable = if std::env::var_os(PAGER).is_some() { PAGER } else { USUAL_PAGER };
    text(variable).filter(|pager| pager != "cat").map(|pager| (pager, variable))
}

/// Whether a variable is set to anything but an empty text.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Variables whose text decides the behaviour of a command. Treating a value that is not UTF-8 as unset would be
/// unexpected.
const TEXTS: [&str; 16] = [
    NAMESPACE,
    OUTPUT,
    TIMEOUT,
    PROTECTED_CONTEXTS,
    PAGER,
    USUAL_PAGER,
    RUST_LOG,
    HTTPS_PROXY,
    HTTP_PROXY,
    NO_PROXY,
    SERVICE_HOST,
    SERVICE_PORT,
    RUNTIME_NAMESPACE,
    REPORTING_INTERVAL,
    OVERRIDE_MANAGERS,
    NOTIFICATION_CONTROLLER_ADDRESS,
];

/// Returns the name of a variable that is not UTF-8.
pub fn variable_without_text() -> Option<String> {
    let in_lower_case = [HTTPS_PROXY, HTTP_PROXY, NO_PROXY].map(str::to_lowercase);
    let mut names = TEXTS.iter().map(|name| (*name).to_owned()).chain(in_lower_case);
    names.find(|name| std::env::var_os(name).is_some_and(|value| value.to_str().is_none()))
}

/// Reads a variable in upper or lower case, as usual for proxy variables.
pub fn any_case(name: &str) -> Option<String> {
    text(name).or_else(|| text(&name.to_lowercase()))
}
/// Reads the proxies for API servers and registries.
pub fn proxy() -> ProxyEnvironment {
    ProxyEnvironment {
        https_proxy: any_case(HTTPS_PROXY),
        http_proxy: any_case(HTTP_PROXY),
        no_proxy: any_case(NO_PROXY),
    }
}

/// Variables with the name of this machine: most shells set the first, Windows the second.
const HOSTNAME: [&str; 2] = ["HOSTNAME", "COMPUTERNAME"];

/// Returns the name of this machine, for the holder of a lease.
pub fn host_name() -> Option<String> {
    let from_shell = HOSTNAME.into_iter().find_map(text);
    let from_kernel = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_shell.or_else(from_kernel)?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
