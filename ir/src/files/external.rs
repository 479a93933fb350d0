//! Constants in files next to the model.

use std::fs::File;
use std::path::{Component, Path};

use bytes::Bytes;

use super::missing::shown;
use super::{Files, open_file, whole};
use crate::diagnostics::{Problem, counted};
use crate::proto::TensorProto;
use crate::weight::ByteRange;

impl Files {
    /// Returns the location in another file, with `needed` bytes if the model does not specify the length.
    pub(super) fn external(&self, tensor: &TensorProto, needed: usize) -> Result<ByteRange, Problem> {
        let name = &tensor.name;
        let entry = |key: &str| {
            let found = tensor.external_data.iter().find(|entry| entry.key == key);
            found.map(|entry| entry.value.as_str())
        };
        for (at, own) in tensor.external_data.iter().enumerate() {
            if tensor.external_data.iter().take(at).any(|other| other.key == own.key) {
                let message = format!("external constant `{name}` has `{}` twice", own.key);
                return Err(Problem::new(message).inconsistent());
            }
        }
        let Some(location) = entry("location").filter(|location| !location.is_empty()) else {
            return Err(
                Problem::missing(format_args!("`location` of external constant `{name}`")).inconsistent()
            );
        };
        let number = |key: &str| {
            let text = entry(key);
            let number = text.map(str::parse::<usize>).transpose();
            number.map_err(|_| {
                let (what, found) =
                    (format!("`{key}` of external constant `{name}`"), text.unwrap_or_default());
                Problem::expected(what, format_args!("`{found}`"), "a number of bytes").inconsistent()
            })
        };
        let start = number("offset")?.unwrap_or(0);
        let (file, bytes) = self.external_file(location)?;
        let end = start.checked_add(number("length")?.unwrap_or(needed));
        match end.filter(|&end| end <= bytes.len() && start <= end) {
            Some(end) => Ok(ByteRange { file, start, bytes: bytes.slice(start..end) }),
            None => Err(Problem::new(format!(
                "constant `{name}` extends past the {} of `{location}`",
                counted(bytes.len(), "bytes")
            ))
            .help(
                "export or download both files again: the external data is truncated, or belongs to another version \
                 of the model",
            )),
        }
    }

    fn external_file(&self, location: &str) -> Result<(usize, Bytes), Problem> {
        let outside = || {
            Problem::new(format!("external data `{location}` is outside the model's folder"))
                .help("move the file to the model's folder and save the model with the new location")
        };
        let relative = Path::new(location);
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !relative.components().all(plain) {
            return Err(outside());
        }
        let known = self.indices.borrow().get(relative).copied();
        if let Some(file) = known {
            let bytes = self.open.borrow().get(file).map(|file| file.1.clone());
            return Ok((file, bytes.unwrap_or_default()));
        }
        if let Some(given) = &self.given {
            let bytes = given.external(relative);
            let bytes = bytes.map_err(|reason| {
                Problem::new(format!("cannot read external data `{location}`: {reason}"))
            })?;
            return Ok(self.opened(relative, bytes));
        }
        let Some(folder) = &self.folder else {
            return Err(Problem::new(format!(
                "external data `{location}` is supported only for .onnx files"
            )));
        };
        let path = folder.join(relative);
        let missing = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Problem::new(format!("cannot find external data `{location}`"))
                .help(format!("put the file at {}", shown(&path))),
            _ => Problem::new(format!("cannot read external data {}: {error}", shown(&path))),
        };
        let real = path.canonicalize().map_err(missing)?;
        if self.model.as_ref() == Some(&real) {
            let message = format!("external data `{location}` is the model file itself");
            return Err(Problem::new(message).damaged());
        }
        // If the model is a link, as in download caches, its data may be next to the link's target.
        let base = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let beside =
            [base.canonicalize().ok(), self.model.as_deref().and_then(Path::parent).map(Path::to_owned)];
        if !beside.iter().flatten().any(|base| real.starts_with(base)) {
            let message =
                format!("external data `{location}` is a link to a file outside the model's folder");
            return Err(Problem::new(message).help("replace the link with the file"));
        }
        let file = open_file(&real, false).map_err(missing)?;
        if names(&file, &real).map_err(missing)? > 1 {
            let message = format!(
                "external data `{location}` has other hard links, which may be outside the model's folder"
            );
            return Err(Problem::new(message).help("replace the hard link with a copy of the file"));
        }
        // The target of the name may have changed since it was checked.
        if path.canonicalize().ok().as_ref() != Some(&real) {
            let message = format!("external data `{location}` changed while it was read");
            return Err(Problem::new(message).help("compile again"));
        }
        let bytes = whole(&file).map_err(missing)?;
        if let Some(key) = &self.key {
            key.check(&path, &bytes)?;
        }
        Ok(self.opened(relative, bytes))
    }

    fn opened(&self, relative: &Path, bytes: Bytes) -> (usize, Bytes) {
        let mut open = self.open.borrow_mut();
        let at = open.len();
        open.push((relative.to_owned(), bytes.clone()));
        self.indices.borrow_mut().insert(relative.to_owned(), at);
        (at, bytes)
    }
}

/// Returns the number of names of an open file, which must be the one at the path.
#[cfg(unix)]
fn names(file: &File, path: &Path) -> std::io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata()?, path.symlink_metadata()?);
    if (open.dev(), open.ino()) == (named.dev(), named.ino()) {
        Ok(open.nlink())
    } else {
        Err(std::io::Error::other("the file changed while it was read"))
    }
}

#[cfg(not(unix))]
fn names(_: &File, _: &Path) -> std::io::Result<u64> {
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::StringStringEntryProto;

    fn external(location: &str) -> TensorProto {
        TensorProto {
            name: "w".into(),
            data_type: 1,
            dims: vec![1],
            data_location: 1,
            external_data: vec![StringStringEntryProto { key: "location".into(), value: location.into() }],
            ..TensorProto::default()
        }
    }

    #[test]
    fn external_data_never_leaves_the_folder() {
        let files = Files { folder: Some(std::env::temp_dir()), ..Files::memory(Bytes::new()) };
        for location in ["/etc/passwd", "../x", "a/../../x", "a/../x"] {
            let problem = files.weight(&external(location)).unwrap_err();
            assert!(problem.to_string().contains("outside"), "{location}");
        }
        let problem = files.weight(&external("")).unwrap_err();
        assert_eq!(problem.to_string(), "`location` of external constant `w` is missing");
        let problem = files.weight(&external("w.bin\0")).unwrap_err();
        assert!(problem.to_string().starts_with("cannot read external data"), "{problem}");
        #[cfg(windows)]
        for location in [r"C:\x", "C:x", r"\\host\share\x"] {
            let problem = files.weight(&external(location)).unwrap_err();
            assert!(problem.to_string().contains("outside"), "{location}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_out_of_the_folder_only_together_with_the_model() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-links-{}", std::process::id()));
        let link = |at: &str, to: &str| std::os::unix::fs::symlink(to, folder.join(at)).unwrap();
        std::fs::create_dir_all(folder.join("snapshot")).unwrap();
        std::fs::create_dir_all(folder.join("blobs")).unwrap();
        std::fs::write(folder.join("blobs/1"), [0; 4]).unwrap();
        std::fs::write(folder.join("blobs/2"), [0; 4]).unwrap();
        std::fs::write(folder.join("secret"), [0; 4]).unwrap();
        link("snapshot/model.onnx", "../blobs/1");
        link("snapshot/model.data", "../blobs/2");
        link("snapshot/secret.data", "../secret");
        link("snapshot/above", "..");
        let files = Files::open(&folder.join("snapshot/model.onnx"), None).unwrap();
        let [allowed, refused, above] =
            ["model.data", "secret.data", "above/secret"].map(|location| files.weight(&external(location)));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(allowed.is_ok());
        let refused = refused.unwrap_err().to_string();
        assert_eq!(refused, "external data `secret.data` is a link to a file outside the model's folder");
        let above = above.unwrap_err().to_string();
        assert_eq!(above, "external data `above/secret` is a link to a file outside the model's folder");
    }

    #[cfg(unix)]
    #[test]
    fn external_data_is_a_file_of_its_own() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-own-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inside")).unwrap();
        std::fs::write(folder.join("secret"), [0; 4]).unwrap();
        std::fs::write(folder.join("inside/m.onnx"), [0; 4]).unwrap();
        std::fs::hard_link(folder.join("secret"), folder.join("inside/linked")).unwrap();
        let pipe = folder.join("inside/pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let files = Files::open(&folder.join("inside/m.onnx"), None).unwrap();
        let refused = ["linked", "m.onnx", "pipe"].map(|location| {
            let problem = files.weight(&external(location)).unwrap_err();
            problem.to_string()
        });
        std::fs::remove_dir_all(&folder).unwrap();
        let [linked, itself, pipe] = refused;
        assert_eq!(
            linked,
            "external data `linked` has other hard links, which may be outside the model's folder"
        );
        assert_eq!(itself, "external data `m.onnx` is the model file itself");
        assert!(pipe.ends_with(": not a regular file"), "{pipe}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_replaced_after_it_was_opened_is_noticed() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-replaced-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [path, other] = ["w.bin", "other.bin"].map(|name| folder.join(name));
        std::fs::write(&path, [1; 4]).unwrap();
        std::fs::write(&other, [2; 4]).unwrap();
        let file = open_file(&path, false).unwrap();
        let before = names(&file, &path);
        std::fs::rename(&other, &path).unwrap();
        let after = names(&file, &path);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(before.unwrap(), 1);
        assert_eq!(after.unwrap_err().to_string(), "the file changed while it was read");
    }

    #[test]
    fn external_data_may_leave_out_where_it_begins_and_ends() {
        let folder = std::env::temp_dir().join(format!("onnx-embed-ends-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("model.onnx"), [0]).unwrap();
        std::fs::write(folder.join("w.bin"), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]).unwrap();
        let files = Files::open(&folder.join("model.onnx"), None).unwrap();
        let read = |entries: &[(&str, &str)]| {
            let mut tensor = external("w.bin");
            let entries = entries
                .iter()
                .map(|(key, value)| StringStringEntryProto { key: (*key).into(), value: (*value).into() });
            tensor.external_data.extend(entries);
            let weight = files.weight(&tensor).map_err(|problem| problem.to_string());
            weight.map(|weight| weight.parts[0].bytes.to_vec())
        };
        let ranges: [&[(&str, &str)]; 10] = [
            &[],
            &[("offset", "4")],
            &[("offset", "8"), ("length", "4")],
            &[("offset", "4"), ("length", "8")],
            &[("offset", "12")],
            &[("offset", "18446744073709551615"), ("length", "8")],
            &[("offset", "18446744073709551616")],
            &[("offset", "-1")],
            &[("offset", "4"), ("offset", "8")],
            // Keys that nobody reads.
            &[("offset", "4"), ("checksum", "0"), ("Location", "../x")],
        ];
        let found = ranges.map(read);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found[..3], [1, 2, 3].map(|byte| Ok(vec![byte; 4])));
        assert!(found[3].as_ref().is_err_and(|error| error.contains("has 8 bytes")));
        let problem = |at: usize| found[at].clone().unwrap_err();
        assert!(problem(4).contains("extends past") && problem(5).contains("extends past"));
        let expected =
            "`offset` of external constant `w` is `18446744073709551616`, expected a number of bytes";
        assert_eq!(problem(6), expected);
        assert_eq!(problem(7), "`offset` of external constant `w` is `-1`, expected a number of bytes");
        assert_eq!(problem(8), "external constant `w` has `offset` twice");
        assert_eq!(found[9], Ok(vec![2; 4]));
    }
}
