//! Message passing of one rule for one query on one graph, and its adjoint.
//!
//! In: the matrices of the rule's slots and the domains at the start. Out: the score, and a tape that
//! lets the gradient walk back. Paper: `sec:message-passing`. The equations, the order of messages
//! and the ties are those of `glidr::infer`.

use glidr::Schema;

use super::message::{Matrix, against, against_adjoint, along, along_adjoint};

/// One rule's view of one graph.
#[derive(Clone, Copy)]
pub(super) struct RuleOnGraph<'a> {
    pub schema: Schema,
    pub entities: usize,
    /// Lanes of a domain: the entities, filled up to a multiple of eight.
    pub width: usize,
    /// Numbers from one slot's matrix to the next.
    pub length: usize,
    pub matrices: &'a [f32],
    /// The weight of `P_true` of every slot.
    pub sure: &'a [f32],
}

impl<'a> RuleOnGraph<'a> {
    #[inline(always)]
    fn matrix(&self, slot: usize) -> Matrix<'a> {
        let values = &self.matrices[slot * self.length..][..self.length];
        Matrix { values, entities: self.entities, width: self.width }
    }

    #[inline(always)]
    fn slot(&self, a: usize, b: usize) -> usize {
        self.schema.slot(a.min(b), a.max(b))
    }
}

/// Derivatives by all that message passing reads.
pub(super) struct Derivatives<'a> {
    pub matrices: &'a mut [f32],
    pub sure: &'a mut [f32],
    /// By the domains at the start.
    pub start: &'a mut [f32],
}

/// The domains after every round, and who narrowed each entry (0 = nobody, else sender + 1).
#[derive(Debug, Default)]
pub(super) struct Tape {
    domains: Vec<f32>,
    winners: Vec<u32>,
    message: Vec<f32>,
    /// The variable and entity whose entry the score is.
    place: (usize, usize),
}

/// The variable that is updated at `step` of a round counted from 0: forward, then backward, in turn.
#[inline(always)]
pub(super) fn variable(round: usize, step: usize, last: usize) -> usize {
    if round.is_multiple_of(2) { step } else { last - step }
}

impl Tape {
    /// Passes messages for `rounds` rounds from the domains in `start` (`width` lanes a variable).
    #[inline(always)]
    pub fn infer(&mut self, rule: &RuleOnGraph, start: &[f32], rounds: usize) -> f32 {
        let (width, size, last) = (rule.width, start.len(), rule.schema.variables - 1);
        self.domains.resize((rounds + 1) * size, 0.0);
        self.winners.resize(rounds * size, 0);
        self.message.resize(width, 0.0);
        self.domains[..size].copy_from_slice(start);
        for round in 0..rounds {
            let (before, after) = self.domains.split_at_mut((round + 1) * size);
            let (before, now) = (&before[round * size..], &mut after[..size]);
            now.copy_from_slice(before);
            let winners = &mut self.winners[round * size..][..size];
            winners.fill(0);
            for step in 1..=last {
                let receiver = variable(round, step, last);
                for sender in (0..step).map(|step| variable(round, step, last)) {
                    let slot = rule.slot(sender, receiver);
                    let sure = rule.sure[slot];
                    if sure >= 1.0 {
                        continue; // P_true alone: such a message narrows nothing
                    }
                    let (matrix, domain) = (rule.matrix(slot), &now[sender * width..][..width]);
                    if sender < receiver {
                        along(&mut self.message, matrix, sure, domain);
                    } else {
                        against(&mut self.message, matrix, sure, domain);
                    }
                    let place = receiver * width..(receiver + 1) * width;
                    narrow(&mut now[place.clone()], &self.message, sender as u32 + 1, &mut winners[place]);
                }
            }
        }
        self.score(width, rounds * size)
    }

    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    fn score(&mut self, width: usize, at: usize) -> f32 {
        let mut score = f32::INFINITY;
        for (variable, domain) in self.domains[at..].chunks_exact(width).enumerate() {
            let most = largest(domain);
            if most < score {
                score = most;
                self.place = (variable, 0);
            }
        }
        let domain = &self.domains[at + self.place.0 * width..][..width];
        self.place.1 = domain.iter().position(|&value| value == score).unwrap_or_default();
        score
    }

    /// The adjoint of [`Tape::infer`], to be called right after it: adds to `d` the derivative of
    /// `d_score` · score, and leaves that by the domains at the start in `d.start`.
    #[inline(always)]
    pub fn adjoint(&mut self, rule: &RuleOnGraph, rounds: usize, d_score: f32, d: &mut Derivatives) {
        let (width, size, last) = (rule.width, d.start.len(), rule.schema.variables - 1);
        d.start.fill(0.0);
        d.start[self.place.0 * width + self.place.1] = d_score;
        for round in (0..rounds).rev() {
            let now = &self.domains[(round + 1) * size..][..size];
            let winners = &self.winners[round * size..][..size];
            for step in (1..=last).rev() {
                let receiver = variable(round, step, last);
                let winner = &winners[receiver * width..][..width];
                for sender in (0..step).map(|step| variable(round, step, last)) {
                    let d_receiver = &d.start[receiver * width..][..width];
                    if !narrow_adjoint(&mut self.message, d_receiver, winner, sender as u32 + 1) {
                        continue;
                    }
                    let slot = rule.slot(sender, receiver);
                    d.sure[slot] += self.message.iter().sum::<f32>();
                    let (matrix, domain) = (rule.matrix(slot), &now[sender * width..][..width]);
                    let d_matrix = &mut d.matrices[slot * rule.length..][..rule.length];
                    let d_domain = &mut d.start[sender * width..][..width];
                    if sender < receiver {
                        along_adjoint(&self.message, matrix, domain, d_matrix, d_domain);
                    } else {
                        against_adjoint(&self.message, matrix, domain, d_matrix, d_domain);
                    }
                }
                let d_receiver = &mut d.start[receiver * width..][..width];
                for (d, &winner) in d_receiver.iter_mut().zip(winner) {
                    *d = if winner == 0 { *d } else { 0.0 };
                }
            }
        }
    }

    /// A variable's domain after the last round, for those who want to see where a rule was met.
    pub fn domain(&self, variable: usize, variables: usize, width: usize, rounds: usize) -> &[f32] {
        &self.domains[(rounds * variables + variable) * width..][..width]
    }
}

/// Keeps of `domain` what `message` also allows; at a tie the older value stays.
///
/// ```text
/// φ ← min(φ, ψ)                                            eq:state_update
/// ```
#[inline(always)]
fn narrow(domain: &mut [f32], message: &[f32], sender: u32, winner: &mut [u32]) {
    let lanes = domain.as_chunks_mut::<8>().0.iter_mut().zip(message.as_chunks::<8>().0);
    for ((domain, message), winner) in lanes.zip(winner.as_chunks_mut::<8>().0) {
        for n in 0..8 {
            let less = message[n] < domain[n];
            domain[n] = if less { message[n] } else { domain[n] };
            winner[n] = if less { sender } else { winner[n] };
        }
    }
}

/// The adjoint of [`narrow`]: what of `d_domain` belongs to `who`; false when that is nothing.
#[inline(always)]
fn narrow_adjoint(d_message: &mut [f32], d_domain: &[f32], winner: &[u32], who: u32) -> bool {
    let mut any = false;
    for ((d_message, &d), &winner) in d_message.iter_mut().zip(d_domain).zip(winner) {
        *d_message = if winner == who { d } else { 0.0 };
        any |= *d_message != 0.0;
    }
    any
}

#[inline(always)]
fn largest(domain: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; 8];
    for lanes in domain.as_chunks::<8>().0 {
        for n in 0..8 {
            most[n] = if lanes[n] > most[n] { lanes[n] } else { most[n] };
        }
    }
    most.into_iter().fold(f32::NEG_INFINITY, f32::max)
}
