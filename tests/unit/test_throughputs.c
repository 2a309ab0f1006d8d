/* SPDX-License-Identifier: Apache-2.0 */
/* test_throughputs.c - tables of throughputs by GPU type */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/replay/throughputs.h"
#include "tests/unit/test.h"

static int
load(const char *text, struct throughputs **ret_speeds, struct err *err)
{
	char path[] = "/tmp/antiphase-speeds-XXXXXX";
	int fd = mkstemp(path), r;
	FILE *file;

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	*err = (struct err){ 0 };
	r = throughputs_load(path, ret_speeds, err);
	unlink(path);
	return r;
}

static void
models_are_found_by_name_batch_and_gpus(void **state)
{
	struct throughputs *speeds;
	struct err err;
	uint32_t v100, k80;

	(void)state;
	assert_int_equal(
		load("{\"v100\": {\n  \"('LM (batch size 5)', 2)\": {\"null\": 41.5,\n"
		     "    \"('LM (batch size 5)', 1)\": [1, 2]},\n"
		     "  \"('A3C', 1)\": {\"null\": 7}},\n"
		     " \"k80\": {\"('LM (batch size 5)', 2)\": {\"null\": 3}}}\n",
		     &speeds, &err),
		0);
	v100 = throughputs_type(speeds, "v100");
	k80 = throughputs_type(speeds, "k80");
	assert_near(throughputs_of(speeds, v100, throughputs_key(speeds, "LM", 5, 2)),
		    41.5, 0);
	assert_near(throughputs_of(speeds, k80, throughputs_key(speeds, "LM", 5, 2)), 3,
		    0);
	assert_near(throughputs_of(speeds, v100, throughputs_key(speeds, "A3C", 0, 1)),
		    7, 0);
	assert_near(throughputs_of(speeds, k80, throughputs_key(speeds, "A3C", 0, 1)),
		    0, 0);
	assert_int_equal(throughputs_key(speeds, "LM", 10, 2), THROUGHPUTS_NONE);
	assert_int_equal(throughputs_type(speeds, "p100"), THROUGHPUTS_NONE);
	assert_near(throughputs_of(speeds, THROUGHPUTS_NONE, THROUGHPUTS_NONE), 0, 0);
	throughputs_free(speeds);
}

static void
what_is_no_table_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"7",
		"{\"v100\": 7}",
		"{\"v100\": {\"('LM', 1)\": 7}}",
		"{\"v100\": {\"('LM', 1)\": {\"null\": \"7\"}}}",
		"{\"v100\": {\"('LM', 1)\": {\"null\": -1}}}",
		"{\"v100\": {\"('LM', 1)\": {\"null\": 1e300}}}",
		"{\"v100\": {\"('LM', 1)\": {\"null\": null}}}",
		"{\"v100\": [[1]]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct throughputs *speeds = NULL;
		struct err err;

		if (load(texts[i], &speeds, &err) != -EINVAL)
			fail_msg("'%s' is taken", texts[i]);
		assert_null(speeds);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_found_by_name_batch_and_gpus),
		cmocka_unit_test(what_is_no_table_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
