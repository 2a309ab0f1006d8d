/* SPDX-License-Identifier: Apache-2.0 */
/* test_plot.c - the gnuplot input of a sweep: figures, lines and points */
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "sim/sweep/grid.h"
#include "sim/sweep/plot.h"
#include "tests/unit/test.h"

static struct sweep
read_sweep(const char *text)
{
	struct sweep sweep;
	struct err err = { 0 };

	if (sweep_parse("s.ini", text, strlen(text), &sweep, &err) < 0)
		fail_msg("%s", err.text);
	return sweep;
}

/* Fails unless the figure's script contains 'what'. */
static void
assert_has(const struct plot *plot, size_t i, const char *what)
{
	struct strbuf script = STRBUF_EMPTY;

	plot_script(plot, i, "version: 1\ncommand: a\\\n", &script);
	if (!strstr(script.text, what))
		fail_msg("no '%s' in: %s", what, script.text);
	strbuf_free(&script);
}

static void
numbers_of_seeds_become_means_with_intervals(void **state)
{
	/* From left to right, in whatever order they are here. */
	struct sweep sweep =
		read_sweep("[sweep]\ncommand = run x.ini\nseeds = 1..2\n"
			   "[axes]\npolicy = none fair\niterations = 9 3\n");
	struct plot *plot = plot_new(&sweep);

	(void)state;
	assert_int_equal(sweep.n_cells, 8);
	for (size_t cell = 0; cell < 8; cell++) {
		plot_add(plot, cell, "", "none", NAN);
		plot_add(plot, cell, "", "mean", 10 * (double)cell);
		plot_add(plot, cell, "", "same", 7);
		plot_add(plot, cell, "A", "of.jobs", (double)cell);
		plot_add(plot, cell, "B", "of.jobs", 2);
	}
	assert_int_equal(plot_n(plot), 3);
	assert_string_equal(plot_metric(plot, 0), "mean");
	assert_int_equal(plot_n_lines(plot, 0), 2);
	assert_int_equal(plot_n_lines(plot, 2), 4);
	assert_true(plot_varies(plot, 0));
	assert_false(plot_varies(plot, 1));
	/*
	 * Policy none: 0 and 10 with 9 iterations, 20 and 30 with 3.  Two values 10
	 * apart have a standard error of 5, times Student's t of 12.706205.
	 */
	assert_has(plot, 0, "$line1 << END\n3 25 63.531025\n9 5 63.531025\nEND\n");
	assert_has(plot, 0, "# version: 1\n# command: a\\ .\n");
	assert_has(plot, 0, "set xlabel 'iterations'\n");
	assert_has(plot, 0, "$line1 using 1:2:3 with yerrorlines title 'none', ");
	assert_has(plot, 2, "with yerrorlines title 'fair B'\n");
	plot_free(plot);
	sweep_fini(&sweep);
}

static void
words_stand_beside_each_other_and_mean_nothing_to_gnuplot(void **state)
{
	struct sweep sweep = read_sweep("[sweep]\ncommand = run x.ini\n[axes]\n"
					"pacing = none once\n"
					"policy = it's \"5 % $b `c`\"\n");
	struct plot *plot = plot_new(&sweep);

	(void)state;
	for (size_t cell = 0; cell < 4; cell++)
		plot_add(plot, cell, "x\ny", "m", (double)cell);
	assert_has(plot, 0,
		   "set xrange [-0.5:1.5]\n"
		   "set xtics ('it''s' 0, '5 %% $b `c`' 1)\n");
	assert_has(plot, 0, "$line1 << END\n-0.25 0 0\n0.75 1 0\nEND\n");
	assert_has(plot, 0, "$line2 << END\n0.25 2 0\n1.25 3 0\nEND\n");
	assert_has(plot, 0, "with yerrorbars title 'none x?y', ");
	plot_free(plot);
	sweep_fini(&sweep);
}

static void
without_axes_there_is_one_place(void **state)
{
	struct sweep sweep =
		read_sweep("[sweep]\ncommand = replay t.csv\nseeds = 1..3\n");
	struct plot *plot = plot_new(&sweep);

	(void)state;
	for (size_t cell = 0; cell < 3; cell++)
		plot_add(plot, cell, "", "m", 3 + (double)cell);
	assert_has(plot, 0, "$line1 << END\n0 4 ");
	assert_has(plot, 0, "with yerrorbars notitle\n");
	plot_free(plot);
	plot_free(NULL);
	sweep_fini(&sweep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_seeds_become_means_with_intervals),
		cmocka_unit_test(
			words_stand_beside_each_other_and_mean_nothing_to_gnuplot),
		cmocka_unit_test(without_axes_there_is_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
