use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    super::slices::{overwrite, write_each},
    *,
};

fn fails<T>(run: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn written_elements_are_those_of_the_memory() {
    let mut values = [1u16; 6];
    overwrite(&mut values, |out| {
        let mut proof = out
            .reshaped(2, 3)
            .write_rows(|row, elements| write_each(elements, &[1, 2, 3], |x| x * 10 + row as u16));
        proof.row(1)[2] = 7;
        assert_eq!(proof.slice(), [10, 20, 30, 11, 21, 7]);
        proof
    });
    assert_eq!(values, [10, 20, 30, 11, 21, 7]);
    overwrite(&mut values, |out| out.reshaped(3, 2).zeroed());
    assert_eq!(values, [0; 6]);
    overwrite(&mut values[..0], |out| out.copied(&[]));
    overwrite(&mut values, |out| {
        let (size, whole) = (12, out.bytes());
        assert_eq!((whole.rows(), whole.columns()), (1, size));
        whole.write(|bytes| write_each(bytes, &[1; 12], |x| x)).elements()
    });
    assert_eq!(values, [0x101; 6]);
}

#[test]
fn proofs_of_other_elements_are_refused() {
    let mut values = [5u8; 8];
    // Elements that are left out.
    assert!(fails(|| overwrite(&mut values, |out| out.write(|all| zeroed(&mut all[1..])))));
    assert_eq!(values, [0; 8]);
    values.fill(5);
    assert!(fails(|| overwrite(&mut values, |out| out.write(|all| zeroed(&mut all[..7])))));
    assert_eq!(values, [0; 8]);
    // Rows of other lengths, and rows that are left out.
    assert!(fails(|| overwrite(&mut values, |out| {
        out.reshaped(4, 2).write_rows(|_, row| zeroed(&mut row[..1]))
    })));
    assert!(fails(|| overwrite(&mut values, |out| out.reshaped(3, 3).zeroed())));
    assert!(fails(|| overwrite(&mut values, |out| out.copied(&[1; 7]))));
    // SAFETY: nothing else accesses the first elements.
    assert!(fails(|| overwrite(&mut values, |out| unsafe { out.part(0..1, 0..4).zeroed() })));
    assert_eq!(values, [0; 8]);
}

#[test]
fn parts_are_inside_their_rectangle() {
    let mut values = [0f32; 12];
    overwrite(&mut values, |out| {
        let mut out = out.reshaped(3, 4);
        // SAFETY: one part after another is in use.
        let part = |rows, columns| unsafe { out.part(rows, columns) };
        assert_eq!((part(1..3, 2..4).rows(), part(1..3, 2..4).columns()), (2, 2));
        let _ = part(2..3, 3..4).write(|part| part.write_copy_of_slice(&[3.0]));
        assert!(fails(|| part(1..4, 0..1).rows()));
        assert!(fails(|| part(0..1, 0..5).rows()));
        assert_eq!(part(3..3, 4..4).rows(), 0);
        assert!(fails(|| out.row(3).len()));
        // SAFETY: the memory of `values` was initialized, and so is what the part wrote.
        unsafe { out.assume_written() }
    });
    assert_eq!(values[11], 3.0);
}
