/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_config.c - settings of antiphase-scheduler as typed members: moves */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/settings.h"
#include "tests/unit/test.h"

static int
read_config(const char *text, struct scheduler_config *ret_config, struct err *err)
{
	struct settings *settings = settings_new(&settings_scheduler);
	int rc = settings_parse(settings, "test.conf", text, strlen(text), err);

	scheduler_config_init(ret_config, settings);
	return rc;
}

static void
only_partitions_that_say_yes_allow_moves(void **state)
{
	static const char text[] = "[partition train]\nmode = enforce\nmove = yes\n"
				   "[partition debug]\nmove = no\n"
				   "[partition big]\nmove = yes\n";
	struct scheduler_config config;
	struct err err;

	(void)state;
	assert_int_equal(read_config("", &config, &err), 0);
	assert_string_equal(config.partition_moves, "");
	scheduler_config_fini(&config);
	assert_int_equal(read_config(text, &config, &err), 0);
	assert_string_equal(config.partition_moves, "big,train,");
	assert_string_equal(config.partition_modes, "train=enforce,");
	/* As at SIGHUP. */
	scheduler_config_follow(&config);
	assert_string_equal(config.partition_moves, "big,train,");
	scheduler_config_fini(&config);
	assert_true(read_config("[partition train]\nmove = often\n", &config, &err) <
		    0);
	assert_non_null(strstr(err.text, "yes or no"));
	assert_int_equal(err.line, 2);
	scheduler_config_fini(&config);
}

static void
moves_per_hour_is_a_share(void **state)
{
	static const struct {
		const char *value;
		double share;
	} cases[] = {
		{ "0.25", 0.25 }, { "25 %", 0.25 }, { "1", 1 },   { "0", NAN },
		{ "-0.1", NAN },  { "1.5", NAN },   { "x", NAN }, { "", NAN },
	};
	struct scheduler_config config;
	struct err err;

	(void)state;
	assert_int_equal(read_config("", &config, &err), 0);
	assert_near(config.moves_per_hour, 0.1, 0);
	scheduler_config_fini(&config);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text =
			xasprintf("[scheduler]\nmoves_per_hour = %s\n", cases[i].value);

		if (isnan(cases[i].share)) {
			assert_true(read_config(text, &config, &err) < 0);
			assert_non_null(strstr(err.text, "above 0, at most 1"));
		} else {
			assert_int_equal(read_config(text, &config, &err), 0);
			assert_near(config.moves_per_hour, cases[i].share, 1e-12);
		}
		scheduler_config_fini(&config);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_partitions_that_say_yes_allow_moves),
		cmocka_unit_test(moves_per_hour_is_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
