/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_connect_text.c - texts as offers of ports to new connections */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/connect_text.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct connect_message message, again;
	char *text = fuzz_text(data, size), *written;
	struct err err = { 0 };

	if (connect_text_parse(text, size, &message, &err) == 0) {
		written = connect_text_write(&message);
		if (connect_text_parse(written, strlen(written), &again, NULL) < 0 ||
		    memcmp(&message.source, &again.source, sizeof message.source) !=
			    0 ||
		    memcmp(message.ports, again.ports, sizeof message.ports) != 0 ||
		    strcmp(message.job, again.job) != 0 ||
		    message.n_ports != again.n_ports)
			abort();
		free(written);
	} else if (!err.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
