/* SPDX-License-Identifier: Apache-2.0 */
/* emit_frame.c - frames of the counts of emit.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/telemetry/emit_internal.h"
#include "topology/topo.h"

/* Events need a process id: this plus the number of the job. */
#define FIRST_PID 1000

size_t
emit_n_senders(const struct emit *emit)
{
	return emit->n_senders;
}

const char *
emit_sender(const struct emit *emit, size_t sender)
{
	return topo_node(emit->topo, emit->senders[sender].node)->name;
}

static bool
is_switch(const struct emit *emit, const struct sender *sender)
{
	return topo_node(emit->topo, sender->node)->kind == TOPO_SWITCH;
}

static const char *
job_name(const struct emit *emit, uint32_t job)
{
	return emit->scenario->workload.jobs[job].name;
}

static uint32_t
add_interface(const struct emit *emit, const struct end *end, struct tele_frame *frame)
{
	const struct topo_link *link = topo_link(emit->topo, end->link);
	uint32_t i = tele_add_interface(
		frame, end->direction == TELE_TX ? link->from_port : link->to_port);
	struct tele_interface *interface = &frame->interfaces.items[i];

	interface->is_up = true;
	if (end->direction == TELE_TX || !(interface->capacity_bps > 0))
		interface->capacity_bps = link->capacity_bps;
	return i;
}

static void
add_row(const struct emit *emit, struct tele_frame *frame, const struct end *end,
	uint32_t interface, uint32_t job, const struct counts *counts, uint32_t n_flows)
{
	bool is_busy = counts->window_bytes > 0;

	vec_push(&frame->traffic,
		 ((struct tele_traffic){
			 .interface = interface,
			 .job = job,
			 .direction = end->direction,
			 .measure = TELE_WIRE,
			 .total_bytes = counts->total_bytes,
			 .total_packets = (uint64_t)((double)counts->total_bytes /
						     emit->opts.mtu_bytes),
			 .total_ce = end->direction == TELE_RX
					     ? (uint64_t)counts->total_ce
					     : 0,
			 .window_bytes = counts->window_bytes,
			 .peak_bytes = counts->peak_bytes,
			 .busy_bins = counts->busy_bins,
			 .flows = is_busy ? n_flows : 0,
		 }));
}

/* The number of a link's jobs that a sender reports: none for a switch. */
static uint32_t
n_told(const struct emit *emit, const struct sender *sender,
       const struct loaded_link *link)
{
	return is_switch(emit, sender) ? 0 : link->n;
}

int
emit_check(const struct emit *emit, uint32_t window_ms, struct err *err)
{
	uint32_t max_series = TELE_MAX_FRAME_BINS / window_ms;

	if (max_series > TELE_MAX_JOBS)
		max_series = TELE_MAX_JOBS;
	for (size_t i = 0; i < emit->n_senders; i++) {
		const struct sender *sender = &emit->senders[i];
		const char *name = emit_sender(emit, i);
		uint32_t n_ports[] = { [TELE_TX] = 0, [TELE_RX] = 0 };
		size_t n_series = sender->n;

		for (uint32_t e = 0; e < sender->n; e++) {
			const struct end *end = &emit->ends[sender->first + e];

			n_ports[end->direction]++;
			n_series += n_told(emit, sender, &emit->links[end->link]);
		}
		if (n_ports[TELE_TX] > TELE_MAX_INTERFACES ||
		    n_ports[TELE_RX] > TELE_MAX_INTERFACES)
			return err_set(err, NULL, 0, 0,
				       "%s has more ports than fit into a telemetry "
				       "frame (%d)",
				       name, TELE_MAX_INTERFACES);
		if (n_series > max_series)
			return err_set(
				err, NULL, 0, 0,
				"%s has %zu series of jobs on its ports; a telemetry "
				"frame has room for %u",
				name, n_series, max_series);
	}
	return 0;
}

static void
add_rows(const struct emit *emit, const struct sender *sender, struct tele_frame *frame)
{
	for (uint32_t e = 0; e < sender->n; e++) {
		const struct end *end = &emit->ends[sender->first + e];
		const struct loaded_link *link = &emit->links[end->link];
		uint32_t interface = add_interface(emit, end, frame);
		uint32_t n_flows = 0;

		for (uint32_t i = 0; i < link->n; i++)
			if (emit->streams[link->first + i].counts.window_bytes)
				n_flows += emit->streams[link->first + i].n_flows;
		add_row(emit, frame, end, interface, TELE_LINK, &link->counts, n_flows);
		for (uint32_t i = 0; i < n_told(emit, sender, link); i++) {
			const struct stream *s = &emit->streams[link->first + i];

			if (s->n_silent_windows < EMIT_FORGET_WINDOWS)
				add_row(emit, frame, end, interface,
					tele_add_job(frame, job_name(emit, s->job)),
					&s->counts, s->n_flows);
		}
	}
}

static void
add_series(struct emit *emit, const struct end *end, uint32_t interface, uint32_t job,
	   struct tele_frame *frame)
{
	tele_add_series(frame, interface, job, end->direction, TELE_WIRE, emit->from_ms,
			emit->bins, (uint32_t)emit->n_bins);
}

static void
add_all_series(struct emit *emit, const struct sender *sender, struct tele_frame *frame)
{
	for (uint32_t e = 0; e < sender->n; e++) {
		const struct end *end = &emit->ends[sender->first + e];
		const struct loaded_link *link = &emit->links[end->link];
		uint32_t interface = add_interface(emit, end, frame);

		memset(emit->link_bins, 0, emit->n_bins * sizeof *emit->link_bins);
		for (uint32_t i = 0; i < link->n; i++) {
			const struct stream *s = &emit->streams[link->first + i];

			if (s->n_silent_windows >= EMIT_FORGET_WINDOWS)
				continue;
			emit_fill_bins(emit, s);
			for (size_t b = 0; b < emit->n_bins; b++)
				emit->link_bins[b] += emit->bins[b];
			if (!is_switch(emit, sender))
				add_series(emit, end, interface,
					   tele_add_job(frame, job_name(emit, s->job)),
					   frame);
		}
		for (size_t b = 0; b < emit->n_bins; b++)
			emit->bins[b] = emit->link_bins[b] < TELE_GAP
						? (uint32_t)emit->link_bins[b]
						: TELE_GAP - 1;
		add_series(emit, end, interface, TELE_LINK, frame);
	}
}

static bool
runs_here(const struct emit *emit, uint32_t job, uint32_t node)
{
	const struct sim_plan_job *planned = &emit->plan->jobs[job];

	for (uint32_t i = 0; i < emit->scenario->workload.jobs[job].n_hosts_wanted; i++)
		if (planned->hosts[i] == node)
			return true;
	return false;
}

/* Collectives that ended in the window. */
static void
add_events(const struct emit *emit, const struct sender *sender,
	   struct tele_frame *frame)
{
	/* Collectives beyond the room of a frame are lost, as in a collector. */
	for (size_t i = 0; i < emit->events.n && frame->events.n < TELE_MAX_EVENTS;
	     i++) {
		const struct collective_seen *seen = &emit->events.items[i];

		if (!runs_here(emit, seen->job, sender->node))
			continue;
		vec_push(&frame->events,
			 ((struct tele_event){
				 .job = tele_add_job(frame, job_name(emit, seen->job)),
				 .source = TELE_EVENT_MPI,
				 .pid = FIRST_PID + seen->job,
				 .begin_ns = llround(seen->start_ns),
				 .end_ns = llround(seen->end_ns),
				 .bytes = (uint64_t)seen->bytes,
			 }));
	}
}

bool
emit_frame(struct emit *emit, size_t number, enum tele_kind kind,
	   struct tele_frame *frame)
{
	struct sender *sender = &emit->senders[number];

	tele_clear(frame);
	frame->kind = (uint8_t)kind;
	frame->flags = TELE_SIMULATED | (is_switch(emit, sender) ? TELE_IMPORTED : 0);
	snprintf(frame->host, sizeof frame->host, "%s", emit_sender(emit, number));
	memcpy(frame->boot_id, sender->boot_id, sizeof frame->boot_id);
	frame->start_id = sender->start_id;
	frame->time_ns = emit->to_ms * 1000000;
	frame->window_ns = (emit->to_ms - emit->from_ms) * 1000000;
	frame->wall_offset_ns = emit->wall_offset_ns;
	if (kind == TELE_SUMMARY)
		add_rows(emit, sender, frame);
	else if (kind == TELE_RAW)
		add_all_series(emit, sender, frame);
	else
		add_events(emit, sender, frame);
	if (kind == TELE_EVENTS && !frame->events.n)
		return false;
	frame->sequence = sender->sequence[kind]++;
	return true;
}
