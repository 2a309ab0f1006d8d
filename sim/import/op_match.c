/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/op_match.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"

/* A group of ranks, filled rank by rank. */
struct group {
	VEC(uint32_t) first; /* Operations of its first rank. */
	size_t n_here;       /* Operations of 'rank', the last one seen. */
	uint32_t rank, n_ranks;
	struct op_ranks ranks;
	bool is_uneven; /* Its ranks are at no fixed distance. */
	bool has_bytes; /* Something is sent in it. */
};

struct matcher {
	const struct op_table *table;
	struct err *err;
	struct group *groups;
	size_t n_groups;
	uint32_t *vertex_of, *send_of;
};

static const char *
group_name(const struct matcher *m, size_t group)
{
	return group + 1 < m->n_groups ? strtab_name(m->table->groups, (uint32_t)group)
				       : "all ranks";
}

static const char *
collective_name(const struct op *op)
{
	return op->collective == COLLECTIVE_OP_NONE
		       ? "barrier"
		       : collective_op_names[op->collective - 1];
}

/* ---- Collectives ----------------------------------------------------------------- */

/* Before another rank, or at the end: the last one had as many as the first. */
static int
check_count(const struct matcher *m, size_t group)
{
	const struct group *g = &m->groups[group];
	const struct op *op;

	if (!g->first.n || g->n_here == g->first.n)
		return 0;
	op = &m->table->ops.items[g->first.items[g->n_here]];
	return op_table_fail(m->table, op, m->err,
			     "rank %u has only %zu of the %zu collectives of group "
			     "'%s', and lacks this one",
			     g->rank, g->n_here, g->first.n, group_name(m, group));
}

static int
begin_rank(const struct matcher *m, size_t group, const struct op *op)
{
	struct group *g = &m->groups[group];

	if (check_count(m, group) < 0)
		return -EINVAL;
	if (!g->n_ranks)
		g->ranks = (struct op_ranks){ op->rank, op->rank, 1 };
	else if (g->n_ranks == 1)
		g->ranks.step = op->rank - g->rank;
	else if (op->rank - g->rank != g->ranks.step)
		g->is_uneven = true;
	g->ranks.to = op->rank;
	g->rank = op->rank;
	g->n_ranks++;
	g->n_here = 0;
	return 0;
}

static int
disagree(const struct matcher *m, size_t group, const struct op *op,
	 const struct op *first, size_t number)
{
	return op_table_fail(
		m->table, op, m->err,
		"it is the collective number %zu of group '%s' here: %s of "
		"%.15g bytes; that of rank %u is node %" PRIu64
		" '%s': %s of %.15g bytes",
		number + 1, group_name(m, group), collective_name(op), op->bytes,
		first->rank, first->id, strtab_name(m->table->names, first->name),
		collective_name(first), first->bytes);
}

static int
add_collective(struct matcher *m, uint32_t number)
{
	const struct op *op = &m->table->ops.items[number], *first;
	size_t group = op->group == STRTAB_NONE ? m->n_groups - 1 : op->group;
	struct group *g = &m->groups[group];

	if ((!g->n_ranks || g->rank != op->rank) && begin_rank(m, group, op) < 0)
		return -EINVAL;
	g->has_bytes = g->has_bytes || op->bytes > 0;
	if (g->n_ranks == 1) {
		vec_push(&g->first, number);
		g->n_here++;
		return 0;
	}
	if (g->n_here == g->first.n)
		return op_table_fail(
			m->table, op, m->err,
			"rank %u has only %zu collectives of group '%s', and lacks "
			"this one",
			g->ranks.from, g->first.n, group_name(m, group));
	first = &m->table->ops.items[g->first.items[g->n_here]];
	if (op->collective != first->collective || op->bytes != first->bytes)
		return disagree(m, group, op, first, g->n_here);
	m->vertex_of[number] = g->first.items[g->n_here++];
	return 0;
}

static int
finish_group(const struct matcher *m, size_t group)
{
	const struct group *g = &m->groups[group];
	const struct op *op;

	if (!g->first.n)
		return 0;
	if (check_count(m, group) < 0)
		return -EINVAL;
	op = &m->table->ops.items[g->first.items[0]];
	if (group + 1 == m->n_groups && g->n_ranks != m->table->n_ranks)
		return op_table_fail(m->table, op, m->err,
				     "it names no group, so it is one of all %u ranks, "
				     "but only %u have it",
				     m->table->n_ranks, g->n_ranks);
	if (g->is_uneven && g->has_bytes)
		return op_table_fail(
			m->table, op, m->err,
			"the ranks of group '%s' are at no fixed distance "
			"(%u ranks from %u to %u); expected a group such as "
			"0-3, or 0-12/4: each fourth rank",
			group_name(m, group), g->n_ranks, g->ranks.from, g->ranks.to);
	return 0;
}

/* ---- Messages -------------------------------------------------------------------- */

/* The order of sends, and of the receives that belong to them. */
static int
by_channel(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a;
	const struct op *y = *(const struct op *const *)b;
	bool sends = x->kind == OP_SEND;
	uint32_t kx[3] = { sends ? x->rank : x->peer, sends ? x->peer : x->rank,
			   x->tag };
	uint32_t ky[3] = { sends ? y->rank : y->peer, sends ? y->peer : y->rank,
			   y->tag };

	for (int i = 0; i < 3; i++)
		if (kx[i] != ky[i])
			return kx[i] < ky[i] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool
is_pair(const struct op *send, const struct op *recv)
{
	return send->rank == recv->peer && send->peer == recv->rank &&
	       send->tag == recv->tag;
}

/* The one of the two that has no partner: the one that comes first. */
static int
no_partner(const struct matcher *m, const struct op *send, const struct op *recv)
{
	bool is_send =
		send && (!recv || send->rank < recv->peer ||
			 (send->rank == recv->peer &&
			  (send->peer < recv->rank ||
			   (send->peer == recv->rank && send->tag < recv->tag))));
	const struct op *op = is_send ? send : recv;

	return op_table_fail(
		m->table, op, m->err,
		is_send ? "rank %u has no receive from rank %u with tag %u "
			  "for it"
			: "rank %u has no send to rank %u with tag %u for it",
		op->peer, op->rank, op->tag);
}

static int
match_messages(struct matcher *m)
{
	const struct op *ops = m->table->ops.items;
	VEC(const struct op *) sends = VEC_EMPTY, recvs = VEC_EMPTY;
	int r = 0;

	for (size_t i = 0; i < m->table->ops.n && r == 0; i++) {
		if (ops[i].kind != OP_SEND && ops[i].kind != OP_RECV)
			continue;
		if (ops[i].peer == ops[i].rank || ops[i].peer >= m->table->n_ranks)
			r = op_table_fail(m->table, &ops[i], m->err,
					  "its other rank is %u, expected another one "
					  "of 0 to %u",
					  ops[i].peer, m->table->n_ranks - 1);
		else if (ops[i].kind == OP_SEND)
			vec_push(&sends, &ops[i]);
		else
			vec_push(&recvs, &ops[i]);
	}
	sort_items(sends.items, sends.n, by_channel);
	sort_items(recvs.items, recvs.n, by_channel);
	for (size_t i = 0; r == 0 && (i < sends.n || i < recvs.n); i++) {
		const struct op *send = i < sends.n ? sends.items[i] : NULL;
		const struct op *recv = i < recvs.n ? recvs.items[i] : NULL;

		if (!send || !recv || !is_pair(send, recv))
			r = no_partner(m, send, recv);
		else if (send->bytes != recv->bytes)
			r = op_table_fail(m->table, recv, m->err,
					  "expected %.15g bytes, as rank %u sends by "
					  "node %" PRIu64 ", not %.15g",
					  send->bytes, send->rank, send->id,
					  recv->bytes);
		else
			m->send_of[recv - ops] = (uint32_t)(send - ops);
	}
	vec_free(&sends);
	vec_free(&recvs);
	return r;
}

int
op_match_make(const struct op_table *table, struct op_match *ret_match, struct err *err)
{
	struct matcher m = { .table = table, .err = err };
	int r = 0;

	m.n_groups = strtab_n(table->groups) + (size_t)1;
	m.groups = xcalloc(m.n_groups, sizeof *m.groups);
	m.vertex_of = xcalloc(table->ops.n + 1, sizeof *m.vertex_of);
	ret_match->groups = xcalloc(m.n_groups, sizeof *ret_match->groups);
	ret_match->vertex_of = m.vertex_of;
	m.send_of = xcalloc(table->ops.n + 1, sizeof *m.send_of);
	ret_match->send_of = m.send_of;
	for (uint32_t i = 0; i < table->ops.n; i++)
		m.vertex_of[i] = m.send_of[i] = i;
	for (uint32_t i = 0; i < table->ops.n && r == 0; i++)
		if (table->ops.items[i].kind == OP_COLLECTIVE)
			r = add_collective(&m, i);
	for (size_t g = 0; g < m.n_groups; g++) {
		if (r == 0)
			r = finish_group(&m, g);
		ret_match->groups[g] = m.groups[g].ranks;
		vec_free(&m.groups[g].first);
	}
	free(m.groups);
	if (r == 0)
		r = match_messages(&m);
	if (r < 0)
		op_match_fini(ret_match);
	return r;
}

void
op_match_fini(struct op_match *match)
{
	free(match->vertex_of);
	free(match->send_of);
	free(match->groups);
	memset(match, 0, sizeof *match);
}
