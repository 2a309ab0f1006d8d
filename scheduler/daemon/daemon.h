/*
 * daemon.h - antiphase-scheduler: its parts, as each of its files sees them.
 *
 *	daemon.c     start, loop and end; turns.c what is done each second, spread (pure)
 *	now.c        frames -> what goes on (live.h), and who is on which link
 *	rounds.c     profiles of all jobs anew, and the links, a few milliseconds at a time
 *	fabric.c     the fabric, from a file or antiphase-topology
 *	jobs.c       what is known of each job, and what is advised for it (advisor.h);
 *	jobs_solve.c solved in pieces;
 *	jobs_run.c   of jobs that run: from frames,
 *	jobs_paced.c and from their pacers;
 *	jobs_wait.c  of jobs that wait: from the cluster's scheduler, their users, and
 *	             earlier runs; jobs_doc.c as it is told
 *	decide*.c    what is to be done at the cluster's scheduler, and why; modes.c (pure)
 *	deeds.c      what decide.h wants, done at the cluster's scheduler, and noted;
 *	guard.c      taken back by another process if this one is killed (guard_main.c)
 *	pods.c       shifts as annotations of pods, at the API server of Kubernetes
 *	pace.c       iterations -> steer.h -> orders for pacers
 *	paced.c      what a job is like alone, by its pacer (pure)
 *	carried.c    bytes of jobs on links, as counters (pure)
 *	outcomes.c   what became of advice, by outcome*.c (pure)
 *	history.c    what links carried, into the store
 *	memory.c     what a restart goes on with (store.h)
 *	api*.c       the API over HTTP; k8s.c kube-scheduler's questions;
 *	             figures.c /metrics; control.c the control socket
 */
#ifndef SCHEDULER_DAEMON_DAEMON_H
#define SCHEDULER_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/daemon/tick_schedule.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/status.h"
#include "scheduler/scheduler_driver.h"

struct advisor;
struct bus_keys;
struct bus_pub;
struct bus_sub;
struct control;
struct link_counters;
struct err;
struct extender;
struct feed;
struct figures_met;
struct guard;
struct history;
struct http;
struct http_call;
struct http_place;
struct jobs;
struct live;
struct loop;
struct job_profiler;
struct profiled_job;
struct outcomes;
struct pace;
struct pods;
struct profile;
struct refresh;
struct routes;
struct running;
struct settings;
struct since;
struct store;
struct strtab;
struct topo;

#define DAEMON_SECOND_NS INT64_C(1000000000)

/* Of a host, against ours: the most that a frame was ahead when it came. */
struct telemetry_clock {
	int64_t most_ns, last_most_ns; /* In this minute, and in the one before. */
	int64_t since_ns;              /* This one; 0: the number is free. */
};

/* A look at all links, step by step. */
enum telemetry_stage {
	TELEMETRY_IDLE,
	TELEMETRY_FIND,
	TELEMETRY_REMEMBER, /* Since when links are contended. */
	TELEMETRY_SORT,
	TELEMETRY_COUNT, /* What jobs put on links. */
	TELEMETRY_SHOW,
	TELEMETRY_DROP, /* What was shown before. */
};

/* What frames say. */
struct telemetry {
	struct feed *feed;                 /* Owned. */
	struct live *live;                 /* Owned. */
	struct job_profiler *online;       /* Owned. */
	struct since *since;               /* Owned. */
	struct contention found;           /* Owned.  Of the last look. */
	int64_t newest_ns;                 /* Frame time when it last moved on, */
	int64_t newest_at_ns;              /* and this process's time then. */
	int64_t looked_ns;                 /* The same of the last look at links. */
	int64_t told_ns;                   /* That look was told to listeners. */
	struct contention_finder *looking; /* Owned.  The next look, or NULL. */
	enum telemetry_stage stage;        /* Of it. */
	size_t next;                       /* Link that this is at, of */
	struct contention coming; /* Owned.  What it found, until it is 'found', */
	struct contention gone;   /* and owned: what was, being released. */
	struct contention_sorter *sorting; /* Owned. */
	VEC(uint32_t) places;        /* Of links in 'found', by number; 1 and up, */
	VEC(uint32_t) coming_places; /* and in 'coming'. */
	int64_t carried_span_ms;
	int64_t look_began_ns, look_cost_ns;
	int64_t look_took_ns, last_cost_ns; /* Of the last one: in all, and of work. */
	struct link_counters *carried;      /* Owned; NULL: not wanted. */
	int64_t carried_ms;                 /* Frame time up to which it is told. */
	int64_t forgot_ns;                  /* When links that are gone were. */
	struct strtab *clock_names;         /* Owned.  Hosts, */
	VEC(struct telemetry_clock) clocks; /* and by number there, their clocks. */
	uint32_t n_clocks;
	uint64_t n_not_frames, n_refused; /* That were told in the log. */
	struct log_limit said, damage_said, memory_said, store_said;
};

/* An action that was asked for. */
struct pending_action {
	uint64_t ticket;
	struct decide_action action; /* Owned. */
	int64_t at_us;
};

struct actions {
	struct sched_driver *host; /* Owned; NULL: no scheduler is looked at. */
	struct guard *guard;       /* Owned; NULL, too.  It runs where we may pin. */
	struct sched_snapshot
		snapshot; /* The host's own.  The last look; at_us 0: none. */
	char *why;        /* Owned.  Why there is no newer one. */
	struct modes modes;
	struct decide_changes changes;
	VEC(struct pending_action) under_way;
	size_t n_checked; /* Partitions with a mode of their own that were looked for. */
	int64_t started_us; /* Wall clock. */
	bool has_decided;   /* With a look. */
	bool is_ending;
	bool is_undone;                            /* Then: all of it. */
	uint64_t n_asked[DECIDE_N_WHYS], n_failed; /* So far. */
	struct log_limit said;
};

/* What listeners were told last of a link, as a digest. */
struct api_mark {
	uint64_t mark;
	bool is_known, is_used; /* Used: since api_forget(). */
};

struct api_told {
	struct strtab *names;       /* Owned.  Links, */
	VEC(struct api_mark) marks; /* and by number there, this. */
	bool is_telling;            /* The links that have changed are gathered: */
	size_t next;                /* up to this one of the look, */
	VEC(size_t) changed;        /* the first of them, */
	size_t n_left_out;          /* and how many more. */
};

struct daemon {
	struct scheduler_config config;
	const char *config_file; /* Borrowed; NULL: the default one. */
	struct loop *loop;
	struct tick_schedule turns; /* Of what is done once a second, */
	bool is_hurried;       /* and what is done at once, as there is a new look at */
	size_t next_hurried;   /* the cluster's scheduler: it is at this part. */
	struct bus_keys *keys; /* NULL: none. */
	struct telemetry now;
	struct refresh *rounds;
	struct fabric_source *fabric;
	struct actions deeds;
	struct jobs *jobs;
	struct pace *pace;
	struct pods *pods; /* NULL: there is no API server to ask. */
	struct outcomes *outcomes;
	struct store *store; /* NULL: none. */
	struct history *history;
	struct bus_pub *announcer; /* NULL: none. */
	struct extender *extender;
	struct http *http; /* NULL: none. */
	struct api_told told;
	struct figures_met *met; /* Owned, by figures.c. */
	struct control *control;
	int64_t rounds_ns; /* When rounds.c had its last turn. */
	bool is_restored;  /* What was known before a restart has been told. */
	int64_t started_us;
	int64_t ending_ns; /* When we were told to end; 0: not yet. */
	int status;
};

/* Runs with the settings, which are taken; returns the exit status. */
int daemon_run(struct settings *settings, const char *config_file);

/* ---- now.c ------------------------------------------------------------------------- */

int telemetry_open(struct daemon *d, struct err *err);
void telemetry_close(struct daemon *d);
/* Once a second: begins to look at the links again, if that is not too dear. */
void telemetry_scan(struct daemon *d);
/* A part of it; false: there is none to do. */
bool telemetry_scan_step(struct daemon *d);
/* Forgets hosts and links that have been gone for long. */
void telemetry_forget(struct daemon *d);
/* What was begun is not wanted any more: the fabric is another one. */
void telemetry_stop_scan(struct daemon *d);
struct status telemetry_status(const struct daemon *d);
/* Links of the last look by number (contention.h), below telemetry_n_numbers(), or NULL. */
const struct contention_link *telemetry_link(const struct daemon *d, size_t number);
size_t telemetry_n_numbers(const struct daemon *d);
/* How far a host's clock is ahead of ours, at least; false if it said nothing lately. */
bool telemetry_clock_offset_ns(const struct daemon *d, const char *host,
			       int64_t *ret_ns);

/* ---- rounds.c ---------------------------------------------------------------------- */

struct refresh *refresh_new(void);
void refresh_free(struct refresh *rounds); /* Accepts NULL. */
/* Does what there is to do, for a few milliseconds; then others have their turn. */
void refresh_step(struct daemon *d);
/* The fabric is another one: what was begun is given up, and begun again. */
void refresh_restart(struct daemon *d);

/* ---- deeds.c ----------------------------------------------------------------------- */

int actions_open(struct daemon *d, struct err *err);
void actions_close(struct daemon *d);
/*
 * From now on pins are looked after, if there may be any, of us or of an earlier run: all
 * else is open, and daemon_open_control() is next (guard.h).
 */
void actions_guard(struct daemon *d);
void actions_tick(struct daemon *d);
/* The modes as the settings have them. */
int actions_take_modes(struct daemon *d, struct err *err);
/* Everything is to be undone; true once that is done, or there is nothing to. */
bool actions_end(struct daemon *d);
/* Something has changed that may call for deeds: decides now. */
void actions_decide(struct daemon *d);

/* ---- jobs.c ------------------------------------------------------------------------ */

struct jobs *jobs_new(void);
void jobs_free(struct jobs *jobs); /* Accepts NULL. */
/* The fabric is another one. */
void jobs_set_fabric(struct daemon *d);
/* A new look at the cluster's scheduler, or a second has gone by: all of these. */
void jobs_update(struct daemon *d);
/* Which hosts of the fabric are heard, or silent. */
void jobs_mark_silent(struct daemon *d);
/* Which jobs are there still. */
void jobs_mark_running(struct daemon *d);
/* Between estimates, too, hosts fall silent and profiles grow old. */
void jobs_look_again(struct daemon *d);
/* What the cluster's scheduler has free, and the jobs that wait there. */
void jobs_take_nodes(struct daemon *d);
void jobs_take_waiting(struct daemon *d);
/* What is advised, as far as there is time; jobs_go_on() does the rest. */
void jobs_solve(struct daemon *d);
/* Those that were not marked. */
void jobs_drop_gone(struct daemon *d);
/* What is known now of a job that runs; 'running' NULL: there is no fabric. */
void jobs_take_running(struct daemon *d, const struct running *running,
		       const struct profiled_job *seen);
/* Between two updates: goes on with what there was no time for. */
void jobs_go_on(struct daemon *d);
/* For decide.h. */
void jobs_advice(void *daemon, const struct sched_job *job,
		 struct decide_advice *ret_advice);

/* How many advices there are now, by whether they say anything. */
struct jobs_counts {
	uint32_t n_jobs, n_advised, n_refused, n_waiting;
	uint64_t n_solved, n_ranked;
	double solve_s, rank_s; /* So far. */
};
struct jobs_counts jobs_counts(const struct daemon *d);

/* ---- memory.c ---------------------------------------------------------------------- */

int persist_open(struct daemon *d, struct err *err);
void persist_close(struct daemon *d);
void persist_tick(struct daemon *d);
/* A change of ours is to be found again, or to be forgotten. */
void persist_keep_change(struct daemon *d, const char *job);
struct job;
/* The profile of a running job, and where it runs, for a restart. */
void persist_keep_profile(struct daemon *d, const struct job *job);
/*
 * The profile of the last run of a job of the same user, name and number of nodes, and
 * when it was found; false if there is none, or it is older than earlier_max_age_s.
 * Released by the caller.
 */
bool persist_earlier(struct daemon *d, const struct sched_job *job,
		     struct profile *ret_profile, int64_t *ret_at_us);
/*
 * Tells the profiles of before a restart that are not older than max_age_s: once, when
 * the fabric is known.
 */
void persist_restore(struct daemon *d);
/* A line of the log of changes: "asked", "done", "failed". */
void persist_log(struct daemon *d, const struct decide_action *action, const char *what,
		 const char *why);

/* ---- history.c --------------------------------------------------------------------- */

#define HISTORY_ROWS 4000 /* Of one second. */

struct history *history_new(void);
void history_free(struct history *history); /* Accepts NULL. */
/* A part of what the last look found; false: all of it is there. */
bool history_go_on(struct daemon *d);
/* There is another look, or none: what was not written is not any more. */
void history_give_up(struct daemon *d);
/* Links of the last second that there was no room for. */
uint32_t history_n_left_out(const struct daemon *d);

/* ---- Saying it ---------------------------------------------------------------------- */

int api_open(struct daemon *d, struct err *err);
void api_close(struct daemon *d);
void api_tick(struct daemon *d);
/* A part of what listeners are to be told; false: there is nothing. */
bool api_go_on(struct daemon *d);
/* Forgets links that were not told of since the last time that this was asked. */
void api_forget(struct daemon *d);
void figures_write_all(void *daemon, struct strbuf *out);
/* In pieces (http.h), in the two formats. */
bool figures_write_piece(void *daemon, struct http_place *place, struct strbuf *out);
bool figures_write_open(void *daemon, struct http_place *place, struct strbuf *out);
void figures_close(struct daemon *d);
int daemon_open_control(struct daemon *d, struct err *err);
/* The path of the control socket; the caller's to free. */
char *daemon_socket_path(const struct daemon *d);

#endif
