/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - shared parts of the verbs that show live telemetry: the sources of
 * frames, the state that they add up to, and its age.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/cli.h"
#include "lib/base/vec.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/status.h"

struct feed;
struct live;
struct flow_paths;
struct job_profiler;
struct path_watch;
struct routes;
struct contention_starts;
struct strbuf;
struct topo;

/* The default of scenario files. */
#define SCREEN_ECMP_SEED 1

/* Paths of flows are inferred anew after this time. */
#define SCREEN_INFER_MS 10000

struct screen_opts {
	struct cli_list from;
	const char
		*fabric;  /* A file or a service; NULL: this host's service, if any. */
	const char *keys; /* NULL: none. */
	const char *window; /* As given; NULL: the default. */
	double over;        /* Percent; 0: the default. */
	int64_t ecmp_seed;  /* Of the fabric's hash; 0: the default. */
};

/* clang-format off */
/* Rows of a verb's table of options that fill 'o'. */
#define SCREEN_OPTS(o)                                                                \
	CLI_OPT("from", 'F', CLI_LIST, &(o)->from, "SOURCE",                          \
		"a bus (tcp://.., ipc://..), a recording or '-'; repeatable "         \
		"(default: $ANTIPHASE_BUS, else the local bus)"),                     \
	CLI_OPT("fabric", 'f', CLI_STR, &(o)->fabric, "FILE",                         \
		"the fabric: a file, or the http:// address of its service "          \
		"(default with a bus: the local service; else only hosts' own "       \
		"links are known)"),                                                  \
	CLI_OPT("window", 'w', CLI_STR, &(o)->window, "TIME",                         \
		"length of traffic to show (default: '10 s'; '3 s' of a bus "         \
		"without --watch)"),                                                  \
	CLI_OPT("keys", 0, CLI_STR, &(o)->keys, "DIR",                                \
		"directory of CURVE keys, for a bus on another machine"),             \
	CLI_OPT("ecmp-seed", 0, CLI_INT, &(o)->ecmp_seed, "N",                        \
		"seed of the fabric's choice among equal paths (default: 1)",         \
		.min = 1, .max = 9007199254740992.0),                                 \
	CLI_OPT("over", 0, CLI_NUM, &(o)->over, "PERCENT",                            \
		"a link is full above this share of its capacity (default: 90)",      \
		.min = 1, .max = 100)

/* clang-format on */

struct screen {
	const struct cli_verb *verb;
	struct feed *feed;             /* Owned. */
	struct live *live;             /* Owned. */
	struct job_profiler *profiler; /* Owned. */
	struct topo *topo;             /* Owned reference; NULL: no fabric. */
	struct routes *routes;         /* Owned. */
	int64_t ecmp_seed;             /* Of the routes. */
	struct path_watch *paths;      /* Owned. NULL: no fabric. */
	int64_t followed_s;            /* Frame time of its last call. */
	int64_t inferred_ms;           /* The same of its last inference. */
	struct contention_opts opts;
	uint32_t wanted_ms;              /* Of a bus, before the first answer. */
	bool is_live;                    /* A bus; a recording has an end. */
	int64_t heard_at_ns;             /* This process's time at the last frame. */
	int64_t read_at_ns;              /* The same when the feed was read last. */
	int64_t skipped_ns;              /* Earlier frames are passed over. */
	struct contention_starts *since; /* Owned. */
};

/*
 * Opens the sources.  Returns CLI_OK, or the exit status after a message; 'screen'
 * needs screen_close() either way.  'is_watched': the default window is the long one.
 */
int screen_open(struct screen *screen, const struct cli_verb *verb,
		const struct screen_opts *opts, bool is_watched);
void screen_close(struct screen *screen); /* Accepts a zeroed one. */

/*
 * Reads enough for an answer: a recording to its end, a bus for the length of the
 * window or 'least_ms', whichever is longer.  Returns CLI_OK, or the exit status after
 * a message: no telemetry (CLI_UNREACHABLE), too little of it (CLI_THIN).
 */
int screen_gather(struct screen *screen, uint32_t least_ms);

/*
 * Continues to read: a bus for 'real_ns', a recording for one second of its time.
 * Returns CLI_OK; CLI_NO at the end of a recording; CLI_INTERRUPTED; or another exit
 * status after a message.
 */
int screen_follow(struct screen *screen, int64_t real_ns);

/*
 * Takes the frames of a bus that have arrived, as many as fit into one turn of a loop.
 * 0, or a negative errno with 'err' filled.
 */
int screen_drain(struct screen *screen, struct err *err);

/*
 * Reads a recording on to the first frame after 'at_ns' (wall clock), or its end; frames
 * of long before are passed over.  It never goes back.  0, or a negative errno with 'err' filled.
 */
int screen_seek(struct screen *screen, int64_t at_ns, struct err *err);

/* Prints that no job with traffic is called 'name', with a suggestion; CLI_USAGE. */
int screen_unknown_job(const struct screen *screen, const char *name);

/* From now on SIGINT and SIGTERM end the waits of the functions above. */
void screen_catch_signals(void);
bool screen_is_interrupted(void);

/*
 * Finds the jobs on each link, sorted; histories cover two iterations of the slowest
 * job.  Contention that was found before and has not ended keeps its start time.
 * Release with contention_fini().
 */
void screen_find(struct screen *screen, enum contention_sort sort,
		 struct contention *ret_found);

/*
 * Infers the paths of flows from counters of switches, for opts.paths; at most once in
 * SCREEN_INFER_MS of frame time.
 */
void screen_infer(struct screen *screen);

/* Age of the data of a display that ends at 'to_ms', in nanoseconds. */
int64_t screen_age_ns(const struct screen *screen, int64_t to_ms);
/* As of now. */
struct status screen_status(const struct screen *screen);

/* Appends the footer of a screen: age of the data, hosts, losses. */
void screen_footer(const struct screen *screen, int64_t from_ms, int64_t to_ms,
		   struct strbuf *out);

#endif
