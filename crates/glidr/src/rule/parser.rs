//! Reads rules as text; docs/rules.md has the grammar.
//!
//! In: a text of rules, each perhaps with a number before it and counts behind it. Out: the [`Clause`]s as they
//! were written, which need no names to be known.

use std::path::Path;

use super::lexer::{Lexer, Position, Token};
use super::written_constraint::{WrittenConstraint, WrittenLiteral};
use super::{
    ANY_PREDICATE, Clause, Measures, Weight, WrittenAggregation, WrittenAtom, WrittenRule, WrittenTerm,
};
use crate::error::{Error, Result};

/// The most groundings that a body can be asked for.
const MAX_GROUNDINGS: f64 = 1e9;

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
    pub at: Position,
    pub finding: String,
}

impl Wrong {
    /// The error of a file at this place.
    pub fn error(self, path: &Path) -> Error {
        let (line, column) = (self.at.line, self.at.column);
        Error::Text { path: path.to_owned(), line, column, finding: self.finding }
    }
}

/// What was read, or what is wrong.
pub(super) type Read<T> = std::result::Result<T, Wrong>;

struct Reader<'t> {
    lexer: Lexer<'t>,
    ahead: Option<(Token, Position)>,
}

impl Reader<'_> {
    fn peek(&mut self) -> Read<(Token, Position)> {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexer.next()?);
        }
        Ok(self.ahead.clone().unwrap_or((Token::End, Position::default())))
    }

    fn take(&mut self) -> Read<(Token, Position)> {
        let found = self.peek()?;
        self.ahead = None;
        Ok(found)
    }

    fn expect(&mut self, sign: &'static str, after: &str) -> Read<Position> {
        match self.take()? {
            (Token::Sign(found), at) if found == sign => Ok(at),
            (found, at) => Err(Wrong {
                at,
                finding: format!("{after} must be followed by “{sign}”, but here is {found}"),
            }),
        }
    }

    fn next_is(&mut self, sign: &'static str) -> Read<bool> {
        Ok(matches!(self.peek()?, (Token::Sign(found), _) if found == sign))
    }

    fn clause(&mut self) -> Read<Clause> {
        let weight = match self.peek()? {
            (Token::Number(tail), _) => {
                self.take()?;
                let head = if self.next_is("/")? { self.second_number()? } else { tail };
                self.expect("::", "a number")?;
                Some(Weight { tail, head })
            }
            _ => None,
        };
        if self.next_is(":-")? {
            return self.headless(weight);
        }
        let head = self.atom()?;
        self.expect(":-", "the head")?;
        let (min_groundings, body) = self.body()?;
        self.expect(".", "a rule's body")?;
        let measures = self.measures()?;
        Ok(Clause::Rule(WrittenRule { weight, head, min_groundings, body, measures }))
    }

    /// What was counted of a rule, from the comment behind it; any other comment says nothing.
    fn measures(&mut self) -> Read<Option<Measures>> {
        let (comment, at) = self.lexer.comment_behind();
        Measures::from_comment(&comment).map_err(|finding| Wrong { at, finding })
    }

    fn second_number(&mut self) -> Read<f64> {
        self.expect("/", "a number")?;
        match self.take()? {
            (Token::Number(number), _) => Ok(number),
            (found, at) => {
                let finding = format!("“/” must be followed by the number for heads, but here is {found}");
                Err(Wrong { at, finding })
            }
        }
    }

    /// What has no head: a directive, or a constraint.
    fn headless(&mut self, weight: Option<Weight>) -> Read<Clause> {
        let at = self.expect(":-", "")?;
        let first = self.peek()?.0;
        let (mut at_least, mut body) = (None, Vec::new());
        loop {
            let (word, place) = self.peek()?;
            let is_word = |wanted: &str| matches!(&word, Token::Word(word) if word == wanted);
            let first = self.take()?;
            if is_word("at")
                && body.is_empty()
                && at_least.is_none()
                && matches!(self.peek()?, (Token::Word(word), _) if word == "least")
            {
                at_least = Some(self.counted_variable()?);
                continue;
            }
            let negated = is_word("not") && !self.next_is("(")?;
            let first = if negated { self.take()? } else { first };
            let is_any = matches!(&first.0, Token::Word(word) if word == ANY_PREDICATE);
            let atoms = if matches!(first.0, Token::Sign("(")) {
                self.disjunction()?
            } else {
                vec![self.body_atom_from(first)?]
            };
            body.push(WrittenLiteral { negated, is_any, atoms, at: place });
            if !self.next_is(",")? {
                break;
            }
            self.take()?;
        }
        self.expect(".", "a constraint")?;
        if weight.is_none() && matches!(&first, Token::Word(word) if word == "aggregation") {
            return directive(&body, at);
        }
        let (comment, _) = self.lexer.comment_behind();
        if weight.is_some_and(|weight| weight.tail != weight.head) {
            let finding = "a constraint must have one number before it, but has two".into();
            return Err(Wrong { at, finding });
        }
        let confidence = weight.map(|weight| weight.tail);
        Ok(Clause::Constraint(WrittenConstraint { confidence, at_least, body, comment, at }))
    }

    /// What follows `at` in a constraint: `least 2 Y:`.
    fn counted_variable(&mut self) -> Read<(u32, String)> {
        let count = self.count_after_least()?;
        let (found, at) = self.take()?;
        match term((found, at))? {
            WrittenTerm::Variable(name) => {
                self.expect(":", "the variable that is counted")?;
                Ok((count, name))
            }
            WrittenTerm::Constant(name) => {
                let finding = format!("“at least” must count a variable, but here is the constant {name}");
                Err(Wrong { at, finding })
            }
        }
    }

    /// How many groundings a body must have, and its literals.
    fn body(&mut self) -> Read<(u32, Vec<Vec<WrittenAtom>>)> {
        let (mut min_groundings, mut body) = (1, Vec::new());
        loop {
            if self.next_is("(")? {
                self.take()?;
                body.push(self.disjunction()?);
            } else {
                let first = self.take()?;
                let is_true = matches!(&first.0, Token::Word(name) | Token::Quoted(name) if name == "true");
                if is_true && !self.next_is("(")? && !self.next_is("=")? {
                    let at = first.1;
                    if !body.is_empty() || self.next_is(",")? {
                        return Err(Wrong { at, finding: "true must be the whole body, but is not".into() });
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

    /// What follows `(`: atoms up to `)`.
    fn disjunction(&mut self) -> Read<Vec<WrittenAtom>> {
        let mut atoms = vec![self.body_atom()?];
        while self.next_is(";")? {
            self.take()?;
            atoms.push(self.body_atom()?);
        }
        self.expect(")", "a disjunction")?;
        Ok(atoms)
    }

    /// What follows `at`: `least 3:`.
    fn min_groundings(&mut self) -> Read<u32> {
        let count = self.count_after_least()?;
        self.expect(":", "at least so many")?;
        Ok(count)
    }

    #[expect(clippy::cast_sign_loss, reason = "it is at least 1")]
    fn count_after_least(&mut self) -> Read<u32> {
        self.take()?;
        let (found, at) = self.take()?;
        match found {
            Token::Number(count) if count.fract() == 0.0 && (1.0..=MAX_GROUNDINGS).contains(&count) => {
                Ok(count as u32)
            }
            found => Err(Wrong {
                at,
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
    fn body_atom_from(&mut self, first: (Token, Position)) -> Read<WrittenAtom> {
        if !self.next_is("=")? {
            return self.atom_from(first);
        }
        let (left, at) = (term(first.clone())?, first.1);
        self.take()?;
        let next = self.take()?;
        match term(next.clone())? {
            right @ WrittenTerm::Constant(_) => Ok(WrittenAtom { name: None, terms: vec![left, right], at }),
            WrittenTerm::Variable(name) => Err(Wrong {
                at: next.1,
                finding: format!("“=” must be followed by a constant, but here is the variable {name}"),
            }),
        }
    }

    fn atom(&mut self) -> Read<WrittenAtom> {
        let first = self.take()?;
        self.atom_from(first)
    }

    fn atom_from(&mut self, first: (Token, Position)) -> Read<WrittenAtom> {
        let (name, at) = match first {
            (Token::Word(name) | Token::Quoted(name), at) => (name, at),
            (found, at) => {
                let finding = format!("an atom must start with a name, but here is {found}");
                return Err(Wrong { at, finding });
            }
        };
        self.expect("(", "a predicate's name")?;
        let mut terms = vec![term(self.take()?)?];
        if self.next_is(",")? {
            self.take()?;
            terms.push(term(self.take()?)?);
        }
        self.expect(")", "the arguments (one or two)")?;
        Ok(WrittenAtom { name: Some(name), terms, at })
    }
}

/// The one directive there is.
fn directive(body: &[WrittenLiteral], at: Position) -> Read<Clause> {
    let text = |term: &WrittenTerm| match term {
        WrittenTerm::Variable(text) | WrittenTerm::Constant(text) => text.clone(),
    };
    match body {
        [WrittenLiteral { negated: false, atoms, .. }] => match &atoms[..] {
            [WrittenAtom { terms, at, .. }] if terms.len() == 2 => {
                let (target, how) = (text(&terms[0]), text(&terms[1]));
                Ok(Clause::Aggregation(WrittenAggregation { target, how, at: *at }))
            }
            _ => Err(Wrong { at, finding: NO_DIRECTIVE.into() }),
        },
        _ => Err(Wrong { at, finding: NO_DIRECTIVE.into() }),
    }
}

const NO_DIRECTIVE: &str = "a directive must be aggregation(target, how), but this is another";

fn term(token: (Token, Position)) -> Read<WrittenTerm> {
    match token {
        (Token::Quoted(name), _) => Ok(WrittenTerm::Constant(name)),
        (Token::Word(word), _) if word.starts_with(|c: char| c.is_uppercase() || c == '_') => {
            Ok(WrittenTerm::Variable(word))
        }
        (Token::Word(word), _) => Ok(WrittenTerm::Constant(word)),
        (found, at) => Err(Wrong {
            at,
            finding: format!("an argument must be a variable or a constant, but here is {found}"),
        }),
    }
}
