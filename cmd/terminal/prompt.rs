//! Reads secrets from a hidden prompt, standard input, a file or a variable. They never appear in logs or errors.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use flux_operator::secrets::SecretText;
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use crate::terminal::{CliError, Exit, SecretArg, Shell, unopened};

/// More than any Secret can contain; an endless stream must not fill the memory.
const LONGEST_INPUT: u64 = 2 * flux_operator::secrets::MAX_BYTES as u64;

/// The source of a secret.
#[derive(Clone, Debug)]
pub enum SecretSource {
    /// A flag, readable by everyone on this machine while the command runs.
    Flag(SecretArg),
    Stdin,
    File(PathBuf),
    Environment(String),
}

impl SecretSource {
    /// Reads the secret; `flag` is the flag's name for messages.
    ///
    /// # Errors
    /// Usage: the file cannot be read, or the source has too many lines, or is not text; failed: standard input cannot
    /// be read.
    pub async fn read(&self, shell: &Shell, flag: &str, lines: SecretLines) -> Result<SecretText, CliError> {
        match self {
            // In other programs a dash means standard input. Taken literally it would become the password.
            SecretSource::Flag(text) if text.secret().expose_secret() == "-" => {
                Err(CliError::usage(format!("--{flag} -: a dash is not accepted as a secret; use standard input"))
                    .hint(format!("read it from standard input with --{flag}-stdin")))
            }
            SecretSource::Flag(text) => {
                // Documented command lines use the flag, so scripts use it, too. Only a person at a terminal gets a
                // warning.
                if shell.stderr_is_terminal() {
                    shell.warn(&format!(
                        "other users of this machine can see --{flag} while the command runs: \
                         --{flag}-stdin, --{flag}-file and --{flag}-env hide it"
                    ));
                }
                Ok(text.secret().into())
            }
            SecretSource::Stdin => without_line_end(&stdin(shell).await?, "standard input", lines),
            SecretSource::File(path) => without_line_end(&file(path, shell).await?, &path.display().to_string(), lines),
            SecretSource::Environment(name) => {
                let value = std::env::var_os(name).ok_or_else(|| {
                    CliError::usage(format!("the environment variable {name} is not set"))
                        .hint(format!("set it, or give the secret with --{flag}-stdin or --{flag}-file"))
                })?;
                let bytes = Zeroizing::new(value.into_encoded_bytes());
                without_line_end(&bytes, &format!("the environment variable {name}"), lines)
            }
        }
    }
}

/// Reads standard input to its end.
pub async fn stdin(shell: &Shell) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let stdin = shell.stdin("the secret")?;
    let read = shell.read_input("standard input", move || read(stdin.lock())).await?;
    read.map_err(|error| CliError::failed("cannot read standard input").caused_by(&error))
}

/// Reads a file that is stored in a Secret unchanged.
pub async fn file(path: &Path, shell: &Shell) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let file = path.to_owned();
    let read = shell.read_input(&path.display().to_string(), move || File::open(file).and_then(read)).await?;
    read.map_err(|error| unopened(path, &error))
}

fn read(input: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![]);
    input.take(LONGEST_INPUT).read_to_end(&mut bytes).map(|_| bytes)
}

/// The allowed number of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretLines {
    One,
    /// Several lines only for a JSON object: the key files of Google's registries are passwords.
    OneOrJson,
}

/// Removes the last line end; every other character is kept, including spaces.
fn without_line_end(bytes: &[u8], origin: &str, lines: SecretLines) -> Result<SecretText, CliError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CliError::usage(format!("{origin} is not text in UTF-8")))?;
    let line = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    let is_json = || serde_json::from_str::<std::collections::HashMap<String, serde::de::IgnoredAny>>(line).is_ok();
    if line.contains(['\n', '\r']) && !(lines == SecretLines::OneOrJson && is_json()) {
        return Err(CliError::usage(format!("{origin} holds more than one line"))
            .hint("a password is one line, without its line ending"));
    }
    Ok(line.into())
}

/// Asks for a new secret twice, hidden.
///
/// # Errors
/// Usage without a terminal; failed when the answers differ.
pub async fn ask_twice(what: &str, flag: &str) -> Result<SecretText, CliError> {
    let first = ask_once(what, flag).await?;
    let second = hidden(format!("Repeat the {what}: ")).await?;
    if first != second {
        return Err(CliError::failed(format!("the two answers for the {what} differ")).hint("nothing was written"));
    }
    Ok(first)
}

/// Asks for an existing secret, hidden.
pub async fn ask_once(what: &str, flag: &str) -> Result<SecretText, CliError> {
    if !can_ask() {
        return Err(CliError::usage(format!("no {what} given and no terminal to prompt on"))
            .hint(format!("give it with --{flag}-stdin, --{flag}-file FILE or --{flag}-env NAME")));
    }
    hidden(format!("Enter the {what}: ")).await
}

/// Whether a user at a terminal can answer.
pub fn can_ask() -> bool {
    io::stdin().is_terminal()
}

async fn hidden(prompt: String) -> Result<SecretText, CliError> {
    let failed = |e: &(dyn std::error::Error + 'static)| CliError::failed("cannot read from the terminal").caused_by(e);
    // An interrupt drops this with the future, which restores the terminal while the reading thread still waits.
    let quiet = QuietTerminal::new().map_err(|e| failed(&e))?;
    let ask = quiet.asker().map_err(|e| failed(&e))?;
    let answer = tokio::task::spawn_blocking(move || ask(prompt).map(SecretText::from)).await;
    match answer.map_err(|e| failed(&e))? {
        Ok(answer) => Ok(answer),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
            Err(CliError::new(Exit::Interrupted, "interrupted: nothing was changed"))
        }
        Err(e) => Err(failed(&e)),
    }
}

/// Disables echo and control characters of the terminal until it is dropped; then it restores the mode and ends the
/// prompt's line.
///
/// The library would do this on its own thread, which does not end at a signal. It gets plain files, so that only this
/// type changes the terminal.
#[cfg(unix)]
struct QuietTerminal {
    terminal: std::fs::File,
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl QuietTerminal {
    fn new() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
        let terminal = std::fs::File::options().read(true).write(true).open("/dev/tty")?;
        let before = tcgetattr(&terminal)?;
        let mut quiet = before.clone();
        // Read character by character: in the terminal's own mode a line ends after 4,096.
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Now, &quiet)?;
        Ok(QuietTerminal { terminal, before })
    }

    /// Returns a function that prints a prompt and reads the answer.
    fn asker(&self) -> io::Result<impl FnOnce(String) -> io::Result<String> + Send + use<>> {
        let (input, output) = (self.terminal.try_clone()?, self.terminal.try_clone()?);
        Ok(move |prompt| {
            let config = rpassword::ConfigBuilder::new().input_reader(input).output_writer(output).build();
            rpassword::prompt_password_with_config(prompt, config)
        })
    }
}

#[cfg(unix)]
impl Drop for QuietTerminal {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        // A closed terminal needs no restoring.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        // Enter was not echoed, so the cursor is still behind the prompt.
        let _ = io::Write::write_all(&mut &self.terminal, b"\n");
    }
}

#[cfg(not(unix))]
struct QuietTerminal;

#[cfg(not(unix))]
impl QuietTerminal {
    fn new() -> io::Result<Self> {
        Ok(QuietTerminal)
    }

    fn asker(&self) -> io::Result<impl FnOnce(String) -> io::Result<String> + Send + use<>> {
        Ok(|prompt: String| rpassword::prompt_password(prompt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Option<Vec<u8>> {
        without_line_end(bytes, "x", SecretLines::One).ok().map(|text| text.expose().to_vec())
    }

    #[test]
    fn only_the_last_line_end_is_removed() {
        for (input, secret) in
            [("a b ", "a b "), (" a\n", " a"), ("a\r\n", "a"), ("\t\n", "\t"), ("", ""), ("\n", ""), ("ü\n", "ü")]
        {
            assert_eq!(line(input.as_bytes()), Some(secret.as_bytes().to_vec()), "{input:?}");
        }
    }

    #[test]
    fn a_json_key_may_have_several_lines_where_allowed() {
        let key = "{\n  \"type\": \"service_account\",\n  \"private_key\": \"-----BEGIN\\nMIIE\\n\"\n}";
        let read = |text: &str, lines| without_line_end(text.as_bytes(), "x", lines).ok();
        for end in ["", "\n", "\r\n"] {
            assert_eq!(read(&format!("{key}{end}"), SecretLines::OneOrJson), Some(key.into()), "{end:?}");
        }
        assert_eq!(read(key, SecretLines::One), None);
        for text in ["a\nb", "{\n\"a\"", "[\n1]", "\"a\nb\""] {
            assert_eq!(read(text, SecretLines::OneOrJson), None, "{text:?}");
        }
    }

    #[test]
    fn several_lines_and_other_bytes_are_refused() {
        for input in [&b"a\nb"[..], b"a\n\n", b"a\rb", b"\xff"] {
            assert_eq!(line(input), None, "{input:?}");
        }
    }
}
