//! Up to eight rules side by side: their tables, one lane per rule.
//!
//! All rules of a target see the same batch, so one walk over a row serves eight of them at once.

use crate::graph::ClassMatrix;
use crate::infer::Tables;
use crate::rule::Schema;

/// Rules side by side.
pub(crate) const LANES: usize = 8;

/// One number per rule.
pub(crate) type Lanes = [f32; LANES];

/// Who won in each lane: 0 for the older value, else the sender's number + 1.
pub(crate) type Winner = [u8; LANES];

/// The [`Tables`] of up to eight rules; lanes left over hold zeros.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub schema: Schema,
    classes: usize,
    kinds: usize,
    forward: Vec<Lanes>,
    backward: Vec<Lanes>,
    sure: Vec<Lanes>,
    own: Vec<Lanes>,
}

impl Block {
    /// Lays the tables side by side.
    pub fn new(rules: &[&Tables], graph: &ClassMatrix) -> Self {
        assert!((1..=LANES).contains(&rules.len()), "a block has 1 to {LANES} rules");
        let mut block = Block::zero(rules[0].schema, graph);
        for (lane, rule) in rules.iter().enumerate() {
            for (wide, narrow) in block.parts().into_iter().zip(rule.parts()) {
                wide.iter_mut().zip(narrow).for_each(|(wide, value)| wide[lane] = *value);
            }
        }
        block
    }

    /// Zeros: where derivatives are gathered.
    pub fn zero(schema: Schema, graph: &ClassMatrix) -> Self {
        let tables = Tables::zero(schema, graph);
        let [forward, backward, sure, own] = tables.parts().map(|part| vec![[0.0; LANES]; part.len()]);
        let (classes, kinds) = (graph.classes().len(), graph.kinds().len());
        Block { schema, classes, kinds, forward, backward, sure, own }
    }

    /// The tables of one rule.
    pub fn rule(&mut self, lane: usize, graph: &ClassMatrix) -> Tables {
        let mut tables = Tables::zero(self.schema, graph);
        for (narrow, wide) in tables.parts_mut().into_iter().zip(self.parts()) {
            narrow.iter_mut().zip(wide).for_each(|(value, wide)| *value = wide[lane]);
        }
        tables
    }

    fn parts(&mut self) -> [&mut Vec<Lanes>; 4] {
        [&mut self.forward, &mut self.backward, &mut self.sure, &mut self.own]
    }

    /// The table of the slot between two variables, read from `sender` to `receiver`.
    #[inline(always)]
    pub fn toward(&self, sender: usize, receiver: usize) -> &[Lanes] {
        let table = if sender < receiver { &self.forward } else { &self.backward };
        &table[self.slot(sender, receiver) * self.classes..][..self.classes]
    }

    /// Likewise, to gather derivatives.
    #[inline(always)]
    pub fn toward_mut(&mut self, sender: usize, receiver: usize) -> &mut [Lanes] {
        let start = self.slot(sender, receiver) * self.classes;
        let table = if sender < receiver { &mut self.forward } else { &mut self.backward };
        &mut table[start..][..self.classes]
    }

    /// The weight of `P_true` in the slot between two variables.
    #[inline(always)]
    pub fn sure(&self, a: usize, b: usize) -> &Lanes {
        &self.sure[self.slot(a, b)]
    }

    /// Likewise, to gather derivatives.
    #[inline(always)]
    pub fn sure_mut(&mut self, a: usize, b: usize) -> &mut Lanes {
        let slot = self.slot(a, b);
        &mut self.sure[slot]
    }

    #[inline(always)]
    fn slot(&self, a: usize, b: usize) -> usize {
        if a < b { self.schema.slot(a, b) } else { self.schema.slot(b, a) }
    }

    /// φ⁽⁰⁾ of a variable at entities of `kind`: 1, narrowed by the own slot's message.
    #[inline(always)]
    pub fn start(&self, variable: usize, kind: u32) -> Lanes {
        let mut start = [1.0; LANES];
        if !self.own.is_empty() {
            let own = &self.own[variable * self.kinds + kind as usize];
            for lane in 0..LANES {
                start[lane] = own[lane].min(1.0);
            }
        }
        start
    }

    /// The adjoint of [`Block::start`], gathered in `d`: where the own slot narrowed anything.
    #[inline(always)]
    pub fn start_adjoint(&self, variable: usize, kind: u32, d_start: &Lanes, d: &mut Block) {
        if self.own.is_empty() {
            return;
        }
        let place = variable * self.kinds + kind as usize;
        for lane in 0..LANES {
            if self.own[place][lane] < 1.0 {
                d.own[place][lane] += d_start[lane];
            }
        }
    }
}

/// Whether no lane holds anything.
#[inline(always)]
pub(crate) fn is_zero(lanes: &Lanes) -> bool {
    let mut any = 0.0f32;
    for value in lanes {
        any = any.max(value.abs());
    }
    any == 0.0
}

/// The lanes, as bits, that hold anything.
#[inline(always)]
pub(crate) fn filled(lanes: &Lanes) -> u8 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u8::from(lanes[lane] != 0.0) << lane;
    }
    bits
}

/// `sum += a · b`, lane by lane.
#[inline(always)]
pub(crate) fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for lane in 0..LANES {
        sum[lane] += a[lane] * b[lane];
    }
}

/// `sum += a`, lane by lane.
#[inline(always)]
pub(crate) fn add(sum: &mut Lanes, a: &Lanes) {
    for lane in 0..LANES {
        sum[lane] += a[lane];
    }
}

/// Keeps of `domain` what `message` also allows; notes in `winner` who was smaller.
#[inline(always)]
pub(crate) fn narrow(domain: &mut Lanes, message: &Lanes, sender: usize, winner: &mut [u32; LANES]) {
    crate::infer::domain::narrow(domain, message, sender as u32 + 1, winner);
}

/// Keeps the smaller of `value` and `bound`, lane by lane.
#[inline(always)]
pub(crate) fn lower(value: &mut Lanes, bound: &Lanes) {
    for lane in 0..LANES {
        value[lane] = value[lane].min(bound[lane]);
    }
}

/// The part of `d` whose lanes `who` won.
#[inline(always)]
pub(crate) fn share(d: &Lanes, winner: &Winner, who: u8) -> Lanes {
    let mut part = [0.0; LANES];
    for lane in 0..LANES {
        part[lane] = if winner[lane] == who { d[lane] } else { 0.0 };
    }
    part
}
