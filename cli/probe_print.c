/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probe_print.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "collector/paths/path_probe.h"
#include "collector/paths/probe_distance.h"
#include "collector/paths/probe_socket.h"
#include "lib/base/address.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/wire/port_range.h"
#include "lib/wire/port_text.h"
#include "topology/topo.h"

struct probing {
	const struct topo *topo; /* Borrowed, or NULL. */
	struct probe_message message;
	bool is_over;
};

/* ---- Probing --------------------------------------------------------------------- */

/* Reads "2" or "1-3". */
static int
read_hops(const char *text, struct probe_message *message, struct err *err)
{
	unsigned first, last;
	int end = 0;

	if (sscanf(text, "%2u%n-%2u%n", &first, &end, &last, &end) == 1)
		last = first;
	if (!end || text[end] || first < 1 || first > last || last > PROBE_MAX_HOP ||
	    last - first >= PROBE_MAX_HOPS)
		return err_set(
			err, NULL, 0, 0,
			"--hops is '%s', expected at most %d hop counts up to %d, "
			"such as 2 or 1-3",
			text, PROBE_MAX_HOPS, PROBE_MAX_HOP);
	for (unsigned hop = first; hop <= last; hop++)
		message->hops[message->n_hops++] = (uint8_t)hop;
	return 0;
}

static int
read_ports(const char *text, struct probe_message *message, struct err *err)
{
	struct port_range range;

	if (port_range_parse(text, &range, err) < 0)
		return -EINVAL;
	if (range.last - range.first >= PROBE_MAX_PORTS)
		return err_set(err, NULL, 0, 0, "--ports is '%s': more than %d ports",
			       text, PROBE_MAX_PORTS);
	for (unsigned port = range.first; port <= range.last; port++)
		message->ports[message->n_ports++].port = htons((uint16_t)port);
	return 0;
}

static int
read_question(const struct probe_question *question, struct probe_message *message,
	      struct err *err)
{
	if (port_text_end(question->destination, message->destination,
			  &message->destination_port) < 0)
		return err_set(err, NULL, 0, 0,
			       "--probe is '%s', expected an address with a port, such "
			       "as 10.0.1.1:5001 or [fd00::1]:5001",
			       question->destination);
	if (read_ports(question->ports, message, err) < 0)
		return -EINVAL;
	return question->hops ? read_hops(question->hops, message, err) : 0;
}

/* All switches that answer; none of them is the destination. */
static int
find_hops(struct probe_message *message, struct err *err)
{
	int n = probe_distance(message->destination, PROBE_MAX_HOPS);
	char text[ADDRESS_TEXT_BYTES];

	if (n < 0)
		return err_set_errno(err, address_write(message->destination, text), n,
				     "cannot send to it");
	if (n == 0) {
		err_set(err, address_write(message->destination, text), 0, 0,
			"no switch on the way answers; it may be on the same network");
		return -EHOSTUNREACH;
	}
	for (int hop = 1; hop <= n; hop++)
		message->hops[message->n_hops++] = (uint8_t)hop;
	return 0;
}

static void
on_done(void *ctx, const struct probe_message *answer)
{
	struct probing *probing = ctx;

	probing->message = *answer;
	probing->is_over = true;
}

static int
probe_all(struct probing *probing, struct err *err)
{
	struct path_probe *probe;
	struct probe_message order = probing->message;
	int rc = path_probe_open(on_done, probing, &probe, err);

	if (rc < 0)
		return rc;
	rc = path_probe_take(probe, clk_monotonic_ns(), &order);
	while (rc == 0 && !probing->is_over) {
		struct pollfd poll_fd = { .fd = path_probe_fd(probe),
					  .events = POLLIN };

		if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
			rc = err_set_errno(err, NULL, errno, "cannot wait");
		path_probe_step(probe, clk_monotonic_ns());
	}
	path_probe_close(probe);
	return rc;
}

/* ---- Printing -------------------------------------------------------------------- */

/* The name of the switch; NULL: not in the fabric, or there is none. */
static const char *
name_of(const struct probing *probing, const uint8_t address[16])
{
	uint32_t node =
		probing->topo ? topo_find_address(probing->topo, address) : TOPO_NONE;

	return node == TOPO_NONE ? NULL : topo_node(probing->topo, node)->name;
}

static const char *
why_of(const struct probe_port *port)
{
	switch (port->state) {
	case PROBE_SILENT:
		return "a switch does not answer";
	case PROBE_REACHED:
		return "a packet arrived at the destination";
	case PROBE_FAILED:
		return "the port is in use, or the destination cannot be reached";
	case PROBE_FOUND:
	case PROBE_ASKED:
		break;
	}
	return NULL;
}

static void
json_port(const struct probing *probing, struct jsonw *w, const struct probe_port *port)
{
	char text[ADDRESS_TEXT_BYTES];

	jsonw_object(w, NULL);
	jsonw_int(w, "port", ntohs(port->port));
	jsonw_str(w, "basis", port->state == PROBE_FOUND ? "probed" : "not known");
	jsonw_str(w, "why", why_of(port));
	jsonw_array(w, "switches");
	for (size_t i = 0; i < port->n_addresses; i++) {
		jsonw_flat_object(w, NULL);
		jsonw_int(w, "hop", probing->message.hops[i]);
		jsonw_str(w, "address", address_write(port->addresses[i], text));
		jsonw_str(w, "switch", name_of(probing, port->addresses[i]));
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void
print_json(const struct probing *probing)
{
	const struct probe_message *message = &probing->message;
	char text[ADDRESS_TEXT_BYTES];
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.path_probe/1");
	jsonw_str(&w, "source", address_write(message->source, text));
	jsonw_str(&w, "destination", address_write(message->destination, text));
	jsonw_int(&w, "destination_port", ntohs(message->destination_port));
	jsonw_flat_array(&w, "hops");
	for (size_t i = 0; i < message->n_hops; i++)
		jsonw_int(&w, NULL, message->hops[i]);
	jsonw_end(&w);
	jsonw_array(&w, "ports");
	for (size_t i = 0; i < message->n_ports; i++)
		json_port(probing, &w, &message->ports[i]);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
row_of_port(const struct probing *probing, struct table *t,
	    const struct probe_port *port)
{
	struct strbuf path = STRBUF_EMPTY;
	char text[ADDRESS_TEXT_BYTES];
	const char *why = why_of(port);

	for (size_t i = 0; i < port->n_addresses; i++) {
		const char *name = name_of(probing, port->addresses[i]);

		strbuf_printf(&path, "%s%s", i ? " " : "",
			      name ? name : address_write(port->addresses[i], text));
	}
	table_cell(t, "%u", ntohs(port->port));
	table_cell(t, "%s", path.text && *path.text ? path.text : "-");
	table_cell(t, "%s%s", why ? "not known: " : "probed", why ? why : "");
	strbuf_free(&path);
}

static void
print_text(const struct probing *probing)
{
	const struct probe_message *message = &probing->message;
	char from[ADDRESS_TEXT_BYTES], to[PORT_TEXT_END_BYTES];
	struct table t;

	printf("%s to %s, TCP, hop%s %u", address_write(message->source, from),
	       port_text_write_end(message->destination, message->destination_port, to),
	       message->n_hops > 1 ? "s" : "", message->hops[0]);
	if (message->n_hops > 1)
		printf(" to %u", message->hops[message->n_hops - 1]);
	fputs("\n\n", stdout);
	table_init(&t,
		   (const char *const[]){ "%SOURCE PORT", "SWITCHES", "BASIS", NULL });
	for (size_t i = 0; i < message->n_ports; i++)
		row_of_port(probing, &t, &message->ports[i]);
	table_print(&t, stdout);
	table_fini(&t);
}

static bool
are_all_found(const struct probe_message *message)
{
	for (size_t i = 0; i < message->n_ports; i++)
		if (message->ports[i].state != PROBE_FOUND)
			return false;
	return true;
}

int
probe_show(const struct topo *topo, const struct probe_question *question)
{
	struct probing probing = { .topo = topo };
	struct probe_message *message = &probing.message;
	struct err err = { 0 };
	int rc = read_question(question, message, &err);

	if (rc < 0)
		return cli_fail(rc, &err);
	rc = probe_socket_source(message->destination, message->destination_port,
				 message->source);
	if (rc < 0)
		err_set_errno(&err, question->destination, rc, "cannot send to it");
	if (rc == 0 && !message->n_hops)
		rc = find_hops(message, &err);
	if (rc == 0)
		rc = probe_all(&probing, &err);
	if (rc < 0) {
		cli_fail(rc, &err);
		return CLI_UNREACHABLE;
	}
	if (question->json)
		print_json(&probing);
	else
		print_text(&probing);
	return are_all_found(message) ? CLI_OK : CLI_NO;
}
