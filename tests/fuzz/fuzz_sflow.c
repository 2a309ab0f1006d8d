/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sflow.c - bytes as sFlow datagrams; results must be within bounds */
#include "collector/sources/packets/sflow.h"
#include "tests/fuzz/fuzz.h"

static void
on_counters(void *ctx, const struct sflow_datagram *datagram,
	    const struct sflow_counters *counters)
{
	size_t *n = ctx;

	(void)datagram;
	BUG_ON(counters->in_packets > UINT64_C(3) * UINT32_MAX);
	++*n;
}

static void
on_flow(void *ctx, const struct sflow_datagram *datagram, const struct sflow_flow *flow)
{
	size_t *n = ctx;

	(void)datagram;
	BUG_ON(flow->packet.has_ports && !flow->packet.is_ip);
	++*n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = 0;
	const struct sflow_handler handler = { &n, on_counters, on_flow };
	struct sflow_datagram datagram;

	if (sflow_parse(data, size, &handler, &datagram) == 0)
		BUG_ON(datagram.n_samples > size / 8);
	BUG_ON(n > size / 8);
	return 0;
}
