/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_round_trip.h - fabrics written as our JSON and read back */
#ifndef TESTS_UNIT_FABRIC_ROUND_TRIP_H
#define TESTS_UNIT_FABRIC_ROUND_TRIP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"
#include "topology/read.h"
#include "topology/topo.h"
#include "topology/write.h"

/* Free with free(). */
static inline char *
fabric_json(const struct topo *topo)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	topo_json_write(topo, out);
	fclose(out);
	return text;
}

/* What is written has 'want' (NULL: anything), and is read as the same fabric. */
static inline void
assert_read_as_written(const struct topo *topo, const char *want)
{
	char *text = fabric_json(topo);
	struct topo *again;
	struct err err = { 0 };

	if (want && !strstr(text, want))
		fail_msg("'%s' is not in '%s'", want, text);
	if (topo_read("t.json", text, strlen(text), NULL, &again, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	assert_true(topo_is_same(topo, again));
	assert_int_equal(topo_digest(topo), topo_digest(again));
	topo_unref(again);
	free(text);
}

#endif
