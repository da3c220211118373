//! Narrowing a domain by messages, and taking its largest entry.
//!
//! Paper: `def:state_update`, `eq:rule_entailment`. At a tie the older value stays, so a gradient
//! never splits: the state before its messages, an earlier sender before a later one, an earlier
//! variable before a later one, a smaller entity before a greater one.

/// Keeps of `domain` what `message` also allows; notes in `winner` who was smaller.
///
/// ```text
/// φ ← min(φ, ψ)                                            eq:state_update
/// ```
#[inline(always)]
pub(crate) fn narrow<const W: usize>(
    domain: &mut [f32; W],
    message: &[f32; W],
    sender: u32,
    winner: &mut [u32; W],
) {
    for lane in 0..W {
        let less = message[lane] < domain[lane];
        domain[lane] = if less { message[lane] } else { domain[lane] };
        winner[lane] = if less { sender } else { winner[lane] };
    }
}

/// The adjoint of [`narrow`]: what of `d_domain` belongs to the one who won.
#[inline(always)]
pub(crate) fn narrow_adjoint<const W: usize>(d_domain: &[f32; W], winner: &[u32; W], who: u32) -> [f32; W] {
    let mut d = [0.0; W];
    for lane in 0..W {
        d[lane] = if winner[lane] == who { d_domain[lane] } else { 0.0 };
    }
    d
}

/// Per lane the largest entry of a domain and the first entity that has it.
///
/// ```text
/// max_k φ_k                                                eq:rule_entailment
/// ```
#[inline(always)]
pub(crate) fn largest<const W: usize>(domain: &[[f32; W]]) -> ([f32; W], [u32; W]) {
    let (mut most, mut at) = (domain[0], [0u32; W]);
    for (entity, row) in domain.iter().enumerate().skip(1) {
        for lane in 0..W {
            let more = row[lane] > most[lane];
            most[lane] = if more { row[lane] } else { most[lane] };
            at[lane] = if more { entity as u32 } else { at[lane] };
        }
    }
    (most, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_a_tie_the_older_value_stays() {
        let (mut domain, mut winner) = ([0.5, 0.5, 0.5, 0.5], [0; 4]);
        narrow(&mut domain, &[0.4, 0.5, 0.6, 0.0], 3, &mut winner);
        narrow(&mut domain, &[0.4, 0.4, 0.6, 0.1], 5, &mut winner);
        assert_eq!(domain, [0.4, 0.4, 0.5, 0.0]);
        assert_eq!(winner, [3, 5, 0, 3]);
        assert_eq!(narrow_adjoint(&[1.0, 2.0, 3.0, 4.0], &winner, 3), [1.0, 0.0, 0.0, 4.0]);
    }

    #[test]
    fn the_first_of_equal_entities_is_the_largest() {
        let (most, at) = largest(&[[0.1, 0.3], [0.2, 0.3], [0.2, 0.1]]);
        assert_eq!((most, at), ([0.2, 0.3], [1, 0]));
    }
}
