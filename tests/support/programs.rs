//! The four programs of a control plane: existing ones named by the environment, or built from Go modules.

use std::env;
use std::path::{Path, PathBuf};

use super::Fallible;
use super::go_program::{GoProgram, go_is_installed};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    Etcd,
    ApiServer,
    ControllerManager,
    Scheduler,
}

impl Component {
    /// In start order.
    pub const ALL: [Component; 4] =
        [Component::Etcd, Component::ApiServer, Component::ControllerManager, Component::Scheduler];

    pub fn as_str(self) -> &'static str {
        match self {
            Component::Etcd => "etcd",
            Component::ApiServer => "kube-apiserver",
            Component::ControllerManager => "kube-controller-manager",
            Component::Scheduler => "kube-scheduler",
        }
    }
}

/// How to call a program: the file, and the argument that selects it if one file contains all.
#[derive(Clone, Debug)]
pub struct Program {
    pub file: PathBuf,
    pub first_argument: Option<&'static str>,
}

/// The version is that in `tests/programs/control-plane/go.mod`; without it the server reports a text that clients
/// cannot parse.
const CONTROL_PLANE: GoProgram = GoProgram {
    name: "the control plane",
    folder: "tests/programs/control-plane",
    inputs: &["go.mod", "main.go"],
    output: "control-plane",
    packages: &["."],
    programs: &["control-plane"],
    optimised: true,
    link_flags: "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
                 -X k8s.io/component-base/version.gitMajor=1 \
                 -X k8s.io/component-base/version.gitMinor=36",
};

/// Returns why no control plane can be started here, or `None` if one can.
pub fn unavailable_because() -> Option<String> {
    let to_build = Component::ALL.iter().any(|c| ready_program(*c).is_none());
    if !to_build || CONTROL_PLANE.is_built() || go_is_installed() {
        return None;
    }
    Some("needs Go, or the four programs of a control plane in the folder CONTROL_PLANE_BIN".to_owned())
}

/// Returns how to call `component`, and builds it first if necessary.
///
/// # Errors
/// `CONTROL_PLANE_BIN` lacks the program, or the build fails.
pub fn find(component: Component) -> Fallible<Program> {
    if let Some(file) = ready_program(component) {
        if !file.is_file() {
            return Err(format!("CONTROL_PLANE_BIN has no {}", component.as_str()).into());
        }
        return Ok(Program { file, first_argument: None });
    }
    let folder = CONTROL_PLANE.ensure()?;
    Ok(Program { file: folder.join("control-plane"), first_argument: Some(component.as_str()) })
}

/// Returns an existing program. `CONTROL_PLANE_BIN` must contain all four, so a missing one becomes an error instead of
/// a surprising build; `KUBEBUILDER_ASSETS` has two by convention.
fn ready_program(component: Component) -> Option<PathBuf> {
    if let Some(folder) = env::var_os("CONTROL_PLANE_BIN") {
        return Some(Path::new(&folder).join(component.as_str()));
    }
    let file = Path::new(&env::var_os("KUBEBUILDER_ASSETS")?).join(component.as_str());
    file.is_file().then_some(file)
}
