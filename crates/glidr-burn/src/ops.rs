//! The layer's operations for burn: scores of rules, soft links, and both at once where most links are
//! clipped; each with its own adjoint.
//!
//! In: tensors of the framework. Out: a tensor with its adjoint. The README shows how
//! they are used; [`crate::layer`] has the functions that check their arguments.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Flex, TensorMetadata, backend_extension};
use burn::tensor::TensorData;
use glidr::Schema;

use crate::kernel::{BatchAttention, BatchFacts, GraphQueries, GraphRows, Problem, Sizes, Tape};
use crate::links::{self, Clip};

/// What a batch of graphs is scored for; shapes were checked before.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) schema: Schema,
    pub(crate) rules: usize,
    pub(crate) entities: usize,
    pub(crate) rounds: usize,
    pub(crate) rows: usize,
    pub(crate) queries: Arc<Vec<GraphQueries>>,
}

/// Operations that burn does not have.
#[backend_extension(Flex, Autodiff)]
pub trait RuleOps: Backend {
    /// One score per query and rule: facts `[graphs, predicates, entities, entities]`, values
    /// `[graphs, properties, entities]`, weights of pair slots `[rules, slots, fillers]` and of own
    /// slots `[rules, variables, own fillers]`. Without properties, values and own weights are not read.
    fn rule_scores(
        facts: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: Request,
    ) -> FloatTensor<Self>;

    /// Soft links from attention `[graphs, predicates, entities, entities]` and a bias per predicate:
    /// sigmoid, nothing on the diagonal, nothing that is clipped.
    fn soft_links(attention: FloatTensor<Self>, bias: FloatTensor<Self>, clip: Clip) -> FloatTensor<Self>;

    /// Scores of rules over the soft links of attention, with no link made that is clipped: queries and
    /// keys `[rows, predicates, key]`, a bias per predicate, values `[rows, properties]`, the rest as above.
    fn linked_scores(
        queries: FloatTensor<Self>,
        keys: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: LinkedRequest,
    ) -> FloatTensor<Self>;
}

/// The same over the links of attention.
#[derive(Clone, Debug)]
pub struct LinkedRequest {
    pub(crate) plain: Request,
    pub(crate) rows: Arc<Vec<GraphRows>>,
    pub(crate) sizes: Sizes,
}

impl RuleOps for Flex {
    fn rule_scores(
        facts: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: Request,
    ) -> FloatTensor<Self> {
        let inputs = [facts, values, pairs, owns].map(|tensor| tensor.to_contiguous());
        plain(&inputs, &request)
    }

    fn soft_links(attention: FloatTensor<Self>, bias: FloatTensor<Self>, clip: Clip) -> FloatTensor<Self> {
        let shape = attention.shape().to_vec();
        let (attention, bias) = (attention.to_contiguous(), bias.to_contiguous());
        tensor(links::links(numbers(&attention), numbers(&bias), shape[shape.len() - 1], clip), shape)
    }

    fn linked_scores(
        queries: FloatTensor<Self>,
        keys: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: LinkedRequest,
    ) -> FloatTensor<Self> {
        let inputs = [queries, keys, bias, values, pairs, owns].map(|tensor| tensor.to_contiguous());
        linked(&inputs, &request)
    }
}

impl<C: CheckpointStrategy> RuleOps for Autodiff<Flex, C> {
    fn rule_scores(
        facts: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: Request,
    ) -> FloatTensor<Self> {
        let inputs = [facts, values, pairs, owns];
        let nodes = inputs.each_ref().map(FloatTensor::<Self>::node);
        let inputs = inputs.map(|tensor| tensor.into_primitive().to_contiguous());
        let scores = plain(&inputs, &request);
        match RuleScores.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((inputs, request), scores),
            OpsKind::UnTracked(prep) => prep.finish(scores),
        }
    }

    fn soft_links(attention: FloatTensor<Self>, bias: FloatTensor<Self>, clip: Clip) -> FloatTensor<Self> {
        let nodes = [attention.node(), bias.node()];
        let inputs = [attention, bias].map(|tensor| tensor.into_primitive().to_contiguous());
        let [attention, bias] = inputs.clone();
        let links = Flex::soft_links(attention, bias, clip);
        match SoftLinks.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((inputs, clip), links),
            OpsKind::UnTracked(prep) => prep.finish(links),
        }
    }

    fn linked_scores(
        queries: FloatTensor<Self>,
        keys: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        values: FloatTensor<Self>,
        pairs: FloatTensor<Self>,
        owns: FloatTensor<Self>,
        request: LinkedRequest,
    ) -> FloatTensor<Self> {
        let inputs = [queries, keys, bias, values, pairs, owns];
        let nodes = inputs.each_ref().map(FloatTensor::<Self>::node);
        let inputs = inputs.map(|tensor| tensor.into_primitive().to_contiguous());
        match LinkedScores.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let (scores, tape) = linked_tape(&inputs, &request);
                prep.finish((inputs, request, Arc::new(Mutex::new(Some(tape)))), scores)
            }
            OpsKind::UnTracked(prep) => prep.finish(linked(&inputs, &request)),
        }
    }
}

/// The adjoint of [`RuleOps::rule_scores`]: the state is its inputs, messages are passed again.
#[derive(Debug)]
struct RuleScores;

impl Backward<Flex, 4> for RuleScores {
    type State = ([FloatTensor<Flex>; 4], Request);

    fn backward(self, ops: Ops<Self::State, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (inputs, request) = ops.state;
        let d_scores = grads.consume::<Flex>(&ops.node).to_contiguous();
        let d = on_numbers(&inputs, &request, |problem, batch| {
            problem.adjoint(batch, &request.queries, numbers(&d_scores))
        });
        let properties = request.schema.properties > 0;
        let found =
            [Some(d.facts), properties.then_some(d.values), Some(d.pairs), properties.then_some(d.owns)];
        register(ops.parents.map(|parent| parent.map(|parent| parent.id)), found, &inputs, grads);
    }
}

/// The adjoint of [`RuleOps::soft_links`].
#[derive(Debug)]
struct SoftLinks;

impl Backward<Flex, 2> for SoftLinks {
    type State = ([FloatTensor<Flex>; 2], Clip);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (inputs, clip) = ops.state;
        let d_links = grads.consume::<Flex>(&ops.node).to_contiguous();
        let [attention, bias] = &inputs;
        let (entities, d_links) = (attention.shape().to_vec()[2], numbers(&d_links));
        let (d_attention, d_bias) =
            links::links_adjoint(numbers(attention), numbers(bias), entities, clip, d_links);
        let parents = ops.parents.map(|parent| parent.map(|parent| parent.id));
        register(parents, [Some(d_attention), Some(d_bias)], &inputs, grads);
    }
}

/// The adjoint of [`RuleOps::linked_scores`]: the state is its inputs, and the tape of scoring; a second
/// adjoint computes the tape again.
#[derive(Debug)]
struct LinkedScores;

impl Backward<Flex, 6> for LinkedScores {
    type State = ([FloatTensor<Flex>; 6], LinkedRequest, Arc<Mutex<Option<Tape>>>);

    fn backward(self, ops: Ops<Self::State, 6>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (inputs, request, tape) = ops.state;
        let d_scores = grads.consume::<Flex>(&ops.node).to_contiguous();
        let tape = tape.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tape = tape.unwrap_or_else(|| linked_tape(&inputs, &request).1);
        let d = on_attention(&inputs, &request, |problem, batch| {
            problem.linked_adjoint(batch, &request.plain.queries, tape, numbers(&d_scores))
        });
        let properties = request.plain.schema.properties > 0;
        let (values, owns) = (properties.then_some(d.values), properties.then_some(d.owns));
        let found = [Some(d.queries), Some(d.keys), Some(d.bias), values, Some(d.pairs), owns];
        register(ops.parents.map(|parent| parent.map(|parent| parent.id)), found, &inputs, grads);
    }
}

/// Hands derivatives to the inputs they belong to; none means nothing but zeros.
fn register<const N: usize>(
    parents: [Option<NodeId>; N],
    found: [Option<Vec<f32>>; N],
    inputs: &[FloatTensor<Flex>; N],
    grads: &mut Gradients,
) {
    for ((parent, found), input) in parents.into_iter().zip(found).zip(inputs) {
        if let Some(parent) = parent {
            let shape = input.shape().to_vec();
            let found = found.unwrap_or_else(|| vec![0.0; shape.iter().product()]);
            grads.register::<Flex>(parent, tensor(found, shape));
        }
    }
}

fn plain(inputs: &[FloatTensor<Flex>; 4], request: &Request) -> FloatTensor<Flex> {
    let scores = on_numbers(inputs, request, |problem, batch| problem.scores(batch, &request.queries));
    tensor(scores, [request.rows, request.rules].to_vec())
}

fn linked(inputs: &[FloatTensor<Flex>; 6], request: &LinkedRequest) -> FloatTensor<Flex> {
    let queries = &request.plain.queries;
    let scores = on_attention(inputs, request, |problem, batch| problem.linked_scores(batch, queries));
    tensor(scores, [request.plain.rows, request.plain.rules].to_vec())
}

/// The same, with the tape that the adjoint needs.
fn linked_tape(inputs: &[FloatTensor<Flex>; 6], request: &LinkedRequest) -> (FloatTensor<Flex>, Tape) {
    let queries = &request.plain.queries;
    let (scores, tape) = on_attention(inputs, request, |problem, batch| problem.linked_tape(batch, queries));
    (tensor(scores, [request.plain.rows, request.plain.rules].to_vec()), tape)
}

/// Calls `work` with the inputs of [`RuleOps::linked_scores`] as plain numbers.
fn on_attention<T>(
    inputs: &[FloatTensor<Flex>; 6],
    request: &LinkedRequest,
    work: impl FnOnce(&Problem, BatchAttention) -> T,
) -> T {
    let [queries, keys, bias, values, pairs, owns] = inputs;
    let LinkedRequest { plain, rows, sizes } = request;
    let (queries, keys, bias) = (numbers(queries), numbers(keys), numbers(bias));
    let values = plain.of_properties(values);
    let batch = BatchAttention { rows, queries, keys, bias, values, sizes: *sizes };
    work(&plain.problem(pairs, owns), batch)
}

/// Calls `work` with the inputs of [`RuleOps::rule_scores`] as plain numbers.
fn on_numbers<T>(
    inputs: &[FloatTensor<Flex>; 4],
    request: &Request,
    work: impl FnOnce(&Problem, BatchFacts) -> T,
) -> T {
    let [facts, values, pairs, owns] = inputs;
    let graphs = request.queries.len();
    let batch = BatchFacts { facts: numbers(facts), values: request.of_properties(values), graphs };
    work(&request.problem(pairs, owns), batch)
}

impl Request {
    /// The rules with their weights.
    fn problem<'a>(&self, pairs: &'a FloatTensor<Flex>, owns: &'a FloatTensor<Flex>) -> Problem<'a> {
        let (pairs, owns) = (numbers(pairs), self.of_properties(owns));
        Problem::new(self.schema, self.rules, self.entities, self.rounds, pairs, owns)
    }

    /// What is about properties; where there are none, the framework's placeholder is not read.
    fn of_properties<'a>(&self, tensor: &'a FloatTensor<Flex>) -> &'a [f32] {
        if self.schema.properties == 0 { &[] } else { numbers(tensor) }
    }
}

fn numbers(tensor: &FloatTensor<Flex>) -> &[f32] {
    tensor.as_slice::<f32>().expect("contiguous numbers of f32: the layer has checked the type")
}

fn tensor(values: Vec<f32>, shape: Vec<usize>) -> FloatTensor<Flex> {
    FloatTensor::<Flex>::from_data(TensorData::new(values, shape))
}
