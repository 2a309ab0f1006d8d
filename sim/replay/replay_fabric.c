/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay_fabric.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "topology/gen_table.h"
#include "topology/read.h"
#include "topology/topo.h"

/* Whether it has arguments for a generator, "leaf-spine --leaves 6 ...". */
static bool
is_generated(const char *fabric)
{
	for (size_t i = 0; i < GEN_N_KINDS; i++) {
		size_t n = strlen(gen_kinds[i].name);

		if (strncmp(fabric, gen_kinds[i].name, n) == 0 && fabric[n] == ' ')
			return true;
	}
	return false;
}

static int
load_topo(const char *fabric, struct topo **ret_topo, struct err *err)
{
	size_t length;
	char *text;
	int r;

	if (is_generated(fabric))
		return gen_text(fabric, ret_topo, err);
	r = file_read(fabric, TOPO_MAX_FILE_BYTES, &text, &length, err);
	if (r < 0)
		return r;
	r = topo_read(fabric, text, length, NULL, ret_topo, err);
	free(text);
	return r;
}

int
replay_fabric_load(const char *fabric, const char *models, uint32_t min_gpus,
		   uint64_t seed, const struct joblist *list, struct replay_opts *opts,
		   struct replay_fabric *ret_fabric, struct err *err)
{
	struct replay_fabric loaded = { 0 };
	int r = load_topo(fabric, &loaded.topo, err);

	if (r == 0)
		r = model_catalog_load(models, &loaded.catalog, err);
	if (r < 0) {
		replay_fabric_fini(&loaded);
		return r;
	}
	loaded.model_of = joblist_find_models(list, &loaded.catalog, min_gpus, seed,
					      &loaded.n_drawn);
	*ret_fabric = loaded;
	opts->topo = loaded.topo;
	opts->catalog = &ret_fabric->catalog;
	opts->model_of = loaded.model_of;
	opts->fabric.seed = seed;
	return 0;
}

void
replay_fabric_fini(struct replay_fabric *fabric)
{
	topo_unref(fabric->topo);
	model_catalog_fini(&fabric->catalog);
	free(fabric->model_of);
	*fabric = (struct replay_fabric){ 0 };
}
