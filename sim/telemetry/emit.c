/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/telemetry/emit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "sim/telemetry/emit_internal.h"
#include "topology/topo.h"

#define NS_PER_MS 1e6
/* The engine's default. */
#define DEFAULT_MTU_BYTES 4000
/* Separates the draws of ids from those of phases and jitter. */
#define ID_SALT UINT64_C(0x74656c65)

/* ---- Making --------------------------------------------------------------------- */

struct place {
	uint32_t link, job, n_flows;
};

static int
compare_places(const void *a, const void *b)
{
	const struct place *pa = a, *pb = b;

	if (pa->link != pb->link)
		return pa->link < pb->link ? -1 : 1;
	return (pa->job > pb->job) - (pa->job < pb->job);
}

static void
make_streams(struct emit *emit)
{
	VEC(struct place) places = VEC_EMPTY;

	for (size_t j = 0; j < emit->plan->n; j++) {
		const struct footprint *footprint =
			&emit->plan->jobs[j].routed.footprint;

		for (size_t i = 0; i < footprint->n; i++) {
			const struct footprint_entry *e = &footprint->entries[i];

			vec_push(&places,
				 ((struct place){ e->link, (uint32_t)j, e->n_flows }));
		}
	}
	sort_items(places.items, places.n, compare_places);
	emit->n_streams = places.n;
	emit->streams = xcalloc(places.n + 1, sizeof *emit->streams);
	for (size_t i = 0; i < places.n; i++) {
		const struct place *place = &places.items[i];

		emit->streams[i] = (struct stream){
			.link = place->link,
			.job = place->job,
			.n_flows = place->n_flows,
			.n_silent_windows = EMIT_FORGET_WINDOWS,
		};
		if (!emit->links[place->link].n++)
			emit->links[place->link].first = (uint32_t)i;
	}
	vec_free(&places);
}

/* The stream of a job on a link that it uses.  O(jobs on the link). */
static uint32_t
find_stream(const struct emit *emit, uint32_t link, uint32_t job)
{
	uint32_t at = emit->links[link].first;

	while (emit->streams[at].job != job)
		at++;
	return at;
}

static void
index_paths(struct emit *emit)
{
	emit->stream_at = xcalloc(emit->plan->n + 1, sizeof *emit->stream_at);
	for (size_t j = 0; j < emit->plan->n; j++) {
		const struct routed_job *routed = &emit->plan->jobs[j].routed;
		size_t n = routed->path_first ? routed->path_first[routed->flows.n] : 0;

		emit->stream_at[j] = xcalloc(n + 1, sizeof *emit->stream_at[j]);
		for (size_t k = 0; k < n; k++)
			emit->stream_at[j][k] =
				find_stream(emit, routed->path_links[k], (uint32_t)j);
	}
}

static void
name_sender(struct emit *emit, struct sender *sender)
{
	struct rng rng;
	uint64_t words[2];

	rng_init_stream(&rng, emit->opts.seed ^ ID_SALT, sender->node);
	words[0] = rng_next(&rng);
	words[1] = rng_next(&rng);
	for (size_t i = 0; i < sizeof sender->boot_id; i++)
		sender->boot_id[i] = (uint8_t)(words[i / 8] >> (i % 8 * 8));
	sender->start_id = rng_next(&rng);
}

/* Counts, and on the second pass fills, the ends of links at each sender. */
static void
make_senders(struct emit *emit)
{
	const struct topo *topo = emit->topo;
	uint32_t n_nodes = topo_n_nodes(topo), n_ends = 0;
	uint32_t *sender_of = xcalloc((size_t)n_nodes + 1, sizeof *sender_of);

	emit->senders = xcalloc((size_t)n_nodes + 1, sizeof *emit->senders);
	for (int kind = TOPO_HOST; kind <= TOPO_SWITCH; kind++)
		for (uint32_t node = 0; node < n_nodes; node++) {
			if ((int)topo_node(topo, node)->kind != kind)
				continue;
			sender_of[node] = TOPO_NONE;
			if (kind == TOPO_SWITCH && !emit->opts.with_switches)
				continue;
			sender_of[node] = (uint32_t)emit->n_senders;
			emit->senders[emit->n_senders].node = node;
			name_sender(emit, &emit->senders[emit->n_senders++]);
		}
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t l = 0; l < topo_n_links(topo); l++) {
			const struct topo_link *link = topo_link(topo, l);
			uint32_t nodes[] = { link->from, link->to };

			for (int e = 0; e < 2; e++) {
				struct sender *s = &emit->senders[sender_of[nodes[e]]];

				if (sender_of[nodes[e]] == TOPO_NONE)
					continue;
				if (pass)
					emit->ends[s->first + s->n] =
						(struct end){ l,
							      e ? TELE_RX : TELE_TX };
				s->n++;
			}
		}
		for (size_t i = 0; i < emit->n_senders && !pass; i++) {
			emit->senders[i].first = n_ends;
			n_ends += emit->senders[i].n;
			emit->senders[i].n = 0;
		}
		if (!pass)
			emit->ends = xcalloc((size_t)n_ends + 1, sizeof *emit->ends);
	}
	free(sender_of);
}

struct emit *
emit_new(const struct topo *topo, const struct scenario *scenario,
	 const struct sim_plan *plan, const struct emit_opts *opts)
{
	struct emit *emit = xcalloc(1, sizeof *emit);

	emit->topo = topo;
	emit->scenario = scenario;
	emit->plan = plan;
	emit->opts = *opts;
	if (!(emit->opts.mtu_bytes > 0))
		emit->opts.mtu_bytes = DEFAULT_MTU_BYTES;
	emit->links = xcalloc((size_t)topo_n_links(topo) + 1, sizeof *emit->links);
	make_streams(emit);
	index_paths(emit);
	make_senders(emit);
	return emit;
}

void
emit_free(struct emit *emit)
{
	if (!emit)
		return;
	for (size_t j = 0; j < emit->plan->n; j++)
		free(emit->stream_at[j]);
	for (size_t i = 0; i < emit->n_streams; i++)
		vec_free(&emit->streams[i].pieces);
	vec_free(&emit->events);
	free(emit->stream_at);
	free(emit->streams);
	free(emit->links);
	free(emit->ends);
	free(emit->senders);
	free(emit->exact_bytes);
	free(emit->bins);
	free(emit->link_bins);
	free(emit);
}

void
emit_set_wall_offset(struct emit *emit, int64_t wall_offset_ns)
{
	emit->wall_offset_ns = wall_offset_ns;
}

/* ---- Callbacks of the engine ----------------------------------------------------- */

void
emit_sent(struct emit *emit, uint32_t job, uint32_t flow, double start_ns,
	  double end_ns, double rate_bps, double ecn_packets)
{
	const struct routed_job *routed = &emit->plan->jobs[job].routed;
	size_t first = routed->path_first[flow], end = routed->path_first[flow + 1];

	for (size_t k = first; k < end; k++) {
		struct stream *stream = &emit->streams[emit->stream_at[job][k]];

		vec_push(&stream->pieces,
			 ((struct piece){ start_ns, end_ns, rate_bps }));
		if (k + 1 == end)
			stream->ce_packets += ecn_packets;
	}
}

void
emit_flows(struct emit *emit, uint32_t job, uint32_t segment, double start_ns,
	   double end_ns)
{
	if (emit->opts.with_events)
		vec_push(&emit->events,
			 ((struct collective_seen){ job, start_ns, end_ns,
						    emit->scenario->workload.jobs[job]
							    .segments[segment]
							    .nic_bytes }));
}

/* ---- Binning -------------------------------------------------------------------- */

/* Adds the bytes of a constant rate to the bins of its part of the window. */
static void
add_piece(struct emit *emit, const struct piece *piece)
{
	double bytes_per_ns = piece->rate_bps / 8e9;
	int64_t from = (int64_t)floor(piece->start_ns / NS_PER_MS) - emit->from_ms;

	for (int64_t b = from < 0 ? 0 : from; b < (int64_t)emit->n_bins; b++) {
		double bin_ns = (double)(emit->from_ms + b) * NS_PER_MS;
		double start_ns = fmax(piece->start_ns, bin_ns);
		double end_ns = fmin(piece->end_ns, bin_ns + NS_PER_MS);

		if (end_ns > start_ns)
			emit->exact_bytes[b] += (end_ns - start_ns) * bytes_per_ns;
		if (piece->end_ns <= bin_ns + NS_PER_MS)
			return;
	}
}

/* A bin has the rounded growth of the running sum. */
double
emit_fill_bins(struct emit *emit, const struct stream *stream)
{
	double carry_bytes = stream->carry_bytes;

	memset(emit->exact_bytes, 0, emit->n_bins * sizeof *emit->exact_bytes);
	for (size_t i = 0; i < stream->pieces.n; i++)
		add_piece(emit, &stream->pieces.items[i]);
	for (size_t b = 0; b < emit->n_bins; b++) {
		double whole_bytes;

		carry_bytes += emit->exact_bytes[b];
		whole_bytes = fmin(floor(carry_bytes + 0.5), TELE_GAP - 1.0);
		emit->bins[b] = (uint32_t)whole_bytes;
		carry_bytes -= whole_bytes;
	}
	return carry_bytes;
}

static void
begin_counts(struct counts *counts)
{
	counts->window_bytes = 0;
	counts->peak_bytes = counts->busy_bins = 0;
}

static void
count_bin(struct counts *counts, uint64_t bytes)
{
	counts->window_bytes += bytes;
	counts->total_bytes += bytes;
	counts->busy_bins += bytes > 0;
	if (bytes > counts->peak_bytes)
		counts->peak_bytes = bytes < TELE_GAP ? (uint32_t)bytes : TELE_GAP - 1;
}

static void
count_stream(struct emit *emit, struct stream *stream)
{
	begin_counts(&stream->counts);
	stream->next_carry_bytes = emit_fill_bins(emit, stream);
	for (size_t b = 0; b < emit->n_bins; b++) {
		count_bin(&stream->counts, emit->bins[b]);
		emit->link_bins[b] += emit->bins[b];
	}
	stream->counts.total_ce += stream->ce_packets;
	if (stream->counts.window_bytes)
		stream->n_silent_windows = 0;
	else if (stream->n_silent_windows < EMIT_FORGET_WINDOWS)
		stream->n_silent_windows++;
}

static void
count_link(struct emit *emit, struct loaded_link *link)
{
	begin_counts(&link->counts);
	memset(emit->link_bins, 0, emit->n_bins * sizeof *emit->link_bins);
	for (uint32_t i = 0; i < link->n; i++) {
		struct stream *stream = &emit->streams[link->first + i];

		count_stream(emit, stream);
		link->counts.total_ce += stream->ce_packets;
		stream->ce_packets = 0;
	}
	for (size_t b = 0; b < emit->n_bins; b++)
		count_bin(&link->counts, emit->link_bins[b]);
}

/* Drops the last window; its pieces lie before this one. */
static void
forget_window(struct emit *emit)
{
	double until_ns = (double)emit->to_ms * NS_PER_MS;
	size_t n_kept = 0;

	for (size_t i = 0; i < emit->n_streams; i++) {
		struct stream *stream = &emit->streams[i];
		size_t n = 0;

		for (size_t p = 0; p < stream->pieces.n; p++)
			if (stream->pieces.items[p].end_ns > until_ns)
				stream->pieces.items[n++] = stream->pieces.items[p];
		stream->pieces.n = n;
		stream->carry_bytes = stream->next_carry_bytes;
	}
	for (size_t i = 0; i < emit->events.n; i++)
		if (emit->events.items[i].end_ns > until_ns)
			emit->events.items[n_kept++] = emit->events.items[i];
	emit->events.n = n_kept;
}

void
emit_window(struct emit *emit, int64_t end_ns)
{
	forget_window(emit);
	emit->from_ms = emit->to_ms;
	emit->to_ms = (end_ns + 999999) / 1000000;
	emit->n_bins = (size_t)(emit->to_ms - emit->from_ms);
	if (emit->n_bins > emit->bins_capacity) {
		emit->bins_capacity = emit->n_bins;
		emit->exact_bytes = xreallocarray(emit->exact_bytes, emit->n_bins,
						  sizeof *emit->exact_bytes);
		emit->bins =
			xreallocarray(emit->bins, emit->n_bins, sizeof *emit->bins);
		emit->link_bins = xreallocarray(emit->link_bins, emit->n_bins,
						sizeof *emit->link_bins);
	}
	for (uint32_t l = 0; l < topo_n_links(emit->topo); l++)
		if (emit->links[l].n)
			count_link(emit, &emit->links[l]);
}
