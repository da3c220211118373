//! Message passing of eight rules at once over the linked pairs of one graph, and its adjoint.
//!
//! In: links, the weights of eight rules. Out: their scores, and a tape that lets the gradient walk back.
//! Paper: `sec:message-passing`. Equations, order of messages and ties are those of
//! [`passing`](super::super::passing), its slow twin.

use pulp::Simd;

use super::super::passing::variable;
use super::super::product::sum;
use super::lanes::{Block, LANES, Lane, add_product, add_scaled, add_times, any};
use super::{Ends, Links, Problem};

const NOTHING: Lane = [0.0; LANES];

/// Workspace and tape of one graph and block.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// M of every pair and slot.
    matrices: Vec<Lane>,
    /// The own slots' messages, `[entities][variables]`.
    told: Vec<Lane>,
    /// The domains at the start and after every round, `[rounds + 1][variables][entities]`.
    domains: Vec<Lane>,
    /// Who narrowed each entry in each round: 0 = nobody, else sender + 1.
    winners: Vec<[u32; LANES]>,
    /// The variable and entity whose entry is each rule's score.
    best: [(usize, usize); LANES],
    d_matrices: Vec<Lane>,
    d_told: Vec<Lane>,
    d_domains: Vec<Lane>,
}

/// What M of one pair is made of.
struct Mix<'a> {
    links: &'a Links,
    pair: usize,
    predicates: usize,
    weights: &'a [Lane],
    slots: usize,
}

impl Mix<'_> {
    /// M of some slots.
    #[inline(always)]
    fn sum<S: Simd, const SLOTS: usize>(&self, simd: S, at: usize, to: &mut [Lane]) {
        let mut sums = [NOTHING; SLOTS];
        for (entries, first) in self.links.both_ways(self.pair, self.predicates) {
            // A clipped link that has a derivative adds nothing.
            for entry in self.links.entries[entries].iter().filter(|entry| entry.value > 0.0) {
                let from = (first + entry.predicate as usize) * self.slots + at;
                let weights = &self.weights[from..from + SLOTS];
                for n in 0..SLOTS {
                    add_scaled(simd, &mut sums[n], entry.value, &weights[n]);
                }
            }
        }
        to.copy_from_slice(&sums);
    }
}

impl Walk {
    /// M of every slot, and what the own slots tell.
    ///
    /// ```text
    /// M = Σ wₖ Bₖ                                                   eq:soft_adj_mtx
    /// ```
    #[inline(always)]
    pub fn prepare<S: Simd>(
        &mut self,
        simd: S,
        problem: &Problem,
        block: &Block,
        links: &Links,
        values: &[f32],
    ) {
        let (schema, entities, slots) = (problem.schema, problem.entities, problem.schema.slots());
        self.matrices.clear();
        self.matrices.resize(links.other.len() * slots, NOTHING);
        for (pair, sums) in self.matrices.chunks_exact_mut(slots).enumerate() {
            let mix = Mix { links, pair, predicates: schema.predicates, weights: &block.pairs, slots };
            // Six sums at a time stay in registers, as many as four variables have slots.
            let (mut at, six) = (0, slots / 6 * 6);
            while at < six {
                mix.sum::<S, 6>(simd, at, &mut sums[at..at + 6]);
                at += 6;
            }
            while at < slots {
                mix.sum::<S, 1>(simd, at, &mut sums[at..=at]);
                at += 1;
            }
        }
        self.told.clear();
        if schema.properties == 0 {
            self.told.resize(entities * schema.variables, [1.0; LANES]);
            return;
        }
        let variables = schema.variables;
        for entity in 0..entities {
            let at = self.told.len();
            self.told.extend_from_slice(&block.owns[schema.properties * variables..]);
            for property in 0..schema.properties {
                let weights = &block.owns[property * variables..][..variables];
                let value = values[entity * schema.properties + property];
                for (told, weight) in self.told[at..].iter_mut().zip(weights) {
                    add_scaled(simd, told, value, weight);
                }
            }
        }
    }

    /// The adjoint of [`Walk::prepare`], of all queries since [`Walk::forget`]: adds to all three.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "three inputs, three derivatives")]
    pub fn prepare_adjoint<S: Simd>(
        &self,
        simd: S,
        problem: &Problem,
        block: &Block,
        links: &Links,
        values: &[f32],
        d_block: &mut Block,
        d_links: &mut [f32],
        d_values: &mut [f32],
    ) {
        let (schema, slots) = (problem.schema, problem.schema.slots());
        for (pair, d) in self.d_matrices.chunks_exact(slots).enumerate() {
            if !d.iter().any(any) {
                continue;
            }
            for (entries, first) in links.both_ways(pair, schema.predicates) {
                for number in entries {
                    let entry = links.entries[number];
                    let weights = (first + entry.predicate as usize) * slots..;
                    let (d_weights, weights) = (&mut d_block.pairs[weights.clone()], &block.pairs[weights]);
                    let mut d_link = NOTHING;
                    for ((d, weight), d_weight) in d.iter().zip(weights).zip(d_weights) {
                        add_scaled(simd, d_weight, entry.value, d);
                        add_product(simd, &mut d_link, d, weight);
                    }
                    d_links[number] += sum(&d_link);
                }
            }
        }
        if schema.properties == 0 {
            return;
        }
        let variables = schema.variables;
        for (entity, d) in self.d_told.chunks_exact(variables).enumerate() {
            if !d.iter().any(any) {
                continue;
            }
            for property in 0..=schema.properties {
                // The last filler is P_true, whose value is 1.
                let place = (property < schema.properties).then_some(entity * schema.properties + property);
                let weights = property * variables..;
                let (d_weights, weights) = (&mut d_block.owns[weights.clone()], &block.owns[weights]);
                let mut d_value = NOTHING;
                for ((d, weight), d_weight) in d.iter().zip(weights).zip(d_weights) {
                    add_scaled(simd, d_weight, place.map_or(1.0, |place| values[place]), d);
                    add_product(simd, &mut d_value, d, weight);
                }
                if let Some(place) = place {
                    d_values[place] += sum(&d_value);
                }
            }
        }
    }

    /// Passes messages for one query and returns every rule's score.
    #[inline(always)]
    pub fn infer<S: Simd>(
        &mut self,
        simd: S,
        problem: &Problem,
        block: &Block,
        links: &Links,
        query: Option<Ends>,
    ) -> Lane {
        let (entities, last) = (problem.entities, problem.schema.variables - 1);
        let (variables, slots) = (problem.schema.variables, problem.schema.slots());
        let size = variables * entities;
        let sure = &block.pairs[(problem.schema.fillers() - 1) * slots..];
        self.domains.resize((problem.rounds + 1) * size, NOTHING);
        self.winners.resize(problem.rounds * size, [0; LANES]);
        self.domains[..size].fill(NOTHING);
        for variable in 0..=last {
            for entity in problem.lanes(variable, query) {
                let told = self.told[entity * variables + variable];
                self.domains[variable * entities + entity] = told.map(|told| told.min(1.0));
            }
        }
        for round in 0..problem.rounds {
            let (before, after) = self.domains.split_at_mut((round + 1) * size);
            let now = &mut after[..size];
            now.copy_from_slice(&before[round * size..]);
            let winners = &mut self.winners[round * size..][..size];
            winners.fill([0; LANES]);
            for step in 1..=last {
                let receiver = variable(round, step, last);
                for sender in (0..step).map(|step| variable(round, step, last)) {
                    let slot = problem.schema.slot(sender.min(receiver), sender.max(receiver));
                    for entity in 0..entities {
                        // ψ = Mᵀ φ + 1·w_true                               def:messages
                        let mut message = sure[slot];
                        for pair in links.pairs(entity) {
                            let (other, times) = (links.other[pair] as usize, links.times[pair]);
                            let pair = if sender < receiver { links.back[pair] as usize } else { pair };
                            add_times(
                                simd,
                                &mut message,
                                &self.matrices[pair * slots + slot],
                                &now[sender * entities + other],
                                times,
                            );
                        }
                        // φ ← min(φ, ψ)                                     eq:state_update
                        let place = receiver * entities + entity;
                        let (domain, winner) = (&mut now[place], &mut winners[place]);
                        for l in 0..LANES {
                            let less = message[l] < domain[l];
                            domain[l] = if less { message[l] } else { domain[l] };
                            winner[l] = if less { sender as u32 + 1 } else { winner[l] };
                        }
                    }
                }
            }
        }
        self.score(entities, problem.rounds * size)
    }

    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    fn score(&mut self, entities: usize, at: usize) -> Lane {
        let mut score = [f32::INFINITY; LANES];
        for (variable, domain) in self.domains[at..].chunks_exact(entities).enumerate() {
            let (mut most, mut place) = ([f32::NEG_INFINITY; LANES], [0u32; LANES]);
            for (entity, lane) in domain.iter().enumerate() {
                for l in 0..LANES {
                    let more = lane[l] > most[l];
                    most[l] = if more { lane[l] } else { most[l] };
                    place[l] = if more { entity as u32 } else { place[l] };
                }
            }
            for l in 0..LANES {
                if most[l] < score[l] {
                    score[l] = most[l];
                    self.best[l] = (variable, place[l] as usize);
                }
            }
        }
        score
    }

    /// Forgets the derivatives of earlier queries.
    #[inline(always)]
    pub fn forget(&mut self) {
        for (list, size) in [(&mut self.d_matrices, self.matrices.len()), (&mut self.d_told, self.told.len())]
        {
            list.clear();
            list.resize(size, NOTHING);
        }
    }

    /// The adjoint of [`Walk::infer`], to be called right after it: adds the derivative of Σ `d_score` · score
    /// to those by M, by `P_true`'s weights (in `d_block`) and by what the own slots told.
    #[inline(always)]
    pub fn adjoint<S: Simd>(
        &mut self,
        simd: S,
        problem: &Problem,
        links: &Links,
        query: Option<Ends>,
        d_score: Lane,
        d_block: &mut Block,
    ) {
        let (entities, last) = (problem.entities, problem.schema.variables - 1);
        let (variables, slots) = (problem.schema.variables, problem.schema.slots());
        let (size, sure) = (variables * entities, (problem.schema.fillers() - 1) * slots);
        self.d_domains.clear();
        self.d_domains.resize(size, NOTHING);
        for (l, &(variable, entity)) in self.best.iter().enumerate() {
            self.d_domains[variable * entities + entity][l] = d_score[l];
        }
        for round in (0..problem.rounds).rev() {
            let now = &self.domains[(round + 1) * size..][..size];
            for step in (1..=last).rev() {
                let receiver = variable(round, step, last);
                for entity in 0..entities {
                    let place = receiver * entities + entity;
                    let d = self.d_domains[place];
                    if !any(&d) {
                        continue;
                    }
                    let winner = &self.winners[round * size + place];
                    for sender in (0..step).map(|step| variable(round, step, last)) {
                        let mut d_message = NOTHING;
                        for l in 0..LANES {
                            d_message[l] = if winner[l] == sender as u32 + 1 { d[l] } else { 0.0 };
                        }
                        if !any(&d_message) {
                            continue;
                        }
                        let slot = problem.schema.slot(sender.min(receiver), sender.max(receiver));
                        add_scaled(simd, &mut d_block.pairs[sure + slot], 1.0, &d_message);
                        for pair in links.pairs(entity) {
                            let from = sender * entities + links.other[pair] as usize;
                            let times = links.times[pair];
                            let pair = if sender < receiver { links.back[pair] as usize } else { pair };
                            let place = pair * slots + slot;
                            add_times(simd, &mut self.d_matrices[place], &d_message, &now[from], times);
                            add_times(
                                simd,
                                &mut self.d_domains[from],
                                &d_message,
                                &self.matrices[place],
                                times,
                            );
                        }
                    }
                    for l in 0..LANES {
                        self.d_domains[place][l] = if winner[l] == 0 { d[l] } else { 0.0 };
                    }
                }
            }
        }
        // At a tie the older value, 1, stays.
        for variable in 0..=last {
            for entity in problem.lanes(variable, query) {
                let place = variable * entities + entity;
                let (start, d) = (self.domains[place], self.d_domains[place]);
                let d_told = &mut self.d_told[entity * variables + variable];
                for l in 0..LANES {
                    d_told[l] += if start[l] < 1.0 { d[l] } else { 0.0 };
                }
            }
        }
    }
}
