/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_replay_cluster.c - texts as clusters of a replay */
#include <stdlib.h>

#include "lib/base/err.h"
#include "sim/replay/replay_cluster.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct replay_cluster cluster = { 0 };
	struct err err = { 0 };

	if (replay_cluster_parse(text, &cluster, &err) == 0) {
		BUG_ON(replay_cluster_most(&cluster) == 0);
		replay_cluster_fini(&cluster);
	} else {
		BUG_ON(!err.text[0]);
	}
	free(text);
	return 0;
}
