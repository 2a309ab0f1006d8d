/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - writer of Prometheus metrics: text format 0.0.4 or OpenMetrics 1.0.0.
 *
 * The caller writes one metric family after another: HELP and TYPE once, then the
 * samples.  This module escapes texts and formats numbers; the caller chooses names and
 * units (docs/metrics.md lists ours).  Pure.
 *
 *	metrics_family(&m, "antiphase_collector_interface_up", METRICS_GAUGE,
 *		       "1 if the interface exists and is up.");
 *	metrics_sample(&m, 1, "interface", name, NULL);
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

enum metrics_format {
	METRICS_TEXT,
	METRICS_OPEN,
};

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_OPEN_NAME "application/openmetrics-text"
#define METRICS_OPEN_TYPE METRICS_OPEN_NAME "; version=1.0.0; charset=utf-8"

struct metrics {
	struct strbuf *out; /* Borrowed. */
	const char *family; /* Borrowed: static text. */
	enum metrics_format format;
};

void metrics_init(struct metrics *m, struct strbuf *out); /* METRICS_TEXT. */
void metrics_init_as(struct metrics *m, struct strbuf *out, enum metrics_format format);
/* After the last family: writes the end mark that OpenMetrics requires. */
void metrics_finish(struct metrics *m);
/* Begins a family.  A counter's name ends in "_total" in both formats. */
void metrics_family(struct metrics *m, const char *name, enum metrics_type type,
		    const char *help);
/* Continues a family that another 'm' has begun. */
void metrics_go_on(struct metrics *m, const char *name);
/* Labels are pairs of name and value, ending with NULL. */
void metrics_sample(struct metrics *m, double value, ...);
/* As metrics_sample(), exact beyond 2^53. */
void metrics_sample_u64(struct metrics *m, uint64_t value, ...);
/* Families of one sample without labels. */
void metrics_counter(struct metrics *m, const char *name, uint64_t value,
		     const char *help);
void metrics_gauge(struct metrics *m, const char *name, double value, const char *help);
/*
 * A histogram's samples: 'counts[n + 1]', not cumulative, for 'n' ascending bounds and
 * for values above the last one.
 */
void metrics_histogram(struct metrics *m, const double *bounds, const uint64_t *counts,
		       size_t n, double sum, const char *label, const char *value);
/*
 * Writes antiphase_build_info and process_*, which all our programs have (process.c;
 * not pure).  'version' is that of cli_version().
 */
void metrics_process(struct metrics *m, const char *version);

#endif
