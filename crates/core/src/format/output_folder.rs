//! An output folder for files of foreign origin.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path};

use super::whole_file::WholeFile;

/// Writes a file below a folder atomically. It never follows a symbolic link inside the folder and never writes outside
/// of it. Missing folders are created.
///
/// # Errors
/// The file cannot be written, a part of its path is not a folder, or the path leads out of the folder.
pub fn write_below(dir: &Path, relative: &Path, bytes: &[u8], is_executable: bool) -> io::Result<()> {
    let refused = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
    if let Some(part) = relative.components().find(|part| !matches!(part, Component::Normal(_))) {
        let part = part.as_os_str().display();
        return Err(refused(format!(
            "{} has the part `{part}`, which may point outside of the folder",
            relative.display()
        )));
    }
    let Some(name) = relative.file_name() else { return Err(refused("a file without a name".to_owned())) };
    fs::create_dir_all(dir)?;
    let mut folder = dir.to_owned();
    for part in relative.parent().into_iter().flat_map(Path::components) {
        folder.push(part);
        // `metadata` would follow a link, which may lead out of the folder.
        match fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let problem = format!("{} is not a folder", folder.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, problem));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&folder)?,
            Err(error) => return Err(error),
        }
    }
    // A rename replaces a link instead of following it.
    let mut whole = WholeFile::of_usual_mode(&folder.join(name))?;
    whole.file().write_all(bytes)?;
    if is_executable {
        make_executable(whole.file())?;
    }
    whole.replace()
}

#[cfg(unix)]
fn make_executable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_in_the_folder_are_not_followed() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let target = elsewhere.path().join("precious");
        fs::write(&target, "mine").unwrap();
        fs::create_dir(folder.path().join("flux")).unwrap();
        symlink(&target, folder.path().join("flux/rbac.yaml")).unwrap();
        write_below(folder.path(), Path::new("flux/rbac.yaml"), b"new", false).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.path().join("flux/rbac.yaml")).unwrap(), "new");
        let names: Vec<_> = fs::read_dir(folder.path().join("flux")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["rbac.yaml"], "nothing is left over");
        symlink(elsewhere.path(), folder.path().join("flux-images")).unwrap();
        assert!(write_below(folder.path(), Path::new("flux-images/VERSION"), b"v1", false).is_err());
        assert!(!elsewhere.path().join("VERSION").exists());
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("folder");
        for path in ["../x", "a/../../x", "/x", "..", ".", ""] {
            assert!(write_below(&folder, Path::new(path), b"x", false).is_err(), "{path}");
        }
        assert!(!parent.path().join("x").exists());
    }

    #[test]
    fn long_names_and_executable_files_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let name = "x".repeat(255);
        write_below(folder.path(), Path::new(&name), b"x", false).unwrap();
        write_below(folder.path(), Path::new("run"), b"x", true).unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("run"), 0o755);
        assert_eq!(mode(&name) & 0o111, 0);
    }
}
