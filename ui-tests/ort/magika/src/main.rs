//! Prints the label and the score of each file that the arguments name, by the published crate `magika`.

use std::time::Instant;

/// The model in the sources of `magika`, whose path `crates.py` finds.
#[cfg(feature = "compiled")]
mod model {
    onnx_embed::onnx_model!(
        #[onnx(weights = "file")]
        pub struct Magika = "$MAGIKA_MODEL";
    );
}

fn main() -> Result<(), magika::Error> {
    #[cfg(feature = "compiled")]
    {
        onnx_embed_ort::register::<model::Magika>();
        ort::set_api(onnx_embed_ort::api());
    }
    let mut session = magika::Session::new()?;
    let start = Instant::now();
    let mut count = 0;
    for path in std::env::args().skip(1) {
        let Ok(file) = session.identify_file_sync(&path) else { continue };
        println!("{path}\t{}\t{:.3}", file.info().label, file.score());
        count += 1;
    }
    eprintln!("{count} files in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
