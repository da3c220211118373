//! How well digits are told apart: the confusion matrix, accuracy and F1.

use burn::tensor::Device;
use glidr::Result;
use glidr_burn::layer::numbers;
use glidr_burn::parameters::Parameters;

use super::idx::Digits;
use super::network::Network;
use super::settings::DIGITS;

/// Images scored at once.
const CHUNK: usize = 250;

/// How often each digit was taken for each: `counts[shown][answered]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    /// The counts.
    pub counts: [[usize; DIGITS]; DIGITS],
}

impl Confusion {
    /// Lets the network answer for all images.
    pub fn of(network: &Network, parameters: &Parameters, digits: &Digits) -> Result<Self> {
        let device = Device::flex();
        let leaves = parameters.leaves(&device, false);
        let mut confusion = Confusion::default();
        let all: Vec<usize> = (0..digits.len()).collect();
        for some in all.chunks(CHUNK) {
            let scores = numbers(&network.scores(&leaves, &network.patches(digits, some, &device)?)?)?;
            for (&number, scores) in some.iter().zip(scores.chunks_exact(DIGITS)) {
                confusion.counts[usize::from(digits.labels[number])][answer(scores)] += 1;
            }
        }
        Ok(confusion)
    }

    /// The share of images that were answered rightly.
    pub fn accuracy(&self) -> f64 {
        let right: usize = (0..DIGITS).map(|digit| self.counts[digit][digit]).sum();
        right as f64 / self.counts.iter().flatten().sum::<usize>().max(1) as f64
    }

    /// A digit's F1: 2 · right / (shown + answered).
    pub fn f1(&self, digit: usize) -> f64 {
        let shown: usize = self.counts[digit].iter().sum();
        let answered: usize = self.counts.iter().map(|row| row[digit]).sum();
        2.0 * self.counts[digit][digit] as f64 / (shown + answered).max(1) as f64
    }

    /// The mean of F1 over the digits.
    pub fn macro_f1(&self) -> f64 {
        (0..DIGITS).map(|digit| self.f1(digit)).sum::<f64>() / DIGITS as f64
    }
}

/// The digit of the largest score, the first of equal ones.
fn answer(scores: &[f32]) -> usize {
    (0..scores.len()).fold(0, |best, digit| if scores[digit] > scores[best] { digit } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macro_f1_is_the_mean_of_the_digits_and_a_digit_never_answered_counts_nothing() {
        let mut confusion = Confusion::default();
        confusion.counts[0][0] = 10;
        confusion.counts[1][0] = 10;
        for digit in 2..DIGITS {
            confusion.counts[digit][digit] = 5;
        }
        assert!((confusion.f1(0) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!((confusion.f1(1), confusion.f1(2)), (0.0, 1.0));
        assert!((confusion.macro_f1() - (8.0 + 2.0 / 3.0) / 10.0).abs() < 1e-12);
        assert!((confusion.accuracy() - 50.0 / 60.0).abs() < 1e-12);
        assert_eq!(answer(&[0.2, 0.5, 0.5]), 1);
    }
}
