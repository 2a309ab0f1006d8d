/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packet.c - bytes as packets of each link type, then matched by rules */
#include "collector/sources/packets/job_rules.h"
#include "collector/sources/packets/packet.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const texts[] = { "a=10.0.0.0/8:1-1000", "b=[fd00::/8]" };
	static struct job_rules *rules;
	struct packet packet;
	uint32_t length;

	if (!rules)
		BUG_ON(job_rules_new(texts, 2, &rules, NULL) < 0);
	if (size < 2)
		return 0;
	length = (uint32_t)size + data[1] * 7u;
	packet_parse((enum packet_link)(data[0] % 4), data + 2, size - 2, length,
		     &packet);
	BUG_ON(packet.wire_bytes > length + 14);
	BUG_ON(packet.payload_bytes > length);
	BUG_ON(packet.is_tcp && !packet.has_ports);
	BUG_ON(packet.has_ports && !packet.is_ip);
	job_rules_match(rules, &packet);
	return 0;
}
