//! Upsampling of a component to the size of the picture.

/// Samples of a component.
#[derive(Debug)]
pub struct Plane {
    pub values: Vec<u8>,
    /// Distance between rows, in samples.
    pub stride: usize,
    /// Number of samples inside the picture, across (`width`) and down (`height`).
    pub width: usize,
    pub height: usize,
    /// Number of pixels for each sample, across and down.
    pub stretch: [usize; 2],
}

/// Upsampler that computes the rows of a component.
#[derive(Debug)]
pub struct Rows<'a> {
    plane: &'a Plane,
    /// Weighted sums of a row and an adjacent row, or samples of one row.
    sums: Vec<u16>,
    row: Vec<u8>,
    width: usize,
}

impl<'a> Rows<'a> {
    pub fn new(plane: &'a Plane, width: usize) -> Self {
        Rows { plane, sums: Vec::new(), row: Vec::new(), width }
    }

    /// Returns row `y` of the picture.
    ///
    /// Factors of (2, 1), (1, 2) and (2, 2) interpolate: the nearer sample counts three times as much as the farther.
    /// Other factors repeat samples, as do factors of 2 across a component of at most two columns.
    pub fn row(&mut self, y: usize) -> &[u8] {
        let [across, down] = self.plane.stretch;
        let smooth = self.plane.width > 2;
        self.row.clear();
        match (across, down) {
            (2, 1) if smooth => {
                self.sums.clear();
                let near = line(self.plane, y);
                self.sums.extend(near.iter().map(|&value| u16::from(value)));
                triangle(&self.sums, &mut self.row, 2, [1, 2]);
            }
            (1, 2) => {
                self.add_rows(y);
                let bias = [1, 2][y % 2];
                let values = self.sums.iter().map(|sum| ((sum + bias) >> 2) as u8);
                self.row.extend(values);
            }
            (2, 2) if smooth => {
                self.add_rows(y);
                triangle(&self.sums, &mut self.row, 4, [8, 7]);
            }
            _ => {
                let near = line(self.plane, y / down);
                let repeated = |&value| std::iter::repeat_n(value, across);
                self.row.extend(near.iter().flat_map(repeated));
            }
        }
        self.row.truncate(self.width);
        &self.row
    }

    /// Computes the sums for row `y` if there are twice as many rows as in the component; the nearer row counts three
    /// times.
    fn add_rows(&mut self, y: usize) {
        let beside = match y % 2 {
            0 => (y / 2).saturating_sub(1),
            _ => (y / 2 + 1).min(self.plane.height - 1),
        };
        let pairs = line(self.plane, y / 2).iter().zip(line(self.plane, beside));
        let sums = pairs.map(|(&near, &far)| 3 * u16::from(near) + u16::from(far));
        self.sums.clear();
        self.sums.extend(sums);
    }
}

/// Returns the samples of a row that are inside the picture.
fn line(plane: &Plane, row: usize) -> &[u8] {
    &plane.values[row * plane.stride..][..plane.width]
}

/// Appends two values for each sample, interpolated with its neighbors and without the last `less` bits.
///
/// The biases of the left and right value differ, so that rounding does not brighten the picture.
fn triangle(values: &[u16], row: &mut Vec<u8>, less: u32, [left, right]: [u16; 2]) {
    let last = values.len() - 1;
    row.extend(values.iter().enumerate().flat_map(|(at, &value)| {
        let (before, after) = (values[at.saturating_sub(1)], values[last.min(at + 1)]);
        [((3 * value + before + left) >> less) as u8, ((3 * value + after + right) >> less) as u8]
    }));
}
