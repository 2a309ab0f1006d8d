/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/probe_rounds.h"

#include <string.h>

#include "lib/base/alloc.h"

static void
send_next(struct probe_rounds *rounds, int64_t now_ns, size_t i)
{
	struct probe_port *port = &rounds->message.ports[i];

	if (rounds->io.send(rounds->io.ctx, i, &rounds->message,
			    rounds->message.hops[port->n_addresses]) < 0) {
		port->state = PROBE_FAILED;
		return;
	}
	rounds->n_packets++;
	rounds->is_sent[i] = true;
	rounds->sent_ns[i] = now_ns;
	rounds->n_sent++;
}

static void
begin_round(struct probe_rounds *rounds, int64_t now_ns)
{
	rounds->round_ns = now_ns;
	rounds->is_progress = false;
	for (size_t i = 0; i < rounds->message.n_ports; i++)
		if (rounds->message.ports[i].state == PROBE_ASKED)
			send_next(rounds, now_ns, i);
}

static void
end_wait(struct probe_rounds *rounds, size_t i)
{
	BUG_ON(!rounds->is_sent[i]);
	rounds->is_sent[i] = false;
	rounds->n_sent--;
	rounds->io.end(rounds->io.ctx, i);
}

/* Ends what is not known yet. */
static void
end_all(struct probe_rounds *rounds, enum probe_state state)
{
	for (size_t i = 0; i < rounds->message.n_ports; i++) {
		if (rounds->is_sent[i])
			end_wait(rounds, i);
		if (rounds->message.ports[i].state == PROBE_ASKED)
			rounds->message.ports[i].state = state;
	}
}

/* ---- Interface ------------------------------------------------------------------- */

void
probe_rounds_begin(struct probe_rounds *rounds, int64_t now_ns,
		   const struct probe_rounds_io *io, const struct probe_message *order)
{
	memset(rounds, 0, sizeof *rounds);
	rounds->io = *io;
	rounds->message = *order;
	rounds->message.is_answer = true;
	begin_round(rounds, now_ns);
}

void
probe_rounds_hop(struct probe_rounds *rounds, int64_t now_ns, size_t i,
		 const uint8_t address[16])
{
	struct probe_port *port = &rounds->message.ports[i];

	end_wait(rounds, i);
	rounds->is_progress = true;
	memcpy(port->addresses[port->n_addresses++], address, 16);
	if (port->n_addresses == rounds->message.n_hops)
		port->state = PROBE_FOUND;
	else
		send_next(rounds, now_ns, i);
}

void
probe_rounds_reached(struct probe_rounds *rounds, size_t i)
{
	BUG_ON(!rounds->is_sent[i]);
	end_all(rounds, PROBE_REACHED);
}

void
probe_rounds_failed(struct probe_rounds *rounds, size_t i)
{
	end_wait(rounds, i);
	rounds->message.ports[i].state = PROBE_FAILED;
}

void
probe_rounds_tick(struct probe_rounds *rounds, int64_t now_ns)
{
	for (size_t i = 0; rounds->n_sent && i < rounds->message.n_ports; i++)
		if (rounds->is_sent[i] && now_ns - rounds->sent_ns[i] >= PROBE_WAIT_NS)
			end_wait(rounds, i);
	if (rounds->n_sent || probe_rounds_are_over(rounds) ||
	    now_ns - rounds->round_ns < PROBE_ROUND_NS)
		return;
	rounds->n_idle = rounds->is_progress ? 0 : rounds->n_idle + 1;
	if (rounds->n_idle >= PROBE_MAX_IDLE)
		end_all(rounds, PROBE_SILENT);
	else
		begin_round(rounds, now_ns);
}

bool
probe_rounds_are_over(const struct probe_rounds *rounds)
{
	for (size_t i = 0; i < rounds->message.n_ports; i++)
		if (rounds->message.ports[i].state == PROBE_ASKED)
			return false;
	return true;
}

void
probe_rounds_stop(struct probe_rounds *rounds)
{
	end_all(rounds, PROBE_FAILED);
}
