//! Answer set programs for clingo: `clingo facts.lp rules.lp`.

use std::io::{self, Write};

use super::clauses::Counted;
use super::{Known, Program, Words, clauses};

/// A string: in double quotes, where quotes and backslashes have a backslash.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

pub(super) fn rules(program: &Program) -> String {
    let words = Words { names: program.names, quoted, sign: "", relation: "derived" };
    let mut text = "% rule(Rule, Confidence, Text): numbers with a point are texts here.\n".to_owned();
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        let shown = quoted(&rule.show(program.names));
        text += &format!("rule({}, \"{number:.6}\", {shown}).\n", place + 1);
    }
    text += "\n% derived(Rule, Head, Predicate, Tail).\n";
    for (place, (rule, _)) in program.rules.iter().enumerate() {
        text += &words.clauses(place + 1, rule, ".", count);
    }
    text + "\n#defined fact/3. #defined has/2. #defined entity/1.\n#show derived/4.\n"
}

fn count(counted: &Counted) -> String {
    let own = counted.own.join(", ");
    let (any, way) = (counted.any(), counted.way(&own));
    format!("{} :- {any}, {} <= #count {{ {own} : {way} }}", counted.head, counted.least)
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    clauses::facts(known, out, quoted, ".")
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn a_string_keeps_quotes_and_backslashes() {
        assert_eq!(quoted(r#"it's a "b" \"#), r#""it's a \"b\" \\""#);
    }

    #[test]
    fn a_disjunction_is_a_relation_of_its_own() {
        let text = with_hostile_rule(rules);
        assert!(text.contains(r#"either(1, 2, X, Z1) :- fact(Z1, "a \"b\" \\", X)."#), "{text}");
        assert!(text.contains(r#"either(1, 3, Z1, Z1) :- has(Z1, "'; DROP TABLE fact; --")."#), "{text}");
        assert!(text.contains("either(1, 3, Z1, Z1), entity(Y)."), "{text}");
    }
}
