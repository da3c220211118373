//! Sorted lists of distinct numbers as sets.

/// What both hold; walks the shorter list and gallops through the longer.
pub(super) fn intersect(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut both = Vec::with_capacity(a.len().min(b.len()));
    each_common(a, b, |place, _| both.push(a[place]));
    both
}

/// Calls `found` with the places, in `a` and in `b`, of every common number, in order.
pub(super) fn each_common(a: &[u32], b: &[u32], mut found: impl FnMut(usize, usize)) {
    if a.len() <= b.len() {
        walk(a, b, found);
    } else {
        walk(b, a, |in_b, in_a| found(in_a, in_b));
    }
}

fn walk(short: &[u32], long: &[u32], mut found: impl FnMut(usize, usize)) {
    let mut from = 0;
    for (place, number) in short.iter().enumerate() {
        from += gallop(&long[from..], *number);
        if from == long.len() {
            return;
        }
        if long[from] == *number {
            found(place, from);
            from += 1;
        }
    }
}

/// The first place of `list` whose number is at least `lower`.
fn gallop(list: &[u32], lower: u32) -> usize {
    let mut reach = 1;
    while reach <= list.len() && list[reach - 1] < lower {
        reach *= 2;
    }
    let from = reach / 2;
    from + list[from..reach.min(list.len())].partition_point(|&number| number < lower)
}

/// What one of them holds.
pub(super) fn union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut either = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let next = a[i].min(b[j]);
        i += usize::from(a[i] == next);
        j += usize::from(b[j] == next);
        either.push(next);
    }
    either.extend_from_slice(&a[i..]);
    either.extend_from_slice(&b[j..]);
    either
}

/// What `a` holds and `b` does not.
pub(super) fn minus(a: &[u32], b: &[u32]) -> Vec<u32> {
    a.iter().copied().filter(|number| b.binary_search(number).is_err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_lists_behave_as_sets() {
        let lists: [&[u32]; 5] = [&[], &[3], &[1, 2, 3, 9], &[0, 2, 4, 6, 8, 9, 10, 11, 12], &[2, 3, 100]];
        for a in lists {
            for b in lists {
                let plain = |keep: &dyn Fn(&u32) -> bool| (0..=100).filter(keep).collect::<Vec<u32>>();
                assert_eq!(intersect(a, b), plain(&|n| a.contains(n) && b.contains(n)));
                assert_eq!(union(a, b), plain(&|n| a.contains(n) || b.contains(n)));
                assert_eq!(minus(a, b), plain(&|n| a.contains(n) && !b.contains(n)));
            }
        }
    }
}
