/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s_lab.h - the Kubernetes extender over HTTP, for a test and a bench
 *
 * A fabric, an advisor with running jobs, and a server in this process.  The mode of
 * namespace "watched" is observe, of "advised" advise, of all others enforce.
 */
#ifndef TESTS_UNIT_K8S_LAB_H
#define TESTS_UNIT_K8S_LAB_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/http.h"
#include "lib/daemon/loop.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/k8s.h"
#include "scheduler/k8s/extender.h"
#include "scheduler/k8s/rank.h"
#include "topology/topo.h"

struct k8s_lab {
	struct topo *topo; /* Borrowed. */
	struct advisor *advisor;
	struct extender *extender;
	struct loop *loop;
	struct k8s_server server;
	struct http *http;
};

static inline int
k8s_lab_rank(void *ctx, const struct extender_job *job, const char *const *offered,
	     size_t n_offered, struct extender_choice *ret_choice, struct err *err)
{
	struct k8s_lab *lab = ctx;
	struct profile profile;
	int r = k8s_declared(lab->topo, job, &profile);

	if (r < 0)
		return r;
	r = k8s_rank(lab->advisor, lab->topo, job, &profile, offered, n_offered,
		     ret_choice, err);
	profile_fini(&profile);
	return r;
}

static inline enum extender_power
k8s_lab_power(void *ctx, const char *namespace)
{
	(void)ctx;
	return strcmp(namespace, "watched") == 0   ? EXTENDER_OBSERVES
	       : strcmp(namespace, "advised") == 0 ? EXTENDER_SCORES
						   : EXTENDER_FILTERS;
}

/*
 * Adds a job that sends 40 of 100 ms on 'n' hosts: number 'first', and every 'step'-th
 * host after it.
 */
static inline void
k8s_lab_run(struct k8s_lab *lab, const char *name, uint32_t first, uint32_t step,
	    uint32_t n)
{
	struct extender_job declared = { .period_us = 100000, .comm_us = 40000 };
	struct work_job job = { .name = xstrdup(name),
				.n_hosts_wanted = n,
				.slots_per_host = 1,
				.stop_ns = ENGINE_NEVER,
				.weight = n,
				.hosts = xcalloc(n, sizeof *job.hosts) };
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(lab->topo, &n_hosts);
	uint32_t number;

	for (uint32_t i = 0; i < n; i++)
		job.hosts[i] = hosts[first + i * step];
	k8s_declared(lab->topo, &declared, &job.profile);
	work_job_segments_from_profile(&job);
	BUG_ON(advisor_put(lab->advisor, &job, false, &number) < 0);
	work_job_fini(&job);
}

static inline void
k8s_lab_open(struct k8s_lab *lab, struct topo *topo)
{
	const struct advisor_opts opts = { .seed = 1 };
	const struct extender_opts how = { .power = k8s_lab_power };

	*lab = (struct k8s_lab){ .topo = topo,
				 .advisor = advisor_new(topo, &opts),
				 .loop = loop_new() };
	lab->extender = extender_new(&how, k8s_lab_rank, lab);
	BUG_ON(http_open(lab->loop, "127.0.0.1:0", NULL, 0, &lab->http, NULL) < 0);
	lab->server = (struct k8s_server){ .extender = lab->extender };
	k8s_serve(lab->http, &lab->server);
}

static inline void
k8s_lab_close(struct k8s_lab *lab)
{
	http_close(lab->http);
	extender_free(lab->extender);
	advisor_free(lab->advisor);
	loop_free(lab->loop);
}

/* ---- The client ------------------------------------------------------------------ */

/* The request of kube-scheduler for a pod of a job of 'n_pods'; offers all hosts. */
static inline char *
k8s_lab_body(const struct topo *topo, const char *namespace, const char *job,
	     unsigned pod, unsigned n_pods)
{
	struct strbuf body = STRBUF_EMPTY;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	strbuf_printf(&body,
		      "{\"Pod\":{\"metadata\":{\"name\":\"%s-%u\",\"namespace\":\"%s\","
		      "\"uid\":\"%s-%s-%u\",\"labels\":{\"job-name\":\"%s\"},"
		      "\"annotations\":{\"antiphase.io/pods\":\"%u\","
		      "\"antiphase.io/period-us\":\"100000\","
		      "\"antiphase.io/comm-us\":\"40000\","
		      "\"antiphase.io/placement\":\"required\"}},\"spec\":{}},"
		      "\"Nodes\":null,\"NodeNames\":[",
		      job, pod, namespace, namespace, job, pod, job, n_pods);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&body, "%s\"%s\"", i ? "," : "",
			      topo_node(topo, hosts[i])->name);
	strbuf_puts(&body, "]}");
	return strbuf_steal(&body);
}

/* Posts a body; returns the whole reply, or NULL if there was none. */
static inline char *
k8s_lab_post(unsigned port, const char *path, const char *body)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port) };
	struct timeval patience = { .tv_sec = 20 };
	struct strbuf text = STRBUF_EMPTY;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char chunk[65536];
	const char *at;
	ssize_t n;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
		close(fd);
		return NULL;
	}
	strbuf_printf(&text,
		      "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		      "User-Agent: Go-http-client/1.1\r\nConnection: close\r\n"
		      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		      path, strlen(body), body);
	at = text.text;
	while (*at && (n = send(fd, at, strlen(at), MSG_NOSIGNAL)) > 0)
		at += n;
	strbuf_clear(&text);
	while ((n = recv(fd, chunk, sizeof chunk, 0)) > 0)
		strbuf_add(&text, chunk, (size_t)n);
	close(fd);
	return strbuf_steal(&text);
}

#endif
