/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

struct flow_host {
	UT_hash_handle hh; /* By name. */
	struct flow_rows rows;
	int64_t heard_ns;
};

/* An address that a host sends flows from. */
struct flow_source {
	UT_hash_handle hh;
	uint8_t address[16];
	const struct flow_host *host;
};

struct flow_table {
	struct flow_host *hosts;     /* Owned.  In order of their names. */
	struct flow_source *sources; /* Owned. */
	size_t n_flows;              /* Of all hosts. */
	uint64_t n_refused;
};

struct flow_table *
flow_table_new(void)
{
	return xcalloc(1, sizeof(struct flow_table));
}

/* ---- Addresses ------------------------------------------------------------------- */

static struct flow_source *
find_source(const struct flow_table *table, const uint8_t address[16])
{
	struct flow_source *source;

	HASH_FIND(hh, table->sources, address, sizeof source->address, source);
	return source;
}

/* The last host that reports an address has it. */
static void
add_sources(struct flow_table *table, const struct flow_host *host)
{
	for (size_t i = 0; i < host->rows.rows.n; i++) {
		const uint8_t *address = host->rows.rows.items[i].flow.source;
		struct flow_source *source = find_source(table, address);

		if (!source) {
			source = xcalloc(1, sizeof *source);
			memcpy(source->address, address, sizeof source->address);
			HASH_ADD(hh, table->sources, address, sizeof source->address,
				 source);
		}
		source->host = host;
	}
}

static void
drop_sources(struct flow_table *table, const struct flow_host *host)
{
	for (size_t i = 0; i < host->rows.rows.n; i++) {
		struct flow_source *source =
			find_source(table, host->rows.rows.items[i].flow.source);

		if (!source || source->host != host)
			continue;
		HASH_DEL(table->sources, source);
		free(source);
	}
}

bool
flow_table_range(const struct flow_table *table, const uint8_t address[16],
		 struct port_range *ret_range)
{
	const struct flow_source *source = find_source(table, address);

	if (!source || !source->host->rows.range.first)
		return false;
	*ret_range = source->host->rows.range;
	return true;
}

const char *
flow_table_host_of(const struct flow_table *table, const uint8_t address[16])
{
	const struct flow_source *source = find_source(table, address);

	return source ? source->host->rows.host : NULL;
}

/* ---- Reports --------------------------------------------------------------------- */

static void
drop_host(struct flow_table *table, struct flow_host *host)
{
	drop_sources(table, host);
	HASH_DEL(table->hosts, host);
	table->n_flows -= host->rows.rows.n;
	flow_rows_fini(&host->rows);
	free(host);
}

void
flow_table_free(struct flow_table *table)
{
	struct flow_host *host, *next;

	if (!table)
		return;
	HASH_ITER(hh, table->hosts, host, next)
	drop_host(table, host);
	free(table);
}

static int
by_name(const struct flow_host *a, const struct flow_host *b)
{
	return strcmp(a->rows.host, b->rows.host);
}

/* 0; -E2BIG with 'err' filled: there is no room for the report. */
static int
check_room(struct flow_table *table, const struct flow_host *host,
	   const struct flow_rows *rows, struct err *err)
{
	size_t n_before = host ? host->rows.rows.n : 0;

	if (!host && HASH_COUNT(table->hosts) >= FLOW_TABLE_MAX_HOSTS)
		err_set(err, NULL, 0, 0, "more than %d hosts report flows",
			FLOW_TABLE_MAX_HOSTS);
	else if (rows->rows.n > n_before &&
		 table->n_flows - n_before + rows->rows.n > FLOW_TABLE_MAX_FLOWS)
		err_set(err, NULL, 0, 0, "more than %d flows are reported",
			FLOW_TABLE_MAX_FLOWS);
	else
		return 0;
	table->n_refused++;
	return -E2BIG;
}

int
flow_table_take(struct flow_table *table, int64_t now_ns, const char *text, size_t n,
		struct err *err)
{
	struct flow_rows rows = { .rows = VEC_EMPTY };
	struct flow_host *host = NULL;
	int rc = flow_text_parse(text, n, &rows, err);

	if (rc == 0) {
		HASH_FIND_STR(table->hosts, rows.host, host);
		rc = check_room(table, host, &rows, err);
	}
	if (rc < 0) {
		flow_rows_fini(&rows);
		return rc;
	}
	if (host) {
		drop_sources(table, host);
		table->n_flows -= host->rows.rows.n;
		flow_rows_fini(&host->rows);
		host->rows = rows;
	} else {
		host = xcalloc(1, sizeof *host);
		host->rows = rows;
		HASH_ADD_KEYPTR_INORDER(hh, table->hosts, host->rows.host,
					strlen(host->rows.host), host, by_name);
	}
	host->heard_ns = now_ns;
	table->n_flows += rows.rows.n;
	add_sources(table, host);
	return 0;
}

void
flow_table_tick(struct flow_table *table, int64_t now_ns)
{
	struct flow_host *host, *next;

	HASH_ITER(hh, table->hosts, host, next)
	if (now_ns - host->heard_ns >= FLOW_TABLE_KEEP_NS)
		drop_host(table, host);
}

void
flow_table_each(const struct flow_table *table,
		void (*found)(void *ctx, const char *host, const struct flow_row *row),
		void *ctx)
{
	for (const struct flow_host *host = table->hosts; host; host = host->hh.next)
		for (size_t i = 0; i < host->rows.rows.n; i++)
			found(ctx, host->rows.host, &host->rows.rows.items[i]);
}

const struct flow_rows *
flow_table_next(const struct flow_table *table, const char *host)
{
	const struct flow_host *found;

	HASH_FIND_STR(table->hosts, host, found);
	if (found)
		found = found->hh.next;
	else
		for (found = table->hosts; found && strcmp(found->rows.host, host) <= 0;
		     found = found->hh.next)
			;
	return found ? &found->rows : NULL;
}

bool
flow_table_has_host(const struct flow_table *table, const char *host)
{
	const struct flow_host *found;

	HASH_FIND_STR(table->hosts, host, found);
	return found;
}

void
flow_table_add_split(const struct flow_table *table, const char *host, const char *job,
		     struct flow_split *split)
{
	const char *ends[FLOW_TABLE_SPLIT];
	const struct flow_host *found;
	size_t n = 0, n_ends = 0;

	HASH_FIND_STR(table->hosts, host, found);
	for (size_t i = 0; found && i < found->rows.rows.n && n < FLOW_TABLE_SPLIT;
	     i++) {
		const struct flow_row *row = &found->rows.rows.items[i];
		const char *end;
		size_t k = 0;

		if (strcmp(row->job, job) != 0)
			continue;
		end = flow_table_host_of(table, row->flow.destination);
		if (!end)
			continue;
		n++;
		while (k < n_ends && ends[k] != end)
			k++;
		/* The first one of each host is the busiest. */
		if (k == n_ends) {
			ends[n_ends++] = end;
			split->busiest += (double)row->bytes;
		}
		split->bytes += (double)row->bytes;
	}
}

size_t
flow_table_n(const struct flow_table *table)
{
	return table->n_flows;
}

uint64_t
flow_table_n_refused(const struct flow_table *table)
{
	return table->n_refused;
}
