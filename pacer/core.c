/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/core.h"

/* Iterations needed for a period. */
#define N_KNOWN 2

void
core_init(struct core *core, const struct core_options *options)
{
	*core = (struct core){ .options = *options };
	gap_init(&core->gap, options->gap_ns);
}

int64_t
core_period_ns(const struct core *core)
{
	int64_t sorted_ns[CORE_PERIODS];
	uint32_t n = core->n_periods < CORE_PERIODS ? core->n_periods : CORE_PERIODS;

	if (n < N_KNOWN)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i;

		for (; at > 0 && sorted_ns[at - 1] > core->periods_ns[i]; at--)
			sorted_ns[at] = sorted_ns[at - 1];
		sorted_ns[at] = core->periods_ns[i];
	}
	return sorted_ns[n / 2];
}

/* Counts since the last start belong to the previous iteration. */
static void
begin_iteration(struct core *core, int64_t now_ns)
{
	if (core->has_begun && now_ns > core->begin_ns)
		core->periods_ns[core->n_periods++ % CORE_PERIODS] =
			now_ns - core->begin_ns;
	/* Keeps the count far from an overflow. */
	if (core->n_periods >= 2 * CORE_PERIODS)
		core->n_periods -= CORE_PERIODS;
	core->before = core->now;
	core->now = (struct core_sums){ 0 };
	core->enter_ns = core->begin_ns = now_ns;
	core->until_ns = 0;
	core->has_begun = true;
}

bool
core_enter(struct core *core, int64_t now_ns, uint64_t bytes, uint32_t what)
{
	bool is_new = false;

	if (core->has_exit && !core->options.is_explicit)
		is_new = gap_next(&core->gap, now_ns - core->last_exit_ns, what);
	if (is_new)
		begin_iteration(core, now_ns);
	core->now.bytes += bytes;
	core->now.n++;
	return is_new;
}

void
core_iteration(struct core *core, int64_t now_ns)
{
	begin_iteration(core, now_ns);
}

void
core_exit(struct core *core, int64_t begin_ns, int64_t now_ns)
{
	if (now_ns > begin_ns)
		core->now.comm_ns += now_ns - begin_ns;
	core->last_exit_ns = now_ns;
	core->has_exit = true;
}

void
core_order(struct core *core, const struct pace_order *order)
{
	if (order->number == core->last_order)
		return;
	core->last_order = order->number;
	core->order = *order;
	core->has_order = true;
	core->counts.orders++;
}

/* The duration of an order's wait, from the program's arrival. */
static int64_t
wait_of(const struct core *core, const struct pace_order *order, bool *ret_is_absolute)
{
	int64_t wait_ns = order->delay_ns, period_ns = core_period_ns(core);

	*ret_is_absolute = order->not_before_ns > core->enter_ns &&
			   order->not_before_ns - core->enter_ns > wait_ns;
	if (*ret_is_absolute)
		wait_ns = order->not_before_ns - core->enter_ns;
	if (wait_ns > order->max_ns)
		wait_ns = order->max_ns;
	return wait_ns < period_ns ? wait_ns : period_ns;
}

/* The wait of the shift given at the start; used once. */
static int64_t
first_wait(struct core *core, int64_t wait_ns)
{
	const struct pace_order first = {
		.delay_ns = core->options.shift_ns,
		.max_ns = core->options.shift_ns,
	};
	bool is_absolute;
	int64_t first_ns = wait_of(core, &first, &is_absolute);

	core->options.shift_ns = 0;
	if (first_ns <= wait_ns)
		return wait_ns;
	core->is_absolute = false;
	return first_ns;
}

int64_t
core_wait_until_ns(struct core *core)
{
	bool may_wait = !core->options.is_observing &&
			core->counts.iterations >= CORE_FIRST && core_period_ns(core) &&
			(core->options.is_explicit || core->gap.is_learned);
	int64_t wait_ns = 0;

	if (may_wait && core->has_order && core->order.expires_ns >= core->enter_ns)
		wait_ns = wait_of(core, &core->order, &core->is_absolute);
	else
		core->counts.expired += core->has_order;
	/* An order is valid for one iteration only. */
	core->has_order = false;
	if (may_wait && core->options.shift_ns > 0)
		wait_ns = first_wait(core, wait_ns);
	if (wait_ns > 0)
		core->until_ns = core->enter_ns + wait_ns;
	return core->until_ns;
}

static uint32_t
gap_us(const struct core *core)
{
	int64_t us = gap_threshold_ns(&core->gap) / 1000;

	if (core->options.is_explicit)
		return 0;
	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void
core_begun(struct core *core, int64_t now_ns, struct pace_iteration *ret_report)
{
	struct core_counts *counts = &core->counts;

	/* Without a wait the iteration begins at its entry. */
	core->begin_ns =
		core->until_ns && now_ns > core->enter_ns ? now_ns : core->enter_ns;
	if (core->until_ns) {
		int64_t waited_ns = core->begin_ns - core->enter_ns;

		counts->applied++;
		counts->waited_ns += waited_ns;
		if (waited_ns > counts->longest_wait_ns)
			counts->longest_wait_ns = waited_ns;
	}
	*ret_report = (struct pace_iteration){
		.number = counts->iterations++,
		.enter_ns = core->enter_ns,
		.begin_ns = core->begin_ns,
		.comm_ns = core->before.comm_ns,
		.bytes = core->before.bytes,
		.n_collectives = core->before.n,
		.gap_us = gap_us(core),
		.order = core->last_order,
	};
}
