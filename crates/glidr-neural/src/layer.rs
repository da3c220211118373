//! GLIDR as a differentiable layer: soft facts and weights of rules in, one score per rule out.
//!
//! In: [`SoftFacts`] of a batch of graphs, the [`RuleWeights`] of some rules, [`Queries`]. Out: a tensor
//! `[queries, rules]` through which gradients flow to facts and weights. Paper: `sec:message-passing`.

use std::sync::Arc;

use burn::backend::Dispatch;
use burn::tensor::{Device, Tensor, TensorData, activation};
use glidr::infer::Slots;
use glidr::rule::Filling;
use glidr::{Error, Result, Schema};

use crate::kernel::{BatchFacts, Ends, GraphQueries, Problem, Sizes};
use crate::ops::{Asked, LinkedAsked, RuleOps};

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
pub struct RuleWeights {
    /// The schema of all rules.
    pub schema: Schema,
    /// `[rules, slots, fillers]`, fillers in the order of [`Schema::filler`].
    pub pairs: Tensor<3>,
    /// `[rules, variables, properties + 1]`; none without properties.
    pub owns: Option<Tensor<3>>,
}

impl RuleWeights {
    /// Learned rules: softmax of logits with the shapes of the fields above.
    ///
    /// ```text
    /// w = e^θ / Σ e^θ                                          eq:glidr_prob_weights
    /// ```
    pub fn soft(schema: Schema, pairs: Tensor<3>, owns: Option<Tensor<3>>) -> Self {
        let owns = owns.map(|owns| activation::softmax(owns, 2));
        RuleWeights { schema, pairs: activation::softmax(pairs, 2), owns }
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
        Ok(RuleWeights { schema, pairs, owns })
    }

    /// The rules of both, ours first: so learned rules are mixed with fixed ones.
    pub fn join(self, others: RuleWeights) -> Result<RuleWeights> {
        if self.schema != others.schema {
            return Err(Error::Setting("joined rules must share one schema, but these do not".into()));
        }
        let owns = self.owns.zip(others.owns).map(|(ours, theirs)| Tensor::cat(vec![ours, theirs], 0));
        let pairs = Tensor::cat(vec![self.pairs, others.pairs], 0);
        Ok(RuleWeights { schema: self.schema, pairs, owns })
    }

    fn rules(&self) -> usize {
        self.pairs.dims()[0]
    }
}

/// A pair of entities of one graph of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
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
    Pairs(Vec<Pair>),
}

/// How far the rules hold: one row of scores per query, one column per rule.
///
/// Message passing takes `rounds` rounds (the paper's `R_max`). Wrong shapes are an error.
pub fn scores(
    weights: &RuleWeights,
    facts: &SoftFacts,
    queries: &Queries,
    rounds: usize,
) -> Result<Tensor<2>> {
    let asked = check(weights, facts.links.dims(), facts.values.as_ref(), queries, rounds)?;
    let (values, owns) = optional(weights, facts.values.as_ref(), &facts.links.device());
    let scores = <Dispatch as RuleOps>::rule_scores(
        facts.links.clone().into_dispatch(),
        values.into_dispatch(),
        weights.pairs.clone().into_dispatch(),
        owns.into_dispatch(),
        asked,
    );
    Ok(Tensor::from_dispatch(scores))
}

/// The framework has no optional inputs: a placeholder stands where there are no properties.
fn optional(weights: &RuleWeights, values: Option<&Tensor<3>>, device: &Device) -> (Tensor<3>, Tensor<3>) {
    let or_nothing =
        |tensor: Option<&Tensor<3>>| tensor.cloned().unwrap_or_else(|| Tensor::zeros([1, 1, 1], device));
    (or_nothing(values), or_nothing(weights.owns.as_ref()))
}

/// What the facts of learned predicates are made of: attention between the entities of each graph.
#[derive(Clone, Debug)]
pub struct Attention {
    /// `[graphs, entities, predicates, key]`: what an entity asks for as the first argument.
    pub queries: Tensor<4>,
    /// The same shape: what it answers as the second.
    pub keys: Tensor<4>,
    /// `[predicates]`.
    pub bias: Tensor<1>,
    /// Links weaker than this are none (the paper: 0.5).
    pub least: f32,
    /// `[graphs, properties, entities]`; none without properties.
    pub values: Option<Tensor<3>>,
}

impl Attention {
    /// q·k / √key of every two entities, `[graphs, predicates, entities, entities]`.
    pub(crate) fn between(&self) -> Tensor<4> {
        let key = self.queries.dims()[3] as f32;
        let queries = self.queries.clone() / key.sqrt();
        queries.permute([0, 2, 1, 3]).matmul(self.keys.clone().permute([0, 2, 3, 1]))
    }

    /// The soft facts, all links made of q·k / √key by [`soft_links`].
    pub fn facts(&self) -> Result<SoftFacts> {
        self.key()?;
        let links = soft_links(self.between(), self.bias.clone(), self.least)?;
        Ok(SoftFacts { links, values: self.values.clone() })
    }

    /// Checks the shapes; returns the numbers of a key.
    fn key(&self) -> Result<usize> {
        let [_, _, predicates, key] = self.queries.dims();
        if self.keys.dims() != self.queries.dims() || self.bias.dims() != [predicates] || key == 0 {
            return Err(Error::Setting(format!(
                "queries and keys must have one shape and the bias a number for each predicate, but found {:?}, {:?} and {:?}",
                self.queries.dims(),
                self.keys.dims(),
                self.bias.dims()
            )));
        }
        check_least(self.least)?;
        Ok(key)
    }
}

/// How far the rules hold over the links of attention: what [`scores`] gives for [`Attention::facts`], but
/// clipped links are never made. Sums are taken in another order, so numbers agree to rounding.
pub fn linked_scores(
    weights: &RuleWeights,
    attention: &Attention,
    queries: &Queries,
    rounds: usize,
) -> Result<Tensor<2>> {
    let key = attention.key()?;
    let [graphs, entities, predicates, _] = attention.queries.dims();
    let links = [graphs, predicates, entities, entities];
    let asked = check(weights, links, attention.values.as_ref(), queries, rounds)?;
    let (values, owns) = optional(weights, attention.values.as_ref(), &attention.queries.device());
    let scores = <Dispatch as RuleOps>::linked_scores(
        attention.queries.clone().into_dispatch(),
        attention.keys.clone().into_dispatch(),
        attention.bias.clone().into_dispatch(),
        values.into_dispatch(),
        weights.pairs.clone().into_dispatch(),
        owns.into_dispatch(),
        LinkedAsked { asked, sizes: Sizes { key, least: attention.least } },
    );
    Ok(Tensor::from_dispatch(scores))
}

/// Links of learned predicates from attention `[graphs, predicates, entities, entities]` and a bias per
/// predicate: sigmoid, nothing on the diagonal, nothing below `least` (the paper: 0.5).
///
/// Clipping has no derivative, so a link that was clipped stays so unless another link of its entities
/// brings it back.
pub fn soft_links(attention: Tensor<4>, bias: Tensor<1>, least: f32) -> Result<Tensor<4>> {
    check_least(least)?;
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
    let links = <Dispatch as RuleOps>::soft_links(attention, bias, least);
    Ok(Tensor::from_dispatch(links))
}

/// Every variable's domain after the last round, for one rule and one query: which entities it may
/// stand for, and how far. `pair` is the query's pair, or none for the whole graph `graph`.
pub fn domains(
    weights: &RuleWeights,
    facts: &SoftFacts,
    rounds: usize,
    rule: usize,
    graph: usize,
    pair: Option<(usize, usize)>,
) -> Result<Vec<Vec<f32>>> {
    let queries = match pair {
        Some((head, tail)) => Queries::Pairs(vec![Pair { graph, head, tail }]),
        None => Queries::Graphs,
    };
    let asked = check(weights, facts.links.dims(), facts.values.as_ref(), &queries, rounds)?;
    if rule >= asked.rules || graph >= asked.queries.len() {
        let finding = format!("rule {rule} of graph {graph} is asked for, but the batch has not so many");
        return Err(Error::Setting(finding));
    }
    let plain = |tensor: &Option<Tensor<3>>| tensor.as_ref().map_or(Ok(Vec::new()), numbers);
    let (links, values) = (numbers(&facts.links)?, plain(&facts.values)?);
    let (pairs, owns) = (numbers(&weights.pairs)?, plain(&weights.owns)?);
    let problem = Problem::new(asked.schema, asked.rules, asked.entities, rounds, &pairs, &owns);
    let batch = BatchFacts { facts: &links, values: &values, graphs: asked.queries.len() };
    Ok(problem.domains(batch, graph, rule, pair.map(|(head, tail)| Ends { head, tail })))
}

/// A tensor's numbers, row by row.
pub fn numbers<const D: usize>(tensor: &Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.clone().into_data();
    data.try_to_vec()
        .map_err(|error| Error::Setting(format!("a tensor must hold numbers of f32, but: {error:?}")))
}

fn check_least(least: f32) -> Result<()> {
    if (0.0..1.0).contains(&least) {
        return Ok(());
    }
    Err(Error::Setting(format!("the least link must be at least 0 and below 1, but is {least}")))
}

fn check(
    weights: &RuleWeights,
    links: [usize; 4],
    values: Option<&Tensor<3>>,
    queries: &Queries,
    rounds: usize,
) -> Result<Asked> {
    let schema = weights.schema;
    let [graphs, predicates, entities, second] = links;
    let rules = weights.rules();
    let must = |holds: bool, what: &str, found: &dyn std::fmt::Debug| {
        if holds { Ok(()) } else { Err(Error::Setting(format!("{what}, but found {found:?}"))) }
    };
    must(rounds > 0, "rounds must be at least 1", &rounds)?;
    must(schema.predicates > 0, "a layer needs at least one predicate", &schema.predicates)?;
    must(graphs * entities > 0, "links need at least one graph and one entity", &links)?;
    let wanted = [graphs, schema.predicates, entities, entities];
    must(
        (predicates, second) == (schema.predicates, entities),
        &format!("links must have the shape {wanted:?}"),
        &links,
    )?;
    let values = values.map(Tensor::dims);
    let wanted = (schema.properties > 0).then_some([graphs, schema.properties, entities]);
    must(values == wanted, &format!("values of properties must have the shape {wanted:?}"), &values)?;
    let wanted = [rules, schema.slots(), schema.fillers()];
    let found = weights.pairs.dims();
    must(
        rules > 0 && found == wanted,
        &format!("weights of pair slots must have the shape {wanted:?}"),
        &found,
    )?;
    let owns = weights.owns.as_ref().map(Tensor::dims);
    let wanted = (schema.properties > 0).then_some([rules, schema.variables, schema.own_fillers()]);
    must(owns == wanted, &format!("weights of own slots must have the shape {wanted:?}"), &owns)?;
    let mut lists: Vec<GraphQueries> = vec![Vec::new(); graphs];
    let rows = match queries {
        Queries::Graphs => {
            lists.iter_mut().enumerate().for_each(|(graph, list)| list.push((graph, None)));
            graphs
        }
        Queries::Pairs(pairs) => {
            must(!pairs.is_empty(), "queries must be at least one", &pairs.len())?;
            for (row, pair) in pairs.iter().enumerate() {
                let inside = pair.graph < graphs && pair.head.max(pair.tail) < entities;
                must(inside, &format!("a pair must lie in {graphs} graphs of {entities} entities"), pair)?;
                lists[pair.graph].push((row, Some(Ends { head: pair.head, tail: pair.tail })));
            }
            pairs.len()
        }
    };
    Ok(Asked { schema, rules, entities, rounds, rows, queries: Arc::new(lists) })
}
