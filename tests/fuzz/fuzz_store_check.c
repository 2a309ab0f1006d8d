/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_store_check.c - bytes as a file of a store: each fault is told in one line */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "scheduler/store/store_file.h"
#include "tests/fuzz/fuzz.h"

static unsigned n_asked;

/* SQLite opens no unnamed file: it follows the link in /proc to a name that is gone. */
static char path[] = "/tmp/antiphase-fuzz-store-XXXXXX";
static int fd = -1;

static void
clean(void)
{
	unlink(path);
}

static void
set_file(const uint8_t *data, size_t size)
{
	if (fd < 0) {
		fd = mkstemp(path);
		BUG_ON(fd < 0);
		atexit(clean);
	}
	BUG_ON(ftruncate(fd, 0) < 0);
	BUG_ON(pwrite(fd, data, size, 0) != (ssize_t)size);
}

/* A file may make SQLite search for very long: a user would stop it. */
static bool
is_enough(void)
{
	return ++n_asked > 200;
}

static void
check_report(const struct store_report *report)
{
	BUG_ON(report->n_faults > STORE_MAX_FAULTS ||
	       report->n_tables > STORE_N_TABLES);
	for (size_t i = 0; i < report->n_faults; i++)
		BUG_ON(!report->faults[i][0] || strchr(report->faults[i], '\n'));
	for (size_t i = 0; i < report->n_tables; i++)
		BUG_ON(!report->tables[i].name || report->tables[i].n_rows < 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_report report;
	struct err err = { 0 };

	n_asked = 0;
	set_file(data, size);
	if (store_check(path, is_enough, &report, &err) < 0) {
		BUG_ON(!err.text[0] || strchr(err.text, '\n'));
		return 0;
	}
	check_report(&report);
	store_report_fini(&report);
	return 0;
}
