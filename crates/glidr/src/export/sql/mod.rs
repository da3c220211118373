//! SQL that `SQLite`, `DuckDB`, Postgres and Spark SQL read alike.
//!
//! Rules are views over a table of facts. A script can be run again, and deletes nothing: facts are added where they
//! are new, and what is dropped is a view.

mod body;
mod fact_table;
mod facts;
mod text;

pub use fact_table::FactTable;

pub(super) use self::facts::facts;
use super::{Program, comment};
pub(super) use body::Query;
pub(super) use text::quoted;

/// Queries of one UNION: `SQLite` takes 500.
const QUERIES: usize = 100;

pub(super) fn rules(program: &Program, table: &FactTable) -> String {
    measures(program) + "\n" + &derived(program, table)
}

/// The view `rule`: number, confidence, text.
fn measures(program: &Program) -> String {
    let row = |(place, (rule, number)): (usize, &(crate::rule::Rule, f64))| {
        format!("({}, {number:.6}, {})", place + 1, quoted(&rule.show(program.names)))
    };
    let rows: Vec<String> = program.rules.iter().enumerate().map(row).collect();
    let content = if rows.is_empty() {
        "SELECT 0, 0.0, '' WHERE 1 = 0".into()
    } else {
        format!("VALUES\n{}", rows.join(",\n"))
    };
    format!("DROP VIEW IF EXISTS rule;\nCREATE VIEW rule (number, confidence, text) AS {content};\n")
}

/// The view `derived`: the new facts of every rule. A fact about an entity and itself is none where the table has no
/// such fact of the predicate.
fn derived(program: &Program, table: &FactTable) -> String {
    let query = Query { names: program.names, table };
    let rules = program.rules.iter().enumerate().map(|(place, (rule, _))| {
        format!("-- {}\n{}", comment(&rule.show(program.names)), query.rule(place + 1, rule))
    });
    let (name, head, predicate, tail) = (&table.name, table.head(), table.predicate(), table.tail());
    format!(
        "DROP VIEW IF EXISTS derived;\nCREATE VIEW derived AS\n\
         SELECT f.rule, f.head, f.predicate, f.tail\nFROM (\n{}\n) f\n\
         WHERE NOT EXISTS (SELECT 1 FROM {name} k WHERE k.{head} = f.head AND k.{predicate} = f.predicate \
         AND k.{tail} = f.tail)\n  \
         AND (f.head <> f.tail OR f.predicate IN (SELECT s.{predicate} FROM {name} s WHERE s.{head} = s.{tail}));\n",
        union(&rules.collect::<Vec<_>>())
    )
}

/// Queries as one; many are put in groups.
pub(super) fn union(queries: &[String]) -> String {
    if queries.is_empty() {
        return "SELECT 0 AS rule, '' AS head, '' AS predicate, '' AS tail WHERE 1 = 0".into();
    }
    if queries.len() <= QUERIES {
        return queries.join("\nUNION ALL\n");
    }
    let group = |(number, group): (usize, &[String])| {
        format!("SELECT u{0}.* FROM (\n{1}\n) u{0}", number + 1, group.join("\nUNION ALL\n"))
    };
    union(&queries.chunks(QUERIES).enumerate().map(group).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_hostile_rule;
    use super::*;
    use crate::graph::{Names, Predicate, Property};
    use crate::rule::{Atom, Literal, Rule, RuleNames, Term};

    /// The script of a rule over predicates *uncle*, *mother* and *father* and the property *male*.
    fn script(body: &[Literal], table: &FactTable) -> String {
        let (predicates, properties) = (Names::new(["uncle", "mother", "father"]), Names::new(["male"]));
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: None };
        rules(&Program { rules: &[(Rule::new(Predicate(0), body), 0.5)], names }, table)
    }

    fn mine() -> FactTable {
        FactTable::parse("my triples", "subject,verb,object").expect("sound names")
    }

    #[test]
    fn atoms_of_other_shapes_are_a_union() {
        let text = with_hostile_rule(|program| rules(program, &FactTable::default()));
        assert!(text.contains("SELECT t.entity AS z1 FROM has t WHERE t.property = '''; DROP"), "{text}");
        assert!(text.contains(" UNION SELECT "), "{text}");
        assert!(
            text.contains(
                r#"SELECT t.tail AS x, t.head AS z1 FROM fact t WHERE t.predicate = ('a "b" ' || substr"#
            ),
            "{text}"
        );
        assert!(text.contains("entity y\nWHERE "), "{text}");
    }

    #[test]
    fn atoms_that_differ_in_names_alone_are_one_table() {
        let either = |p| Atom::Pair(Predicate(p), Term::X, Term::Y);
        let text = script(&[Literal::any_of(vec![either(1), either(2)])], &FactTable::default());
        assert!(
            text.contains(
                "SELECT DISTINCT 1 AS rule, l1.head AS head, 'uncle' AS predicate, l1.tail AS tail\nFROM fact l1\n\
                 WHERE (l1.predicate = 'mother' OR l1.predicate = 'father')\n) f\n"
            ),
            "{text}"
        );
        assert!(text.contains("\n(1, 0.500000, 'uncle(X, Y) :- (mother(X, Y) ; father(X, Y)).')"), "{text}");
    }

    #[test]
    fn a_table_of_ones_own_is_the_only_one() {
        let body = [
            Literal::any_of(vec![Atom::Pair(Predicate(1), Term::X, Term::Z(1))]),
            Literal::any_of(vec![Atom::Own(Property(0), Term::X)]),
        ];
        let text = script(&body, &mine());
        for part in [
            "FROM \"my triples\" l1, \"my triples\" l2, (SELECT t.subject AS name FROM \"my triples\" t UNION SELECT",
            "l1.verb = 'male'\n  AND l1.object IS NULL\n  AND l2.verb = 'mother'\n  AND l2.subject = l1.subject",
            "\n  AND l2.object IS NOT NULL\n",
            "FROM \"my triples\" k WHERE k.subject = f.head AND k.verb = f.predicate AND k.object = f.tail)",
        ] {
            assert!(text.contains(part), "{part} is missing from:\n{text}");
        }
        assert!(!text.contains("FROM has") && !text.contains(" entity "), "{text}");
    }

    #[test]
    fn many_rules_are_in_groups_that_every_engine_takes() {
        let queries: Vec<String> = (0..250).map(|number| format!("q{number}")).collect();
        let text = union(&queries);
        assert_eq!(text.matches("UNION ALL").count(), 249);
        assert_eq!(text.matches(") u").count(), 3);
        assert!(text.starts_with("SELECT u1.* FROM (\nq0\nUNION ALL\nq1\n"), "{text}");
    }
}
