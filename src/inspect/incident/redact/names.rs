//! Decides which names of fields, variables, headers and flags are those of credentials. Pure.
//!
//! Every part of the redactor uses this function, so that `adminPassword: x` in an object, `ADMIN_PASSWORD=x` in a log
//! and `--admin-password x` in arguments are treated alike.

/// Endings of names, as one lower-case word.
const ENDINGS: [&str; 64] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passphrases",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
    "credential",
    "credentials",
    "authorization",
    "apikey",
    "apikeys",
    "appkey",
    "applicationkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "encryptionkey",
    "decryptionkey",
    "signingkey",
    "masterkey",
    "accountkey",
    "storagekey",
    "sharedkey",
    "sharedaccesssignature",
    "authkey",
    "sessionkey",
    "licensekey",
    "licencekey",
    "deploykey",
    "sshkey",
    "rsakey",
    "clientkey",
    "clientkeydata",
    "serverkey",
    "tlskey",
    "rootkey",
    "adminkey",
    "hmackey",
    "aeskey",
    "subscriptionkey",
    "integrationkey",
    "routingkey",
    "ingestionkey",
    "writekey",
    "functionkey",
    "webhookkey",
    "unsealkey",
    "recoverykey",
    "xkey",
    "connectionstring",
    "connstring",
    "connstr",
    "dsn",
    "webhookurl",
    "hookurl",
    "dockerconfigjson",
    "dockercfg",
    "htpasswd",
    "mnemonic",
];
/// Last words of names; as endings of longer words they mean something else (`bypass`, `spin`).
const WORDS: [&str; 17] = [
    "pass",
    "pw",
    "pin",
    "psk",
    "auth",
    "creds",
    "cred",
    "cookie",
    "sig",
    "signature",
    "sas",
    "jwt",
    "otp",
    "totp",
    "pgpass",
    "netrc",
    "bearer",
];
/// Words that only end in `pass`.
const NOT_A_PASSWORD: [&str; 7] = ["bypass", "compass", "encompass", "trespass", "surpass", "overpass", "underpass"];
/// Names of references to Secrets instead of their content.
const REFERENCES: [&str; 10] = [
    "pullsecret",
    "pullsecrets",
    "existingsecret",
    "tlssecret",
    "certsecret",
    "casecret",
    "agesecret",
    "registrysecret",
    "verifysecret",
    "proxysecret",
];
/// Qualifiers after the decisive word: `PASSWORD_OLD`, `tokenValue`, `secretHash`.
const QUALIFIERS: [&str; 19] = [
    "value", "data", "text", "string", "base64", "b64", "encoded", "plain", "raw", "hash", "old", "new", "current",
    "previous", "next", "prod", "dev", "bcrypt", "default",
];
/// Parameters of signed addresses whose names mean nothing elsewhere.
const QUERY_PARAMETERS: [&str; 12] = [
    "key",
    "code",
    "sign",
    "sid",
    "session",
    "ticket",
    "assertion",
    "x-amz-credential",
    "x-goog-credential",
    "awsaccesskeyid",
    "ossaccesskeyid",
    "googleaccessid",
];

/// Whether a value with this name is a credential.
pub(super) fn names_credential(name: &str) -> bool {
    // `KEY` and `X_KEY` are variables with a key, but `key` is the name of an entry everywhere in Kubernetes.
    let is_variable = name.len() >= 3 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut words = words(name);
    if is_variable && words.last().is_some_and(|word| word == "key") {
        return true;
    }
    // A number counts several credentials: `PASSWORD2`.
    while let Some(last) = words.last().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()) {
        let joined = words.concat();
        let joined = joined.trim_end_matches(|c: char| c.is_ascii_digit());
        // Before the endings: `pullSecret` ends like a credential, too.
        if REFERENCES.iter().any(|reference| joined.ends_with(reference)) {
            return false;
        }
        let is_password = last.ends_with("pass") && !NOT_A_PASSWORD.contains(&last.as_str());
        if is_password || WORDS.contains(&last.as_str()) || ENDINGS.iter().any(|ending| joined.ends_with(ending)) {
            return true;
        }
        if !last.is_empty() && !QUALIFIERS.contains(&last.as_str()) {
            return false;
        }
        words.pop();
    }
    false
}

/// Whether a query parameter is a credential.
pub(super) fn names_query_credential(name: &str) -> bool {
    QUERY_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) || names_credential(name)
}

/// Whether the value of a name may be the name of a Secret: a field called `secret` is often a reference.
pub(super) fn may_refer_to_secret(name: &str) -> bool {
    let joined = words(name).concat();
    ["secret", "secrets", "credential", "credentials", "auth"].iter().any(|ending| joined.ends_with(ending))
}

/// Splits `someName`, `SOME_NAME`, `some-name` and `some.name` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut before = ' ';
    for c in name.chars() {
        if c.is_alphanumeric() {
            let begins = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
            if begins || words.is_empty() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_known_in_every_spelling() {
        for name in [
            "password",
            "adminPassword",
            "ADMIN_PASSWORD",
            "db-pass",
            "PGPASSWORD",
            "password2",
            "PASSWORD_OLD",
            "pwd",
            "passphrase",
            "clientSecret",
            "client_secret",
            "token",
            "X-Auth-Token",
            "accessToken",
            "apiKey",
            "API_KEY",
            "x-api-key",
            "KEY",
            "STRIPE_KEY",
            "secretAccessKey",
            "private.key",
            "Authorization",
            "auth",
            "cookie",
            "Set-Cookie",
            "AccountKey",
            "connectionString",
            "dsn",
            "sig",
            "tokenValue",
            "passwordHash",
            ".dockerconfigjson",
            "client-key-data",
            "webhookUrl",
            "MYSQL_ROOT_PASSWORD",
            "credentials",
            "dbpass",
            "HMAC_KEY",
            "SharedAccessKey",
        ] {
            assert!(names_credential(name), "{name}");
        }
        for name in [
            "name",
            "key",
            "secretName",
            "secretRef",
            "secretKeyRef",
            "imagePullSecrets",
            "pullSecret",
            "existingSecret",
            "tokenExpirationSeconds",
            "passwordFile",
            "tokenPath",
            "valuesKey",
            "bypass",
            "compass",
            "monkey",
            "username",
            "image",
            "hostname",
            "lastAppliedRevision",
            "keyring",
            "author",
            "authentication",
            "sops-age-secret",
            "id",
            "serviceAccountName",
            "publicKey",
            "spin",
            "design",
        ] {
            assert!(!names_credential(name), "{name}");
        }
    }
}
