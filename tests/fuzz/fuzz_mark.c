/* fuzz_mark.c - datagrams that claim to be marks. */
#include <stdlib.h>
#include <string.h>

#include "lib/wire/mark.h"
#include "lib/wire/tele.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[MARK_BYTES];
	struct mark mark;

	if (mark_decode(data, size, &mark) < 0)
		return 0;
	if (mark.source > TELE_MARK_NCCL || mark.end_ns < mark.begin_ns)
		abort();
	mark_encode(&mark, again);
	if (memcmp(again, data, size))
		abort();
	return 0;
}
