/*
 * scenario_reader.h - what is known in the middle of reading a scenario.  Only
 * for workload_ini.c, which has the order of things, and scenario_keys.c,
 * which has the values.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_SCENARIO_READER_H
#define SCHEDULER_CORE_WORKLOAD_SCENARIO_READER_H

#include "lib/base/vec.h"
#include "scheduler/core/workload/workload_ini.h"

struct strtab;

/* The job being read; it is complete where the next section begins. */
struct scenario_draft {
	struct work_job job;
	struct scenario_job details;
	VEC(struct work_segment) segments;
	VEC(bool) messages;
	char *profile; /* Owned.  "FILE" or "FILE#JOB". */
	unsigned profile_line;
	uint32_t count;
	double scale; /* Of the profile's rates; 0: not given. */
	bool has_nodes;
};

#define SCENARIO_MAX_KEYS 24

struct scenario_reader {
	struct scenario *scenario;
	const struct scenario_io *io;
	struct err *err;
	unsigned line;                    /* Of the entry. */
	const struct scenario_key *keys;  /* Of the section; NULL before the first. */
	unsigned seen[SCENARIO_MAX_KEYS]; /* Line of each of the keys; 0: not yet. */
	unsigned sim_line, fabric_line;   /* Of their headings; 0: not yet. */
	bool in_job;
	struct scenario_draft draft;
	struct strtab *names; /* Of the jobs, in order. */
	size_t jobs_capacity;
	size_t n_bytes; /* That all jobs so far take. */
};

struct scenario_key {
	const char *name;
	int (*set)(struct scenario_reader *r, const char *value);
	bool may_repeat;
};

/* Each ends with a NULL name. */
extern const struct scenario_key scenario_sim_keys[], scenario_fabric_keys[],
	scenario_job_keys[];

/* Fills the error for the entry being read; returns -EINVAL. */
int scenario_fail(struct scenario_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A path in the scenario 'file' is relative to it.  Free with free(). */
char *scenario_path_beside(const char *file, const char *path);

#endif
