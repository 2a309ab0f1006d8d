/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - cycles of interleaved stages. */
#include "policies/stages.h"

#include <math.h>

enum {
	LOAD,
	GPU,
	NETWORK
};

#define N_SLOTS 4 /* Slots of a cycle, one for each possible job. */
#define N_TURNS (2 * N_SLOTS)
#define SAME    1e-3 /* A cycle has settled when it changes by less. */

/* Slowdown by sharing, by number of jobs. */
static const double factors[STAGES_MAX_JOBS + 1] = { 1, 1, 1.33 / 1.015, 1.5 / 1.015,
						     1.37 / 1.015 };

bool
stages_are_known(const struct pol_job *job)
{
	double sum = 0;

	for (int i = 0; i < STAGES_N; i++)
		sum += job->stage_s[i];
	return sum > 0 && sum < INFINITY && job->iteration_s > 0;
}

/* The end of a turn, in which each job runs one stage: when all stages end. */
static double
turn_end_s(const struct pol_job *const *order, uint32_t n, const double *ends_s,
	   uint32_t turn)
{
	uint32_t network = (turn + 1) % N_SLOTS, gpu = (turn + 2) % N_SLOTS,
		 load = (turn + 3) % N_SLOTS;
	double end_s = 0;

	if (network < n)
		end_s = fmax(end_s, ends_s[turn] + order[network]->stage_s[NETWORK]);
	if (gpu < n)
		end_s = fmax(end_s, ends_s[turn] + order[gpu]->stage_s[GPU]);
	/* Data are loaded one turn ahead. */
	if (turn && load < n)
		end_s = fmax(end_s, ends_s[turn - 1] + order[load]->stage_s[LOAD]);
	return end_s;
}

/* Length of a settled cycle. */
static double
cycle_in_order_s(const struct pol_job *const *order, uint32_t n)
{
	double ends_s[N_TURNS + 1] = { 0 };

	for (uint32_t turn = 0; turn < N_TURNS; turn++) {
		double now, before;

		ends_s[turn + 1] = turn_end_s(order, n, ends_s, turn);
		if (turn < N_SLOTS)
			continue;
		now = ends_s[turn + 1] - ends_s[turn + 1 - N_SLOTS];
		before = ends_s[turn] - ends_s[turn - N_SLOTS];
		if (now > 0 && fabs(now - before) <= SAME * fmax(now, before))
			return now;
	}
	return ends_s[N_TURNS] - ends_s[N_TURNS - N_SLOTS];
}

static double
best_order_s(const struct pol_job **order, uint32_t n_fixed, uint32_t n)
{
	double best_s = INFINITY;

	if (n_fixed == n)
		return cycle_in_order_s(order, n);
	for (uint32_t i = n_fixed; i < n; i++) {
		const struct pol_job *job = order[i];

		order[i] = order[n_fixed];
		order[n_fixed] = job;
		best_s = fmin(best_s, best_order_s(order, n_fixed + 1, n));
		order[n_fixed] = order[i];
		order[i] = job;
	}
	return best_s;
}

/* Two jobs need no slots: each loads while the other uses GPU and network. */
static double
two_s(const struct pol_job *a, const struct pol_job *b)
{
	return fmax(a->stage_s[LOAD], b->stage_s[GPU] + b->stage_s[NETWORK]) +
	       fmax(b->stage_s[LOAD], a->stage_s[GPU] + a->stage_s[NETWORK]);
}

double
stages_cycle_s(const struct pol_job *const *jobs, uint32_t n)
{
	const struct pol_job *order[STAGES_MAX_JOBS];
	double cycle_s;

	if (n == 1)
		return STAGES_ISOLATED * jobs[0]->iteration_s;
	for (uint32_t i = 0; i < n; i++)
		order[i] = jobs[i];
	cycle_s = best_order_s(order, 0, n);
	if (n == 2)
		cycle_s = fmin(cycle_s, two_s(jobs[0], jobs[1]));
	return cycle_s * factors[n];
}

double
stages_loading(const struct pol_job *job)
{
	if (!stages_are_known(job))
		return 1;
	return job->stage_s[LOAD] / (job->stage_s[GPU] + job->stage_s[NETWORK]);
}

/* The fewer CPUs, the longer loading takes. */
static double
single_speed(const struct pol_job *job)
{
	double loading = stages_loading(job), cpus = job->given.of[NEED_CPUS];

	if (!(cpus > 0) || !stages_are_known(job))
		return 1;
	if (!(loading < INFINITY))
		return cpus;
	return fmax(loading, 1) / fmax(loading / cpus, 1);
}

/* The number of gaps that a stage fills, and the rest that it takes of one more. */
static double
count_gaps(double stage_s, double gap_s, double *ret_rest_s)
{
	*ret_rest_s = fmod(stage_s, gap_s);
	return floor(stage_s / gap_s);
}

double
stages_owner_turns(const struct pol_job *job, const struct pol_job *owner)
{
	const double *owner_s = owner->stage_s;
	double gpu_s = job->stage_s[GPU], network_s = job->stage_s[NETWORK];
	/* Times in which the owner does not load, use the GPU, use the network. */
	double no_load_s = owner_s[GPU] + owner_s[NETWORK];
	double no_gpu_s = owner_s[LOAD] + owner_s[NETWORK];
	double no_network_s = owner_s[LOAD] + owner_s[GPU];
	double turns, rest_s;

	if (!(no_load_s > 0) || !(no_gpu_s > 0) || !(no_network_s > 0))
		return INFINITY;
	turns = count_gaps(job->stage_s[LOAD], no_load_s, &rest_s);
	if (rest_s > 0) {
		turns++;
		gpu_s -= fmin(gpu_s, fmin(owner_s[NETWORK], no_load_s - rest_s));
	}
	turns += count_gaps(gpu_s, no_gpu_s, &rest_s);
	if (rest_s > 0) {
		turns++;
		if (rest_s < owner_s[LOAD])
			network_s -= fmin(network_s, no_network_s - rest_s);
	}
	turns += count_gaps(network_s, no_network_s, &rest_s);
	return turns + (rest_s > owner_s[LOAD]);
}

static double
opportunistic_speed(const struct pol_job *job, const struct pol_job *const *owners,
		    uint32_t n)
{
	double iteration_s = job->iteration_s;

	for (uint32_t i = 0; i < n; i++) {
		double turns = INFINITY;

		if (stages_are_known(job) && stages_are_known(owners[i]))
			turns = stages_owner_turns(job, owners[i]);
		if (!(turns < INFINITY))
			return 0.5;
		iteration_s = fmax(iteration_s, turns * owners[i]->iteration_s);
	}
	return job->iteration_s / iteration_s;
}

double
stages_speed(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	     uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	const struct pol_job *jobs[STAGES_MAX_JOBS] = { job };
	bool is_known = n_mates < STAGES_MAX_JOBS && stages_are_known(job);

	(void)ctx;
	(void)n_gpus;
	(void)n_nodes;
	(void)type;
	if (!n_mates)
		return single_speed(job);
	if (job->is_opportunistic)
		return opportunistic_speed(job, mates, n_mates);
	for (uint32_t i = 0; is_known && i < n_mates; i++) {
		jobs[i + 1] = mates[i];
		is_known = stages_are_known(mates[i]);
	}
	if (!is_known)
		return 1.0 / (n_mates + 1);
	return STAGES_ISOLATED * job->iteration_s / stages_cycle_s(jobs, n_mates + 1);
}
