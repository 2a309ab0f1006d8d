/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_flows.h - the metrics of TCP flows, their paths and their wire ports, and those
 * of all limits: parts of metrics.h
 */
#ifndef SCHEDULER_DAEMON_METRICS_FLOWS_H
#define SCHEDULER_DAEMON_METRICS_FLOWS_H

struct metrics;
struct scheduler_metrics_opts;

void metrics_write_flows(const struct scheduler_metrics_opts *opts, struct metrics *m);
/* What was refused because a table was full (docs/limits.md). */
void metrics_write_limits(const struct scheduler_metrics_opts *opts, struct metrics *m);

#endif
