//! Kinds of entities, told by their roles: a role is being head, or tail, of some predicate.
//!
//! In: facts. Out: which entities are of a kind that may stand at an end of a predicate. A person is never the tail of
//! `born_in`, since what stands there has other roles.

use super::{Direction, Entity, Neighbours, Predicate};

/// Fewer answers do not tell which kinds there are.
const MIN_ANSWERS: usize = 10;

/// The roles of every entity.
pub struct Kinds {
    /// For every entity the roles it has, sorted: predicates as head, then predicates as tail.
    roles: Vec<Vec<u32>>,
    predicates: usize,
}

impl Kinds {
    /// The roles that entities have in some facts.
    pub fn of(facts: &Neighbours) -> Self {
        let predicates = facts.predicates();
        let mut roles = vec![Vec::new(); facts.entities()];
        for role in 0..2 * predicates as u32 {
            for (entity, roles) in (0..).map(Entity).zip(&mut roles) {
                if !ends(facts, role, entity).is_empty() {
                    roles.push(role);
                }
            }
        }
        Kinds { roles, predicates }
    }

    /// For every entity whether it may be the answer to a query of this direction: at least half of its roles are among
    /// those of the entities that are answers. Where fewer than ten of these are known, all may be.
    ///
    /// ```
    /// use glidr::internals::graph::{Direction, Kinds, Neighbours, Predicate, Sizes, Triple};
    /// // 0 to 19 live in 20, which lies in 21; the first ten also work for 22.
    /// let lives = (0..20).map(|person| Triple::new(person, 0, 20));
    /// let works = (0..10).map(|person| Triple::new(person, 1, 22));
    /// let facts: Vec<Triple> = lives.chain(works).chain([Triple::new(20, 2, 21)]).collect();
    /// let sizes = Sizes { entities: 23, predicates: 3, properties: 0 };
    /// let kinds = Kinds::of(&Neighbours::new(sizes, &facts, &[]));
    /// let who_works = kinds.admitted(Predicate(1), Direction::Head);
    /// assert_eq!((who_works[3], who_works[15], who_works[20]), (true, true, false));
    /// ```
    pub fn admitted(&self, predicate: Predicate, direction: Direction) -> Vec<bool> {
        let role = match direction {
            Direction::Head => predicate.0,
            Direction::Tail => predicate.0 + self.predicates as u32,
        };
        let (mut usual, mut answers) = (vec![false; 2 * self.predicates], 0);
        for roles in self.roles.iter().filter(|roles| roles.binary_search(&role).is_ok()) {
            answers += 1;
            for &role in roles {
                usual[role as usize] = true;
            }
        }
        if answers < MIN_ANSWERS {
            return vec![true; self.roles.len()];
        }
        let is_admitted = |roles: &Vec<u32>| {
            let common = roles.iter().filter(|&&role| usual[role as usize]).count();
            common > 0 && 2 * common >= roles.len()
        };
        self.roles.iter().map(is_admitted).collect()
    }
}

/// The other ends of the facts in which an entity has a role.
fn ends(facts: &Neighbours, role: u32, entity: Entity) -> &[u32] {
    let half = facts.predicates() as u32;
    if role < half {
        facts.tails(Predicate(role), entity)
    } else {
        facts.heads(Predicate(role - half), entity)
    }
}
