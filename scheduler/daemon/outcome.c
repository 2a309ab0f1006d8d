/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/outcome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/hostlist.h"
#include "lib/base/sort.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"

#define MAX_NODES 100000
/* Longer pauses are no iterations: the job did other work. */
#define MAX_ITERATION_US INT64_C(600000000)

const char *const outcome_verdict_names[] = {
	[OUTCOME_TOO_EARLY] = "too_early",
	[OUTCOME_UNHEEDED] = "not_followed",
	[OUTCOME_NO_BEFORE] = "no_before",
	[OUTCOME_LESS] = "less",
	[OUTCOME_AS_ADVISED] = "as_advised",
	[OUTCOME_MORE] = "more",
	NULL,
};

const double outcome_bounds_s[OUTCOME_N_BOUNDS] = { 0.02, 0.05, 0.1, 0.2, 0.5,
						    1,    2,    5,   10,  60 };

void
outcome_fini(struct outcome *outcome)
{
	free(outcome->kept);
	free(outcome->orders);
	free(outcome->nodes);
	*outcome = (struct outcome){ .kept = NULL };
}

/* ---- Iterations ----------------------------------------------------------------------- */

static void
keep(struct outcome *outcome, int64_t begin_ns, int64_t took_us)
{
	if (!outcome->kept)
		outcome->kept = xcalloc(OUTCOME_N_KEPT, sizeof *outcome->kept);
	outcome->kept[outcome->n++ % OUTCOME_N_KEPT] =
		(struct outcome_iteration){ begin_ns, took_us };
}

static void
count(struct outcome *outcome, double took_s)
{
	size_t i = 0;

	while (i < OUTCOME_N_BOUNDS && took_s > outcome_bounds_s[i])
		i++;
	outcome->histogram[i]++;
	outcome->sum_s += took_s;
}

void
outcome_begin(struct outcome *outcome, uint64_t number, int64_t begin_ns)
{
	int64_t took_us = (begin_ns - outcome->begin_ns) / 1000;

	/* Estimates of the traffic are not comparable with a pacer's reports. */
	if (!outcome->has_pacer)
		outcome->n = 0;
	if (outcome->has_begun && number == outcome->number + 1 && took_us > 0 &&
	    took_us <= MAX_ITERATION_US) {
		keep(outcome, outcome->begin_ns, took_us);
		count(outcome, (double)took_us / 1e6);
	}
	outcome->has_begun = outcome->has_pacer = true;
	outcome->number = number;
	outcome->begin_ns = begin_ns;
}

void
outcome_estimate(struct outcome *outcome, int64_t at_ns, int64_t period_us)
{
	if (!outcome->has_pacer && period_us > 0)
		keep(outcome, at_ns, period_us);
}

void
outcome_order(struct outcome *outcome, const struct outcome_order *order)
{
	if (!outcome->orders)
		outcome->orders = xcalloc(OUTCOME_N_ORDERS, sizeof *outcome->orders);
	outcome->orders[outcome->n_orders++ % OUTCOME_N_ORDERS] = *order;
}

size_t
outcome_n_iterations(const struct outcome *outcome)
{
	return outcome->n < OUTCOME_N_KEPT ? outcome->n : OUTCOME_N_KEPT;
}

struct outcome_iteration
outcome_iteration_at(const struct outcome *outcome, size_t i)
{
	return outcome->kept[(outcome->n - outcome_n_iterations(outcome) + i) %
			     OUTCOME_N_KEPT];
}

size_t
outcome_n_orders(const struct outcome *outcome)
{
	return outcome->n_orders < OUTCOME_N_ORDERS ? outcome->n_orders
						    : OUTCOME_N_ORDERS;
}

struct outcome_order
outcome_order_at(const struct outcome *outcome, size_t i)
{
	return outcome->orders[(outcome->n_orders - outcome_n_orders(outcome) + i) %
			       OUTCOME_N_ORDERS];
}

/* Of those that began in [from_ns, to_ns). */
static struct outcome_times
times_of(const struct outcome *outcome, int64_t from_ns, int64_t to_ns)
{
	struct outcome_times times = { .n = 0 };
	size_t n_kept = outcome_n_iterations(outcome);
	double took_us[OUTCOME_N_KEPT];

	for (size_t i = 0; i < n_kept; i++)
		if (outcome->kept[i].begin_ns >= from_ns &&
		    outcome->kept[i].begin_ns < to_ns)
			took_us[times.n++] = (double)outcome->kept[i].took_us;
	if (!times.n)
		return times;
	times.mean_us = llround(stats_mean(took_us, times.n));
	times.error_us = stats_ci95(took_us, times.n);
	stats_sort(took_us, times.n);
	times.p50_us = llround(stats_quantile(took_us, times.n, 0.5));
	times.p99_us = llround(stats_quantile(took_us, times.n, 0.99));
	return times;
}

/* ---- Places --------------------------------------------------------------------------- */

void
outcome_place(struct outcome *outcome, const char *nodes, int64_t at_us,
	      double slowdown, int64_t isolated_us)
{
	char *copy = xstrdup(nodes);

	free(outcome->nodes);
	outcome->nodes = copy;
	outcome->has_place = true;
	outcome->place_at_us = at_us;
	outcome->place_slowdown = slowdown;
	outcome->isolated_us = isolated_us;
	outcome->place_followed = OUTCOME_NOT_KNOWN;
}

struct names {
	VEC(char *) items;
};

static int
add_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	vec_push(&names->items, xstrdup(name));
	return 0;
}

static bool
expand(const char *list, struct names *ret_names)
{
	const char *why;

	*ret_names = (struct names){ VEC_EMPTY };
	if (hostlist_expand(list, MAX_NODES, add_name, ret_names, &why) < 0 ||
	    !ret_names->items.n)
		return false;
	sort_items(ret_names->items.items, ret_names->items.n, sort_by_text);
	return true;
}

static void
names_fini(struct names *names)
{
	for (size_t i = 0; i < names->items.n; i++)
		free(names->items.items[i]);
	vec_free(&names->items);
}

static bool
is_equal(const struct names *a, const struct names *b)
{
	if (a->items.n != b->items.n)
		return false;
	for (size_t i = 0; i < a->items.n; i++)
		if (strcmp(a->items.items[i], b->items.items[i]) != 0)
			return false;
	return true;
}

bool
outcome_runs_on(struct outcome *outcome, const char *nodes)
{
	enum outcome_followed followed = outcome->place_followed;
	struct names advised, actual = { VEC_EMPTY };

	if (!outcome->has_place || followed != OUTCOME_NOT_KNOWN)
		return false;
	if (expand(outcome->nodes, &advised) && expand(nodes, &actual))
		followed = is_equal(&advised, &actual) ? OUTCOME_FOLLOWED
						       : OUTCOME_NOT_FOLLOWED;
	names_fini(&advised);
	names_fini(&actual);
	outcome->place_followed = followed;
	outcome->n_followed += followed == OUTCOME_FOLLOWED;
	return followed != OUTCOME_NOT_KNOWN;
}

double
outcome_slowdown(const struct outcome *outcome, int64_t now_ns)
{
	/* No frame has come yet, so there is no time. */
	int64_t from_ns = now_ns < INT64_MIN + OUTCOME_SPAN_NS
				  ? INT64_MIN
				  : now_ns - OUTCOME_SPAN_NS;
	struct outcome_times times = times_of(outcome, from_ns, INT64_MAX);

	return outcome->isolated_us && times.n >= OUTCOME_N_MIN
		       ? (double)times.mean_us / (double)outcome->isolated_us
		       : 0;
}

/* ---- Shifts --------------------------------------------------------------------------- */

static void
advise(struct outcome *outcome, int64_t now_ns)
{
	outcome->has_shift = true;
	outcome->since_ns = now_ns;
	outcome->n_since = outcome->n;
	outcome->followed_ns = 0;
	outcome->followed = OUTCOME_NOT_KNOWN;
	outcome->before = outcome->after = (struct outcome_times){ .n = 0 };
	outcome->gain = outcome->gain_error = 0;
	outcome->verdict = OUTCOME_TOO_EARLY;
}

static void
check_followed(struct outcome *outcome, int64_t now_ns,
	       const struct outcome_steered *steered)
{
	if (outcome->followed == OUTCOME_FOLLOWED)
		return;
	if (steered->is_steered && steered->begun_ns) {
		outcome->followed = OUTCOME_FOLLOWED;
		outcome->followed_ns = steered->begun_ns;
		outcome->n_followed++;
	} else if (outcome->n - outcome->n_since >= OUTCOME_N_PATIENCE) {
		outcome->followed = OUTCOME_NOT_FOLLOWED;
	}
	if (outcome->followed == OUTCOME_FOLLOWED)
		now_ns = outcome->followed_ns;
	outcome->before = times_of(outcome, now_ns - OUTCOME_SPAN_NS, now_ns);
}

static enum outcome_verdict
judge(struct outcome *outcome)
{
	const struct outcome_times *before = &outcome->before, *after = &outcome->after;

	if (outcome->followed != OUTCOME_FOLLOWED)
		return outcome->followed == OUTCOME_NOT_FOLLOWED ? OUTCOME_UNHEEDED
								 : OUTCOME_TOO_EARLY;
	if (before->n < OUTCOME_N_MIN)
		return OUTCOME_NO_BEFORE;
	if (after->n < OUTCOME_N_MIN)
		return OUTCOME_TOO_EARLY;
	outcome->gain = 1 - (double)after->mean_us / (double)before->mean_us;
	outcome->gain_error =
		hypot(after->error_us / (double)before->mean_us,
		      before->error_us * (double)after->mean_us /
			      (double)before->mean_us / (double)before->mean_us);
	if (outcome->gain + outcome->gain_error < outcome->gain_low)
		return OUTCOME_LESS;
	return outcome->gain - outcome->gain_error > outcome->gain_high
		       ? OUTCOME_MORE
		       : OUTCOME_AS_ADVISED;
}

bool
outcome_step(struct outcome *outcome, int64_t now_ns,
	     const struct outcome_steered *steered)
{
	enum outcome_followed followed = outcome->followed;
	enum outcome_verdict verdict = outcome->verdict;
	bool is_new = false;

	if (!steered->is_advised) {
		outcome->has_ended = outcome->has_shift;
		return false;
	}
	if (!outcome->has_shift || outcome->has_ended) {
		advise(outcome, now_ns);
		outcome->has_ended = false;
		is_new = true;
	}
	/* Once the advice is followed, the comparison is with the gain advised then. */
	if (outcome->followed != OUTCOME_FOLLOWED) {
		outcome->gain_low = steered->gain_low;
		outcome->gain_high = steered->gain_high;
	}
	check_followed(outcome, now_ns, steered);
	if (outcome->followed == OUTCOME_FOLLOWED) {
		int64_t from_ns = now_ns - OUTCOME_SPAN_NS;

		outcome->after = times_of(
			outcome,
			from_ns > outcome->followed_ns ? from_ns : outcome->followed_ns,
			INT64_MAX);
	}
	outcome->verdict = judge(outcome);
	return is_new || followed != outcome->followed || verdict != outcome->verdict;
}
