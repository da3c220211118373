//! The slow twin: the layer as a plain composition of the framework's own operations.

use burn::tensor::Tensor;
use glidr_burn::layer::{Queries, SlotWeights, SoftFacts};

/// Scores `[queries, rules]` by the equations in order, one rule and one message at a time.
pub fn plain_scores(weights: &SlotWeights, facts: &SoftFacts, queries: &Queries, rounds: usize) -> Tensor<2> {
    let (schema, device) = (weights.schema, facts.links.device());
    let [graphs, predicates, entities, _] = facts.links.dims();
    let (n, rules) = (schema.variables, weights.pairs.dims()[0]);
    // One row of facts per query.
    let asked: Vec<(usize, Option<(usize, usize)>)> = match queries {
        Queries::Graphs => (0..graphs).map(|graph| (graph, None)).collect(),
        Queries::Pairs(pairs) => {
            pairs.iter().map(|pair| (pair.graph, Some((pair.head, pair.tail)))).collect()
        }
    };
    let of_query = |query: usize| asked[query].0;
    let links: Vec<Tensor<4>> =
        (0..asked.len()).map(|query| facts.links.clone().narrow(0, of_query(query), 1)).collect();
    let links = Tensor::cat(links, 0);
    let values = facts.values.clone().map(|values| {
        let rows: Vec<Tensor<3>> =
            (0..asked.len()).map(|query| values.clone().narrow(0, of_query(query), 1)).collect();
        Tensor::cat(rows, 0)
    });
    let rows = asked.len();
    let mut columns = Vec::new();
    for rule in 0..rules {
        let pairs: Tensor<2> = weights.pairs.clone().narrow(0, rule, 1).squeeze_dim(0);
        let weight = |slot: usize, filler: usize| -> Tensor<1> {
            pairs.clone().narrow(0, slot, 1).narrow(1, filler, 1).reshape([1])
        };
        let matrix = |slot: usize| {
            let mut sum = Tensor::<3>::zeros([rows, entities, entities], &device);
            for p in 0..predicates {
                let fact: Tensor<3> = links.clone().narrow(1, p, 1).squeeze_dim(1);
                sum = sum + fact.clone() * weight(slot, p).unsqueeze::<3>();
                sum = sum + fact.swap_dims(1, 2) * weight(slot, predicates + p).unsqueeze::<3>();
            }
            sum
        };
        let matrices: Vec<Tensor<3>> = (0..schema.slots()).map(matrix).collect();
        let mut domains: Vec<Tensor<2>> = (0..n)
            .map(|variable| {
                let mut mask = vec![1.0f32; rows * entities];
                for (query, (_, ends)) in asked.iter().enumerate() {
                    let end = ends.and_then(|(head, tail)| match variable {
                        0 => Some(head),
                        v if v + 1 == n => Some(tail),
                        _ => None,
                    });
                    if let Some(end) = end {
                        mask[query * entities..][..entities].fill(0.0);
                        mask[query * entities + end] = 1.0;
                    }
                }
                let data = burn::tensor::TensorData::new(mask, [rows, entities]);
                let mut start = Tensor::<2>::from_data(data, &device);
                if let (Some(values), Some(owns)) = (&values, &weights.owns) {
                    let own: Tensor<1> = owns.clone().narrow(0, rule, 1).narrow(1, variable, 1).flatten(0, 2);
                    let mut told = own.clone().narrow(0, schema.properties, 1).unsqueeze::<2>();
                    for k in 0..schema.properties {
                        let value: Tensor<2> = values.clone().narrow(1, k, 1).squeeze_dim(1);
                        told = told + value * own.clone().narrow(0, k, 1).unsqueeze::<2>();
                    }
                    start = start.clone() * told.clamp_max(1.0);
                }
                start
            })
            .collect();
        for round in 0..rounds {
            let order: Vec<usize> = if round % 2 == 0 { (0..n).collect() } else { (0..n).rev().collect() };
            for step in 1..n {
                let receiver = order[step];
                for &sender in &order[..step] {
                    let slot = schema.slot(sender.min(receiver), sender.max(receiver));
                    let matrix = matrices[slot].clone();
                    // Messages from i to j are Mᵀφ where M is read by its first argument.
                    let matrix = if sender < receiver { matrix.swap_dims(1, 2) } else { matrix };
                    let sent = matrix.matmul(domains[sender].clone().unsqueeze_dim::<3>(2));
                    let sent: Tensor<2> = sent.squeeze_dim(2);
                    let message = sent + weight(slot, schema.fillers() - 1).unsqueeze::<2>();
                    domains[receiver] = domains[receiver].clone().min_pair(message);
                }
            }
        }
        let most: Vec<Tensor<2>> = domains.into_iter().map(|domain| domain.max_dim(1)).collect();
        columns.push(Tensor::cat(most, 1).min_dim(1));
    }
    Tensor::cat(columns, 1)
}
