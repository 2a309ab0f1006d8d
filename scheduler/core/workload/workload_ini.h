/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_ini.h - the INI grammar of jobs files and scenarios.
 *
 *	[sim]
 *	iterations = 200
 *	seed = 1
 *	[fabric]
 *	file = fabric.json
 *	[job vgg]
 *	hosts = h[0-3]
 *	segment = compute 35 ms
 *	segment = send 125 MB at 40 Gb/s
 *
 * antiphase-scenario(5) describes it.  'antiphase advise --jobs' takes the
 * [job] sections, 'antiphase sim' the rest, too.
 *
 * Reading has three steps, as names of hosts mean nothing without a fabric:
 * scenario_parse() reads text, scenario_fabric() makes the fabric that it
 * names, and scenario_bind() finds the hosts and completes the jobs.  All are
 * pure: files are read by the caller's callback.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_WORKLOAD_INI_H
#define SCHEDULER_CORE_WORKLOAD_WORKLOAD_INI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/workload/workload.h"

struct err;

#define SCENARIO_MAX_BYTES (64u << 20)

/* How jobs keep to their shifts, if the scenario says so instead of a policy. */
enum scenario_pacing {
	SCENARIO_PACE_UNSET,
	SCENARIO_PACE_NONE,    /* Shifts are not applied. */
	SCENARIO_PACE_ONCE,    /* One delay at the start. */
	SCENARIO_PACE_REALIGN, /* CASSINI's agent. */
	SCENARIO_PACE_GATE,    /* Work-conserving slots. */
	SCENARIO_PACE_STEER,   /* The control loop, see control/steer.h. */
	N_SCENARIO_PACINGS,
};

/* "none", "once", "realign", "gate", "steer"; NULL-terminated.  Number i is i + 1 above. */
extern const char *const scenario_pacing_names[N_SCENARIO_PACINGS];

/* When the first iterations start. */
enum scenario_phases {
	SCENARIO_PHASES_UNSET,
	SCENARIO_PHASES_ALIGNED, /* At the arrival. */
	SCENARIO_PHASES_RANDOM,  /* Up to one period later, drawn from the seed. */
	N_SCENARIO_PHASES,
};

struct scenario_sim {
	uint64_t iterations;        /* Iterations of each job; 0: unlimited. */
	uint64_t warmup_iterations; /* The first of these, not counted. */
	int64_t duration_ns;        /* ENGINE_NEVER: not limited. */
	uint64_t seed;
	double mtu_bytes; /* 0: the engine's default. */
	enum scenario_pacing pacing;
	enum scenario_phases phases;
};

struct scenario_fabric {
	char *file;     /* Owned.  Path to open; NULL: none. */
	char *generate; /* Owned.  "leaf-spine --leaves 4 ..."; NULL: none. */
	unsigned line;  /* Of either; 0: not from the file. */
	uint64_t ecmp_seed;
};

/* A job's section, for scenario_bind(). */
struct scenario_job {
	unsigned line; /* Of the heading. */
	char *hosts;   /* Owned.  A hostlist; NULL: waits for a place. */
	unsigned hosts_line;
	bool *is_message; /* Owned.  By segment: its bytes are a message's. */
	bool has_profile; /* Its segments come from a profile. */
	bool has_jitter, has_weight;
};

#define SCENARIO_MAX_EVENTS 10000

/* A link or switch that fails, is degraded or repaired. */
struct scenario_event {
	char *name;    /* Owned. */
	unsigned line; /* Of the heading. */
	int64_t time_ns;
	char *link;           /* Owned.  "leaf0:p4" or a link's name; or NULL. */
	char *node_name;      /* Owned.  The name of a switch; or NULL. */
	unsigned target_line; /* Of either. */
	double share;         /* Of the capacity: 0: down, 1: up. */
	/* Since scenario_bind(); TOPO_NONE: none. */
	uint32_t links[2]; /* Both directions of a cable, or one. */
	uint32_t node;     /* The switch. */
};

struct scenario {
	char *file; /* Owned.  Its name for messages. */
	struct workload workload;
	struct scenario_job *details; /* Owned.  One a job of the workload. */
	struct scenario_sim sim;
	struct scenario_fabric fabric;
	struct scenario_event *events; /* Owned.  As in the file. */
	size_t n_events;
};

/*
 * Reads the file at 'path' into a new terminated buffer, as file_read() does.
 * Returns 0 or a negative errno with 'err' filled.
 */
struct scenario_io {
	void *ctx;
	int (*read)(void *ctx, const char *path, size_t max_bytes, char **ret_text,
		    size_t *ret_length, struct err *err);
};

/*
 * Reads the terminated 'text'.  Profiles it names are read with 'io', their
 * paths taken relative to 'file'.  Returns 0 and a new scenario to be freed
 * with scenario_free(), or a negative errno with 'err' filled.
 */
int scenario_parse(const char *file, const char *text, size_t length,
		   const struct scenario_io *io, struct scenario **ret_scenario,
		   struct err *err);
/*
 * The same, with 'n_sets' values that override the file: "SECTION.KEY=VALUE", where the
 * section is "sim", "fabric", "job.NAME", or "jobs" for all jobs; a key of "fabric" may
 * also be an option of the generator. -EINVAL for one that does not apply.
 */
int scenario_parse_set(const char *file, const char *text, size_t length,
		       const struct scenario_io *io, const char *const *sets,
		       size_t n_sets, struct scenario **ret_scenario, struct err *err);
void scenario_free(struct scenario *scenario); /* Accepts NULL. */

/*
 * Makes the fabric that the scenario names.  Returns 0 and a new reference, or
 * a negative errno with 'err' filled; -ENOENT if it names none.
 */
int scenario_fabric(const struct scenario *scenario, const struct scenario_io *io,
		    struct topo **ret_topo, struct err *err);

/*
 * Finds the jobs' hosts on 'topo', converts messages to bytes of an interface, and
 * completes profiles.  Call it once.  Returns 0 or -EINVAL with 'err' filled: unknown
 * or repeated hosts, too few slots, jobs that can have no profile, events at unknown
 * links.
 */
int scenario_bind(struct scenario *scenario, const struct topo *topo, struct err *err);

#endif
