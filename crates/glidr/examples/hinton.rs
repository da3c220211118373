//! Hinton's two families over five seeds: how well held-out facts are ranked, and, with nothing
//! held out of the background, on how many predicates every true pair scores above every false one.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

use glidr::internals::graph::Entity;
use glidr::internals::model::Positives;
use glidr::internals::predict::{MessagePassing, Soft, SoftTarget};
use glidr::{Background, Dataset, Evaluation, Split, Training};

fn main() -> glidr::Result<()> {
    println!("the paper's settings");
    show(&Training::default())?;
    println!("the joint loss, from all known facts (--joint-loss 1 --positives all)");
    show(&Training { joint_loss: 1.0, positives: Positives::All, ..Training::default() })
}

fn show(training: &Training) -> glidr::Result<()> {
    println!("seed  MRR    Hits@1  Hits@10  predicates told apart  pairs told apart");
    for seed in 0..5 {
        let data = Dataset::families(seed);
        let model = Training { seed, ..training.clone() }.run(&data)?;
        let ranked =
            Evaluation { seed, ..Evaluation::default() }.run(&Soft::new(&model, &data)?, &data, &())?.all;
        let view = model.view(&data, Background::All)?;
        let people = data.names().entities.len() as u32;
        let pairs: Vec<_> =
            (0..people).flat_map(|h| (0..people).map(move |t| (Entity(h), Entity(t)))).collect();
        let (mut perfect, mut right, mut all) = (0, 0, 0);
        for ensemble in &model.ensembles {
            let scores =
                SoftTarget::new(ensemble, model.schema, view.graph.adjacency(), MessagePassing::of(&model))
                    .pair_scores(&pairs);
            let facts = Split::ALL.iter().flat_map(|&split| data.split(split));
            let facts: Vec<_> = facts.filter(|fact| fact.predicate == ensemble.target).collect();
            let holds = |pair: &(Entity, Entity)| facts.iter().any(|fact| (fact.head, fact.tail) == *pair);
            let (mut yes, mut no) = (Vec::new(), Vec::new());
            for (pair, score) in pairs.iter().zip(scores) {
                if holds(pair) { yes.push(score) } else { no.push(score) }
            }
            let most = no.iter().copied().fold(0.0, f32::max);
            perfect += usize::from(yes.iter().all(|&score| score > most));
            // The best single threshold, one that admits nothing among them: pairs on its right side.
            let at = |bar: f32| {
                yes.iter().filter(|s| **s >= bar).count() + no.iter().filter(|s| **s < bar).count()
            };
            right += yes.iter().copied().chain([f32::INFINITY]).map(at).max().unwrap_or_default();
            all += pairs.len();
        }
        println!(
            "{seed}     {:.3}  {:5.1}   {:5.1}    {perfect} of {}               {:.2} %",
            ranked.mrr,
            100.0 * ranked.hits1,
            100.0 * ranked.hits10,
            model.ensembles.len(),
            100.0 * right as f64 / all as f64
        );
    }
    Ok(())
}
