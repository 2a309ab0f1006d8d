/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_reader.h - the state of reading a scenario, between its reader's files:
 *
 *	workload_ini.c   sections, and jobs from them
 *	scenario_set.c   settings that replace the file's
 *	scenario_keys.c  the values of keys
 *	scenario_ranks.c  the groups of a job's ranks
 *	scenario_event.c [event NAME] sections
 */
#ifndef SCHEDULER_CORE_WORKLOAD_SCENARIO_READER_H
#define SCHEDULER_CORE_WORKLOAD_SCENARIO_READER_H

#include "lib/base/vec.h"
#include "scheduler/core/workload/segment_names.h"
#include "scheduler/core/workload/workload_ini.h"

struct strtab;

/* The job being read; the next section completes it. */
struct scenario_draft {
	struct work_job job;
	struct scenario_job details;
	VEC(struct work_segment) segments;
	VEC(bool) messages;
	VEC(unsigned) segment_lines;
	struct segment_names segment_names;
	char *profile; /* Owned.  "FILE" or "FILE#JOB". */
	unsigned profile_line;
	uint32_t count;
	double scale; /* Of the profile's rates; 0: not given. */
	bool has_nodes;
};

#define SCENARIO_MAX_KEYS 40

/* "SECTION.KEY=VALUE", which overrides the file; see scenario_set.c. */
struct scenario_setting {
	const char *text;    /* Borrowed. */
	char *section, *key; /* Owned.  "sim", "fabric", "jobs", "job.NAME". */
	const char *value;   /* In 'text'. */
	bool is_used;
};

struct scenario_reader {
	struct scenario *scenario;
	const struct scenario_io *io;
	struct err *err;
	unsigned line;                    /* Of the current entry. */
	const struct scenario_key *keys;  /* Of this section; NULL before the first. */
	unsigned seen[SCENARIO_MAX_KEYS]; /* Line of each key; 0: not yet. */
	bool is_set[SCENARIO_MAX_KEYS];   /* The key has no line, but a setting. */
	unsigned sim_line, fabric_line;   /* Of their headings; 0: not yet. */
	bool in_job;
	struct scenario_draft draft;
	struct strtab *names; /* Of the jobs, in order. */
	size_t jobs_capacity;
	size_t n_bytes; /* Memory of all jobs so far. */
	struct scenario_setting *sets;
	size_t n_sets;
};

struct scenario_key {
	const char *name;
	int (*set)(struct scenario_reader *r, const char *value);
	bool may_repeat;
};

/* Each ends with a NULL name. */
extern const struct scenario_key scenario_sim_keys[], scenario_fabric_keys[],
	scenario_job_keys[], scenario_event_keys[];

/* Fills the error for the current entry; returns -EINVAL. */
int scenario_fail(struct scenario_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

int scenario_read_time(struct scenario_reader *r, const char *value, int64_t *ret_ns);

/* Begins the section of an event; it is the current one, while its keys are read. */
int scenario_event_start(struct scenario_reader *r, const char *name);
struct scenario_event *scenario_event_now(const struct scenario_reader *r);
/* At the end of any section: checks that an event is complete. */
int scenario_event_finish(struct scenario_reader *r);
void scenario_event_fini(struct scenario_event *event);
/* Finds its links or switch: 0 or -EINVAL. */
int scenario_event_bind(const struct scenario *scenario, struct scenario_event *event,
			const struct topo *topo, struct err *err);

/* Reads settings; 0 or -EINVAL.  Release with scenario_set_fini() in any case. */
int scenario_set_begin(struct scenario_reader *r, const char *const *texts, size_t n);
void scenario_set_fini(struct scenario_reader *r);
/* Takes a key of the file, with a setting's value if there is one. */
int scenario_set_key(struct scenario_reader *r, const struct scenario_key *key,
		     const char *value);
/* Whether a setting overrides that key of the file. */
bool scenario_set_is_instead(struct scenario_reader *r, const char *key);
/* At the end of a section: applies settings of keys that it lacks. */
int scenario_set_rest(struct scenario_reader *r);
/* At the end of the file: fails for a setting of a missing section. */
int scenario_set_end(struct scenario_reader *r);

/*
 * At the end of a job's section: completes its groups of ranks, and checks the calls of
 * its segments against them.  0 or -EINVAL.
 */
int scenario_ranks_finish(struct scenario_reader *r);

/* A path in the scenario 'file' is relative to it.  Free with free(). */
char *scenario_path_beside(const char *file, const char *path);

#endif
