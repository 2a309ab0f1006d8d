/* SPDX-License-Identifier: Apache-2.0 */
/* made_fabric.h - fabrics from the text of 'antiphase topology generate' */
#ifndef TESTS_UNIT_MADE_FABRIC_H
#define TESTS_UNIT_MADE_FABRIC_H

#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

static inline struct topo *
made_fabric(const char *text)
{
	struct topo *topo;
	struct err err = { 0 };

	if (gen_text(text, &topo, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return topo;
}

/* The text is refused, and the message has 'want'. */
static inline void
assert_not_made(const char *text, const char *want)
{
	struct topo *topo;
	struct err err = { 0 };

	assert_true(gen_text(text, &topo, &err) < 0);
	if (!strstr(err.text, want))
		fail_msg("'%s' is not in '%s'", want, err.text);
}

#endif
