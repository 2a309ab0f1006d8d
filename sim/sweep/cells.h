/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - results of a sweep's cells, in files.
 *
 *	OUT/cells/DIGEST.json      antiphase.sim_cell/2: the cell's output and its origin
 *	OUT/cells/DIGEST.failed    its command and its last error, if it failed
 *
 * Each file is written completely or not at all.  So a killed process leaves finished
 * results, and any number of processes may write to one folder.
 */
#ifndef SIM_SWEEP_CELLS_H
#define SIM_SWEEP_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_doc;
struct jsonw;
struct sweep;

#define CELLS_MAX_BYTES (256u << 20)

/* A sweep and the folder of its results. */
struct study {
	const struct sweep *sweep; /* Borrowed. */
	char *out;                 /* Owned.  The folder. */
	uint64_t *digests;         /* Owned.  [sweep->n_cells]. */
	const char *version;       /* Borrowed. */
};

enum cells_state {
	CELLS_MISSING,
	CELLS_DONE,
	CELLS_FAILED,
};

/* Makes the folders if they do not exist. */
int cells_open(const struct study *study, struct err *err);
enum cells_state cells_state(const struct study *study, size_t cell);

/* Number of results of no cell: those of another version, grid or input. */
size_t cells_n_unknown(const struct study *study);

/* "antiphase-sim run ..."; free with free(). */
char *cells_command(const struct study *study, size_t cell);

/* Writes version, command, seed and axes of a cell into the open object. */
void cells_put_origin(const struct study *study, size_t cell, struct jsonw *w);

/* Stores a cell's output.  Returns 0, -EINVAL if it is not JSON, or another -errno. */
int cells_put(const struct study *study, size_t cell, const char *text, size_t n,
	      struct err *err);
int cells_put_failure(const struct study *study, size_t cell, const char *why,
		      struct err *err);

/*
 * Reads the document of a finished cell and checks that it belongs to the cell's
 * command. The document refers to '*ret_text': free it after json_doc_free().
 */
int cells_get(const struct study *study, size_t cell, struct json_doc **ret_doc,
	      char **ret_text, struct err *err);

#endif
