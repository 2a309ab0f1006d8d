/*
 * metrics.h - figures for Prometheus: the text exposition format, written as it
 * is read.
 *
 * One metric family after another: its HELP and TYPE once, then its samples.
 * Escaping, and which number formats are allowed, are handled here; names and
 * units are the caller's (docs/metrics.md lists ours).  Pure.
 *
 *	metrics_family(&m, "antiphase_link_transmit_bytes_total", METRICS_COUNTER,
 *		       "Wire bytes sent over a directed link.");
 *	metrics_sample(&m, 17.0, "link", name, NULL);
 */
#ifndef LIB_DAEMON_METRICS_H
#define LIB_DAEMON_METRICS_H

#include <stdint.h>

#include "lib/base/strbuf.h"

enum metrics_type {
	METRICS_COUNTER,
	METRICS_GAUGE,
	METRICS_HISTOGRAM,
};

struct metrics {
	struct strbuf *out; /* Borrowed. */
	const char *family; /* Borrowed: static text. */
};

void metrics_init(struct metrics *m, struct strbuf *out);
void metrics_family(struct metrics *m, const char *name, enum metrics_type type,
		    const char *help);
/* Labels are pairs of name and value, ending with NULL. */
void metrics_sample(struct metrics *m, double value, ...);
/* Counters beyond 2^53 exactly. */
void metrics_sample_u64(struct metrics *m, uint64_t value, ...);
/*
 * A histogram's samples: 'counts[n]' in ascending 'bounds[n]' (not cumulated), and
 * one more for what is above.
 */
void metrics_histogram(struct metrics *m, const double *bounds, const uint64_t *counts,
		       size_t n, double sum, const char *label, const char *value);
/*
 * antiphase_build_info and process_*: what every program of ours says (process.c; not
 * pure).  'version' is what cli_version() returns.
 */
void metrics_process(struct metrics *m, const char *version);

#endif
