//! The score of a query, and its adjoint.

use super::block::{LANES, Lanes};
use super::profile::DProfile;
use super::query::{Context, Query, Workspace};

/// Marks a place of the score that is an entity of the profile, not one of the list.
const IN_PROFILE: u32 = 1 << 31;

impl Query {
    /// The score in the lanes `asked`, as bits.
    ///
    /// ```text
    /// ŷ = min_i max_k φ_i,k                                    eq:rule_entailment
    /// ```
    #[inline(always)]
    pub fn score(&mut self, workspace: &mut Workspace, context: Context, direction: u8) -> Lanes {
        let (last, rounds) = (context.last(), context.profile.rounds);
        let lazy = Self::is_lazy(context, rounds, last.max(1) - 1)
            .then(|| context.profile.pass(rounds).variable(last - 1, last));
        let mut score = [f32::INFINITY; LANES];
        let mut place = [(0u8, 0u32); LANES];
        for variable in (0..=last).filter(|&variable| Some(variable) != lazy).chain(lazy) {
            let (most, at) = match variable {
                0 => (self.entries[rounds][0], [0; LANES]),
                v if v == last => (self.entries[rounds][1], [0; LANES]),
                v if Some(v) == lazy => {
                    let mut least = score;
                    for lane in 0..LANES {
                        least[lane] = if direction >> lane & 1 == 1 { least[lane] } else { 0.0 };
                    }
                    let (most, at) = self.most_of_last(workspace, context, &least);
                    for lane in 0..LANES {
                        self.witness[lane] = match at[lane] & !IN_PROFILE {
                            entity if Self::is_in_profile(at[lane]) => entity,
                            place => self.touched[v - 1].entities[place as usize],
                        };
                    }
                    (most, at)
                }
                v => self.most(context, v - 1),
            };
            for lane in 0..LANES {
                if most[lane] < score[lane] {
                    score[lane] = most[lane];
                    place[lane] = (variable as u8, at[lane]);
                }
            }
        }
        self.place = place;
        score
    }

    /// The adjoint of [`Query::score`]: all goes to the entry that the score is.
    #[inline(always)]
    pub fn score_adjoint(
        &self,
        workspace: &mut Workspace,
        context: Context,
        d_score: &Lanes,
        d_ends: &mut [Lanes; 2],
        d_profile: &mut DProfile,
    ) {
        let (last, rounds) = (context.last(), context.profile.rounds);
        for lane in (0..LANES).filter(|&lane| d_score[lane] != 0.0) {
            let (variable, at) = (usize::from(self.place[lane].0), self.place[lane].1);
            let entry = match variable {
                0 => &mut d_ends[0],
                v if v == last => &mut d_ends[1],
                v if Self::is_in_profile(at) => {
                    &mut d_profile.domain(rounds, v - 1)[(at & !IN_PROFILE) as usize]
                }
                v => workspace.give(v - 1, at as usize),
            };
            entry[lane] += d_score[lane];
        }
    }

    /// The largest entry of a variable's domain after the last round, and where it is.
    #[inline(always)]
    pub fn most(&self, context: Context, k: usize) -> (Lanes, [u32; LANES]) {
        let rounds = context.profile.rounds;
        let (mut most, mut at) = ([-1.0; LANES], [0u32; LANES]);
        for (place, entry) in self.touched[k].rounds[rounds - 1].domain.iter().enumerate() {
            raise(&mut most, &mut at, entry, place as u32);
        }
        // No touched entry is below its profile, so a greater profile is of an untouched entity.
        let stage = context.profile.stage(rounds, k);
        for lane in 0..LANES {
            if stage.most[lane] > most[lane] {
                most[lane] = stage.most[lane];
                at[lane] = stage.most_at[lane] | IN_PROFILE;
            }
        }
        (most, at)
    }

    /// Whether a place of the score is an entity of the profile.
    #[inline(always)]
    pub fn is_in_profile(place: u32) -> bool {
        place & IN_PROFILE != 0
    }

    /// Where the profile's largest entry lies, as a place of the score.
    #[inline(always)]
    pub fn in_profile(entity: u32) -> u32 {
        entity | IN_PROFILE
    }
}

/// Keeps the greater of `most` and `entry`, and its place.
#[inline(always)]
pub(crate) fn raise(most: &mut Lanes, at: &mut [u32; LANES], entry: &Lanes, place: u32) {
    for lane in 0..LANES {
        let more = entry[lane] > most[lane];
        most[lane] = if more { entry[lane] } else { most[lane] };
        at[lane] = if more { place } else { at[lane] };
    }
}
