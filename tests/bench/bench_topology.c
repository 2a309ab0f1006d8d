/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_topology.c - CPU seconds to generate large fabrics, write them as JSON and read
 * them, and the peak memory, in one process each
 *
 * The target: generating and loading 16,384 hosts in less than 2 s each, and in less
 * than 500 MB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "topology/check.h"
#include "topology/gen_table.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"
#include "topology/write.h"

#define N_PATHS 1000000

static double
seconds_since(int64_t start_ns)
{
	return (double)(clk_cpu_ns() - start_ns) / 1e9;
}

static double
peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024 * 1.048576;
}

/* Microseconds per path between random hosts. */
static double
measure_paths(struct topo *topo)
{
	struct routes *routes = routes_new(topo, 1);
	size_t n_hosts, n_links = 0;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);
	int64_t start_ns = clk_cpu_ns();
	struct rng rng;

	rng_init(&rng, 1);
	for (int i = 0; i < N_PATHS; i++) {
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		BUG_ON(routes_path(routes, hosts[rng_below(&rng, n_hosts)],
				   hosts[rng_below(&rng, n_hosts)], (uint16_t)i, links,
				   &n) < 0);
		n_links += n;
	}
	BUG_ON(!n_links);
	routes_free(routes);
	return seconds_since(start_ns) / N_PATHS * 1e6;
}

/* Time of 'check' without faults. */
static double
measure_check(struct topo *topo)
{
	int64_t start_ns = clk_cpu_ns();
	struct routes *routes = routes_new(topo, 0);
	struct topo_faults faults = { VEC_EMPTY };

	topo_check(topo, routes, &faults);
	BUG_ON(faults.list.n);
	topo_faults_fini(&faults);
	routes_free(routes);
	return seconds_since(start_ns);
}

static void
measure(const char *text)
{
	struct topo *topo, *back;
	struct err err = { 0 };
	double generate_s, write_s, read_s, generate_mb, all_mb, path_us, check_s;
	int64_t start_ns = clk_cpu_ns();
	char *json;
	size_t length;
	FILE *out;

	BUG_ON(gen_text(text, &topo, &err) < 0);
	generate_s = seconds_since(start_ns);
	generate_mb = peak_mb();
	out = open_memstream(&json, &length);
	start_ns = clk_cpu_ns();
	topo_json_write(topo, out);
	fclose(out);
	write_s = seconds_since(start_ns);
	start_ns = clk_cpu_ns();
	BUG_ON(topo_json_read("bench", json, length, NULL, &back, &err) < 0);
	read_s = seconds_since(start_ns);
	all_mb = peak_mb();
	BUG_ON(topo_n_links(back) != topo_n_links(topo));
	path_us = measure_paths(topo);
	check_s = measure_check(topo);
	printf("%s\n  %u hosts, %u nodes, %u links, %.1f MB of JSON\n"
	       "  generate %.3f s (%.0f MB peak), write %.3f s, load %.3f s (%.0f MB peak "
	       "with both and the text)\n"
	       "  path %.2f us, check %.3f s\n",
	       text, topo_n_hosts(topo), topo_n_nodes(topo), topo_n_links(topo),
	       (double)length / 1e6, generate_s, generate_mb, write_s, read_s, all_mb,
	       path_us, check_s);
	free(json);
	topo_unref(back);
	topo_unref(topo);
}

int
main(void)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 512 --hosts-per-leaf 32 --oversubscription 2",
		"fat-tree --k 40",
		("rail-optimized --groups 64 --hosts-per-group 32 --rails 8 "
		 "--oversubscription 2"),
	};

	for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++) {
		pid_t child;
		int status;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			measure(fabrics[i]);
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
			return 1;
	}
	return 0;
}
