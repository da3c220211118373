//! Scores over the links of attention against their slow twin, which makes all links first.

use burn::tensor::{Device, Tensor, TensorData};
use glidr::Schema;
use glidr_burn::attention::{Attention, Rows, linked_scores};
use glidr_burn::layer::{Clip, GraphPair, Queries, SlotWeights, numbers, scores};
use glidr_burn::random::{Purpose, stream};
use proptest::prelude::*;
use rand::RngExt;

/// Sizes of a batch; its numbers are drawn by the seed.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    schema: Schema,
    graphs: usize,
    entities: usize,
    /// So many of a graph's rows at most: 0 for one of each entity's own.
    kinds: usize,
    key: usize,
    rules: usize,
    rounds: usize,
    pairs: usize,
}

impl Case {
    /// Which row describes which entity: drawn where entities may be alike.
    fn rows(&self) -> Rows {
        if self.kinds == 0 {
            return Rows::each(self.graphs, self.entities).expect("in order");
        }
        let (mut random, mut next) = (stream(self.seed, Purpose::Data, 1), 0);
        let graph = |_| {
            let first = next;
            let row = |_| {
                let row = first + random.random_range(0..self.kinds).min(next - first);
                next = next.max(row + 1);
                row
            };
            (0..self.entities).map(row).collect()
        };
        Rows::new((0..self.graphs).map(graph).collect()).expect("in order")
    }

    /// All scores, and the derivatives of Σ factor · score by queries, keys, biases, logits and values.
    fn total(&self, slowly: bool) -> (Vec<f32>, Vec<Vec<f32>>) {
        let (s, device) = (self.schema, Device::flex().autodiff());
        let mut random = stream(self.seed, Purpose::Data, 0);
        let mut draw = |shape: &[usize], least: f32, most: f32| {
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|_| random.random_range(least..most)).collect();
            Tensor::<1>::from_data(TensorData::new(values, [count]), &device).require_grad()
        };
        let rows = self.rows();
        let described = [rows.len(), s.predicates, self.key];
        let values = [rows.len(), s.properties.max(1)];
        let (pairs, owns) =
            ([self.rules, s.slots(), s.fillers()], [self.rules, s.variables, s.properties.max(1) + 1]);
        let leaves = [
            draw(&described, -2.0, 2.0),
            draw(&described, -2.0, 2.0),
            draw(&[s.predicates], -4.0, 0.0),
            draw(&pairs, -2.0, 2.0),
            draw(&values, 0.0, 1.0),
            draw(&owns, -2.0, 2.0),
        ];
        let own = s.properties > 0;
        let attention = Attention {
            rows,
            queries: leaves[0].clone().reshape(described),
            keys: leaves[1].clone().reshape(described),
            bias: leaves[2].clone(),
            clip: Clip { threshold: 0.5, gradient_threshold: 0.3 },
            values: own.then(|| leaves[4].clone().reshape(values)),
        };
        let owns = own.then(|| leaves[5].clone().reshape(owns));
        let weights = SlotWeights::soft(s, leaves[3].clone().reshape(pairs), owns);
        let mut below = |most: usize| random.random_range(0..most);
        let pairs = (0..self.pairs).map(|_| GraphPair {
            graph: below(self.graphs),
            head: below(self.entities),
            tail: below(self.entities),
        });
        let queries = if self.pairs == 0 { Queries::Graphs } else { Queries::Pairs(pairs.collect()) };
        let found = if slowly {
            scores(&weights, &attention.facts().expect("shapes agree"), &queries, self.rounds)
        } else {
            linked_scores(&weights, &attention, &queries, self.rounds)
        };
        let found = found.expect("shapes agree");
        let dims = found.dims();
        let factors: Vec<f32> = (0..dims[0] * dims[1]).map(|n| 1.0 + 0.3 * (n as f32).sin()).collect();
        let factors = Tensor::<2>::from_data(TensorData::new(factors, dims), &device);
        let gradients = (found.clone() * factors).sum().backward();
        let leaves = if own { &leaves[..] } else { &leaves[..4] };
        let d = leaves.iter().map(|leaf| numbers(&leaf.grad(&gradients).expect("a gradient")).expect("f32"));
        (numbers(&found).expect("f32"), d.collect())
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1usize..4, 0usize..3, 1usize..4, 1usize..14, 1usize..6, 1usize..20);
    let asked = prop_oneof![(0usize..5, Just(0)), (Just(0), 1usize..9)];
    (any::<u64>(), 2usize..5, sizes, 1usize..4, asked).prop_map(|(seed, variables, s, rounds, asked)| {
        let (predicates, properties, graphs, entities, key, rules) = s;
        let schema = Schema::new(variables, predicates, properties).expect("in range");
        let (pairs, kinds) = asked;
        Case { seed, schema, graphs, entities, kinds, key, rules, rounds, pairs }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scores_over_linked_pairs_alone_are_those_over_all_pairs_and_so_are_derivatives(case in cases()) {
        let ((ours, d_ours), (theirs, d_theirs)) = (case.total(false), case.total(true));
        let near = |ours: &[f32], theirs: &[f32]| {
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + b.abs()))
        };
        prop_assert!(near(&ours, &theirs), "scores {ours:?} are not {theirs:?}");
        for (place, (ours, theirs)) in d_ours.iter().zip(&d_theirs).enumerate() {
            prop_assert!(near(ours, theirs), "derivatives {place}: {ours:?} are not {theirs:?}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let schema = Schema::new(4, 3, 2).expect("in range");
    let case =
        Case { seed: 3, schema, graphs: 7, entities: 13, kinds: 9, key: 4, rules: 11, rounds: 3, pairs: 0 };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| case.total(false))
    };
    assert_eq!(with(1), with(2));
    assert!(with(1).1[0].iter().any(|d| *d != 0.0), "links have derivatives");
}

#[test]
fn attention_of_wrong_shape_is_refused() {
    let device = Device::flex();
    let attention = |rows: Rows, keys| Attention {
        queries: Tensor::zeros([3, 2, 4], &device),
        keys: Tensor::zeros([3, 2, keys], &device),
        bias: Tensor::zeros([2], &device),
        clip: Clip { threshold: 0.5, gradient_threshold: 0.3 },
        values: None,
        rows,
    };
    let weights =
        SlotWeights::soft(Schema::new(3, 2, 0).expect("in range"), Tensor::zeros([1, 3, 5], &device), None);
    let refused = |attention: Attention, queries: Queries| {
        linked_scores(&weights, &attention, &queries, 1).expect_err("refused").to_string()
    };
    let each = || Rows::each(1, 3).expect("in order");
    let error = refused(attention(each(), 5), Queries::Graphs);
    assert!(error.starts_with("queries and keys must have one shape"), "{error}");
    let error = refused(attention(Rows::each(2, 3).expect("in order"), 4), Queries::Graphs);
    assert_eq!(error, "queries must have 6 rows, but found 3");
    let pair = |tail| Queries::Pairs(vec![GraphPair { graph: 0, head: 0, tail }]);
    let error = refused(attention(each(), 4), pair(3));
    assert!(error.starts_with("a pair must lie in one of 1 graphs, but found GraphPair"), "{error}");
    let alike = Rows::new(vec![vec![0, 1, 2, 2]]).expect("in order");
    let error = refused(attention(alike, 4), pair(1));
    assert!(error.starts_with("a pair can be named only where every entity has a row"), "{error}");
}
