//! The code of docs/guide/5-from-rust.md.

#![expect(clippy::print_stdout, reason = "an example prints")]

use glidr::{Dataset, Evaluation, Learner, Method};

fn main() -> glidr::Result<()> {
    let data = Dataset::families(0); // or Dataset::open("my-graph", 0)?
    let learner = Learner { method: Method::Search, ..Learner::default() };
    let model = learner.fit(&data)?;
    for rule in model.rules("wife")?.take(3) {
        println!("{rule}");
    }
    let reasoner = model.on(&data)?;
    for answer in reasoner.predict("wife", Some("Christine"), None, 3)? {
        let why = reasoner.explain("wife", "Christine", &answer.entity)?;
        let because = why.best_rule().map_or("no rule", |best| &best.rule);
        println!("{:.2}  {}  because {because}", answer.score, answer.entity);
    }
    let report = Evaluation::default().run(reasoner.predictor(), &data, &())?;
    println!("MRR {:.3}", report.all.mrr);
    let folder = std::env::temp_dir().join("families.glidr");
    model.save(folder)
}
