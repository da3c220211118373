//! How the study of handwritten digits is set up.

use glidr::{Error, Result, Schema};
use serde::{Deserialize, Serialize};

use super::idx::Digits;
use crate::links::Clip;
use crate::parameters::Pace;

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
    /// Whether the encoder is told where a patch lies; the paper's is not.
    pub places: bool,
    /// Whether slanted images are made upright first, by [`Settings::prepare`]; the paper's are not.
    pub upright: bool,
    /// Links weaker than this are none.
    pub least: f32,
    /// Links weaker than this have no derivative: between the two, what was clipped can come back.
    pub felt: f32,
    /// Whether `felt` rises evenly to `least`: links come back early in a run, late ones have exact derivatives.
    pub firm: bool,
    /// Spread of the first attention.
    pub attention: f32,
    /// First links of a patch by each predicate, on the mean.
    pub links: f32,
    /// What the first properties are, on the mean, before the sigmoid: above 0, links narrow more than they do.
    pub leaning: f32,
    /// Spread of the first logits.
    pub spread: f32,
    /// What scores are multiplied with before the softmax over digits.
    pub sharpness: f32,
    /// Images in a batch.
    pub batch: usize,
    /// Passes over the training images.
    pub epochs: usize,
    /// A start whose first pass ends with a mean loss above this is given up for another; none: every start is kept.
    pub poor: Option<f32>,
    /// Rate of the encoder's AdamW.
    pub rate: f32,
    /// Decay of the encoder's AdamW.
    pub decay: f32,
    /// Rate of the rules' AdamW.
    pub rule_rate: f32,
    /// Decay of the rules' AdamW.
    pub rule_decay: f32,
    /// Whether both rates fall to nothing along half a cosine.
    pub fade: bool,
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
            places: false,
            upright: false,
            least: 0.5,
            felt: 0.3,
            firm: false,
            attention: 1.0,
            links: 0.5,
            leaning: 1.0,
            spread: 0.5,
            sharpness: 10.0,
            batch: 64,
            epochs: 32,
            poor: None,
            rate: 0.001,
            decay: 0.0,
            rule_rate: 0.05,
            rule_decay: 0.0,
            fade: true,
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
            ("least", self.least, 0.0, 0.99),
            ("felt", self.felt, 0.0, self.least),
            ("attention", self.attention, 0.0, 100.0),
            ("links", self.links, 0.0, 49.0),
            ("leaning", self.leaning, -20.0, 20.0),
            ("spread", self.spread, 0.0, 100.0),
            ("sharpness", self.sharpness, 1e-3, 1e4),
            ("rate", self.rate, 0.0, 10.0),
            ("decay", self.decay, 0.0, 10.0),
            ("rule_rate", self.rule_rate, 0.0, 10.0),
            ("rule_decay", self.rule_decay, 0.0, 10.0),
        ];
        let poor = self.poor.map(|poor| ("poor", poor, 0.1, 100.0));
        for (name, value, least, most) in numbers.into_iter().chain(poor) {
            if !(least..=most).contains(&value) {
                return Err(Error::Setting(format!("{name} must be {least} to {most}, but is {value}")));
            }
        }
        Schema::new(self.variables, self.predicates, self.properties)
    }

    /// Images as the network is to see them, in training and ever after.
    pub fn prepare(&self, digits: Digits) -> Digits {
        if self.upright { digits.upright() } else { digits }
    }

    /// Which links are none.
    pub fn clip(&self) -> Clip {
        Clip { least: self.least, felt: self.felt }
    }

    /// Links weaker than this have no derivative at `step` of `steps`.
    pub(super) fn felt(&self, step: usize, steps: usize) -> f32 {
        let done = if self.firm { step as f32 / steps.max(1) as f32 } else { 0.0 };
        self.felt + (self.least - self.felt) * done
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        DIGITS * self.rules_per_digit
    }

    /// How far a parameter moves at `step` of `steps`: rules fast, the encoder slowly.
    pub(super) fn pace(&self, name: &str, step: usize, steps: usize) -> Pace {
        let done = step as f32 / steps.max(1) as f32;
        let share = if self.fade { 0.5 + 0.5 * (std::f32::consts::PI * done).cos() } else { 1.0 };
        if name.starts_with("rule") {
            Pace { rate: share * self.rule_rate, decay: self.rule_decay }
        } else {
            Pace { rate: share * self.rate, decay: self.decay }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_project_are_sound() {
        let files = [
            include_str!("../../../glidr-experiments/plans/mnist-beyond.toml"),
            include_str!("../../../glidr-experiments/plans/mnist-large.toml"),
            include_str!("../../../glidr-experiments/plans/mnist-upright.toml"),
        ];
        for text in files {
            let settings: Settings = toml::from_str(text).expect("settings by their names");
            assert!(settings.check().is_ok(), "{settings:?}");
        }
    }

    #[test]
    fn images_are_made_upright_where_that_is_asked_for_only() {
        let pixels = (0..784).map(|n| if n % 28 == n / 28 { 200 } else { 0 }).collect();
        let slanted = Digits { pixels, labels: vec![1] };
        let prepared = |upright| Settings { upright, ..Settings::default() }.prepare(slanted.clone());
        assert_eq!(prepared(false), slanted);
        assert_eq!(prepared(true), slanted.clone().upright());
        assert_ne!(prepared(true), slanted);
    }

    #[test]
    fn in_a_firm_run_what_is_felt_rises_to_what_counts() {
        let firm = Settings { firm: true, ..Settings::default() };
        let felt = |settings: &Settings| [0, 50, 100].map(|step| settings.felt(step, 100));
        assert_eq!(felt(&firm), [0.3, 0.4, 0.5]);
        assert_eq!(felt(&Settings::default()), [0.3; 3]);
    }

    #[test]
    fn a_setting_out_of_range_is_refused_by_name_and_value() {
        let refused = |settings: Settings| settings.check().expect_err("out of range").to_string();
        let error = refused(Settings { predicates: 0, ..Settings::default() });
        assert_eq!(error, "predicates must be 1 to 512, but is 0");
        let error = refused(Settings { rate: f32::NAN, ..Settings::default() });
        assert_eq!(error, "rate must be 0 to 10, but is NaN");
        assert!(Settings::default().check().is_ok());
    }
}
