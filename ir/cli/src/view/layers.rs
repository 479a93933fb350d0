//! Layers of boxes, and the order within each layer.

use std::collections::BTreeMap;

/// Number of passes that improve the order, downwards and upwards in turn.
const SWEEPS: usize = 12;
/// Maximum number of edges between two layers whose crossings are counted.
const COUNTED: usize = 400;

/// Slots in layers from top to bottom, each layer from left to right. The slots after those of boxes are passages, in
/// which edges pass a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    pub layers: Vec<Vec<usize>>,
    /// Slots of each edge, from its start to its end, one in each layer.
    pub routes: Vec<Vec<usize>>,
    /// Number of slots: boxes and passages.
    pub slots: usize,
}

/// Assigns boxes `0..count`, whose edges go from lower to higher numbers, to layers. Boxes in `last` are put into the
/// last layer.
pub fn layers(count: usize, edges: &[(usize, usize)], last: &[usize]) -> Layers {
    let ranks = ranks(count, edges, last);
    let deepest = ranks.iter().max().map_or(0, |deepest| deepest + 1);
    let mut layers = vec![Vec::new(); deepest];
    for (slot, &rank) in ranks.iter().enumerate() {
        layers[rank].push(slot);
    }
    // Edges of one box share their passages.
    let mut passages: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut slots = count;
    let mut routes = Vec::new();
    for &(from, to) in edges {
        let mut route = vec![from];
        let between = layers.iter_mut().enumerate().take(ranks[to]);
        for (rank, layer) in between.skip(ranks[from] + 1) {
            let slot = *passages.entry((from, rank)).or_insert_with(|| {
                layer.push(slots);
                slots += 1;
                slots - 1
            });
            route.push(slot);
        }
        route.push(to);
        routes.push(route);
    }
    let mut made = Layers { layers, routes, slots };
    made.sort();
    made
}

/// Returns the layer of each box: the length of the longest path from above. A box without inputs is in the layer just
/// above its first consumer.
fn ranks(count: usize, edges: &[(usize, usize)], last: &[usize]) -> Vec<usize> {
    let mut ranks = vec![0usize; count];
    let mut below = vec![Vec::new(); count];
    let mut has_above = vec![false; count];
    for &(from, to) in edges {
        below[from].push(to);
        has_above[to] = true;
    }
    for from in 0..count {
        for &to in &below[from] {
            ranks[to] = ranks[to].max(ranks[from] + 1);
        }
    }
    for slot in (0..count).filter(|&slot| !has_above[slot]) {
        let first = below[slot].iter().map(|&to| ranks[to]).min();
        ranks[slot] = first.map_or(0, |first| first.saturating_sub(1));
    }
    let deepest = ranks.iter().copied().max().unwrap_or(0);
    for &slot in last {
        ranks[slot] = deepest;
    }
    ranks
}

impl Layers {
    /// Returns the neighbors of each slot in the layer above, and in the one below.
    pub fn neighbors(&self) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let mut above = vec![Vec::new(); self.slots];
        let mut below = vec![Vec::new(); self.slots];
        for route in &self.routes {
            for pair in route.windows(2) {
                if let [from, to] = *pair
                    && !below[from].contains(&to)
                {
                    below[from].push(to);
                    above[to].push(from);
                }
            }
        }
        (above, below)
    }

    /// Orders layers so that few edges cross: each pass moves each slot to the mean of its neighbors.
    fn sort(&mut self) {
        let (above, below) = self.neighbors();
        let mut best = (self.crossings(&below), self.layers.clone());
        for sweep in 0..SWEEPS {
            let downwards = sweep % 2 == 0;
            let neighbors = if downwards { &above } else { &below };
            let count = self.layers.len();
            for step in 1..count {
                let (at, fixed) = if downwards { (step, step - 1) } else { (count - 1 - step, count - step) };
                let indices = indices(&self.layers[fixed], self.slots);
                let own = self::indices(&self.layers[at], self.slots);
                self.layers[at].sort_by_cached_key(|&slot| {
                    let sum: usize = neighbors[slot].iter().map(|&near| indices[near]).sum();
                    match neighbors[slot].len() {
                        0 => (own[slot] * 1000, own[slot]),
                        near => (sum * 1000 / near, own[slot]),
                    }
                });
            }
            let crossings = self.crossings(&below);
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    fn crossings(&self, below: &[Vec<usize>]) -> usize {
        let mut crossings = 0;
        for pair in self.layers.windows(2) {
            let [upper, lower] = pair else { continue };
            let indices = indices(lower, self.slots);
            let ends = upper.iter().enumerate();
            let ends: Vec<(usize, usize)> = ends
                .flat_map(|(at, &slot)| below[slot].iter().map(move |&to| (at, to)))
                .map(|(at, to)| (at, indices[to]))
                .collect();
            if ends.len() > COUNTED {
                continue;
            }
            for (at, &(a, b)) in ends.iter().enumerate() {
                let others = ends[at + 1..].iter();
                crossings += others.filter(|&&(c, d)| (a < c && b > d) || (a > c && b < d)).count();
            }
        }
        crossings
    }
}

fn indices(layer: &[usize], slots: usize) -> Vec<usize> {
    let mut indices = vec![0; slots];
    for (index, &slot) in layer.iter().enumerate() {
        indices[slot] = index;
    }
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_stands_below_all_that_it_takes_from() {
        let made = layers(4, &[(0, 1), (1, 2), (0, 2), (2, 3)], &[]);
        assert_eq!(made.layers.len(), 4);
        // The long edge passes the second layer next to the box in it.
        assert_eq!(made.routes[2], [0, 4, 2]);
        assert_eq!(made.layers[1].len(), 2);
    }

    #[test]
    fn edges_that_need_not_cross_do_not() {
        // Boxes 0 and 1 are above 2 and 3, connected crosswise by number.
        let made = layers(4, &[(0, 3), (1, 2)], &[]);
        let (_, below) = made.neighbors();
        assert_eq!(made.crossings(&below), 0);
    }

    #[test]
    fn what_takes_nothing_stands_near_its_first_reader() {
        let made = layers(5, &[(0, 1), (1, 2), (2, 4), (3, 4)], &[]);
        assert_eq!(made.layers[2], [2, 3]);
    }
}
