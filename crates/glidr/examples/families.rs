//! Learns two predicates of the built-in families and prints their rules.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use glidr::internals::model::Extraction;
use glidr::internals::predict::Soft;
use glidr::{Dataset, Evaluation, Training};

fn main() -> glidr::Result<()> {
    let families = Dataset::families(0);
    let targets = vec!["wife".to_owned(), "uncle".to_owned()];
    let model = Training { steps: 300, targets, ..Training::default() }.run(&families)?;
    for ensemble in &model.ensembles {
        for (rule, weight) in ensemble.extract(&model.schema, Extraction::TopP(0.25)) {
            println!("{weight:.2}  {}", rule.show(model.names()));
        }
    }
    let ranked = Evaluation::default().run(&Soft::new(&model, &families)?, &families, &())?;
    println!("MRR {:.3} over {} queries", ranked.all.mrr, ranked.all.queries);
    Ok(())
}
