/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/connect_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/paths/connect_hook.h"
#include "collector/paths/connect_ports.h"
#include "collector/paths/port_sockets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/port_text.h"

/* Chosen: a job's control groups are there before it connects a second time. */
#define GROUPS_NS INT64_C(5000000000)
#define TICK_NS   INT64_C(1000000000)

struct connect_host {
	struct connect_host_options options;
	struct connect_hook *hook; /* Owned, as the following. */
	struct connect_ports *ports;
	int64_t ticked_ns, groups_ns;
};

/* ---- I/O of the offers ----------------------------------------------------------- */

static int
put(void *ctx, const struct connect_key *key, uint16_t port)
{
	return connect_hook_put(((struct connect_host *)ctx)->hook, key, port);
}

static void
take_back(void *ctx, const struct connect_key *key)
{
	connect_hook_remove(((struct connect_host *)ctx)->hook, key);
}

static bool
has(void *ctx, const struct connect_key *key)
{
	return connect_hook_has(((struct connect_host *)ctx)->hook, key);
}

static bool
is_port_used(void *ctx, uint16_t port)
{
	const struct connect_host *host = ctx;

	return host->options.is_probed(host->options.ctx, port) ||
	       port_sockets_has_port(port);
}

/* ---- Control groups -------------------------------------------------------------- */

static void
set_job(void *arg, uint64_t cgroup, const char *job)
{
	const struct connect_host *host = arg;
	uint32_t number = connect_ports_job(host->ports, job);

	if (number)
		(void)connect_hook_set_job(host->hook, cgroup, number);
}

/* The group is gone, or of another job, or that job has no offer any more. */
static void
check_job(void *arg, uint64_t cgroup, uint32_t job)
{
	const struct connect_host *host = arg;
	char name[TELE_MAX_NAME + 1];
	uint32_t number = 0;

	if (host->options.job_of(host->options.ctx, cgroup, name))
		number = connect_ports_job(host->ports, name);
	if (number != job)
		(void)connect_hook_set_job(host->hook, cgroup, number);
}

static void
set_groups(struct connect_host *host, int64_t now_ns)
{
	host->groups_ns = now_ns;
	connect_hook_each_group(host->hook, check_job, host);
	if (connect_ports_n(host->ports))
		host->options.each_group(host->options.ctx, set_job, host);
}

/* ---- Interface ------------------------------------------------------------------- */

int
connect_host_open(const struct connect_host_options *options,
		  struct connect_host **ret_host, struct err *err)
{
	struct connect_host *host = xcalloc(1, sizeof *host);
	const struct connect_ports_io io = { host, put, take_back, has, is_port_used };
	struct port_range range = port_range_connect(&options->range);
	int rc = connect_hook_open(options->root, &host->hook, err);

	host->options = *options;
	if (rc < 0) {
		connect_host_close(host);
		return rc;
	}
	host->ports = connect_ports_new(&io, &range);
	*ret_host = host;
	return 0;
}

void
connect_host_close(struct connect_host *host)
{
	if (!host)
		return;
	connect_ports_free(host->ports);
	connect_hook_close(host->hook);
	free(host);
}

int
connect_host_take(struct connect_host *host, int64_t now_ns, const char *text, size_t n,
		  struct err *err)
{
	struct connect_message message;
	size_t n_before = connect_ports_n(host->ports);
	int rc = connect_text_parse(text, n, &message, err);

	if (rc < 0)
		return rc;
	rc = connect_ports_take(host->ports, now_ns, &message);
	if (rc == -ERANGE)
		return err_set(err, NULL, 0, 0,
			       "a port that is not for new connections");
	if (connect_ports_n(host->ports) != n_before)
		set_groups(host, now_ns);
	return 0;
}

void
connect_host_tick(struct connect_host *host, int64_t now_ns)
{
	if (now_ns - host->ticked_ns < TICK_NS)
		return;
	host->ticked_ns = now_ns;
	connect_ports_tick(host->ports, now_ns);
	if (now_ns - host->groups_ns >= GROUPS_NS)
		set_groups(host, now_ns);
}

bool
connect_host_is_opened(const struct connect_host *host, const struct port_flow *flow)
{
	struct connect_end to = { .port = flow->destination_port };

	memcpy(to.address, flow->destination, sizeof to.address);
	return connect_hook_has_seen(host->hook, &to);
}

static void
write_offer(void *ctx, const struct connect_message *offer)
{
	char to[PORT_TEXT_END_BYTES];

	strbuf_printf(
		ctx, "connect %s ports ",
		port_text_write_end(offer->destination, offer->destination_port, to));
	for (size_t i = 0; i < offer->n_ports; i++)
		strbuf_printf(ctx, "%s%u", i ? "," : "", ntohs(offer->ports[i]));
	strbuf_printf(ctx, "%s job %s\n", offer->n_ports ? "" : "-", offer->job);
}

void
connect_host_write(const struct connect_host *host, struct strbuf *out)
{
	connect_ports_each(host->ports, write_offer, out);
}

void
connect_host_stats(const struct connect_host *host,
		   struct connect_host_stats *ret_stats)
{
	ret_stats->n_offers = connect_ports_n(host->ports);
	connect_hook_counts(host->hook, &ret_stats->counts);
}
