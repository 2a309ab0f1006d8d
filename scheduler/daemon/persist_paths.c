/* SPDX-License-Identifier: Apache-2.0 */
/*
 * persist_paths.c - chosen paths in the store:
 *
 *	{"fabric":"0123456789abcdef","hosts":"h[0,3]","connections":2,"paths":[1,0,-1,0]}
 *
 * The fabric is topo_digest(), as numbers of paths mean nothing on another one; a path is
 * -1 if the flow is left to hashing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"
#include "topology/route.h"
#include "topology/topo.h"

#define DIGEST_CHARACTERS 17 /* With the terminator. */

/* ---- What the paths are for ------------------------------------------------------ */

static void
write_digest(uint64_t digest, char ret_text[DIGEST_CHARACTERS])
{
	snprintf(ret_text, DIGEST_CHARACTERS, "%016" PRIx64, digest);
}

static void
write_hosts(const struct persist_paths *paths, struct strbuf *out)
{
	const char **names = xcalloc(paths->n_hosts + 1, sizeof *names);

	for (uint32_t i = 0; i < paths->n_hosts; i++)
		names[i] = topo_node(paths->topo, paths->hosts[i])->name;
	hostlist_fold(names, paths->n_hosts, out);
	free(names);
}

/* ---- Storing --------------------------------------------------------------------- */

static int64_t
number_of(uint32_t path)
{
	return path == WORK_HASHED ? -1 : (int64_t)path;
}

static char *
write_document(const struct persist_paths *paths)
{
	struct strbuf hosts = STRBUF_EMPTY;
	char digest[DIGEST_CHARACTERS], *text = NULL;
	struct jsonw w;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	BUG_ON(!out);
	write_digest(paths->fabric, digest);
	write_hosts(paths, &hosts);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "fabric", digest);
	jsonw_str(&w, "hosts", hosts.text);
	jsonw_int(&w, "connections", paths->n_connections);
	jsonw_flat_array(&w, "paths");
	for (size_t i = 0; i < paths->n_paths; i++)
		jsonw_int(&w, NULL, number_of(paths->paths[i]));
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	strbuf_free(&hosts);
	return text;
}

void
persist_keep_paths(struct store *store, const char *job,
		   const struct persist_paths *paths)
{
	char *text;

	if (!store)
		return;
	if (!paths) {
		store_delete(store, STORE_PATHS, job);
		return;
	}
	text = write_document(paths);
	if (strlen(text) <= PERSIST_MAX_PATHS_BYTES)
		store_put(store, STORE_PATHS, job, clk_wall_us(), text);
	else
		store_delete(store, STORE_PATHS, job);
	free(text);
}

/* ---- Finding --------------------------------------------------------------------- */

struct search {
	struct persist_paths *paths;
	struct err *err;
	int rc;
};

static bool
is_for(const struct persist_paths *paths, const char *fabric, const char *hosts)
{
	struct strbuf ours = STRBUF_EMPTY;
	char digest[DIGEST_CHARACTERS];
	bool is_same;

	write_digest(paths->fabric, digest);
	write_hosts(paths, &ours);
	is_same = strcmp(fabric, digest) == 0 && strcmp(hosts, ours.text) == 0;
	strbuf_free(&ours);
	return is_same;
}

/* The elements of the array, which are checked one by one. */
static int
read_numbers(const struct json_doc *doc, const struct json *array, size_t n,
	     uint32_t **ret_paths, struct err *err)
{
	uint32_t *paths = xcalloc(n + 1, sizeof *paths);
	size_t i = 0;

	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		double number = json_number(at);

		if (!(number >= -1 && number < ROUTE_MAX_PATHS) ||
		    number > (double)(int32_t)number ||
		    number < (double)(int32_t)number) {
			free(paths);
			return json_fail(doc, at, err,
					 "'paths' has an element that is not the "
					 "number of a path");
		}
		paths[i++] = number < 0 ? WORK_HASHED : (uint32_t)number;
	}
	*ret_paths = paths;
	return 0;
}

static int
read_document(const struct json_doc *doc, struct persist_paths *paths, struct err *err)
{
	const struct json *root = json_root(doc), *array;
	const char *fabric, *hosts;
	int64_t n_connections;
	size_t n;
	int rc;

	if (json_get_str(doc, root, "fabric", &fabric, err) < 0 ||
	    json_get_str(doc, root, "hosts", &hosts, err) < 0 ||
	    json_get_int(doc, root, "connections", 0, WORK_MAX_CONNECTIONS,
			 &n_connections, err) < 0 ||
	    json_get_array(doc, root, "paths", &array, &n, err) < 0)
		return -EINVAL;
	if (!is_for(paths, fabric, hosts))
		return 0;
	rc = read_numbers(doc, array, n, &paths->paths, err);
	if (rc < 0)
		return rc;
	paths->n_paths = n;
	paths->n_connections = (uint32_t)n_connections;
	return 1;
}

static bool
on_paths(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct search *search = ctx;
	struct json_doc *doc = NULL;

	(void)key;
	(void)at_us;
	if (strlen(json) > PERSIST_MAX_PATHS_BYTES)
		search->rc = err_set(search->err, "store", 0, 0,
				     "not text of at most %u bytes",
				     PERSIST_MAX_PATHS_BYTES);
	else if (json_parse("store", json, strlen(json), &doc, search->err) < 0)
		search->rc = -EINVAL;
	else
		search->rc = read_document(doc, search->paths, search->err);
	json_doc_free(doc);
	return false;
}

int
persist_find_paths(struct store *store, const char *job, struct persist_paths *paths,
		   struct err *err)
{
	struct search search = { .paths = paths, .err = err };
	int rc;

	if (!store)
		return 0;
	rc = store_read(store, STORE_PATHS, job, 1, on_paths, &search, err);
	return rc < 0 ? rc : search.rc;
}
