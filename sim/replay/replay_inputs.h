/*
 * replay_inputs.h - what 'antiphase sim replay' is given, read and checked: policies, a
 * cluster, the jobs and what they train, a fabric.
 */
#ifndef SIM_REPLAY_REPLAY_INPUTS_H
#define SIM_REPLAY_REPLAY_INPUTS_H

#include "lib/base/cli.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_fabric.h"

struct err;

#define REPLAY_MAX_POLICIES 32

/* As given; texts are borrowed, and NULL where none is. */
struct replay_args {
	const char *policies, *cluster, *place, *semantics, *format, *csv, *samples;
	const char *fabric, *models, *augment, *throughputs, *apps, *progress;
	struct cli_list sets;
	double until_s, round_s, restart_s, jitter;
	int64_t seed, model_gpus, iterations;
	bool json, measure;
};

/* Stays where it is: 'opts' refers to the rest. */
struct replay_inputs {
	const struct policy_spec *specs[REPLAY_MAX_POLICIES];
	size_t n_specs;
	struct joblist list; /* Those that can be run. */
	size_t n_too_large; /* Jobs that want more than the cluster's GPUs: left out. */
	struct replay_opts opts;
	/* Owned; zeroed if there are none. */
	struct replay_cluster cluster;
	struct replay_speeds speeds;
	struct replay_fabric fabric;
	struct app *apps; /* opts.n_apps of them. */
	double *samples;
};

/*
 * Reads all that is named, of jobs the file 'path', a trace or a recipe, and says on stderr
 * what of it is left out or drawn.  0, or -errno with 'err' filled; nothing is left to be
 * freed, then.
 */
int replay_inputs_read(const struct replay_args *args, const char *path,
		       struct replay_inputs *ret_inputs, struct err *err);
void replay_inputs_fini(struct replay_inputs *inputs);

#endif
