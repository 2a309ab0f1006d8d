/* SPDX-License-Identifier: Apache-2.0 */
/*
 * throughputs.h - tables of throughput: steps per second of models on types of GPUs,
 * in the format of Gavel and Shockwave.
 *
 *	{ "v100": { "('ResNet-18 (batch size 16)', 2)": { "null": 41.2, ... }, ... }, ... }
 *
 * is the isolated throughput of a model on a number of GPUs of a type; entries for
 * jobs that share GPUs are ignored.
 */
#ifndef SIM_REPLAY_THROUGHPUTS_H
#define SIM_REPLAY_THROUGHPUTS_H

#include <stdint.h>

#define THROUGHPUTS_NONE UINT32_MAX

struct err;
struct throughputs;

/*
 * A file, or a member of an archive (lines.h). Returns 0 or -errno with 'err' filled.
 */
int throughputs_load(const char *path, struct throughputs **ret_speeds,
		     struct err *err);
void throughputs_free(struct throughputs *speeds); /* Accepts NULL. */

/* Numbers of names; THROUGHPUTS_NONE: not in the table. batch 0: none. */
uint32_t throughputs_type(const struct throughputs *speeds, const char *name);
uint32_t throughputs_key(const struct throughputs *speeds, const char *model,
			 uint32_t batch, uint32_t n_gpus);

/* Steps per second; 0: not measured, or impossible. */
double throughputs_of(const struct throughputs *speeds, uint32_t type, uint32_t key);

#endif
