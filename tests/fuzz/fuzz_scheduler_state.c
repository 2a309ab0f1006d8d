/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_scheduler_state.c - two texts, separated by NUL, as answers with the state of
 * antiphase-scheduler: the lines on it have no character that controls a terminal
 */
#include <stdlib.h>
#include <string.h>

#include "cli/scheduler_api.h"
#include "lib/base/strbuf.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf health = STRBUF_EMPTY, config = STRBUF_EMPTY, out = STRBUF_EMPTY;
	char *text = fuzz_text(data, size);
	size_t n = strlen(text);

	strbuf_puts(&health, text);
	if (n < size)
		strbuf_puts(&config, text + n + 1);
	scheduler_api_state_text(&health, &config, &out);
	for (size_t i = 0; i < out.length; i++)
		BUG_ON((unsigned char)out.text[i] < ' ' && out.text[i] != '\n');
	BUG_ON(out.length && out.text[out.length - 1] != '\n');
	strbuf_free(&health);
	strbuf_free(&config);
	strbuf_free(&out);
	free(text);
	return 0;
}
