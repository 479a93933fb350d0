//! Trees that a device walks, compared with the host.

use burn::tensor::{DType, IntDType, Tensor, TensorData, kind::Basic};

use crate::backend::{runs_cubes, switches};
use crate::classical::scores::Transform;
use crate::classical::trees::{Aggregate, Classify, Forest, Indexed, Labelled, Mode, Regress};
use crate::testing::{device, float, has, near, noise, on_each, same, with_reads};

const NAN: f32 = f32::NAN;

/// Generator of small numbers, the same in every run.
struct Draw(u32);

impl Draw {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % end
    }

    /// Returns one of few values, which rows have too.
    fn value(&mut self) -> f32 {
        self.below(7) as f32 - 3.0
    }
}

/// Returns complete trees of a depth over five features, whose leaves have weights for one target, for all, or for none.
fn grown(trees: i64, depth: u32, modes: &[Mode], targets: i64) -> Labelled<f32> {
    let mut draw = Draw(trees as u32 + depth);
    let mut forest = Labelled::default();
    for tree in 0..trees {
        for node in 0..(2i64 << depth) - 1 {
            let is_leaf = node >= (1i64 << depth) - 1;
            forest.trees.push(tree);
            forest.nodes.push(node);
            let mode = modes[draw.below(modes.len() as u32) as usize];
            forest.modes.push(if is_leaf { Mode::Leaf } else { mode });
            forest.features.push(i64::from(draw.below(5)));
            forest.values.push(draw.value());
            forest.yes.push(2 * node + 1);
            forest.no.push(2 * node + 2);
            forest.missing.push(i64::from(draw.below(2)));
            let weighs: Vec<i64> = match (is_leaf, draw.below(4)) {
                (false, _) | (_, 0) => vec![],
                (_, 1) => (0..targets).rev().collect(),
                _ => vec![i64::from(draw.below(targets as u32)); 2],
            };
            for target in weighs {
                forest.weight_trees.push(tree);
                forest.weight_nodes.push(node);
                forest.weight_targets.push(target);
                forest.weights.push(draw.value() / 8.0);
            }
        }
    }
    forest
}

const MODES: [Mode; 6] =
    [Mode::LessOrEqual, Mode::Less, Mode::GreaterOrEqual, Mode::Greater, Mode::Equal, Mode::NotEqual];

/// Returns rows of five features. Some features are missing.
fn rows(count: usize) -> Vec<f32> {
    let mut draw = Draw(count as u32);
    let value = |_| match draw.below(9) {
        0 => NAN,
        _ => draw.value(),
    };
    (0..5 * count).map(value).collect()
}

fn regress(forest: Forest<f32>, targets: usize, aggregate: Aggregate) -> Regress<f32> {
    Regress { forest, targets, aggregate, transform: Transform::None, base: vec![] }
}

fn numbers_agree(model: &Regress<f32>, count: usize) {
    let Some(tables) = model.tables(&device()) else {
        return assert!(!runs_cubes(&device()));
    };
    let values = rows(count);
    let expected = model.run(&values, 5, count);
    let expected: Vec<f32> = expected.into_iter().map(|score| score as f32).collect();
    let x = float::<2>(TensorData::new(values, [count, 5]));
    if let Some(y) = with_reads(0, || model.run_on(&tables, x)) {
        near(y, TensorData::new(expected, [count, model.targets]), 1e-5);
    } else {
        assert!(switches::is_plain());
    }
}

#[test]
fn every_aggregate_of_every_size() {
    on_each(|| {
        for (trees, depth) in [(1, 1), (3, 3), (150, 4)] {
            for targets in [1, 3] {
                let forest = grown(trees, depth, &MODES, targets).build(targets as usize);
                for aggregate in [Aggregate::Sum, Aggregate::Average, Aggregate::Min, Aggregate::Max] {
                    let model = regress(forest.clone().unwrap(), targets as usize, aggregate);
                    for count in [0, 1, 7, 1500] {
                        numbers_agree(&model, count);
                    }
                }
            }
        }
    });
}

#[test]
fn forests_of_one_mode_with_base_values_and_transforms() {
    on_each(|| {
        for mode in MODES {
            let forest = grown(4, 3, &[mode], 2).build(2).unwrap();
            for transform in [Transform::Softmax, Transform::Logistic, Transform::SoftmaxZero] {
                let model = Regress {
                    transform,
                    base: vec![0.5, -1.0],
                    ..regress(forest.clone(), 2, Aggregate::Sum)
                };
                numbers_agree(&model, 40);
            }
        }
    });
}

#[test]
fn lists_of_members_and_trees_of_one_leaf() {
    on_each(|| {
        let trees = Indexed {
            roots: vec![0, 1],
            modes: vec![Mode::Member, Mode::LessOrEqual],
            features: vec![0, 0],
            values: vec![0.0, 0.0],
            yes: vec![0, 1],
            no: vec![1, 1],
            yes_leaves: vec![1, 1],
            no_leaves: vec![1, 1],
            missing: vec![0, 0],
            members: vec![1.0, 3.0, NAN],
            weight_targets: vec![0, 0],
            weights: vec![1.0, 2.0],
        };
        numbers_agree(&regress(trees.build(1).unwrap(), 1, Aggregate::Sum), 30);
        let alone = Labelled {
            trees: vec![0],
            nodes: vec![0],
            modes: vec![Mode::Leaf],
            features: vec![0],
            values: vec![0.0],
            yes: vec![0],
            no: vec![0],
            ..Labelled::default()
        };
        numbers_agree(&regress(alone.build(1).unwrap(), 1, Aggregate::Max), 3);
    });
}

#[test]
fn integers_and_double_precision() {
    on_each(|| {
        if !runs_cubes(&device()) || switches::is_plain() {
            return;
        }
        let model = regress(grown(9, 3, &MODES, 1).build(1).unwrap(), 1, Aggregate::Sum);
        let tables = model.tables(&device()).unwrap();
        let values: Vec<f32> = rows(20).into_iter().map(f32::floor).collect();
        let values: Vec<f32> = values.into_iter().map(|x| x.max(-3.0)).collect();
        let expected = model.run(&values, 5, 20);
        let expected: Vec<f32> = expected.into_iter().map(|score| score as f32).collect();
        let expected = TensorData::new(expected, [20, 1]);
        let x = float::<2>(TensorData::new(values, [20, 5]));
        for dtype in [IntDType::I32, IntDType::I64, IntDType::I8] {
            if has(dtype.into()) {
                let y = with_reads(0, || model.run_on(&tables, x.clone().cast(dtype)));
                near(y.unwrap(), expected.clone(), 1e-5);
            }
        }
        if has(DType::F16) {
            let y = with_reads(0, || model.run_on(&tables, x.clone().cast(DType::F16)));
            near(y.unwrap(), expected, 1e-5);
        }
        let double = Regress::<f64> {
            forest: Labelled {
                trees: vec![0; 3],
                nodes: vec![0, 1, 2],
                modes: vec![Mode::LessOrEqual, Mode::Leaf, Mode::Leaf],
                features: vec![0; 3],
                values: vec![0.1, 0.0, 0.0],
                yes: vec![1, 0, 0],
                no: vec![2, 0, 0],
                weight_trees: vec![0; 2],
                weight_nodes: vec![1, 2],
                weight_targets: vec![0; 2],
                weights: vec![0.25, 0.5],
                ..Labelled::default()
            }
            .build(1)
            .unwrap(),
            targets: 1,
            aggregate: Aggregate::Average,
            transform: Transform::None,
            base: vec![0.125],
        };
        let tables = double.tables(&device()).unwrap();
        let x = float::<2>([[0.1f64], [0.2]]);
        let y = with_reads(0, || double.run_on(&tables, x)).unwrap();
        same(y, [[0.375f64], [0.625]]);
    });
}

fn classes_agree(model: &Classify<f32>, count: usize) {
    let Some(tables) = model.tables(&device()) else {
        return assert!(!runs_cubes(&device()));
    };
    let values = rows(count);
    let (classes, scores) = model.run(&values, 5, count);
    let x = float::<2>(TensorData::new(values, [count, 5]));
    let Some((found, found_scores)) = with_reads(0, || model.run_on(&tables, x)) else {
        return assert!(switches::is_plain());
    };
    let classes: Vec<i64> = classes.into_iter().map(|class| class as i64).collect();
    let scores: Vec<f32> = scores.into_iter().map(|score| score as f32).collect();
    same_values(found, &classes);
    near(found_scores, TensorData::new(scores, [count, model.classes]), 2e-5);
}

fn same_values<K: Basic>(found: Tensor<1, K>, expected: &[i64]) {
    let found: Vec<i64> = found.into_data().iter::<i64>().collect();
    assert_eq!(found, expected);
}

#[test]
fn classes_of_every_count_with_every_base() {
    on_each(|| {
        for classes in [1, 2, 3, 5] {
            let forest = grown(5, 2, &MODES, classes as i64).build(classes).unwrap();
            let bases = match classes {
                1 | 2 => vec![vec![], vec![0.375], vec![0.25, -0.625]],
                _ => vec![vec![], noise::<1>([classes], 3).into_data().iter().collect()],
            };
            for base in bases {
                for (one_column, positive) in [(false, false), (true, false), (true, true)] {
                    for transform in
                        [Transform::None, Transform::Softmax, Transform::Logistic, Transform::SoftmaxZero]
                    {
                        let model = Classify {
                            forest: forest.clone(),
                            classes,
                            transform,
                            base: base.clone(),
                            one_column: one_column && classes == 2,
                            positive,
                        };
                        for count in [0, 1, 60] {
                            classes_agree(&model, count);
                        }
                    }
                }
            }
        }
    });
}
