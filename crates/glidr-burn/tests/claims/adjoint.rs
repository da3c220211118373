//! The layer against its slow twin, and its adjoint against the twin's and a finite difference.

use burn::tensor::{Device, Tensor, TensorData};
use glidr::Schema;
use glidr_burn::layer::{GraphPair, Queries, SlotWeights, SoftFacts, numbers, scores};
use glidr_burn::random::{Purpose, stream};
use proptest::prelude::*;
use rand::RngExt;

use crate::twin::plain_scores;

/// A batch of a given size with random facts and logits, as plain numbers.
#[derive(Clone, Debug)]
struct Case {
    schema: Schema,
    graphs: usize,
    entities: usize,
    rules: usize,
    rounds: usize,
    pairs: Vec<GraphPair>,
    /// Links, values, logits of pair slots, logits of own slots.
    numbers: [Vec<f32>; 4],
}

impl Case {
    fn shapes(&self) -> [Vec<usize>; 4] {
        let s = self.schema;
        [
            vec![self.graphs, s.predicates, self.entities, self.entities],
            vec![self.graphs, s.properties, self.entities],
            vec![self.rules, s.slots(), s.fillers()],
            vec![self.rules, s.variables, s.own_fillers()],
        ]
    }

    fn new(seed: u64, variables: usize, sizes: [usize; 5], rounds: usize, pairs: usize) -> Self {
        let [predicates, properties, graphs, entities, rules] = sizes;
        let schema = Schema::new(variables, predicates, properties).expect("in range");
        let mut random = stream(seed, Purpose::Data, 0);
        let mut case =
            Case { schema, graphs, entities, rules, rounds, pairs: vec![], numbers: Default::default() };
        for _ in 0..pairs {
            let mut below = |most: usize| random.random_range(0..most);
            case.pairs.push(GraphPair { graph: below(graphs), head: below(entities), tail: below(entities) });
        }
        for (place, shape) in case.shapes().into_iter().enumerate() {
            let draw = |_| match place {
                // Many links are none, as after clipping; no two values are equal.
                0 => (random.random_range(-0.5f32..1.0)).max(0.0),
                1 => random.random_range(0.0f32..1.0),
                _ => random.random_range(-2.0f32..2.0),
            };
            case.numbers[place] = (0..shape.iter().product()).map(draw).collect();
        }
        case
    }

    fn queries(&self) -> Queries {
        if self.pairs.is_empty() { Queries::Graphs } else { Queries::Pairs(self.pairs.clone()) }
    }

    /// Tensors of all inputs.
    fn leaves(&self, device: &Device, learn: bool) -> [Tensor<1>; 4] {
        let leaf = |values: &Vec<f32>| {
            let values = if values.is_empty() { vec![0.0] } else { values.clone() };
            let count = values.len();
            let leaf = Tensor::<1>::from_data(TensorData::new(values, [count]), device);
            if learn { leaf.require_grad() } else { leaf }
        };
        [0, 1, 2, 3].map(|place| leaf(&self.numbers[place]))
    }

    /// Facts and weights made of the inputs.
    fn inputs(&self, leaves: &[Tensor<1>; 4]) -> (SlotWeights, SoftFacts) {
        let [links, values, pairs, owns] = self.shapes();
        let own = self.schema.properties > 0;
        let four: [usize; 4] = links.try_into().expect("four");
        let three = |shape: Vec<usize>, place: usize| {
            let shape: [usize; 3] = shape.try_into().expect("three");
            leaves[place].clone().reshape(shape)
        };
        let facts =
            SoftFacts { links: leaves[0].clone().reshape(four), values: own.then(|| three(values, 1)) };
        let weights = SlotWeights::soft(self.schema, three(pairs, 2), own.then(|| three(owns, 3)));
        (weights, facts)
    }

    /// Σ factor · score, the factors all different, by the layer or by its twin; with derivatives.
    fn total(&self, plain: bool) -> (Vec<f32>, [Vec<f32>; 4]) {
        let device = Device::flex().autodiff();
        let leaves = self.leaves(&device, true);
        let (weights, facts) = self.inputs(&leaves);
        let found = if plain {
            plain_scores(&weights, &facts, &self.queries(), self.rounds)
        } else {
            scores(&weights, &facts, &self.queries(), self.rounds).expect("shapes agree")
        };
        let dims = found.dims();
        let factors: Vec<f32> = (0..dims[0] * dims[1]).map(|n| 1.0 + 0.3 * (n as f32).sin()).collect();
        let factors = Tensor::<2>::from_data(TensorData::new(factors, dims), &device);
        let gradients = (found.clone() * factors).sum().backward();
        let d =
            leaves.each_ref().map(|leaf| leaf.grad(&gradients).map_or(vec![], |d| numbers(&d).expect("f32")));
        (numbers(&found).expect("f32"), d)
    }

    /// Σ factor · score in f64 of the same factors.
    fn value(&self) -> f64 {
        let device = Device::flex();
        let leaves = self.leaves(&device, false);
        let (weights, facts) = self.inputs(&leaves);
        let found = numbers(&scores(&weights, &facts, &self.queries(), self.rounds).expect("shapes agree"));
        let found = found.expect("f32").into_iter().enumerate();
        found.map(|(n, score)| f64::from(1.0 + 0.3 * (n as f32).sin()) * f64::from(score)).sum()
    }
}

fn near(ours: &[f32], theirs: &[f32], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (place, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= 1e-4 * (1.0 + b.abs()), "{what} at {place}: {a} is not {b}");
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1usize..4, 0usize..3, 1usize..4, 1usize..12, 1usize..4);
    (any::<u64>(), 2usize..5, sizes, 1usize..4, 0usize..5).prop_map(|(seed, variables, s, rounds, pairs)| {
        Case::new(seed, variables, [s.0, s.1, s.2, s.3, s.4], rounds, pairs)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_layer_agrees_with_a_plain_composition_and_so_do_its_derivatives(case in cases()) {
        let ((ours, d_ours), (theirs, d_theirs)) = (case.total(false), case.total(true));
        near(&ours, &theirs, "score");
        let properties = case.schema.properties > 0;
        for (place, what) in ["links", "values", "logits of pairs", "logits of owns"].iter().enumerate() {
            if properties || place % 2 == 0 {
                near(&d_ours[place], &d_theirs[place], what);
            }
        }
    }
}

#[test]
fn the_adjoint_agrees_with_a_finite_difference() {
    for pairs in [0, 7] {
        let case = Case::new(11 + pairs as u64, 4, [2, 2, 2, 9, 3], 3, pairs);
        let (_, d) = case.total(false);
        let (mut checked, mut moved) = (0, 0);
        for place in 0..4 {
            for number in 0..case.numbers[place].len() {
                let at = |by: f32| {
                    let mut other = case.clone();
                    other.numbers[place][number] += by;
                    other.value()
                };
                // Where the two sides disagree, a minimum or maximum changes hands in between.
                let (more, here, less) = (at(2e-3), at(0.0), at(-2e-3));
                let (right, left) = ((more - here) / 2e-3, (here - less) / 2e-3);
                if (right - left).abs() > 5e-3 {
                    continue;
                }
                let ours = f64::from(d[place][number]);
                assert!(
                    (ours - right.midpoint(left)).abs() < 5e-3,
                    "{place} {number}: {ours} {right} {left}"
                );
                checked += 1;
                moved += usize::from(ours != 0.0);
            }
        }
        assert!(checked > 300 && moved > 50, "{checked} places checked, {moved} with a derivative");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let case = Case::new(5, 4, [3, 2, 5, 13, 4], 3, 0);
    let many = Case::new(6, 3, [2, 1, 1, 10, 2], 3, 300);
    for case in [case, many] {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| case.total(false))
        };
        assert_eq!(with(1), with(2));
    }
}

#[test]
fn wrong_shapes_are_refused_with_the_shape_that_was_wanted() {
    let case = Case::new(1, 3, [2, 0, 2, 4, 2], 2, 0);
    let (weights, facts) = case.inputs(&case.leaves(&Device::flex(), false));
    let other = SoftFacts { links: facts.links.clone().narrow(1, 0, 1), values: None };
    let error = scores(&weights, &other, &Queries::Graphs, 2).expect_err("too few predicates").to_string();
    assert_eq!(error, "links must have the shape [2, 2, 4, 4], but found [2, 1, 4, 4]");
    let far = Queries::Pairs(vec![GraphPair { graph: 0, head: 4, tail: 0 }]);
    let error = scores(&weights, &facts, &far, 2).expect_err("no such entity").to_string();
    assert!(error.starts_with("a pair must lie in one of 2 graphs, but found GraphPair"), "{error}");
    let error = scores(&weights, &facts, &Queries::Graphs, 0).expect_err("no round").to_string();
    assert_eq!(error, "rounds must be at least 1, but found 0");
}
