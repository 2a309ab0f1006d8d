/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ibnet.c - the output of ibnetdiscover as a fabric */
#include "tests/fuzz/fuzz_fabric.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_IBNET };

	fuzz_fabric(&opts, data, size);
	return 0;
}
