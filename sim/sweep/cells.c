/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/cells.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/sort.h"
#include "sim/report/report.h"
#include "sim/sweep/grid.h"

static char *
path_of(const struct study *study, size_t cell, const char *kind)
{
	return xasprintf("%s/cells/%016" PRIx64 ".%s", study->out, study->digests[cell],
			 kind);
}

int
cells_open(const struct study *study, struct err *err)
{
	char *cells = xasprintf("%s/cells", study->out);
	int r = 0;

	if (mkdir(study->out, 0777) < 0 && errno != EEXIST)
		r = err_set_errno(err, study->out, errno, "cannot make the folder");
	else if (mkdir(cells, 0777) < 0 && errno != EEXIST)
		r = err_set_errno(err, cells, errno, "cannot make the folder");
	free(cells);
	return r;
}

static bool
exists(const struct study *study, size_t cell, const char *kind)
{
	char *path = path_of(study, cell, kind);
	struct stat st;
	/* A power loss may leave an empty file. */
	bool has_bytes = stat(path, &st) == 0 && st.st_size > 0;

	free(path);
	return has_bytes;
}

enum cells_state
cells_state(const struct study *study, size_t cell)
{
	if (exists(study, cell, "json"))
		return CELLS_DONE;
	return exists(study, cell, "failed") ? CELLS_FAILED : CELLS_MISSING;
}

size_t
cells_n_unknown(const struct study *study)
{
	size_t n_cells = study->sweep->n_cells, n = 0;
	uint64_t *sorted = xcalloc(n_cells + 1, sizeof *sorted), digest;
	char *path = xasprintf("%s/cells", study->out);
	DIR *folder = opendir(path);

	memcpy(sorted, study->digests, n_cells * sizeof *sorted);
	sort_items(sorted, n_cells, sort_by_u64);
	for (struct dirent *d; folder && (d = readdir(folder));) {
		char *end;

		digest = strtoull(d->d_name, &end, 16);
		n += end == d->d_name + 16 && !strcmp(end, ".json") &&
		     !bsearch(&digest, sorted, n_cells, sizeof *sorted, sort_by_u64);
	}
	if (folder)
		closedir(folder);
	free(path);
	free(sorted);
	return n;
}

char *
cells_command(const struct study *study, size_t cell)
{
	struct sweep_words words;
	char *command;

	sweep_command(study->sweep, cell, &words);
	command = report_command((int)words.n, words.items);
	sweep_words_fini(&words);
	return command;
}

void
cells_put_origin(const struct study *study, size_t cell, struct jsonw *w)
{
	const struct sweep *sweep = study->sweep;
	char *command = cells_command(study, cell);

	jsonw_str(w, "version", study->version);
	jsonw_str(w, "command", command);
	jsonw_int(w, "seed", (int64_t)sweep_seed(sweep, cell));
	jsonw_array(w, "axes");
	for (size_t i = 0; i < sweep->axes.n; i++) {
		jsonw_flat_object(w, NULL);
		jsonw_str(w, "axis", sweep->axes.items[i].name);
		jsonw_str(w, "value", sweep_value(sweep, cell, i));
		jsonw_end(w);
	}
	jsonw_end(w);
	free(command);
}

/* Begins a file of either kind; the object stays open. */
static void
put_head(const struct study *study, size_t cell, struct jsonw *w, FILE *out)
{
	char digest[17];

	snprintf(digest, sizeof digest, "%016" PRIx64, study->digests[cell]);
	jsonw_document(w, out, "antiphase.sim_cell/2");
	jsonw_str(w, "digest", digest);
	cells_put_origin(study, cell, w);
}

static int
write_text(const struct study *study, size_t cell, const char *kind, FILE *out,
	   char *const *text, const size_t *n, struct err *err)
{
	char *path = path_of(study, cell, kind);
	int r;

	if (fclose(out) != 0)
		r = err_set_errno(err, path, errno, "cannot buffer");
	else
		r = file_write(path, *text, *n, err);
	free(path);
	return r;
}

int
cells_put(const struct study *study, size_t cell, const char *text, size_t n,
	  struct err *err)
{
	char *document = NULL, *failed;
	size_t length = 0;
	struct json_doc *doc;
	struct jsonw w;
	FILE *out;
	int r = json_parse("the output", text, n, &doc, err);

	if (r < 0)
		return r;
	json_doc_free(doc);
	out = open_memstream(&document, &length);
	BUG_ON(!out);
	put_head(study, cell, &w, out);
	/* Copied, not by 'w', to keep every digit. */
	while (n && strchr(" \r\n\t", text[n - 1]))
		n--;
	fprintf(out, ",\n  \"result\": %.*s\n}\n", (int)n, text);
	r = write_text(study, cell, "json", out, &document, &length, err);
	free(document);
	if (r < 0)
		return r;
	failed = path_of(study, cell, "failed");
	unlink(failed);
	free(failed);
	return 0;
}

int
cells_put_failure(const struct study *study, size_t cell, const char *why,
		  struct err *err)
{
	char *document = NULL;
	size_t length = 0;
	struct jsonw w;
	FILE *out = open_memstream(&document, &length);
	int r;

	BUG_ON(!out);
	put_head(study, cell, &w, out);
	jsonw_str(&w, "error", why);
	jsonw_end(&w);
	jsonw_finish(&w);
	r = write_text(study, cell, "failed", out, &document, &length, err);
	free(document);
	return r;
}

int
cells_get(const struct study *study, size_t cell, struct json_doc **ret_doc,
	  char **ret_text, struct err *err)
{
	char *path = path_of(study, cell, "json"), *command = NULL, *text = NULL;
	struct json_doc *doc = NULL;
	const char *found;
	size_t n;
	int r = file_read(path, CELLS_MAX_BYTES + (1 << 20), &text, &n, err);

	if (r == 0)
		r = json_parse("a cell", text, n, &doc, err);
	if (r == 0)
		r = json_check_schema(doc, "antiphase.sim_cell", 2, err);
	if (r == 0)
		r = json_get_str(doc, json_root(doc), "command", &found, err);
	command = cells_command(study, cell);
	if (r == 0 && strcmp(found, command))
		r = err_set(err, path, 0, 0, "belongs to another command");
	if (r == 0 && (!json_find(json_root(doc), "result") ||
		       json_kind(json_find(json_root(doc), "result")) != JSON_OBJECT))
		r = err_set(err, path, 0, 0, "has no result");
	if (r < 0 && err && r != -ENOENT) {
		snprintf(err->file, sizeof err->file, "%s", path);
		err_append(err, "; remove it to run the cell again");
	}
	free(command);
	free(path);
	if (r < 0) {
		json_doc_free(doc);
		free(text);
		return r;
	}
	*ret_doc = doc;
	*ret_text = text;
	return 0;
}
