//! OWL 2 axioms in Turtle; a comment for what OWL cannot say.
//!
//! OWL asks for no distinct names: a functional predicate makes two ends one, unless they are said to differ. And what is
//! asymmetric is irreflexive there.

use super::super::comment;
use super::super::sparql::quoted;
use super::sparql::predicate;
use super::{ConstraintProgram, asymmetric};
use crate::constraint::{Denial, Role};
use crate::graph::{Direction, Vocabulary};

pub(super) fn axioms(program: &ConstraintProgram) -> String {
    let mut text = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n".to_owned();
    text += "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n";
    text += "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n\n";
    let mut declared: Vec<String> = Vec::new();
    for (_, constraint) in program.numbered() {
        let named = constraint.denial.named();
        let all = (0..program.names.predicates.len() as u32).map(crate::graph::Predicate);
        declared.extend(
            all.filter(|&of| of == named.target || named.uses(of)).map(|of| predicate(of, program.names)),
        );
    }
    declared.sort();
    declared.dedup();
    text += &declared.iter().map(|name| format!("{name} a owl:ObjectProperty .\n")).collect::<String>();
    for (_, constraint) in program.numbered() {
        let shown = comment(&constraint.show(program.names));
        let axiom = axiom(&constraint.denial, program.names);
        let axiom = axiom.map_or_else(|| "# OWL cannot say this.".into(), |axiom| format!("{axiom} ."));
        text += &format!("\n# {:.6} {shown}\n{axiom}\n", constraint.confidence);
    }
    text
}

fn axiom(denial: &Denial, names: &Vocabulary) -> Option<String> {
    let p = predicate(denial.targets()[0], names);
    let some = |property: &str| {
        format!("[ a owl:Restriction ; owl:onProperty {property} ; owl:someValuesFrom owl:Thing ]")
    };
    Some(match denial {
        Denial::Irreflexive(_) => format!("{p} a owl:IrreflexiveProperty"),
        Denial::Body(_) if asymmetric(denial).is_some() => format!("{p} a owl:AsymmetricProperty"),
        Denial::Body(_) => {
            let (_, (other, forward)) = denial.as_disjoint()?;
            let other = predicate(other, names);
            let other = if forward { other } else { format!("[ owl:inverseOf {other} ]") };
            format!("{p} owl:propertyDisjointWith {other}")
        }
        Denial::AtLeast { counted: Direction::Tail, count: 2, .. } => format!("{p} a owl:FunctionalProperty"),
        Denial::AtLeast { counted: Direction::Head, count: 2, .. } => {
            format!("{p} a owl:InverseFunctionalProperty")
        }
        Denial::AtLeast { counted, count, .. } => {
            let of = if *counted == Direction::Tail { p } else { format!("[ owl:inverseOf {p} ]") };
            let most = count.saturating_sub(1);
            format!(
                "owl:Thing rdfs:subClassOf [ a owl:Restriction ; owl:onProperty {of} ; \
                 owl:maxCardinality \"{most}\"^^xsd:nonNegativeInteger ]"
            )
        }
        Denial::End { end, role, .. } => {
            let kind = match *role {
                Role::Own(property) => quoted("property", names.properties.name(property)),
                Role::Head(of) => some(&predicate(of, names)),
                Role::Tail(of) => some(&format!("[ owl:inverseOf {} ]", predicate(of, names))),
            };
            let at = if *end == Direction::Head { "rdfs:domain" } else { "rdfs:range" };
            format!("{p} {at} {kind}")
        }
        Denial::Linked { .. } => return None,
    })
}
