//! The network of the study: patches of an image to soft facts, and rules on top of them.
//!
//! In: 49 patches of 16 pixels. Out: a score per digit. The paper: a four-layer MLP per patch, properties
//! by projection and sigmoid, binary predicates by attention with a sigmoid, one rule per digit.

use burn::tensor::{Device, Tensor, TensorData, activation};
use glidr::{Result, Schema};
use glidr_burn::attention::{Attention, Rows, linked_scores};
use glidr_burn::layer::{self, Queries, SlotWeights, SoftFacts};
use glidr_burn::parameters::{Leaves, Parameters};
use glidr_burn::random::{Purpose, normal, stream};

use super::idx::{Digits, SIDE};
use super::settings::{DIGITS, Settings};

/// Patches on a side of an image.
pub const GRID: usize = 7;
/// Pixels on a side of a patch.
pub const PATCH: usize = SIDE / GRID;
/// Patches of an image: the entities of its graph.
pub const PATCHES: usize = GRID * GRID;
/// Pixels of a patch.
const PIXELS: usize = PATCH * PATCH;

/// Mean and standard deviation of the training images' brightness.
const BRIGHTNESS: f32 = 0.1307;
const CONTRAST: f32 = 0.3081;

const WEIGHTS: [&str; 4] = ["mlp1.weight", "mlp2.weight", "mlp3.weight", "mlp4.weight"];
const BIASES: [&str; 4] = ["mlp1.bias", "mlp2.bias", "mlp3.bias", "mlp4.bias"];

/// The patches of some images: those of an image that look the same stand in one row.
#[derive(Clone, Debug)]
pub struct Patches {
    /// Which row each of an image's 49 patches is.
    pub rows: Rows,
    /// `[rows, inputs]`: what the encoder reads of each.
    pub seen: Tensor<2>,
}

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

    /// Numbers that the encoder reads of a patch: its pixels, and with positional input its row and column.
    fn inputs(&self) -> usize {
        if self.settings.positional_input { PIXELS + 2 * GRID } else { PIXELS }
    }

    /// First numbers of all parameters, by the seed; `number` counts the starts of a run.
    pub fn start(&self, number: usize) -> Parameters {
        let (s, mut parameters) = (&self.settings, Parameters::default());
        let mut draw = |place: u64, name: &'static str, shape: &[usize], std: f32| {
            let mut random = stream(s.seed, Purpose::Start, place + ((number as u64) << 32));
            parameters.add(name, shape, normal(&mut random, shape.iter().product(), 0.0, std));
        };
        let widths = [self.inputs(), s.hidden, s.hidden, s.hidden, s.embedding];
        for layer in 0..4 {
            let (from, to) = (widths[layer], widths[layer + 1]);
            draw(layer as u64, WEIGHTS[layer], &[from, to], (2.0 / from as f32).sqrt());
        }
        let std = (1.0 / s.embedding as f32).sqrt();
        let keys = s.predicates * s.key;
        draw(4, "query.weight", &[s.embedding, keys], std);
        draw(5, "key.weight", &[s.embedding, keys], std);
        let pairs = [s.rules(), self.schema.slots(), self.schema.fillers()];
        draw(6, "rule.pairs", &pairs, s.init_std);
        if s.properties > 0 {
            draw(7, "property.weight", &[s.embedding, s.properties], std);
            draw(8, "rule.owns", &[s.rules(), s.variables, self.schema.own_fillers()], s.init_std);
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
    pub fn attention(&self, leaves: &Leaves, patches: &Patches) -> Attention {
        self.attention_of(leaves, describe(leaves, patches), &patches.rows)
    }

    fn attention_of(&self, leaves: &Leaves, described: Tensor<2>, rows: &Rows) -> Attention {
        let s = &self.settings;
        let project = |weight, bias| {
            let all = linear(leaves, described.clone(), weight, bias);
            all.reshape([rows.len(), s.predicates, s.key])
        };
        let queries = project("query.weight", "query.bias");
        let keys = project("key.weight", "key.bias");
        let values = (s.properties > 0)
            .then(|| activation::sigmoid(linear(leaves, described, "property.weight", "property.bias")));
        Attention { rows: rows.clone(), queries, keys, bias: leaves.get("link.bias"), clip: s.clip(), values }
    }

    /// Soft facts of a batch of images, all links made.
    pub fn facts(&self, leaves: &Leaves, patches: &Patches) -> Result<SoftFacts> {
        self.attention(leaves, patches).facts()
    }

    /// Scales the first attention of every predicate to [`Settings::attention_std`], and sets its bias so that a
    /// patch has [`Settings::initial_links`] on average over some images; likewise the first properties.
    ///
    /// Without this the first links are all or none: messages saturate, or no gradient reaches them.
    pub fn calibrate(&self, parameters: &mut Parameters, digits: &Digits) -> Result<()> {
        let (s, device) = (&self.settings, Device::flex());
        let some: Vec<usize> = (0..digits.len().min(64)).collect();
        let leaves = parameters.leaves(&device, false);
        let patches = self.patches(digits, &some, &device)?;
        let described = describe(&leaves, &patches);
        let attention = self.attention_of(&leaves, described.clone(), &patches.rows).logits()?;
        let attention = layer::numbers(&attention)?;
        if s.properties > 0 {
            let described = described.select(0, patches.rows.of_all(&device));
            let told = layer::numbers(&linear(&leaves, described, "property.weight", "property.bias"))?;
            for property in 0..s.properties {
                let (mean, std) = mean_and_std(told.iter().skip(property).step_by(s.properties));
                let scale = s.attention_std / std.max(1e-6);
                let weights = parameters.get_mut("property.weight");
                weights.iter_mut().skip(property).step_by(s.properties).for_each(|weight| *weight *= scale);
                parameters.get_mut("property.bias")[property] = s.property_bias - mean * scale;
            }
        }
        let square = PATCHES * PATCHES;
        for predicate in 0..s.predicates {
            let squares = (0..some.len()).map(|image| (image * s.predicates + predicate) * square);
            let mut found: Vec<f32> = squares.flat_map(|at| &attention[at..at + square]).copied().collect();
            let (_, std) = mean_and_std(found.iter());
            let scale = s.attention_std / std.max(1e-6);
            let keys = predicate * s.key..(predicate + 1) * s.key;
            for row in parameters.get_mut("query.weight").chunks_exact_mut(s.predicates * s.key) {
                row[keys.clone()].iter_mut().for_each(|weight| *weight *= scale);
            }
            found.sort_by(|a, b| b.total_cmp(a));
            let wanted = s.initial_links / PATCHES as f32 * found.len() as f32;
            // The strongest pair that is to have no link.
            let next = found.iter().zip(0u32..).find(|(_, rank)| *rank as f32 >= wanted);
            let next = next.map_or(f32::NEG_INFINITY, |(attention, _)| attention * scale).max(-1e3);
            parameters.get_mut("link.bias")[predicate] = s.clip().logits().0 - next - 1e-3;
        }
        Ok(())
    }

    /// The patches of some images: brightness with mean 0 and standard deviation 1 over the data. Positional input
    /// adds the patch's row and column, one-hot, so that no two are alike.
    pub fn patches(&self, digits: &Digits, numbers: &[usize], device: &Device) -> Result<Patches> {
        let positions = if self.settings.positional_input { GRID } else { 0 };
        let (mut values, mut rows, mut met) = (Vec::new(), Vec::with_capacity(numbers.len()), 0);
        for &number in numbers {
            let image = digits.image(number);
            let (mut kinds, mut of) = (Vec::with_capacity(PATCHES), Vec::with_capacity(PATCHES));
            for patch in 0..PATCHES {
                let (down, across) = (patch / GRID, patch % GRID);
                let mut pixels = [0u8; PIXELS];
                for (row, pixels) in pixels.chunks_exact_mut(PATCH).enumerate() {
                    let from = (down * PATCH + row) * SIDE + across * PATCH;
                    pixels.copy_from_slice(&image[from..from + PATCH]);
                }
                let known = kinds.iter().position(|kind| positions == 0 && *kind == pixels);
                of.push(met + known.unwrap_or(kinds.len()));
                if known.is_none() {
                    kinds.push(pixels);
                    values.extend(pixels.iter().map(|&p| (f32::from(p) / 255.0 - BRIGHTNESS) / CONTRAST));
                    let one_hot = |at: usize| (0..positions).map(move |n| if n == at { 1.0f32 } else { 0.0 });
                    values.extend(one_hot(down).chain(one_hot(across)));
                }
            }
            met += kinds.len();
            rows.push(of);
        }
        let rows = Rows::new(rows)?;
        let seen = Tensor::from_data(TensorData::new(values, [rows.len(), self.inputs()]), device);
        Ok(Patches { rows, seen })
    }

    /// The weights of all rules.
    pub fn weights(&self, leaves: &Leaves) -> SlotWeights {
        let owns = (self.settings.properties > 0).then(|| leaves.get("rule.owns"));
        SlotWeights::soft(self.schema, leaves.get("rule.pairs"), owns)
    }

    /// A score per image and digit: the mean over the digit's rules.
    pub fn scores(&self, leaves: &Leaves, patches: &Patches) -> Result<Tensor<2>> {
        self.scores_by(leaves, &self.attention(leaves, patches))
    }

    fn scores_by(&self, leaves: &Leaves, attention: &Attention) -> Result<Tensor<2>> {
        let (weights, rounds) = (self.weights(leaves), self.settings.rounds);
        let scores = linked_scores(&weights, attention, &Queries::Graphs, rounds)?;
        let ([images, _], each) = (scores.dims(), self.settings.rules_per_digit);
        Ok(scores.reshape([images, DIGITS, each]).mean_dim(2).reshape([images, DIGITS]))
    }

    /// The mean of −ln of the softmax over digits at the labels. Links weaker than the gradient
    /// threshold have no derivative.
    pub fn loss(
        &self,
        leaves: &Leaves,
        patches: &Patches,
        labels: &[u8],
        gradient_threshold: f32,
    ) -> Result<Tensor<1>> {
        let device = patches.seen.device();
        let mut attention = self.attention(leaves, patches);
        attention.clip.gradient_threshold = gradient_threshold;
        let scores = self.scores_by(leaves, &attention)? * self.settings.sharpness;
        let mut right = vec![0.0f32; labels.len() * DIGITS];
        labels.iter().enumerate().for_each(|(row, &label)| right[row * DIGITS + usize::from(label)] = 1.0);
        let right = Tensor::from_data(TensorData::new(right, [labels.len(), DIGITS]), &device);
        Ok((activation::log_softmax(scores, 1) * right).sum() / -(labels.len() as f32))
    }
}

/// What the four-layer MLP makes of every row.
fn describe(leaves: &Leaves, patches: &Patches) -> Tensor<2> {
    let hidden = (0..3).fold(patches.seen.clone(), |described, layer| {
        activation::relu(linear(leaves, described, WEIGHTS[layer], BIASES[layer]))
    });
    linear(leaves, hidden, WEIGHTS[3], BIASES[3])
}

fn mean_and_std<'a>(list: impl Iterator<Item = &'a f32> + Clone) -> (f32, f32) {
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
    fn patches_are_squares_of_the_image_in_reading_order_and_positional_input_adds_row_and_column() {
        let pixels = (0..SIDE * SIDE).map(|place| (place % 256) as u8).collect();
        let digits = Digits { pixels, labels: vec![3] };
        for positional_input in [false, true] {
            let network =
                Network::new(Settings { positional_input, ..Settings::default() }).expect("in range");
            let found = network.patches(&digits, &[0], &Device::flex()).expect("in order");
            let inputs = found.seen.dims()[1];
            let found = found.seen.select(0, found.rows.of_all(&Device::flex()));
            let found = layer::numbers(&found).expect("numbers");
            assert_eq!(found.len(), PATCHES * inputs);
            for (patch, row, column) in [(0, 0, 0), (1, 2, 3), (8, 3, 1), (48, 3, 3)] {
                let place = ((patch / GRID) * PATCH + row) * SIDE + (patch % GRID) * PATCH + column;
                let value = (f32::from((place % 256) as u8) / 255.0 - BRIGHTNESS) / CONTRAST;
                assert_eq!(found[patch * inputs + row * PATCH + column], value);
                let told: Vec<usize> = (PIXELS..inputs)
                    .filter(|n| found[patch * inputs + n] == 1.0)
                    .map(|n| n - PIXELS)
                    .collect();
                let expected =
                    if positional_input { vec![patch / GRID, GRID + patch % GRID] } else { vec![] };
                assert_eq!(told, expected);
            }
        }
    }

    #[test]
    fn patches_that_look_the_same_stand_in_one_row_unless_their_position_is_an_input() {
        let mut pixels = vec![0; 2 * SIDE * SIDE];
        pixels[SIDE * SIDE] = 200; // the first patch of the second image
        let digits = Digits { pixels, labels: vec![3; 2] };
        for (positional_input, expected) in [(false, 3), (true, 2 * PATCHES)] {
            let network =
                Network::new(Settings { positional_input, ..Settings::default() }).expect("in range");
            let found = network.patches(&digits, &[0, 1], &Device::flex()).expect("in order");
            assert_eq!((found.rows.len(), found.seen.dims()[0]), (expected, expected));
        }
    }
}
