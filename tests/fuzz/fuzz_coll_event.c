/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_coll_event.c - datagrams that claim to be collective events. */
#include <stdlib.h>
#include <string.h>

#include "lib/wire/coll_event.h"
#include "lib/wire/tele.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[COLL_EVENT_BYTES];
	struct coll_event event;

	if (coll_event_decode(data, size, &event) < 0)
		return 0;
	if (event.source > TELE_EVENT_NCCL || event.end_ns < event.begin_ns)
		abort();
	coll_event_encode(&event, again);
	if (memcmp(again, data, size))
		abort();
	return 0;
}
