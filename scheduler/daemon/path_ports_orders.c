/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/daemon/path_ports_priv.h"

_Static_assert(PATH_PORTS_BATCH <= PROBE_MAX_PORTS, "an order has room for a batch");

/* A host that has orders. */
struct asked_host {
	UT_hash_handle hh;
	uint8_t address[16];
	unsigned n_orders;
};

static struct asked_host *
find_host(const struct path_ports *ports, const struct pair *pair)
{
	struct asked_host *host;

	HASH_FIND(hh, ports->hosts, pair->key.source, sizeof host->address, host);
	return host;
}

bool
path_ports_is_asked(const struct path_ports *ports, const struct pair *pair)
{
	return find_host(ports, pair);
}

bool
path_ports_is_busy(const struct path_ports *ports, const struct pair *pair)
{
	const struct asked_host *host = find_host(ports, pair);

	return host && host->n_orders >= PATH_PORTS_ORDERS_A_HOST;
}

static void
begin_wait(struct path_ports *ports, const struct pair *pair)
{
	struct asked_host *host = find_host(ports, pair);

	if (!host) {
		host = xcalloc(1, sizeof *host);
		memcpy(host->address, pair->key.source, sizeof host->address);
		HASH_ADD(hh, ports->hosts, address, sizeof host->address, host);
	}
	host->n_orders++;
}

void
path_ports_end_order(struct path_ports *ports, struct pair *pair)
{
	struct asked_host *host = pair->n_tries ? find_host(ports, pair) : NULL;

	pair->n_tries = 0;
	if (!host || --host->n_orders)
		return;
	HASH_DEL(ports->hosts, host);
	free(host);
}

void
path_ports_order_again(struct path_ports *ports, int64_t now_ns, struct pair *pair)
{
	struct probe_message order = { .number = pair->number,
				       .destination_port = pair->key.destination_port,
				       .n_hops = pair->n_hops };
	char topic[PROBE_TOPIC_BYTES], *text;

	memcpy(order.source, pair->key.source, sizeof order.source);
	memcpy(order.destination, pair->key.destination, sizeof order.destination);
	memcpy(order.hops, pair->hops, sizeof order.hops);
	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].is_asked)
			order.ports[order.n_ports++].port = pair->ports.items[i].port;
	pair->n_tries++;
	pair->sent_ns = now_ns;
	ports->counts.n_orders++;
	text = probe_text_write(&order);
	probe_text_topic_of(order.source, topic);
	ports->options.announce(ports->options.ctx, topic, text);
	free(text);
}

void
path_ports_order(struct path_ports *ports, int64_t now_ns, struct pair *pair)
{
	pair->number = ++ports->last_number;
	begin_wait(ports, pair);
	path_ports_order_again(ports, now_ns, pair);
}

/* Forgets ports without a known path, so that they can be probed again. */
static void
keep_known(struct pair *pair)
{
	size_t n = 0;

	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].is_known)
			pair->ports.items[n++] = pair->ports.items[i];
	pair->ports.n = n;
	pair->n_passed = 0;
}

void
path_ports_give_up(struct path_ports *ports, struct pair *pair, int64_t since_ns)
{
	keep_known(pair);
	path_ports_end_order(ports, pair);
	pair->is_useless = true;
	pair->useless_ns = since_ns;
}

bool
path_ports_is_resting(struct pair *pair, int64_t now_ns)
{
	if (pair->is_useless && now_ns - pair->useless_ns < PATH_PORTS_RETRY_NS)
		return true;
	pair->is_useless = false;
	return false;
}
