/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/op_graph.h"

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "sim/import/op_match.h"

#define NONE         UINT32_MAX
#define N_BUCKETS    8192
#define MAX_SETS     16000000 /* Numbers in the sets of needs: 64 MB. */
#define SAME_SHARE   0.1      /* Of computing that counts as the same. */
#define BITS_PER_SET 64

/* A step while it is filled. */
struct draft {
	struct op_step step;
	VEC(struct op_ranks) groups;
	uint64_t *members; /* Owned.  A bit for each rank, or first rank of a group. */
	uint32_t next;     /* In its bucket. */
};

struct maker {
	const struct op_table *table;
	struct err *err;
	struct op_match match;
	/* By vertex, which is a number of an operation: its needs, without repetition. */
	uint64_t *first;
	VEC(uint64_t) edges; /* The vertex, then what it needs, in one number. */
	uint32_t *n_after;   /* How many need it. */
	uint32_t *order;     /* Vertices, each after what it needs. */
	size_t n_order;
	uint32_t *chain;   /* The first of the computing that it is merged with. */
	int64_t *ns;       /* Of such a first one: of all. */
	uint32_t *step_of; /* NONE: it takes no time; */
	uint64_t *set_of;  /* then: its set in 'sets', */
	uint32_t *set_n;   /* with as many steps. */
	VEC(uint32_t) sets;
	VEC(struct draft) drafts;
	uint32_t *buckets;
	uint32_t *stamp;     /* By step: the last vertex that needs it, and 1. */
	VEC(uint32_t) needs; /* Of the present vertex. */
};

static const struct op *
op_of(const struct maker *m, uint32_t vertex)
{
	return &m->table->ops.items[vertex];
}

static struct op_ranks
ranks_of(const struct maker *m, const struct op *op)
{
	if (op->kind == OP_SEND)
		return (struct op_ranks){ op->rank, op->peer, 0 };
	return m->match.groups[op->group == STRTAB_NONE ? strtab_n(m->table->groups)
							: op->group];
}

static uint32_t
n_of(const struct op_ranks *ranks)
{
	return ranks->step ? (ranks->to - ranks->from) / ranks->step + 1 : 2;
}

/* ---- Vertices and their order ---------------------------------------------------- */

static void
make_edges(struct maker *m)
{
	size_t n = m->table->ops.n, kept = 0, at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct op *op = op_of(m, i);
		uint64_t vertex = m->match.vertex_of[i];

		if (m->match.send_of[i] != i)
			vec_push(&m->edges, vertex << 32 | m->match.send_of[i]);

		for (uint32_t k = 0; k < op->n_needs; k++) {
			uint64_t need = m->table->needs.items[op->first + k];

			vec_push(&m->edges, vertex << 32 | m->match.vertex_of[need]);
		}
	}
	sort_items(m->edges.items, m->edges.n, sort_by_u64);
	for (size_t i = 0; i < m->edges.n; i++)
		if (!kept || m->edges.items[i] != m->edges.items[kept - 1])
			m->edges.items[kept++] = m->edges.items[i];
	m->edges.n = kept;
	for (size_t v = 0; v <= n; v++) {
		while (at < kept && m->edges.items[at] >> 32 < v)
			at++;
		m->first[v] = at;
	}
	for (size_t i = 0; i < kept; i++)
		m->n_after[(uint32_t)m->edges.items[i]]++;
}

/* Names a vertex on a cycle: following what has not started from any leads there. */
static int
report_cycle(const struct maker *m, const uint32_t *n_left)
{
	uint32_t at = 0;

	while (m->match.vertex_of[at] != at || !n_left[at])
		at++;
	for (size_t i = 0; i < m->table->ops.n; i++) {
		uint64_t k = m->first[at];

		while (!n_left[(uint32_t)m->edges.items[k]])
			k++;
		at = (uint32_t)m->edges.items[k];
	}
	return op_table_fail(m->table, op_of(m, at), m->err,
			     "it waits for itself: its dependencies, with those of "
			     "collectives and messages on other ranks, are a cycle");
}

static int
make_order(struct maker *m)
{
	size_t n = m->table->ops.n, n_vertices = 0;
	uint32_t *n_left = xcalloc(n + 1, sizeof *n_left);
	uint64_t *after_first = xcalloc(n + 2, sizeof *after_first);
	uint32_t *after = xcalloc(m->edges.n + 1, sizeof *after);
	int r = 0;

	for (size_t v = 0; v < n; v++) {
		n_left[v] = (uint32_t)(m->first[v + 1] - m->first[v]);
		after_first[v + 1] = after_first[v] + m->n_after[v];
		n_vertices += m->match.vertex_of[v] == v;
		if (m->match.vertex_of[v] == v && !n_left[v])
			m->order[m->n_order++] = (uint32_t)v;
	}
	for (size_t i = 0; i < m->edges.n; i++)
		after[after_first[(uint32_t)m->edges.items[i]]++] =
			(uint32_t)(m->edges.items[i] >> 32);
	/* Each first one has moved to the end of its part. */
	for (size_t i = 0; i < m->n_order; i++) {
		uint32_t v = m->order[i];

		for (uint64_t k = after_first[v] - m->n_after[v]; k < after_first[v];
		     k++)
			if (!--n_left[after[k]])
				m->order[m->n_order++] = after[k];
	}
	if (m->n_order < n_vertices)
		r = report_cycle(m, n_left);
	free(n_left);
	free(after_first);
	free(after);
	return r;
}

/* Computing after nothing but computing that nothing else waits for. */
static void
merge_chains(struct maker *m)
{
	for (size_t i = 0; i < m->n_order; i++) {
		uint32_t v = m->order[i], need;

		m->chain[v] = v;
		m->ns[v] = op_of(m, v)->ns;
		if (op_of(m, v)->kind != OP_COMPUTE ||
		    m->first[v + 1] - m->first[v] != 1)
			continue;
		need = (uint32_t)m->edges.items[m->first[v]];
		if (op_of(m, need)->kind != OP_COMPUTE || m->n_after[need] != 1)
			continue;
		m->chain[v] = m->chain[need];
		m->ns[m->chain[v]] += m->ns[v];
	}
}

/* ---- Steps ----------------------------------------------------------------------- */

static bool
takes_time(const struct maker *m, uint32_t vertex)
{
	const struct op *op = op_of(m, vertex);
	struct op_ranks ranks;

	if (op->kind == OP_COMPUTE)
		return m->ns[vertex] > 0;
	if (op->kind == OP_COLLECTIVE) {
		ranks = ranks_of(m, op);
		return op->collective != COLLECTIVE_OP_NONE && op->bytes > 0 &&
		       ranks.from < ranks.to;
	}
	return op->kind == OP_SEND && op->bytes > 0;
}

static void
add_need(struct maker *m, uint32_t step, uint32_t vertex)
{
	if (m->stamp[step] == vertex + 1)
		return;
	m->stamp[step] = vertex + 1;
	vec_push(&m->needs, step);
}

/* The steps that a vertex needs, ascending. */
static void
find_needs(struct maker *m, uint32_t vertex)
{
	m->needs.n = 0;
	for (uint64_t i = m->first[vertex]; i < m->first[vertex + 1]; i++) {
		uint32_t need = m->chain[(uint32_t)m->edges.items[i]];

		if (m->step_of[need] != NONE)
			add_need(m, m->step_of[need], vertex);
		else
			for (uint32_t k = 0; k < m->set_n[need]; k++)
				add_need(m, m->sets.items[m->set_of[need] + k], vertex);
	}
	sort_items(m->needs.items, m->needs.n, sort_by_u32);
}

/* The bytes of a message whose vertex says what each rank has. */
static double
bytes_of(const struct maker *m, const struct op *op)
{
	struct op_ranks ranks;

	if (op->kind == OP_COMPUTE)
		return 0;
	ranks = ranks_of(m, op);
	return op->is_part ? op->bytes * n_of(&ranks) : op->bytes;
}

static bool
is_same(const struct maker *m, const struct draft *draft, uint32_t vertex)
{
	const struct op *op = op_of(m, vertex), *other = draft->step.op;
	struct op_ranks ranks, others;
	uint32_t key = op->rank;
	int64_t ns = m->ns[vertex];

	if (op->kind != other->kind || draft->step.n_needs != m->needs.n ||
	    (m->needs.n && memcmp(draft->step.needs, m->needs.items,
				  m->needs.n * sizeof *m->needs.items) != 0))
		return false;
	if (op->kind == OP_COMPUTE) {
		int64_t first = m->ns[other - m->table->ops.items];
		int64_t most = first > ns ? first : ns;

		if ((double)(first > ns ? first - ns : ns - first) >
		    SAME_SHARE * (double)most)
			return false;
	} else {
		ranks = ranks_of(m, op);
		others = draft->groups.items[0];
		key = ranks.from;
		if (op->collective != other->collective || op->bytes != other->bytes ||
		    ranks.step != others.step ||
		    ranks.to - ranks.from != others.to - others.from)
			return false;
	}
	return !(draft->members[key / BITS_PER_SET] >> key % BITS_PER_SET & 1);
}

static uint32_t
bucket_of(const struct maker *m, const struct op *op)
{
	uint32_t hash = (uint32_t)op->kind * 31 + (uint32_t)op->collective;

	for (size_t i = 0; i < m->needs.n; i++)
		hash = hash * 1000003 ^ m->needs.items[i];
	return (hash ^ hash >> 16) % N_BUCKETS;
}

static int
new_step(struct maker *m, uint32_t vertex, uint32_t *bucket)
{
	const struct op *op = op_of(m, vertex);
	struct draft draft = { .next = *bucket };

	if (m->drafts.n == OP_MAX_STEPS || m->sets.n + m->needs.n > MAX_SETS) {
		op_table_fail(m->table, op, m->err,
			      "more than %d steps up to here that ranks do not do "
			      "together; import one iteration of the trace",
			      OP_MAX_STEPS);
		return -E2BIG;
	}
	draft.step = (struct op_step){
		.op = op,
		.bytes = bytes_of(m, op),
		.needs = xmemdup(m->needs.items, m->needs.n, sizeof *m->needs.items),
		.n_needs = m->needs.n,
	};
	draft.members =
		xcalloc(m->table->n_ranks / BITS_PER_SET + 1, sizeof *draft.members);
	*bucket = (uint32_t)m->drafts.n;
	vec_push(&m->drafts, draft);
	return 0;
}

/* Gives a vertex that takes time its step. */
static int
put_in_step(struct maker *m, uint32_t vertex)
{
	const struct op *op = op_of(m, vertex);
	uint32_t *bucket = &m->buckets[bucket_of(m, op)], at = *bucket, key = op->rank;
	struct draft *draft;
	struct op_ranks ranks;

	while (at != NONE && !is_same(m, &m->drafts.items[at], vertex))
		at = m->drafts.items[at].next;
	if (at == NONE) {
		int r = new_step(m, vertex, bucket);

		if (r < 0)
			return r;
		at = *bucket;
	}
	draft = &m->drafts.items[at];
	if (op->kind == OP_COMPUTE) {
		if (m->ns[vertex] > draft->step.ns)
			draft->step.ns = m->ns[vertex];
	} else {
		ranks = ranks_of(m, op);
		key = ranks.from;
		vec_push(&draft->groups, ranks);
	}
	draft->members[key / BITS_PER_SET] |= UINT64_C(1) << key % BITS_PER_SET;
	m->step_of[vertex] = at;
	return 0;
}

/* Keeps what a vertex that takes no time passes on. */
static int
keep_set(struct maker *m, uint32_t vertex)
{
	if (m->sets.n + m->needs.n > MAX_SETS) {
		op_table_fail(m->table, op_of(m, vertex), m->err,
			      "too many dependencies up to here; import one iteration "
			      "of the trace");
		return -E2BIG;
	}
	m->set_of[vertex] = m->sets.n;
	m->set_n[vertex] = (uint32_t)m->needs.n;
	for (size_t i = 0; i < m->needs.n; i++)
		vec_push(&m->sets, m->needs.items[i]);
	return 0;
}

static int
make_steps(struct maker *m)
{
	int r = 0;

	for (size_t i = 0; i < N_BUCKETS; i++)
		m->buckets[i] = NONE;
	for (size_t i = 0; i < m->n_order && r == 0; i++) {
		uint32_t v = m->order[i];

		m->step_of[v] = NONE;
		if (m->chain[v] != v)
			continue;
		find_needs(m, v);
		r = takes_time(m, v) ? put_in_step(m, v) : keep_set(m, v);
	}
	return r;
}

/* ---- Fewer dependencies ---------------------------------------------------------- */

/* Drops needs that follow from others.  O(needs * steps / 64). */
static void
drop_implied(struct maker *m)
{
	size_t n = m->drafts.n, n_words = n / BITS_PER_SET + 1;
	uint64_t *before = xcalloc(n * n_words + 1, sizeof *before);

	for (size_t i = 0; i < n; i++) {
		struct op_step *step = &m->drafts.items[i].step;
		uint64_t *mine = before + i * n_words;
		size_t kept = step->n_needs;

		/* Later ones first, as they may imply earlier ones. */
		for (size_t k = step->n_needs; k-- > 0;) {
			uint32_t need = step->needs[k];

			if (mine[need / BITS_PER_SET] >> need % BITS_PER_SET & 1)
				continue;
			step->needs[--kept] = need;
			mine[need / BITS_PER_SET] |= UINT64_C(1) << need % BITS_PER_SET;
			for (size_t w = 0; w < n_words; w++)
				mine[w] |= before[need * n_words + w];
		}
		step->n_needs -= kept;
		if (kept && step->n_needs)
			memmove(step->needs, step->needs + kept,
				step->n_needs * sizeof *step->needs);
	}
	free(before);
}

/*
 * Moves the steps to 'ret', and adds computing that only follows computing, and that
 * nothing else waits for, to that.
 */
static void
finish_steps(struct maker *m, struct op_graph *ret)
{
	size_t n = m->drafts.n;
	uint32_t *n_after = xcalloc(n + 1, sizeof *n_after);
	uint32_t *now = xcalloc(n + 1, sizeof *now); /* By draft: its step. */

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m->drafts.items[i].step.n_needs; k++)
			n_after[m->drafts.items[i].step.needs[k]]++;
	ret->steps = xcalloc(n + 1, sizeof *ret->steps);
	for (size_t i = 0; i < n; i++) {
		struct draft *draft = &m->drafts.items[i];
		struct op_step *step = &draft->step;

		if (step->n_needs == 1 && step->ns && n_after[step->needs[0]] == 1 &&
		    m->drafts.items[step->needs[0]].step.ns) {
			now[i] = now[step->needs[0]];
			ret->steps[now[i]].ns += step->ns;
			continue;
		}
		for (size_t k = 0; k < step->n_needs; k++)
			step->needs[k] = now[step->needs[k]];
		sort_items(step->needs, step->n_needs, sort_by_u32);
		step->groups = draft->groups.items;
		step->n_groups = draft->groups.n;
		now[i] = (uint32_t)ret->n;
		ret->steps[ret->n++] = *step;
		draft->groups.items = NULL;
		step->needs = NULL;
	}
	free(n_after);
	free(now);
}

/* ---- All ------------------------------------------------------------------------- */

static void
fini(struct maker *m)
{
	for (size_t i = 0; i < m->drafts.n; i++) {
		free(m->drafts.items[i].step.needs);
		free(m->drafts.items[i].groups.items);
		free(m->drafts.items[i].members);
	}
	vec_free(&m->drafts);
	vec_free(&m->edges);
	vec_free(&m->sets);
	vec_free(&m->needs);
	op_match_fini(&m->match);
	free(m->first);
	free(m->n_after);
	free(m->order);
	free(m->chain);
	free(m->ns);
	free(m->step_of);
	free(m->set_of);
	free(m->set_n);
	free(m->buckets);
	free(m->stamp);
}

static int
make(struct maker *m)
{
	int r = op_match_make(m->table, &m->match, m->err);

	if (r < 0)
		return r;
	make_edges(m);
	r = make_order(m);
	if (r < 0)
		return r;
	merge_chains(m);
	r = make_steps(m);
	if (r < 0)
		return r;
	drop_implied(m);
	return 0;
}

int
op_graph_make(const struct op_table *table, struct op_graph *ret_graph, struct err *err)
{
	size_t n = table->ops.n;
	struct maker m = { .table = table, .err = err };
	int r;

	memset(ret_graph, 0, sizeof *ret_graph);
	m.first = xcalloc(n + 2, sizeof *m.first);
	m.n_after = xcalloc(n + 1, sizeof *m.n_after);
	m.order = xcalloc(n + 1, sizeof *m.order);
	m.chain = xcalloc(n + 1, sizeof *m.chain);
	m.ns = xcalloc(n + 1, sizeof *m.ns);
	m.step_of = xcalloc(n + 1, sizeof *m.step_of);
	m.set_of = xcalloc(n + 1, sizeof *m.set_of);
	m.set_n = xcalloc(n + 1, sizeof *m.set_n);
	m.buckets = xcalloc(N_BUCKETS, sizeof *m.buckets);
	m.stamp = xcalloc(OP_MAX_STEPS, sizeof *m.stamp);
	r = make(&m);
	if (r == 0)
		finish_steps(&m, ret_graph);
	fini(&m);
	return r;
}

void
op_graph_fini(struct op_graph *graph)
{
	for (size_t i = 0; i < graph->n; i++) {
		free(graph->steps[i].groups);
		free(graph->steps[i].needs);
	}
	free(graph->steps);
	memset(graph, 0, sizeof *graph);
}
