/* SPDX-License-Identifier: Apache-2.0 */
/* bench_store.c - cost of history: samples of 20,000 links, with one job each */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/store/store.h"

#define LINKS   20000
#define SECONDS 60
#define S       INT64_C(1000000)
#define T0      (1700000100 * S)

static bool
count(void *ctx, enum store_grain grain, const struct store_sample *sample)
{
	(void)grain;
	(void)sample;
	++*(size_t *)ctx;
	return true;
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
	int rows, all = 0;

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
	while ((rows = store_tidy(store, T0 + SECONDS * S, 10000, &err)) > 0)
		all += rows;
	printf("  dropping %6.2f us a row (%d rows)\n",
	       (double)(clk_cpu_ns() - began_ns) / 1e3 / all, all);
	began_ns = clk_cpu_ns();
	store_read_samples(store, "leaf3:p5>spine", NULL, T0 + (SECONDS - 20) * S,
			   T0 + SECONDS * S, S, count, &n, &err);
	printf("  reading  %6.2f us a sample (%zu of one link)\n",
	       (double)(clk_cpu_ns() - began_ns) / 1e3 / (double)n, n);
	getrusage(RUSAGE_SELF, &usage);
	printf("  file %.1f bytes a sample of the finest grain at most, resident %.1f MiB\n",
	       (double)store_bytes(store) / (2.0 * LINKS * 20),
	       (double)usage.ru_maxrss / 1024);
	store_close(store);
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command) ? 1 : 0;
}
