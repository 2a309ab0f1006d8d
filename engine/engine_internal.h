/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_internal.h - declarations shared by the files of the engine.
 *
 *	engine.c       the API, and the loop over batches of events
 *	job.c          a job is made, and changed from outside
 *	advance.c      what a job does next: its iterations, segments, timers, pacing
 *	graph.c        segments that overlap: which of a job's run, and which wait
 *	gate.c         which gated segment may send now
 *	fluid*.c       the rates of flows: fluid_solve.c is the max-min solver,
 *	               fluid_classes.c runs it for each priority
 *	measure.c      statistics of links and jobs, if asked for
 *	change.c       links and paths that change during a run
 *	point.c        where a job is in an iteration, to resume from there
 *	state.c        all that the future depends on, to detect a repetition
 *	event_queue.c  the next event of each job
 */
#ifndef ENGINE_ENGINE_INTERNAL_H
#define ENGINE_ENGINE_INTERNAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/event_queue.h"
#include "engine/fluid.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"

/* Events closer than this are one batch. */
#define ENGINE_BATCH_NS 1.0

struct measure;

struct segment {
	double compute_ns, offset_ns, latency_ns;
	double private_ns; /* The longest of its private flows, without contention. */
	uint32_t first_flow, n_flows;
	uint32_t n_shared;    /* Flows that are not private. */
	double *flow_weights; /* As given; NULL if weights never change.  Owned. */
	double first_weight, last_weight;
	uint32_t n_steps;
	uint32_t *steps; /* By flow: the one that it sends.  NULL: no steps.  Owned. */
};

enum job_state {
	JOB_WAITING, /* Until 'start_ns', to begin an iteration. */
	JOB_RUNNING, /* Runs a segment. */
	JOB_LEFT,
};

/* A link that could be exceeded, and the caps of a job's gated flows on it. */
struct gate_link {
	uint32_t link;
	double bps;
};

/* A segment that runs. */
struct run {
	struct job *job; /* Borrowed: it contains the run. */
	uint32_t segment;
	uint32_t n_left;       /* Shared flows still sending. */
	bool is_sent;          /* The segment's flows have started. */
	bool is_gated;         /* Waits for the gate; listed there. */
	bool is_admitted;      /* Counted at the gate, but has not yet started. */
	bool is_told;          /* on_flows has been called, or is not needed. */
	bool is_steered;       /* 'wait_ns' has delayed the segment's flows. */
	double compute_end_ns; /* End of the segment's computing. */
	double send_ns;        /* Start of the segment's flows. */
	double private_end_ns; /* End of its private flows; once sent. */
	double weight_factor;  /* For its flows' weights, from the hook. */
	double *left; /* By flow of the segment: the share to send; NULL: all.  Owned. */

	/* At the gate. */
	double gate_since_ns, gate_slot_ns;
	uint32_t n_overtaken;
	VEC(struct gate_link) gate_links; /* Set when it asks. */
	size_t gate_blocked; /* The one of them that it was last found to wait for. */
};

/* The segments of a job whose segments do not follow one after the other. */
struct graph {
	struct run *runs;   /* Owned.  By segment. */
	double *due_ns;     /* Owned.  By segment: when to advance it, if it runs. */
	double *factors;    /* Owned.  By segment: the jitter of its computing. */
	uint32_t *n_after;  /* Owned.  By segment: those that it waits for. */
	uint32_t *n_waits;  /* Owned.  By segment: those of them that have not ended. */
	size_t *first_next; /* Owned.  Segments that wait for segment s: */
	uint32_t *next;     /* Owned.  next[first_next[s] .. first_next[s + 1]). */
	uint32_t *of_flow;  /* Owned.  By flow, from the job's first: its segment. */
	uint32_t *running;  /* Owned.  Segments, in the order in which they began. */
	double *sending_bps; /* Owned.  By link: caps of its flows past the gate. */
	uint32_t *n_sending; /* Owned.  By link: their number.  NULL: no gate. */
	uint32_t n_running;
};

struct job {
	enum job_state state;
	uint32_t id;
	double start_ns;           /* Start of the iteration. */
	struct run run;            /* The running segment, without 'graph'. */
	struct graph *graph;       /* NULL: one segment after the other.  Owned. */
	struct engine_point *from; /* Where it begins, or NULL.  Owned. */
	double stop_ns;            /* INFINITY: never. */

	uint32_t n_segments;
	struct segment *segments; /* Owned. */
	uint64_t n_iterations, max_iterations;
	double jitter_frac, stall_frac, stall_ns;
	struct rng rng, stalls; /* Two, so that stalls leave the jitter as it is. */

	enum engine_pacing pacing;
	double base_ns, grid_ns, deadband_ns;
	uint64_t n_corrections;
	double waited_ns;
	double end_ns;
};

static inline struct segment *
run_segment(const struct run *run)
{
	return &run->job->segments[run->segment];
}

/* The segments that run are job_run(job, 0) to job_run(job, job_n_running(job) - 1). */
static inline uint32_t
job_n_running(const struct job *job)
{
	if (job->state != JOB_RUNNING)
		return 0;
	return job->graph ? job->graph->n_running : 1;
}

static inline struct run *
job_run(struct job *job, uint32_t i)
{
	return job->graph ? &job->graph->runs[job->graph->running[i]] : &job->run;
}

/* The jobs that send through the gate, and those that wait. */
struct gate {
	double *sending_bps; /* By link: caps of gated flows.  Owned. */
	uint32_t *n_sending; /* By link: their number.  Owned. */
	uint32_t *reserved;  /* By link: stamp of the last reservation.  Owned. */
	double *own_bps;     /* By link, scratch: a job's own caps.  Owned. */
	uint32_t stamp;
	VEC(struct run *) waiters; /* By slot.  Borrowed, as the next. */
	VEC(struct run *) aged;    /* Of those the aged ones, longest waiting first. */
	bool is_changed;           /* A flow left a link since the last check. */
};

struct engine {
	struct fluid fluid;
	struct event_queue queue;
	struct gate gate;
	struct measure *measure; /* NULL unless asked for. */
	struct engine_observer observer;
	VEC(struct job *) jobs; /* Owned. */
	VEC(uint32_t) batch;    /* Scratch. */
	uint64_t seed;
	double now_ns;
	uint64_t n_flows_finished;
	bool is_stopping;
	bool has_steps;   /* Some segment has steps of weights. */
	bool has_graphs;  /* Some job has a graph. */
	bool is_changing; /* Links or paths changed; the next rebuild ends it. */
};

/* ------ job.c ------ */

/* Copies 'spec' and registers its flows.  The caller has checked it. */
struct job *job_new(struct engine *e, uint32_t id, const struct engine_job *spec);
void job_free(struct job *job);

/*
 * Does what is due for the job at e->now_ns, and adds the number of events to
 * '*n_events'.  Returns the time of the next call, which may be too early but not too
 * late; INFINITY: call again when one of its flows finishes or the gate opens, or
 * never.
 */
double job_advance(struct engine *e, struct job *job, uint64_t *n_events);

/* Of all its flows, also those that send. */
void job_set_priority(struct engine *e, struct job *job, uint8_t priority);

/*
 * Makes private flows that send flows of the fluid, so that their caps may change; the
 * job is due now.  job_refresh() must follow.
 */
void job_expose(struct engine *e, struct job *job);

/* Updates which flows are private, from the fluid; also during a run. */
void job_refresh(struct engine *e, struct job *job);

/* When an active flow ends, or its next step begins. */
double job_flow_due_ns(const struct engine *e, uint32_t flow);

/* ------ advance.c, for a segment; job_advance() is there, too ------ */

/* The factor on a segment's computing time in this iteration: jitter and stalls. */
double segment_draw_factor(struct job *job, uint32_t segment);
void segment_begin(struct engine *e, struct run *run, uint32_t segment, double factor);

/*
 * Does what is due, and adds the number of events to '*n_events'.  Returns the time of
 * the next call, as job_advance(); -1: the segment has ended.
 */
double segment_advance(struct engine *e, struct run *run, uint64_t *n_events);

/*
 * Flows that are no longer private after a rebuild of the fluid, or 'all', continue
 * there.  Returns whether the run is due now.
 */
bool segment_leave_private(struct engine *e, struct run *run, bool all);

/* When an active flow of the segment ends, or its next step begins. */
double segment_flow_due_ns(const struct engine *e, const struct segment *seg,
			   uint32_t flow);

/* How long a flow of a running segment takes at its cap, from its start. */
static inline double
run_flow_ns(const struct engine *e, const struct run *run, uint32_t i)
{
	return (run->left ? run->left[i] : 1) *
	       fluid_alone_ns(&e->fluid, run_segment(run)->first_flow + i);
}

/* ------ graph.c ------ */

/* Whether some segment does not wait for exactly the one before it. */
bool graph_is_needed(const struct engine_job *spec);
/* False if a segment is to wait for itself, for a later one or for none there is. */
bool graph_is_sound(const struct engine_job *spec);
/* Its segments have their flows. */
struct graph *graph_new(const struct engine *e, struct job *job,
			const struct engine_job *spec);
void graph_free(struct graph *graph, uint32_t n_segments);

/* Starts the segments that wait for no other. */
void graph_begin(struct engine *e, struct job *job);
/* As segment_advance(), for all segments; -1: all have ended. */
double graph_advance(struct engine *e, struct job *job, uint64_t *n_events);
/* After a solve of the fluid: segments whose flows have new rates are due with these. */
void graph_lower_changed(struct engine *e);

/* ------ change.c ------ */

/* After a rebuild of the fluid. */
void engine_end_changes(struct engine *e);

/* ------ gate.c ------ */

void gate_init(struct gate *gate, uint32_t n_links);
void gate_fini(struct gate *gate);
/*
 * May the segment's flows be sent now?  If so they count as sending from here on; if
 * not, the run is put on the list.
 */
bool gate_ask(struct engine *e, struct run *run);
/* A flow of a gated job has started or stopped sending. */
void gate_flow_start(struct engine *e, uint32_t flow);
void gate_flow_end(struct engine *e, uint32_t flow);
/* Removes a run that waits, or that may send but has not begun. */
void gate_leave(struct engine *e, struct run *run);
/* If 'gate.is_changed': admits waiting runs that may send; they are due now. */
void gate_release(struct engine *e);
/* The same after a rebuild of the fluid: waiting runs may have other links to wait for. */
void gate_rebuild(struct engine *e);

/* ------ measure.c ------ */

struct measure *measure_new(uint32_t n_links, double mtu_bytes, const bool *unmarked);
void measure_free(struct measure *m);
/* Call it after a rebuild of the fluid, which measure_flush() must precede. */
void measure_rebuild(struct measure *m, const struct engine *e);
/* Call it before an active flow stops. */
void measure_flow_end(struct measure *m, const struct engine *e, uint32_t flow);
/* Call it after each solve of the fluid. */
void measure_batch(struct measure *m, const struct engine *e);
/* Brings everything up to e->now_ns. */
void measure_flush(struct measure *m, const struct engine *e);
void measure_link(const struct measure *m, uint32_t link,
		  struct engine_link_stats *ret);
void measure_job(const struct measure *m, uint32_t job, double *ret_packets,
		 double *ret_ecn_packets);

#endif
