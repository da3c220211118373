//! The profile: message passing with both ends empty, once per block of rules.
//!
//! In: a [`Block`] on a [`ClassMatrix`]. Out: for every round and variable between the ends its domain,
//! what the other variables tell it, and where a query could still lift it. Messages only grow
//! with what they are sent from, so no domain of any query is below its profile, and a query has
//! to be worked out only where it differs from it (`docs/engine.md`).

use super::block::{Block, LANES, Lanes, Winner, add, add_product, is_zero, narrow, share};
use crate::graph::ClassMatrix;
use crate::infer::Pass;

/// One variable's domain after one round of the profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    /// p, per entity.
    pub domain: Vec<Lanes>,
    /// Who narrowed it.
    pub winner: Vec<Winner>,
    /// L of each sender between the ends, in the order of the pass: `w_true + Σ M p`.
    pub told: Vec<Vec<Lanes>>,
    /// Per entity the lanes, as bits, in which a greater message would lift its entry though it is
    /// far from both ends.
    pub open: Vec<u8>,
    /// The largest entry per lane, and the first entity that has it.
    pub most: Lanes,
    pub most_at: [u32; LANES],
    /// How high an open entity's entry can be lifted at most, while it is far from both ends.
    pub ceiling: Lanes,
}

/// All rounds of message passing with both ends empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub rounds: usize,
    /// Whether the first round is a backward one: never in inference, but in bounds of heads.
    pub mirrored: bool,
    inner: usize,
    stages: Vec<Stage>,
}

/// Derivatives by the profile, gathered over a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct DProfile {
    inner: usize,
    /// By p, per round (from 0, the start) and inner variable.
    domain: Vec<Vec<Lanes>>,
    /// By L, per round (from 1), inner variable and sender.
    told: Vec<Vec<Vec<Lanes>>>,
}

impl DProfile {
    /// Zeros in the shape of `profile`.
    pub fn clear(&mut self, profile: &Profile, entities: usize) {
        self.inner = profile.inner;
        self.domain.resize((profile.rounds + 1) * profile.inner, Vec::new());
        self.told.resize(profile.stages.len(), Vec::new());
        let told = self.told.iter_mut().zip(&profile.stages).flat_map(|(told, stage)| {
            told.resize(stage.told.len(), Vec::new());
            told
        });
        for values in self.domain.iter_mut().chain(told) {
            values.clear();
            values.resize(entities, [0.0; LANES]);
        }
    }

    /// By p after `round` (0 = at the start).
    #[inline(always)]
    pub fn domain(&mut self, round: usize, k: usize) -> &mut Vec<Lanes> {
        &mut self.domain[round * self.inner + k]
    }

    /// By L of the `number`-th sender between the ends.
    #[inline(always)]
    pub fn told(&mut self, round: usize, k: usize, number: usize) -> &mut Vec<Lanes> {
        &mut self.told[(round - 1) * self.inner + k][number]
    }
}

impl Profile {
    /// The direction of a round.
    #[inline(always)]
    pub fn pass(&self, round: usize) -> Pass {
        Pass::of(round + usize::from(self.mirrored))
    }

    /// Likewise, to be changed.
    #[inline(always)]
    pub fn stage_mut(&mut self, round: usize, k: usize) -> &mut Stage {
        &mut self.stages[(round - 1) * self.inner + k]
    }

    /// The stage of `round` (from 1) and inner variable `k`.
    #[inline(always)]
    pub fn stage(&self, round: usize, k: usize) -> &Stage {
        &self.stages[(round - 1) * self.inner + k]
    }

    /// p of an entity after `round` (0 = at the start).
    #[inline(always)]
    pub fn entry(&self, block: &Block, graph: &ClassMatrix, round: usize, k: usize, entity: usize) -> Lanes {
        match round {
            0 => block.start(k + 1, graph.kind(entity)),
            _ => self.stage(round, k).domain[entity],
        }
    }

    /// Passes all messages with both ends empty.
    #[inline(always)]
    pub fn fill(&mut self, block: &Block, graph: &ClassMatrix, rounds: usize) {
        let last = block.schema.variables - 1;
        self.rounds = rounds;
        self.inner = last - 1;
        self.stages.resize(rounds * self.inner, Stage::default());
        for round in 1..=rounds {
            let pass = self.pass(round);
            for step in 1..last {
                let k = pass.variable(step, last) - 1;
                let place = (round - 1) * self.inner + k;
                let mut stage = std::mem::take(&mut self.stages[place]);
                self.narrow(&mut stage, block, graph, round, step);
                self.stages[place] = stage;
            }
        }
    }

    /// ```text
    /// L = w_true + M p      p ← min(p, w_true of the end, L …)
    /// ```
    #[inline(always)]
    fn narrow(&self, stage: &mut Stage, block: &Block, graph: &ClassMatrix, round: usize, step: usize) {
        let (last, entities, pass) = (block.schema.variables - 1, graph.entities(), self.pass(round));
        let receiver = pass.variable(step, last);
        let end = pass.variable(0, last);
        stage.told.resize(step - 1, Vec::new());
        for (number, told) in stage.told.iter_mut().enumerate() {
            let sender = pass.variable(number + 1, last);
            let (table, sure) = (block.toward(sender, receiver), block.sure(sender, receiver));
            let from = &self.stage(round, sender - 1).domain;
            told.resize(entities, [0.0; LANES]);
            for (entity, told) in told.iter_mut().enumerate() {
                let mut sum = *sure;
                for link in graph.row(entity) {
                    add_product(&mut sum, &table[link.class as usize], &from[link.entity as usize]);
                }
                *told = sum;
            }
        }
        stage.domain.resize(entities, [0.0; LANES]);
        stage.winner.resize(entities, [0; LANES]);
        stage.open.clear();
        stage.open.resize(entities, 0);
        (stage.most, stage.most_at, stage.ceiling) = ([-1.0; LANES], [0; LANES], [0.0; LANES]);
        for entity in 0..entities {
            let mut value = self.entry(block, graph, round - 1, receiver - 1, entity);
            let mut winner = [0u32; LANES];
            narrow(&mut value, block.sure(end, receiver), end, &mut winner);
            let ceiling = value;
            for (number, told) in stage.told.iter().enumerate() {
                narrow(&mut value, &told[entity], pass.variable(number + 1, last), &mut winner);
            }
            let mut open = 0u8;
            for lane in 0..LANES {
                let lifts = value[lane] < ceiling[lane];
                open |= u8::from(lifts) << lane;
                let height = if lifts { ceiling[lane] } else { 0.0 };
                stage.ceiling[lane] = stage.ceiling[lane].max(height);
                let more = value[lane] > stage.most[lane];
                stage.most[lane] = if more { value[lane] } else { stage.most[lane] };
                stage.most_at[lane] = if more { entity as u32 } else { stage.most_at[lane] };
                stage.winner[entity][lane] = winner[lane] as u8;
            }
            stage.domain[entity] = value;
            stage.open[entity] = open;
        }
    }

    /// The adjoint of [`Profile::fill`]: one sweep for the whole batch.
    #[inline(always)]
    pub fn fill_adjoint(&self, block: &Block, graph: &ClassMatrix, d: &mut DProfile, d_block: &mut Block) {
        let last = block.schema.variables - 1;
        for round in (1..=self.rounds).rev() {
            for step in (1..last).rev() {
                self.narrow_adjoint(block, graph, round, step, d, d_block);
            }
        }
        for k in 0..self.inner {
            for entity in 0..graph.entities() {
                block.start_adjoint(k + 1, graph.kind(entity), &d.domain(0, k)[entity], d_block);
            }
        }
    }

    /// The adjoint of [`Profile::narrow`].
    #[inline(always)]
    fn narrow_adjoint(
        &self,
        block: &Block,
        graph: &ClassMatrix,
        round: usize,
        step: usize,
        d: &mut DProfile,
        d_block: &mut Block,
    ) {
        let (last, pass) = (block.schema.variables - 1, self.pass(round));
        let (receiver, end) = (pass.variable(step, last), pass.variable(0, last));
        let stage = self.stage(round, receiver - 1);
        let d_domain = std::mem::take(d.domain(round, receiver - 1));
        for (entity, d_entry) in d_domain.iter().enumerate() {
            if is_zero(d_entry) {
                continue;
            }
            let winner = &stage.winner[entity];
            add(&mut d.domain(round - 1, receiver - 1)[entity], &share(d_entry, winner, 0));
            add(d_block.sure_mut(end, receiver), &share(d_entry, winner, end as u8 + 1));
            for number in 0..step - 1 {
                let sender = pass.variable(number + 1, last);
                let part = share(d_entry, winner, sender as u8 + 1);
                add(&mut d.told(round, receiver - 1, number)[entity], &part);
            }
        }
        *d.domain(round, receiver - 1) = d_domain;
        for number in (0..step - 1).rev() {
            let sender = pass.variable(number + 1, last);
            let from = &self.stage(round, sender - 1).domain;
            let d_told = std::mem::take(d.told(round, receiver - 1, number));
            let d_from = d.domain(round, sender - 1);
            let table = block.toward(sender, receiver);
            for (entity, d_told) in d_told.iter().enumerate() {
                if is_zero(d_told) {
                    continue;
                }
                add(d_block.sure_mut(sender, receiver), d_told);
                let d_table = d_block.toward_mut(sender, receiver);
                for link in graph.row(entity) {
                    let (class, other) = (link.class as usize, link.entity as usize);
                    add_product(&mut d_table[class], d_told, &from[other]);
                    add_product(&mut d_from[other], d_told, &table[class]);
                }
            }
            *d.told(round, receiver - 1, number) = d_told;
        }
    }
}
