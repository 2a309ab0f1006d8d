/*
 * screen.h - what the verbs that show live telemetry have in common: where frames
 * come from, the state they add up to, how fresh it is.
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
struct job_profiler;
struct routes;
struct since;
struct strbuf;
struct topo;

/* What tables are made for where there is no narrower terminal. */
#define SCREEN_FULL_COLUMNS 80
/* As in scenario files. */
#define SCREEN_ECMP_SEED 1

struct screen_opts {
	struct cli_list from;
	const char *fabric; /* A file or a service; NULL: that of this host, if any. */
	const char *keys;   /* NULL: none. */
	const char *window; /* As given; NULL: the default. */
	double over;        /* Percent; 0: the default. */
	int64_t ecmp_seed;  /* Of the fabric's hash; 0: the default. */
};

/* clang-format off */
/* Rows of a verb's table of options that fill 'o'. */
#define SCREEN_OPTS(o)                                                          \
	{ "from", 'F', CLI_LIST, &(o)->from, "SOURCE",                          \
	  "a bus (tcp://.., ipc://..), a recording or '-'; may be repeated "    \
	  "(default: $ANTIPHASE_BUS, or the local bus)", 0, 0, NULL, NULL },    \
	{ "fabric", 'f', CLI_STR, &(o)->fabric, "FILE",                         \
	  "the fabric, or the http:// of its service, to know links beyond the " \
	  "hosts' own (default with a bus: the local service)",                \
	  0, 0, NULL, NULL },                                                   \
	{ "window", 'w', CLI_STR, &(o)->window, "TIME",                         \
	  "look at so much (default '10 s'; '3 s' of a bus, unless watched)",   \
	  0, 0, NULL, NULL },                                                   \
	{ "keys", 0, CLI_STR, &(o)->keys, "DIR",                                \
	  "keys for a bus on another machine", 0, 0, NULL, NULL },              \
	{ "ecmp-seed", 0, CLI_INT, &(o)->ecmp_seed, "N",                        \
	  "of the fabric's choice among equal paths (1)", 1,                    \
	  9007199254740992.0, NULL, NULL },                                     \
	{ "over", 0, CLI_NUM, &(o)->over, "PERCENT",                            \
	  "a link is full from this share of its capacity on (default 90)",     \
	  1, 100, NULL, NULL }

/* clang-format on */

struct screen {
	const struct cli_verb *verb;
	struct feed *feed;           /* Owned. */
	struct live *live;           /* Owned. */
	struct job_profiler *online; /* Owned. */
	struct topo *topo;           /* Owned reference; NULL: no fabric. */
	struct routes *routes;       /* Owned. */
	struct contention_opts opts;
	uint32_t wanted_ms;   /* Of a bus, before there is an answer. */
	bool is_live;         /* A bus; a recording has an end. */
	int64_t newest_ns;    /* Frame time when it last moved on, */
	int64_t newest_at_ns; /* and this process's time then. */
	int64_t read_at_ns;   /* The same when the feed was read last. */
	struct since *since;  /* Owned. */
};

/*
 * Opens the sources.  Returns CLI_OK, or the exit status after having said what is
 * wrong; 'screen' needs screen_close() either way.  'is_watched': the default window
 * is the long one.
 */
int screen_open(struct screen *screen, const struct cli_verb *verb,
		const struct screen_opts *opts, bool is_watched);
void screen_close(struct screen *screen); /* Accepts a zeroed one. */

/*
 * Reads what an answer needs: a recording to its end, a bus for as long as the
 * window, or 'least_ms' if that is more.  Returns CLI_OK, or the exit status after a
 * message: nothing to be heard (CLI_UNREACHABLE), too little (CLI_THIN).
 */
int screen_gather(struct screen *screen, uint32_t least_ms);

/*
 * Reads on: a bus for 'real_ns', a recording for a second of its time.  Returns
 * CLI_OK; CLI_NO at the end of a recording; CLI_INTERRUPTED; or another exit status
 * after a message.
 */
int screen_follow(struct screen *screen, int64_t real_ns);

/* From now on SIGINT and SIGTERM end what the functions above wait for. */
void screen_catch_signals(void);
bool screen_is_interrupted(void);

/*
 * Finds who is on which link, sorted; histories are of two iterations of the slowest
 * job.  Contention that was found before and has not ended since is as old as then.  Release with contention_fini().
 */
void screen_find(struct screen *screen, enum contention_sort sort,
		 struct contention *ret_found);

/* Nanoseconds since the end of what a picture that ends at 'to_ms' shows. */
int64_t screen_age_ns(const struct screen *screen, int64_t to_ms);
/* As of now. */
struct status screen_picture(const struct screen *screen);

/* Appends the last lines of a screen: age, hosts, what is missing. */
void screen_footer(const struct screen *screen, int64_t from_ms, int64_t to_ms,
		   struct strbuf *out);
/* Columns that a line may have: of the terminal, or 80. */
unsigned screen_columns(void);

#endif
