//! How to train: the paper's settings, checked once at the door.

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};
use crate::infer::Engine;

/// Where positives come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Positives {
    /// *train*, with *facts* as the background: the paper's way.
    #[default]
    Train,
    /// *facts* and *train*, which are both background; each batch's own facts are taken out of it
    /// for its step.
    All,
}

/// What training descends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Every positive of a batch against every negative: the paper's loss.
    #[default]
    Pairwise,
    /// The answer of a query against the query's negatives, by the sum of all rules' scores.
    Listwise,
}

/// One way to draw a negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Negative {
    /// A positive with another head.
    Head,
    /// A positive with another tail.
    Tail,
    /// A pair for which another predicate holds.
    Other,
    /// Any pair of entities.
    Any,
}

impl Negative {
    /// All ways: the default, each drawn equally often.
    pub const ALL: [Negative; 4] = [Negative::Head, Negative::Tail, Negative::Other, Negative::Any];

    /// The word for it in settings.
    pub fn name(self) -> &'static str {
        ["head", "tail", "other", "any"][self as usize]
    }

    /// Reads `mix` (all ways) or a list such as `head,tail`.
    pub fn parse_list(text: &str) -> Result<Vec<Negative>> {
        if text == "mix" {
            return Ok(Self::ALL.to_vec());
        }
        let find = |word: &str| {
            Self::ALL.into_iter().find(|way| way.name() == word.trim()).ok_or_else(|| {
                Error::Setting(format!(
                    "negatives must be mix, or some of head, tail, other, any, but has “{word}”"
                ))
            })
        };
        text.split(',').map(find).collect()
    }
}

/// How soft rules are weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleWeights {
    /// By the loss of training: each by its own validation loss, the paper's way; with the listwise loss all the same.
    #[default]
    Loss,
    /// Those of a target together, fitted to *valid*.
    Learned,
}

/// How to train. The defaults are the paper's for Family, Kinships and UMLS
/// (`tab:hyperparameters`).
///
/// ```
/// use glidr::Training;
/// let training = Training { rules: 4, steps: 100, ..Training::default() };
/// assert_eq!((training.variables, training.rounds, training.batch), (4, 3, 64));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Training {
    /// Schematic variables, N.
    pub variables: usize,
    /// Rounds of message passing, R_max.
    pub rounds: usize,
    /// Rule definitions per target.
    pub rules: usize,
    /// Training steps per rule.
    pub steps: usize,
    /// Pairs per batch, half of them positives.
    pub batch: usize,
    /// Learning rate of AdamW.
    pub learning_rate: f32,
    /// Weight decay of AdamW.
    pub weight_decay: f32,
    /// Standard deviation of the first logits, drawn from a normal distribution around 0.
    pub init_std: f32,
    /// Added, in every fourth rule, to the first logit of `P_true` in the slot between X and Y: such
    /// rules start out looking for a way through other entities.
    pub direct_slot_bias: f32,
    /// What training descends on.
    pub loss: Loss,
    /// With the listwise loss: candidates of a query, its answer among them. A batch has `batch / candidates` queries,
    /// at least one.
    pub candidates: usize,
    /// The share of the pairwise loss that is taken of the sum of eight rules' scores, from 0 to 1; the rest is the
    /// mean of each rule's own, the paper's loss. What others already tell apart then moves a rule less.
    pub joint_loss: f32,
    /// Where positives come from.
    pub positives: Positives,
    /// How negatives are drawn: each way equally often.
    #[serde(deserialize_with = "negatives")]
    pub negatives: Vec<Negative>,
    /// How soft rules are weighed.
    pub rule_weights: RuleWeights,
    /// Which engine passes messages.
    pub engine: Engine,
    /// Seed of every random choice; equal seeds give equal models on any number of threads.
    pub seed: u64,
    /// Names of the targets to learn; none means all predicates of the data.
    #[serde(deserialize_with = "one_or_many")]
    pub targets: Vec<String>,
    /// Known rules as text: the first soft rules of their targets start from them.
    #[serde(deserialize_with = "one_or_many")]
    pub start: Vec<String>,
}

impl Training {
    /// What ranks best for its time: better than by the paper's settings, in a fraction of their time.
    pub fn for_blend() -> Self {
        Training {
            variables: 3,
            rules: 16,
            steps: 256,
            batch: 128,
            loss: Loss::Listwise,
            joint_loss: 1.0,
            positives: Positives::All,
            ..Training::default()
        }
    }
}

impl Default for Training {
    fn default() -> Self {
        Training {
            variables: 4,
            rounds: 3,
            rules: 8,
            steps: 2048,
            batch: 64,
            learning_rate: 0.15,
            weight_decay: 0.1,
            init_std: 1.0,
            direct_slot_bias: 0.0,
            loss: Loss::Pairwise,
            candidates: 16,
            joint_loss: 0.0,
            positives: Positives::Train,
            negatives: Negative::ALL.to_vec(),
            rule_weights: RuleWeights::Loss,
            engine: Engine::Auto,
            seed: 0,
            targets: Vec::new(),
            start: Vec::new(),
        }
    }
}

/// A word or a list of words.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<String>, D::Error> {
    Ok(match Words::deserialize(from)? {
        Words::One(word) => vec![word],
        Words::Many(words) => words,
    })
}

fn negatives<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<Negative>, D::Error> {
    let text = match Words::deserialize(from)? {
        Words::One(word) => word,
        Words::Many(words) => words.join(","),
    };
    Negative::parse_list(&text).map_err(serde::de::Error::custom)
}

/// The most rounds, rules, steps and pairs that make sense: beyond, a slip of the hand is likelier.
const MOST: [(&str, usize); 5] =
    [("rounds", 1000), ("rules", 10_000), ("steps", 100_000_000), ("batch", 65_536), ("candidates", 65_536)];

impl Training {
    /// The names of the settings in which two differ.
    pub fn differences(&self, other: &Training) -> Vec<String> {
        let fields = |training: &Training| serde_json::to_value(training).unwrap_or_default();
        let (ours, theirs) = (fields(self), fields(other));
        let keys = ours.as_object().into_iter().flat_map(|fields| fields.keys());
        keys.filter(|key| ours[*key] != theirs[*key]).cloned().collect()
    }

    /// Refuses settings outside their range, by name and value.
    pub fn check(&self) -> Result<()> {
        let counts = [self.rounds, self.rules, self.steps, self.batch, self.candidates];
        for ((name, most), found) in MOST.into_iter().zip(counts) {
            let least = if ["batch", "candidates"].contains(&name) { 2 } else { 1 };
            if !(least..=most).contains(&found) {
                return Err(Error::Setting(format!("{name} must be from {least} to {most}, but is {found}")));
            }
        }
        for (name, found) in [
            ("learning_rate", self.learning_rate),
            ("weight_decay", self.weight_decay),
            ("init_std", self.init_std),
            ("direct_slot_bias", self.direct_slot_bias),
        ] {
            if !(found.is_finite() && found >= 0.0) {
                return Err(Error::Setting(format!("{name} must be a number of at least 0, but is {found}")));
            }
        }
        if !(0.0..=1.0).contains(&self.joint_loss) {
            return Err(Error::Setting(format!(
                "joint_loss must be from 0 to 1, but is {}",
                self.joint_loss
            )));
        }
        if self.negatives.is_empty() {
            return Err(Error::Setting(
                "negatives must name at least one way to draw, but names none".into(),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_outside_its_range_is_refused_by_name_and_value() {
        let refused = |training: Training| training.check().expect_err("out of range").to_string();
        let plain = Training::default;
        assert_eq!(refused(Training { rounds: 0, ..plain() }), "rounds must be from 1 to 1000, but is 0");
        assert_eq!(refused(Training { batch: 1, ..plain() }), "batch must be from 2 to 65536, but is 1");
        assert_eq!(
            refused(Training { learning_rate: f32::NAN, ..plain() }),
            "learning_rate must be a number of at least 0, but is NaN"
        );
        let alone = Training { candidates: 1, ..plain() };
        assert_eq!(refused(alone), "candidates must be from 2 to 65536, but is 1");
        assert!(plain().check().is_ok() && Training::for_blend().check().is_ok());
    }
}
