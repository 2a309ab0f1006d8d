/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_port_text.c - texts as messages about wire ports */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/port_text.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct port_message message, again;
	char *text = fuzz_text(data, size), *written;
	struct err err = { 0 };

	if (port_text_parse(text, size, &message, &err) == 0) {
		written = port_text_write(&message);
		if (port_text_parse(written, strlen(written), &again, NULL) < 0 ||
		    memcmp(&message.flow, &again.flow, sizeof message.flow) != 0 ||
		    message.number != again.number || message.verb != again.verb)
			abort();
		free(written);
	} else if (!err.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
