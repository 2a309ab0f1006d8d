/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - the state and the answers of antiphase-topology, without I/O
 *
 * It has the plan (a snapshot, replaced as a whole) and the reports of nodes; it
 * answers requests and announces changes. topology.c has the sockets, clocks, files and
 * lldpd.  Requests are untrusted until checked.
 *
 *	GET  /api/v1/health
 *	GET  /api/v1/snapshot
 *	POST /api/v1/lookup   {"hosts":"h[0-3]","collective":"ring"}
 *	POST /api/v1/lookup   {"node":"h0","interface":"eth0"}
 *	GET  /api/v1/diff
 *	GET  /api/v1/seen     all reports of nodes
 *	POST /api/v1/seen     {"node":"h0",...}: a report (observed_json.h)
 *
 * docs/json.md has the replies, antiphase.topology_reply/1, and the announcements,
 * antiphase.topology_change/2.
 */
#ifndef TOPOLOGY_SERVICE_H
#define TOPOLOGY_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct metrics;
struct observed_node;
struct service;
struct topo;

struct service_opts {
	int64_t max_age_us; /* Reports older than this are not compared; 0: any. */
	/* Called for each change: a topic such as "t/link_down", and JSON. */
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

/* State of lldpd, for health and metrics. */
enum service_lldp {
	SERVICE_LLDP_OFF,    /* Not asked for. */
	SERVICE_LLDP_OK,     /* It answered the last query. */
	SERVICE_LLDP_FAILED, /* It did not answer, or its answer is invalid. */
};

struct service *service_new(const struct service_opts *opts);
void service_free(struct service *service); /* Accepts NULL. */

/*
 * Takes a reference to a plan that was read from 'file'.  Logs the differences from the
 * previous plan, and announces them as one change.
 */
void service_set_plan(struct service *service, struct topo *plan, const char *file,
		      int64_t now_us);
/* The plan; NULL if there is none.  Borrowed. */
struct topo *service_plan(const struct service *service);

/* Takes over a report of this or another node; see observed_update(). */
int service_report(struct service *service, struct observed_node *report,
		   int64_t now_us);

/* Applies new options from now on; see service_opts. */
void service_set_max_age(struct service *service, int64_t max_age_us);

void service_set_lldp(struct service *service, enum service_lldp state);

/*
 * Compares the plan with the reports if either has changed, and announces new
 * differences and those that are gone.  Call about every second.
 */
void service_tick(struct service *service, int64_t now_us);

/*
 * Answers one request: the last part of its path, such as "lookup", and its terminated
 * body of 'n' bytes; NULL for GET.  Always fills 'reply'; returns the HTTP status.
 */
unsigned service_answer(struct service *service, const char *op, const char *body,
			size_t n, int64_t now_us, struct strbuf *reply);

/* Writes its metric families; docs/topology-service.md lists them. */
void service_metrics(struct service *service, int64_t now_us, struct metrics *m);

#endif
