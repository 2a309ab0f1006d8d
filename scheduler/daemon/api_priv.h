/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_priv.h - what the files of api.h share:
 *
 *	api_text.c     numbers and pages
 *	api_facts.c    observed state: health, fabric, links, jobs, fragmentation,
 *	               history
 *	api_iterations.c
 *	               iterations of a job, and what happened to it
 *	api_advice.c   advice, and modes
 *	api_changes.c  changes made at the cluster's scheduler, and undoing them
 *	api_events.c   events for listeners
 *	api_k8s.c      kube-scheduler's extender
 *	api_web.c      the page, and its tables without JavaScript
 *	api.c          routes, token, opening and closing
 *
 * Each uses those above it.
 */
#ifndef SCHEDULER_DAEMON_API_PRIV_H
#define SCHEDULER_DAEMON_API_PRIV_H

#include <stdio.h>

#include "lib/base/json_text.h"
#include "lib/daemon/http.h"
#include "scheduler/daemon/api.h"
#include "scheduler/daemon/k8s.h"
#include "scheduler/live/status.h"

#define API_EVENTS "/api/v1/events"

struct api_events;
struct contention_link;
struct job_profiler;
struct live;

struct api {
	struct api_opts opts;
	const struct live *live;             /* Of the telemetry. */
	const struct job_profiler *profiler; /* Of the telemetry. */
	struct http *http;                   /* Owned. */
	struct k8s_server k8s;               /* Its extender is owned. */
	struct api_events *events;           /* Owned. */
};

/* ---- api_text.c ---------------------------------------------------------------------- */

/* Reads a query parameter, a number from 0; 'fallback' if absent. False: invalid. */
bool api_number(const struct http_request *request, const char *name, int64_t fallback,
		int64_t *ret_value);

/* Items of a list in one answer: this bounds the delay of the next request. */
#define API_MAX_PAGE  250
#define API_MAX_HOSTS 250

/* ?limit=N&after=NAME of a list; 'after' is NULL if absent. */
struct api_page {
	size_t limit;
	const char *after;
};

/* Reads them; false: the reply is status 400. */
bool api_page_read(const struct http_request *request, struct http_reply *reply,
		   struct api_page *ret_page);
/* Writes "left_out" and "next_after" after 'n_told' of the 'n' items left. */
void api_page_end(size_t n, size_t n_told, const char *last, struct jsonw *w);
/* telemetry_status() with a bounded list of hosts. */
struct status api_status(const struct api *api);

/* ---- Handlers (http.h): 'api' is a struct api ---------------------------------------- */

void api_health(void *api, const struct http_request *request,
		struct http_reply *reply);
void api_topology(void *api, const struct http_request *request,
		  struct http_reply *reply);
void api_links(void *api, const struct http_request *request, struct http_reply *reply);
void api_link(void *api, const struct http_request *request, struct http_reply *reply);
void api_jobs(void *api, const struct http_request *request, struct http_reply *reply);
void api_job(void *api, const struct http_request *request, struct http_reply *reply);
void api_fragmentation(void *api, const struct http_request *request,
		       struct http_reply *reply);
void api_series(void *api, const struct http_request *request,
		struct http_reply *reply);

/* Of one link; called by api_link(). */
/* Of one job; called by api_job(). */
void api_job_iterations(struct api *api, const char *name, struct http_reply *reply);

void api_advices(void *api, const struct http_request *request,
		 struct http_reply *reply);
void api_advice(void *api, const struct http_request *request,
		struct http_reply *reply);
void api_ask_advice(void *api, const struct http_request *request,
		    struct http_reply *reply);
void api_config(void *api, const struct http_request *request,
		struct http_reply *reply);
void api_modes(void *api, const struct http_request *request, struct http_reply *reply);
void api_poke(void *api, const struct http_request *request, struct http_reply *reply);

void api_changes(void *api, const struct http_request *request,
		 struct http_reply *reply);
void api_job_action(void *api, const struct http_request *request,
		    struct http_reply *reply);

void api_web(void *api, const struct http_request *request, struct http_reply *reply);
void api_tables(void *api, const struct http_request *request,
		struct http_reply *reply);

/* ---- api_events.c -------------------------------------------------------------------- */

struct api_events *api_events_new(struct api *api);
void api_events_free(struct api_events *events); /* Accepts NULL. */
void api_events_tick(struct api_events *events);
bool api_events_step(struct api_events *events);

/* ---- api_k8s.c: its routes are those of k8s.h ----------------------------------------- */

int api_k8s_open(struct api *api, struct err *err); /* 0 or -EINVAL. */

#endif
