//! `tools/release.sh` and its programs: the parts of a release, most of them made of a stand-in for the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use flux_operator::oci::Layout;
use serde_json::Value;
use test_support::slow_tests::TimedTest;

use test_support::needs;

const TARGET: &str = "x86_64-unknown-linux-musl";

fn release(folder: &Path, to: &Path) {
    let authorities = folder.join("authorities.pem");
    std::fs::write(&authorities, "-----BEGIN CERTIFICATE-----\n").expect("written");
    let authorities = authorities.to_str().expect("UTF-8");
    run_tool("release", &release_arguments(folder, TARGET, to, &["--authorities", authorities]));
}

fn release_arguments(folder: &Path, target: &str, to: &Path, more: &[&str]) -> Vec<String> {
    let program = folder.join("program");
    std::fs::write(&program, "#!/bin/sh\necho it works\n").expect("written");
    let paths = [program.to_str(), to.to_str()].map(|path| path.expect("UTF-8"));
    let arguments = ["--program", paths[0], "--target", target, "--to", paths[1]];
    arguments.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn run_tool(name: &str, arguments: &[String]) {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked", "-p", "tools", "--bin", name, "--"])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn files(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>, below: &str) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => files(&entry.path(), found, &format!("{name}/")),
            false => drop(found.insert(name, std::fs::read(entry.path()).expect("read"))),
        }
    }
}

#[test]
#[ignore = "slow: it compiles the program that packs"]
fn a_release_installs_names_what_is_in_it_and_is_the_same_each_time() {
    let _timed = TimedTest::of("offline");
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    release(folder.path(), &one);
    release(folder.path(), &two);
    let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
    files(&one, &mut first, "");
    files(&two, &mut second, "");
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    assert!(first == second, "the same input gives the same bytes");

    let stem = format!("flux-operator-{}-{TARGET}", env!("CARGO_PKG_VERSION"));
    let to = folder.path().join("prefix/bin");
    let installed = Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh"))
        .arg("--archive")
        .arg(one.join(format!("{stem}.tar.gz")))
        .arg("--checksum")
        .arg(one.join(format!("{stem}.tar.gz.sha256")))
        .arg("--to")
        .arg(&to)
        .output()
        .expect("sh runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    for program in ["flux-operator", "kubectl-flux_operator"] {
        assert_eq!(Command::new(to.join(program)).output().expect("runs").stdout, b"it works\n", "{program}");
    }
    for file in [
        "man/man1/flux-operator-install.1",
        "zsh/site-functions/_flux-operator",
        "bash-completion/completions/flux-operator",
        "fish/vendor_completions.d/flux-operator.fish",
    ] {
        assert!(folder.path().join("prefix/share").join(file).is_file(), "{file}");
    }

    let bill: Value = serde_json::from_slice(&first[&format!("{stem}.cdx.json")]).expect("JSON");
    let components = bill["components"].as_array().expect("a list");
    let licence = |name: &str| {
        let found = components.iter().find(|one| one["name"] == name)?;
        Some(found["licenses"][0]["expression"].as_str().expect("a licence").to_owned())
    };
    assert_eq!(licence("kube").as_deref(), Some("Apache-2.0"));
    assert!(licence("aws-lc-sys").is_some() && licence("windows-sys").is_none() && licence("proptest").is_none());
    assert!(components.iter().all(|one| one["licenses"][0]["expression"].is_string()), "each has a licence");

    let layout = Layout::open(&one.join("image-amd64")).expect("a layout");
    let checked = layout.check().expect("every digest is right");
    assert_eq!((checked.manifests, checked.blobs), (1, 2));
    let (name, descriptor) = layout.names().expect("names").remove(0);
    assert_eq!(name, concat!("v", env!("CARGO_PKG_VERSION")));
    let manifest: Value = serde_json::from_slice(&layout.read_blob(&descriptor, 1 << 20).expect("read")).expect("JSON");
    let digest = manifest["config"]["digest"].as_str().expect("a digest").trim_start_matches("sha256:");
    let config: Value = serde_json::from_slice(&first[&format!("image-amd64/blobs/sha256/{digest}")]).expect("JSON");
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Cmd"][0], "controller");
    assert_eq!(first["rootfs/usr/local/bin/flux-operator"], b"#!/bin/sh\necho it works\n");
}

/// Compiles only the packages of this project, twice, as `tools/release.sh` tells rustc to, but unoptimised. Compiled crates
/// of others are linked from the folder of this build: what a release does about their folders is not tested here. As in a
/// release, there is no debug information, so that the builds take a fifth less time.
#[test]
#[ignore = "slow: it compiles the program twice"]
fn two_builds_of_a_commit_in_two_folders_give_the_same_bytes() {
    let _timed = TimedTest::of("offline");
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // Cargo makes the path of the wrapper part of what it calls the crates, so both builds have the same.
    let wrapper = folder.path().join("rustc-of-a-release");
    std::fs::write(&wrapper, "#!/bin/sh\nexec \"$@\" $RELEASE_FLAGS\n").expect("written");
    output_of(Command::new("chmod").arg("+x").arg(&wrapper));
    let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder for results").join("debug");
    let programs = ["a", "another/folder/with-a-longer-path"].map(|name| {
        let sources = folder.path().join(name);
        let mut checkout = Command::new("git");
        checkout.args(["-C", env!("CARGO_MANIFEST_DIR"), "checkout-index", "--all"]);
        output_of(checkout.arg(format!("--prefix={}/", sources.display())));
        let results = sources.join("target");
        std::fs::create_dir_all(results.join("debug")).expect("made");
        output_of(
            Command::new("sh").args(["-c", LINK_COMPILED_CRATES, "sh"]).arg(&compiled).arg(results.join("debug")),
        );
        let script = sources.join("tools/release.sh");
        let flags = output_of(Command::new(script).arg("--print-flags").env("CARGO_TARGET_DIR", &results));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--bin", "flux-operator"]).current_dir(&sources);
        cargo.env("CARGO_TARGET_DIR", &results).env("CARGO_INCREMENTAL", "0");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        output_of(cargo.env("RUSTC_WORKSPACE_WRAPPER", &wrapper).env("RELEASE_FLAGS", flags.trim()));
        std::fs::read(results.join("debug/flux-operator")).expect("the program")
    });
    let path = folder.path().to_str().expect("UTF-8");
    assert!(!contains(&programs[0], path), "the program names the folder in which it was built");
    assert!(programs[0] == programs[1], "two folders give two programs");
}

/// A file that another build removes in the meantime is compiled again.
const LINK_COMPILED_CRATES: &str = "cp -al \"$1/deps\" \"$1/build\" \"$1/.fingerprint\" \"$2\" 2>/dev/null
    find \"$2\" -depth -name '*flux[-_]operator*' -exec rm -rf {} +";

#[test]
#[ignore = "slow: it compiles the programs that pack"]
fn manifests_of_package_managers_name_the_archives_of_every_system_with_their_checksums() {
    let _timed = TimedTest::of("offline");
    let folder = tempfile::tempdir().expect("a folder");
    let (archives, manifests) = (folder.path().join("archives"), folder.path().join("manifests"));
    let targets = [
        "aarch64-apple-darwin",
        "aarch64-unknown-linux-musl",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-gnu",
        "x86_64-unknown-linux-musl",
    ];
    for target in targets {
        run_tool("release", &release_arguments(folder.path(), target, &archives, &[]));
    }
    let url = "https://example.com/flux-operator/releases/download/v1";
    let paths = [&archives, &manifests].map(|path| path.to_str().expect("UTF-8"));
    let arguments = ["--archives", paths[0], "--url", url, "--to", paths[1]];
    run_tool("package-manifests", &arguments.map(str::to_owned));
    let manifest = |name: &str| std::fs::read_to_string(manifests.join(name)).expect("written");
    let (formula, krew, scoop) =
        (manifest("flux-operator.rb"), manifest("flux-operator.yaml"), manifest("flux-operator.json"));

    let krew = flux_operator::format::yaml::parse_one(&krew).expect("YAML");
    let platforms = krew["spec"]["platforms"].as_array().expect("a list").clone();
    assert_eq!(platforms.len(), targets.len());
    for target in targets {
        let ending = if target.contains("windows") { "zip" } else { "tar.gz" };
        let file = format!("flux-operator-{}-{target}.{ending}", env!("CARGO_PKG_VERSION"));
        let line = std::fs::read_to_string(archives.join(format!("{file}.sha256"))).expect("a checksum");
        let checksum = line.split(' ').next().expect("a checksum");
        let platform = platforms.iter().find(|one| one["uri"] == format!("{url}/{file}")).expect("every archive");
        assert_eq!(platform["sha256"], checksum, "{file}");
        let names_it = |text: &str| text.contains(&format!("{url}/{file}")) && text.contains(checksum);
        assert_eq!(names_it(&scoop), target.contains("windows"), "{scoop}");
        assert_eq!(names_it(&formula), !target.contains("windows"), "{formula}");
    }

    // Krew itself takes the archive and the manifest, and links the plugin; kubectl finds it on the path.
    let go = "`go install sigs.k8s.io/krew/cmd/krew@v0.4.3 sigs.k8s.io/krew/cmd/validate-krew-manifest@v0.4.3`";
    if needs::has_programs(&["krew", "validate-krew-manifest", "kubectl"], go) {
        let manifest = manifests.join("flux-operator.yaml");
        let mut checked = Command::new("validate-krew-manifest");
        output_of(checked.arg("-skip-install").arg("-manifest").arg(&manifest));
        let archive = archives.join(format!("flux-operator-{}-{TARGET}.tar.gz", env!("CARGO_PKG_VERSION")));
        let root = folder.path().join("krew");
        let mut krew = Command::new("krew");
        krew.args(["install", "--manifest"]).arg(&manifest).arg("--archive").arg(archive).env("KREW_ROOT", &root);
        output_of(&mut krew);
        let mut folders = vec![root.join("bin")];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(folders).expect("folders");
        assert_eq!(output_of(Command::new("kubectl").arg("flux-operator").env("PATH", path)), "it works\n");
    }

    // Homebrew reads the formula as Ruby with methods of its own, for each system and processor.
    if needs::has_programs(&["ruby"], "the package ruby") {
        let reader = folder.path().join("formula.rb");
        std::fs::write(&reader, FORMULA_READER).expect("written");
        for (system, processor, target) in [
            ("macos", "arm", "aarch64-apple-darwin"),
            ("macos", "intel", "x86_64-apple-darwin"),
            ("linux", "arm", "aarch64-unknown-linux-musl"),
            ("linux", "intel", "x86_64-unknown-linux-musl"),
        ] {
            let formula = manifests.join("flux-operator.rb");
            let read = output_of(Command::new("ruby").arg(&reader).arg(formula).args([system, processor]));
            let archive = archives.join(format!("flux-operator-{}-{target}.tar.gz", env!("CARGO_PKG_VERSION")));
            let checksum = std::fs::read_to_string(format!("{}.sha256", archive.display())).expect("a checksum");
            let expected = format!("{url}/{} {}", archive.file_name().expect("a name").display(), &checksum[..64]);
            assert_eq!(read.lines().next(), Some(expected.as_str()), "{system} {processor}");
            assert!(read.contains("bin.install flux-operator"), "{read}");
        }
    }

    // The members of Scoop's schema that every manifest has, and those that an archive with a folder needs.
    let scoop: Value = serde_json::from_str(&scoop).expect("JSON");
    for member in ["version", "description", "homepage", "license", "architecture", "bin"] {
        assert!(!scoop[member].is_null(), "{member}");
    }
    let hash = scoop["architecture"]["64bit"]["hash"].as_str().expect("a hash");
    assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
    let archive = archives.join(format!("flux-operator-{}-x86_64-pc-windows-gnu.zip", env!("CARGO_PKG_VERSION")));
    let program =
        [&scoop["architecture"]["64bit"]["extract_dir"], &scoop["bin"]].map(|part| part.as_str().expect("text"));
    let names = std::fs::read(archive).expect("the archive");
    assert!(contains(&names, &program.join("/")), "the program is where the manifest says");
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Enough of Homebrew to read a formula: it prints the address, the checksum and what would be installed.
const FORMULA_READER: &str = r##"
class Recorder
  def initialize(name) = @name = name
  def method_missing(method, *words) = puts("#{@name}.#{method} #{words.join(' ')}")
  def respond_to_missing?(*) = true
end
class Formula
  SYSTEM, PROCESSOR = ARGV[1], ARGV[2]
  class << self
    attr_reader :archive
    def desc(text) = text.length > 80 ? raise("too long: #{text}") : text
    def homepage(text) = text
    def version(text = nil) = text
    def license(text) = text
    def url(text) = @archive = [text]
    def sha256(text) = @archive << text
    def test = nil
    def on_macos = (yield if SYSTEM == "macos")
    def on_linux = (yield if SYSTEM == "linux")
    def on_arm = (yield if PROCESSOR == "arm")
    def on_intel = (yield if PROCESSOR == "intel")
  end
  %i[bin man1 bash_completion zsh_completion fish_completion].each { |name| define_method(name) { Recorder.new(name) } }
end
load ARGV[0]
puts FluxOperator.archive.join(" ")
FluxOperator.new.install
"##;

/// Runs a program that has to succeed, and returns what it printed.
fn output_of(command: &mut Command) -> String {
    let output = command.output().expect("the program is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
#[ignore = "slow: it compiles the program that packs"]
fn packages_hold_what_the_archive_holds_install_and_are_removed_without_a_trace() {
    let _timed = TimedTest::of("offline");
    let tools = ["cargo-deb", "cargo-generate-rpm", "dpkg", "rpm"];
    if !needs::has_programs(&tools, "`cargo install --locked cargo-deb cargo-generate-rpm`, and the package rpm") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let archives = folder.path().join("archives");
    release(folder.path(), &archives);
    let stem = format!("flux-operator-{}-{TARGET}", env!("CARGO_PKG_VERSION"));
    let packages: Vec<_> = ["one", "two"].iter().map(|name| folder.path().join(name)).collect();
    for to in &packages {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tools/packages.sh");
        let archive = archives.join(format!("{stem}.tar.gz"));
        output_of(Command::new(script).arg("--archive").arg(archive).arg("--to").arg(to));
    }
    let (deb, rpm) = (packages[0].join(format!("{stem}.deb")), packages[0].join(format!("{stem}.rpm")));
    for package in [&deb, &rpm] {
        let name = package.file_name().expect("a name");
        let again = std::fs::read(packages[1].join(name)).expect("the second");
        assert!(std::fs::read(package).expect("the first") == again, "the same archive gives the same {name:?}");
        let checksum = format!("{}.sha256", name.display());
        output_of(Command::new("sha256sum").arg("--check").arg(checksum).current_dir(&packages[0]));
    }

    let field = |name: &str| output_of(Command::new("dpkg-deb").arg("--field").arg(&deb).arg(name)).trim().to_owned();
    assert_eq!((field("Package"), field("Version")), ("flux-operator".into(), env!("CARGO_PKG_VERSION").into()));
    assert_eq!((field("Architecture"), field("Depends")), ("amd64".into(), String::new()));
    let root = folder.path().join("root");
    for below in ["updates", "info", "triggers"] {
        std::fs::create_dir_all(root.join("var/lib/dpkg").join(below)).expect("made");
    }
    std::fs::write(root.join("var/lib/dpkg/status"), "").expect("written");
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).args(["--force-not-root", "--force-architecture"]);
        output_of(command.arg("--log=/dev/null").args(arguments))
    };
    dpkg(&["--install", deb.to_str().expect("UTF-8")]);
    for program in ["flux-operator", "kubectl-flux_operator", "kubectl_complete-flux_operator"] {
        assert_eq!(output_of(&mut Command::new(root.join("usr/bin").join(program))), "it works\n", "{program}");
    }
    let copyright = std::fs::read_to_string(root.join("usr/share/doc/flux-operator/copyright")).expect("the licence");
    assert!(copyright.contains("Apache License"), "{copyright}");
    let files_of_deb: BTreeSet<String> = dpkg(&["--listfiles", "flux-operator"]).lines().map(str::to_owned).collect();
    dpkg(&["--purge", "flux-operator"]);
    let (mut left, mut whole) = (BTreeMap::new(), root.clone());
    whole.push("usr");
    if whole.exists() {
        files(&whole, &mut left, "");
    }
    assert!(left.is_empty(), "{:?}", left.keys());

    let query = |arguments: &[&str]| output_of(Command::new("rpm").arg("-qp").args(arguments).arg(&rpm));
    let labels = query(&["--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE}"]);
    assert_eq!(labels, concat!("flux-operator ", env!("CARGO_PKG_VERSION"), " x86_64 Apache-2.0"));
    let files_of_rpm: BTreeSet<String> = query(&["-l"]).lines().map(str::to_owned).collect();
    // The scripts, in a folder that stands for the system: an upgrade keeps the links, a removal takes them.
    let system = folder.path().join("system");
    std::fs::create_dir(&system).expect("made");
    let script = |tag: &str, count: &str| {
        let text = query(&["--queryformat", tag]).replace("/usr/bin", system.to_str().expect("UTF-8"));
        output_of(Command::new("sh").args(["-ec", &text, "sh", count]));
        std::fs::read_dir(&system).expect("the folder").count()
    };
    assert_eq!((script("%{POSTIN}", "1"), script("%{POSTUN}", "1"), script("%{POSTUN}", "0")), (2, 2, 0));

    let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/man")).expect("the manual");
    let mut expected: Vec<String> =
        pages.flatten().map(|page| format!("/usr/share/man/man1/{}", page.file_name().display())).collect();
    expected.extend(
        [
            "/usr/bin/flux-operator",
            "/usr/share/bash-completion/completions/flux-operator",
            "/usr/share/fish/vendor_completions.d/flux-operator.fish",
            "/usr/share/doc/flux-operator/README.md",
            "/usr/share/doc/flux-operator/bill-of-materials.cdx.json",
        ]
        .map(str::to_owned),
    );
    for file in expected {
        assert!(files_of_rpm.contains(&file), "{file}: {files_of_rpm:?}");
        let is_there = files_of_deb.contains(&file) || files_of_deb.contains(&format!("{file}.gz"));
        assert!(is_there, "{file}: {files_of_deb:?}");
    }
    assert!(files_of_deb.contains("/usr/share/zsh/vendor-completions/_flux-operator"), "{files_of_deb:?}");
    for file in ["/usr/share/zsh/site-functions/_flux-operator", "/usr/share/licenses/flux-operator/LICENSE"] {
        assert!(files_of_rpm.contains(file), "{files_of_rpm:?}");
    }
}
