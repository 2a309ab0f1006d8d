/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - the HTTP server of antiphase-scheduler: the API (docs/api.md and
 * docs/openapi.json describe it), its events, /metrics, and kube-scheduler's extender.
 */
#ifndef SCHEDULER_DAEMON_API_H
#define SCHEDULER_DAEMON_API_H

#include <stdbool.h>
#include <stdint.h>

struct actions;
struct api;
struct err;
struct fabric_source;
struct fragmentation_watch;
struct jobs;
struct loop;
struct outcomes;
struct scheduler_config;
struct scheduler_metrics;
struct store;
struct telemetry;

/* Sources of the answers; all borrowed. */
struct api_opts {
	struct loop *loop;
	const struct scheduler_config *config;
	const struct fabric_source *fabric;
	const struct telemetry *telemetry;
	struct jobs *jobs;
	struct actions *actions;
	const struct outcomes *outcomes;
	const struct fragmentation_watch *fragmentation;
	struct store *store; /* NULL: none. */
	struct scheduler_metrics *metrics;
	int64_t started_us; /* Wall clock. */
};

/*
 * Serves at the address of the settings; 0, and '*ret_api' is NULL if there is none; or
 * -errno with 'err' filled.
 */
int api_open(const struct api_opts *opts, struct api **ret_api, struct err *err);
void api_close(struct api *api); /* Accepts NULL, as the next ones. */
/* Once a second: schedules an event for listeners if there is a new scan. */
void api_tick(struct api *api);
/* Does a part of that; false: nothing is left to do. */
bool api_step(struct api *api);

#endif
