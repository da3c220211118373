//! SWI-Prolog: `swipl facts.pl rules.pl`, then `derived(Rule, Head, Predicate, Tail).`

use std::io::{self, Write};

use super::{Known, Program, Words, clauses, counted, free_ends};
use crate::rule::Rule;

/// An atom: in single quotes, where quotes and backslashes have a backslash and signs that cannot be
/// seen are written by their number.
pub(super) fn quoted(name: &str) -> String {
    let letter = |sign: char| match sign {
        '\'' | '\\' => format!("\\{sign}"),
        sign if sign.is_control() || matches!(sign, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
            format!("\\x{:x}\\", sign as u32)
        }
        sign => sign.into(),
    };
    format!("'{}'", name.chars().map(letter).collect::<String>())
}

pub(super) fn rules(program: &Program) -> String {
    let words = Words { names: program.names, quoted, sign: "", relation: "derived" };
    let mut text = ":- encoding(utf8).\n:- style_check(-singleton).\n\n".to_owned();
    text += "% rule(Rule, Confidence, Text).\n";
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        let shown = quoted(&rule.show(program.names));
        text += &format!("rule({}, {number:.6}, {shown}).\n", place + 1);
    }
    text += "\n% derived(Rule, Head, Predicate, Tail).\n";
    for (place, (rule, _)) in program.rules.iter().enumerate() {
        let mut body = body(rule, words).join(", ");
        if rule.min_groundings() > 1 {
            let own: Vec<String> = counted(rule)[2..].iter().map(|&term| words.term(term)).collect();
            body = format!(
                "aggregate(count, way({}), ( {body} ), Ways), Ways >= {}",
                own.join(", "),
                rule.min_groundings()
            );
        }
        text += &format!("{} :- {body}.\n", words.head(place + 1, rule));
    }
    text
}

/// The goals of a rule's body.
pub(super) fn body(rule: &Rule, words: Words) -> Vec<String> {
    let mut body: Vec<String> = Vec::new();
    for literal in rule.body() {
        let atoms: Vec<String> = literal.atoms().iter().map(|atom| words.atom(*atom)).collect();
        body.push(if atoms.len() == 1 { atoms.concat() } else { format!("( {} )", atoms.join(" ; ")) });
    }
    body.extend(free_ends(rule).into_iter().map(|end| format!("entity({})", words.term(end))));
    body
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, ":- encoding(utf8).\n:- dynamic fact/3, has/2, entity/1.\n")?;
    clauses::facts(known, out, quoted, ".")
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn an_atom_keeps_every_sign() {
        assert_eq!(quoted(r"it's a \ é"), r"'it\'s a \\ é'");
        assert_eq!(quoted("a\rb"), r"'a\xd\b'");
    }

    #[test]
    fn a_disjunction_stands_in_brackets_and_a_target_is_derived_apart() {
        let text = with_hostile_rule(rules);
        assert!(text.contains(r"derived(1, X, 'X', Y) :- fact(X, 'it\'s', Z1), ( "), "{text}");
        assert!(
            text.contains(r#" ; fact(Z1, 'a "b" \\', X) ), ( "#)
                || text.contains(r#"( fact(Z1, 'a "b" \\', X) ; "#),
            "{text}"
        );
        assert!(text.contains("entity(Y)."), "{text}");
    }
}
