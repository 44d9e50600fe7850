//! Pictures of the program for the README: SVG of what `why`, `plan` and `tree` print, and the page of `report` as Chromium draws
//! it, in light and dark.
//!
//! ```text
//! cargo build && cargo run -p tools --bin pictures
//! ```
//! Starts a control plane, installs Flux with the built program, changes something, and writes what the commands print in colour
//! to `docs/guide/pictures`. The command is the title of its picture: a test checks that it still exists. `FLUX_OPERATOR` names
//! another binary, `CHROMIUM` another browser.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of developers: it prints, and a failed one panics"
)]

#[path = "program.rs"]
mod program;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use test_support::{ControlPlane, Fallible, Options, repository};

const NAMESPACE: &str = "flux-system";
const COLUMNS: usize = 100;
const FONT_SIZE: usize = 13;
const LINE_HEIGHT: usize = 18;
/// Width of a character of the usual monospace fonts, in hundredths of a pixel at this font size.
const CHARACTER_WIDTH: usize = 782;
const MARGIN: usize = 16;

/// Colours of a picture: background, text, red, green, yellow, cyan.
struct PictureTheme {
    name: &'static str,
    background: &'static str,
    text: &'static str,
    red: &'static str,
    green: &'static str,
    yellow: &'static str,
    cyan: &'static str,
}

const THEMES: [PictureTheme; 2] = [
    PictureTheme {
        name: "light",
        background: "#f6f8fa",
        text: "#1f2328",
        red: "#cf222e",
        green: "#116329",
        yellow: "#7d4e00",
        cyan: "#1b7c83",
    },
    PictureTheme {
        name: "dark",
        background: "#151b23",
        text: "#d1d7e0",
        red: "#ff7b72",
        green: "#56d364",
        yellow: "#e3b341",
        cyan: "#76e3ea",
    },
];

#[tokio::main]
async fn main() -> Fallible<()> {
    if let Some(reason) = test_support::programs::unavailable_because() {
        println!("no pictures: this machine {reason}");
        return Ok(());
    }
    let plane = ControlPlane::start_with(Options { context: "demo".to_owned(), ..Options::default() }, |_| {}).await?;
    let admin = plane.admin("admin")?;
    let folder = tempfile::tempdir()?;
    let run = |line: &str| print_of(line, admin.path(), folder.path());

    run("create instance --export --distribution-version 2.9.4 > flux.yaml");
    run("apply instance -f flux.yaml --in-process");
    let deployments: Api<Deployment> = Api::namespaced(admin.client().await?, NAMESPACE);
    let tree = run("tree instance");
    let by = PatchParams { field_manager: Some("kubectl-scale".to_owned()), ..PatchParams::default() };
    deployments.patch("helm-controller", &by, &Patch::Merge(json!({"spec": {"replicas": 3}}))).await?;
    let plan = run("plan instance flux --diff --progress none");
    deployments.delete("helm-controller", &DeleteParams::default()).await?;
    let why = run("why instance");

    let to = repository().join("docs/guide/pictures");
    std::fs::create_dir_all(&to)?;
    for (name, line, text) in
        [("why", "why instance", why), ("plan", "plan instance flux --diff", plan), ("tree", "tree instance", tree)]
    {
        for theme in &THEMES {
            let file = to.join(format!("{name}-{}.svg", theme.name));
            std::fs::write(&file, picture(&format!("flux-operator {line}"), &text, theme))?;
            println!("wrote {}", file.display());
        }
    }
    run("report report.html");
    for theme in &THEMES {
        let file = to.join(format!("report-{}.png", theme.name));
        draw_page(folder.path(), theme, &file);
        println!("wrote {}", file.display());
    }
    Ok(())
}

/// Draws the top of `report.html` in the folder.
fn draw_page(folder: &Path, theme: &PictureTheme, to: &Path) {
    let browser = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    // Chromium has no flag for the scheme that a page is asked for, only this setting of its engine.
    let scheme = if theme.name == "dark" { 0 } else { 1 };
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg("--window-size=1000,760")
        .arg(format!("--screenshot={}", to.display()))
        .arg(format!("file://{}", folder.join("report.html").display()))
        .env("HOME", folder)
        .output()
        .expect("the browser runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The text that a command prints on standard output, in colour.
fn print_of(line: &str, kubeconfig: &Path, folder: &Path) -> String {
    let program = program::beside().expect("the program is built");
    let mut shell = Command::new("sh");
    // The shell is there for the redirection.
    shell.arg("-c").arg(format!("\"$0\" --color always {line}")).arg(program).current_dir(folder);
    shell.env("KUBECONFIG", kubeconfig).env("COLUMNS", COLUMNS.to_string()).env_remove("NO_COLOR");
    let output = shell.output().expect("sh runs");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1 | 7)), "{line}: {code:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn picture(command: &str, text: &str, theme: &PictureTheme) -> String {
    let prompt = format!("$ {command}");
    let lines: Vec<&str> = std::iter::once(&*prompt).chain(text.trim_end().lines()).collect();
    let widest = lines.iter().map(|line| spans(line).iter().map(|(_, text)| text.chars().count()).sum::<usize>()).max();
    let width = 2 * MARGIN + widest.unwrap_or(COLUMNS) * CHARACTER_WIDTH / 100;
    let height = 2 * MARGIN + lines.len() * LINE_HEIGHT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{}\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"{FONT_SIZE}\" fill=\"{}\">\n",
        escaped(command),
        theme.background,
        theme.text
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + FONT_SIZE + index * LINE_HEIGHT;
        let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">");
        for (style, text) in spans(line) {
            match style.attributes(theme) {
                attributes if attributes.is_empty() => svg.push_str(&escaped(&text)),
                attributes => {
                    let _ = write!(svg, "<tspan{attributes}>{}</tspan>", escaped(&text));
                }
            }
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

#[derive(Clone, Copy, Default)]
struct SpanStyle {
    /// The code of the colour: 31 is red.
    color: u8,
    is_bold: bool,
}

impl SpanStyle {
    fn attributes(self, theme: &PictureTheme) -> String {
        let color = match self.color % 10 {
            1 => theme.red,
            2 => theme.green,
            3 => theme.yellow,
            6 => theme.cyan,
            _ => "",
        };
        let color = if color.is_empty() { String::new() } else { format!(" fill=\"{color}\"") };
        let weight = if self.is_bold { " font-weight=\"bold\"" } else { "" };
        format!("{color}{weight}")
    }

    fn apply(&mut self, code: u8) {
        match code {
            0 => *self = SpanStyle::default(),
            1 => self.is_bold = true,
            30..=37 | 90..=97 => self.color = code,
            39 => self.color = 0,
            _ => {}
        }
    }
}

/// The parts of a line between the terminal's escape sequences, each with its style.
fn spans(line: &str) -> Vec<(SpanStyle, String)> {
    let mut style = SpanStyle::default();
    let mut parts = line.split("\x1b[");
    let mut spans = vec![(style, parts.next().unwrap_or_default().to_owned())];
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        codes.split(';').for_each(|code| style.apply(code.parse().unwrap_or(0)));
        spans.push((style, text.to_owned()));
    }
    spans.retain(|(_, text)| !text.is_empty());
    spans
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
