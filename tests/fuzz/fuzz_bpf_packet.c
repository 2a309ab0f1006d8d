/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_bpf_packet.c - bytes as packets: no read past the end, valid lengths */
#include <stdlib.h>
#include <string.h>

#include "bpf/parse.h"
#include "lib/base/alloc.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parse_packet p;
	uint8_t *exact, ecn;

	if (!size)
		return 0;
	exact = xmemdup(data, size, 1);
	if (parse_packet(exact, exact + size, &p) == PARSE_OK) {
		BUG_ON(p.ecn > 3);
		if (p.l4 == PARSE_UDP)
			BUG_ON(p.header_bytes > size);
		if (p.l4 != PARSE_OTHER_L4) {
			BUG_ON(!p.ip || p.header_bytes < 14 + 20 + 8);
			BUG_ON(p.addresses < exact || p.addresses + 8 > exact + size);
		}
	}
	if (parse_ecn(exact, exact + size, &ecn) == PARSE_OK)
		BUG_ON(ecn != p.ecn);
	free(exact);
	return 0;
}
