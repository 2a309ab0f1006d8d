/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lldp_run.h - periodic runs of lldpcli, and its output
 *
 * lldpcli may be missing, hang, or print without end: it runs as a child in its own
 * process group, the loop reads its output up to LLDP_MAX_BYTES, and it is killed when
 * its time is up.  One runs at a time.
 */
#ifndef TOPOLOGY_LLDP_RUN_H
#define TOPOLOGY_LLDP_RUN_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct lldp_run;
struct loop;

struct lldp_run_opts {
	const char *program; /* "lldpcli"; found by PATH. */
	const char *socket;  /* Of lldpd; NULL: its default. */
	int64_t timeout_ns;  /* Of one run. */
	/*
	 * Called after each run with its output (terminated), or with NULL and the
	 * reason.
	 */
	void (*done)(void *ctx, const char *text, size_t n, const struct err *why);
	void *ctx;
};

/* Borrows the loop, and the strings of 'opts'. */
struct lldp_run *lldp_run_new(struct loop *loop, const struct lldp_run_opts *opts);
void lldp_run_free(struct lldp_run *run); /* Accepts NULL; kills what runs. */

/* Starts a run, unless one is active. */
void lldp_run_start(struct lldp_run *run);

/* Runs it without a loop and waits.  0 and a new text, or -errno with 'err' filled. */
int lldp_run_once(const struct lldp_run_opts *opts, char **ret_text, size_t *ret_n,
		  struct err *err);

#endif
