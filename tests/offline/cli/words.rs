//! Typed lines and their output: a row for each spelling, and completion.

use test_support::slow_tests::TimedTest;

use crate::cli::support::{Run, command, run};

const DUMP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/offline/cli/inspect/dump.json");

fn words(line: &str) -> Vec<&str> {
    line.split(' ').filter(|word| !word.is_empty()).collect()
}

/// Reads of a dump in every spelling of a kind: the line, its exit code, and a text of stdout.
const READS: &[(&str, i32, &str)] = &[
    ("get ks -A", 0, "PATH"),
    ("get Kustomization -A", 0, "PATH"),
    ("get kustomizations.kustomize.toolkit.fluxcd.io -A", 0, "PATH"),
    ("get gitrepo -A", 0, "URL"),
    ("get source git -A", 0, "URL"),
    ("get sources git -A", 0, "URL"),
    ("get fluxinstances.fluxcd.controlplane.io -A", 0, "READY"),
    ("tree ks flux-system -n flux-system", 0, "Kustomization/flux-system/flux-system"),
    ("tree ks/flux-system -n flux-system", 0, "Kustomization/flux-system/flux-system"),
    ("tree ks -n flux-system", 0, "Kustomization/flux-system/flux-system"),
    ("tree gitrepo flux-system -n flux-system", 0, "GitRepository/flux-system/flux-system"),
    ("tree source git flux-system -n flux-system", 0, "GitRepository/flux-system/flux-system"),
    ("tree gitrepositories.source.toolkit.fluxcd.io -n flux-system", 0, "GitRepository/flux-system/flux-system"),
    ("tree fluxinstance -n flux-system", 0, "FluxInstance/flux-system/flux"),
    ("tree gitrepo -A", 2, ""),
    ("events ks -A", 0, ""),
    ("explain source git", 0, "GitRepository"),
    ("explain image policy", 0, "ImagePolicy"),
    ("explain ks.spec.path", 0, "spec.path"),
    ("explain ks spec path", 0, "spec.path"),
    ("explain source git.spec url", 0, "spec.url"),
    ("get sources all -A", 0, "GitRepository"),
    ("get images all -A", 0, ""),
    ("logs source-controller", 0, ""),
    ("logs deploy/source-controller", 0, ""),
    ("logs deployments.apps/source-controller helm-controller", 0, ""),
    ("logs deploy/web", 2, ""),
    ("help get ks", 0, "Usage: flux-operator get"),
    ("help ks", 2, ""),
    // Several objects: what is there is shown.
    ("tree ks flux-system nope", 3, "Kustomization/flux-system/flux-system"),
    ("tree ks/flux-system gitrepo/flux-system", 0, "GitRepository/flux-system/flux-system"),
    ("trace ks/flux-system gitrepo/flux-system -o json", 0, "\"items\": ["),
    ("trace ks nope flux-system", 3, "Kustomization/flux-system/flux-system"),
    ("events ks flux-system nope", 3, ""),
    ("impact ks nope flux-system", 3, "Kustomization/flux-system/flux-system"),
];

#[test]
fn every_spelling_of_a_kind_is_understood_by_every_read() {
    for (line, code, shows) in READS {
        let mut arguments = words(line);
        if !["explain", "help"].contains(&arguments[0]) {
            arguments.extend(["--from", DUMP]);
        }
        let run = run(&arguments);
        assert_eq!(run.code, *code, "{line}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(shows), "{line}: {}", run.stdout);
    }
}

/// Errors of lines that were understood and only lack a cluster.
const UNDERSTOOD: &[&str] = &[
    "reconcile all",
    "reconcile all ks",
    "reconcile all --kind ks,hr --wait",
    "reconcile ks app --with-source",
    "reconcile hr app --reset --force",
    "reconcile hr --all -A",
    "reconcile source git app",
    "suspend ks --all --reason later --until 2h",
    "suspend image update app",
    "resume ks -l team=a",
    "resume --overdue -A",
    "wait ks",
    "wait hr -A",
    "wait ks/app hr/web",
    "export ks",
    "export hr -A -o json",
    "export source git app",
    "delete ks app --yes",
    "why ks",
    "why source git app",
    "why hr -A",
    "logs ks app",
    "logs source git app",
    "debug hr app --values",
    "debug hr app --show-values",
    "debug hr --show-values app",
    "debug hr app --show-status",
    "debug hr app --show-history",
    "debug ks app --show-vars",
    "debug ks/app --show-history",
    "impact source git app",
    "trace deploy app",
    "events ks app --since 10m",
    "get suspended -A",
    "delete -f examples/flux.yaml",
    "plan -f examples/flux.yaml",
    "diff -f examples/flux.yaml",
    "apply -f examples/flux.yaml",
];

#[test]
fn every_spelling_of_a_kind_is_understood_by_every_verb() {
    for line in UNDERSTOOD {
        let output = command(&words(line)).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("no kubeconfig has a cluster"), "{line}: {stderr}");
    }
}

/// Verbs that take objects.
const VERBS: &[&str] = &[
    "get",
    "tree",
    "trace",
    "why",
    "events",
    "logs",
    "impact",
    "reconcile",
    "suspend",
    "resume",
    "wait",
    "export",
    "delete --yes",
];

/// A kind in the words of kubectl and of flux.
const KINDS: &[&str] = &[
    "ks",
    "hr",
    "gitrepo",
    "Kustomization",
    "kustomizations",
    "kustomizations.kustomize.toolkit.fluxcd.io",
    "source git",
    "sources git",
    "image repository",
    "images policies",
    "Source Gits",
    "gitrepos",
];

/// A kind and names of it.
const ORDERS: &[&str] = &[
    "{} app",
    "{}/app",
    "{} app web",
    "{}/app hr/web",
    "resource {} app",
    "resource {}/app",
    "resources {}/app hr/web",
    "{},hr app",
];

#[test]
#[ignore = "slow: it starts the program 1,200 times"]
fn every_verb_takes_every_spelling_in_every_order() {
    let _timed = TimedTest::of("offline");
    for verb in VERBS {
        for kind in KINDS {
            for objects in ORDERS {
                // Two words cannot be part of one.
                if kind.contains(' ') && objects.contains(',') {
                    continue;
                }
                let line = format!("{verb} {}", objects.replace("{}", kind));
                let run = run(&words(&line));
                assert!(run.stderr.contains("no kubeconfig has a cluster"), "{line}: {}", run.stderr);
            }
        }
    }
    for kind in KINDS {
        run(&words(&format!("explain {kind}"))).exits(0).stdout_has("spec");
    }
    // The noun stays the default where there is one.
    for line in
        ["get instance", "tree instance", "why instance", "wait instance", "suspend instance", "export instance"]
    {
        run(&words(line)).exits(6).stderr_has("no kubeconfig has a cluster");
    }
}

/// Flags of flux, by the verbs that have them there.
const FLAGS_OF_FLUX: &[&str] = &[
    "reconcile ks app --with-source",
    "reconcile hr app --with-source --reset --force",
    "reconcile ks --all",
    "reconcile ks -l team=a",
    "reconcile ks --all -A",
    "suspend hr --all",
    "suspend hr -l team=a",
    "suspend hr --all -A",
    "resume source git --all",
    "resume ks -l team=a -A",
    "wait ks --all",
    "wait ks -l team=a",
    "wait ks --all -A",
    "export hr --all",
    "export hr -l team=a",
    "export hr --all -A",
    "reconcile all --wait",
    "events --since 10m",
];

#[test]
fn flags_of_flux_are_understood() {
    for line in FLAGS_OF_FLUX {
        run(&words(line)).exits(6).stderr_has("no kubeconfig has a cluster");
    }
}

/// A change of many objects requires an explicit flag.
#[test]
fn a_verb_that_changes_something_wants_all_for_a_kind_alone() {
    for verb in ["reconcile", "suspend", "resume", "delete"] {
        run(&[verb, "ks"]).exits(2).stderr_has("add --all");
    }
}

#[test]
fn sorting_by_a_field_that_no_object_has_is_an_error() {
    let sorted = |key: &str| run(&["get", "all", "-A", "--sort-by", key, "--from", DUMP]);
    sorted(".metadata.name").exits(0);
    sorted(".nope").exits(2).stderr_has("nothing in the list has it");
    sorted("nope").exits(2).stderr_has("columns: ");
}

/// Mistakes, and the messages about them.
const MISTAKES: &[(&str, &str)] = &[
    ("instal", "did you mean 'install'?"),
    ("statsu", "did you mean 'status'?"),
    ("stauts", "did you mean 'status'?"),
    ("context", "flux-operator status --context NAME"),
    ("distro list", "did you mean `flux-operator distribution versions`?"),
    ("patch instance flux", "kubectl -n flux-system patch fluxinstance flux"),
    ("edit instance", "kubectl -n flux-system edit fluxinstance flux"),
    ("install --instance-sync-url https://x/y", "`flux-operator install --sync-url https://x/y`"),
    ("create source git x", "`flux create source git x`"),
    ("create tenant x", "`flux create tenant x`"),
    ("envsubst", "`flux envsubst`"),
    ("get all --status-selector ready=false", "`flux-operator get all --ready-status False`"),
    ("logs -A", "`flux-operator logs` shows the controllers of every namespace already"),
    ("upgrade --to 2.9", "`flux-operator upgrade 2.9.x`"),
    ("create secret docker-registry x", "`flux-operator create secret registry x`"),
    ("help gett", "did you mean `flux-operator help get`?"),
    ("help enviroment", "`flux-operator --help` lists the commands, `flux-operator help topics` other pages"),
    ("get all -o jsonpath", "write the template: jsonpath="),
    ("get all -o jsno", "did you mean json?"),
    ("create instance --sync-path x", "--sync-url"),
    ("rbac reconcil ks app", "invalid command"),
    ("rbac artifact list oci://x/y", "has no role: it works with registries"),
    ("rbac --service-account bot get ks", "write NAMESPACE:NAME"),
    ("rbac --user a --group b get ks", "cannot be used with"),
    ("rbac gett ks", "did you mean 'get'?"),
    ("help list", "did you mean `flux-operator help get`?"),
    ("help ks", "`flux-operator explain ks` shows its fields"),
    // A file without -f.
    ("apply instance flux6.yaml", "a file is given with -f: flux-operator apply instance -f flux6.yaml"),
    ("apply flux6.yaml", "flux-operator apply -f flux6.yaml"),
    ("-n apps plan flux6.yml --diff", "flux-operator -n apps plan -f flux6.yml --diff"),
    ("plan instance flux6.yaml", "flux-operator plan instance -f flux6.yaml"),
    ("diff flux6.json", "flux-operator diff -f flux6.json"),
    ("build flux6.yaml", "flux-operator build -f flux6.yaml"),
    ("build instance Cargo.toml", "flux-operator build instance -f Cargo.toml"),
    ("delete flux6.yaml --yes", "flux-operator delete -f flux6.yaml --yes"),
    ("delete instance flux6.yaml", "flux-operator delete instance -f flux6.yaml"),
    // Words of kubectl, flux and helm.
    ("list ks", "`flux-operator get ks`"),
    ("-n apps unsuspend ks x", "`flux-operator -n apps resume ks x`"),
    ("start ks/x", "`flux-operator resume ks/x`"),
    ("pause ks x", "`flux-operator suspend ks x`"),
    ("stop", "`flux-operator suspend`"),
    ("remove ks x", "`flux-operator delete ks x`"),
    ("rm ks x", "`flux-operator delete ks x`"),
    ("describe ks x", "`flux-operator why ks x` or `flux-operator tree ks x`"),
    ("sync ks x", "`flux-operator reconcile ks x`"),
    ("upgrade -f flux.yaml", "unexpected argument '-f'"),
    ("edit ks x", "`kubectl edit ks x`"),
    ("push artifact oci://x/y:z --path .", "`flux-operator artifact push oci://x/y:z --path .`"),
    ("pull artifact oci://x/y -o d", "`flux-operator artifact pull oci://x/y -o d`"),
    ("diff artifact oci://x/y --path=d", "`flux-operator artifact diff oci://x/y --path=d`"),
    ("tag artifact oci://x/y --tag z", "`flux-operator artifact tag oci://x/y --tag z`"),
    ("--timeout 5s list artifacts oci://x/y", "`flux-operator --timeout 5s artifact list oci://x/y`"),
    ("list artifact oci://x/y", "`flux-operator artifact list oci://x/y`"),
    ("build artifact --path d --output a.tgz", "`flux-operator artifact push REFERENCE --path DIR`"),
    ("build artifact", "`flux build artifact`"),
    ("delete ks x --silent", "`flux-operator delete ks x --yes`"),
    ("delete source git x -s", "`flux-operator delete source git x --yes`"),
    ("-n apps delete --silent hr x", "`flux-operator -n apps delete --yes hr x`"),
    ("suspend all -n apps", "KIND --all"),
    ("-n apps resume all", "KIND --all"),
    ("wait all", "KIND --all"),
    ("export all -A", "`all` is not a kind"),
    ("delete all", "KIND --all"),
    ("tree all", "`all` is not a kind"),
    ("bootstrap github", "`flux-operator install` or `flux-operator migrate bootstrap`"),
    ("create secret helm x --password y", "`flux-operator create secret basic-auth`"),
    ("--token abc list ks --kube-token=abc", "`flux-operator --token TOKEN get ks --kube-token=TOKEN`"),
    ("get source", "say which: source git, source oci"),
    ("tree deploy/source-controller", "`flux-operator trace deploy/NAME`"),
    ("tree deploy source-controller", "`flux-operator trace deploy/NAME`"),
    ("wait deploy/x", "use kubectl"),
    ("delete pod x", "use kubectl"),
    ("diff ks x", "`flux diff kustomization x --path DIR`"),
    ("plan ks/x", "`plan` does not support Kustomization"),
    ("build kustomization x", "`flux build kustomization x --path DIR`"),
    ("plan hr x", "`plan` does not support HelmRelease"),
    ("logs --kind=Kustomization --name=x", "`flux-operator logs Kustomization/x`"),
    ("logs --kind Kustomization --name x", "`flux-operator logs Kustomization/x`"),
    // A flag of FluxInstances without one.
    ("build -o images", "--filename <FILE>"),
    ("apply --yes", "--filename <FILE>"),
    ("apply --filname x", "did you mean '--filename'?"),
    ("plan --dif", "did you mean '--diff'?"),
    // Short words resemble little, and short names of kinds are short.
    ("get kz", "did you mean `ks`?"),
    ("suspend kz x", "did you mean `ks`?"),
    ("tree hz x", "did you mean `hr`?"),
    ("get inst", "did you mean `instance"),
    ("get compnents", "did you mean `components`?"),
    ("get kustomizatoin", "did you mean `kustomization`?"),
    ("build pod x", "`build` does not support Pod"),
    // Arguments that are missing are named in one line, and the help that shows them.
    ("create secret ssh x", "not provided: --private-key-file <FILE>"),
    ("create secret ssh x", "`flux-operator create secret ssh --help` shows how"),
    ("create secret ssh x --private-key-file id", "`ssh-keyscan HOST > known_hosts`"),
    ("status --color blue", "possible values: auto, always, never"),
    // A value without its flag, or with the flag of another program.
    ("distro images --version 2.9", "`flux-operator distribution images --version 2.9`"),
    ("distribution images 2.9.4", "did you mean `flux-operator distribution images --version 2.9.4`?"),
    ("bundle out.tar.gz", "did you mean `flux-operator bundle -o out.tar.gz`?"),
    ("artifact push oci://x/y:z tests", "`flux-operator artifact push oci://x/y:z -f tests`"),
    ("artifact pull oci://x/y:z -o a b", "`flux-operator artifact pull --help` shows how"),
    ("migrate tests --dry-run", "did you mean `flux-operator migrate -f tests --dry-run`?"),
    ("check Cargo.toml", "flux-operator check -f Cargo.toml"),
    ("history flux", "did you mean `flux-operator get history flux`?"),
    ("rollback --version v2.9.2", "`flux-operator rollback --to v2.9.2`"),
    ("status --contexts a b", "separate contexts with commas"),
    ("rbac status --service-account ci:bot", "`flux-operator rbac --service-account ci:bot status`"),
    ("rbac -n apps get ks --user=jane -A", "`flux-operator rbac --user=jane get ks -A`"),
    ("debug instance flux --values", "does not support --values for the kind FluxInstance"),
    // Several kinds where one is meant.
    ("why podinfo", "write KIND/NAME"),
    ("why ks,hr", "why looks at one kind at a time"),
];

/// Words that resemble no command, with a command that is not to be offered.
const UNLIKE: &[&str] = &["podinfo", "config", "foo"];

#[test]
fn a_word_unlike_every_command_gets_no_suggestion() {
    for line in UNLIKE {
        let run = run(&words(line)).exits(2);
        assert!(!run.stderr.contains("did you mean"), "{line}: {}", run.stderr);
    }
}

#[test]
fn environment_variables_do_not_change_the_usage_text() {
    for line in ["completion", "migrate", "rbac", "create instance", "create secret basic-auth", "plan ks"] {
        let plain = run(&words(line));
        let with = with_variable("FLUX_OPERATOR_TIMEOUT", "30s", line);
        assert_eq!((with.code, with.stdout, with.stderr), (plain.code, plain.stdout, plain.stderr), "{line}");
    }
}

#[test]
fn every_mistake_is_reported_with_a_correction() {
    for (line, says) in MISTAKES {
        let run = run(&words(line)).exits(2);
        assert!(run.stderr.contains(says), "{line}: {}", run.stderr);
        // The same form, whether the parser or this program found the mistake.
        assert!(!run.stderr.contains("tip:") && !run.stderr.contains("\n\n"), "{line}: {}", run.stderr);
        assert!(!run.stderr.contains("uninstall") && run.stdout.is_empty(), "{line}: {}", run.stderr);
    }
}

#[test]
fn an_empty_namespace_is_none_and_a_wrong_one_is_refused_at_once() {
    let written = |line: &[&str]| run(&[line, &["create", "instance", "--export"]].concat());
    let usual = written(&[]).exits(0).stdout;
    assert_eq!(written(&["-n", ""]).exits(0).stdout, usual);
    assert_eq!(with_variable("FLUX_OPERATOR_NAMESPACE", "", "create instance --export").stdout, usual);
    for wrong in ["team a", "Team", "a/b", "../x"] {
        written(&["-n", wrong]).exits(2).stderr_has("lower-case letters, digits and dashes");
    }
}

#[test]
fn a_file_with_a_resource_set_needs_the_noun() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("apps.yaml");
    let set =
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps}\nspec: {resources: []}\n";
    std::fs::write(&file, set).unwrap();
    let file = file.to_str().unwrap();
    let hint = |verb: &str| format!("for a ResourceSet use `flux-operator {verb} resourceset -f {file}`");
    run(&["build", "-f", file]).exits(2).stderr_has(&hint("build"));
    run(&["build", "instance", "-f", file]).exits(2).stderr_has(&hint("build"));
    run(&["apply", "-f", file, "--dry-run=client"]).exits(2).stderr_has(&hint("apply"));
}

#[test]
fn silent_flags_of_flux_are_answered_with_yes() {
    for line in ["uninstall --silent", "uninstall -s", "uninstall instance --silent"] {
        run(&words(line)).exits(2).stderr_has("--yes`?");
    }
    // A command that never asks has no such flag.
    let suspend = run(&words("suspend ks x --silent")).exits(2);
    assert!(!suspend.stderr.contains("--yes"), "{}", suspend.stderr);
    for line in ["plan --nope", "plan --nope --diff", "plan ks --diff"] {
        let run = run(&words(line)).exits(2);
        assert!(!run.stderr.contains("did you mean `flux-operator"), "{line}: {}", run.stderr);
    }
}

#[test]
fn a_version_that_is_not_released_causes_a_warning() {
    run(&["create", "instance", "--export", "--distribution-version", "99"])
        .exits(0)
        .stderr_has("no Flux version of this program fits 99");
    let usual = run(&["create", "instance", "--export", "--distribution-version", "2.9.x"]).exits(0);
    assert!(usual.stderr.is_empty(), "{}", usual.stderr);
}

#[test]
fn pages_and_help_show_the_options_the_examples_and_the_variables() {
    let page =
        |name: &str| std::fs::read_to_string(format!("{}/man/{name}.1", env!("CARGO_MANIFEST_DIR"))).expect("a page");
    let get = page("flux-operator-get");
    for text in ["User to impersonate", "Address of the API server", ".SH EXAMPLES"] {
        assert!(get.contains(text), "the page lacks {text}");
    }
    for text in [page("flux-operator"), run(&["--help"]).exits(0).stdout] {
        for variable in ["NAMESPACE", "OUTPUT", "TIMEOUT", "PROTECTED_CONTEXTS"] {
            assert!(text.contains(&format!("FLUX_OPERATOR_{variable}")), "{variable} is missing: {text}");
        }
    }
}

fn with_variable(name: &str, value: &str, line: &str) -> Run {
    command(&words(line)).env(name, value).output().expect("runs").into()
}

#[test]
fn the_error_for_an_invalid_variable_names_the_variable() {
    let line = format!("get all -A --from {DUMP}");
    with_variable("FLUX_OPERATOR_OUTPUT", "jsno", &line)
        .exits(2)
        .stderr_has("the variable FLUX_OPERATOR_OUTPUT has the value `jsno`")
        .stderr_has("did you mean json?");
    with_variable("FLUX_OPERATOR_TIMEOUT", "soon", &line).exits(2).stderr_has("the variable FLUX_OPERATOR_TIMEOUT");
    // A flag that is wrong itself is blamed as before.
    with_variable("FLUX_OPERATOR_OUTPUT", "jsno", &format!("{line} -o yml")).exits(2).stderr_has("--output");
}

#[test]
fn errors_are_json_wherever_json_is_asked_for() {
    for (name, value, line) in [
        ("FLUX_OPERATOR_OUTPUT", "json", "get ks"),
        ("X", "", "get ks -o json"),
        ("X", "", "wait ks app --progress json"),
        ("X", "", "wait ks app --progress=json"),
    ] {
        let run = with_variable(name, value, line).exits(6);
        let error: serde_json::Value =
            serde_json::from_str(&run.stderr).unwrap_or_else(|e| panic!("{line}: {e}: {}", run.stderr));
        assert_eq!(error["code"], 6, "{line}");
    }
    let plain = with_variable("FLUX_OPERATOR_OUTPUT", "json", "get ks -o table").exits(6);
    assert!(plain.stderr.starts_with("error: "), "{}", plain.stderr);
}

/// A line that ends where Tab is pressed, words that are offered, and words that are not.
const COMPLETIONS: &[(&str, &[&str], &[&str])] = &[
    ("", &["get", "plan", "status", "rbac"], &["diff", "--namespace", "--help"]),
    ("-", &["-n", "--context"], &["get"]),
    ("--", &["--namespace", "--help"], &["get"]),
    ("get ", &["instance", "all", "components", "kustomization", "gitrepository"], &["--namespace", "ks"]),
    ("suspend ", &["instance", "helmrelease"], &["kustomizations"]),
    ("get --n", &["--namespace"], &[]),
    ("get resources ", &["kustomization", "gitrepository"], &["kustomization/", "kustomizations", "--selector"]),
    ("get resources kustomizations", &["kustomizations"], &[]),
    ("get ks --sort-by ", &["name", "path", "source", "ready"], &["chart"]),
    ("get hr --sort-by ", &["chart", "version"], &["path"]),
    ("get hr --filter cha", &["chart="], &[]),
    ("get components --sort-by ", &["pods", "restarts"], &["path"]),
    ("get instance --sort-by ", &["version", "last-reconciled"], &["path"]),
    ("events --sort-by ", &["reason"], &["path"]),
    ("get components ", &["source-controller"], &["--namespace"]),
    ("explain ", &["instance", "kustomization"], &[]),
    ("explain instance.", &["instance.spec", "instance.status"], &[]),
    ("explain instance.spec.sy", &["instance.spec.sync"], &["instance.spec.distribution"]),
    ("explain ks.spec.sourceRef.", &["ks.spec.sourceRef.kind"], &[]),
    ("apply instance -f fl", &["flux.yaml"], &[]),
    ("delete instance -f fl", &["flux.yaml"], &[]),
    ("plan instance -f fl", &["flux.yaml"], &[]),
    ("get ks -o ", &["json", "yaml"], &[]),
    // Words that the grammar lets a line omit.
    ("plan -f flux.yaml --di", &["--diff", "--distribution"], &[]),
    ("apply -f fl", &["flux.yaml"], &[]),
    ("apply -f flux.yaml --in", &["--in-process"], &[]),
    ("delete -f flux.yaml --y", &["--yes"], &[]),
    ("diff -f flux.yaml --di", &["--distribution"], &[]),
    ("get ks/app --no", &["--no-headers"], &[]),
    ("get ks/app -o ", &["json", "yaml"], &[]),
    ("get ks,gitrepo --no", &["--no-headers"], &[]),
    ("get -A ks --no", &["--no-headers"], &[]),
    ("get source git --no", &["--no-headers"], &[]),
    ("get kustomizations.kustomize.toolkit.fluxcd.io --no", &["--no-headers"], &[]),
    ("-n apps get ks app --no", &["--no-headers"], &[]),
    ("reconcile ks/app --with", &["--with-source"], &[]),
    ("reconcile fluxinstance --in", &["--in-process"], &[]),
    ("resume --over", &["--overdue"], &[]),
    ("resume --overdue --w", &["--wait"], &[]),
    ("why ks/app --", &["--namespace"], &["--filename"]),
    ("get k", &["ks", "kustomization", "kustomizations"], &[]),
    ("get ks,gi", &["ks,gitrepo", "ks,gitrepository"], &[]),
    ("get source ", &["git", "oci", "helm", "chart", "bucket"], &["kustomization"]),
    ("get sources g", &["git"], &["gitrepository"]),
    ("events --for k", &["ks", "kustomization"], &[]),
    ("wait ks app --for=", &["--for=ready", "--for=create", "--for=delete"], &[]),
    ("wait --for=d", &["--for=delete"], &[]),
    ("apply --filename=fl", &["--filename=flux.yaml"], &[]),
    ("apply -f=fl", &["-f=flux.yaml"], &[]),
    // As bash hands it over.
    ("wait ks app --for = re", &["ready"], &["create"]),
    ("apply --filename = fl", &["flux.yaml"], &[]),
    ("get ks --kubeconfig kubeconfig --kube-context ", &["staging"], &[]),
    ("get ks --kubeconfig kubeconfig --kube-context=", &["--kube-context=staging"], &[]),
    ("get ks --kubeconfig kubeconfig --context arn : aws : eks : cl", &["cluster/prod"], &[]),
    ("get ks --kubeconfig kubeconfig --context = arn : a", &["aws:eks:cluster/prod"], &[]),
    // A command line behind a command.
    ("rbac ", &["get", "reconcile", "status"], &["rbac", "completion", "explain", "help", "--user"]),
    ("rbac --", &["--user", "--group", "--service-account", "--name", "--output", "--namespace"], &["--sort-by"]),
    ("rbac -o ", &["yaml", "json", "name"], &[]),
    ("rbac g", &["get"], &["help"]),
    ("rbac get ", &["instance", "components"], &[]),
    ("-n apps rbac --user jane -o name get ", &["instance", "components"], &[]),
    ("rbac get k", &["ks", "kustomization", "kustomizations"], &[]),
    ("rbac get source ", &["git", "oci", "helm", "chart", "bucket"], &["kustomization"]),
    ("rbac get ks --sort-by ", &["name", "path", "source"], &[]),
    ("rbac --name x get ks/app --no", &["--no-headers"], &["--user"]),
    ("rbac get ks -o ", &["wide", "json"], &[]),
    ("rbac reconcile ks/app --with", &["--with-source"], &[]),
    ("rbac plan -f fl", &["flux.yaml"], &[]),
    ("rbac --user jane plan -f flux.yaml --di", &["--diff", "--distribution"], &[]),
    ("rbac resume --over", &["--overdue"], &[]),
];

/// Lines without known candidates, where nothing may be offered: flags are offered only after a dash.
const NOTHING_KNOWN: &[&str] = &[
    "-n apps rbac get ks ",
    "rbac --user ",
    "get ks ",
    "get -A ks ",
    "tree instance ",
    "why instance ",
    "reconcile instance ",
];

/// Returns the candidates at the end of a line.
fn offered(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = "{apiVersion: v1, kind: Config, contexts: [{name: staging, context: {cluster: c, user: u}}, \
                      {name: 'arn:aws:eks:cluster/prod', context: {cluster: c, user: u}}]}";
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig).expect("written");
    std::fs::write(folder.path().join("flux.yaml"), "").expect("written");
    let mut typed: Vec<&str> = vec!["flux-operator"];
    typed.extend(line.split(' '));
    let index = (typed.len() - 1).to_string();
    let mut arguments = vec!["--"];
    arguments.extend(&typed);
    let mut completer = command(&arguments);
    completer.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", &index).env("_CLAP_COMPLETE_COMP_TYPE", "9");
    completer.env("_CLAP_COMPLETE_SPACE", "true").env("_CLAP_IFS", "\n");
    let output = completer.current_dir(folder.path()).output().expect("the binary runs");
    String::from_utf8_lossy(&output.stdout).lines().map(|word| word.trim_end().to_owned()).collect()
}

#[test]
fn tab_offers_commands_kinds_columns_fields_and_files() {
    for (line, wanted, unwanted) in COMPLETIONS {
        let found = offered(line);
        for word in *wanted {
            assert!(found.iter().any(|found| found == word), "`{line}` does not offer {word}: {found:?}");
        }
        for word in *unwanted {
            assert!(!found.iter().any(|found| found == word), "`{line}` offers {word}: {found:?}");
        }
    }
}

#[test]
fn flags_are_offered_after_a_dash_only() {
    for line in NOTHING_KNOWN {
        assert_eq!(offered(line), Vec::<String>::new(), "`{line}`");
    }
}

#[test]
fn short_help_does_not_refer_to_text_that_it_omits_and_names_the_time_limit() {
    for line in ["get instance", "reconcile instance", "wait resource", "status", "why", "plan instance"] {
        let mut arguments = words(line);
        arguments.push("-h");
        let help = run(&arguments).exits(0).stdout;
        assert!(!help.contains("see below"), "{help}");
        assert!(help.contains("5m where it") && help.contains("1m where it reads"), "{help}");
    }
}
