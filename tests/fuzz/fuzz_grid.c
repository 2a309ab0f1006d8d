/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_grid.c - texts as sweeps: an accepted sweep has cells, and each cell's command
 * begins with the verb, asks for machine-readable output, and has the seed
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/sweep/grid.h"
#include "tests/fuzz/fuzz.h"

static void
check_cell(const struct sweep *sweep, size_t cell)
{
	struct sweep_words words;
	bool is_json = false, has_seed = false;

	for (size_t i = 0; i < sweep->axes.n; i++)
		BUG_ON(!sweep_value(sweep, cell, i));
	sweep_command(sweep, cell, &words);
	BUG_ON(!words.n || words.items[words.n]);
	BUG_ON(strcmp(words.items[0], "run") != 0 &&
	       strcmp(words.items[0], "compare") != 0 &&
	       strcmp(words.items[0], "replay") != 0);
	for (size_t i = 1; i < words.n; i++) {
		is_json |= strcmp(words.items[i], "--json") == 0;
		has_seed |= strncmp(words.items[i], "--seed", 6) == 0;
	}
	BUG_ON(!is_json || !has_seed);
	sweep_words_fini(&words);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct sweep sweep = { 0 };
	struct err err = { 0 };

	if (sweep_parse("some/fuzz.ini", text, strlen(text), &sweep, &err) < 0) {
		BUG_ON(!err.text[0] || sweep.file || err.line > size + 1);
		free(text);
		return 0;
	}
	BUG_ON(!sweep.n_cells || sweep.n_cells > SWEEP_MAX_CELLS || !sweep.out[0]);
	check_cell(&sweep, 0);
	check_cell(&sweep, sweep.n_cells / 2);
	check_cell(&sweep, sweep.n_cells - 1);
	sweep_fini(&sweep);
	free(text);
	return 0;
}
