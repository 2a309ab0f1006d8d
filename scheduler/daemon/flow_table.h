/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_table.h - the TCP flows of jobs, as their hosts report them
 *
 * Collectors that may move flows report every 5 s which flows their host sends
 * (lib/wire/flow_text.h).  Whatever chooses paths finds the ports of a job's connections
 * here.  A report replaces the one before of its host.
 *
 * Pure: time is an argument.  O(flows of the host) a report.
 */
#ifndef SCHEDULER_DAEMON_FLOW_TABLE_H
#define SCHEDULER_DAEMON_FLOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/flow_text.h"

struct err;
struct flow_table;

/* Chosen: reports of so many hosts are kept; others are refused. */
#define FLOW_TABLE_MAX_HOSTS 16384
/* Chosen: of all hosts together, about 50 MB; a report has FLOW_MAX at most. */
#define FLOW_TABLE_MAX_FLOWS 262144
/* Chosen: six reports are missing. */
#define FLOW_TABLE_KEEP_NS INT64_C(30000000000)

struct flow_table *flow_table_new(void);
void flow_table_free(struct flow_table *table); /* Accepts NULL. */

/*
 * Takes a report: a text, terminated, of 'n' bytes.  0; -EINVAL with 'err' filled for
 * what is none; -E2BIG.
 */
int flow_table_take(struct flow_table *table, int64_t now_ns, const char *text,
		    size_t n, struct err *err);
/* Forgets hosts that are silent.  To be called about once a second. */
void flow_table_tick(struct flow_table *table, int64_t now_ns);

/* Calls back for each flow: hosts by name, a host's flows with the most bytes first. */
void flow_table_each(const struct flow_table *table,
		     void (*found)(void *ctx, const char *host,
				   const struct flow_row *row),
		     void *ctx);
/*
 * The wire ports of the host that reports flows from this address; false: unknown.  O(1)
 * on average.
 */
bool flow_table_range(const struct flow_table *table, const uint8_t address[16],
		      struct port_range *ret_range);
/*
 * The host that reports flows from this address, the last one if several do; NULL: none.
 * Borrowed until the next call that changes the table.
 */
const char *flow_table_host_of(const struct flow_table *table,
			       const uint8_t address[16]);
/*
 * The report of the host after 'host' in the order of names ("": of the first one), which
 * need not be there any more; NULL: there is none.  Borrowed likewise.
 */
const struct flow_rows *flow_table_next(const struct flow_table *table,
					const char *host);
bool flow_table_has_host(const struct flow_table *table, const char *host);

/*
 * Over how many equal connections a job's hosts send to each other one: all bytes of
 * these connections over those of the busiest one to each host.  A connection with few
 * bytes beside a busy one counts as little as it carries.
 */
struct flow_split {
	double bytes, busiest;
};

/*
 * Adds the flows that a host reports for a job, the busiest FLOW_TABLE_SPLIT of them.
 * O(flows of the host).
 */
#define FLOW_TABLE_SPLIT 256
void flow_table_add_split(const struct flow_table *table, const char *host,
			  const char *job, struct flow_split *split);
/* Flows that are known now. */
size_t flow_table_n(const struct flow_table *table);
/* Reports that were refused because of the limits above. */
uint64_t flow_table_n_refused(const struct flow_table *table);

#endif
