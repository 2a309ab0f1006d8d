/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - the commands of the running collector (lib/daemon/control.h).
 *
 *	stats				all metrics, as in /metrics
 *	job add NAME CGROUP		registers a control group as a job
 *	job remove NAME
 *	job list [json]
 *	port list			flows with a wire port, ports of new connections
 *	port release			gives them their own ports back
 *	ping
 */
#include "lib/daemon/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/daemon.h"
#include "collector/jobs/cgroups.h"
#include "collector/jobs/job_registry.h"
#include "collector/paths/connect_host.h"
#include "collector/paths/port_host.h"
#include "collector/sources/sources.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/words.h"

static int
run_stats(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)n;
	(void)args;
	(void)err;
	collector_write_metrics(ctx, reply);
	return 0;
}

static int
run_ping(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)n;
	(void)args;
	(void)err;
	collector_write_health(ctx, reply);
	return 0;
}

static int
need_registry(const struct collector *c, struct err *err)
{
	if (c->registry)
		return 0;
	err_set(err, NULL, 0, 0, "no jobs on this host: cgroup v2 is not mounted");
	return -EOPNOTSUPP;
}

static int
run_job_add(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	struct collector *c = ctx;
	int rc = need_registry(c, err);

	(void)n;
	if (rc == 0)
		rc = job_registry_add(c->registry, args[0], args[1], err);
	if (rc < 0)
		return rc;
	strbuf_printf(reply, "job %s: %s\n", args[0], args[1]);
	if (!sources_source(c->sources, "bpf"))
		strbuf_puts(reply, "note: jobs are told apart by the source bpf alone, "
				   "which is not open\n");
	return 0;
}

static int
run_job_remove(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	struct collector *c = ctx;
	size_t n_removed = 0;
	int rc = need_registry(c, err);

	(void)n;
	if (rc == 0)
		rc = job_registry_remove(c->registry, args[0], &n_removed, err);
	if (rc < 0)
		return rc;
	strbuf_printf(reply, "job %s: %zu control group%s removed\n", args[0],
		      n_removed, n_removed == 1 ? "" : "s");
	return 0;
}

static int
run_job_list(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct collector *c = ctx;
	int rc = need_registry(c, err);

	if (rc < 0)
		return rc;
	if (n && strcmp(args[0], "json") != 0)
		return err_set(err, NULL, 0, 0,
			       "job list takes the word json, not '%s'", args[0]);
	job_registry_write(c->registry, n > 0, reply);
	return 0;
}

static int
need_ports(const struct collector *c, struct err *err)
{
	if (collector_port_host(c))
		return 0;
	err_set(err, NULL, 0, 0,
		"this collector moves no flows; set [paths] wire_ports");
	return -EOPNOTSUPP;
}

static int
run_port_list(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	int rc = need_ports(ctx, err);

	(void)n;
	(void)args;
	if (rc < 0)
		return rc;
	port_host_write(collector_port_host(ctx), reply);
	if (collector_connect_host(ctx))
		connect_host_write(collector_connect_host(ctx), reply);
	return 0;
}

static int
run_port_release(void *ctx, size_t n, char **args, struct strbuf *reply,
		 struct err *err)
{
	int rc = need_ports(ctx, err);

	(void)n;
	(void)args;
	if (rc < 0)
		return rc;
	port_host_release(collector_port_host(ctx), clk_monotonic_ns());
	strbuf_puts(reply, "flows of this host have their own ports again\n");
	return 0;
}

static const struct control_command commands[] = {
	{ "stats", "", 0, 0, false, run_stats },
	{ "ping", "", 0, 0, false, run_ping },
	{ "job add", "NAME CGROUP", 2, 2, true, run_job_add },
	{ "job remove", "NAME", 1, 1, true, run_job_remove },
	{ "job list", "[json]", 0, 1, false, run_job_list },
	{ "port list", "", 0, 0, false, run_port_list },
	{ "port release", "", 0, 0, true, run_port_release },
	{ NULL, NULL, 0, 0, false, NULL },
};

int
collector_open_control(struct collector *c, struct err *err)
{
	char *path = config_runtime_path(&c->config, "collector.sock");
	int rc = control_open(c->loop, path, commands, c, &c->control, err);

	free(path);
	return rc;
}
