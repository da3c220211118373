//! Message passing over a batch, and its adjoint: the tape keeps what the way back needs.
//!
//! In: a [`ClassMatrix`], the [`Tables`] of a rule, a [`Batch`] of queries. Out: a score per lane, the
//! domains after every round, and the derivative of the scores by the tables.
//! Paper: `sec:message-passing`.

use super::domain::{largest, narrow};
use super::round::{Context, Derivatives, Older, Pass, Round};
use super::{Batch, Outcome, Tables};
use crate::graph::ClassMatrix;
use crate::rule::Schema;

/// Workspace for message passing over one batch; reused from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct Tape<const W: usize> {
    entities: usize,
    inner: usize,
    done: usize,
    rounds: Vec<Round<W>>,
    /// φ⁽⁰⁾ of the variables between the ends: the same for all queries.
    start: Vec<Vec<f32>>,
    /// φ⁽⁰⁾ of the ends.
    start_ends: [Vec<f32>; 2],
    d_inner: Vec<Vec<[f32; W]>>,
    /// The far end's domain when it is unconstrained.
    reach: Vec<[f32; W]>,
}

impl<const W: usize> Tape<W> {
    /// Bytes that a tape of `rounds` rounds asks for: checked before they are.
    pub fn bytes(schema: &Schema, rounds: usize, entities: usize) -> usize {
        let per_entity = (schema.variables - 2) * (rounds * 5 * W + 4 * W + 4);
        entities.saturating_mul(per_entity)
    }

    /// Passes messages for `rounds` rounds; returns a score per lane.
    pub fn infer(
        &mut self,
        graph: &ClassMatrix,
        tables: &Tables,
        batch: &Batch<W>,
        rounds: usize,
    ) -> [f32; W] {
        let context = Context { graph, tables, batch };
        pulp::Arch::new().dispatch(There { tape: self, context, rounds })
    }

    /// The adjoint of [`Tape::infer`], to be called right after it: adds to `d_tables` the
    /// derivative of Σ `d_score`·score.
    pub fn adjoint(
        &mut self,
        graph: &ClassMatrix,
        tables: &Tables,
        batch: &Batch<W>,
        d_score: &[f32; W],
        d_tables: &mut Tables,
    ) {
        let context = Context { graph, tables, batch };
        pulp::Arch::new().dispatch(Back { tape: self, context, d_score, d_tables });
    }

    /// Passes messages until a round changes nothing, a domain is empty, or `limit` rounds are
    /// done; returns the score and how it ended. For a batch of one query.
    pub fn settle(
        &mut self,
        graph: &ClassMatrix,
        tables: &Tables,
        batch: &Batch<W>,
        limit: usize,
    ) -> (f32, Outcome) {
        assert_eq!(batch.count(), 1, "one query settles at a time");
        let context = Context { graph, tables, batch };
        self.begin(context);
        loop {
            self.round(context);
            let outcome = self.outcome(0);
            if outcome != Outcome::RoundLimit || self.done >= limit {
                return (self.score()[0], outcome);
            }
        }
    }

    /// For every entity an upper bound of the score it would get as the far end, all at once: one
    /// pass from the batch's heads (`Pass::Forward`) or tails, with the far end unconstrained.
    ///
    /// States only shrink, and sums of terms that are not negative keep their order under
    /// rounding, so no score of a number of rounds that has such a pass is above its bound, to the
    /// last bit. Forward, the bound is the very score after one round.
    pub(crate) fn bounds(
        &mut self,
        graph: &ClassMatrix,
        tables: &Tables,
        batch: &Batch<W>,
        pass: Pass,
    ) -> &[[f32; W]] {
        let context = Context { graph, tables, batch };
        pulp::Arch::new().dispatch(Reach { tape: self, context, pass });
        &self.reach
    }

    /// φ⁽⁰⁾: one-hot ends, all entities elsewhere, both narrowed by the own slot's message.
    #[inline(always)]
    fn begin(&mut self, context: Context<W>) {
        let Context { graph, tables, batch } = context;
        self.entities = graph.entities();
        self.inner = context.last() - 1;
        self.done = 0;
        self.start.resize(self.inner, Vec::new());
        for (k, start) in self.start.iter_mut().enumerate() {
            start.clear();
            start.extend((0..graph.entities()).map(|entity| tables.own(k + 1, graph.kind(entity)).min(1.0)));
        }
        for (side, start) in self.start_ends.iter_mut().enumerate() {
            let own = |lane| tables.own(side * context.last(), graph.kind(batch.end(side, lane))).min(1.0);
            start.clear();
            start.extend((0..W).map(own));
        }
    }

    /// The adjoint of [`Tape::begin`]: what of the start came from the own slots.
    #[inline(always)]
    fn begin_adjoint(&self, context: Context<W>, d: &mut Derivatives<W>) {
        let Context { graph, batch, .. } = context;
        for (side, start) in self.start_ends.iter().enumerate() {
            for (lane, _) in start.iter().enumerate().filter(|(_, start)| **start < 1.0) {
                let kind = graph.kind(batch.end(side, lane));
                d.tables.own_adjoint(side * context.last(), kind, d.ends[side][lane]);
            }
        }
        for (k, start) in self.start.iter().enumerate() {
            for (entity, _) in start.iter().enumerate().filter(|(_, start)| **start < 1.0) {
                d.tables.own_adjoint(k + 1, graph.kind(entity), d.inner[k][entity].iter().sum());
            }
        }
    }

    /// The next round.
    #[inline(always)]
    fn round(&mut self, context: Context<W>) {
        let last = context.last();
        if self.rounds.len() == self.done {
            self.rounds.push(Round::default());
        }
        let mut now = std::mem::take(&mut self.rounds[self.done]);
        now.fit(self.inner, self.entities);
        self.done += 1;
        let pass = Pass::of(self.done);
        for side in 0..2 {
            now.ends[side] = self.end_before(self.done, side);
            now.ends_winner[side] = [0; W];
        }
        for step in 1..=last {
            let receiver = pass.variable(step, last);
            match context.side(receiver) {
                Some(side) => now.narrow_end(context, pass, side),
                None => now.narrow_inner(self.inner_before(self.done, receiver - 1), context, pass, step),
            }
        }
        let done = self.done;
        self.rounds[done - 1] = now;
    }

    /// The adjoint of [`Tape::round`].
    #[inline(always)]
    fn round_adjoint(&self, round: usize, context: Context<W>, d: &mut Derivatives<W>) {
        let (last, pass, now) = (context.last(), Pass::of(round), &self.rounds[round - 1]);
        for step in (1..=last).rev() {
            match context.side(pass.variable(step, last)) {
                Some(side) => now.narrow_end_adjoint(context, side, d),
                None => now.narrow_inner_adjoint(context, pass, step, d),
            }
        }
    }

    /// An end's domain before round `round`.
    #[inline(always)]
    fn end_before(&self, round: usize, side: usize) -> [f32; W] {
        if round == 1 {
            std::array::from_fn(|lane| self.start_ends[side][lane])
        } else {
            self.rounds[round - 2].ends[side]
        }
    }

    /// An inner variable's domain before round `round`.
    #[inline(always)]
    fn inner_before(&self, round: usize, k: usize) -> Older<'_, W> {
        if round == 1 { Older::Start(&self.start[k]) } else { Older::Rows(&self.rounds[round - 2].inner[k]) }
    }

    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    fn score(&self) -> [f32; W] {
        self.score_and_place().0
    }

    /// The adjoint of [`Tape::score`]: all goes to the entry that the score is.
    #[inline(always)]
    fn score_adjoint(&self, d_score: &[f32; W], d: &mut Derivatives<W>) {
        let (_, place) = self.score_and_place();
        for lane in 0..W {
            match place[lane] {
                (0, _) => d.ends[0][lane] += d_score[lane],
                (variable, _) if variable == self.inner + 1 => d.ends[1][lane] += d_score[lane],
                (variable, entity) => d.inner[variable - 1][entity as usize][lane] += d_score[lane],
            }
        }
    }

    /// The score per lane, and the variable and entity whose entry it is.
    #[inline(always)]
    fn score_and_place(&self) -> ([f32; W], [(usize, u32); W]) {
        let (mut score, mut place) = ([f32::INFINITY; W], [(0, 0u32); W]);
        for variable in 0..self.inner + 2 {
            let (most, entity) = self.most(variable);
            for lane in 0..W {
                if most[lane] < score[lane] {
                    score[lane] = most[lane];
                    place[lane] = (variable, entity[lane]);
                }
            }
        }
        (score, place)
    }

    /// The largest entry of a variable's domain after the last round, and where it is.
    #[inline(always)]
    fn most(&self, variable: usize) -> ([f32; W], [u32; W]) {
        let now = &self.rounds[self.done - 1];
        match variable {
            0 => (now.ends[0], [0; W]),
            v if v == self.inner + 1 => (now.ends[1], [0; W]),
            v => largest(&now.inner[v - 1]),
        }
    }

    /// How message passing ended in one lane; tells what the last round changed.
    pub fn outcome(&self, lane: usize) -> Outcome {
        if let Some(variable) = (0..self.inner + 2).find(|&variable| self.most(variable).0[lane] <= 0.0) {
            return Outcome::Emptied(variable);
        }
        let now = &self.rounds[self.done - 1];
        let inner_still = || now.inner_winner.iter().flatten().all(|winner| winner[lane] == 0);
        let still = now.ends_winner.iter().all(|winner| winner[lane] == 0) && inner_still();
        // The round before, in the other direction, left its own messages satisfied.
        if still && self.done >= 2 { Outcome::Converged } else { Outcome::RoundLimit }
    }

    /// A variable's domain in one lane after round `round` (0 = at the start), entity by entity.
    pub fn domain(&self, batch: &Batch<W>, variable: usize, round: usize, lane: usize) -> Vec<f32> {
        if (1..=self.inner).contains(&variable) {
            return match round {
                0 => self.start[variable - 1].clone(),
                round => self.rounds[round - 1].inner[variable - 1].iter().map(|row| row[lane]).collect(),
            };
        }
        let side = usize::from(variable > 0);
        let mut domain = vec![0.0; self.entities];
        domain[batch.end(side, lane)] = self.end_before(round + 1, side)[lane];
        domain
    }

    /// Who narrowed each entity's entry of a variable in round `round` (from 1) in one lane: 0 for nobody,
    /// else the sender's number + 1.
    pub(crate) fn winners(
        &self,
        batch: &Batch<W>,
        variable: usize,
        round: usize,
        lane: usize,
    ) -> Vec<(usize, u8)> {
        let now = &self.rounds[round - 1];
        if (1..=self.inner).contains(&variable) {
            return now.inner_winner[variable - 1].iter().map(|row| row[lane]).enumerate().collect();
        }
        let side = usize::from(variable > 0);
        vec![(batch.end(side, lane), now.ends_winner[side][lane])]
    }

    #[inline(always)]
    fn walk_back(&mut self, context: Context<W>, d_score: &[f32; W], d_tables: &mut Tables) {
        let mut inner = std::mem::take(&mut self.d_inner);
        inner.resize(self.inner, Vec::new());
        for d_domain in &mut inner {
            d_domain.clear();
            d_domain.resize(self.entities, [0.0; W]);
        }
        let mut d = Derivatives { tables: d_tables, inner, ends: [[0.0; W]; 2] };
        self.score_adjoint(d_score, &mut d);
        for round in (1..=self.done).rev() {
            self.round_adjoint(round, context, &mut d);
        }
        self.begin_adjoint(context, &mut d);
        self.d_inner = d.inner;
    }

    #[inline(always)]
    fn pass_to_all(&mut self, context: Context<W>, pass: Pass) {
        let Context { graph, tables, .. } = context;
        let last = context.last();
        self.begin(context);
        if self.rounds.is_empty() {
            self.rounds.push(Round::default());
        }
        let mut now = std::mem::take(&mut self.rounds[0]);
        now.fit(self.inner, self.entities);
        now.ends = (0..2).map(|side| self.end_before(1, side)).collect();
        let mut least = now.ends[usize::from(pass == Pass::Backward)];
        for step in 1..last {
            let k = pass.variable(step, last) - 1;
            now.narrow_inner(self.inner_before(1, k), context, pass, step);
            narrow(&mut least, &largest(&now.inner[k]).0, 0, &mut [0; W]);
        }
        let far = pass.variable(last, last);
        self.reach.resize(self.entities, [0.0; W]);
        for (entity, reach) in self.reach.iter_mut().enumerate() {
            let start = [tables.own(far, graph.kind(entity)).min(1.0); W];
            *reach = now.narrow_row(start, context, pass, last, entity).0;
            narrow(reach, &least, 0, &mut [0; W]);
        }
        self.rounds[0] = now;
    }
}

/// The way there, compiled once for every set of vector instructions.
struct There<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    context: Context<'a, W>,
    rounds: usize,
}

impl<const W: usize> pulp::WithSimd for There<'_, W> {
    type Output = [f32; W];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [f32; W] {
        self.tape.begin(self.context);
        for _ in 0..self.rounds {
            self.tape.round(self.context);
        }
        self.tape.score()
    }
}

/// The way back, likewise.
struct Back<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    context: Context<'a, W>,
    d_score: &'a [f32; W],
    d_tables: &'a mut Tables,
}

impl<const W: usize> pulp::WithSimd for Back<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.tape.walk_back(self.context, self.d_score, self.d_tables);
    }
}

/// One pass to all candidates, likewise.
struct Reach<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    context: Context<'a, W>,
    pass: Pass,
}

impl<const W: usize> pulp::WithSimd for Reach<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.tape.pass_to_all(self.context, self.pass);
    }
}
