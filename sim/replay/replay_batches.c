/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay_batches.h"

#include <math.h>

#define MAX_EPOCHS 1e6 /* Of a job with phases. */

/* Adds epochs to the last phase of the job, or begins another one. */
static void
add_epochs(struct replay_batches *batches, size_t first, uint32_t batch, double n,
	   double epoch_s)
{
	struct batch_phase *phases = batches->phases.items;
	size_t end = batches->phases.n;

	if (end > first && phases[end - 1].batch == batch)
		phases[end - 1].n_epochs += n;
	else
		vec_push(&batches->phases, ((struct batch_phase){ batch, n, epoch_s }));
}

/* Adds all phases of a job; returns its duration, NAN if it is not known. */
static double
add_phases(struct replay_batches *batches, const struct throughputs *table,
	   uint32_t type, const struct batch_model *model,
	   const struct cluster_job *job)
{
	size_t first = batches->phases.n;
	double n_epochs = job->iterations / (double)batch_steps(model, job->batch);
	double sum_s = 0;

	if (!(n_epochs > 0 && n_epochs <= MAX_EPOCHS))
		return NAN;
	for (double epoch = 0; epoch < n_epochs; epoch++) {
		uint32_t batch =
			batch_of_epoch(model, job->batch_mode, job->batch, job->n_gpus,
				       (int64_t)epoch, (int64_t)ceil(n_epochs));
		uint32_t key = throughputs_key(table, model->name, batch, job->n_gpus);
		double epoch_s = (double)batch_steps(model, batch) /
				 throughputs_of(table, type, key);
		double n = fmin(1, n_epochs - epoch);

		add_epochs(batches, first, batch, n, epoch_s);
		sum_s += n * epoch_s;
	}
	return sum_s;
}

void
replay_batches_add(struct replay_batches *batches, const struct throughputs *table,
		   uint32_t type, const char *model_name, struct cluster_job *job)
{
	const struct batch_model *model = batch_model_find(model_name);
	size_t first = batches->phases.n;

	if (job->batch_mode != BATCH_STATIC && job->batch && model) {
		double duration_s = add_phases(batches, table, type, model, job);

		if (isfinite(duration_s))
			job->duration_s = duration_s;
		else
			batches->phases.n = first;
	}
	vec_push(&batches->ends, (uint32_t)batches->phases.n);
}

void
replay_batches_fini(struct replay_batches *batches)
{
	vec_free(&batches->phases);
	vec_free(&batches->ends);
}

/* The regime of a batch size, which may be a new one. */
static uint32_t
regime_of(struct regimes *regimes, uint32_t *batches, const struct batch_phase *phase)
{
	uint32_t i = 0;

	while (i < regimes->n && batches[i] != phase->batch)
		i++;
	if (i == regimes->n && i < REGIMES_MAX) {
		batches[i] = phase->batch;
		regimes->epoch_s[i] = phase->epoch_s;
		regimes->n++;
	}
	return i < REGIMES_MAX ? i : 0;
}

bool
replay_batches_report(void *ctx, const struct pol_job *job, struct regimes *ret_regimes)
{
	const struct replay_batches *batches = ctx;
	double done_s = fmax(0, job->duration_s - job->remaining_s);
	uint32_t seen[REGIMES_MAX], at, end;
	bool is_now = false;

	if (job->id >= batches->ends.n)
		return false;
	at = job->id ? batches->ends.items[job->id - 1] : 0;
	end = batches->ends.items[job->id];
	if (at == end)
		return false;
	*ret_regimes = (struct regimes){ 0 };
	for (; at < end; at++) {
		const struct batch_phase *phase = &batches->phases.items[at];
		uint32_t i = regime_of(ret_regimes, seen, phase);
		double n = fmin(phase->n_epochs, done_s / phase->epoch_s);

		ret_regimes->n_epochs += phase->n_epochs;
		ret_regimes->n_done[i] += n;
		done_s = fmax(0, done_s - n * phase->epoch_s);
		if (!is_now)
			ret_regimes->now = i;
		is_now |= n < phase->n_epochs;
	}
	return true;
}
