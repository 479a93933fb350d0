//! Unusual files, and files that change.

use burn::tensor::Device;

use super::super::fingerprint::fnv1a;
use super::super::{ByteRange, Encoding, Entry, Fixed};
use super::*;
use crate::ElementType;
use crate::weights::File as TableFile;

const fn file(name: &'static str) -> TableFile {
    TableFile { name, length: 0, tail: 0 }
}

#[test]
fn external_files_lie_beside_the_model() {
    let folder = std::env::temp_dir().join(format!("onnx-embed-open-{}", std::process::id()));
    fs::create_dir_all(folder.join("data")).unwrap();
    fs::write(folder.join("renamed.onnx"), b"model").unwrap();
    fs::write(folder.join("data/weights.bin"), b"").unwrap();
    const TABLE: Table =
        Table { files: &[file("model.onnx"), file("data/weights.bin")], entries: &[], fixed: &[] };
    let lengths = TABLE.open(&folder.join("renamed.onnx"), None, |source| {
        Ok((0..source.count()).map(|file| source.length(file)).collect::<Vec<_>>())
    });
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(lengths.unwrap(), [5, 0]);
}

#[test]
fn a_missing_file_is_named() {
    const TABLE: Table = Table { files: &[file("m.onnx")], entries: &[], fixed: &[] };
    let error = TABLE.open(Path::new("no/m.onnx"), None, |_| Ok(())).unwrap_err();
    assert!(error.to_string().starts_with("cannot read `no/m.onnx`: "));
}

#[test]
fn the_path_that_was_given_is_named() {
    const TABLE: Table = Table { files: &[file("m.onnx")], entries: &[], fixed: &[] };
    let folder = std::env::temp_dir().join(format!("onnx-embed-other-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("other.onnx"), b"other").unwrap();
    let message = |path: &Path| {
        let opened = TABLE.open(path, None, |source| TABLE.check(source).map(drop));
        let message = opened.unwrap_err().to_string();
        message.replace(&folder.display().to_string(), "/data")
    };
    let messages = [message(&folder.join("other.onnx")), message(&folder)];
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        messages,
        [
            "`/data/other.onnx` differs from the compiled model `m.onnx`: its size in bytes is 5, expected 0; export \
             with the same exporter and opset, or compile again",
            "cannot read `/data`: it is a folder"
        ]
    );
}

/// Table of a model with a fixed and a free weight, `fixed` `[1, 2]` `free` `[3, 4]`, and a file of external data.
fn table() -> &'static Table {
    const FIXED: &[u8] = b"fixed\x01\x02";
    let part = |start, gap: &[u8]| ByteRange { file: 0, start, length: 2, gap: fnv1a(gap) };
    let entry = |name, part: ByteRange| Entry {
        name,
        dtype: ElementType::UInt8,
        shape: &[2],
        parts: Box::leak(Box::new([part])),
        encoding: Encoding::Raw,
    };
    let file = |name, length| TableFile { name, length, tail: fnv1a(b"") };
    Box::leak(Box::new(Table {
        files: Box::leak(Box::new([file("m.onnx", 13), file("m.data", 0)])),
        entries: Box::leak(Box::new([entry("fixed", part(5, b"fixed")), entry("free", part(11, b"free"))])),
        fixed: Box::leak(Box::new([Fixed { entry: 0, hash: fnv1a(&FIXED[5..]) }])),
    }))
}

const MODEL: &[u8] = b"fixed\x01\x02free\x03\x04";

/// Creates a folder with the model and its data.
fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("onnx-embed-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("inside")).unwrap();
    fs::write(folder.join("inside/m.onnx"), MODEL).unwrap();
    fs::write(folder.join("inside/m.data"), b"").unwrap();
    folder
}

/// Returns the result of opening the model at a path. Fails after 2 s.
#[cfg(unix)]
fn opened(path: PathBuf) -> Result<(), String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let table = table();
        let opened = table.open(&path, None, |source| table.check(source).map(drop));
        sender.send(opened.map_err(|error| error.to_string())).unwrap();
    });
    let limit = std::time::Duration::from_secs(2);
    receiver.recv_timeout(limit).expect("it waits")
}

#[cfg(unix)]
#[test]
fn odd_files_are_refused_without_waiting() {
    use std::os::unix::fs::symlink;

    let folder = folder("odd");
    let odd = folder.join("inside/odd");
    type Maker<'a> = (&'a str, &'a dyn Fn(&Path));
    let make: [Maker<'_>; 11] = [
        ("pipe", &|path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
        ("socket", &|path| {
            drop(std::os::unix::net::UnixListener::bind(path).unwrap());
        }),
        ("folder", &|path| fs::create_dir(path).unwrap()),
        ("loop", &|path| symlink(path, path).unwrap()),
        ("nowhere", &|path| symlink("missing", path).unwrap()),
        ("zeros", &|path| symlink("/dev/zero", path).unwrap()),
        ("null", &|path| symlink("/dev/null", path).unwrap()),
        ("random", &|path| symlink("/dev/urandom", path).unwrap()),
        ("memory", &|path| symlink("/proc/self/mem", path).unwrap()),
        ("status", &|path| symlink("/proc/self/status", path).unwrap()),
        ("sparse", &|path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap()),
    ];
    for (kind, make) in make {
        make(&odd);
        let as_model = opened(odd.clone());
        assert!(as_model.is_err(), "{kind}");
        fs::remove_file(folder.join("inside/m.data")).unwrap();
        fs::rename(&odd, folder.join("inside/m.data")).unwrap();
        let as_data = opened(folder.join("inside/m.onnx"));
        assert!(as_data.is_err(), "{kind}");
        let data = folder.join("inside/m.data");
        let _ = fs::remove_file(&data).or_else(|_| fs::remove_dir(&data));
        fs::write(data, b"").unwrap();
    }
    assert_eq!(opened(folder.join("inside/m.onnx")), Ok(()));
    fs::remove_dir_all(&folder).unwrap();
}

#[cfg(unix)]
#[test]
fn links_lead_out_of_the_folder_only_together_with_the_model() {
    use std::os::unix::fs::symlink;

    let folder = folder("outside");
    fs::write(folder.join("secret"), b"").unwrap();
    fs::remove_file(folder.join("inside/m.data")).unwrap();
    symlink("../secret", folder.join("inside/m.data")).unwrap();
    let refused = opened(folder.join("inside/m.onnx")).unwrap_err();
    assert!(refused.ends_with("it is a link to a file outside the model's folder"), "{refused}");
    // As in a download cache: links to files whose names are hashes.
    fs::create_dir(folder.join("blobs")).unwrap();
    fs::rename(folder.join("inside/m.onnx"), folder.join("blobs/1")).unwrap();
    fs::rename(folder.join("secret"), folder.join("blobs/2")).unwrap();
    fs::remove_file(folder.join("inside/m.data")).unwrap();
    symlink("../blobs/1", folder.join("inside/m.onnx")).unwrap();
    symlink("../blobs/2", folder.join("inside/m.data")).unwrap();
    let taken = opened(folder.join("inside/m.onnx"));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(taken, Ok(()));
}

#[test]
fn a_file_that_is_cut_while_it_is_read_is_an_error() {
    let folder = folder("cut");
    let path = folder.join("inside/m.onnx");
    let table = table();
    let device = Device::flex();
    let cut = |length| File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
    let early = table.open(&path, None, |source| {
        cut(3);
        table.check(source).map(drop)
    });
    assert!(early.unwrap_err().to_string().contains("differs from the compiled model"));
    fs::write(&path, MODEL).unwrap();
    let late = table.open(&path, None, |source| {
        table.load(source, &device, |weights| {
            cut(3);
            weights.array::<u8>("free")
        })
    });
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        late.unwrap_err().to_string(),
        "cannot load the model: weight `free` is truncated: the file became shorter while it was read"
    );
}

#[test]
fn a_value_that_was_checked_is_the_one_that_is_used() {
    let folder = folder("changed");
    let path = folder.join("inside/m.onnx");
    let table = table();
    let device = Device::flex();
    let loaded = table.open(&path, None, |source| {
        table.load(source, &device, |weights| {
            fs::write(&path, b"fixed\x08\x09free\x0a\x0b").unwrap();
            ["fixed", "free"].map(|name| weights.array::<u8>(name).data().to_vec())
        })
    });
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(loaded.unwrap(), [[1, 2], [10, 11]]);
}

#[test]
fn a_large_weight_is_read_in_chunks() {
    const ROWS: usize = 1100;
    const BYTES: usize = 4 * 64 * ROWS;
    let file = TableFile { name: "m.onnx", length: 8 + BYTES, tail: fnv1a(b"") };
    let part = ByteRange { file: 0, start: 8, length: BYTES, gap: fnv1a(b"beginnin") };
    let entry = Entry {
        name: "large",
        dtype: ElementType::Float32,
        shape: &[ROWS, 64],
        parts: Box::leak(Box::new([part])),
        encoding: Encoding::Raw,
    };
    let table: &'static Table = Box::leak(Box::new(Table {
        files: Box::leak(Box::new([file])),
        entries: Box::leak(Box::new([entry])),
        fixed: &[],
    }));
    let folder = folder("large");
    let path = folder.join("inside/m.onnx");
    let values: Vec<f32> = (0..64 * ROWS).map(|at| at as f32).collect();
    let bytes = [b"beginnin", bytemuck::cast_slice::<f32, u8>(&values)].concat();
    fs::write(&path, &bytes).unwrap();
    let device = Device::flex();
    let load = |before: &dyn Fn()| {
        table.open(&path, None, |source| {
            table.load(source, &device, |weights| {
                before();
                weights.tensor::<2>("large").into_data().try_into_vec::<f32>().unwrap()
            })
        })
    };
    let whole = load(&|| ());
    let cut = load(&|| File::options().write(true).open(&path).unwrap().set_len(BYTES as u64 / 2).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    assert!(whole.unwrap() == values);
    assert_eq!(
        cut.unwrap_err().to_string(),
        "cannot load the model: weight `large` is truncated: the file became shorter while it was read"
    );
}
