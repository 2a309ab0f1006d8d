/*
 * speeds.h - how fast models are on types of GPUs: tables of throughputs, as Gavel and
 * Shockwave have them.
 *
 *	{ "v100": { "('ResNet-18 (batch size 16)', 2)": { "null": 41.2, ... }, ... }, ... }
 *
 * is steps a second of a model on so many GPUs of a type, alone; what was measured beside
 * others on the same GPUs is passed over.
 */
#ifndef SIM_REPLAY_SPEEDS_H
#define SIM_REPLAY_SPEEDS_H

#include <stdint.h>

#define SPEEDS_NONE UINT32_MAX

struct err;
struct speeds;

/* A file, or a member of an archive (lines.h).  0 or -errno with 'err' filled. */
int speeds_load(const char *path, struct speeds **ret_speeds, struct err *err);
void speeds_free(struct speeds *speeds); /* Accepts NULL. */

/* Numbers of names; SPEEDS_NONE: not in the table.  batch 0: the model has none. */
uint32_t speeds_type(const struct speeds *speeds, const char *name);
uint32_t speeds_key(const struct speeds *speeds, const char *model, uint32_t batch,
		    uint32_t n_gpus);

/* Steps a second; 0: it was not measured, or cannot run there. */
double speeds_of(const struct speeds *speeds, uint32_t type, uint32_t key);

#endif
