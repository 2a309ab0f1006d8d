/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kueue.c - topology assignments of a Workload of Kueue */
#include <stdlib.h>

#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"
#include "topology/kueue.h"

static int
take(void *ctx, const char *name)
{
	*(size_t *)ctx += *name != '\0';
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct err err;
	size_t n = 0;

	if (kueue_nodes_read("fuzz", text, size, 1000, take, &n, &err) == 0 &&
	    (n < 1 || n > 1000))
		abort();
	free(text);
	return 0;
}
