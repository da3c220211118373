//! Message passing over a batch, and its adjoint: the tape keeps what the way back needs.
//!
//! In: a [`Graph`], the [`Tables`] of a rule, a [`Batch`] of queries. Out: a score per lane, the
//! domains after every round, and the derivative of the scores by the tables.
//! Paper: `sec:message-passing`.

use super::domain::{largest, narrow, narrow_adjoint};
use super::message::{
    dense_message, end_message, end_message_adjoint, message, message_adjoint, message_to_end,
    message_to_end_adjoint,
};
use super::{Batch, Outcome, Tables};
use crate::graph::Graph;
use crate::rule::Schema;

/// The direction of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Forward,
    Backward,
}

impl Pass {
    /// Rounds are counted from 1 and begin with a forward pass.
    fn of(round: usize) -> Self {
        if round % 2 == 1 { Pass::Forward } else { Pass::Backward }
    }

    /// The variable that is updated at time-step `step` of `last + 1`.
    #[inline(always)]
    fn variable(self, step: usize, last: usize) -> usize {
        match self {
            Pass::Forward => step,
            Pass::Backward => last - step,
        }
    }
}

/// One round's domains and who narrowed each entry (0 = nobody, else the sender's number + 1).
#[derive(Clone, Debug, Default)]
struct Round<const W: usize> {
    inner: Vec<Vec<[f32; W]>>,
    inner_winner: Vec<Vec<[u8; W]>>,
    ends: Vec<[f32; W]>,
    ends_winner: Vec<[u8; W]>,
}

/// Room for message passing over one batch; reused from batch to batch.
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

/// What one batch's message passing reads.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a, const W: usize> {
    pub graph: &'a Graph,
    pub tables: &'a Tables,
    pub batch: &'a Batch<'a, W>,
}

impl<const W: usize> Tape<W> {
    /// Bytes that a tape of `rounds` rounds asks for: checked before they are.
    pub fn bytes(schema: &Schema, rounds: usize, entities: usize) -> usize {
        let inner = schema.variables - 2;
        entities * inner * (rounds * 5 * W + 4 * W + 4)
    }

    /// Passes messages for `rounds` rounds; returns a score per lane.
    pub fn infer(&mut self, graph: &Graph, tables: &Tables, batch: &Batch<W>, rounds: usize) -> [f32; W] {
        let setting = Setting { graph, tables, batch };
        pulp::Arch::new().dispatch(There { tape: self, setting, rounds })
    }

    /// For every entity an upper bound of the score it would get as the far end, all at once: one
    /// pass from the batch's heads (`Pass::Forward`) or tails, with the far end unconstrained.
    ///
    /// States only shrink, and sums of terms that are not negative keep their order under
    /// rounding, so no score of any number of rounds is above its bound, to the last bit. After
    /// one round forward the bound is the score itself.
    pub(crate) fn bounds(
        &mut self,
        graph: &Graph,
        tables: &Tables,
        batch: &Batch<W>,
        pass: Pass,
    ) -> &[[f32; W]] {
        let setting = Setting { graph, tables, batch };
        pulp::Arch::new().dispatch(Reach { tape: self, setting, pass });
        &self.reach
    }

    #[inline(always)]
    fn pass_to_all(&mut self, setting: Setting<W>, pass: Pass) {
        let Setting { graph, tables, .. } = setting;
        let last = tables.schema.variables - 1;
        self.begin(setting);
        if self.rounds.is_empty() {
            self.rounds.push(Round::default());
        }
        let mut now = std::mem::take(&mut self.rounds[0]);
        now.fit(self.inner, self.entities);
        self.done = 1;
        now.ends[0] = self.end_before(1, 0);
        now.ends[1] = self.end_before(1, 1);
        let mut least = now.ends[usize::from(pass == Pass::Backward)];
        for step in 1..last {
            self.narrow_inner(&mut now, setting, pass, step);
            let (most, _) = largest(&now.inner[pass.variable(step, last) - 1]);
            narrow(&mut least, &most, 0, &mut [0; W]);
        }
        let far = pass.variable(last, last);
        self.reach.resize(self.entities, [0.0; W]);
        for entity in 0..self.entities {
            let start = [tables.own(far, graph.kind(entity)).min(1.0); W];
            let (mut value, _) = narrow_row(&now, setting, pass, last, entity, start);
            narrow(&mut value, &least, 0, &mut [0; W]);
            self.reach[entity] = value;
        }
        self.rounds[0] = now;
    }

    /// Passes messages until a round changes nothing, a domain is empty, or `limit` rounds are
    /// done; returns the score and how it ended. For a batch of one query.
    pub fn settle(
        &mut self,
        graph: &Graph,
        tables: &Tables,
        batch: &Batch<W>,
        limit: usize,
    ) -> (f32, Outcome) {
        assert_eq!(batch.count(), 1, "one query settles at a time");
        let setting = Setting { graph, tables, batch };
        self.begin(setting);
        loop {
            self.round(setting);
            let outcome = self.outcome(0);
            if outcome != Outcome::RoundLimit || self.done >= limit {
                return (self.score(tables.schema.variables)[0], outcome);
            }
        }
    }

    /// φ⁽⁰⁾: one-hot ends, all entities elsewhere, both narrowed by the own slot's message.
    #[inline(always)]
    fn begin(&mut self, Setting { graph, tables, batch }: Setting<W>) {
        let last = tables.schema.variables - 1;
        self.entities = graph.entities();
        self.inner = last - 1;
        self.done = 0;
        self.start.resize(self.inner, Vec::new());
        for (k, start) in self.start.iter_mut().enumerate() {
            start.clear();
            start.extend((0..graph.entities()).map(|entity| tables.own(k + 1, graph.kind(entity)).min(1.0)));
        }
        for (side, variable) in [(0, 0), (1, last)] {
            let own = |lane| tables.own(variable, graph.kind(batch.end(side, lane))).min(1.0);
            self.start_ends[side].clear();
            self.start_ends[side].extend((0..W).map(own));
        }
    }

    /// The next round: every variable in turn takes the messages of those before it.
    #[inline(always)]
    fn round(&mut self, setting: Setting<W>) {
        let last = setting.tables.schema.variables - 1;
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
            if receiver == 0 || receiver == last {
                self.narrow_end(&mut now, setting, pass, step);
            } else {
                self.narrow_inner(&mut now, setting, pass, step);
            }
        }
        let done = self.done;
        self.rounds[done - 1] = now;
    }

    /// The end's domain before round `round`.
    #[inline(always)]
    fn end_before(&self, round: usize, side: usize) -> [f32; W] {
        if round == 1 {
            std::array::from_fn(|lane| self.start_ends[side][lane])
        } else {
            self.rounds[round - 2].ends[side]
        }
    }

    /// Updates a variable between the ends, entity by entity             `eq:state_update`
    #[inline(always)]
    fn narrow_inner(&self, now: &mut Round<W>, setting: Setting<W>, pass: Pass, step: usize) {
        let receiver = pass.variable(step, setting.tables.schema.variables - 1);
        let k = receiver - 1;
        let mut domain = std::mem::take(&mut now.inner[k]);
        let mut winners = std::mem::take(&mut now.inner_winner[k]);
        for entity in 0..self.entities {
            let older = match self.done {
                1 => [self.start[k][entity]; W],
                done => self.rounds[done - 2].inner[k][entity],
            };
            let (value, winner) = narrow_row(now, setting, pass, step, entity, older);
            domain[entity] = value;
            winners[entity] = winner.map(|sender| sender as u8);
        }
        now.inner[k] = domain;
        now.inner_winner[k] = winners;
    }

    /// Updates the end that comes last in this pass, lane by lane         `eq:state_update`
    #[inline(always)]
    fn narrow_end(
        &self,
        now: &mut Round<W>,
        Setting { tables, batch, .. }: Setting<W>,
        pass: Pass,
        step: usize,
    ) {
        let last = tables.schema.variables - 1;
        let receiver = pass.variable(step, last);
        let side = usize::from(receiver == last);
        for lane in 0..W {
            for sender in (0..step).map(|step| pass.variable(step, last)) {
                let sure = tables.sure[tables.slot(sender, receiver)];
                let message = if sender == 0 || sender == last {
                    let between =
                        batch.between(lane).map_or(0.0, |class| tables.toward(0, last)[class as usize]);
                    sure + between * now.ends[1 - side][lane]
                } else {
                    let (near, table) = (batch.near(side, lane), tables.toward(sender, receiver));
                    message_to_end(near, table, sure, &now.inner[sender - 1], lane)
                };
                if message < now.ends[side][lane] {
                    now.ends[side][lane] = message;
                    now.ends_winner[side][lane] = sender as u8 + 1;
                }
            }
        }
    }

    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    fn score(&self, variables: usize) -> [f32; W] {
        let mut score = [f32::INFINITY; W];
        for variable in 0..variables {
            let (most, _) = self.most(variable);
            for lane in 0..W {
                score[lane] = if most[lane] < score[lane] { most[lane] } else { score[lane] };
            }
        }
        score
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
        for variable in 0..self.inner + 2 {
            if self.most(variable).0[lane] <= 0.0 {
                return Outcome::Emptied(variable);
            }
        }
        let now = &self.rounds[self.done - 1];
        let inner_still =
            || (0..self.inner).all(|k| now.inner_winner[k].iter().all(|winner| winner[lane] == 0));
        let still = now.ends_winner.iter().all(|winner| winner[lane] == 0) && inner_still();
        // The round before, in the other direction, left its own messages satisfied.
        if still && self.done >= 2 { Outcome::Settled } else { Outcome::RoundLimit }
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
        domain[batch.end(side, lane)] = match round {
            0 => self.start_ends[side][lane],
            round => self.rounds[round - 1].ends[side][lane],
        };
        domain
    }

    /// The adjoint of [`Tape::infer`], to be called right after it: adds to `d_tables` the
    /// derivative of Σ `d_score`·score.
    pub fn adjoint(
        &mut self,
        graph: &Graph,
        tables: &Tables,
        batch: &Batch<W>,
        d_score: &[f32; W],
        d_tables: &mut Tables,
    ) {
        let setting = Setting { graph, tables, batch };
        pulp::Arch::new().dispatch(Back { tape: self, setting, d_score, d_tables });
    }

    #[inline(always)]
    fn walk_back(&mut self, setting: Setting<W>, d_score: &[f32; W], d_tables: &mut Tables) {
        let Setting { graph, tables, batch } = setting;
        let last = tables.schema.variables - 1;
        let mut d_inner = std::mem::take(&mut self.d_inner);
        d_inner.resize(self.inner, Vec::new());
        for d_domain in &mut d_inner {
            d_domain.clear();
            d_domain.resize(self.entities, [0.0; W]);
        }
        let mut d_ends = [[0.0; W]; 2];
        self.score_adjoint(last + 1, d_score, &mut d_inner, &mut d_ends);
        for round in (1..=self.done).rev() {
            let pass = Pass::of(round);
            for step in (1..=last).rev() {
                let receiver = pass.variable(step, last);
                if receiver == 0 || receiver == last {
                    self.narrow_end_adjoint(round, setting, pass, step, d_tables, &mut d_inner, &mut d_ends);
                } else {
                    self.narrow_inner_adjoint(
                        round,
                        setting,
                        pass,
                        step,
                        d_tables,
                        &mut d_inner,
                        &mut d_ends,
                    );
                }
            }
        }
        for (side, variable) in [(0, 0), (1, last)] {
            for lane in 0..W {
                if self.start_ends[side][lane] < 1.0 {
                    d_tables.own_adjoint(variable, graph.kind(batch.end(side, lane)), d_ends[side][lane]);
                }
            }
        }
        for (k, d_domain) in d_inner.iter().enumerate() {
            for (entity, row) in d_domain.iter().enumerate() {
                if self.start[k][entity] < 1.0 {
                    d_tables.own_adjoint(k + 1, graph.kind(entity), row.iter().sum());
                }
            }
        }
        self.d_inner = d_inner;
    }

    /// The adjoint of [`Tape::score`].
    #[inline(always)]
    fn score_adjoint(
        &self,
        variables: usize,
        d_score: &[f32; W],
        d_inner: &mut [Vec<[f32; W]>],
        d_ends: &mut [[f32; W]; 2],
    ) {
        let (mut score, mut at) = ([f32::INFINITY; W], [(0, 0u32); W]);
        for variable in 0..variables {
            let (most, entity) = self.most(variable);
            for lane in 0..W {
                if most[lane] < score[lane] {
                    score[lane] = most[lane];
                    at[lane] = (variable, entity[lane]);
                }
            }
        }
        for lane in 0..W {
            match at[lane] {
                (0, _) => d_ends[0][lane] += d_score[lane],
                (variable, _) if variable + 1 == variables => d_ends[1][lane] += d_score[lane],
                (variable, entity) => d_inner[variable - 1][entity as usize][lane] += d_score[lane],
            }
        }
    }

    /// The adjoint of [`Tape::narrow_inner`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the arguments of its function, and their derivatives")]
    fn narrow_inner_adjoint(
        &self,
        round: usize,
        Setting { graph, tables, batch }: Setting<W>,
        pass: Pass,
        step: usize,
        d_tables: &mut Tables,
        d_inner: &mut [Vec<[f32; W]>],
        d_ends: &mut [[f32; W]; 2],
    ) {
        let last = tables.schema.variables - 1;
        let receiver = pass.variable(step, last);
        let now = &self.rounds[round - 1];
        let mut d_domain = std::mem::take(&mut d_inner[receiver - 1]);
        for (entity, d_row) in d_domain.iter_mut().enumerate() {
            if d_row.iter().all(|&d| d == 0.0) {
                continue;
            }
            let winner = now.inner_winner[receiver - 1][entity].map(u32::from);
            for sender in (0..step).map(|step| pass.variable(step, last)) {
                let d_message = narrow_adjoint(d_row, &winner, sender as u32 + 1);
                if d_message.iter().all(|&d| d == 0.0) {
                    continue;
                }
                d_tables.sure[tables.slot(sender, receiver)] += d_message.iter().sum::<f32>();
                if sender == 0 || sender == last {
                    let side = usize::from(sender == last);
                    let (lanes, table) = (batch.lanes_at(side, entity), tables.toward(receiver, sender));
                    let d_table = d_tables.toward_mut(receiver, sender);
                    end_message_adjoint(
                        lanes,
                        table,
                        &now.ends[side],
                        &d_message,
                        d_table,
                        &mut d_ends[side],
                    );
                } else {
                    let (row, table) = (graph.row(entity), tables.toward(sender, receiver));
                    let (domain, d_table) = (&now.inner[sender - 1], d_tables.toward_mut(sender, receiver));
                    message_adjoint(row, table, domain, &d_message, d_table, &mut d_inner[sender - 1]);
                }
            }
            *d_row = narrow_adjoint(d_row, &winner, 0);
        }
        d_inner[receiver - 1] = d_domain;
    }

    /// The adjoint of [`Tape::narrow_end`].
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the arguments of its function, and their derivatives")]
    fn narrow_end_adjoint(
        &self,
        round: usize,
        Setting { tables, batch, .. }: Setting<W>,
        pass: Pass,
        step: usize,
        d_tables: &mut Tables,
        d_inner: &mut [Vec<[f32; W]>],
        d_ends: &mut [[f32; W]; 2],
    ) {
        let last = tables.schema.variables - 1;
        let receiver = pass.variable(step, last);
        let side = usize::from(receiver == last);
        let now = &self.rounds[round - 1];
        for lane in 0..W {
            let (winner, d) = (now.ends_winner[side][lane], d_ends[side][lane]);
            if winner == 0 || d == 0.0 {
                continue;
            }
            let sender = usize::from(winner) - 1;
            d_ends[side][lane] = 0.0;
            d_tables.sure[tables.slot(sender, receiver)] += d;
            if sender == 0 || sender == last {
                if let Some(class) = batch.between(lane) {
                    d_tables.toward_mut(0, last)[class as usize] += now.ends[1 - side][lane] * d;
                    d_ends[1 - side][lane] += tables.toward(0, last)[class as usize] * d;
                }
            } else {
                let (near, table) = (batch.near(side, lane), tables.toward(sender, receiver));
                let (domain, d_table) = (&now.inner[sender - 1], d_tables.toward_mut(sender, receiver));
                message_to_end_adjoint(near, table, domain, lane, d, d_table, &mut d_inner[sender - 1]);
            }
        }
    }
}

/// One entity's entry in a variable's domain after the messages of all that come before it in
/// this pass, and who narrowed it.
#[inline(always)]
fn narrow_row<const W: usize>(
    now: &Round<W>,
    Setting { graph, tables, batch }: Setting<W>,
    pass: Pass,
    step: usize,
    entity: usize,
    mut value: [f32; W],
) -> ([f32; W], [u32; W]) {
    let last = tables.schema.variables - 1;
    let receiver = pass.variable(step, last);
    // Of the domains' own width, so that both are compared and chosen as one.
    let mut winner = [0u32; W];
    for sender in (0..step).map(|step| pass.variable(step, last)) {
        let sure = tables.sure[tables.slot(sender, receiver)];
        if sure >= 1.0 {
            continue; // P_true alone: such a message narrows nothing
        }
        let message = if sender == 0 || sender == last {
            let side = usize::from(sender == last);
            let table = tables.toward(receiver, sender);
            end_message(batch.lanes_at(side, entity), table, sure, &now.ends[side])
        } else {
            let domain = &now.inner[sender - 1];
            match tables.dense_row(sender, receiver, entity) {
                Some(row) => dense_message(row, sure, domain),
                None => message(graph.row(entity), tables.toward(sender, receiver), sure, domain),
            }
        };
        narrow(&mut value, &message, sender as u32 + 1, &mut winner);
    }
    (value, winner)
}

impl<const W: usize> Round<W> {
    #[inline(always)]
    fn fit(&mut self, inner: usize, entities: usize) {
        self.inner.resize(inner, Vec::new());
        self.inner_winner.resize(inner, Vec::new());
        self.inner.iter_mut().for_each(|domain| domain.resize(entities, [0.0; W]));
        self.inner_winner.iter_mut().for_each(|winner| winner.resize(entities, [0; W]));
        self.ends.resize(2, [0.0; W]);
        self.ends_winner.resize(2, [0; W]);
    }
}

/// The way there, compiled once for every set of vector instructions.
struct There<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    setting: Setting<'a, W>,
    rounds: usize,
}

impl<const W: usize> pulp::WithSimd for There<'_, W> {
    type Output = [f32; W];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [f32; W] {
        self.tape.begin(self.setting);
        for _ in 0..self.rounds {
            self.tape.round(self.setting);
        }
        self.tape.score(self.setting.tables.schema.variables)
    }
}

/// The way back, likewise.
struct Back<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    setting: Setting<'a, W>,
    d_score: &'a [f32; W],
    d_tables: &'a mut Tables,
}

impl<const W: usize> pulp::WithSimd for Back<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.tape.walk_back(self.setting, self.d_score, self.d_tables);
    }
}

/// One pass to all candidates, likewise.
struct Reach<'a, const W: usize> {
    tape: &'a mut Tape<W>,
    setting: Setting<'a, W>,
    pass: Pass,
}

impl<const W: usize> pulp::WithSimd for Reach<'_, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.tape.pass_to_all(self.setting, self.pass);
    }
}
