//! A second use of the layer: who is whose uncle, where gender must be read from noisy numbers.
//!
//! In: generated families with known parents and siblings, a noisy vector for each person, and labels of
//! pairs. Out: a network that reads the hidden property off the vector, and the rule on top of it, learned
//! end to end from the labels alone. The planted rule is
//! `uncle(X, Y) :- sibling(X, Z1), parent(Z1, Y), male(X).`

use burn::tensor::{Device, Tensor, TensorData, activation};
use glidr::internals::graph::{Predicate, Property};
use glidr::internals::infer::Slots;
use glidr::internals::model::Extraction;
use glidr::internals::rule::{Filler, Filling};
use glidr::{Result, Rule, Schema};
use rand::RngExt;

use glidr_burn::layer::{self, GraphPair, Queries, SlotWeights, SoftFacts, numbers};
use glidr_burn::parameters::{Leaves, OptimizerSettings, Parameters};
use glidr_burn::random::{Purpose, normal, stream};

/// People of a family: two grandparents, three children of theirs, two children of each of those.
pub const PEOPLE: usize = 11;
/// Numbers that describe a person.
const FEATURES: usize = 6;
/// Neurons between the vector and the property.
const HIDDEN: usize = 12;
/// Known predicates.
pub const PARENT: Predicate = Predicate(0);
/// Known predicates.
pub const SIBLING: Predicate = Predicate(1);
/// The property that only the network knows.
pub const HIDDEN_PROPERTY: Property = Property(0);
/// Rules learned side by side; the best is kept.
const RULES: usize = 8;
const ROUNDS: usize = 3;

/// Some families.
#[derive(Clone, Debug)]
pub struct Families {
    count: usize,
    links: Vec<f32>,
    features: Vec<f32>,
    /// Who is male; the network never sees it.
    pub male: Vec<bool>,
    /// Whether the pair (head, tail) of a family is one of the target's.
    labels: Vec<bool>,
}

/// What is called by the target's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Uncles only.
    Uncle,
    /// Uncles and parents, where a fixed rule already tells of the parents.
    Guardian,
}

/// What was learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The network and the logits of all rules.
    pub parameters: Parameters,
    /// Which rule has the least loss.
    pub best: usize,
    target: Target,
}

/// Two predicates, one property, three variables.
pub fn schema() -> Schema {
    Schema { variables: 3, predicates: 2, properties: 1 }
}

/// The planted rule, as it can be extracted: siblings may be asked for in either direction.
pub fn planted() -> [Rule; 2] {
    [Filler::Direct(SIBLING), Filler::Inverse(SIBLING)].map(|sibling| {
        let filling = Filling::new(schema()).pair(0, 1, &[sibling]).pair(1, 2, &[Filler::Direct(PARENT)]);
        filling.own(0, &[HIDDEN_PROPERTY]).rule(Predicate(0))
    })
}

impl Families {
    /// So many families with vectors whose numbers have this much noise; gender moves them by 1 either way.
    pub fn new(count: usize, noise: f32, target: Target, seed: u64) -> Self {
        let mut random = stream(seed, Purpose::Data, 1);
        let pairs = PEOPLE * PEOPLE;
        let mut families = Families {
            count,
            links: vec![0.0; count * 2 * pairs],
            features: Vec::new(),
            male: (0..count * PEOPLE).map(|_| random.random()).collect(),
            labels: vec![false; count * pairs],
        };
        let parent = |a: usize, b: usize| match a {
            0..2 => (2..5).contains(&b),
            2..5 => b >= 5 && (b - 5) / 2 == a - 2,
            _ => false,
        };
        let sibling = |a: usize, b: usize| a != b && (0..PEOPLE).any(|p| parent(p, a) && parent(p, b));
        for family in 0..count {
            for a in 0..PEOPLE {
                let sign = if families.male[family * PEOPLE + a] { 1.0 } else { -1.0 };
                // Three of six numbers lean to a side by gender, so that no single one tells it surely.
                let mut vector = normal(&mut random, FEATURES, 0.0, noise);
                vector[..3].iter_mut().for_each(|number| *number += sign);
                families.features.extend(vector);
                for b in 0..PEOPLE {
                    let place = a * PEOPLE + b;
                    let known = [parent(a, b), sibling(a, b)];
                    for (predicate, holds) in known.into_iter().enumerate() {
                        families.links[(family * 2 + predicate) * pairs + place] = f32::from(u8::from(holds));
                    }
                    let uncle = sign > 0.0 && (0..PEOPLE).any(|z| sibling(a, z) && parent(z, b));
                    families.labels[family * pairs + place] =
                        uncle || (target == Target::Guardian && parent(a, b));
                }
            }
        }
        families
    }

    fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
        Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
    }

    /// Known links, and the property as the network reads it off the vectors.
    fn facts(&self, leaves: &Leaves, device: &Device) -> SoftFacts {
        let people = self.count * PEOPLE;
        let vectors = Self::tensor(&self.features, [people, FEATURES], device);
        let inner =
            vectors.matmul(leaves.get::<2>("first.weight")) + leaves.get::<1>("first.bias").unsqueeze();
        let inner = activation::relu(inner).matmul(leaves.get::<2>("second.weight"));
        let read = activation::sigmoid(inner + leaves.get::<1>("second.bias").unsqueeze());
        let links = Self::tensor(&self.links, [self.count, 2, PEOPLE, PEOPLE], device);
        SoftFacts { links, values: Some(read.reshape([self.count, 1, PEOPLE])) }
    }

    /// All pairs of all families.
    fn queries(&self) -> Queries {
        let pair = |n: usize| {
            let (graph, place) = (n / (PEOPLE * PEOPLE), n % (PEOPLE * PEOPLE));
            GraphPair { graph, head: place / PEOPLE, tail: place % PEOPLE }
        };
        Queries::Pairs((0..self.labels.len()).map(pair).collect())
    }

    /// Scores of the learned rules, each joined with the fixed rule where there is one.
    fn scores(&self, leaves: &Leaves, target: Target, device: &Device) -> Result<Tensor<2>> {
        let mut weights =
            SlotWeights::soft(schema(), leaves.get("rule.pairs"), Some(leaves.get("rule.owns")));
        if target == Target::Guardian {
            let known = Filling::new(schema()).pair(0, 2, &[Filler::Direct(PARENT)]);
            weights = weights.join(SlotWeights::hard(&[known], device)?)?;
        }
        let scores = layer::scores(&weights, &self.facts(leaves, device), &self.queries(), ROUNDS)?;
        let learned = scores.clone().narrow(1, 0, RULES);
        Ok(match target {
            Target::Uncle => learned,
            Target::Guardian => learned.max_pair(scores.narrow(1, RULES, 1).repeat_dim(1, RULES)),
        })
    }

    /// The logistic loss of every rule, true and false pairs weighing the same.
    fn losses(&self, scores: Tensor<2>, device: &Device) -> Tensor<1> {
        let pairs = self.labels.len();
        let yes = self.labels.iter().filter(|&&label| label).count().max(1) as f32;
        let no = pairs as f32 - yes;
        let sign: Vec<f32> = self.labels.iter().map(|&label| if label { -1.0 } else { 1.0 }).collect();
        let share: Vec<f32> =
            self.labels.iter().map(|&label| if label { 0.5 / yes } else { 0.5 / no }).collect();
        let sign = Self::tensor(&sign, [pairs, 1], device);
        let wrong = (scores - 0.5) * 10.0 * sign;
        (activation::softplus(wrong, 1.0) * Self::tensor(&share, [pairs, 1], device))
            .sum_dim(0)
            .reshape([RULES])
    }
}

/// Learns the network and the rules end to end, from the labels of pairs alone.
pub fn learn(families: &Families, target: Target, steps: usize, seed: u64) -> Result<Learned> {
    let mut parameters = Parameters::default();
    let mut draw = |place: u64, name: &'static str, shape: &[usize], std: f32| {
        let mut random = stream(seed, Purpose::Start, 100 + place);
        parameters.add(name, shape, normal(&mut random, shape.iter().product(), 0.0, std));
    };
    let schema = schema();
    draw(0, "first.weight", &[FEATURES, HIDDEN], (2.0 / FEATURES as f32).sqrt());
    draw(1, "second.weight", &[HIDDEN, 1], (1.0 / HIDDEN as f32).sqrt());
    draw(2, "rule.pairs", &[RULES, schema.slots(), schema.fillers()], 1.0);
    draw(3, "rule.owns", &[RULES, schema.variables, schema.own_fillers()], 1.0);
    parameters.add("first.bias", &[HIDDEN], vec![0.0; HIDDEN]);
    parameters.add("second.bias", &[1], vec![0.0]);
    let device = Device::flex().autodiff();
    for step in 1..=steps {
        let leaves = parameters.leaves(&device, true);
        let losses = families.losses(families.scores(&leaves, target, &device)?, &device);
        let gradients = losses.mean().backward();
        let settings = |name: &str| OptimizerSettings {
            learning_rate: if name.starts_with("rule") { 0.1 } else { 0.02 },
            weight_decay: 0.001,
        };
        parameters.step(&leaves, &gradients, step, settings)?;
    }
    let leaves = parameters.leaves(&device, false);
    let losses = numbers(&families.losses(families.scores(&leaves, target, &device)?, &device))?;
    let best = (0..RULES).fold(0, |best, rule| if losses[rule] < losses[best] { rule } else { best });
    Ok(Learned { parameters, best, target })
}

impl Learned {
    /// The best rule with the filler of most weight in every slot.
    pub fn rule(&self) -> Rule {
        let schema = schema();
        let (pairs, owns) = (schema.slots() * schema.fillers(), schema.variables * schema.own_fillers());
        let part =
            |name: &str, size: usize| self.parameters.0[name].values[self.best * size..][..size].to_vec();
        let logits = Slots { pairs: part("rule.pairs", pairs), owns: part("rule.owns", owns) };
        Extraction::Argmax.filling(&Slots::soft(&logits, &schema), &schema).rule(Predicate(0))
    }

    /// On some families, never seen: how often a true pair scores above a false one, and how often the
    /// property as read is higher for a man than for a woman.
    pub fn evaluate(&self, families: &Families) -> Result<[f64; 2]> {
        let device = Device::flex();
        let leaves = self.parameters.leaves(&device, false);
        let scores = numbers(&families.scores(&leaves, self.target, &device)?)?;
        let scores: Vec<f32> = scores.chunks_exact(RULES).map(|scores| scores[self.best]).collect();
        let read =
            families.facts(&leaves, &device).values.map_or(Ok(Vec::new()), |values| numbers(&values))?;
        Ok([above(&scores, &families.labels), above(&read, &families.male)])
    }
}

/// How often a number that is marked is above one that is not.
fn above(numbers: &[f32], marked: &[bool]) -> f64 {
    let of = |mark: bool| numbers.iter().zip(marked).filter(move |(_, marked)| **marked == mark);
    let right: usize = of(true).map(|(high, _)| of(false).filter(|(low, _)| high > low).count()).sum();
    right as f64 / (of(true).count() * of(false).count()).max(1) as f64
}
