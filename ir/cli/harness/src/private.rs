//! Temporary folders that other users can neither enter nor predict.

use anyhow::{Context, Result};
use tempfile::{Builder, TempDir};

/// Creates a folder with a random name and, on Unix, mode 0700. It is removed when it is dropped.
pub fn folder() -> Result<TempDir> {
    let mut builder = Builder::new();
    builder.prefix("onnx-embed-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o700));
    }
    builder.tempdir().context("cannot create a temporary folder")
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_is_new_and_ours_alone() {
        let (one, two) = (folder().unwrap(), folder().unwrap());
        assert_ne!(one.path(), two.path());
        let mode = one.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }
}
