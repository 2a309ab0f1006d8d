/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_probe_text.c - texts as orders to probe paths, and answers */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/probe_text.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct probe_message message, again;
	char *text = fuzz_text(data, size), *written;
	struct err err = { 0 };

	if (probe_text_parse(text, size, &message, &err) == 0) {
		written = probe_text_write(&message);
		if (probe_text_parse(written, strlen(written), &again, NULL) < 0 ||
		    memcmp(message.hops, again.hops, sizeof message.hops) != 0 ||
		    memcmp(message.source, again.source, sizeof message.source) != 0 ||
		    message.number != again.number ||
		    message.n_ports != again.n_ports ||
		    message.is_answer != again.is_answer)
			abort();
		free(written);
	} else if (!err.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
