/* SPDX-License-Identifier: Apache-2.0 */
/* test_sweep.c - grids of sweeps: parsing, numbering of cells, and digests */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/rng.h"
#include "lib/base/strbuf.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"
#include "sim/sweep/merge.h"
#include "sim/sweep/slurm.h"
#include "tests/unit/test.h"

#define GRID                                 \
	"[sweep]\ncommand = sim run x.ini\n" \
	"seeds = 3,1\n"                      \
	"[axes]\n"                           \
	"policy = none fair\n"               \
	"set.2d-las.limit0 = 1 \"a b\" 3\n"  \
	"operand = y.ini\n"                  \
	"[slurm]\npartition = long\nexclusive =\n"

static struct sweep
parse(const char *text)
{
	struct sweep sweep = { 0 };
	struct err err = { 0 };

	if (sweep_parse("dir/x.ini", text, strlen(text), &sweep, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	return sweep;
}

static char *
command_of(const struct sweep *sweep, size_t cell)
{
	struct strbuf text = STRBUF_EMPTY;
	struct sweep_words words;

	sweep_command(sweep, cell, &words);
	assert_null(words.items[words.n]);
	for (size_t i = 0; i < words.n; i++)
		strbuf_printf(&text, "%s|", words.items[i]);
	sweep_words_fini(&words);
	return strbuf_steal(&text);
}

static void
assert_command(const struct sweep *sweep, size_t cell, const char *want)
{
	char *command = command_of(sweep, cell);

	assert_string_equal(command, want);
	free(command);
}

static void
the_seed_runs_fastest_then_the_last_axis(void **state)
{
	struct sweep sweep = parse(GRID);

	(void)state;
	assert_int_equal(sweep.n_cells, 12);
	assert_string_equal(sweep.dir, "dir/");
	assert_string_equal(sweep.out, "x.sweep");
	assert_command(&sweep, 0,
		       "run|x.ini|--policy=none|--set=2d-las.limit0=1|--seed=3|--json|"
		       "y.ini|");
	assert_command(&sweep, 1,
		       "run|x.ini|--policy=none|--set=2d-las.limit0=1|--seed=1|--json|"
		       "y.ini|");
	assert_command(
		&sweep, 2,
		"run|x.ini|--policy=none|--set=2d-las.limit0=a b|--seed=3|--json|"
		"y.ini|");
	assert_command(&sweep, 11,
		       "run|x.ini|--policy=fair|--set=2d-las.limit0=3|--seed=1|--json|"
		       "y.ini|");
	assert_string_equal(sweep.sbatch.items[0], "partition=long");
	assert_string_equal(sweep.sbatch.items[1], "exclusive");
	sweep_fini(&sweep);
}

static void
a_comparison_has_one_seed_a_cell(void **state)
{
	struct sweep sweep = parse("[sweep]\ncommand = compare x.ini\nseeds=7\n");

	(void)state;
	assert_int_equal(sweep.n_cells, 1);
	assert_command(&sweep, 0, "compare|x.ini|--seeds=7|--json|");
	sweep_fini(&sweep);
}

static void
what_is_no_grid_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *part;
	} cases[] = {
		{ "", 0, "no 'command'" },
		{ "x = 1\n", 1, "[sweep]" },
		{ "[sweeep]\n", 1, "did you mean 'sweep'" },
		{ "[sweep]\ncomand = run x\n", 2, "did you mean 'command'" },
		{ "[sweep]\ncommand =\n", 2, "no value" },
		{ "[sweep]\ncommand = rum x\n", 2, "did you mean 'run'" },
		{ "[sweep]\ncommand = sim sweep x\n", 2, "not 'sweep'" },
		{ "[sweep]\ncommand = run x --json\n", 2, "'--json'" },
		{ "[sweep]\ncommand = run x --csv=/etc/passwd\n", 2, "'--csv'" },
		{ "[sweep]\ncommand = run \"x\n", 2, "is not closed" },
		{ "[sweep]\ncommand = run x\ncommand = run y\n", 3, "appears twice" },
		{ "[sweep]\nseeds = 1..\n", 2, "expected seeds" },
		{ "[sweep]\nseeds = 2..1\n", 2, "expected seeds" },
		{ "[sweep]\nseeds = 1..3,2\n", 2, "seed 2 is listed twice" },
		{ "[sweep]\nseeds = 1..999999999999999\n", 2, "more than 100000" },
		{ "[sweep]\nseeds = 99999999999999999999\n", 2, "expected seeds" },
		{ "[sweep]\nlimit = 5\n", 2, "a time" },
		{ "[sweep]\noutput =\n", 2, "no value" },
		{ "[axes]\nseed = 1 2\n", 2, "'--seed'" },
		{ "[axes]\n--policy = a\n", 2, "without dashes" },
		{ "[axes]\np q = a\n", 2, "without dashes" },
		{ "[axes]\npolicy =\n", 2, "no value" },
		{ "[axes]\npolicy = a b a\n", 2, "'a' appears twice" },
		{ "[axes]\npolicy = a\npolicy = b\n", 3, "appears twice" },
		{ "[slurm]\narray = 1-5\n", 2, "sets sbatch's" },
		{ "[slurm]\nPart = 5\n", 2, "an option of sbatch" },
		{ "[sweep]\ncommand = run x\nseeds = 1..1000\n[axes]\n"
		  "a = 1 2 3 4 5 6 7 8 9 10\nb = 1 2 3 4 5 6 7 8 9 10\n"
		  "d = 1 2 3 4 5 6 7 8 9 10 11\n",
		  0, "more than 1000000 cells" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sweep sweep = { 0 };
		struct err err = { 0 };

		if (sweep_parse("x.ini", cases[i].text, strlen(cases[i].text), &sweep,
				&err) != -EINVAL)
			fail_msg("taken: %s", cases[i].text);
		assert_string_equal(err.file, "x.ini");
		if (err.line != cases[i].line || !strstr(err.text, cases[i].part))
			fail_msg("'%s': line %u: %s", cases[i].text, err.line,
				 err.text);
	}
}

static void
noise_is_refused_or_a_grid(void **state)
{
	static const char *const pieces[] = { "[sweep]\n", "[axes]\n", "[slurm]\n",
					      "command",   " = ",      "run x",
					      "seeds",     "1..3",     "\n",
					      "\"",        "policy",   ",",
					      "operand",   "\xff\x01", "set.a" };
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 20000; round++) {
		struct strbuf text = STRBUF_EMPTY;
		struct sweep sweep = { 0 };
		struct err err = { 0 };

		for (int i = 0; i < 24; i++)
			strbuf_puts(&text, pieces[rng_below(&rng, 15)]);
		if (sweep_parse("x", text.text, text.length, &sweep, &err) == 0) {
			assert_in_range(sweep.n_cells, 1, SWEEP_MAX_CELLS);
			free(command_of(&sweep, sweep.n_cells - 1));
			sweep_fini(&sweep);
		} else {
			assert_true(err.text[0]);
		}
		strbuf_free(&text);
	}
}

static uint64_t
digest_of(const char *dir, const char *text, size_t cell, const char *version)
{
	char *file = xasprintf("%s/g.ini", dir);
	struct sweep sweep = { 0 };
	struct err err = { 0 };
	uint64_t *digests, digest;

	assert_int_equal(sweep_parse(file, text, strlen(text), &sweep, &err), 0);
	digests = sweep_digests(&sweep, version, &err);
	assert_non_null(digests);
	digest = digests[cell];
	free(digests);
	sweep_fini(&sweep);
	free(file);
	return digest;
}

static void
put_file(const char *dir, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);

	assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
	free(path);
}

static void
a_digest_is_of_command_seed_version_and_bytes_not_of_the_place(void **state)
{
	char dir[] = "/tmp/antiphase-sweep-XXXXXX";
	const char *two = "[sweep]\ncommand = run x.ini\n[axes]\npolicy = fair none\n";
	const char *one = "[sweep]\ncommand = run x.ini\n[axes]\npolicy = none\n";
	const char *seeds = "[sweep]\ncommand = run x.ini\nseeds = 2,1\n[axes]\n"
			    "policy = none\n";
	const char *inputs = "[sweep]\ncommand = run x.ini\ninputs = f.json\n[axes]\n"
			     "policy = none\n";
	struct sweep sweep = parse(inputs);
	struct err err = { 0 };
	uint64_t first, with_input;
	char *path;

	(void)state;
	assert_non_null(mkdtemp(dir));
	put_file(dir, "x.ini", "a");
	put_file(dir, "f.json", "{}");
	first = digest_of(dir, one, 0, "v1");
	assert_true(first == digest_of(dir, two, 1, "v1"));
	assert_true(first == digest_of(dir, seeds, 1, "v1"));
	assert_false(first == digest_of(dir, two, 0, "v1"));
	assert_false(first == digest_of(dir, seeds, 0, "v1"));
	assert_false(first == digest_of(dir, one, 0, "v2"));
	with_input = digest_of(dir, inputs, 0, "v1");
	assert_false(first == with_input);
	put_file(dir, "f.json", "[]");
	assert_false(with_input == digest_of(dir, inputs, 0, "v1"));
	put_file(dir, "x.ini", "b");
	assert_false(first == digest_of(dir, one, 0, "v1"));
	/* A declared input must exist; dir/ is not an input. */
	assert_null(sweep_digests(&sweep, "v1", &err));
	assert_non_null(strstr(err.text, "f.json"));
	sweep_fini(&sweep);
	path = xasprintf("%s/x.ini", dir);
	unlink(path);
	free(path);
	path = xasprintf("%s/f.json", dir);
	unlink(path);
	free(path);
	assert_int_equal(rmdir(dir), 0);
}

static int
compare_digests(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Each seed is a word that might name a file, and is looked up among earlier words. */
static void
digests_of_a_hundred_thousand_cells_differ(void **state)
{
	struct sweep sweep = parse("[sweep]\ncommand = run x.ini\nseeds = 1..100000\n");
	struct err err = { 0 };
	uint64_t *digests = sweep_digests(&sweep, "v1", &err);

	(void)state;
	assert_non_null(digests);
	qsort(digests, sweep.n_cells, sizeof *digests, compare_digests);
	for (size_t i = 1; i < sweep.n_cells; i++)
		assert_true(digests[i - 1] < digests[i]);
	free(digests);
	sweep_fini(&sweep);
}

/* For example a model catalog: given as --models=catalog or by 'inputs'. */
static void
a_digest_is_of_the_files_of_a_folder_that_is_named(void **state)
{
	static const char *const texts[] = {
		"[sweep]\ncommand = run x.ini --models catalog\n",
		"[sweep]\ncommand = run x.ini\n[axes]\nmodels = catalog\n",
		"[sweep]\ncommand = run x.ini\ninputs = catalog\n",
	};
	char dir[] = "/tmp/antiphase-sweep-XXXXXX";
	char *catalog, *a, *b;

	(void)state;
	assert_non_null(mkdtemp(dir));
	catalog = xasprintf("%s/catalog", dir);
	a = xasprintf("%s/a.json", catalog);
	b = xasprintf("%s/b.json", catalog);
	assert_int_equal(mkdir(catalog, 0777), 0);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		uint64_t empty = digest_of(dir, texts[i], 0, "v"), one, other, named;

		put_file(catalog, "a.json", "1");
		one = digest_of(dir, texts[i], 0, "v");
		assert_true(one == digest_of(dir, texts[i], 0, "v"));
		put_file(catalog, "a.json", "2");
		other = digest_of(dir, texts[i], 0, "v");
		assert_int_equal(rename(a, b), 0);
		named = digest_of(dir, texts[i], 0, "v");
		assert_true(empty != one && one != other && other != named);
		assert_int_equal(unlink(b), 0);
		assert_true(empty == digest_of(dir, texts[i], 0, "v"));
	}
	assert_int_equal(rmdir(catalog), 0);
	assert_int_equal(rmdir(dir), 0);
	free(catalog);
	free(a);
	free(b);
}

static void
note_number(void *ctx, const char *of, const char *metric, double value)
{
	strbuf_printf(ctx, "%s %s %g\n", of, metric, value);
}

static void
numbers_of_any_document_are_found_and_named(void **state)
{
	const char *text = "{\"schema\":\"x/1\",\"seed\":4,\"a\":{\"b\":1,\"c\":null},"
			   "\"list\":[1,2],\"jobs\":[{\"n\":7,\"job\":\"J\","
			   "\"links\":[{\"rate\":2,\"ok\":true}]},{\"n\":8,"
			   "\"wall_s\":1}]}";
	struct strbuf notes = STRBUF_EMPTY;
	struct json_doc *doc;

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &doc, NULL), 0);
	merge_walk(json_root(doc), note_number, &notes);
	assert_string_equal(notes.text, " a.b 1\n"
					"J jobs.n 7\n"
					"J/1 jobs.links.rate 2\n"
					"2 jobs.n 8\n");
	json_doc_free(doc);
	strbuf_free(&notes);
}

static void
tasks_of_an_array_are_lists_of_what_is_missing(void **state)
{
	struct sweep sweep = parse(GRID);
	const struct study study = { .sweep = &sweep, .version = "v" };
	const size_t cells[] = { 0, 1, 2, 5, 7, 8, 11 };
	struct slurm_array array = { .cells = cells,
				     .n_cells = 7,
				     .chunk = 4,
				     .exe = "/bin/sim",
				     .file = "/x.ini",
				     .out = "/out",
				     .cwd = "/",
				     .command = "c" };
	struct strbuf script = STRBUF_EMPTY;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(slurm_array_script(&study, &array, &script, &err), 0);
	assert_non_null(strstr(script.text, "#SBATCH --array=1-2\n"));
	assert_non_null(strstr(script.text, "#SBATCH --partition=long\n"));
	assert_non_null(strstr(script.text, "#SBATCH --exclusive\n"));
	assert_non_null(strstr(script.text, "\n1) cells=1..3,6 ;;\n"
					    "2) cells=8..9,12 ;;\n"));
	array.out = "/out; rm x";
	assert_int_equal(slurm_array_script(&study, &array, &script, &err), -EINVAL);
	assert_int_equal(slurm_array_chunk(1), 1);
	assert_int_equal(slurm_array_chunk(1000), 1);
	assert_int_equal(slurm_array_chunk(1001), 2);
	strbuf_free(&script);
	sweep_fini(&sweep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_seed_runs_fastest_then_the_last_axis),
		cmocka_unit_test(a_comparison_has_one_seed_a_cell),
		cmocka_unit_test(what_is_no_grid_is_refused_with_its_line),
		cmocka_unit_test(noise_is_refused_or_a_grid),
		cmocka_unit_test(
			a_digest_is_of_command_seed_version_and_bytes_not_of_the_place),
		cmocka_unit_test(digests_of_a_hundred_thousand_cells_differ),
		cmocka_unit_test(a_digest_is_of_the_files_of_a_folder_that_is_named),
		cmocka_unit_test(numbers_of_any_document_are_found_and_named),
		cmocka_unit_test(tasks_of_an_array_are_lists_of_what_is_missing),
	};

	return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
