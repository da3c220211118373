//! Reads rules as text; docs/rules.md has the grammar.
//!
//! In: a text of rules, each perhaps with a number before it. Out: [`WrittenRule`]s, which print back
//! as they were written, and the [`Rule`]s they stand for under the names of some data.

use std::fmt;
use std::path::Path;

use super::Weight;
use super::lex::{Lexer, Mark, Token};
use super::text::at_least;
use super::{Atom, Literal, MAX_VARIABLES, Rule, Term, quoted, quoted_constant};
use crate::error::{Error, Result};
use crate::graph::Vocabulary;

/// The most groundings that a body can be asked for.
const MAX_GROUNDINGS: f64 = 1e9;

/// An argument as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WrittenTerm {
    /// A variable: a bare word with a capital first letter.
    Variable(String),
    /// A constant: a quoted name, or a bare word with a small first letter.
    Constant(String),
}

/// An atom as it was written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenAtom {
    /// The predicate's or property's name; none where two terms are said to be equal.
    pub name: Option<String>,
    /// One or two arguments.
    pub terms: Vec<WrittenTerm>,
    mark: Mark,
}

/// A rule as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenRule {
    /// The number before it: a confidence or a weight, or one for tails and one for heads.
    pub weight: Option<Weight>,
    /// The head.
    pub head: WrittenAtom,
    /// In how many ways the body must hold at least.
    pub min_groundings: u32,
    /// The body: literals, each a disjunction of atoms.
    pub body: Vec<Vec<WrittenAtom>>,
}

/// What stands in a text of rules.
#[derive(Clone, Debug, PartialEq)]
pub enum Clause {
    /// A rule.
    Rule(WrittenRule),
    /// `:- aggregation(target, how).` says how the rules of a target are aggregated.
    Aggregation(String, String),
}

/// Reads all clauses of `text`; errors name `path`, line and column.
pub fn parse_rules(path: &Path, text: &str) -> Result<Vec<Clause>> {
    let mut reader = Reader { lexer: Lexer::new(text), ahead: None };
    let mut clauses = Vec::new();
    loop {
        match reader.peek() {
            Ok((Token::End, _)) => return Ok(clauses),
            Ok(_) => clauses.push(reader.clause().map_err(|wrong| wrong.error(path))?),
            Err(wrong) => return Err(wrong.error(path)),
        }
    }
}

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub mark: Mark,
    pub finding: String,
}

impl Wrong {
    fn error(self, path: &Path) -> Error {
        let (line, column) = (self.mark.line, self.mark.column);
        Error::Text { path: path.to_owned(), line, column, finding: self.finding }
    }
}

type Read<T> = std::result::Result<T, Wrong>;

struct Reader<'t> {
    lexer: Lexer<'t>,
    ahead: Option<(Token, Mark)>,
}

impl Reader<'_> {
    fn peek(&mut self) -> Read<(Token, Mark)> {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexer.next()?);
        }
        Ok(self.ahead.clone().unwrap_or((Token::End, Mark::default())))
    }

    fn take(&mut self) -> Read<(Token, Mark)> {
        let found = self.peek()?;
        self.ahead = None;
        Ok(found)
    }

    fn expect(&mut self, sign: &'static str, after: &str) -> Read<Mark> {
        match self.take()? {
            (Token::Sign(found), mark) if found == sign => Ok(mark),
            (found, mark) => Err(Wrong {
                mark,
                finding: format!("{after} must be followed by “{sign}”, but here is {found}"),
            }),
        }
    }

    fn next_is(&mut self, sign: &'static str) -> Read<bool> {
        Ok(matches!(self.peek()?, (Token::Sign(found), _) if found == sign))
    }

    fn clause(&mut self) -> Read<Clause> {
        if self.next_is(":-")? {
            return self.directive();
        }
        let weight = match self.peek()? {
            (Token::Number(tail), _) => {
                self.take()?;
                let head = if self.next_is("/")? { self.second_number()? } else { tail };
                self.expect("::", "a number")?;
                Some(Weight { tail, head })
            }
            _ => None,
        };
        let head = self.atom()?;
        self.expect(":-", "the head")?;
        let (min_groundings, body) = self.body()?;
        self.expect(".", "a rule's body")?;
        Ok(Clause::Rule(WrittenRule { weight, head, min_groundings, body }))
    }

    fn second_number(&mut self) -> Read<f64> {
        self.expect("/", "a number")?;
        match self.take()? {
            (Token::Number(number), _) => Ok(number),
            (found, mark) => {
                let finding = format!("“/” must be followed by the number for heads, but here is {found}");
                Err(Wrong { mark, finding })
            }
        }
    }

    fn directive(&mut self) -> Read<Clause> {
        self.expect(":-", "")?;
        let atom = self.atom()?;
        self.expect(".", "a directive")?;
        let text = |term: &WrittenTerm| match term {
            WrittenTerm::Variable(text) | WrittenTerm::Constant(text) => text.clone(),
        };
        match (atom.name.as_deref(), &atom.terms[..]) {
            (Some("aggregation"), [target, how]) => Ok(Clause::Aggregation(text(target), text(how))),
            _ => Err(Wrong {
                mark: atom.mark,
                finding: "a directive must be aggregation(target, how), but this is another".into(),
            }),
        }
    }

    /// In how many ways a body must hold, and its literals.
    fn body(&mut self) -> Read<(u32, Vec<Vec<WrittenAtom>>)> {
        let (mut min_groundings, mut body) = (1, Vec::new());
        loop {
            if self.next_is("(")? {
                self.take()?;
                let mut atoms = vec![self.body_atom()?];
                while self.next_is(";")? {
                    self.take()?;
                    atoms.push(self.body_atom()?);
                }
                self.expect(")", "a disjunction")?;
                body.push(atoms);
            } else {
                let first = self.take()?;
                let is_true = matches!(&first.0, Token::Word(name) | Token::Quoted(name) if name == "true");
                if is_true && !self.next_is("(")? && !self.next_is("=")? {
                    let mark = first.1;
                    if !body.is_empty() || self.next_is(",")? {
                        return Err(Wrong {
                            mark,
                            finding: "true must be the whole body, but is not".into(),
                        });
                    }
                    return Ok((min_groundings, Vec::new()));
                }
                let is_least = matches!(&first.0, Token::Word(word) if word == "at")
                    && matches!(self.peek()?, (Token::Word(word), _) if word == "least");
                if is_least && min_groundings == 1 && body.is_empty() {
                    min_groundings = self.min_groundings()?;
                    continue;
                }
                body.push(vec![self.body_atom_from(first)?]);
            }
            if !self.next_is(",")? {
                return Ok((min_groundings, body));
            }
            self.take()?;
        }
    }

    /// What follows `at`: `least 3:`.
    #[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
    fn min_groundings(&mut self) -> Read<u32> {
        self.take()?;
        let (found, mark) = self.take()?;
        match found {
            Token::Number(ways) if ways.fract() == 0.0 && (1.0..=MAX_GROUNDINGS).contains(&ways) => {
                self.expect(":", "at least so many")?;
                Ok(ways as u32)
            }
            found => Err(Wrong {
                mark,
                finding: format!(
                    "“at least” must be followed by a whole number from 1 to {MAX_GROUNDINGS}, but here is {found}"
                ),
            }),
        }
    }

    fn body_atom(&mut self) -> Read<WrittenAtom> {
        let first = self.take()?;
        self.body_atom_from(first)
    }

    /// An atom of a body: a predicate or property of terms, or a term that is a constant.
    fn body_atom_from(&mut self, first: (Token, Mark)) -> Read<WrittenAtom> {
        if !self.next_is("=")? {
            return self.atom_from(first);
        }
        let (left, mark) = (term(first.clone())?, first.1);
        self.take()?;
        let next = self.take()?;
        match term(next.clone())? {
            right @ WrittenTerm::Constant(_) => {
                Ok(WrittenAtom { name: None, terms: vec![left, right], mark })
            }
            WrittenTerm::Variable(name) => Err(Wrong {
                mark: next.1,
                finding: format!("“=” must be followed by a constant, but here is the variable {name}"),
            }),
        }
    }

    fn atom(&mut self) -> Read<WrittenAtom> {
        let first = self.take()?;
        self.atom_from(first)
    }

    fn atom_from(&mut self, first: (Token, Mark)) -> Read<WrittenAtom> {
        let (name, mark) = match first {
            (Token::Word(name) | Token::Quoted(name), mark) => (name, mark),
            (found, mark) => {
                let finding = format!("an atom must start with a name, but here is {found}");
                return Err(Wrong { mark, finding });
            }
        };
        self.expect("(", "a predicate's name")?;
        let mut terms = vec![term(self.take()?)?];
        if self.next_is(",")? {
            self.take()?;
            terms.push(term(self.take()?)?);
        }
        self.expect(")", "the arguments (one or two)")?;
        Ok(WrittenAtom { name: Some(name), terms, mark })
    }
}

fn term(token: (Token, Mark)) -> Read<WrittenTerm> {
    match token {
        (Token::Quoted(name), _) => Ok(WrittenTerm::Constant(name)),
        (Token::Word(word), _) if word.starts_with(|c: char| c.is_uppercase() || c == '_') => {
            Ok(WrittenTerm::Variable(word))
        }
        (Token::Word(word), _) => Ok(WrittenTerm::Constant(word)),
        (found, mark) => Err(Wrong {
            mark,
            finding: format!("an argument must be a variable or a constant, but here is {found}"),
        }),
    }
}

impl WrittenRule {
    /// The rule under the names of some data; errors name `path`, line and column.
    pub fn rule(&self, path: &Path, names: &Vocabulary) -> Result<Rule> {
        self.resolve(names).map_err(|wrong| wrong.error(path))
    }

    fn resolve(&self, names: &Vocabulary) -> Read<Rule> {
        let wrong = |atom: &WrittenAtom, finding: String| Wrong { mark: atom.mark, finding };
        let unknown = |atom: &WrittenAtom, error: &Error| wrong(atom, error.to_string());
        let (x, y) = match &self.head.terms[..] {
            [WrittenTerm::Variable(x), WrittenTerm::Variable(y)] if x != y => (x, y),
            _ => return Err(wrong(&self.head, "the head must have two different variables".into())),
        };
        let target = names
            .predicate(self.head.name.as_deref().unwrap_or_default())
            .map_err(|error| unknown(&self.head, &error))?;
        let mut inner: Vec<&String> = Vec::new();
        let mut body = Vec::new();
        for literal in &self.body {
            let mut atoms = Vec::new();
            for atom in literal {
                let mut terms = Vec::new();
                for term in &atom.terms {
                    terms.push(match term {
                        WrittenTerm::Variable(name) if name == x => Term::X,
                        WrittenTerm::Variable(name) if name == y => Term::Y,
                        WrittenTerm::Variable(name) => {
                            let place = inner.iter().position(|known| *known == name).unwrap_or_else(|| {
                                inner.push(name);
                                inner.len() - 1
                            });
                            Term::Z(place as u8 + 1)
                        }
                        WrittenTerm::Constant(name) => {
                            Term::Constant(names.entity(name).map_err(|error| unknown(atom, &error))?)
                        }
                    });
                    if inner.len() + 2 > MAX_VARIABLES {
                        let finding = format!("a rule must have at most {MAX_VARIABLES} variables");
                        return Err(wrong(atom, finding));
                    }
                }
                atoms.push(match (&atom.name, &terms[..]) {
                    (Some(name), &[a, b]) => {
                        let predicate = names.predicate(name).map_err(|error| unknown(atom, &error))?;
                        Atom::Pair(predicate, a, b)
                    }
                    (Some(name), _) => {
                        let property = names.property(name).map_err(|error| unknown(atom, &error))?;
                        Atom::Own(property, terms[0])
                    }
                    (None, &[a, Term::Constant(entity)]) => Atom::Is(a, entity),
                    (None, _) => return Err(wrong(atom, "“=” must be followed by a constant".into())),
                });
                if variables(atoms[0]) != variables(atoms[atoms.len() - 1]) {
                    let finding =
                        "the atoms of a disjunction must have the same variables, but this has others";
                    return Err(wrong(atom, finding.into()));
                }
            }
            body.push(Literal::any_of(atoms));
        }
        if self.min_groundings > 1 && inner.is_empty() {
            let finding = format!(
                "a body that must hold in at least {} ways must have a variable besides {x} and {y}, but has none",
                self.min_groundings
            );
            return Err(wrong(&self.head, finding));
        }
        Ok(Rule::new(target, &body).with_min_groundings(self.min_groundings))
    }
}

/// The variables of an atom, sorted, each once.
fn variables(atom: Atom) -> Vec<Term> {
    let (a, b) = atom.terms();
    let mut list: Vec<Term> = [a, b].into_iter().filter(|term| !matches!(term, Term::Constant(_))).collect();
    list.sort_unstable();
    list.dedup();
    list
}

impl fmt::Display for WrittenAtom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(ToString::to_string).collect();
        match &self.name {
            Some(name) => write!(f, "{}({})", quoted(name), terms.join(", ")),
            None => f.write_str(&terms.join(" = ")),
        }
    }
}

impl fmt::Display for WrittenTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenTerm::Variable(name) => f.write_str(name),
            WrittenTerm::Constant(name) => f.write_str(&quoted_constant(name)),
        }
    }
}

impl fmt::Display for WrittenRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(weight) = self.weight {
            write!(f, "{weight} :: ")?;
        }
        let body: Vec<String> = self
            .body
            .iter()
            .map(|atoms| {
                let atoms: Vec<String> = atoms.iter().map(ToString::to_string).collect();
                if atoms.len() == 1 { atoms.concat() } else { format!("({})", atoms.join(" ; ")) }
            })
            .collect();
        let body = if body.is_empty() { "true".into() } else { body.join(", ") };
        write!(f, "{} :- {}{body}.", self.head, at_least(self.min_groundings))
    }
}
