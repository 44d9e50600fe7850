//! Measures the commands that users type all day, with both kinds of credentials, beside kubectl at the same moment.
//!
//! ```text
//! cargo build --profile dist --bin flux-operator
//! cargo run -p tools --bin answer-speed [RUNS]
//! ```
//! Starts its own control plane, installs Flux with a sync, and runs each command and its kubectl counterpart in turns,
//! so that other load on the machine affects both. First on loopback, with a client certificate and with a token (a
//! request with a token is larger than a packet); then through a proxy that adds 20 ms to each request. Prints results
//! and never fails because of them. `FLUX_OPERATOR` names another binary, `KUBECTL` another kubectl.
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

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::programs::unavailable_because;
use test_support::{ControlPlane, Fallible, Fault, FaultProxy, FaultRule, Kubeconfig, Options, objects};

const NAMESPACE: &str = "flux-system";
const ADDED: Duration = Duration::from_millis(20);

struct Case {
    ours: &'static str,
    /// Its kubectl counterpart, or else the smallest kubectl request.
    kubectl: &'static str,
    /// Maximum fraction of kubectl's time at the same moment.
    goal: f64,
    /// The goal in milliseconds on a machine where kubectl takes [`KUBECTL`] for the smallest request: the speed of a
    /// machine varies by half within minutes.
    milliseconds: Option<f64>,
}

const SMALLEST: &str = "get fluxinstance flux";
/// Milliseconds on the machine for which the goals were set.
const KUBECTL: f64 = 43.0;

const fn within(ours: &'static str, milliseconds: f64) -> Case {
    Case { ours, kubectl: SMALLEST, goal: KUBECTL / milliseconds, milliseconds: Some(milliseconds) }
}

const CASES: &[Case] = &[
    Case { ours: "get instance flux", kubectl: SMALLEST, goal: 8.0, milliseconds: None },
    Case { ours: "get components", kubectl: "get deploy,pods", goal: 4.0, milliseconds: None },
    within("why instance", 20.0),
    within("tree instance", 20.0),
    within("check", 20.0),
    within("plan instance", 30.0),
    within("reconcile instance --in-process", 50.0),
];

fn main() -> ExitCode {
    if let Some(reason) = unavailable_because() {
        eprintln!("not measured: it {reason}");
        return ExitCode::SUCCESS;
    }
    let runs = env::args_os()
        .filter_map(|word| word.into_string().ok())
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(21);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(measure(runs))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Site {
    plane: ControlPlane,
    binary: PathBuf,
    kubectl: PathBuf,
    runs: usize,
}

async fn measure(runs: usize) -> Fallible<()> {
    let binary = program::shipped()?;
    let kubectl = PathBuf::from(env::var_os("KUBECTL").unwrap_or_else(|| "kubectl".into()));
    let plane = ControlPlane::start_with(Options::on_all_processors(), |part| eprintln!("starting {part}")).await?;
    // Copied as an installation does: the page cache holds a linker's output in small pieces, which starts more slowly.
    let installed = plane.folder().join("flux-operator");
    std::fs::copy(binary, &installed)?;
    let site = Site { plane, binary: installed, kubectl, runs };
    let certificate = site.plane.admin("measured")?.with_namespace(NAMESPACE)?;
    site.install(&certificate).await?;
    let token = site.token().await?.with_namespace(NAMESPACE)?;

    println!("| command | certificate: ours | kubectl | ratio | token: ours | kubectl | ratio | goal |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for case in CASES {
        let mut columns = vec![];
        let mut met = true;
        for kubeconfig in [&certificate, &token] {
            let (ours, theirs) = site.by_turns(kubeconfig, case).await?;
            met &= theirs / ours >= case.goal;
            columns.push(format!("{ours:.1} ms | {theirs:.0} ms | 1/{:.1}", theirs / ours));
        }
        let goal = match case.milliseconds {
            Some(goal) => format!("1/{:.2} ({goal} ms where kubectl takes {KUBECTL})", case.goal),
            None => format!("1/{}", case.goal),
        };
        println!("| {} | {} | {goal}: {} |", case.ours, columns.join(" | "), if met { "met" } else { "missed" });
    }
    println!("\n| command | 20 ms added to each request | without | difference in round trips | one after the other |");
    println!("| --- | --- | --- | --- | --- |");
    for case in CASES {
        site.far_away(&certificate, case).await?;
    }
    Ok(())
}

impl Site {
    /// An admin with the token of a ServiceAccount.
    async fn token(&self) -> Fallible<Kubeconfig> {
        let client = self.plane.client();
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "measured"}});
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "measured"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "measured", "namespace": "default"}]});
        objects::apply(client, "default", &[account, binding]).await?;
        let wanted = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}});
        let request = http::Request::post("/api/v1/namespaces/default/serviceaccounts/measured/token");
        let request = request.header("content-type", "application/json").body(wanted.to_string().into_bytes())?;
        let made: Value = client.request(request).await?;
        self.plane.token("measured-token", made["status"]["token"].as_str().ok_or("no token")?)
    }

    async fn install(&self, kubeconfig: &Kubeconfig) -> Fallible<()> {
        eprintln!("installing Flux");
        let instance = json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "FluxInstance",
            "metadata": {"name": "flux", "namespace": NAMESPACE},
            "spec": {"distribution": {"version": "2.9.x", "registry": "ghcr.io/fluxcd"}}});
        let file = self.plane.folder().join("flux.json");
        std::fs::write(&file, instance.to_string())?;
        let file = file.to_str().ok_or("a path in UTF-8")?;
        let words = ["apply", "instance", "--in-process", "--timeout", "120s", "-f", file];
        let output = self.run(&self.binary, kubeconfig.path(), &words).await?.1;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
        }
    }

    async fn run(&self, program: &Path, kubeconfig: &Path, words: &[&str]) -> Fallible<(f64, std::process::Output)> {
        let mut command = Command::new(program);
        command.args(words).env_clear().env("PATH", env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.plane.folder()).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
        let timed = move || {
            let start = Instant::now();
            command.output().map(|output| (start.elapsed().as_secs_f64() * 1000.0, output))
        };
        Ok(tokio::task::spawn_blocking(timed).await??)
    }

    /// Returns the medians in milliseconds: ours and kubectl's.
    async fn by_turns(&self, kubeconfig: &Kubeconfig, case: &Case) -> Fallible<(f64, f64)> {
        let words: Vec<&str> = case.ours.split(' ').collect();
        let theirs: Vec<&str> = case.kubectl.split(' ').collect();
        let (mut ours, mut kubectl) = (vec![], vec![]);
        // The first run of each fills the disk cache and kubectl's cache.
        for turn in 0..=self.runs {
            // After a write the API server's caches prove their freshness by a clock of 100 ms. Runs in direct
            // succession are in step with it, and each waits for the rest of the 100 ms. Users start at any moment, so
            // vary it.
            if case.ours.starts_with("reconcile") {
                tokio::time::sleep(Duration::from_millis(100 + 37 * turn as u64 % 100)).await;
            }
            let (time, output) = self.run(&self.binary, kubeconfig.path(), &words).await?;
            let code = output.status.code().unwrap_or(-1);
            if !matches!(code, 0 | 1 | 7) {
                return Err(
                    format!("{} ended with {code}: {}", case.ours, String::from_utf8_lossy(&output.stderr)).into()
                );
            }
            let other = self.run(&self.kubectl, kubeconfig.path(), &theirs).await?.0;
            if turn > 0 {
                ours.push(time);
                kubectl.push(other);
            }
        }
        Ok((median(ours), median(kubectl)))
    }

    async fn far_away(&self, kubeconfig: &Kubeconfig, case: &Case) -> Fallible<()> {
        let proxy = FaultProxy::start(kubeconfig, self.plane.folder()).await?;
        let words: Vec<&str> = case.ours.split(' ').chain(["-n", NAMESPACE]).collect();
        let (mut near, mut far, mut chain) = (vec![], vec![], 0);
        for turn in 0..=self.runs {
            proxy.clear_rules();
            near.push(self.run(&self.binary, proxy.kubeconfig().path(), &words).await?.0);
            proxy.add_rule(FaultRule::every(Fault::Delay(ADDED)));
            let before = proxy.requests().len();
            far.push(self.run(&self.binary, proxy.kubeconfig().path(), &words).await?.0);
            if turn == 0 {
                let seen = proxy.requests();
                let mut times: Vec<(Instant, Instant)> =
                    seen.iter().skip(before).filter_map(|one| Some((one.begun, one.answered?))).collect();
                times.sort_by_key(|(_, answered)| *answered);
                // The longest chain of requests in which each began after the previous answer.
                let mut end: Option<Instant> = None;
                for (begun, answered) in times {
                    if end.is_none_or(|end| begun >= end) {
                        chain += 1;
                        end = Some(answered);
                    }
                }
            }
        }
        let (near, far) = (median(near), median(far));
        let trips = (far - near) / (ADDED.as_secs_f64() * 1000.0);
        println!("| {} | {far:.0} ms | {near:.0} ms | {trips:.1} | {chain} |", case.ours);
        Ok(())
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
