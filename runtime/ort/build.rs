//! Tells the code for which release of `ort` it is compiled: the minor version of this package.

fn main() {
    let release = std::env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(ort_release, values(\"10\", \"11\", \"12\", \"14\", \"15\"))");
    println!("cargo::rustc-cfg=ort_release=\"{release}\"");
    println!("cargo::rerun-if-changed=build.rs");
}
