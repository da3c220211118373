//! Learns who is whose uncle where gender must be read from noisy numbers: network and rule end to
//! end, from labels of pairs only. Then the same with a fixed rule beside the learned one.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

mod kin;

use glidr::internals::graph::Names;
use glidr::internals::rule::RuleNames;
use kin::{Families, Target, learn, planted};

fn main() -> glidr::Result<()> {
    for (target, told) in [
        (Target::Uncle, "uncle, nothing told beforehand"),
        (Target::Guardian, "guardian, with the fixed rule target(X, Y) :- parent(X, Y)"),
    ] {
        let learned = learn(&Families::new(12, 0.6, target, 0), target, 500, 0)?;
        let (predicates, properties) = (Names::new(["parent", "sibling"]), Names::new(["read"]));
        let names = RuleNames { predicates: &predicates, properties: &properties, entities: None };
        println!("{told}\n  learned: {}", learned.rule().show(names).replacen("parent", "target", 1));
        println!("  this is the planted rule: {}", planted().contains(&learned.rule()));
        let [pairs, people] = learned.evaluate(&Families::new(100, 0.6, target, 1))?;
        println!(
            "  in new families a true pair scores above a false one in {:.1} % of cases,",
            100.0 * pairs
        );
        println!("  and a man's property is read higher than a woman's in {:.1} %", 100.0 * people);
    }
    Ok(())
}
