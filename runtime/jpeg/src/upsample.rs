//! Rows of a component at the size of the picture.

/// The samples of a component.
#[derive(Debug)]
pub struct Plane {
    pub values: Vec<u8>,
    /// From one row to the next.
    pub stride: usize,
    /// What belongs to the picture.
    pub width: usize,
    pub height: usize,
    /// How often each sample stands in the picture, across and down.
    pub stretch: [usize; 2],
}

/// Makes the rows of a component.
#[derive(Debug)]
pub struct Rows<'a> {
    plane: &'a Plane,
    /// Sums of a row and the one beside it.
    sums: Vec<u16>,
    row: Vec<u8>,
    width: usize,
}

impl<'a> Rows<'a> {
    pub fn new(plane: &'a Plane, width: usize) -> Self {
        Rows { plane, sums: Vec::new(), row: Vec::new(), width }
    }

    /// The row of the picture at `y`: between samples at half the distance, the nearer counts three times as
    /// much as the farther; at other distances, and in very narrow ones, samples repeat.
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

    /// Sums of the row at `y` of twice as many, the nearer counted three times.
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

/// The samples of one row that belong to the picture.
fn line(plane: &Plane, row: usize) -> &[u8] {
    &plane.values[row * plane.stride..][..plane.width]
}

/// Two values for each, in between it and its neighbors, without the last `less` binary digits. The biases of
/// left and right differ, lest rounding brighten the picture.
fn triangle(values: &[u16], row: &mut Vec<u8>, less: u32, [left, right]: [u16; 2]) {
    let last = values.len() - 1;
    row.extend(values.iter().enumerate().flat_map(|(at, &value)| {
        let (before, after) = (values[at.saturating_sub(1)], values[last.min(at + 1)]);
        [((3 * value + before + left) >> less) as u8, ((3 * value + after + right) >> less) as u8]
    }));
}
