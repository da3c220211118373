//! Questions with an unknown end: bounds of all candidates, and the scores of one head with many
//! tails.

use super::Sparse;
use super::anchor::Anchor;
use super::block::{LANES, Lanes};
use super::open::Open;
use super::profile::Profile;
use super::query::{Context, Query, Workspace};
use crate::graph::{ClassMatrix, Entity};

/// What questions with an unknown end need besides.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRoom {
    anchor: Anchor,
    mirror: Profile,
    from_tail: Query,
    /// Bounds of tails, and of heads.
    bounds: [Open; 2],
}

impl Sparse {
    /// Takes `head` as the head of the questions that follow.
    pub fn anchor(&mut self, graph: &ClassMatrix, head: Entity) {
        let (context, open, workspace, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(SetAnchor { context, open, workspace, head: head.index() });
    }

    /// The scores of the anchored head with each of `tails`: those of [`Sparse::scores`] up to the
    /// order of summation.
    pub fn scores_of_tails(&mut self, graph: &ClassMatrix, tails: &[Entity]) -> Vec<[f32; LANES]> {
        let (context, open, workspace, queries) = self.open_parts(graph);
        pulp::Arch::new().dispatch(FromAnchor { context, open, workspace, query: &mut queries[0], tails })
    }

    /// Lower and upper bounds of those scores: mostly the score itself, found much faster where it is not.
    pub fn brackets_of_tails(&mut self, graph: &ClassMatrix, tails: &[Entity]) -> Vec<[[f32; LANES]; 2]> {
        let (context, open, workspace, queries) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bracket { context, open, workspace, query: &mut queries[0], tails })
    }

    /// Finds upper bounds of all tails of the anchored head.
    pub fn bound_tails(&mut self, graph: &ClassMatrix) {
        let (context, open, workspace, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bound { context, open, workspace, tail: None });
    }

    /// Finds upper bounds of all heads of `tail`.
    pub fn bound_heads(&mut self, graph: &ClassMatrix, tail: Entity) {
        let (context, open, workspace, _) = self.open_parts(graph);
        pulp::Arch::new().dispatch(Bound { context, open, workspace, tail: Some(tail.index()) });
    }

    /// The entities whose bound differs from [`Sparse::base_bound`] by more than a common cap.
    pub fn reached(&self, heads: bool) -> &[u32] {
        &self.bounds(heads).reached
    }

    /// The bound of one entity, for each rule.
    pub fn bound(&self, heads: bool, entity: Entity) -> [f32; LANES] {
        self.bounds(heads).bound(entity.index())
    }

    /// An upper bound of an entity that is not reached, whatever the known end is.
    pub fn base_bound(&self, heads: bool, entity: Entity) -> &[f32; LANES] {
        self.bounds(heads).base(entity.index())
    }

    fn bounds(&self, heads: bool) -> &Open {
        &self.open.as_ref().expect("bounds are found before they are read").bounds[usize::from(heads)]
    }

    fn open_parts<'s>(
        &'s mut self,
        graph: &'s ClassMatrix,
    ) -> (Context<'s>, &'s mut OpenRoom, &'s mut Workspace, &'s mut Vec<Query>) {
        let block = self.block.as_ref().expect("rules are prepared before questions are asked");
        let open = self.open.get_or_insert_with(|| {
            let mut open = Box::<OpenRoom>::default();
            open.anchor.begin(&self.profile);
            open.mirror.mirrored = true;
            open
        });
        if self.queries.is_empty() {
            self.queries.push(Query::default());
        }
        let context = Context { graph, block, profile: &self.profile, slack: &self.slack };
        (context, open, &mut self.workspace, &mut self.queries)
    }
}

/// One head worked out, compiled once for every set of vector instructions.
struct SetAnchor<'a> {
    context: Context<'a>,
    open: &'a mut OpenRoom,
    workspace: &'a mut Workspace,
    head: usize,
}

impl pulp::WithSimd for SetAnchor<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.open.anchor.set(self.workspace, self.context, self.head);
    }
}

/// Tails of one head, likewise.
struct FromAnchor<'a> {
    context: Context<'a>,
    open: &'a mut OpenRoom,
    workspace: &'a mut Workspace,
    query: &'a mut Query,
    tails: &'a [Entity],
}

impl pulp::WithSimd for FromAnchor<'_> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Lanes> {
        let FromAnchor { context, open, workspace, query, tails } = self;
        open.anchor.complete(workspace, context);
        let mut scores = Vec::with_capacity(tails.len());
        for tail in tails {
            scores.push(open.anchor.score(query, workspace, context, tail.index()));
        }
        scores
    }
}

/// Brackets of their scores, likewise.
struct Bracket<'a> {
    context: Context<'a>,
    open: &'a mut OpenRoom,
    workspace: &'a mut Workspace,
    query: &'a mut Query,
    tails: &'a [Entity],
}

impl pulp::WithSimd for Bracket<'_> {
    type Output = Vec<[Lanes; 2]>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<[Lanes; 2]> {
        let Bracket { context, open, workspace, query, tails } = self;
        open.anchor.complete(workspace, context);
        // A loop, not a closure: that would be compiled without the vector instructions.
        let mut brackets = Vec::with_capacity(tails.len());
        for tail in tails {
            brackets.push(open.anchor.bracket(query, workspace, context, tail.index()));
        }
        brackets
    }
}

/// Bounds of all candidates, likewise.
struct Bound<'a> {
    context: Context<'a>,
    open: &'a mut OpenRoom,
    workspace: &'a mut Workspace,
    tail: Option<usize>,
}

impl pulp::WithSimd for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Bound { context, open, workspace, tail } = self;
        let OpenRoom { anchor, mirror, from_tail, bounds: [tails, heads] } = open;
        let Context { graph, block, profile, .. } = context;
        match tail {
            None => {
                if !tails.is_begun() {
                    tails.begin(graph, block, profile, context.last());
                }
                tails.tails(context, &anchor.query);
            }
            Some(tail) => {
                if !heads.is_begun() {
                    mirror.fill(block, graph, usize::from(profile.rounds > 1));
                    heads.begin(graph, block, mirror, 0);
                }
                heads.heads(workspace, Context { profile: mirror, ..context }, from_tail, tail);
            }
        }
    }
}
