//! The network of the study: patches of an image to soft facts, and rules on top of them.
//!
//! In: 49 patches of 16 pixels. Out: a score per digit. The paper: a four-layer MLP per patch, properties
//! by projection and sigmoid, binary predicates by attention with a sigmoid, one rule per digit.

use burn::tensor::{Device, Tensor, TensorData, activation};
use glidr::{Result, Schema};

use super::idx::{Digits, SIDE};
use super::settings::{DIGITS, Settings};
use crate::layer::{self, Attention, Queries, RuleWeights, SoftFacts};
use crate::links;
use crate::parameters::{Leaves, Parameters};
use crate::random::{Purpose, normal, stream};

/// Patches on a side of an image.
pub const GRID: usize = 7;
/// Pixels on a side of a patch.
pub const PATCH: usize = SIDE / GRID;
/// Patches of an image: the entities of its graph.
pub const PATCHES: usize = GRID * GRID;
/// Pixels of a patch.
const PIXELS: usize = PATCH * PATCH;

/// Mean and spread of the training images' brightness.
const BRIGHTNESS: f32 = 0.1307;
const CONTRAST: f32 = 0.3081;

const WEIGHTS: [&str; 4] = ["mlp1.weight", "mlp2.weight", "mlp3.weight", "mlp4.weight"];
const BIASES: [&str; 4] = ["mlp1.bias", "mlp2.bias", "mlp3.bias", "mlp4.bias"];

/// The shape of the network; its numbers are [`Parameters`].
#[derive(Clone, Debug)]
pub struct Network {
    /// The settings that shape it.
    pub settings: Settings,
    /// The schema of all rules.
    pub schema: Schema,
}

impl Network {
    /// Checks the settings.
    pub fn new(settings: Settings) -> Result<Self> {
        let schema = settings.check()?;
        Ok(Network { settings, schema })
    }

    /// Numbers that the encoder reads of a patch: its pixels, and its place where that is told.
    fn inputs(&self) -> usize {
        if self.settings.places { PIXELS + 2 * GRID } else { PIXELS }
    }

    /// First numbers of all parameters, by the seed.
    pub fn start(&self) -> Parameters {
        let (s, mut parameters) = (&self.settings, Parameters::default());
        let mut draw = |place: u64, name: &'static str, shape: &[usize], spread: f32| {
            let mut random = stream(s.seed, Purpose::Start, place);
            parameters.add(name, shape, normal(&mut random, shape.iter().product(), 0.0, spread));
        };
        let widths = [self.inputs(), s.hidden, s.hidden, s.hidden, s.embedding];
        for layer in 0..4 {
            let (from, to) = (widths[layer], widths[layer + 1]);
            draw(layer as u64, WEIGHTS[layer], &[from, to], (2.0 / from as f32).sqrt());
        }
        let spread = (1.0 / s.embedding as f32).sqrt();
        let keys = s.predicates * s.key;
        draw(4, "query.weight", &[s.embedding, keys], spread);
        draw(5, "key.weight", &[s.embedding, keys], spread);
        let pairs = [s.rules(), self.schema.slots(), self.schema.fillers()];
        draw(6, "rule.pairs", &pairs, s.spread);
        if s.properties > 0 {
            draw(7, "property.weight", &[s.embedding, s.properties], spread);
            draw(8, "rule.owns", &[s.rules(), s.variables, self.schema.own_fillers()], s.spread);
            parameters.add("property.bias", &[s.properties], vec![0.0; s.properties]);
        }
        for layer in 0..4 {
            parameters.add(BIASES[layer], &[widths[layer + 1]], vec![0.0; widths[layer + 1]]);
        }
        parameters.add("query.bias", &[keys], vec![0.0; keys]);
        parameters.add("key.bias", &[keys], vec![0.0; keys]);
        parameters.add("link.bias", &[s.predicates], vec![0.0; s.predicates]);
        parameters
    }

    /// What the soft facts of a batch of images, as [`Network::patches`] gives them, are made of.
    pub fn attention(&self, leaves: &Leaves, patches: Tensor<3>) -> Attention {
        let [images, _, _] = patches.dims();
        self.attention_of(leaves, describe(leaves, patches), images)
    }

    fn attention_of(&self, leaves: &Leaves, described: Tensor<2>, images: usize) -> Attention {
        let s = &self.settings;
        let project = |weight, bias| {
            let all = linear(leaves, described.clone(), weight, bias);
            all.reshape([images, PATCHES, s.predicates, s.key])
        };
        let queries = project("query.weight", "query.bias");
        let keys = project("key.weight", "key.bias");
        let values = (s.properties > 0).then(|| {
            let values = activation::sigmoid(linear(leaves, described, "property.weight", "property.bias"));
            values.reshape([images, PATCHES, s.properties]).swap_dims(1, 2)
        });
        Attention { queries, keys, bias: leaves.get("link.bias"), least: s.least, values }
    }

    /// Soft facts of a batch of images, all links made.
    pub fn facts(&self, leaves: &Leaves, patches: Tensor<3>) -> Result<SoftFacts> {
        self.attention(leaves, patches).facts()
    }

    /// Scales the first attention of every predicate to the spread that is set, and sets its bias so that
    /// a patch has as many links as is set, on the mean over some images; likewise the first properties.
    ///
    /// Without this the first links are all or none: messages that saturate, or that no gradient reaches.
    pub fn settle(&self, parameters: &mut Parameters, digits: &Digits) -> Result<()> {
        let (s, device) = (&self.settings, Device::flex());
        let some: Vec<usize> = (0..digits.len().min(64)).collect();
        let leaves = parameters.leaves(&device, false);
        let described = describe(&leaves, self.patches(digits, &some, &device));
        let attention = self.attention_of(&leaves, described.clone(), some.len()).between();
        let attention = layer::numbers(&attention)?;
        if s.properties > 0 {
            let told = layer::numbers(&linear(&leaves, described, "property.weight", "property.bias"))?;
            for property in 0..s.properties {
                let (mean, spread) = mean_and_spread(told.iter().skip(property).step_by(s.properties));
                let scale = s.attention / spread.max(1e-6);
                let weights = parameters.get_mut("property.weight");
                weights.iter_mut().skip(property).step_by(s.properties).for_each(|weight| *weight *= scale);
                parameters.get_mut("property.bias")[property] = s.leaning - mean * scale;
            }
        }
        let square = PATCHES * PATCHES;
        for predicate in 0..s.predicates {
            let places = (0..some.len()).map(|image| (image * s.predicates + predicate) * square);
            let mut found: Vec<f32> = places.flat_map(|at| &attention[at..at + square]).copied().collect();
            let (_, spread) = mean_and_spread(found.iter());
            let scale = s.attention / spread.max(1e-6);
            let keys = predicate * s.key..(predicate + 1) * s.key;
            for row in parameters.get_mut("query.weight").chunks_exact_mut(s.predicates * s.key) {
                row[keys.clone()].iter_mut().for_each(|weight| *weight *= scale);
            }
            found.sort_by(|a, b| b.total_cmp(a));
            let share = s.links / PATCHES as f32 * found.len() as f32;
            // The first place past that share of all pairs.
            let bar = found.iter().zip(0u32..).find(|(_, place)| *place as f32 >= share);
            let bar = bar.map_or(f32::NEG_INFINITY, |(attention, _)| attention * scale).max(-1e3);
            parameters.get_mut("link.bias")[predicate] = links::bar(s.least) - bar - 1e-3;
        }
        Ok(())
    }

    /// Gives a predicate that links nothing on some images its strongest link back: no gradient reaches one
    /// whose links are all clipped.
    pub fn revive(&self, parameters: &mut Parameters, digits: &Digits, images: &[usize]) -> Result<()> {
        let (s, device) = (&self.settings, Device::flex());
        let leaves = parameters.leaves(&device, false);
        let attention = self.attention(&leaves, self.patches(digits, images, &device)).between();
        let attention = layer::numbers(&attention)?;
        let mut strongest = vec![-1e3f32; s.predicates];
        for (number, matrix) in attention.chunks_exact(PATCHES * PATCHES).enumerate() {
            let strongest = &mut strongest[number % s.predicates];
            // The diagonal stands at every 50th place.
            let others = matrix.iter().zip(0..).filter(|(_, place)| place % (PATCHES + 1) != 0);
            *strongest = others.fold(*strongest, |most, (attention, _)| most.max(*attention));
        }
        for (bias, strongest) in parameters.get_mut("link.bias").iter_mut().zip(strongest) {
            *bias = bias.max(links::bar(s.least) - strongest + 1e-3);
        }
        Ok(())
    }

    /// The patches of some images, `[images, 49, inputs]`: brightness with mean 0 and spread 1 over the data;
    /// then, where places are told, a one in the patch's row of seven and a one in its column.
    pub fn patches(&self, digits: &Digits, numbers: &[usize], device: &Device) -> Tensor<3> {
        let mut values = Vec::with_capacity(numbers.len() * PATCHES * self.inputs());
        let places = if self.settings.places { GRID } else { 0 };
        for &number in numbers {
            let image = digits.image(number);
            for patch in 0..PATCHES {
                let (down, across) = (patch / GRID, patch % GRID);
                for row in 0..PATCH {
                    let pixels = &image[(down * PATCH + row) * SIDE + across * PATCH..][..PATCH];
                    values.extend(pixels.iter().map(|&p| (f32::from(p) / 255.0 - BRIGHTNESS) / CONTRAST));
                }
                let one = |place: usize| (0..places).map(move |n| if n == place { 1.0f32 } else { 0.0 });
                values.extend(one(down).chain(one(across)));
            }
        }
        Tensor::from_data(TensorData::new(values, [numbers.len(), PATCHES, self.inputs()]), device)
    }

    /// The weights of all rules.
    pub fn weights(&self, leaves: &Leaves) -> RuleWeights {
        let owns = (self.settings.properties > 0).then(|| leaves.get("rule.owns"));
        RuleWeights::soft(self.schema, leaves.get("rule.pairs"), owns)
    }

    /// A score per image and digit: the mean over the digit's rules.
    pub fn scores(&self, leaves: &Leaves, patches: Tensor<3>) -> Result<Tensor<2>> {
        let attention = self.attention(leaves, patches);
        let (weights, rounds) = (self.weights(leaves), self.settings.rounds);
        let scores = layer::linked_scores(&weights, &attention, &Queries::Graphs, rounds)?;
        let ([images, _], each) = (scores.dims(), self.settings.rules_per_digit);
        Ok(scores.reshape([images, DIGITS, each]).mean_dim(2).reshape([images, DIGITS]))
    }

    /// The mean of −ln of the softmax over digits at the labels.
    pub fn loss(&self, leaves: &Leaves, patches: Tensor<3>, labels: &[u8]) -> Result<Tensor<1>> {
        let device = patches.device();
        let scores = self.scores(leaves, patches)? * self.settings.sharpness;
        let mut right = vec![0.0f32; labels.len() * DIGITS];
        labels.iter().enumerate().for_each(|(row, &label)| right[row * DIGITS + usize::from(label)] = 1.0);
        let right = Tensor::from_data(TensorData::new(right, [labels.len(), DIGITS]), &device);
        Ok((activation::log_softmax(scores, 1) * right).sum() / -(labels.len() as f32))
    }
}

/// What the four-layer MLP makes of every patch.
fn describe(leaves: &Leaves, patches: Tensor<3>) -> Tensor<2> {
    let [images, _, inputs] = patches.dims();
    let mut described = patches.reshape([images * PATCHES, inputs]);
    for layer in 0..3 {
        described = activation::relu(linear(leaves, described, WEIGHTS[layer], BIASES[layer]));
    }
    linear(leaves, described, WEIGHTS[3], BIASES[3])
}

fn mean_and_spread<'a>(list: impl Iterator<Item = &'a f32> + Clone) -> (f32, f32) {
    let count = list.clone().count().max(1) as f32;
    let mean = list.clone().sum::<f32>() / count;
    (mean, (list.map(|a| (a - mean) * (a - mean)).sum::<f32>() / count).sqrt())
}

fn linear(leaves: &Leaves, input: Tensor<2>, weight: &str, bias: &str) -> Tensor<2> {
    input.matmul(leaves.get::<2>(weight)) + leaves.get::<1>(bias).unsqueeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_squares_of_the_image_in_reading_order_with_their_place_where_asked() {
        let pixels = (0..SIDE * SIDE).map(|place| (place % 256) as u8).collect();
        let digits = Digits { pixels, labels: vec![3] };
        for places in [false, true] {
            let network = Network::new(Settings { places, ..Settings::default() }).expect("in range");
            let found = network.patches(&digits, &[0], &Device::flex());
            let inputs = found.dims()[2];
            let found = layer::numbers(&found).expect("numbers");
            for (patch, row, column) in [(0, 0, 0), (1, 2, 3), (8, 3, 1), (48, 3, 3)] {
                let place = ((patch / GRID) * PATCH + row) * SIDE + (patch % GRID) * PATCH + column;
                let value = (f32::from((place % 256) as u8) / 255.0 - BRIGHTNESS) / CONTRAST;
                assert_eq!(found[patch * inputs + row * PATCH + column], value);
                let told: Vec<usize> = (PIXELS..inputs)
                    .filter(|n| found[patch * inputs + n] == 1.0)
                    .map(|n| n - PIXELS)
                    .collect();
                let expected = if places { vec![patch / GRID, GRID + patch % GRID] } else { vec![] };
                assert_eq!(told, expected);
            }
        }
    }

    #[test]
    fn a_predicate_that_links_nothing_is_revived_by_its_strongest_link_and_others_are_left_alone() {
        let settings =
            Settings { predicates: 2, properties: 0, hidden: 8, embedding: 8, ..Settings::default() };
        let network = Network::new(settings).expect("in range");
        let pixels = (0..20 * SIDE * SIDE).map(|place| (place * place / 97 % 256) as u8).collect();
        let digits = Digits { pixels, labels: vec![3; 20] };
        let (all, device) = ((0..20).collect::<Vec<_>>(), Device::flex());
        let links = |parameters: &Parameters| {
            let patches = network.patches(&digits, &all, &device);
            let facts = network.facts(&parameters.leaves(&device, false), patches).expect("same shapes");
            let links = layer::numbers(&facts.links).expect("numbers");
            let of = |predicate| links.chunks_exact(PATCHES * PATCHES).skip(predicate).step_by(2).flatten();
            [0, 1].map(|predicate| of(predicate).filter(|link| **link > 0.0).count())
        };
        let mut parameters = network.start();
        network.settle(&mut parameters, &digits).expect("same shapes");
        let before = parameters.clone();
        network.revive(&mut parameters, &digits, &all).expect("same shapes");
        assert_eq!(parameters, before);
        parameters.get_mut("link.bias")[1] = -500.0;
        assert_eq!(links(&parameters)[1], 0);
        network.revive(&mut parameters, &digits, &all).expect("same shapes");
        let [alive, revived] = links(&parameters);
        assert!((1..alive).contains(&revived), "{revived} beside {alive}");
    }
}
