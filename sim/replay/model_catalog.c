#include "sim/replay/model_catalog.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/rng.h"

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
model_catalog_load(const char *folder, struct model_catalog *ret_zoo, struct err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_json, alphasort), r = 0;
	struct model_catalog zoo = { 0 };

	if (n < 0)
		return err_set_errno(err, folder, errno, "cannot read the folder");
	zoo.models = xcalloc((size_t)n + 1, sizeof *zoo.models);
	if (n == 0 || n > MAX_MODELS)
		r = err_set(err, folder, 0, 0,
			    "has %d models (*.json), expected 1 to %d", n, MAX_MODELS);
	for (int i = 0; i < n; i++) {
		char *path = xasprintf("%s/%s", folder, entries[i]->d_name);

		if (r == 0)
			r = read_model(path, &zoo.models[zoo.n], err);
		zoo.n += r == 0;
		free(path);
		free(entries[i]);
	}
	free(entries);
	if (r < 0) {
		model_catalog_fini(&zoo);
		return r;
	}
	*ret_zoo = zoo;
	return 0;
}

void
model_catalog_fini(struct model_catalog *zoo)
{
	for (size_t i = 0; i < zoo->n; i++)
		work_model_fini(&zoo->models[i]);
	free(zoo->models);
	*zoo = (struct model_catalog){ 0 };
}

static uint32_t
find(const struct model_catalog *zoo, const char *name)
{
	for (uint32_t i = 0; *name && i < zoo->n; i++)
		if (work_model_is(&zoo->models[i], name))
			return i;
	return POL_NONE;
}

uint32_t *
model_catalog_models_of(const struct model_catalog *zoo, const struct joblist *list,
			uint32_t min_gpus, uint64_t seed, uint64_t *ret_n_drawn)
{
	uint32_t *models = xcalloc(list->n + 1, sizeof *models);

	*ret_n_drawn = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct rng rng;

		models[i] = POL_NONE;
		if (list->jobs[i].n_gpus < min_gpus)
			continue;
		models[i] = find(zoo, joblist_model(list, list->jobs[i].model));
		if (models[i] != POL_NONE)
			continue;
		rng_init_stream(&rng, seed, i);
		models[i] = (uint32_t)rng_below(&rng, zoo->n);
		++*ret_n_drawn;
	}
	return models;
}

double
model_catalog_skew(const struct model_catalog *zoo, uint32_t model)
{
	const struct work_model *m = model == POL_NONE ? NULL : &zoo->models[model];

	return m && m->parameters > 0 ? m->largest_tensor / m->parameters : 0;
}
