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

struct flow_table {
	struct flow_host *hosts; /* Owned.  In order of their names. */
};

struct flow_table *
flow_table_new(void)
{
	return xcalloc(1, sizeof(struct flow_table));
}

static void
drop_host(struct flow_table *table, struct flow_host *host)
{
	HASH_DEL(table->hosts, host);
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

int
flow_table_take(struct flow_table *table, int64_t now_ns, const char *text, size_t n,
		struct err *err)
{
	struct flow_rows rows = { .rows = VEC_EMPTY };
	struct flow_host *host = NULL;
	int rc = flow_text_parse(text, n, &rows, err);

	if (rc == 0) {
		HASH_FIND_STR(table->hosts, rows.host, host);
		if (!host && HASH_COUNT(table->hosts) >= FLOW_TABLE_MAX_HOSTS) {
			err_set(err, NULL, 0, 0, "more than %d hosts report flows",
				FLOW_TABLE_MAX_HOSTS);
			rc = -E2BIG;
		}
	}
	if (rc < 0) {
		flow_rows_fini(&rows);
		return rc;
	}
	if (host) {
		flow_rows_fini(&host->rows);
		host->rows = rows;
	} else {
		host = xcalloc(1, sizeof *host);
		host->rows = rows;
		HASH_ADD_KEYPTR_INORDER(hh, table->hosts, host->rows.host,
					strlen(host->rows.host), host, by_name);
	}
	host->heard_ns = now_ns;
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

size_t
flow_table_n(const struct flow_table *table)
{
	size_t n = 0;

	for (const struct flow_host *host = table->hosts; host; host = host->hh.next)
		n += host->rows.rows.n;
	return n;
}
