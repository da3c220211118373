//! The embedded data set: Hinton's two families, 24 people and 12 predicates.
//!
//! Only the trees are written down: who married whom, and their children. The 112 facts are
//! derived from them. The paper names this data in `sec:hyperparams`.

/// A couple and its children; husbands come first.
struct Couple {
    husband: &'static str,
    wife: &'static str,
    sons: &'static [&'static str],
    daughters: &'static [&'static str],
}

const fn couple(
    husband: &'static str,
    wife: &'static str,
    sons: &'static [&'static str],
    daughters: &'static [&'static str],
) -> Couple {
    Couple { husband, wife, sons, daughters }
}

/// Both trees have the same shape: two couples, whose children marry, and two grandchildren.
const FAMILIES: [Couple; 10] = [
    couple("Christopher", "Penelope", &["Arthur"], &["Victoria"]),
    couple("Andrew", "Christine", &["James"], &["Jennifer"]),
    couple("Arthur", "Margaret", &[], &[]),
    couple("James", "Victoria", &["Colin"], &["Charlotte"]),
    couple("Charles", "Jennifer", &[], &[]),
    couple("Roberto", "Maria", &["Emilio"], &["Lucia"]),
    couple("Pierro", "Francesca", &["Marco"], &["Angela"]),
    couple("Emilio", "Gina", &[], &[]),
    couple("Marco", "Lucia", &["Alfonso"], &["Sophia"]),
    couple("Tomaso", "Angela", &[], &[]),
];

/// All facts of both families: husband, wife, father, mother, son, daughter, brother, sister,
/// uncle, aunt, nephew, niece; an uncle or aunt may be so by marriage.
pub(crate) fn families() -> Vec<[&'static str; 3]> {
    let mut facts = Vec::new();
    let mut add = |predicate, of, to| facts.push([of, predicate, to]);
    for Couple { husband, wife, sons, daughters } in &FAMILIES {
        add("husband", husband, wife);
        add("wife", wife, husband);
        let sons_as = sons.iter().map(|son| (son, "son", "nephew"));
        for (child, word, kin) in sons_as.chain(daughters.iter().map(|girl| (girl, "daughter", "niece"))) {
            add("father", husband, child);
            add("mother", wife, child);
            add(word, child, husband);
            add(word, child, wife);
            for (uncle, aunt) in siblings_and_spouses(husband).chain(siblings_and_spouses(wife)) {
                add("uncle", uncle, child);
                add("aunt", aunt, child);
                add(kin, child, uncle);
                add(kin, child, aunt);
            }
        }
        for (son, daughter) in sons.iter().flat_map(|son| daughters.iter().map(move |girl| (son, girl))) {
            add("brother", son, daughter);
            add("sister", daughter, son);
        }
    }
    facts
}

/// The couples (husband, wife) one of whom is a sibling of `person`.
fn siblings_and_spouses(person: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let home = FAMILIES.iter().find(|home| home.sons.contains(&person) || home.daughters.contains(&person));
    let siblings: Vec<&str> = home
        .into_iter()
        .flat_map(|home| home.sons.iter().chain(home.daughters))
        .copied()
        .filter(|&sibling| sibling != person)
        .collect();
    FAMILIES
        .iter()
        .filter(move |pair| siblings.contains(&pair.husband) || siblings.contains(&pair.wife))
        .map(|pair| (pair.husband, pair.wife))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn the_families_are_hintons_24_people_12_predicates_and_112_facts() {
        let (mut people, mut count) = (BTreeSet::new(), BTreeMap::new());
        let facts = families();
        for [head, predicate, tail] in &facts {
            people.extend([*head, *tail]);
            *count.entry(*predicate).or_insert(0) += 1;
        }
        assert_eq!((people.len(), count.len(), facts.len()), (24, 12, 112));
        assert_eq!(facts.iter().collect::<BTreeSet<_>>().len(), 112, "no fact is repeated");
        assert_eq!((count["husband"], count["father"], count["uncle"], count["brother"]), (10, 12, 8, 6));
    }

    #[test]
    fn an_uncle_by_marriage_is_an_uncle() {
        assert!(families().contains(&["Charles", "uncle", "Colin"]));
    }
}
