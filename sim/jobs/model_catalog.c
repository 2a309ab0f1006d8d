/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jobs/model_catalog.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"

#define MAX_MODELS 4096

static int
is_json(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int
read_model(const char *path, struct work_model *ret_model, struct err *err)
{
	size_t length;
	char *text;
	int r;

	r = file_read(path, WORK_MODEL_MAX_BYTES, &text, &length, err);
	if (r < 0)
		return r;
	r = work_model_parse(path, text, length, ret_model, err);
	free(text);
	return r;
}

int
model_catalog_load(const char *folder, struct model_catalog *ret_catalog,
		   struct err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_json, alphasort), r = 0;
	struct model_catalog catalog = { 0 };

	if (n < 0)
		return err_set_errno(err, folder, errno, "cannot read the folder");
	catalog.models = xcalloc((size_t)n + 1, sizeof *catalog.models);
	if (n == 0 || n > MAX_MODELS)
		r = err_set(err, folder, 0, 0,
			    "has %d models (*.json), expected 1 to %d", n, MAX_MODELS);
	for (int i = 0; i < n; i++) {
		char *path = xasprintf("%s/%s", folder, entries[i]->d_name);

		if (r == 0)
			r = read_model(path, &catalog.models[catalog.n], err);
		catalog.n += r == 0;
		free(path);
		free(entries[i]);
	}
	free(entries);
	if (r < 0) {
		model_catalog_fini(&catalog);
		return r;
	}
	*ret_catalog = catalog;
	return 0;
}

void
model_catalog_fini(struct model_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n; i++)
		work_model_fini(&catalog->models[i]);
	free(catalog->models);
	*catalog = (struct model_catalog){ 0 };
}

uint32_t
model_catalog_find(const struct model_catalog *catalog, const char *name)
{
	for (uint32_t i = 0; *name && i < catalog->n; i++)
		if (work_model_is(&catalog->models[i], name))
			return i;
	return MODEL_NONE;
}

double
model_catalog_skew(const struct model_catalog *catalog, uint32_t model)
{
	const struct work_model *m =
		model == MODEL_NONE ? NULL : &catalog->models[model];

	return m && m->parameters > 0 ? m->largest_tensor / m->parameters : 0;
}
