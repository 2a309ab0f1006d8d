/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_apps.c - measurements of applications: the tables of placements, of large
 * placements and of epochs, each up to a line "-".  All applications have these tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/apps/app.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define N_TABLES 3

static struct memory_file tables[N_TABLES];
static char folder[] = "/tmp/antiphase-fuzz-apps-XXXXXX";
static char made[100][96]; /* Links, then folders. */
static size_t n_made;

static const struct {
	const char *name;
	unsigned first_batch;
} apps[] = { { "bert", 12 },      { "cifar10", 128 }, { "deepspeech2", 20 },
	     { "imagenet", 200 }, { "ncf", 256 },     { "yolov3", 8 } };

static void
clean(void)
{
	for (size_t i = n_made; i-- > 0;)
		remove(made[i]);
	remove(folder);
}

static const char *
note(const char *app, const char *name)
{
	BUG_ON(n_made == sizeof made / sizeof *made);
	snprintf(made[n_made], sizeof made[n_made], "%s/%s%s", folder, app, name);
	return made[n_made++];
}

static void
lay_out(void)
{
	BUG_ON(!mkdtemp(folder));
	for (size_t i = 0; i < N_TABLES; i++)
		memory_file_set(&tables[i], "", 0);
	for (size_t i = 0; i < sizeof apps / sizeof *apps; i++) {
		const char *name = apps[i].name;

		BUG_ON(mkdir(note(name, ""), 0700) < 0);
		BUG_ON(symlink(tables[0].path, note(name, "/placements.csv")) < 0);
		BUG_ON(symlink(tables[1].path, note(name, "/scalability.csv")) < 0);
		for (unsigned k = 0; k < 8; k++) {
			char file[40];

			snprintf(file, sizeof file, "/validation-%u.csv",
				 apps[i].first_batch << k);
			BUG_ON(symlink(tables[2].path, note(name, file)) < 0);
		}
	}
	atexit(clean);
}

static void
use(const struct app *app)
{
	static const uint32_t places[][3] = {
		{ 1 }, { 4, 4 }, { 2, 1, 1 }, { 64, 64 }
	};
	static const uint32_t n_nodes[] = { 1, 2, 3, 2 };

	for (size_t i = 0; i < sizeof n_nodes / sizeof *n_nodes; i++) {
		for (double local = 1; local < 1e4; local *= 7) {
			struct app_step step;

			if (app_step(app, places[i], n_nodes[i], local, &step))
				BUG_ON(isnan(step.step_s) || isnan(step.sync_s));
		}
		app_max_local(app, places[i], n_nodes[i]);
	}
	BUG_ON(!(app_progress(app, app->n_epochs) >= 0));
	for (uint32_t epoch = 0; epoch < app->n_epochs; epoch++) {
		double sqr, var;

		BUG_ON(!(app_iterations(app, app->first_batch * 1.5, epoch) >= 0));
		app_noise(app, app->first_batch * 3, epoch, &sqr, &var);
		BUG_ON(!(sqr >= 0) || !(var >= 0));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *rest = text;
	struct err err = { 0 };
	struct app *read;
	size_t n;

	if (!n_made)
		lay_out();
	for (size_t i = 0; i < N_TABLES; i++) {
		char *end = strstr(rest, "\n-\n");
		size_t length = end ? (size_t)(end + 1 - rest) : strlen(rest);

		memory_file_set(&tables[i], rest, length);
		rest = end ? end + 3 : rest + length;
	}
	if (apps_read(folder, NULL, &read, &n, &err) < 0) {
		BUG_ON(!err.text[0]);
	} else {
		for (size_t i = 0; i < n; i++)
			use(&read[i]);
		apps_free(read, n);
	}
	free(text);
	return 0;
}
