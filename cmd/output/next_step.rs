//! Maps the library's next steps to command lines. No other module contains these command lines.

use std::borrow::Cow;
use std::path::PathBuf;

use flux_operator::api::kinds;
use flux_operator::api::well_known::GROUP;
use flux_operator::inspect::diagnose::next_step::{NextStep, SecretKind};
use flux_operator::k8s::ObjectId;

use crate::output::as_started::as_started;

/// Formats a step as a command line to copy, or as a sentence if it has none.
pub fn command(step: &NextStep) -> String {
    let flag = |on: bool, text: &'static str| if on { text } else { "" };
    match step {
        NextStep::Words(words) => words.clone(),
        NextStep::Reconcile { object, in_process, force } => format!(
            "flux-operator reconcile {}{}{}",
            noun(object),
            flag(*in_process, " --in-process"),
            flag(*force, " --force")
        ),
        NextStep::Resume { object, in_process } => {
            format!("flux-operator resume {}{}", noun(object), flag(*in_process, " --in-process"))
        }
        // `wait` is about Flux objects; kubectl waits for workloads.
        NextStep::Wait(object) if kinds::of(&object.group, &object.kind).is_none() => {
            kubectl("rollout status", object, "")
        }
        NextStep::Wait(object) => format!("flux-operator wait {}", noun(object)),
        NextStep::Explain(object) if is_instance(object) => format!("flux-operator why {}", noun(object)),
        NextStep::Explain(object) => format!("flux-operator why {}{}", named(object), namespace(object)),
        NextStep::ListEvents(object) => {
            format!("flux-operator events {}{}", named(object), namespace(object))
        }
        NextStep::ShowLogs(object) => {
            format!("flux-operator logs {}{}", named(object), namespace(object))
        }
        NextStep::ShowTree(object) => {
            format!(
                "flux-operator tree {} {}{}",
                word(&object.kind.to_lowercase()),
                word(&object.name),
                namespace(object)
            )
        }
        NextStep::ShowInputs(object) => {
            format!("flux-operator debug {}{} --inputs", named(object), namespace(object))
        }
        NextStep::Delete(object) => format!("flux-operator delete {}", noun(object)),
        NextStep::ShowPlan(object) => format!("flux-operator plan {}", noun(object)),
        NextStep::Uninstall(object) => format!("flux-operator uninstall {} --in-process", noun(object)),
        NextStep::ExportInstance(object) => format!("flux-operator export {} > instance.yaml", noun(object)),
        NextStep::BuildExportedInstance => "flux-operator build instance -f instance.yaml".into(),
        NextStep::CreateInstance => "flux-operator create instance".into(),
        NextStep::ApplyInProcess => "flux-operator apply instance -f FILE --in-process".into(),
        NextStep::CreateSecret { namespace, name, secret } => create_secret(namespace, name, secret),
        NextStep::ListVersions => "flux-operator distribution versions".into(),
        NextStep::ListImages => "flux-operator distribution images".into(),
        NextStep::CheckFiles { to } => format!("flux-operator check -f DIR --to {to}"),
        NextStep::CheckRights => "flux-operator check --pre".into(),
        NextStep::ExplainAll => "flux-operator why -A".into(),
        NextStep::Describe(object) => kubectl("describe", object, ""),
        NextStep::Edit(object) => kubectl("edit", object, ""),
        NextStep::ShowConditions(object) => kubectl("get", object, "-o jsonpath={.status.conditions}"),
        NextStep::ShowFinalizers(object) => kubectl("get", object, "-o jsonpath={.metadata.finalizers}"),
        NextStep::ShowLabels(object) => kubectl("get", object, "--show-labels"),
        NextStep::ShowLog { pod, container: None } => kubectl("logs", pod, "--tail=20"),
        NextStep::ShowLog { pod, container: Some(name) } => {
            kubectl("logs", pod, &format!("-c {} --previous --tail=20", word(name)))
        }
        NextStep::Restart(object) => kubectl("rollout restart", object, ""),
        NextStep::ResumeRollout(object) => kubectl("rollout resume", object, ""),
        NextStep::Scale { object, replicas } => kubectl("scale", object, &format!("--replicas={replicas}")),
        NextStep::CreateNamespace(name) => format!("kubectl create namespace {}", word(name)),
        NextStep::ListNodes => "kubectl get nodes -o wide".into(),
        NextStep::ListStorageClasses => "kubectl get storageclass".into(),
        NextStep::ListWebhooks => "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations".into(),
        NextStep::ListAdmissionPolicies => {
            "kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings".into()
        }
        NextStep::Advice(_) | NextStep::Then { .. } => sentence(step),
    }
}

/// Formats a step as a hint: a command to run, or advice.
pub fn sentence(step: &NextStep) -> String {
    Destination::default().sentence(step)
}

/// The flags that select the current cluster, for further command lines.
#[derive(Clone, Debug, Default)]
pub struct Destination {
    pub context: Option<String>,
    pub kubeconfig: Option<PathBuf>,
}

impl Destination {
    /// Formats the given flags: ` --context dev --kubeconfig FILE`.
    pub fn flags(&self) -> String {
        let context = self.context.iter().map(|context| format!(" --context {}", word(context)));
        let file = self.kubeconfig.iter().map(|path| format!(" --kubeconfig {}", word(&path.display().to_string())));
        context.chain(file).collect()
    }

    /// As [`command`], for the same cluster and under the name by which the program was started.
    pub fn command(&self, step: &NextStep) -> String {
        as_started(&self.line(step)).into_owned()
    }

    fn line(&self, step: &NextStep) -> String {
        let line = match step {
            // Files and versions do not depend on the cluster.
            NextStep::BuildExportedInstance
            | NextStep::CreateInstance
            | NextStep::ListVersions
            | NextStep::ListImages
            | NextStep::CheckFiles { .. } => return command(step),
            NextStep::Advice(_) | NextStep::Then { .. } => return self.sentence(step),
            step => command(step),
        };
        let flags = self.flags();
        if let Some(rest) = line.strip_prefix("kubectl") {
            return format!("kubectl{flags}{rest}");
        }
        // The flags belong to the command, so they are inserted before the redirection of its output.
        match line.split_once(" > ") {
            Some((line, file)) => format!("{line}{flags} > {file}"),
            None => format!("{line}{flags}"),
        }
    }

    /// As [`sentence`], for the same cluster.
    pub fn sentence(&self, step: &NextStep) -> String {
        match step {
            NextStep::Advice(text) => text.clone(),
            NextStep::Then { first, then } => format!("{first}: `{}`", self.command(then)),
            step => format!("run `{}`", self.command(step)),
        }
    }
}

fn is_instance(object: &ObjectId) -> bool {
    object.group == GROUP && object.kind == "FluxInstance"
}

/// Names an object as the verbs of this program do.
fn noun(object: &ObjectId) -> String {
    if is_instance(object) {
        format!("instance {}{}", word(&object.name), namespace(object))
    } else {
        format!("{}{}", named(object), namespace(object))
    }
}

fn named(object: &ObjectId) -> String {
    word(&format!("{}/{}", object.kind, object.name)).into_owned()
}

fn namespace(object: &ObjectId) -> String {
    object.namespace().map(|namespace| format!(" -n {}", word(namespace))).unwrap_or_default()
}

/// Quotes a text as one word of a POSIX shell. An API server accepts no name that needs quotes, but a dump may contain
/// any, and users copy the command.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '/' | ':' | '@' | '=' | ',');
    match text.chars().all(is_plain) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("'{}'", text.replace('\'', "'\\''"))),
    }
}

fn kubectl(verb: &str, object: &ObjectId, rest: &str) -> String {
    let namespace = object.namespace().map(|namespace| format!("-n {} ", word(namespace))).unwrap_or_default();
    // Without a name, the command shows all objects of the kind.
    let name = if object.name.is_empty() { String::new() } else { format!("/{}", object.name) };
    let kind = match object.kind.as_str() {
        "CustomResourceDefinition" => "crd".to_owned(),
        kind => kind.to_lowercase(),
    };
    format!("kubectl {namespace}{verb} {} {rest}", word(&format!("{kind}{name}"))).trim_end().to_owned()
}

fn create_secret(namespace: &str, name: &str, secret: &SecretKind) -> String {
    let (kind, rest) = match secret {
        SecretKind::Registry { host } => {
            let host = host.as_deref().unwrap_or("HOST");
            ("registry", format!("--server {} --username USER", word(host)))
        }
        SecretKind::Ssh => ("ssh", "--private-key-file ./identity --knownhosts-file ./known_hosts".to_owned()),
        SecretKind::BasicAuth => ("basic-auth", "--username USER".to_owned()),
        SecretKind::Bucket => ("bucket", "--accesskey KEY".to_owned()),
        SecretKind::GithubApp => {
            ("githubapp", "--app-id ID --app-installation-owner ORG --app-private-key-file ./app.pem".to_owned())
        }
        SecretKind::Tls => ("tls", "--ca-crt-file ./ca.crt".to_owned()),
        SecretKind::Proxy => ("proxy", "--address http://HOST:PORT".to_owned()),
        // Flux reads every key of this Secret as a public key, of cosign or of GnuPG.
        SecretKind::Signers => {
            let (name, namespace) = (word(name), word(namespace));
            return format!("kubectl -n {namespace} create secret generic {name} --from-file=./cosign.pub");
        }
        SecretKind::Sops => ("sops", "--age-key-file ./age.agekey".to_owned()),
    };
    format!("flux-operator create secret {kind} {} -n {} {rest}", word(name), word(namespace))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn names_that_a_shell_would_run_are_quoted() {
        let object = ObjectId::new("kustomize.toolkit.fluxcd.io", "Kustomization", Some("a;b"), "x$(touch /tmp/y)'z");
        for step in [
            NextStep::ListEvents(object.clone()),
            NextStep::Describe(object.clone()),
            NextStep::ShowTree(object.clone()),
            NextStep::Reconcile { object: object.clone(), in_process: false, force: false },
            NextStep::CreateSecret {
                namespace: "a;b".into(),
                name: "x$(touch /tmp/y)'z".into(),
                secret: SecretKind::Ssh,
            },
        ] {
            let line = command(&step);
            assert!(line.contains(r"x$(touch /tmp/y)'\''z'") && line.contains("'a;b'"), "{line}");
            // Outside the quotes nothing remains that a shell would execute.
            let outside: String = line.replace(r"'\''", "").split('\'').step_by(2).collect();
            assert!(!outside.contains(['$', ';', '(']), "{line}");
        }
    }

    /// Returns every step for each sort of object.
    fn samples() -> Vec<NextStep> {
        let instance = ObjectId::new(GROUP, "FluxInstance", Some("fs"), "flux");
        let other = ObjectId::new("kustomize.toolkit.fluxcd.io", "Kustomization", Some("fs"), "web");
        let reconcile =
            |object: &ObjectId, in_process, force| NextStep::Reconcile { object: object.clone(), in_process, force };
        let secret = |secret| NextStep::CreateSecret { namespace: "fs".into(), name: "creds".into(), secret };
        let of = |object: &ObjectId| {
            let object = || object.clone();
            vec![
                NextStep::Resume { object: object(), in_process: false },
                NextStep::Wait(object()),
                NextStep::ListEvents(object()),
                NextStep::Describe(object()),
                NextStep::Edit(object()),
                NextStep::ShowConditions(object()),
                NextStep::ShowFinalizers(object()),
                NextStep::ShowLabels(object()),
                NextStep::ShowLog { pod: object(), container: None },
                NextStep::ShowLog { pod: object(), container: Some("manager".into()) },
                NextStep::Restart(object()),
                NextStep::ResumeRollout(object()),
                NextStep::Scale { object: object(), replicas: 1 },
            ]
        };
        let mut all = vec![
            reconcile(&instance, false, false),
            reconcile(&instance, true, false),
            reconcile(&instance, false, true),
            reconcile(&other, false, false),
            NextStep::Explain(instance.clone()),
            NextStep::Uninstall(instance.clone()),
            NextStep::ExportInstance(instance.clone()),
            NextStep::ShowTree(other.clone()),
            NextStep::ShowLogs(other.clone()),
            NextStep::BuildExportedInstance,
            NextStep::CreateInstance,
            NextStep::ApplyInProcess,
            secret(SecretKind::Registry { host: None }),
            secret(SecretKind::Registry { host: Some("ghcr.io".into()) }),
            secret(SecretKind::Ssh),
            secret(SecretKind::BasicAuth),
            secret(SecretKind::Bucket),
            secret(SecretKind::GithubApp),
            secret(SecretKind::Tls),
            secret(SecretKind::Proxy),
            secret(SecretKind::Signers),
            secret(SecretKind::Sops),
            NextStep::Explain(other.clone()),
            NextStep::ListVersions,
            NextStep::ListImages,
            NextStep::CheckFiles { to: "2.9.4".into() },
            NextStep::CheckRights,
            NextStep::ExplainAll,
            NextStep::CreateNamespace("apps".into()),
            NextStep::ListNodes,
            NextStep::ListStorageClasses,
            NextStep::ListWebhooks,
            NextStep::ListAdmissionPolicies,
            NextStep::Advice("do it by hand".into()),
        ];
        all.extend(of(&instance));
        all.extend(of(&other));
        all
    }

    #[test]
    fn every_command_that_is_recommended_exists() {
        let mut own = 0;
        for step in samples() {
            let line = command(&step);
            let mut words = line.split(" > ").next().unwrap_or_default().split(' ').peekable();
            if words.peek() != Some(&"flux-operator") {
                assert!(line.starts_with("kubectl ") || matches!(step, NextStep::Advice(_)), "{line}");
                continue;
            }
            own += 1;
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{line}\n{error}");
            }
        }
        assert!(own > 20, "{own}");
    }

    #[test]
    fn recommended_commands_use_the_cluster_of_the_current_command() {
        let there = Destination { context: Some("prod eu".into()), kubeconfig: Some("k.yaml".into()) };
        let flags = "--context 'prod eu' --kubeconfig k.yaml";
        let mut elsewhere = 0;
        for step in samples() {
            let line = there.command(&step);
            let is_local = line == command(&step);
            assert!(is_local || line.matches(flags).count() == 1, "{line}");
            elsewhere += usize::from(!is_local);
            if line.starts_with("kubectl ") {
                assert!(line.starts_with(&format!("kubectl {flags} ")), "{line}");
            }
            assert_eq!(Destination::default().command(&step), command(&step));
        }
        assert!(elsewhere > 40, "{elsewhere}");
        let export = NextStep::ExportInstance(ObjectId::new(GROUP, "FluxInstance", Some("fs"), "flux"));
        assert_eq!(there.command(&export), format!("flux-operator export instance flux -n fs {flags} > instance.yaml"));
    }

    #[test]
    fn hints_are_sentences_around_the_command() {
        let why = NextStep::Explain(ObjectId::new(GROUP, "FluxInstance", Some("fs"), "flux"));
        assert_eq!(sentence(&why), "run `flux-operator why instance flux -n fs`");
        let then = NextStep::Then { first: "write it".into(), then: Box::new(NextStep::BuildExportedInstance) };
        assert_eq!(sentence(&then), "write it: `flux-operator build instance -f instance.yaml`");
        assert_eq!(sentence(&NextStep::Advice("wait".into())), "wait");
    }
}
