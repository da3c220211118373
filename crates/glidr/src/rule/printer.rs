//! Rules as text: `uncle(X, Y) :- brother(X, Z1), (mother(Z1, Y) ; father(Z1, Y)).`, and where a body must hold
//! for several groundings, `colleague(X, Y) :- at least 3: worked_on(X, Z1), worked_on(Y, Z1).`

use super::{Atom, Literal, Rule, Term};
use crate::graph::{Entity, Names, Predicate, Property, Vocabulary};

/// The names that a rule is printed with.
#[derive(Clone, Copy, Debug)]
pub struct RuleNames<'a> {
    /// Names of binary predicates.
    pub predicates: &'a Names<Predicate>,
    /// Names of properties.
    pub properties: &'a Names<Property>,
    /// Names of entities, for rules with constants; learned rules have none.
    pub entities: Option<&'a Names<Entity>>,
}

impl<'a> RuleNames<'a> {
    /// All names: of predicates, then of properties, then of entities.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let entities = self.entities.into_iter().flat_map(Names::iter);
        self.predicates.iter().chain(self.properties.iter()).chain(entities)
    }
}

impl Rule {
    /// The rule as it is printed.
    pub fn show(&self, names: RuleNames) -> String {
        let head = format!("{}(X, Y)", quoted(names.predicates.name(self.target)));
        if self.body.is_empty() {
            return format!("{head} :- true.");
        }
        let body: Vec<String> = self.body.iter().map(|literal| literal.show(names)).collect();
        format!("{head} :- {}{}.", at_least(self.min_groundings), body.join(", "))
    }
}

/// What stands before a body that must have several groundings.
pub(super) fn at_least(min_groundings: u32) -> String {
    if min_groundings > 1 { format!("at least {min_groundings}: ") } else { String::new() }
}

impl Literal {
    /// The literal as it is printed.
    pub fn show(&self, names: RuleNames) -> String {
        match &self.atoms[..] {
            [one] => one.show(names),
            several => {
                let atoms: Vec<String> = several.iter().map(|atom| atom.show(names)).collect();
                format!("({})", atoms.join(" ; "))
            }
        }
    }
}

impl Atom {
    /// The atom as it is printed.
    pub fn show(self, names: RuleNames) -> String {
        match self {
            Atom::Pair(predicate, a, b) => {
                let name = quoted(names.predicates.name(predicate));
                format!("{name}({}, {})", a.show(names), b.show(names))
            }
            Atom::Own(property, a) => {
                format!("{}({})", quoted(names.properties.name(property)), a.show(names))
            }
            Atom::Is(a, entity) => format!("{} = {}", a.show(names), Term::Constant(entity).show(names)),
        }
    }
}

impl Term {
    /// The variable, or the constant's name; without names of entities, its number.
    pub fn show(self, names: RuleNames) -> String {
        match self {
            Term::X => "X".into(),
            Term::Y => "Y".into(),
            Term::Z(number) => format!("Z{number}"),
            Term::Constant(entity) => match names.entities.and_then(|entities| entities.get(entity)) {
                Some(name) => quoted_constant(name),
                None => format!("'#{}'", entity.0),
            },
        }
    }
}

/// A predicate's name as it stands in a rule: bare if it is a plain word that could not be taken for
/// a variable, else in single quotes,
/// where a quote or backslash has a backslash before it.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let like_a_variable = matches!(name, "X" | "Y")
        || name.strip_prefix('Z').is_some_and(|rest| rest.chars().all(|digit| digit.is_ascii_digit()));
    if plain && !like_a_variable { name.to_owned() } else { format!("'{}'", escaped(name)) }
}

fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace('\'', r"\'").replace('\n', r"\n").replace('\r', r"\r")
}

/// A constant's name as it stands in a rule: bare if it is a plain word with a small first letter,
/// else quoted, so that it cannot be taken for a variable.
pub fn quoted_constant(name: &str) -> String {
    if name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return quoted(name);
    }
    format!("'{}'", escaped(name))
}

/// A predicate's name as an argument: quoted wherever it could be read as something else.
pub(super) fn quoted_argument(name: &str) -> String {
    let shown = quoted(name);
    let is_safe = shown.starts_with(|first: char| first.is_ascii_lowercase() || first == '\'');
    if is_safe { shown } else { format!("'{shown}'") }
}

impl<'a> From<&'a Vocabulary> for RuleNames<'a> {
    fn from(names: &'a Vocabulary) -> Self {
        let entities = Some(&names.entities);
        RuleNames { predicates: &names.predicates, properties: &names.properties, entities }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Term::{X, Y, Z};
    use super::*;
    use crate::graph::{Predicate, Property};

    #[test]
    fn a_rule_prints_as_logic() {
        let predicates = Names::new(["uncle", "brother", "mother", "father"]);
        let properties = Names::new(["is male"]);
        let pair = |number, a, b| Atom::Pair(Predicate(number), a, b);
        let rule = Rule::new(
            Predicate(0),
            &[
                Literal::any_of(vec![pair(1, X, Z(3))]),
                Literal::any_of(vec![pair(3, Z(3), Y), pair(2, Z(3), Y)]),
                Literal::any_of(vec![Atom::Own(Property(0), X)]),
            ],
        );
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: None };
        assert_eq!(
            rule.show(names),
            "uncle(X, Y) :- 'is male'(X), brother(X, Z1), (mother(Z1, Y) ; father(Z1, Y))."
        );
        assert_eq!(Rule::new(Predicate(0), &[]).show(names), "uncle(X, Y) :- true.");
    }

    #[test]
    fn names_that_are_no_plain_words_are_quoted() {
        assert_eq!((quoted("Affects"), quoted("Zone")), ("Affects".into(), "Zone".into()));
        assert_eq!((quoted("X"), quoted("Z12")), ("'X'".into(), "'Z12'".into()));
        assert_eq!(quoted("/film/director"), "'/film/director'");
        assert_eq!(quoted("it's \\ odd"), r"'it\'s \\ odd'");
    }
}
