/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_model.h - iterations of known training models, for jobs without a profile.
 *
 *	{ "schema": "antiphase.model/1", "model": "vgg16", "also": ["vgg-16"],
 *	  "text": "image classification", "parameters": 138357544,
 *	  "largest_tensor": 102760448,
 *	  "batch": 16, "gpu": "V100", "collective": "ring",
 *	  "segments": ["compute 107 ms", "allreduce 553430176 B"],
 *	  "sources": { "parameters": "...", "largest_tensor": "...", "batch": "...",
 *	               "compute": "...", "traffic": "..." } }
 *
 * Segments are written as in scenario files (segment_text.h); topology/collective.h
 * computes the traffic of a message between a number of hosts.  A profile (profile.h)
 * is a job's measured traffic at one place; a model is its demand at any place.  Each
 * number has a source, or the file is refused: "derived", "assumed" and "not published"
 * are sources.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_WORK_MODEL_H
#define SCHEDULER_CORE_WORKLOAD_WORK_MODEL_H

#include "scheduler/core/workload/workload.h"

struct err;

#define WORK_MODEL_MAX_BYTES    (1u << 20) /* Of a file. */
#define WORK_MODEL_MAX_SEGMENTS 64
#define WORK_MODEL_MAX_ALSO     64

struct work_model {
	char *name, *text, *gpu; /* Owned. */
	char **also;             /* Owned; other names, as traces have them. */
	size_t n_also;
	double parameters;
	double largest_tensor; /* Number of these in the largest one; 0: unknown. */
	int64_t batch;         /* Per GPU. */
	enum collective collective;
	size_t n_segments;
	struct work_segment *segments; /* Owned. */
	bool *is_message; /* Owned.  By segment: nic_bytes is the size of a message. */
};

/* 0, or -EINVAL with 'err' filled and '*ret_model' unchanged. */
int work_model_parse(const char *file, const char *text, size_t length,
		     struct work_model *ret_model, struct err *err);
void work_model_fini(struct work_model *model); /* Accepts a zeroed one. */

/* Whether 'name' is a name of the model, ignoring case. */
bool work_model_is(const struct work_model *model, const char *name);

/*
 * Fills the model's part of 'job': collective, segments and profile.  'nic_bytes' is
 * the number of bytes sent by the busiest interface per byte of message
 * (collective_flows.nic_bytes, 0 on one host), 'line_bps' the rate of an interface.
 * Returns 0, or -EINVAL for an iteration without duration or longer than profiles may
 * be.
 */
int work_model_make_job(const struct work_model *model, double nic_bytes,
			double line_bps, struct work_job *job);

#endif
