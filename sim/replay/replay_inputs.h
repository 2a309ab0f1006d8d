/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_inputs.h - the inputs of 'antiphase sim replay', read and checked: policies,
 * cluster, jobs, models, fabric.
 */
#ifndef SIM_REPLAY_REPLAY_INPUTS_H
#define SIM_REPLAY_REPLAY_INPUTS_H

#include "lib/base/cli.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_fabric.h"

struct err;

#define REPLAY_MAX_POLICIES 64

/* Options as given; texts are borrowed, NULL: not given. */
struct replay_args {
	const char *policies, *cluster, *inside, *memory, *place, *semantics, *format,
		*csv, *samples;
	const char *fabric, *models, *augment, *levers, *throughputs, *apps, *progress;
	struct cli_list sets;
	double until_s, round_s, restart_s, resize_s, migrate_s;
	double jitter, moves_per_hour, move_cost_s, memory_factor;
	int64_t seed, model_gpus, iterations;
	bool json, measure;
};

#define REPLAY_MAX_AUGMENTS 16

/* Must not move: 'opts' refers to the rest. */
struct replay_inputs {
	const struct policy_spec *specs[REPLAY_MAX_POLICIES];
	size_t n_specs;
	/* Each policy runs with each of them; one without a fabric. */
	enum fabric_augment augments[REPLAY_MAX_AUGMENTS];
	size_t n_augments;
	struct joblist list; /* Jobs that can run. */
	size_t n_too_large;  /* Jobs with more GPUs than the cluster: left out. */
	struct replay_opts opts;
	/* Owned; zeroed: not used. */
	struct replay_cluster cluster;
	struct replay_speeds speeds;
	struct replay_fabric fabric;
	struct app *apps; /* opts.n_apps of them, for each named type. */
	size_t n_apps;
	double *samples;
};

/*
 * Reads all inputs; 'path' is a trace or a recipe.  Reports left out jobs and random
 * models on stderr.  Returns 0, or -errno with 'err' filled, and nothing to free.
 */
int replay_inputs_read(const struct replay_args *args, const char *path,
		       struct replay_inputs *ret_inputs, struct err *err);
void replay_inputs_fini(struct replay_inputs *inputs);

#endif
