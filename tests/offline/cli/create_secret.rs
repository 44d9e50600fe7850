//! `create secret`: credentials in, manifests out.

use crate::cli::support::{run, run_with_input};

const BASIC_AUTH: [&str; 5] = ["create", "secret", "basic-auth", "git", "--export"];

fn basic_auth(arguments: &[&str]) -> Vec<String> {
    BASIC_AUTH.iter().chain(arguments).map(ToString::to_string).collect()
}

#[test]
fn a_bearer_token_is_written_under_the_key_that_flux_reads() {
    let words = basic_auth(&["--bearer-token-stdin"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = run_with_input(&words, "ghp_canary\n").exits(0);
    let secret = &flux_operator::format::yaml::parse_documents(&run.stdout).expect("YAML")[0];
    assert_eq!(secret["stringData"], serde_json::json!({"bearerToken": "ghp_canary"}), "{secret}");
    // The API server refuses a Secret of type kubernetes.io/basic-auth without a user name and a password.
    assert!(secret.get("type").is_none_or(|name| name == "Opaque"), "{secret}");
    assert!(run.stderr.is_empty(), "{}", run.stderr);
    run_with_input(&words, "two words\n").exits(1).stderr_has("white space");
    run_with_input(&words, "").exits(2).stderr_has("bearer token is required");
}

#[test]
fn a_bearer_token_excludes_a_user_name_which_is_required_otherwise() {
    for arguments in [
        &[][..],
        &["--password-stdin"],
        &["--bearer-token-stdin", "--username", "u"],
        &["--bearer-token-stdin", "--password-stdin"],
        &["--bearer-token-stdin", "--bearer-token-file", "f"],
    ] {
        let words = basic_auth(arguments);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run(&words).exits(2);
    }
}

#[test]
fn a_git_token_in_the_place_of_the_token_for_the_api_server_is_refused() {
    let reported = "--token signs in to the API server";
    for token in [&["--token", "ghp_canary"][..], &["--token=ghp_canary"]] {
        let words = basic_auth(&[token, &["--username", "u", "--password-stdin"]].concat());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = run_with_input(&words, "p\n").exits(2).stderr_has(reported).stderr_has("--bearer-token-stdin");
        assert!(!run.stderr.contains("canary"), "{}", run.stderr);
    }
    let registry =
        ["create", "secret", "registry", "r", "--server", "ghcr.io", "--username", "u", "--password-stdin", "--export"];
    run_with_input(&[&registry[..], &["--token", "x"]].concat(), "p\n").exits(2).stderr_has(reported);
    // The token of the API server has a spelling of its own.
    run_with_input(&[&registry[..], &["--kube-token", "x"]].concat(), "p\n").exits(0);
}
