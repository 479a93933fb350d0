//! Names and graphs that try to break the generated code.
//!
//! `BLESS=1 cargo test -p cargo-onnx-embed --test limits` writes the models.

use onnx_embed::Device;

use crate::{values, vector};

mod names_nfc {
    onnx_embed::onnx_model!("../../models/hostile/names_nfc.onnx");
}

mod names_jamo {
    onnx_embed::onnx_model!("../../models/hostile/names_jamo.onnx");
}

mod names_control {
    onnx_embed::onnx_model!("../../models/hostile/names_control.onnx");
}

mod name_long {
    onnx_embed::onnx_model!("../../models/hostile/name_long.onnx");
}

mod loops_nested {
    onnx_embed::onnx_model!("../../models/hostile/loops_nested.onnx");
}

mod sizes_of_one_name {
    onnx_embed::onnx_model!("../../models/hostile/sizes_of_one_name.onnx");
}

mod outputs_of_one_value {
    onnx_embed::onnx_model!("../../models/hostile/outputs_of_one_value.onnx");
}

mod branches_in_sequence {
    onnx_embed::onnx_model!("../../models/hostile/branches_in_sequence.onnx");
}

mod metadata_hostile {
    onnx_embed::onnx_model!("../../models/hostile/metadata_hostile.onnx");
}

#[test]
fn names_that_the_compiler_takes_as_one_stay_two() {
    let device = Device::flex();
    let (one, two) = (vector([1.0, 2.0]), vector([3.0, 5.0]));
    let input = names_nfc::ModelInput { 塚: one.clone(), 塚2: two.clone() };
    let sum = names_nfc::Model::new(&device).forward(input);
    assert_eq!(values(sum), [4.0, 7.0]);
    let input = names_jamo::ModelInput { 가: one, 가2: two };
    let sum = names_jamo::Model::new(&device).forward(input);
    assert_eq!(values(sum), [4.0, 7.0]);
}

#[test]
fn names_may_hold_what_controls_a_terminal() {
    let input = names_control::ModelInput { a_b: vector([1.0]), c_d: vector([2.0]) };
    let sum = names_control::Model::new(&Device::flex()).forward(input);
    assert_eq!(values(sum), [3.0]);
}

#[test]
fn the_others_are_taken_by_the_compiler() {
    let device = Device::flex();
    let _ = name_long::Model::new(&device);
    let _ = loops_nested::Model::new(&device);
    let _ = sizes_of_one_name::Model::new(&device);
    let many = outputs_of_one_value::Model::new(&device).forward(vector([-1.0, 1.0]));
    assert_eq!(values(many.y60), [0.0, 1.0]);
    let _ = branches_in_sequence::Model::new(&device);
}

#[test]
fn what_a_file_says_is_kept_as_it_is() {
    use onnx_embed::OnnxModel;

    let said = metadata_hostile::Model::METADATA;
    assert!(said.doc.starts_with("*/ \"#} \\ `a`") && said.doc.contains("\u{202e}\u{1b}[2J\0"));
    assert_eq!(said.entries[1], (said.doc, said.doc));
    assert_eq!(metadata_hostile::Model::LABELS, ["`|\n```", "\u{202e}"]);
}
