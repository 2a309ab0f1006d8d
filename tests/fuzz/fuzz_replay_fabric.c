/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_replay_fabric.c - texts as the fabric of a replay: a generator with its
 * arguments, or the text of a file; jobs get models of the catalog
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "policies/policy.h"
#include "sim/jobs/joblist.h"
#include "sim/replay/replay_fabric.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"
#include "topology/topo.h"

#define MODELS "examples/models"

static const char trace[] = "job_id,submit_s,num_gpus,duration_s,model\n"
			    "a,0,1,100,bert\nb,1,4,100,vgg16\nc,2,8,100,\n";

static void
check(const struct replay_fabric *loaded, const struct joblist *list,
      const struct replay_opts *opts)
{
	size_t n_hosts;

	(void)topo_hosts(loaded->topo, &n_hosts);
	BUG_ON(opts->topo != loaded->topo || n_hosts > topo_n_nodes(loaded->topo));
	BUG_ON(opts->catalog != &loaded->catalog || !loaded->catalog.n);
	for (size_t i = 0; i < list->n; i++)
		BUG_ON(loaded->model_of[i] != MODEL_NONE &&
		       loaded->model_of[i] >= loaded->catalog.n);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file memory, trace_file;
	static struct joblist list;
	struct replay_opts opts = { .until_s = 0 };
	struct replay_fabric loaded = { 0 };
	char *text = fuzz_text(data, size);
	struct err err = { 0 };

	if (!list.n)
		BUG_ON(joblist_load(
			       memory_file_set(&trace_file, trace, sizeof trace - 1),
			       JOBTRACE_AUTO, NULL, &list, NULL) < 0 ||
		       !list.n);
	/* The name of another file is refused, or read as any user's would be. */
	if (strchr(text, '\n') || text[0] == '{' || strchr(text, '/')) {
		free(text);
		text = xstrdup(memory_file_set(&memory, data, size));
	}
	if (replay_fabric_load(text, MODELS, 2, 1, &list, &opts, &loaded, &err) == 0)
		check(&loaded, &list, &opts);
	else
		BUG_ON(!err.text[0] || loaded.topo);
	replay_fabric_fini(&loaded);
	free(text);
	return 0;
}
