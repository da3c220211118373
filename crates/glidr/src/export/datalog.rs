//! Datalog for Nemo: `nmo` or `import nmo_python` on facts and rules together.

use std::io::{self, Write};

use super::clauses::Counted;
use super::{Known, Program, Words, clauses, percent};

/// A string. Nemo knows no escapes inside quotes, so a name that holds a quote, a backslash or a sign
/// that cannot be seen is written as %XX and decoded by the engine.
pub(super) fn quoted(name: &str) -> String {
    let odd = |sign: char| sign.is_control() || matches!(sign, '"' | '\\');
    if name.contains(odd) { format!("URIDECODE(\"{}\")", percent(name)) } else { format!("\"{name}\"") }
}

pub(super) fn rules(program: &Program) -> String {
    let words = Words { names: program.names, quoted, sign: "?", relation: "derived" };
    let mut text = "% rule(Rule, Confidence, Text) .\n".to_owned();
    for (place, (rule, number)) in program.rules.iter().enumerate() {
        let shown = quoted(&rule.show(program.names));
        text += &format!("rule({}, {number:.6}, {shown}) .\n", place + 1);
    }
    text += "\n% derived(Rule, Head, Predicate, Tail) .\n";
    for (place, (rule, _)) in program.rules.iter().enumerate() {
        text += &words.clauses(place + 1, rule, " .", count);
    }
    text + "\n@output derived .\n"
}

/// Ways are counted in a relation of their own.
fn count(counted: &Counted) -> String {
    let Counted { head, ends, own, least } = counted;
    let own = own.join(", ");
    let way = counted.way(&own);
    format!("ways({ends}, #count({own})) :- {way} .\n{head} :- ways({ends}, ?Ways), ?Ways >= {least}")
}

pub(super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    clauses::facts(known, out, quoted, " .")
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;

    #[test]
    fn a_string_that_cannot_be_quoted_is_decoded() {
        assert_eq!(quoted("it's 50% é"), "\"it's 50% é\"");
        assert_eq!(quoted(r#"a "b""#), r#"URIDECODE("a%20%22b%22")"#);
        assert_eq!(quoted(r"a\"), r#"URIDECODE("a%5C")"#);
    }

    #[test]
    fn a_disjunction_is_a_relation_of_its_own() {
        let text = with_hostile_rule(rules);
        assert!(text.contains("either(1, 2, ?X, ?Z1) :- fact(?X, \"漢字 😀 é\", ?Z1) .\n"), "{text}");
        assert!(text.contains("derived(1, ?X, \"X\", ?Y) :- fact(?X, \"it's\", ?Z1), "), "{text}");
        assert!(text.contains("either(1, 3, ?Z1, ?Z1), entity(?Y) .\n"), "{text}");
    }
}
