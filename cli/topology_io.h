/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_io.h - fabrics and links, as the verbs of 'antiphase topology' read and
 * print them.
 */
#ifndef CLI_TOPOLOGY_IO_H
#define CLI_TOPOLOGY_IO_H

#include "lib/base/err.h"
#include "topology/read.h"
#include "topology/topo.h"

struct jsonw;
struct observed;
struct table;

/*
 * Reads the fabric file at 'path', in any format, or asks the antiphase-topology at
 * the service 'path' ("http://127.0.0.1:7462").  'opts' may be NULL.  Returns 0
 * and a new reference, or the negative errno for topology_fail().
 */
int topology_load(const char *path, const struct topo_read_opts *opts,
		  struct topo **ret_topo, struct err *err);

/*
 * Adds the reports of "FILE" or "NODE=FILE" to 'seen'.  lldpcli's text does not name its
 * node: it is NODE, or with 'is_named_by_file' the name of the file without ".json".
 * Returns 0 or the negative errno for topology_fail().
 */
int topology_read_seen(const char *operand, bool is_named_by_file,
		       struct observed *seen, struct err *err);

/* Id of the host of that name; TOPO_NONE, with 'err' filled, if there is none. */
uint32_t topology_find_host(const struct topo *topo, const char *name, struct err *err);

/* Begins the object of a link in a list: its name and capacity.  jsonw_end() ends it. */
void topology_json_link(struct jsonw *w, const struct topo *topo, uint32_t link);

/* The same as the first two cells of a row, under "LINK" and "%Gb/s". */
void topology_table_link(struct table *t, const struct topo *topo, uint32_t link);

/* Writes the native JSON to 'path', or to stdout if it is NULL.  0 or -errno. */
int topology_save(const struct topo *topo, const char *path, struct err *err);

#endif
