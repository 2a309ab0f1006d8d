/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/op_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/workload.h"

struct writer {
	const struct op_table *table;
	const struct op_graph *graph;
	struct rank_layout layout; /* Size 0: no such groups. */
	size_t *first;             /* By step, and one more: its first segment. */
	bool *is_named;            /* By step: a segment's 'needs' names it. */
	struct strtab *names;      /* Of the segments. */
	uint32_t *name_of;         /* By segment. */
};

/* ---- Groups ---------------------------------------------------------------------- */

static uint32_t
n_of(const struct op_ranks *ranks)
{
	return (ranks->to - ranks->from) / ranks->step + 1;
}

static bool
is_collective(const struct op_step *step)
{
	return step->op->kind == OP_COLLECTIVE;
}

/* Whether groups of 'size' ranks, 'distance' apart, divide 'n' ranks evenly. */
static bool
fits(uint64_t n, uint64_t distance, uint64_t size)
{
	return n % (distance * size) == 0;
}

/* The smallest, or largest, size of groups with ranks at 'distance'; 0: none. */
static uint32_t
find_size(const struct writer *w, uint32_t distance, bool wants_largest)
{
	uint32_t best = 0;

	for (size_t i = 0; i < w->graph->n; i++) {
		const struct op_step *step = &w->graph->steps[i];
		uint32_t size;

		if (!is_collective(step) || step->groups[0].step != distance)
			continue;
		size = n_of(&step->groups[0]);
		if (!fits(w->table->n_ranks, distance, size))
			continue;
		if (!best || (wants_largest ? size > best : size < best))
			best = size;
	}
	return best;
}

/*
 * tp is the size of groups of consecutive ranks if other groups have ranks that far
 * apart; else all groups are dp.
 */
static void
find_layout(struct writer *w)
{
	uint32_t *size = w->layout.size, tp = find_size(w, 1, false), dp;

	dp = tp ? find_size(w, tp, true) : 0;
	if (!dp || !fits(w->table->n_ranks, tp, dp)) {
		dp = find_size(w, 1, true);
		tp = 1;
	}
	if (!dp)
		return;
	size[RANK_GROUP_TP] = tp;
	size[RANK_GROUP_DP] = dp;
	size[RANK_GROUP_PP] = w->table->n_ranks / (tp * dp);
	for (size_t i = 0; i < w->graph->n; i++) {
		const struct op_step *step = &w->graph->steps[i];

		if (is_collective(step) && step->groups[0].step == tp &&
		    n_of(&step->groups[0]) < dp && dp % n_of(&step->groups[0]) == 0)
			size[RANK_GROUP_EP] = n_of(&step->groups[0]);
	}
}

/* The kind of groups that those of a step are, all of them; or N_RANK_GROUPS. */
static enum rank_group
kind_of(const struct writer *w, const struct op_step *step)
{
	static const enum rank_group kinds[] = { RANK_GROUP_TP, RANK_GROUP_DP,
						 RANK_GROUP_EP };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint32_t size = w->layout.size[kinds[i]],
			 tp = w->layout.size[RANK_GROUP_TP];
		uint32_t distance = kinds[i] == RANK_GROUP_TP ? 1 : tp;
		bool is_all = size > 1 && step->groups[0].step == distance &&
			      n_of(&step->groups[0]) == size &&
			      step->n_groups == w->table->n_ranks / size;

		/* As no first rank is there twice, aligned ones are all. */
		for (size_t k = 0; k < step->n_groups && is_all; k++)
			is_all = step->groups[k].from / distance % size == 0;
		if (is_all)
			return kinds[i];
	}
	return N_RANK_GROUPS;
}

/* ---- Names ----------------------------------------------------------------------- */

/* A name of the operation that segments may have, unique. */
static uint32_t
make_name(struct writer *w, const struct op_step *step)
{
	const char *text = strtab_name(w->table->names, step->op->name);
	char base[OP_MAX_NAME - 7], name[OP_MAX_NAME + 1];
	size_t n = 0;

	for (; *text && n + 1 < sizeof base; text++) {
		char c[2] = { *text, '\0' };

		base[n++] = words_is_name(c, 1) ? *text : '_';
	}
	base[n] = '\0';
	snprintf(name, sizeof name, "%s", n ? base : "step");
	for (unsigned i = 2; strtab_find(w->names, name) != STRTAB_NONE; i++)
		snprintf(name, sizeof name, "%s-%u", n ? base : "step", i);
	return strtab_intern(w->names, name);
}

/* Whether a segment follows the one before it and so needs no 'needs'. */
static bool
follows(const struct writer *w, size_t step, size_t segment)
{
	const struct op_step *s = &w->graph->steps[step];

	if (!segment)
		return true;
	return s->n_needs == 1 && segment == w->first[step] &&
	       w->first[s->needs[0]] + 1 == segment &&
	       w->first[s->needs[0] + 1] == segment;
}

static void
make_names(struct writer *w)
{
	size_t n = w->graph->n;

	strtab_intern(w->names, "start"); /* What no segment may have. */
	for (size_t i = 0; i < n; i++)
		for (size_t s = w->first[i]; s < w->first[i + 1]; s++)
			for (size_t k = 0; k < w->graph->steps[i].n_needs; k++)
				if (!follows(w, i, s))
					w->is_named[w->graph->steps[i].needs[k]] = true;
	for (size_t i = 0; i < n; i++)
		for (size_t s = w->first[i]; w->is_named[i] && s < w->first[i + 1]; s++)
			w->name_of[s] = make_name(w, &w->graph->steps[i]);
}

/* ---- Text ------------------------------------------------------------------------ */

static void
put_time(struct strbuf *text, int64_t ns)
{
	if (ns >= 1000000)
		strbuf_printf(text, "%.15g ms", (double)ns / 1e6);
	else
		strbuf_printf(text, "%.15g us", (double)ns / 1e3);
}

static void
put_bytes(struct strbuf *text, double bytes)
{
	if (bytes >= 1e6)
		strbuf_printf(text, "%.15g MB", bytes / 1e6);
	else
		strbuf_printf(text, "%.15g B", bytes);
}

/* "over dp", "over 0-12/4", "0->4". */
static void
put_ranks(const struct writer *w, const struct op_step *step, size_t group,
	  struct strbuf *text)
{
	const struct op_ranks *ranks = &step->groups[group];
	enum rank_group kind;

	if (!is_collective(step)) {
		strbuf_printf(text, " %u->%u", ranks->from, ranks->to);
		return;
	}
	kind = kind_of(w, step);
	if (kind < N_RANK_GROUPS)
		strbuf_printf(text, " over %s", rank_group_names[kind]);
	else
		strbuf_printf(text, " over %u-%u", ranks->from, ranks->to);
	if (kind == N_RANK_GROUPS && ranks->step > 1)
		strbuf_printf(text, "/%u", ranks->step);
}

static void
put_needs(const struct writer *w, const struct op_step *step, struct strbuf *text)
{
	const char *separator = " needs ";

	if (!step->n_needs)
		strbuf_puts(text, " needs start");
	for (size_t k = 0; k < step->n_needs; k++)
		for (size_t s = w->first[step->needs[k]];
		     s < w->first[step->needs[k] + 1]; s++) {
			strbuf_printf(text, "%s%s", separator,
				      strtab_name(w->names, w->name_of[s]));
			separator = ", ";
		}
}

static void
put_segment(const struct writer *w, size_t i, size_t segment, struct strbuf *text)
{
	const struct op_step *step = &w->graph->steps[i];

	strbuf_puts(text, "segment = ");
	if (w->is_named[i])
		strbuf_printf(text, "%s: ", strtab_name(w->names, w->name_of[segment]));
	if (step->op->kind == OP_COMPUTE) {
		strbuf_puts(text, "compute ");
		put_time(text, step->ns);
	} else {
		strbuf_printf(text, "%s ",
			      is_collective(step)
				      ? collective_op_names[step->op->collective - 1]
				      : "send");
		put_bytes(text, step->bytes);
		put_ranks(w, step, segment - w->first[i], text);
	}
	if (!follows(w, i, segment))
		put_needs(w, step, text);
	strbuf_putc(text, '\n');
}

static void
put_heading(const struct writer *w, const struct op_scenario_options *options,
	    struct strbuf *text)
{
	const struct op_table *table = w->table;
	bool uses[N_RANK_GROUPS + 1] = { false };

	strbuf_printf(text, "; %zu operation%s of %u rank%s\n", table->ops.n,
		      words_plural(table->ops.n), table->n_ranks,
		      words_plural(table->n_ranks));
	if (options->generate)
		strbuf_printf(text, "\n[fabric]\ngenerate = %s\n", options->generate);
	strbuf_printf(text, "\n[job %s]\n", options->job);
	if (options->hosts)
		strbuf_printf(text, "hosts = %s\n", options->hosts);
	else
		strbuf_printf(text, "nodes = %u\n", table->n_ranks / options->slots);
	if (options->slots > 1)
		strbuf_printf(text, "slots = %u\n", options->slots);
	for (size_t i = 0; i < w->graph->n; i++)
		if (is_collective(&w->graph->steps[i]))
			uses[kind_of(w, &w->graph->steps[i])] = true;
	if (!uses[RANK_GROUP_TP] && !uses[RANK_GROUP_DP] && !uses[RANK_GROUP_EP])
		return;
	if (w->layout.size[RANK_GROUP_TP] > 1)
		strbuf_printf(text, "tp = %u\n", w->layout.size[RANK_GROUP_TP]);
	if (w->layout.size[RANK_GROUP_PP] > 1)
		strbuf_printf(text, "pp = %u\n", w->layout.size[RANK_GROUP_PP]);
	strbuf_printf(text, "dp = %u\n", w->layout.size[RANK_GROUP_DP]);
	if (uses[RANK_GROUP_EP])
		strbuf_printf(text, "ep = %u\n", w->layout.size[RANK_GROUP_EP]);
}

static int
check(const struct writer *w, const struct op_scenario_options *options,
      struct err *err)
{
	const char *file = strtab_name(w->table->files, 0);
	size_t n = w->first[w->graph->n];

	if (!n)
		return err_set(err, file, 0, 0,
			       "no operation takes time or sends bytes; expected "
			       "durations of computing or sizes of messages");
	if (w->table->n_ranks % options->slots)
		return err_set(err, file, 0, 0,
			       "%u ranks do not fill hosts of %u slots",
			       w->table->n_ranks, options->slots);
	if (n > WORK_MAX_SEGMENTS) {
		err_set(err, file, 0, 0,
			"%zu segments, and a job has at most %d; import one "
			"iteration of the trace, or fewer ranks",
			n, WORK_MAX_SEGMENTS);
		return -E2BIG;
	}
	for (size_t i = 0; i < w->graph->n; i++) {
		const struct op_step *step = &w->graph->steps[i];

		if (step->ns > OP_MAX_DURATION || step->bytes > WORK_MAX_BYTES)
			return op_table_fail(w->table, step->op, err,
					     "merged with what follows it, it is above "
					     "an hour or 1000 TB; import one iteration "
					     "of the trace");
		if (step->bytes > 0 && step->bytes < 1)
			return op_table_fail(w->table, step->op, err,
					     "expected a size of at least 1 B");
	}
	return 0;
}

int
op_scenario_write(const struct op_table *table, const struct op_graph *graph,
		  const struct op_scenario_options *options, struct strbuf *text,
		  struct err *err)
{
	struct writer w = { .table = table, .graph = graph };
	size_t n = 0;
	int r;

	find_layout(&w);
	w.first = xcalloc(graph->n + 1, sizeof *w.first);
	w.is_named = xcalloc(graph->n + 1, sizeof *w.is_named);
	for (size_t i = 0; i < graph->n; i++) {
		const struct op_step *step = &graph->steps[i];

		w.first[i] = n;
		if (step->op->kind == OP_COMPUTE ||
		    (is_collective(step) && kind_of(&w, step) < N_RANK_GROUPS))
			n++;
		else
			n += step->n_groups;
	}
	w.first[graph->n] = n;
	w.name_of = xcalloc(n + 1, sizeof *w.name_of);
	w.names = strtab_new();
	r = check(&w, options, err);
	if (r == 0) {
		make_names(&w);
		put_heading(&w, options, text);
		for (size_t i = 0; i < graph->n; i++)
			for (size_t s = w.first[i]; s < w.first[i + 1]; s++)
				put_segment(&w, i, s, text);
	}
	strtab_free(w.names);
	free(w.first);
	free(w.is_named);
	free(w.name_of);
	return r;
}
