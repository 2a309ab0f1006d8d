/*
 * throughputs.h - how fast models are on types of GPUs: tables of throughputs, as Gavel and
 * Shockwave have them.
 *
 *	{ "v100": { "('ResNet-18 (batch size 16)', 2)": { "null": 41.2, ... }, ... }, ... }
 *
 * is steps a second of a model on so many GPUs of a type, alone; what was measured beside
 * others on the same GPUs is passed over.
 */
#ifndef SIM_REPLAY_THROUGHPUTS_H
#define SIM_REPLAY_THROUGHPUTS_H

#include <stdint.h>

#define THROUGHPUTS_NONE UINT32_MAX

struct err;
struct throughputs;

/* A file, or a member of an archive (lines.h).  0 or -errno with 'err' filled. */
int throughputs_load(const char *path, struct throughputs **ret_speeds,
		     struct err *err);
void throughputs_free(struct throughputs *speeds); /* Accepts NULL. */

/* Numbers of names; THROUGHPUTS_NONE: not in the table.  batch 0: the model has none. */
uint32_t throughputs_type(const struct throughputs *speeds, const char *name);
uint32_t throughputs_key(const struct throughputs *speeds, const char *model,
			 uint32_t batch, uint32_t n_gpus);

/* Steps a second; 0: it was not measured, or cannot run there. */
double throughputs_of(const struct throughputs *speeds, uint32_t type, uint32_t key);

#endif
