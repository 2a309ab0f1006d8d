/* SPDX-License-Identifier: Apache-2.0 */
/* bench_store.c - cost of history: samples of 20,000 links, with one job each */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/store/store.h"

#define LINKS   20000
#define SECONDS 60
/* Of a pass of the daemon's loop. */
#define STEP_ROWS 250
#define DOCUMENTS 20000
#define S         INT64_C(1000000)
#define T0        (1700000100 * S)

static bool
count(void *ctx, enum store_grain grain, const struct store_sample *sample)
{
	(void)grain;
	(void)sample;
	++*(size_t *)ctx;
	return true;
}

/* Tidies in steps; returns the rows, and the longest step in CPU time. */
static size_t
tidy(struct store *store, int64_t now_us, int64_t *ret_worst_ns)
{
	size_t rows, all = 0;
	struct err err;

	*ret_worst_ns = 0;
	do {
		int64_t t_ns = clk_cpu_ns();

		rows = store_tidy(store, now_us, STEP_ROWS);
		t_ns = clk_cpu_ns() - t_ns;
		if (t_ns > *ret_worst_ns)
			*ret_worst_ns = t_ns;
		all += rows;
	} while (rows > 0);
	store_commit(store, &err);
	return all;
}

/* An advice of 4 kB for each of many jobs, with a line of history. */
static void
add_documents(struct store *store)
{
	char json[4096], job[16];

	memset(json, 'x', sizeof json - 1);
	json[sizeof json - 1] = '\0';
	for (int i = 0; i < DOCUMENTS; i++) {
		snprintf(job, sizeof job, "%d", i);
		store_put(store, STORE_ADVICE, job, T0, json);
	}
}

int
main(void)
{
	char directory[] = "/tmp/ap-bench-store-XXXXXX", path[64], command[64];
	int64_t began_ns, add_ns = 0, commit_ns = 0, worst_ns = 0;
	struct store_opts opts = { .keep_us = { 20 * S } };
	struct store *store = NULL;
	struct err err = { 0 };
	struct rusage usage;
	size_t n = 0;
	size_t all;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof path, "%s/history.db", directory);
	if (store_open(path, &opts, &store, &err) < 0) {
		err_print(&err, stderr);
		return 1;
	}
	for (int64_t second = 0; second < SECONDS; second++) {
		int64_t t_ns = clk_cpu_ns(), ns;

		for (int i = 0; i < LINKS; i++) {
			char link[32];
			struct store_sample sample = { .link = link,
						       .job = "",
						       .at_us = T0 + second * S,
						       .bytes = 1000000,
						       .peak_bps = 1000000 };

			snprintf(link, sizeof link, "leaf%d:p%d>spine", i / 64, i % 64);
			store_add_sample(store, &sample);
			sample.job = i % 2 ? "4711" : "4712";
			store_add_sample(store, &sample);
		}
		ns = clk_cpu_ns() - t_ns;
		add_ns += ns;
		t_ns = clk_cpu_ns();
		if (store_commit(store, &err) < 0) {
			err_print(&err, stderr);
			return 1;
		}
		ns = clk_cpu_ns() - t_ns;
		commit_ns += ns;
		if (ns > worst_ns)
			worst_ns = ns;
	}
	printf("store: %d links, a total and a job each, %d s (CPU time)\n", LINKS,
	       SECONDS);
	printf("  adding   %6.2f us a sample (all three grains)\n",
	       (double)add_ns / 1e3 / (2.0 * LINKS * SECONDS));
	printf("  commit   %6.2f ms a second, worst %.2f ms\n",
	       (double)commit_ns / 1e6 / SECONDS, (double)worst_ns / 1e6);
	began_ns = clk_cpu_ns();
	all = tidy(store, T0 + SECONDS * S, &worst_ns);
	printf("  dropping %6.2f us a row (%zu rows), worst step of %d %.2f ms\n",
	       (double)(clk_cpu_ns() - began_ns) / 1e3 / (double)all, all, STEP_ROWS,
	       (double)worst_ns / 1e6);
	began_ns = clk_cpu_ns();
	store_read_samples(store, "leaf3:p5>spine", NULL, T0 + (SECONDS - 20) * S,
			   T0 + SECONDS * S, S, count, &n, &err);
	printf("  reading  %6.2f us a sample (%zu of one link)\n",
	       (double)(clk_cpu_ns() - began_ns) / 1e3 / (double)n, n);
	getrusage(RUSAGE_SELF, &usage);
	printf("  file %.1f bytes a sample of the finest grain at most, resident %.1f MiB\n",
	       (double)store_bytes(store) / (2.0 * LINKS * 20),
	       (double)usage.ru_maxrss / 1024);
	add_documents(store);
	began_ns = clk_cpu_ns();
	all = tidy(store, T0 + 365 * 86400 * S, &worst_ns);
	printf("  dropping %6.2f us a row with %d documents and their history (%zu rows), "
	       "worst step %.2f ms\n",
	       (double)(clk_cpu_ns() - began_ns) / 1e3 / (double)all, DOCUMENTS, all,
	       (double)worst_ns / 1e6);
	store_close(store);
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command) ? 1 : 0;
}
