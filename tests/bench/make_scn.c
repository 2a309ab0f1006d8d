/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_scn.c - the flow scenarios (sim/run/flow_scenario.h) of the benchmark
 *
 *	make_scn n16-rand|n128-mix10|n128-rand|n1024-mix10|n1024-rand|n4096-rand|n48-shared
 *
 * A leaf-spine fabric, 2:1 oversubscribed, with host links of 50 Gb/s, hosts numbered
 * leaf by leaf: 32 hosts per leaf and 8 spines of 100 Gb/s (n16: 4 hosts, 2 spines of
 * 50 Gb/s).  All hosts are busy: jobs of 8 workers (n16: 4), each a ring of flows with
 * equal bytes.  Per job: compute 50 to 200 ms, flows of 100 to 500 MB, shift 0 to 200
 * ms, uniform.  One path per flow, with the spine from a hash of source and
 * destination.  "rand" permutes the hosts; "mix10" leaves 90 % in place.
 *
 * "shared" is a cluster with several jobs per host, as GPUs are allocated one by one: 6
 * leaves of 8 hosts, 4:1 (2 spines of 50 Gb/s), and 58 rings of 2 to 16 hosts, which
 * form a single component of about 500 flows.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"

struct shape {
	const char *name;
	uint32_t n_hosts, hosts_per_leaf, n_spines, workers;
	int64_t spine_bytes_per_s;
	bool mixed;        /* Only 10 % of the hosts change places. */
	uint32_t n_shared; /* Jobs of 2 to 'workers' hosts that share hosts; 0: none. */
};

static const struct shape SHAPES[] = {
	{ "n16-rand", 16, 4, 2, 4, 6250000000, false, 0 },
	{ "n128-mix10", 128, 32, 8, 8, 12500000000, true, 0 },
	{ "n128-rand", 128, 32, 8, 8, 12500000000, false, 0 },
	{ "n1024-mix10", 1024, 32, 8, 8, 12500000000, true, 0 },
	{ "n1024-rand", 1024, 32, 8, 8, 12500000000, false, 0 },
	{ "n4096-rand", 4096, 32, 8, 8, 12500000000, false, 0 },
	{ "n48-shared", 48, 8, 2, 16, 6250000000, false, 58 },
};

/* Permutes all hosts, or each with a probability of 10 %. */
static void
place(const struct shape *shape, struct rng *rng, uint32_t *hosts)
{
	uint32_t *drawn = xcalloc(shape->n_hosts, sizeof *drawn), n = 0;

	for (uint32_t h = 0; h < shape->n_hosts; h++) {
		hosts[h] = h;
		if (!shape->mixed || rng_below(rng, 10) == 0)
			drawn[n++] = h;
	}
	for (uint32_t i = n; i > 1; i--) {
		uint32_t a = drawn[i - 1], b = drawn[rng_below(rng, i)], t = hosts[a];

		hosts[a] = hosts[b];
		hosts[b] = t;
	}
	free(drawn);
}

static void
write_links(const struct shape *shape)
{
	uint32_t n_leaves = shape->n_hosts / shape->hosts_per_leaf, id = 0;
	static const char *const ways[] = { "up", "dn" };

	printf("links %u\n", 2 * (shape->n_hosts + n_leaves * shape->n_spines));
	for (int way = 0; way < 2; way++)
		for (uint32_t h = 0; h < shape->n_hosts; h++)
			printf("L %u 6250000000 h%u.%s\n", id++, h, ways[way]);
	for (int way = 0; way < 2; way++)
		for (uint32_t l = 0; l < n_leaves; l++)
			for (uint32_t s = 0; s < shape->n_spines; s++)
				printf("L %u %lld l%u.s%u.%s\n", id++,
				       (long long)shape->spine_bytes_per_s, l, s,
				       ways[way]);
}

static void
write_flow(const struct shape *shape, uint32_t src, uint32_t dst, uint64_t bytes)
{
	uint32_t n = shape->n_hosts, from = src / shape->hosts_per_leaf,
		 to = dst / shape->hosts_per_leaf, n_leaves = n / shape->hosts_per_leaf;
	uint32_t spine =
		(uint32_t)(rng_mix((uint64_t)src << 32 | dst) % shape->n_spines);

	printf("F %u %u %llu ", src, dst, (unsigned long long)bytes);
	if (from == to)
		printf("2 %u %u\n", src, n + dst);
	else
		printf("4 %u %u %u %u\n", src, 2 * n + from * shape->n_spines + spine,
		       2 * n + (n_leaves + to) * shape->n_spines + spine, n + dst);
}

/* A job whose workers are on 'hosts', in the order of the ring. */
static void
write_job(const struct shape *shape, struct rng *rng, uint32_t job,
	  const uint32_t *hosts, uint32_t n_workers)
{
	uint64_t bytes = 100000000 + rng_below(rng, 400000000);

	printf("J %u 1000 %llu %llu %u\n", job,
	       (unsigned long long)rng_below(rng, 200000000),
	       (unsigned long long)(50000000 + rng_below(rng, 150000000)), n_workers);
	for (uint32_t w = 0; w < n_workers; w++)
		write_flow(shape, hosts[w], hosts[(w + 1) % n_workers], bytes);
}

static void
write_scn(const struct shape *shape)
{
	uint32_t *hosts = xcalloc(shape->n_hosts, sizeof *hosts);
	uint32_t n_jobs =
		shape->n_shared ? shape->n_shared : shape->n_hosts / shape->workers;
	struct rng rng;

	rng_init(&rng, 1);
	place(shape, &rng, hosts);
	printf("fabscn 1\nhosts %u\n", shape->n_hosts);
	write_links(shape);
	printf("jobs %u\n", n_jobs);
	for (uint32_t j = 0; j < n_jobs; j++) {
		uint32_t n_workers = shape->workers;

		if (!shape->n_shared) {
			write_job(shape, &rng, j, &hosts[j * n_workers], n_workers);
			continue;
		}
		n_workers = 2 + (uint32_t)rng_below(&rng, shape->workers - 1);
		place(shape, &rng, hosts);
		write_job(shape, &rng, j, hosts, n_workers);
	}
	free(hosts);
}

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof SHAPES / sizeof *SHAPES; i++) {
		if (strcmp(argv[1], SHAPES[i].name) != 0)
			continue;
		write_scn(&SHAPES[i]);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	fprintf(stderr, "usage: make_scn n16-rand|n128-mix10|n128-rand|n1024-mix10|"
			"n1024-rand|n4096-rand|n48-shared\n");
	return 2;
}
