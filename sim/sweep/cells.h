/*
 * cells.h - the results of a sweep's cells: a folder with a file each, named by the
 * cell's digest and written at once or not at all, so that whoever is killed leaves
 * what is done, and any number of processes may write to one folder.
 *
 *	OUT/cells/DIGEST.json      antiphase.sim-cell/1: what the cell printed, and whence
 *	OUT/cells/DIGEST.failed    why it has none: the command, and what it said last
 */
#ifndef SIM_SWEEP_CELLS_H
#define SIM_SWEEP_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_doc;
struct sweep;

#define CELLS_MAX_BYTES (256u << 20)

/* A sweep and where it is kept. */
struct study {
	const struct sweep *sweep; /* Borrowed. */
	char *out;                 /* Owned.  The folder. */
	uint64_t *digests;         /* Owned.  One a cell. */
	const char *version;       /* Borrowed. */
};

enum cells_state {
	CELLS_MISSING,
	CELLS_DONE,
	CELLS_FAILED,
};

/* Makes the folders if need be. */
int cells_open(const struct study *study, struct err *err);
enum cells_state cells_state(const struct study *study, size_t cell);

/* Results in the folder that are of no cell: of another version, grid or input. */
size_t cells_strangers(const struct study *study);

/* "antiphase-sim run ..."; free with free(). */
char *cells_command(const struct study *study, size_t cell);

/*
 * Keeps what a cell printed.  Returns 0, -EINVAL for what is no JSON (which is then to be
 * told as a failure), or another negative errno.
 */
int cells_put(const struct study *study, size_t cell, const char *text, size_t n,
	      struct err *err);
int cells_put_failure(const struct study *study, size_t cell, const char *why,
		      struct err *err);

/*
 * The document of a cell that is done, checked to be its; '*ret_text' holds what the
 * document refers to, free it after json_doc_free().
 */
int cells_get(const struct study *study, size_t cell, struct json_doc **ret_doc,
	      char **ret_text, struct err *err);

#endif
