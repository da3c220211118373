//! How the study of handwritten digits is set up.

use glidr::{Error, Result, Schema};
use glidr_burn::layer::Clip;
use glidr_burn::parameters::OptimizerSettings;
use serde::{Deserialize, Serialize};

use super::idx::Digits;

/// The digits: ten classes.
pub const DIGITS: usize = 10;

/// Settings of one run. The defaults are the paper's smaller study where it names a number (8 + 8
/// predicates, N = 4, one rule per digit, links below 0.5 clipped); the rest was chosen on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Settings {
    /// Binary predicates to learn.
    pub predicates: usize,
    /// Properties (unary predicates) to learn.
    pub properties: usize,
    /// Rules for each digit; a digit's score is the mean over its rules.
    pub rules_per_digit: usize,
    /// Schematic variables, N.
    pub variables: usize,
    /// Rounds of message passing.
    pub rounds: usize,
    /// Width of the encoder's hidden layers.
    pub hidden: usize,
    /// Numbers that describe a patch: the width of the encoder's last layer.
    pub embedding: usize,
    /// Numbers of a query or key of one predicate.
    pub key: usize,
    /// Whether the encoder also reads where a patch lies; the paper's does not.
    pub positional_input: bool,
    /// Whether images are deskewed first, by [`Settings::prepare`]; the paper's are not.
    pub deskew: bool,
    /// Links weaker than this are clipped to none.
    pub link_threshold: f32,
    /// Links weaker than this have no derivative. Between the two thresholds a clipped link can come back.
    pub gradient_threshold: f32,
    /// Whether gradients through clipped links are annealed away: the gradient threshold rises evenly to the link
    /// threshold. Links come back early in a run; late in it, derivatives are exact.
    pub annealed: bool,
    /// Standard deviation of the first attention.
    pub attention_std: f32,
    /// First links of a patch by each predicate, on average.
    pub initial_links: f32,
    /// Mean of the first properties before the sigmoid. Above 0, links narrow domains more than properties do.
    pub property_bias: f32,
    /// Standard deviation of the first logits.
    pub init_std: f32,
    /// What scores are multiplied with before the softmax over digits.
    pub sharpness: f32,
    /// Images in a batch.
    pub batch: usize,
    /// Passes over the training images.
    pub epochs: usize,
    /// Restart loss: a run whose first epoch ends with a greater mean loss restarts from another initialisation.
    /// None: every initialisation is kept.
    pub restart_loss: Option<f32>,
    /// Learning rate of the encoder's AdamW.
    pub learning_rate: f32,
    /// Weight decay of the encoder's AdamW.
    pub weight_decay: f32,
    /// Learning rate of the rules' AdamW.
    pub rule_learning_rate: f32,
    /// Weight decay of the rules' AdamW.
    pub rule_weight_decay: f32,
    /// Cosine schedule: both learning rates fall to nothing along half a cosine.
    pub cosine_schedule: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            predicates: 8,
            properties: 8,
            rules_per_digit: 1,
            variables: 4,
            rounds: 3,
            hidden: 128,
            embedding: 64,
            key: 8,
            positional_input: false,
            deskew: false,
            link_threshold: 0.5,
            gradient_threshold: 0.3,
            annealed: false,
            attention_std: 1.0,
            initial_links: 0.5,
            property_bias: 1.0,
            init_std: 0.5,
            sharpness: 10.0,
            batch: 64,
            epochs: 32,
            restart_loss: None,
            learning_rate: 0.001,
            weight_decay: 0.0,
            rule_learning_rate: 0.05,
            rule_weight_decay: 0.0,
            cosine_schedule: true,
            seed: 0,
        }
    }
}

impl Settings {
    /// Refuses what is out of range, by name and value.
    pub fn check(&self) -> Result<Schema> {
        let counts = [
            ("predicates", self.predicates, 1, 512),
            ("properties", self.properties, 0, 512),
            ("rules_per_digit", self.rules_per_digit, 1, 64),
            ("rounds", self.rounds, 1, 64),
            ("hidden", self.hidden, 1, 4096),
            ("embedding", self.embedding, 1, 4096),
            ("key", self.key, 1, 1024),
            ("batch", self.batch, 1, 4096),
            ("epochs", self.epochs, 1, 10_000),
        ];
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return Err(Error::Setting(format!("{name} must be {least} to {most}, but is {value}")));
            }
        }
        let numbers = [
            ("link_threshold", self.link_threshold, 0.0, 0.99),
            ("gradient_threshold", self.gradient_threshold, 0.0, self.link_threshold),
            ("attention_std", self.attention_std, 0.0, 100.0),
            ("initial_links", self.initial_links, 0.0, 49.0),
            ("property_bias", self.property_bias, -20.0, 20.0),
            ("init_std", self.init_std, 0.0, 100.0),
            ("sharpness", self.sharpness, 1e-3, 1e4),
            ("learning_rate", self.learning_rate, 0.0, 10.0),
            ("weight_decay", self.weight_decay, 0.0, 10.0),
            ("rule_learning_rate", self.rule_learning_rate, 0.0, 10.0),
            ("rule_weight_decay", self.rule_weight_decay, 0.0, 10.0),
        ];
        let restart_loss = self.restart_loss.map(|loss| ("restart_loss", loss, 0.1, 100.0));
        for (name, value, least, most) in numbers.into_iter().chain(restart_loss) {
            if !(least..=most).contains(&value) {
                return Err(Error::Setting(format!("{name} must be {least} to {most}, but is {value}")));
            }
        }
        Schema::new(self.variables, self.predicates, self.properties)
    }

    /// Images as the network is to see them, in training and ever after.
    pub fn prepare(&self, digits: Digits) -> Digits {
        if self.deskew { digits.deskewed() } else { digits }
    }

    /// Which links are none.
    pub fn clip(&self) -> Clip {
        Clip { threshold: self.link_threshold, gradient_threshold: self.gradient_threshold }
    }

    /// Links weaker than this have no derivative at `step` of `steps`.
    pub(super) fn gradient_threshold_at(&self, step: usize, steps: usize) -> f32 {
        let done = if self.annealed { step as f32 / steps.max(1) as f32 } else { 0.0 };
        self.gradient_threshold + (self.link_threshold - self.gradient_threshold) * done
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        DIGITS * self.rules_per_digit
    }

    /// How a parameter is moved at `step` of `steps`.
    pub(super) fn optimizer(&self, name: &str, step: usize, steps: usize) -> OptimizerSettings {
        let done = step as f32 / steps.max(1) as f32;
        let schedule =
            if self.cosine_schedule { 0.5 + 0.5 * (std::f32::consts::PI * done).cos() } else { 1.0 };
        let (learning_rate, weight_decay) = if name.starts_with("rule") {
            (self.rule_learning_rate, self.rule_weight_decay)
        } else {
            (self.learning_rate, self.weight_decay)
        };
        OptimizerSettings { learning_rate: schedule * learning_rate, weight_decay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_project_are_sound() {
        let files = [
            include_str!("../../plans/mnist-positional.toml"),
            include_str!("../../plans/mnist-large.toml"),
            include_str!("../../plans/mnist-deskew.toml"),
        ];
        for text in files {
            let settings: Settings = toml::from_str(text).expect("settings by their names");
            assert!(settings.check().is_ok(), "{settings:?}");
        }
    }

    #[test]
    fn images_are_deskewed_only_where_that_is_set() {
        let pixels = (0..784).map(|n| if n % 28 == n / 28 { 200 } else { 0 }).collect();
        let slanted = Digits { pixels, labels: vec![1] };
        let prepared = |deskew| Settings { deskew, ..Settings::default() }.prepare(slanted.clone());
        assert_eq!(prepared(false), slanted);
        assert_eq!(prepared(true), slanted.clone().deskewed());
        assert_ne!(prepared(true), slanted);
    }

    #[test]
    fn an_annealed_gradient_threshold_rises_to_the_link_threshold() {
        let annealed = Settings { annealed: true, ..Settings::default() };
        let thresholds =
            |settings: &Settings| [0, 50, 100].map(|step| settings.gradient_threshold_at(step, 100));
        assert_eq!(thresholds(&annealed), [0.3, 0.4, 0.5]);
        assert_eq!(thresholds(&Settings::default()), [0.3; 3]);
    }

    #[test]
    fn a_setting_out_of_range_is_refused_by_name_and_value() {
        let refused = |settings: Settings| settings.check().expect_err("out of range").to_string();
        let error = refused(Settings { predicates: 0, ..Settings::default() });
        assert_eq!(error, "predicates must be 1 to 512, but is 0");
        let error = refused(Settings { learning_rate: f32::NAN, ..Settings::default() });
        assert_eq!(error, "learning_rate must be 0 to 10, but is NaN");
        assert!(Settings::default().check().is_ok());
    }
}
