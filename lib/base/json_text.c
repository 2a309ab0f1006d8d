/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/json_text.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

static void
open_text(struct json_text *text)
{
	*text = (struct json_text){ .text = NULL };
	text->out = open_memstream(&text->text, &text->length);
	BUG_ON(!text->out);
}

void
json_text_begin(struct json_text *text, const char *schema)
{
	open_text(text);
	jsonw_document(&text->w, text->out, schema);
}

void
json_text_begin_line(struct json_text *text, const char *schema)
{
	open_text(text);
	jsonw_line(&text->w, text->out, schema);
}

void
json_text_end(struct json_text *text, struct strbuf *out)
{
	bool is_line = text->w.is_flat[0];

	jsonw_end(&text->w);
	jsonw_finish(&text->w);
	BUG_ON(fclose(text->out) != 0);
	strbuf_add(out, text->text, text->length - (is_line ? 1 : 0));
	free(text->text);
}
