/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/passes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/daemon/metrics.h"

#define OTHER "other"

static const double passes_bounds_s[PASSES_N_BOUNDS] = { 0.001, 0.002, 0.005, 0.01,
							 0.02,  0.05,  0.1,   0.5 };

static struct passes_time
since(struct passes_time began, struct passes_time now)
{
	return (struct passes_time){ now.wall_ns - began.wall_ns,
				     now.cpu_ns - began.cpu_ns };
}

static int64_t
larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct passes_time
most_of(struct passes_time a, struct passes_time b)
{
	return (struct passes_time){ larger(a.wall_ns, b.wall_ns),
				     larger(a.cpu_ns, b.cpu_ns) };
}

static void
add(struct passes_part *part, struct passes_time took)
{
	part->n++;
	part->sum.wall_ns += took.wall_ns;
	part->sum.cpu_ns += took.cpu_ns;
	part->most = most_of(part->most, took);
}

static void
turn(struct passes_part *part, int64_t n_spans)
{
	part->last_most = n_spans == 1 ? part->most : (struct passes_time){ 0 };
	part->most = (struct passes_time){ 0 };
}

static void
begin_span(struct passes *passes, int64_t now_ns)
{
	int64_t n = (now_ns - passes->span_ns) / PASSES_SPAN_NS;

	if (n < 1)
		return;
	passes->span_ns += n * PASSES_SPAN_NS;
	turn(&passes->all, n);
	for (size_t i = 0; i < passes->n_parts; i++)
		turn(&passes->parts[i], n);
}

static struct passes_part *
find(struct passes *passes, const char *name)
{
	struct passes_part *part = passes->parts;

	for (size_t i = 0; i < passes->n_parts; i++, part++)
		if (part->name == name || strcmp(part->name, name) == 0)
			return part;
	if (passes->n_parts == PASSES_MAX_PARTS)
		return part - 1;
	part->name = name;
	passes->n_parts++;
	return part;
}

void
passes_begin(struct passes *passes, struct passes_time now)
{
	begin_span(passes, now.wall_ns);
	passes->began = passes->part_began = now;
	passes->at = find(passes, OTHER);
}

void
passes_part(struct passes *passes, const char *name, struct passes_time now)
{
	if (!passes->at || strcmp(passes->at->name, name) == 0)
		return;
	add(passes->at, since(passes->part_began, now));
	passes->at = find(passes, name);
	passes->part_began = now;
}

void
passes_end(struct passes *passes, struct passes_time now)
{
	struct passes_time took = since(passes->began, now);
	size_t i = 0;

	add(passes->at, since(passes->part_began, now));
	add(&passes->all, took);
	while (i < PASSES_N_BOUNDS && (double)took.wall_ns / 1e9 > passes_bounds_s[i])
		i++;
	passes->counts[i]++;
	passes->at = NULL;
}

/* ---- As metrics ------------------------------------------------------------------ */

/* Writes the longest run of each part. */
static void
write_parts(const struct passes *passes, bool is_cpu, struct metrics *m)
{
	for (size_t i = 0; i < passes->n_parts; i++) {
		const struct passes_part *part = &passes->parts[i];
		struct passes_time most = most_of(part->most, part->last_most);

		metrics_sample(m, (double)(is_cpu ? most.cpu_ns : most.wall_ns) / 1e9,
			       "part", part->name, NULL);
	}
}

void
passes_write(const struct passes *passes, const char *prefix, struct metrics *m)
{
	struct passes_time most = most_of(passes->all.most, passes->all.last_most);
	char name[96];

#define NAME(rest) (snprintf(name, sizeof name, "%s_loop_" rest, prefix), name)
	metrics_family(m, NAME("pass_seconds"), METRICS_HISTOGRAM,
		       "Passes of the program's loop; a request waits for the end of "
		       "the current pass.");
	metrics_histogram(m, passes_bounds_s, passes->counts, PASSES_N_BOUNDS,
			  (double)passes->all.sum.wall_ns / 1e9, NULL, NULL);
	metrics_gauge(m, NAME("longest_pass_seconds"), (double)most.wall_ns / 1e9,
		      "The longest pass of this minute and the one before.");
	metrics_gauge(m, NAME("longest_pass_cpu_seconds"), (double)most.cpu_ns / 1e9,
		      "The longest pass of this minute and the one before, in CPU "
		      "time.");
	metrics_family(m, NAME("part_cpu_seconds_total"), METRICS_COUNTER,
		       "CPU time of a part of the program.");
	for (size_t i = 0; i < passes->n_parts; i++)
		metrics_sample(m, (double)passes->parts[i].sum.cpu_ns / 1e9, "part",
			       passes->parts[i].name, NULL);
	metrics_family(m, NAME("longest_part_seconds"), METRICS_GAUGE,
		       "The longest turn of a part in this minute and the one before.");
	write_parts(passes, false, m);
	metrics_family(m, NAME("longest_part_cpu_seconds"), METRICS_GAUGE,
		       "The longest turn of a part in this minute and the one before, "
		       "in CPU time.");
	write_parts(passes, true, m);
#undef NAME
	m->family = NULL;
}
