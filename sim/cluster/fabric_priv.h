/*
 * fabric_priv.h - what the files of fabric.h share.
 *
 *	fabric.c         who is where, who meets whom; begin and end
 *	fabric_solve.c   how fast the jobs of a component are
 *	fabric_choose.c  which plan is taken
 */
#ifndef SIM_CLUSTER_FABRIC_PRIV_H
#define SIM_CLUSTER_FABRIC_PRIV_H

#include "lib/base/vec.h"
#include "sim/cluster/fabric.h"
#include "sim/cluster/steady.h"
#include "sim/cluster/window.h"

/* Jobs that meet, beyond which runs cost too much for each plan, and shifts gain little. */
#define FABRIC_MANY 16

struct known;

/* A job on several hosts. */
struct placed {
	bool is_there, is_seen;
	uint32_t id, n_gpus;
	double phase; /* Of an iteration; where it is left to chance. */
	double isolated_ns, peak_bps;
	struct work_job job;
	struct routed_job routed;
	struct steady_seen isolated, now; /* If that is measured. */
	struct window_past past;          /* Where many meet. */
};

struct fabric {
	struct fabric_opts opts;
	const struct work_model *models;
	const uint32_t *model_of;
	size_t n_jobs;
	struct topo *topo;
	struct routes *routes;
	const uint32_t *hosts;
	struct placed *placed;      /* By job. */
	VEC(struct placed *) tried; /* Where plans would have jobs; owned. */
	VEC(struct placed *) there; /* By id; of the view, or a plan. */
	VEC(uint32_t) parents;      /* By position in 'there', as the next. */
	VEC(double) speeds;
	double *sum_bps;     /* By link: peaks of all. */
	uint32_t *first;     /* By link: one more than the first there. */
	VEC(uint32_t) links; /* That have some. */
	VEC(uint32_t) key;   /* Scratch, as the next. */
	VEC(struct placed *) members;
	VEC(uint32_t) ids; /* Of those that the view had last. */
	struct known *known;
	struct fabric_counts counts;
	struct fabric_times times;
};

/* How fast the jobs of a component are, and what CASSINI thinks of it. */
struct fabric_known {
	/*
	 * Of 'members', borrowed until the next call; squares: means over iterations of the
	 * slowdown's square; seen: if that is measured.
	 */
	const double *speeds, *squares;
	const struct steady_seen *seen;
	double score;   /* Mean over 'n_links'. */
	size_t n_links; /* That CASSINI gives a score to. */
	bool has_loop;
};

/* How long 'n_jobs' that meet are run at most. */
struct steady_limits fabric_limits(const struct fabric *fabric, size_t n_jobs);

/* Of the members; what CASSINI thinks of them, without speeds, costs less. */
struct fabric_known fabric_recall(struct fabric *fabric);
struct fabric_known fabric_score(struct fabric *fabric);
void fabric_forget_all(struct fabric *fabric);

/* Where a job would be; NULL for a model that cannot be run there, or that is not known. */
struct placed *fabric_try(struct fabric *fabric, const struct pol_job *job,
			  const struct pol_piece *pieces, uint32_t n_pieces,
			  uint32_t n_gpus);
/*
 * Calls 'each' for the components of two jobs or more of 'there', whose jobs are in
 * 'members', at the positions 'at' of 'there'.
 */
void fabric_components(struct fabric *fabric,
		       void (*each)(struct fabric *fabric, const uint32_t *at,
				    void *ctx),
		       void *ctx);

/*
 * How much jobs of 'there' would send where others do, were all phases chance: over jobs and
 * links, GPUs times the share of the time that one sends, times that which others need of
 * the link.  No run, so it is cheap for any number of jobs.
 */
double fabric_overlap(struct fabric *fabric);

/* What struct cluster_work asks of a fabric. */
void fabric_rates(void *fabric, const struct pol_view *view, double *speeds);
void fabric_worked(void *fabric, const struct pol_job *job, double dt_s);

#endif
