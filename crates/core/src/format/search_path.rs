//! The program search path: `PATH`.

use std::ffi::OsStr;
use std::path::PathBuf;

/// Finds a program in a list of folders. Relative folders, such as the current one, are skipped, because neither a
/// mistyped verb nor a kubeconfig may run a program that another user placed there. Files that are not executable are
/// skipped too, because they would hide an executable file in a later folder.
pub fn find_program(search_path: &OsStr, name: &str) -> Option<PathBuf> {
    let folders = std::env::split_paths(search_path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|file| {
        let Ok(metadata) = file.metadata() else { return false };
        #[cfg(unix)]
        let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
        #[cfg(not(unix))]
        let executable = true;
        metadata.is_file() && executable
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_is_executable_and_in_an_absolute_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, mode: u32| {
            let below = folder.path().join(name);
            std::fs::create_dir(&below).unwrap();
            std::fs::write(below.join("program"), "").unwrap();
            std::fs::set_permissions(below.join("program"), std::fs::Permissions::from_mode(mode)).unwrap();
            below
        };
        let (plain, good) = (at("plain", 0o644), at("good", 0o755));
        let path = std::env::join_paths([&plain, &good]).unwrap();
        assert_eq!(find_program(&path, "program"), Some(good.join("program")));
        assert_eq!(find_program(plain.as_os_str(), "program"), None);
        // Relative entries, among them an empty one: the file is in the last folder and can be executed.
        let here = std::env::current_dir().unwrap().join("../..");
        assert_eq!(find_program(here.as_os_str(), "install.sh"), Some(here.join("install.sh")));
        for relative in [".", "", ":", "../.."] {
            assert_eq!(find_program(OsStr::new(relative), "install.sh"), None, "{relative:?}");
        }
    }
}
