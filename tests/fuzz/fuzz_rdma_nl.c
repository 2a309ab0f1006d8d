/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_rdma_nl.c - bytes as replies of NETLINK_RDMA; results must be within bounds */
#include <string.h>

#include "collector/sources/rdma/rdma_nl.h"
#include "tests/fuzz/fuzz.h"

static void
on_device(void *ctx, uint32_t index, const char *name, uint32_t n_ports)
{
	(void)ctx;
	(void)index;
	(void)n_ports;
	BUG_ON(!name[0] || strlen(name) > RDMA_NL_MAX_NAME);
}

static void
on_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	size_t *n = ctx;

	BUG_ON(!counter->name[0] || strlen(counter->name) > RDMA_NL_MAX_NAME);
	++*n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = 0;
	const struct rdma_nl_handler handler = { &n, on_device, on_counter };
	int got = rdma_nl_parse(data, size, 4, &handler);

	BUG_ON(got > 1 || got < -4095);
	BUG_ON(n > size / 16); /* A name and a value have a minimum size. */
	return 0;
}
