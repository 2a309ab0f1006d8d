/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_heet.c - the type and the number of GPUs of each job, by a price of waiting
 * against scaling efficiency (after Heet, ASPLOS 2024).
 *
 * The price of a configuration of g GPUs for a job is
 *
 *	urgency / r + (jobs / GPUs)^2 (g - r),   urgency = 1 + log2(1 + waited / patience)
 *
 * where r is the job's rate there over its best rate per GPU anywhere, so that 1 / r is
 * the time that its work takes; and g - r are the GPUs lost to imperfect scaling, each at the price of what it
 * would save a job that has an equal share of the GPUs and scales perfectly.  Each round
 *
 *	1. jobs that waited longest for what they were served get a slot: their GPUs, or
 *	   one if they are elastic, of the type with most left
 *	2. jobs and slots of equal size are matched with the least sum of prices
 *	3. GPUs are traded while that lowers the sum: a job takes free GPUs or another
 *	   type; or gets more from one that gets fewer
 *
 * Rates are measured where jobs run; others follow by collaborative filtering
 * (math/factors.h) of rates per GPU, by job, type and number of GPUs.
 */
#include <math.h>
#include <string.h>

#include "policies/configs.h"
#include "policies/math/assign.h"
#include "policies/math/factors.h"
#include "policies/planners.h"

#define N_LEVELS  12  /* Numbers of GPUs, by the nearest power of two. */
#define MAX_ROWS  256 /* Jobs that the filter knows, running and ended. */
#define RIDGE     0.1
#define FORBIDDEN 1e9 /* Price of a slot of another size. */
#define LEAST     1e-3
#define N_TRADES  4 /* Most trades, as a multiple of the jobs. */

enum {
	PATIENCE_S,
	GROWTH,
	MAX_GPUS,
	RESTART_S,
	N_PARAMS,
};

/* A job in this round; 'at' is its configuration, in 'options'. */
struct player {
	uint32_t job;
	double key;
	size_t first, n_options; /* Ascending by type, then by GPUs. */
	size_t at;
};

struct option {
	struct config config;
	double price;
};

struct state {
	double params[N_PARAMS];
	struct configs configs;
	uint32_t n_columns;
	VEC(uint32_t) rows;    /* Jobs, the oldest first. */
	VEC(double) measured;  /* [rows x columns] log(rate / GPU); NAN: not. */
	VEC(double) predicted; /* The same, completed. */
	VEC(uint32_t) row_of;  /* By job; or POL_NONE. */
	VEC(uint32_t) n_tried; /* By job: most GPUs so far. */
	VEC(bool) is_done;     /* By job. */
	bool is_new;           /* A measurement, or a row. */
	VEC(struct player) players;
	VEC(struct option) options;
	VEC(uint32_t) n_left; /* By type. */
	VEC(struct config) slots;
	VEC(double) costs;
	VEC(uint32_t) columns;
	VEC(struct pol_want) wants;
	const struct pol_view *view;
};

static void
init(void *state, const double *params, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	memcpy(s->params, params, sizeof s->params);
	configs_init(&s->configs, cluster);
	s->n_columns = cluster->n_types * N_LEVELS;
}

static void
fini(void *state)
{
	struct state *s = state;

	configs_fini(&s->configs);
	vec_free(&s->rows);
	vec_free(&s->measured);
	vec_free(&s->predicted);
	vec_free(&s->row_of);
	vec_free(&s->n_tried);
	vec_free(&s->is_done);
	vec_free(&s->players);
	vec_free(&s->options);
	vec_free(&s->n_left);
	vec_free(&s->slots);
	vec_free(&s->costs);
	vec_free(&s->columns);
	vec_free(&s->wants);
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	while (s->row_of.n < view->n_ids) {
		vec_push(&s->row_of, POL_NONE);
		vec_push(&s->n_tried, 0);
		vec_push(&s->is_done, false);
	}
	if (event == POL_DONE)
		s->is_done.items[job->id] = true;
}

/* ---- Rates ----------------------------------------------------------------------- */

static uint32_t
column_of(struct config config)
{
	double level = round(log2(config.n_gpus));

	return config.type * N_LEVELS + (uint32_t)fmin(level, N_LEVELS - 1);
}

/* Forgets the oldest job that has ended. */
static void
drop_row(struct state *s)
{
	size_t at = 0, n = s->n_columns;

	while (at < s->rows.n && !s->is_done.items[s->rows.items[at]])
		at++;
	if (at == s->rows.n)
		return;
	s->row_of.items[s->rows.items[at]] = POL_NONE;
	for (size_t i = at + 1; i < s->rows.n; i++) {
		s->rows.items[i - 1] = s->rows.items[i];
		s->row_of.items[s->rows.items[i]]--;
	}
	s->rows.n--;
	memmove(s->measured.items + at * n, s->measured.items + (at + 1) * n,
		(s->rows.n - at) * n * sizeof *s->measured.items);
	s->measured.n -= n;
}

static void
add_row(struct state *s, uint32_t job)
{
	if (s->rows.n >= MAX_ROWS)
		drop_row(s);
	s->row_of.items[job] = (uint32_t)s->rows.n;
	vec_push(&s->rows, job);
	for (uint32_t i = 0; i < s->n_columns; i++)
		vec_push(&s->measured, NAN);
	s->is_new = true;
}

/* Measures the rate of a job where it runs. */
static void
measure(struct state *s, const struct pol_job *job)
{
	const struct pol_speed *speed = &s->view->speed;
	struct config now = configs_now(s->view->cluster, job);
	double rate = 1, *cell;

	if (s->row_of.items[job->id] == POL_NONE)
		add_row(s, job->id);
	if (!now.n_gpus)
		return;
	if (now.n_gpus > s->n_tried.items[job->id])
		s->n_tried.items[job->id] = now.n_gpus;
	if (speed->speed)
		rate = speed->speed(speed->ctx, job, now.n_gpus, now.n_nodes, now.type,
				    NULL, 0);
	rate = log(fmax(rate, 1e-9) / now.n_gpus);
	cell = &s->measured.items[(size_t)s->row_of.items[job->id] * s->n_columns +
				  column_of(now)];
	if (*cell == rate)
		return;
	*cell = rate;
	s->is_new = true;
}

static void
measure_all(struct state *s)
{
	for (uint32_t i = 0; i < s->view->n_jobs; i++)
		measure(s, &s->view->jobs[s->view->ids[i]]);
	if (!s->is_new)
		return;
	s->is_new = false;
	s->predicted.n = 0;
	vec_reserve(&s->predicted, s->measured.n);
	memcpy(s->predicted.items, s->measured.items,
	       s->measured.n * sizeof *s->measured.items);
	s->predicted.n = s->measured.n;
	factors_complete((uint32_t)s->rows.n, s->n_columns, RIDGE, s->predicted.items);
}

/*
 * Rate per GPU.  If the job has tried fewer GPUs of the type, half way (in logarithms)
 * between the filter's and that of the most of these: the filter alone would never let a
 * job try more than jobs that scale badly.
 */
static double
efficiency(const struct state *s, uint32_t job, struct config config)
{
	size_t row = (size_t)s->row_of.items[job] * s->n_columns;
	uint32_t column = column_of(config), first = config.type * N_LEVELS;
	double filtered = s->predicted.items[row + column];

	if (!isnan(s->measured.items[row + column]))
		return exp(filtered);
	while (column > first && isnan(s->measured.items[row + column]))
		column--;
	if (isnan(s->measured.items[row + column]))
		return exp(filtered);
	return exp((filtered + s->measured.items[row + column]) / 2);
}

/* ---- Prices ---------------------------------------------------------------------- */

static double
waited_s(const struct state *s, const struct pol_job *job)
{
	return fmax(0, s->view->now_s - job->submit_s - job->executed_s);
}

/* A move costs more the sooner it follows the last one, and the more there were. */
static double
move_factor(const struct state *s, const struct pol_job *job, struct config config)
{
	struct config now = configs_now(s->view->cluster, job);
	double restart_s = s->params[RESTART_S];
	double here_s = fmax(0, s->view->now_s - job->since_s);
	double age_s = fmax(restart_s, s->view->now_s - job->submit_s);
	double n_restarts = job->n_starts ? job->n_starts - 1 : 0;

	if (!now.n_gpus || restart_s == 0 ||
	    (now.type == config.type && now.n_gpus == config.n_gpus))
		return 1;
	return (1 + restart_s / (restart_s + here_s)) * (age_s + restart_s) /
	       fmax(restart_s, age_s - n_restarts * restart_s);
}

static double
price_of(const struct state *s, const struct pol_job *job, struct config config,
	 double best)
{
	double n = config.n_gpus;
	double rate = n * efficiency(s, job->id, config) / best;
	double urgency = 1 + log2(1 + waited_s(s, job) / s->params[PATIENCE_S]);
	double load = (double)s->view->n_jobs / s->view->cluster->n_all_gpus;

	rate = fmax(rate, LEAST);
	return (urgency / rate + load * load * (n - rate)) *
	       move_factor(s, job, config);
}

static uint32_t
most_gpus(const struct state *s, const struct pol_job *job)
{
	double tried = s->n_tried.items[job->id];
	double most = fmin(job->max_gpus, s->params[MAX_GPUS]);

	return (uint32_t)fmax(1, fmin(most, fmax(1, s->params[GROWTH] * tried)));
}

static void
add_player(struct state *s, const struct pol_job *job)
{
	double runs_s = job->n_pieces ? s->params[PATIENCE_S] : 0, best = 0;
	bool is_elastic = job->max_gpus > job->n_gpus;
	struct player player = {
		.job = job->id,
		.key = (waited_s(s, job) + runs_s) /
		       (fmax(0, job->executed_s) + s->params[PATIENCE_S]),
		.first = s->options.n,
	};
	uint32_t n_types = s->view->cluster->n_types, most = most_gpus(s, job);

	for (size_t i = 0; is_elastic && i < s->configs.all.n; i++)
		if (s->configs.all.items[i].n_gpus <= most)
			vec_push(&s->options,
				 ((struct option){ s->configs.all.items[i], 0 }));
	for (uint32_t type = 0; !is_elastic && type < n_types; type++)
		if (job->n_gpus <= s->configs.n_gpus.items[type])
			vec_push(&s->options,
				 ((struct option){
					 configs_of(&s->configs, type, job->n_gpus),
					 0 }));
	for (size_t i = player.first; i < s->options.n; i++)
		best = fmax(best, efficiency(s, job->id, s->options.items[i].config));
	for (size_t i = player.first; i < s->options.n; i++)
		s->options.items[i].price =
			price_of(s, job, s->options.items[i].config, best);
	player.n_options = s->options.n - player.first;
	vec_push(&s->players, player);
}

/* ---- 1. Slots -------------------------------------------------------------------- */

static int
compare_players(const void *a, const void *b)
{
	const struct player *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* The option with the fewest GPUs on the type with most left; false: none fits. */
static bool
find_slot(struct state *s, struct player *player)
{
	size_t best = SIZE_MAX;

	for (size_t i = player->first; i < player->first + player->n_options; i++) {
		const struct config *config = &s->options.items[i].config;
		const struct config *other =
			best == SIZE_MAX ? NULL : &s->options.items[best].config;

		if (config->n_gpus > s->n_left.items[config->type])
			continue;
		if (!other || config->n_gpus < other->n_gpus ||
		    (config->n_gpus == other->n_gpus &&
		     s->n_left.items[config->type] > s->n_left.items[other->type]))
			best = i;
	}
	if (best == SIZE_MAX)
		return false;
	player->at = best;
	s->n_left.items[s->options.items[best].config.type] -=
		s->options.items[best].config.n_gpus;
	return true;
}

/* Keeps the players that have a slot. */
static void
find_slots(struct state *s)
{
	size_t n = 0;

	s->n_left.n = s->slots.n = 0;
	for (uint32_t type = 0; type < s->view->cluster->n_types; type++)
		vec_push(&s->n_left, s->configs.n_gpus.items[type]);
	if (s->players.n)
		qsort(s->players.items, s->players.n, sizeof *s->players.items,
		      compare_players);
	for (size_t i = 0; i < s->players.n; i++) {
		struct player *player = &s->players.items[i];

		if (!find_slot(s, player))
			continue;
		vec_push(&s->slots, s->options.items[player->at].config);
		s->players.items[n++] = *player;
	}
	s->players.n = n;
}

/* ---- 2. Matching ----------------------------------------------------------------- */

static size_t
option_of(const struct state *s, const struct player *player, struct config config)
{
	for (size_t i = player->first; i < player->first + player->n_options; i++)
		if (s->options.items[i].config.type == config.type &&
		    s->options.items[i].config.n_gpus == config.n_gpus)
			return i;
	return SIZE_MAX;
}

/* Slots of equal size are exchanged: the GPUs of each type still fit. */
static void
match(struct state *s)
{
	size_t n = s->players.n;

	s->costs.n = s->columns.n = 0;
	vec_reserve(&s->costs, n * n);
	vec_reserve(&s->columns, n);
	for (size_t i = 0; i < n; i++) {
		const struct player *player = &s->players.items[i];
		uint32_t size = s->options.items[player->at].config.n_gpus;

		for (size_t k = 0; k < n; k++) {
			size_t at = s->slots.items[k].n_gpus == size
					    ? option_of(s, player, s->slots.items[k])
					    : SIZE_MAX;

			s->costs.items[i * n + k] =
				at == SIZE_MAX ? FORBIDDEN : s->options.items[at].price;
		}
	}
	assign_find((uint32_t)n, (uint32_t)n, s->costs.items, s->columns.items);
	for (size_t i = 0; i < n; i++) {
		struct player *player = &s->players.items[i];

		player->at = option_of(s, player, s->slots.items[s->columns.items[i]]);
	}
}

/* ---- 3. Trades ------------------------------------------------------------------- */

struct trade {
	double gain;
	size_t player, to, other, other_to; /* other SIZE_MAX: free GPUs suffice. */
};

static const struct option *
now_of(const struct state *s, size_t i)
{
	return &s->options.items[s->players.items[i].at];
}

/* The best option of a player within free GPUs. */
static void
try_free(const struct state *s, size_t i, struct trade *best)
{
	const struct player *player = &s->players.items[i];
	const struct option *now = now_of(s, i);

	for (size_t k = player->first; k < player->first + player->n_options; k++) {
		const struct option *to = &s->options.items[k];
		uint32_t n_free = s->n_left.items[to->config.type];
		double gain = now->price - to->price;

		if (to->config.type == now->config.type)
			n_free += now->config.n_gpus;
		if (gain > best->gain && to->config.n_gpus <= n_free)
			*best = (struct trade){ gain, i, k, SIZE_MAX, 0 };
	}
}

/* One step up with the GPUs that another one's step down frees. */
static void
try_other(const struct state *s, size_t i, size_t k, struct trade *best)
{
	const struct player *up = &s->players.items[i], *down = &s->players.items[k];
	const struct option *more = &s->options.items[up->at + 1];
	const struct option *less = &s->options.items[down->at - 1];
	uint32_t n_free;
	double gain;

	if (i == k || up->at + 1 == up->first + up->n_options ||
	    down->at == down->first || more->config.type != now_of(s, i)->config.type ||
	    less->config.type != now_of(s, k)->config.type ||
	    more->config.type != less->config.type)
		return;
	n_free = s->n_left.items[more->config.type] + now_of(s, i)->config.n_gpus +
		 now_of(s, k)->config.n_gpus - less->config.n_gpus;
	gain = now_of(s, i)->price + now_of(s, k)->price - more->price - less->price;
	if (gain > best->gain && more->config.n_gpus <= n_free)
		*best = (struct trade){ gain, i, up->at + 1, k, down->at - 1 };
}

static void
change(struct state *s, size_t i, size_t to)
{
	const struct config *was = &now_of(s, i)->config;
	const struct config *is = &s->options.items[to].config;

	s->n_left.items[was->type] += was->n_gpus;
	s->n_left.items[is->type] -= is->n_gpus;
	s->players.items[i].at = to;
}

static void
trade_all(struct state *s)
{
	for (size_t n = N_TRADES * s->players.n; n; n--) {
		struct trade best = { .gain = 1e-9 };

		for (size_t i = 0; i < s->players.n; i++) {
			try_free(s, i, &best);
			for (size_t k = 0; k < s->players.n; k++)
				try_other(s, i, k, &best);
		}
		if (best.gain <= 1e-9)
			return;
		if (best.other != SIZE_MAX)
			change(s, best.other, best.other_to);
		change(s, best.player, best.to);
	}
}

/* ---- The plan -------------------------------------------------------------------- */

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	s->view = view;
	s->players.n = s->options.n = s->wants.n = 0;
	configs_count(&s->configs, view->cluster);
	measure_all(s);
	for (uint32_t i = 0; i < view->n_jobs; i++)
		add_player(s, &view->jobs[view->ids[i]]);
	find_slots(s);
	match(s);
	trade_all(s);
	for (size_t i = 0; i < s->players.n; i++) {
		const struct option *option = now_of(s, i);
		uint32_t job = s->players.items[i].job;

		vec_push(&s->wants,
			 ((struct pol_want){ .job = job,
					     .n_gpus = option->config.n_gpus,
					     .type = option->config.type,
					     .n_held = view->jobs[job].n_held_gpus }));
		plans->score -= option->price;
	}
	configs_place(&s->configs, view, s->wants.items, (uint32_t)s->wants.n, plans);
	return 1;
}

static const struct pol_param params[] = {
	[PATIENCE_S] = { "heet.patience_s",
			 "the urgency of a job grows by 1 each time its waiting time "
			 "doubles from this, s; running jobs are ahead by it",
			 600, 1e-3, 1e12, false },
	[GROWTH] = { "heet.growth",
		     "most GPUs of a job, as a multiple of what it has had", 2, 1, 1e6,
		     false },
	[MAX_GPUS] = { "heet.max_gpus", "most GPUs of an elastic job", 64, 1, 65535,
		       true },
	[RESTART_S] = { "heet.restart_s", "assumed cost of a restart, s", 30, 0, 1e6,
			false },
	[N_PARAMS] = { 0 },
};

const struct pol_planner planner_heet = {
	.module = { .name = "heet",
		    .text = "types and numbers of GPUs by prices, matching and trades",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
	.by_type = true,
};
