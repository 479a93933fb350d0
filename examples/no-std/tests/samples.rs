//! Runs the library of the microcontroller on this computer.

use std::path::Path;

use no_std::{Picture, Reader, SAMPLES, SIDE, draw};

#[test]
fn reads_ten_digits() {
    let reader = Reader::new();
    for (digit, picture) in SAMPLES.iter().enumerate() {
        let answer = reader.read(picture);
        assert_eq!(answer.digit, digit);
        assert!(answer.probability > 0.9, "{digit}: {}", answer.probability);
    }
}

#[test]
fn samples_are_those_of_the_example_with_std() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mnist/digits");
    for (digit, picture) in SAMPLES.iter().enumerate() {
        let png = image::open(folder.join(format!("{digit}.png"))).unwrap();
        assert_eq!(png.to_luma8().into_raw(), picture);
    }
}

#[test]
fn draws_two_rows_to_a_line() {
    let mut corner: Picture = [0; SIDE * SIDE];
    corner[0] = 255;
    corner[1] = 255;
    corner[SIDE + 1] = 255;
    corner[SIDE + 2] = 255;
    let mut drawn = String::new();
    draw(&mut drawn, &corner).unwrap();
    assert_eq!(drawn.lines().count(), SIDE / 2);
    assert_eq!(drawn.lines().next().unwrap().trim_end(), "▀█▄");
}
