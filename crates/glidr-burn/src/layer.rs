//! GLIDR as a differentiable layer: soft facts and weights of rules in, one score per rule out.
//!
//! In: [`SoftFacts`] of a batch of graphs, the [`SlotWeights`] of some rules, [`Queries`]. Out: a tensor
//! `[queries, rules]` through which gradients flow to facts and weights. Paper: `sec:message-passing`.

use std::sync::Arc;

use burn::backend::Dispatch;
use burn::tensor::{Device, Tensor, TensorData, activation};
use glidr::internals::infer::Slots;
use glidr::internals::rule::Filling;
use glidr::{Error, Result, Schema};

use crate::kernel::{BatchFacts, Ends, GraphQueries, Problem};
pub use crate::links::Clip;
use crate::ops::{Request, RuleOps};

/// Soft facts of a batch of graphs with equally many entities, values in [0, 1].
#[derive(Clone, Debug)]
pub struct SoftFacts {
    /// `[graphs, predicates, entities, entities]`: first argument, then second.
    pub links: Tensor<4>,
    /// `[graphs, properties, entities]`; none without properties.
    pub values: Option<Tensor<3>>,
}

impl SoftFacts {
    /// The same graphs with the predicates and properties of both, ours first: so learned predicates
    /// are mixed with known facts.
    #[must_use]
    pub fn join(self, others: SoftFacts) -> SoftFacts {
        let values = match (self.values, others.values) {
            (Some(ours), Some(theirs)) => Some(Tensor::cat(vec![ours, theirs], 1)),
            (ours, theirs) => ours.or(theirs),
        };
        SoftFacts { links: Tensor::cat(vec![self.links, others.links], 1), values }
    }
}

/// The weights of some rules over one schema.
#[derive(Clone, Debug)]
pub struct SlotWeights {
    /// The schema of all rules.
    pub schema: Schema,
    /// `[rules, slots, fillers]`, fillers in the order of [`Schema::filler`].
    pub pairs: Tensor<3>,
    /// `[rules, variables, properties + 1]`; none without properties.
    pub owns: Option<Tensor<3>>,
}

impl SlotWeights {
    /// Learned rules: softmax of logits with the shapes of the fields above.
    ///
    /// ```text
    /// w = e^θ / Σ e^θ                                          eq:glidr_prob_weights
    /// ```
    pub fn soft(schema: Schema, pairs: Tensor<3>, owns: Option<Tensor<3>>) -> Self {
        let owns = owns.map(|owns| activation::softmax(owns, 2));
        SlotWeights { schema, pairs: activation::softmax(pairs, 2), owns }
    }

    /// Fixed rules: the weights are 0 and 1 and nothing is learned.
    pub fn hard(fillings: &[Filling], device: &Device) -> Result<Self> {
        let schema = match fillings {
            [first, rest @ ..] if rest.iter().all(|other| other.schema == first.schema) => first.schema,
            [] => return Err(Error::Setting("fixed rules must be at least one, but are none".into())),
            _ => return Err(Error::Setting("fixed rules must share one schema, but these do not".into())),
        };
        let weights: Vec<Slots> = fillings.iter().map(Slots::hard).collect();
        let all = |part: fn(&Slots) -> &Vec<f32>, shape: [usize; 2]| {
            let values: Vec<f32> = weights.iter().flat_map(part).copied().collect();
            Tensor::from_data(TensorData::new(values, [fillings.len(), shape[0], shape[1]]), device)
        };
        let pairs = all(|slots| &slots.pairs, [schema.slots(), schema.fillers()]);
        let owns = (schema.properties > 0)
            .then(|| all(|slots| &slots.owns, [schema.variables, schema.own_fillers()]));
        Ok(SlotWeights { schema, pairs, owns })
    }

    /// The rules of both, ours first: so learned rules are mixed with fixed ones.
    pub fn join(self, others: SlotWeights) -> Result<SlotWeights> {
        if self.schema != others.schema {
            return Err(Error::Setting("joined rules must share one schema, but these do not".into()));
        }
        let owns = self.owns.zip(others.owns).map(|(ours, theirs)| Tensor::cat(vec![ours, theirs], 0));
        let pairs = Tensor::cat(vec![self.pairs, others.pairs], 0);
        Ok(SlotWeights { schema: self.schema, pairs, owns })
    }

    fn rules(&self) -> usize {
        self.pairs.dims()[0]
    }
}

/// A pair of entities of one graph of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPair {
    /// Which graph of the batch.
    pub graph: usize,
    /// The entity that X stands for.
    pub head: usize,
    /// The entity that Y stands for.
    pub tail: usize,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Queries {
    /// Whole graphs with no named pair, one row of scores each: all variables start unconstrained.
    Graphs,
    /// Pairs of entities, one row of scores each, in this order.
    Pairs(Vec<GraphPair>),
}

/// How far the rules hold: one row of scores per query, one column per rule.
///
/// Message passing takes `rounds` rounds (the paper's `R_max`). Wrong shapes are an error.
pub fn scores(
    weights: &SlotWeights,
    facts: &SoftFacts,
    queries: &Queries,
    rounds: usize,
) -> Result<Tensor<2>> {
    let request = check(weights, facts, queries, rounds)?;
    let device = facts.links.device();
    let values = or_nothing(facts.values.as_ref(), &device);
    let owns = or_nothing(weights.owns.as_ref(), &device);
    let scores = <Dispatch as RuleOps>::rule_scores(
        facts.links.clone().into_dispatch(),
        values.into_dispatch(),
        weights.pairs.clone().into_dispatch(),
        owns.into_dispatch(),
        request,
    );
    Ok(Tensor::from_dispatch(scores))
}

/// The framework has no optional inputs: a placeholder stands where there are no properties.
pub(crate) fn or_nothing<const D: usize>(tensor: Option<&Tensor<D>>, device: &Device) -> Tensor<D> {
    tensor.cloned().unwrap_or_else(|| Tensor::zeros([1; D], device))
}

/// Links of learned predicates from attention `[graphs, predicates, entities, entities]` and a bias per
/// predicate: sigmoid, nothing on the diagonal, nothing that is clipped (the paper: below 0.5).
///
/// With [`Clip::at`] a link that was clipped stays so unless another link of its entities brings it back;
/// [`Clip::gradient_threshold`] lets it come back by itself.
pub fn soft_links(attention: Tensor<4>, bias: Tensor<1>, clip: Clip) -> Result<Tensor<4>> {
    clip.check()?;
    let [_, predicates, rows, columns] = attention.dims();
    if bias.dims() != [predicates] {
        let finding = format!("{predicates} predicates need as many biases, but there are {:?}", bias.dims());
        return Err(Error::Setting(finding));
    }
    if rows != columns {
        let finding = format!("attention must be square in its last two places, but is {rows} × {columns}");
        return Err(Error::Setting(finding));
    }
    let (attention, bias) = (attention.into_dispatch(), bias.into_dispatch());
    let links = <Dispatch as RuleOps>::soft_links(attention, bias, clip);
    Ok(Tensor::from_dispatch(links))
}

/// Every variable's domain after the last round, for one rule and one query: which entities it may
/// stand for, and how far. `pair` is the query's pair, or none for the whole graph `graph`.
pub fn domains(
    weights: &SlotWeights,
    facts: &SoftFacts,
    rounds: usize,
    rule: usize,
    graph: usize,
    pair: Option<(usize, usize)>,
) -> Result<Vec<Vec<f32>>> {
    let queries = match pair {
        Some((head, tail)) => Queries::Pairs(vec![GraphPair { graph, head, tail }]),
        None => Queries::Graphs,
    };
    let request = check(weights, facts, &queries, rounds)?;
    if rule >= request.rules || graph >= request.queries.len() {
        let finding = format!("rule {rule} of graph {graph} is asked for, but the batch has not so many");
        return Err(Error::Setting(finding));
    }
    let plain = |tensor: &Option<Tensor<3>>| tensor.as_ref().map_or(Ok(Vec::new()), numbers);
    let (links, values) = (numbers(&facts.links)?, plain(&facts.values)?);
    let (pairs, owns) = (numbers(&weights.pairs)?, plain(&weights.owns)?);
    let problem = Problem::new(request.schema, request.rules, request.entities, rounds, &pairs, &owns);
    let batch = BatchFacts { facts: &links, values: &values, graphs: request.queries.len() };
    Ok(problem.domains(batch, graph, rule, pair.map(|(head, tail)| Ends { head, tail })))
}

/// A tensor's numbers, row by row.
pub fn numbers<const D: usize>(tensor: &Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.clone().into_data();
    data.try_to_vec()
        .map_err(|error| Error::Setting(format!("a tensor must hold numbers of f32, but: {error:?}")))
}

fn check(weights: &SlotWeights, facts: &SoftFacts, queries: &Queries, rounds: usize) -> Result<Request> {
    let schema = weights.schema;
    let links = facts.links.dims();
    let [graphs, predicates, entities, second] = links;
    ensure(graphs * entities > 0, "links need at least one graph and one entity", &links)?;
    let wanted = [graphs, schema.predicates, entities, entities];
    ensure(
        (predicates, second) == (schema.predicates, entities),
        &format!("links must have the shape {wanted:?}"),
        &links,
    )?;
    let values = facts.values.as_ref().map(Tensor::dims);
    let wanted = (schema.properties > 0).then_some([graphs, schema.properties, entities]);
    ensure(values == wanted, &format!("values of properties must have the shape {wanted:?}"), &values)?;
    request(weights, &vec![entities; graphs], queries, rounds)
}

pub(crate) fn ensure(holds: bool, what: &str, found: &dyn std::fmt::Debug) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Setting(format!("{what}, but found {found:?}"))) }
}

/// Checks all but the facts: the rules, the rounds, and queries on graphs of so many entities.
pub(crate) fn request(
    weights: &SlotWeights,
    entities: &[usize],
    queries: &Queries,
    rounds: usize,
) -> Result<Request> {
    let (schema, rules, graphs) = (weights.schema, weights.rules(), entities.len());
    ensure(rounds > 0, "rounds must be at least 1", &rounds)?;
    ensure(schema.predicates > 0, "a layer needs at least one predicate", &schema.predicates)?;
    let wanted = [rules, schema.slots(), schema.fillers()];
    let found = weights.pairs.dims();
    ensure(
        rules > 0 && found == wanted,
        &format!("weights of pair slots must have the shape {wanted:?}"),
        &found,
    )?;
    let owns = weights.owns.as_ref().map(Tensor::dims);
    let wanted = (schema.properties > 0).then_some([rules, schema.variables, schema.own_fillers()]);
    ensure(owns == wanted, &format!("weights of own slots must have the shape {wanted:?}"), &owns)?;
    let mut lists: Vec<GraphQueries> = vec![Vec::new(); graphs];
    let rows = match queries {
        Queries::Graphs => {
            lists.iter_mut().enumerate().for_each(|(graph, list)| list.push((graph, None)));
            graphs
        }
        Queries::Pairs(pairs) => {
            ensure(!pairs.is_empty(), "queries must be at least one", &pairs.len())?;
            for (row, pair) in pairs.iter().enumerate() {
                let inside = entities.get(pair.graph).is_some_and(|&n| pair.head.max(pair.tail) < n);
                ensure(inside, &format!("a pair must lie in one of {graphs} graphs"), pair)?;
                lists[pair.graph].push((row, Some(Ends { head: pair.head, tail: pair.tail })));
            }
            pairs.len()
        }
    };
    let entities = entities.iter().copied().max().unwrap_or(0);
    Ok(Request { schema, rules, entities, rounds, rows, queries: Arc::new(lists) })
}
