//! Learned predicates: attention between the entities of a graph, and rules over the links it makes.
//!
//! In: what describes the entities, a row each or one for all that are alike. Out: scores of rules, or
//! [`SoftFacts`]. The paper: attention with a sigmoid instead of softmax, zero diagonals, values below 0.5
//! clipped to zero.

use std::sync::Arc;

use burn::backend::Dispatch;
use burn::tensor::{Device, Int, Tensor, TensorData};
use glidr::{Error, Result};

use crate::kernel::{GraphRows, Sizes};
use crate::layer::{self, Queries, SlotWeights, SoftFacts, ensure};
use crate::links::Clip;
use crate::ops::{LinkedRequest, RuleOps};

/// Which row describes each entity of each graph of a batch.
///
/// Entities of a graph that share a row are alike: nothing tells them apart, so their domains are equal
/// throughout, and the work is done once for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    of: Arc<Vec<Vec<usize>>>,
    by_graph: Arc<Vec<GraphRows>>,
}

impl Rows {
    /// The row of every entity, graph by graph. Every graph has rows of its own, and rows are numbered in the
    /// order in which they are met: `[[0, 1, 0], [2, 2]]`.
    pub fn new(of: Vec<Vec<usize>>) -> Result<Self> {
        let (mut by_graph, mut next) = (Vec::with_capacity(of.len()), 0);
        for (graph, entities) in of.iter().enumerate() {
            let mut rows = GraphRows { first: next, counts: Vec::new() };
            ensure(!entities.is_empty(), "a graph must have at least one entity", &graph)?;
            for &row in entities {
                if row == next {
                    rows.counts.push(0.0);
                    next += 1;
                }
                let count = row.checked_sub(rows.first).and_then(|place| rows.counts.get_mut(place));
                *count.ok_or_else(|| {
                    let met = format!("rows must be numbered as they are met, {next} next in graph {graph}");
                    Error::Setting(format!("{met}, but found {row}"))
                })? += 1.0;
            }
            by_graph.push(rows);
        }
        ensure(!of.is_empty(), "a batch must have at least one graph", &of.len())?;
        Ok(Rows { of: Arc::new(of), by_graph: Arc::new(by_graph) })
    }

    /// A row for every entity.
    pub fn each(graphs: usize, entities: usize) -> Result<Self> {
        Rows::new((0..graphs).map(|graph| (graph * entities..(graph + 1) * entities).collect()).collect())
    }

    /// How many graphs there are.
    pub fn graphs(&self) -> usize {
        self.of.len()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.by_graph.last().map_or(0, |rows| rows.first + rows.counts.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of every entity of every graph, one after another.
    pub fn of_all(&self, device: &Device) -> Tensor<1, Int> {
        let all: Vec<i64> = self.of.iter().flatten().map(|&row| row.cast_signed() as i64).collect();
        let count = all.len();
        Tensor::from_data(TensorData::new(all, [count]), device)
    }

    /// The entities of a graph, the same number in all.
    fn entities(&self) -> Result<usize> {
        let entities = self.of.first().map_or(0, Vec::len);
        let equal = self.of.iter().all(|graph| graph.len() == entities);
        ensure(equal, "tables of facts need graphs of equally many entities", &self.of)?;
        Ok(entities)
    }
}

/// What the facts of learned predicates are made of.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Which row describes which entity.
    pub rows: Rows,
    /// `[rows, predicates, key]`: what an entity asks for as the first argument.
    pub queries: Tensor<3>,
    /// The same shape: what it answers as the second.
    pub keys: Tensor<3>,
    /// `[predicates]`.
    pub bias: Tensor<1>,
    /// Which links are none.
    pub clip: Clip,
    /// `[rows, properties]`; none without properties.
    pub values: Option<Tensor<2>>,
}

impl Attention {
    /// q·k / √key of every two entities, `[graphs, predicates, entities, entities]`: the logits of
    /// links, without the bias.
    pub fn logits(&self) -> Result<Tensor<4>> {
        let [_, predicates, key] = self.queries.dims();
        let all = [self.rows.graphs(), self.rows.entities()?, predicates, key];
        let rows = self.rows.of_all(&self.queries.device());
        let of_all = |described: &Tensor<3>| described.clone().select(0, rows.clone()).reshape(all);
        let queries = of_all(&self.queries) / (key as f32).sqrt();
        Ok(queries.permute([0, 2, 1, 3]).matmul(of_all(&self.keys).permute([0, 2, 3, 1])))
    }

    /// The soft facts, all links made of q·k / √key by [`layer::soft_links`].
    pub fn facts(&self) -> Result<SoftFacts> {
        self.check()?;
        let links = layer::soft_links(self.logits()?, self.bias.clone(), self.clip)?;
        let (graphs, entities) = (self.rows.graphs(), self.rows.entities()?);
        let values = self.values.as_ref().map(|values| {
            let (properties, rows) = (values.dims()[1], self.rows.of_all(&values.device()));
            values.clone().select(0, rows).reshape([graphs, entities, properties]).swap_dims(1, 2)
        });
        Ok(SoftFacts { links, values })
    }

    /// Checks the shapes; returns the numbers of a key.
    fn check(&self) -> Result<usize> {
        let [rows, predicates, key] = self.queries.dims();
        if self.keys.dims() != self.queries.dims() || self.bias.dims() != [predicates] || key == 0 {
            return Err(Error::Setting(format!(
                "queries and keys must have one shape and the bias a number for each predicate, but found {:?}, {:?} and {:?}",
                self.queries.dims(),
                self.keys.dims(),
                self.bias.dims()
            )));
        }
        ensure(rows == self.rows.len(), &format!("queries must have {} rows", self.rows.len()), &rows)?;
        let values = self.values.as_ref().map_or(rows, |values| values.dims()[0]);
        ensure(values == rows, &format!("values of properties must have {rows} rows"), &values)?;
        self.clip.check()?;
        Ok(key)
    }
}

/// How far the rules hold over the links of attention: what [`layer::scores`] gives for [`Attention::facts`],
/// but clipped links are never made, and entities that are alike are worked on once. Sums are taken in
/// another order, so numbers agree to rounding.
pub fn linked_scores(
    weights: &SlotWeights,
    attention: &Attention,
    queries: &Queries,
    rounds: usize,
) -> Result<Tensor<2>> {
    let key = attention.check()?;
    let (schema, rows) = (weights.schema, &attention.rows);
    let predicates = attention.queries.dims()[1];
    ensure(
        predicates == schema.predicates,
        "queries need a key for each predicate of the rules",
        &predicates,
    )?;
    let found = attention.values.as_ref().map(|values| values.dims()[1]);
    let wanted = (schema.properties > 0).then_some(schema.properties);
    ensure(found == wanted, &format!("values must be there for {wanted:?} properties"), &found)?;
    let entities: Vec<usize> = rows.of.iter().map(Vec::len).collect();
    let request = layer::request(weights, &entities, queries, rounds)?;
    if let Queries::Pairs(pairs) = queries {
        let apart =
            |pair: &&layer::GraphPair| rows.by_graph[pair.graph].counts.iter().all(|count| *count == 1.0);
        let alike = pairs.iter().find(|pair| !apart(pair));
        ensure(alike.is_none(), "a pair can be named only where every entity has a row of its own", &alike)?;
    }
    let device = attention.queries.device();
    let scores = <Dispatch as RuleOps>::linked_scores(
        attention.queries.clone().into_dispatch(),
        attention.keys.clone().into_dispatch(),
        attention.bias.clone().into_dispatch(),
        layer::or_nothing(attention.values.as_ref(), &device).into_dispatch(),
        weights.pairs.clone().into_dispatch(),
        layer::or_nothing(weights.owns.as_ref(), &device).into_dispatch(),
        LinkedRequest {
            plain: request,
            rows: rows.by_graph.clone(),
            sizes: Sizes { key, clip: attention.clip },
        },
    );
    Ok(Tensor::from_dispatch(scores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_and_refused_where_they_are_out_of_order() {
        let rows = Rows::new(vec![vec![0, 1, 0, 0], vec![2, 2]]).expect("in order");
        assert_eq!((rows.graphs(), rows.len(), rows.is_empty()), (2, 3, false));
        assert_eq!(rows.by_graph[0], GraphRows { first: 0, counts: vec![3.0, 1.0] });
        assert_eq!(rows.by_graph[1], GraphRows { first: 2, counts: vec![2.0] });
        assert_eq!(Rows::each(2, 1).expect("in order"), Rows::new(vec![vec![0], vec![1]]).expect("in order"));
        let refused = |of| Rows::new(of).expect_err("out of order").to_string();
        assert_eq!(
            refused(vec![vec![0, 2]]),
            "rows must be numbered as they are met, 1 next in graph 0, but found 2"
        );
        let of_another = refused(vec![vec![0], vec![1, 0]]);
        assert_eq!(of_another, "rows must be numbered as they are met, 2 next in graph 1, but found 0");
        assert!(refused(vec![vec![]]).starts_with("a graph must have at least one entity"));
        assert!(refused(vec![]).starts_with("a batch must have at least one graph"));
    }
}
