/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lingjun.c - topo.csv of the Lingjun dataset as fabrics */
#include "tests/fuzz/fuzz_fabric.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_LINGJUN,
					     .max_names = 10000 };

	fuzz_fabric(&opts, data, size);
	return 0;
}
