/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_k8s_serve.c - the time that kube-scheduler waits: filter and prioritize over
 * HTTP
 *
 * For the pods of jobs of 16 or (PODS=N in the environment) more, ranked by the
 * advisor; 5,024 nodes, on which 300 jobs of 8 run.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/base/clk.h"
#include "tests/unit/k8s_lab.h"
#include "topology/gen.h"

#define LEAVES 157
#define HOSTS  32
#define JOBS   300
#define ASKED  10 /* Number of requested jobs. */

static unsigned n_pods = 16;
static int64_t worst_ns, ranked_ns, n_ranked;

static int
rank(void *ctx, const struct extender_job *job, const char *const *offered,
     size_t n_offered, struct extender_choice *ret_choice, struct err *err)
{
	int64_t ns = clk_cpu_ns();
	int r = k8s_lab_rank(ctx, job, offered, n_offered, ret_choice, err);

	ns = clk_cpu_ns() - ns;
	ranked_ns += ns;
	n_ranked++;
	if (ns > worst_ns)
		worst_ns = ns;
	return r;
}

/* The client is a process of its own, so that its time is not counted. */
static int
ask_for_all(const struct topo *topo, unsigned port)
{
	for (int job = 0; job < ASKED; job++)
		for (unsigned pod = 0; pod < n_pods; pod++) {
			char name[16], *body, *filtered, *scored;

			snprintf(name, sizeof name, "job-%d", job);
			body = k8s_lab_body(topo, "ml", name, pod, n_pods);
			filtered = k8s_lab_post(port, "/k8s/filter", body);
			scored = k8s_lab_post(port, "/k8s/prioritize", body);
			if (!filtered || !scored || strncmp(scored, "HTTP/1.1 200", 12))
				return 1;
			free(filtered);
			free(scored);
			free(body);
		}
	return 0;
}

static void
on_child(void *ctx, int number)
{
	(void)number;
	loop_stop(ctx, 0);
}

int
main(void)
{
	const struct gen_leaf_spine opts = { .n_leaves = LEAVES,
					     .hosts_per_leaf = HOSTS,
					     .oversubscription = 4,
					     .host_bps = 100e9 };
	const struct extender_opts how = { .power = k8s_lab_power };
	struct k8s_lab lab;
	struct topo *topo;
	const char *pods = getenv("PODS");
	int64_t ns;
	int status = 1;

	if (pods)
		n_pods = (unsigned)atoi(pods);

	if (gen_leaf_spine(&opts, &topo, NULL) < 0)
		return 1;
	k8s_lab_open(&lab, topo);
	extender_free(lab.extender);
	http_close(lab.http);
	lab.extender = extender_new(&how, rank, &lab);
	if (http_open(lab.loop, "127.0.0.1:0", NULL, 0, &lab.http, NULL) < 0)
		return 1;
	lab.server.extender = lab.extender;
	k8s_serve(lab.http, &lab.server);
	for (uint32_t i = 0; i < JOBS; i++) {
		char name[16];

		snprintf(name, sizeof name, "runs-%u", i);
		k8s_lab_run(&lab, name, i * 7 % 600, 611, 8);
	}
	loop_signal(lab.loop, SIGCHLD, on_child, lab.loop);
	fflush(stdout);
	if (fork() == 0)
		exit(ask_for_all(topo, http_port(lab.http)));
	ns = clk_cpu_ns();
	loop_run(lab.loop);
	ns = clk_cpu_ns() - ns;
	if (wait(&status) < 0 || status != 0)
		return 1;
	printf("extender over HTTP: %d nodes, %d jobs run; %d jobs of %u pods asked for, "
	       "CPU time of the server\n"
	       "  mean %.2f ms a verb and pod; of these, a job's ranking: mean %.2f ms, "
	       "worst %.2f ms (%lld)\n",
	       LEAVES * HOSTS, JOBS, ASKED, n_pods,
	       (double)ns / 1e6 / (ASKED * n_pods * 2),
	       (double)ranked_ns / 1e6 / (double)n_ranked, (double)worst_ns / 1e6,
	       (long long)n_ranked);
	k8s_lab_close(&lab);
	topo_unref(topo);
	return 0;
}
