/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/rollout.h"

#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/control/control_constants.h"

#define SEED UINT64_C(0x74757273)

enum state {
	COMPUTING,
	WAITING,
	SENDING,
};

struct player {
	enum state state;
	double due_ns;  /* Computes until then, or has waited since then. */
	double left_ns; /* Remaining time to send, in isolation. */
	double first_ns, last_ns;
	unsigned n_done;
};

struct play {
	const struct rollout_job *jobs;
	size_t n;
	const double *overload;
	const struct rollout *rollout;
	double warm_up_ns, now_ns;
	struct rng rng;
	struct player players[ROLLOUT_MAX_JOBS];
};

static double
draw_compute_ns(struct play *p, size_t i)
{
	return fmax(0, p->jobs[i].compute_ns + p->jobs[i].sd_ns * rng_normal(&p->rng));
}

static double
rate(const struct play *p, size_t i)
{
	double others = 0;

	for (size_t j = 0; j < p->n; j++)
		if (j != i && p->players[j].state == SENDING)
			others += p->overload[i * p->n + j];
	return 1 / (1 + others);
}

static bool
may_send(const struct play *p, size_t i)
{
	double most_ns = p->rollout->patience * p->jobs[i].send_ns;
	double waited_ns = p->now_ns - p->players[i].due_ns;

	for (size_t j = 0; j < p->n; j++) {
		const struct player *other = &p->players[j];

		if (j != i && other->state == SENDING &&
		    p->rollout->takes_turns[i * p->n + j] &&
		    waited_ns + other->left_ns / rate(p, j) <= most_ns)
			return false;
	}
	return true;
}

/* Releases waiting jobs, in order of arrival. */
static void
let_go(struct play *p)
{
	for (;;) {
		size_t best = p->n;

		for (size_t i = 0; i < p->n; i++)
			if (p->players[i].state == WAITING && may_send(p, i) &&
			    (best == p->n ||
			     p->players[i].due_ns < p->players[best].due_ns))
				best = i;
		if (best == p->n)
			return;
		p->players[best].state = SENDING;
		p->players[best].left_ns = p->jobs[best].send_ns;
	}
}

/* Advances to the next end of computing or sending. */
static void
step(struct play *p)
{
	double rates[ROLLOUT_MAX_JOBS], next_ns = INFINITY, passed_ns;

	for (size_t i = 0; i < p->n; i++) {
		const struct player *player = &p->players[i];

		rates[i] = player->state == SENDING ? rate(p, i) : 0;
		if (player->state == COMPUTING)
			next_ns = fmin(next_ns, player->due_ns);
		else if (player->state == SENDING)
			next_ns = fmin(next_ns, p->now_ns + player->left_ns / rates[i]);
	}
	passed_ns = next_ns - p->now_ns;
	p->now_ns = next_ns;
	for (size_t i = 0; i < p->n; i++) {
		struct player *player = &p->players[i];

		if (player->state == COMPUTING && player->due_ns <= p->now_ns)
			player->state = WAITING;
		if (player->state != SENDING)
			continue;
		player->left_ns -= passed_ns * rates[i];
		if (player->left_ns > 1)
			continue;
		player->state = COMPUTING;
		player->due_ns = p->now_ns + draw_compute_ns(p, i);
		if (p->now_ns < p->warm_up_ns)
			continue;
		if (player->first_ns <= 0)
			player->first_ns = p->now_ns;
		else
			player->n_done++;
		player->last_ns = p->now_ns;
	}
	let_go(p);
}

static double
isolated_ns(const struct rollout_job *job)
{
	return job->compute_ns + job->send_ns;
}

void
rollout_play(const struct rollout_job *jobs, size_t n, const double *overload,
	     const struct rollout *rollout, double *ret_slowdown)
{
	struct play p = {
		.jobs = jobs, .n = n, .overload = overload, .rollout = rollout
	};
	double until_ns = 0;

	for (size_t i = 0; i < n; i++) {
		ret_slowdown[i] = 0;
		until_ns = fmax(until_ns, ROLLOUT_ITERATIONS * isolated_ns(&jobs[i]));
	}
	p.warm_up_ns = until_ns / 4;
	rng_init(&p.rng, SEED);
	for (int draw = 0; draw < ROLLOUT_DRAWS; draw++) {
		p.now_ns = 0;
		memset(p.players, 0, sizeof p.players);
		for (size_t i = 0; i < n; i++)
			p.players[i].due_ns =
				rng_uniform(&p.rng) * isolated_ns(&jobs[i]);
		for (int k = 0; k < ROLLOUT_MAX_EVENTS && p.now_ns < until_ns; k++)
			step(&p);
		for (size_t i = 0; i < n; i++) {
			const struct player *player = &p.players[i];

			ret_slowdown[i] +=
				player->n_done
					? (player->last_ns - player->first_ns) /
						  player->n_done /
						  isolated_ns(&jobs[i]) / ROLLOUT_DRAWS
					: 1.0 / ROLLOUT_DRAWS;
		}
	}
}

/* The mean; INFINITY if a job is harmed compared with 'free'. */
static double
judge(const double *slowdown, const double *free, size_t n)
{
	double sum = 0, worst = 0, worst_free = 0;

	for (size_t i = 0; i < n; i++) {
		if (free && slowdown[i] > free[i] + ROLLOUT_MAX_HARM)
			return INFINITY;
		worst = fmax(worst, slowdown[i]);
		worst_free = free ? fmax(worst_free, free[i]) : INFINITY;
		sum += slowdown[i];
	}
	return worst > worst_free + ROLLOUT_MAX_WORST ? INFINITY : sum / (double)n;
}

/* True if the two would gain without other jobs. */
static bool
pays_as_a_pair(const struct rollout_job *a, const struct rollout_job *b,
	       double overload)
{
	static const struct rollout share = { .patience = INFINITY };
	static const struct rollout turns = {
		.takes_turns = { false, true, true, false }, .patience = INFINITY
	};
	const struct rollout_job jobs[2] = { *a, *b };
	const double both[4] = { 0, overload, overload, 0 };
	double slowdown[2], free[2];

	rollout_play(jobs, 2, both, &share, free);
	rollout_play(jobs, 2, both, &turns, slowdown);
	return judge(slowdown, free, 2) < judge(free, NULL, 2) - ROLLOUT_MIN_GAIN;
}

static void
all_pairs(const double *overload, size_t n, double patience,
	  struct rollout *ret_rollout)
{
	*ret_rollout = (struct rollout){ .patience = patience };
	for (size_t i = 0; i < n * n; i++)
		ret_rollout->takes_turns[i] = overload[i] > 0;
}

static void
paying_pairs(const struct rollout_job *jobs, size_t n, const double *overload,
	     struct rollout *ret_rollout)
{
	*ret_rollout = (struct rollout){ .patience = INFINITY };
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			ret_rollout->takes_turns[i * n + j] =
				ret_rollout->takes_turns[j * n + i] =
					overload[i * n + j] > 0 &&
					pays_as_a_pair(&jobs[i], &jobs[j],
						       overload[i * n + j]);
}

void
rollout_choose(const struct rollout_job *jobs, size_t n, const double *overload,
	       struct rollout *ret_rollout)
{
	static const double gains[] = { ROLLOUT_MIN_GAIN, ROLLOUT_PART_GAIN,
					ROLLOUT_PART_GAIN };
	struct rollout candidates[3];
	double slowdown[ROLLOUT_MAX_JOBS] = { 0 }, free[ROLLOUT_MAX_JOBS] = { 0 }, best;
	bool is_chosen = false;

	*ret_rollout = (struct rollout){ .patience = INFINITY };
	rollout_play(jobs, n, overload, ret_rollout, free);
	best = judge(free, NULL, n);
	all_pairs(overload, n, INFINITY, &candidates[0]);
	all_pairs(overload, n, 1, &candidates[1]);
	paying_pairs(jobs, n, overload, &candidates[2]);
	for (int c = 0; c < 3; c++) {
		double mean;

		rollout_play(jobs, n, overload, &candidates[c], slowdown);
		mean = judge(slowdown, free, n);
		if (mean < best - gains[c]) {
			best = mean;
			*ret_rollout = candidates[c];
			memcpy(ret_rollout->slowdown, slowdown, sizeof slowdown);
			is_chosen = true;
		}
	}
	memcpy(ret_rollout->free_slowdown, free, sizeof free);
	if (!is_chosen)
		memcpy(ret_rollout->slowdown, free, sizeof free);
}
