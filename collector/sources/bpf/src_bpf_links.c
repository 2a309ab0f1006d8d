/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/sources/bpf/src_bpf_private.h"
#include "collector/sources/bpf/src_bpf_qdisc.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/link_speed.h"

/* Bytes with unknown send time are spread over at most this. */
#define MAX_CREDIT_MS 2000

/* A freed cell: later cells of its chain must stay reachable. */
#define CELL_WAS_USED UINT32_MAX

/* ---- The table that the programs look interfaces up in --------------------------- */

static bool
put_cell(struct src_bpf *bpf, uint32_t ifindex, uint32_t link)
{
	uint32_t at = FLOW_LINK_HASH(ifindex);

	for (uint32_t i = 0; i < FLOW_LINK_PROBES; i++) {
		struct flow_link_cell *cell =
			&bpf->skel->bss->link_cells[(at + i) % FLOW_LINK_CELLS];

		if (cell->ifindex && cell->ifindex != CELL_WAS_USED)
			continue;
		__atomic_store_n(&cell->link, link, __ATOMIC_RELAXED);
		__atomic_store_n(&cell->ifindex, ifindex, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

static void
clear_cell(struct src_bpf *bpf, uint32_t ifindex)
{
	for (uint32_t i = 0; i < FLOW_LINK_CELLS; i++) {
		struct flow_link_cell *cell = &bpf->skel->bss->link_cells[i];

		if (cell->ifindex == ifindex)
			__atomic_store_n(&cell->ifindex, CELL_WAS_USED,
					 __ATOMIC_RELEASE);
	}
}

/* ---- What is known of an interface ----------------------------------------------- */

static bool
is_wanted(const struct src_bpf *bpf, const char *name)
{
	char path[64 + IF_NAMESIZE];

	for (size_t i = 0; i < bpf->n_patterns; i++)
		if (!fnmatch(bpf->patterns[i], name, 0))
			return true;
	if (bpf->n_patterns)
		return false;
	snprintf(path, sizeof path, "/sys/class/net/%s/device", name);
	return access(path, F_OK) == 0;
}

static bool
read_is_up(int fd, const char *name)
{
	struct ifreq request = { 0 };

	memcpy(request.ifr_name, name, strnlen(name, IF_NAMESIZE - 1));
	return ioctl(fd, SIOCGIFFLAGS, &request) == 0 &&
	       (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

/* Announces new interfaces to the sink. */
static void
announce(struct bpf_link_state *link, const struct source_sink *sink, int fd)
{
	struct tele_interface known = { 0 };
	bool is_up = read_is_up(fd, link->name);

	if (link->is_announced && is_up == link->is_up)
		return;
	link->is_up = is_up;
	link->capacity_bps = link_speed_bps(fd, link->name);
	memcpy(known.name, link->name, sizeof link->name);
	known.is_up = is_up;
	known.capacity_bps = link->capacity_bps;
	link->interface = sink->interface(sink->ctx, &known);
	link->is_announced = true;
}

/* ---- Coming and going ------------------------------------------------------------ */

static void
let_go(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink)
{
	struct bpf_link_state *link = &bpf->links[at];

	clear_cell(bpf, (uint32_t)link->attachment.ifindex);
	bpf_detach(&link->attachment);
	if (link->is_announced && sink)
		sink->gone(sink->ctx, link->interface);
	bpf_jobs_link_gone(bpf, at);
	link->is_there = link->is_announced = false;
	bpf->stats.n_links--;
}

/* The number of an interface; a known one keeps its number. */
static struct bpf_link_state *
find_place(struct src_bpf *bpf, const char *name)
{
	struct bpf_link_state *free_place = NULL;

	for (uint32_t i = 0; i < bpf->max_links; i++) {
		struct bpf_link_state *link = &bpf->links[i];

		if (!strcmp(link->name, name))
			return link;
		if (!link->is_there && (!free_place || !*link->name))
			free_place =
				!free_place || *free_place->name ? link : free_place;
	}
	return free_place;
}

static void
take_up(struct src_bpf *bpf, const char *name, int ifindex, int64_t now_ms)
{
	struct bpf_link_state *link = find_place(bpf, name);
	struct flow_totals offered;
	struct err err = { 0 };
	uint32_t at;
	int rc;

	if (!link || link->failed_ifindex == ifindex)
		return;
	at = (uint32_t)(link - bpf->links);
	memset(link, 0, sizeof *link);
	memcpy(link->name, name, strnlen(name, sizeof link->name - 1));
	for (uint32_t ring = 0; ring < FLOW_LINK_RINGS; ring++)
		drain_skip(bpf->drain, bpf_link_ring(at, ring), now_ms);
	drain_totals(bpf->drain, bpf_link_ring(at, FLOW_OFFERED), &offered);
	link->offered_bytes = offered.bytes;
	rc = bpf_jobs_link_came(bpf, at, now_ms);
	if (rc < 0) {
		log_warn("bpf", "%s: no free slot for its traffic", name);
	} else if (!put_cell(bpf, (uint32_t)ifindex, at)) {
		log_warn("bpf", "%s: the table of interfaces is full", name);
		rc = -E2BIG;
	} else {
		rc = bpf_attach(&link->attachment, ifindex, name,
				bpf_program__fd(bpf->skel->progs.antiphase_rx),
				bpf_program__fd(bpf->skel->progs.antiphase_offer),
				bpf->attach, &err);
		if (rc < 0)
			log_warn("bpf", "%s: %s", err.file, err.text);
	}
	if (rc < 0) {
		clear_cell(bpf, (uint32_t)ifindex);
		bpf_jobs_link_gone(bpf, at);
		link->failed_ifindex = ifindex;
		return;
	}
	link->is_there = true;
	bpf->stats.n_links++;
	if (link->attachment.kind == BPF_ATTACH_TCX && bpf->claim_fd >= 0) {
		close(bpf->claim_fd);
		bpf->claim_fd = -1;
	}
}

static bool
is_listed(const struct if_nameindex *list, const struct bpf_link_state *link)
{
	for (; list->if_index; list++)
		if ((int)list->if_index == link->attachment.ifindex)
			return !strcmp(list->if_name, link->name);
	return false;
}

static bool
is_taken(const struct src_bpf *bpf, const struct if_nameindex *one)
{
	for (uint32_t i = 0; i < bpf->max_links; i++)
		if (bpf->links[i].is_there &&
		    bpf->links[i].attachment.ifindex == (int)one->if_index)
			return true;
	return false;
}

void
bpf_links_scan(struct src_bpf *bpf, const struct source_sink *sink, int64_t now_ms)
{
	struct if_nameindex *list = if_nameindex();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (uint32_t i = 0; list && i < bpf->max_links; i++)
		if (bpf->links[i].is_there && !is_listed(list, &bpf->links[i]))
			let_go(bpf, i, sink);
	for (struct if_nameindex *one = list; one && one->if_index; one++)
		if (!is_taken(bpf, one) && is_wanted(bpf, one->if_name))
			take_up(bpf, one->if_name, (int)one->if_index, now_ms);
	for (uint32_t i = 0; sink && i < bpf->max_links; i++)
		if (bpf->links[i].is_there)
			announce(&bpf->links[i], sink, fd);
	if (list)
		if_freenameindex(list);
	if (fd >= 0)
		close(fd);
}

static bool
is_matched(const char *pattern, const char *const *names)
{
	for (; *names; names++)
		if (!fnmatch(pattern, *names, 0))
			return true;
	return false;
}

void
bpf_links_warn(const struct src_bpf *bpf)
{
	struct if_nameindex *list = if_nameindex();
	VEC(const char *) names = VEC_EMPTY;

	for (struct if_nameindex *one = list; one && one->if_index; one++)
		vec_push(&names, one->if_name);
	vec_push(&names, NULL);
	for (size_t i = 0; i < bpf->n_patterns; i++) {
		const char *meant = err_did_you_mean(bpf->patterns[i], names.items);

		if (!is_matched(bpf->patterns[i], names.items))
			log_warn("bpf",
				 "interface %s does not exist; waiting for it%s%s%s",
				 bpf->patterns[i], meant ? " (did you mean '" : "",
				 meant ? meant : "", meant ? "'?)" : "");
	}
	if (!bpf->n_patterns && !bpf->stats.n_links)
		log_warn(
			"bpf",
			"nothing is counted: this host has no physical interface; name "
			"others by --interface, such as veth0 or 'bond*'");
	vec_free(&names);
	if (list)
		if_freenameindex(list);
}

void
bpf_links_fini(struct src_bpf *bpf)
{
	for (uint32_t i = 0; bpf->links && i < bpf->max_links; i++)
		if (bpf->links[i].is_there)
			let_go(bpf, i, NULL);
}

/* ---- Draining -------------------------------------------------------------------- */

static void
emit(const struct source_sink *sink, uint32_t interface, enum tele_direction direction,
     enum tele_measure measure, const struct drain_out *out)
{
	struct source_key key = { .interface = interface,
				  .job = TELE_LINK,
				  .direction = (uint8_t)direction,
				  .measure = (uint8_t)measure };

	if (out->n)
		sink->bins(sink->ctx, &key, out->first_ms, out->bytes, out->n,
			   &out->extra);
	if (out->lost_ms)
		sink->lost(sink->ctx, out->lost_ms);
}

/* If the minimum is above zero, the queue dropped these bytes, or they bypassed it. */
static int64_t
queue_floor(struct bpf_link_state *link, int64_t now_ms)
{
	int64_t window = now_ms >> 10, lowest;

	if (window - link->floor_window >= QUEUE_WINDOWS)
		for (size_t i = 0; i < QUEUE_WINDOWS; i++)
			link->floor_bytes[i] = link->queue_bytes;
	else
		for (int64_t w = link->floor_window + 1; w <= window; w++)
			link->floor_bytes[w % QUEUE_WINDOWS] = link->queue_bytes;
	link->floor_window = window;
	lowest = link->floor_bytes[0];
	for (size_t i = 1; i < QUEUE_WINDOWS; i++)
		if (link->floor_bytes[i] < lowest)
			lowest = link->floor_bytes[i];
	return lowest;
}

/*
 * The longest backlog of the host's queue: offered minus sent bytes, added up by
 * milliseconds.
 */
static uint32_t
longest_queue(struct bpf_link_state *link, const struct drain_out *offered,
	      const int64_t *offered_bytes, const struct drain_out *sent,
	      int64_t now_ms)
{
	int64_t first = offered->n ? offered->first_ms : sent->first_ms;
	int64_t last = now_ms - 1, most, *low, longest;

	if (sent->n && sent->first_ms < first)
		first = sent->first_ms;
	if (offered->n && offered->first_ms + offered->n - 1 > last)
		last = offered->first_ms + offered->n - 1;
	if (sent->n && sent->first_ms + sent->n - 1 > last)
		last = sent->first_ms + sent->n - 1;
	queue_floor(link, now_ms);
	low = &link->floor_bytes[link->floor_window % QUEUE_WINDOWS];
	most = link->queue_bytes;
	for (int64_t ms = first; (offered->n || sent->n) && ms <= last; ms++) {
		int64_t in = ms - offered->first_ms, out = ms - sent->first_ms;

		if (in >= 0 && in < offered->n)
			link->queue_bytes += offered_bytes[in];
		if (out >= 0 && out < sent->n)
			link->queue_bytes -= sent->bytes[out];
		if (link->queue_bytes > most)
			most = link->queue_bytes;
		if (link->queue_bytes < *low)
			*low = link->queue_bytes;
	}
	longest = most - queue_floor(link, now_ms);
	return longest > UINT32_MAX ? UINT32_MAX : (uint32_t)longest;
}

/*
 * Without jobs, offered bytes are a running count without buckets, because reading the
 * clock is expensive; the queue is its current length.
 */
static void
drain_offered_count(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink,
		    int64_t now_ns, struct drain_out *sent)
{
	struct bpf_link_state *link = &bpf->links[at];
	struct source_key key = { .interface = link->interface,
				  .job = TELE_LINK,
				  .direction = TELE_TX,
				  .measure = TELE_OFFERED };
	struct source_extra extra = { 0 };
	struct flow_totals offered;
	int64_t lowest;

	drain_totals(bpf->drain, bpf_link_ring(at, FLOW_OFFERED), &offered);
	extra.packets = offered.packets;
	sink->counter(sink->ctx, &key, now_ns, offered.bytes, 64, &extra);
	link->queue_bytes += (int64_t)(offered.bytes - link->offered_bytes);
	for (uint32_t i = 0; i < sent->n; i++)
		link->queue_bytes -= sent->bytes[i];
	link->offered_bytes = offered.bytes;
	queue_floor(link, now_ns / 1000000);
	lowest = link->floor_bytes[link->floor_window % QUEUE_WINDOWS];
	if (link->queue_bytes < lowest)
		link->floor_bytes[link->floor_window % QUEUE_WINDOWS] =
			link->queue_bytes;
	lowest = link->queue_bytes - queue_floor(link, now_ns / 1000000);
	sent->extra.queue_bytes = lowest > UINT32_MAX ? UINT32_MAX : (uint32_t)lowest;
}

static void
drain_link(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink,
	   int64_t now_ns)
{
	struct bpf_link_state *link = &bpf->links[at];
	struct drain_out offered = { 0 }, out;
	int64_t now_ms = now_ns / 1000000;

	if (bpf->mode == SRC_BPF_JOBS) {
		drain_ring(bpf->drain, bpf_link_ring(at, FLOW_OFFERED), now_ms,
			   &offered);
		emit(sink, link->interface, TELE_TX, TELE_OFFERED, &offered);
		for (uint32_t i = 0; i < offered.n; i++)
			bpf->offered_bytes[i] = offered.bytes[i];
		bpf->stats.lost_buckets += offered.lost_ms;
	}
	drain_ring(bpf->drain, bpf_link_ring(at, FLOW_TX), now_ms, &out);
	if (bpf->mode == SRC_BPF_JOBS)
		out.extra.queue_bytes =
			longest_queue(link, &offered, bpf->offered_bytes, &out, now_ms);
	else
		drain_offered_count(bpf, at, sink, now_ns, &out);
	emit(sink, link->interface, TELE_TX, TELE_WIRE, &out);
	bpf->stats.lost_buckets += out.lost_ms;

	drain_ring(bpf->drain, bpf_link_ring(at, FLOW_RX), now_ms, &out);
	emit(sink, link->interface, TELE_RX, TELE_WIRE, &out);
	bpf->stats.lost_buckets += out.lost_ms;
}

void
bpf_links_drain(struct src_bpf *bpf, const struct source_sink *sink, int64_t now_ns)
{
	for (uint32_t i = 0; i < bpf->max_links; i++)
		if (bpf->links[i].is_announced)
			drain_link(bpf, i, sink, now_ns);
}

/* ---- What was sent unseen -------------------------------------------------------- */

static void
note_sent(void *ctx, const struct bpf_qdisc *qdisc)
{
	struct src_bpf *bpf = ctx;

	for (uint32_t i = 0; i < bpf->max_links; i++) {
		struct bpf_link_state *link = &bpf->links[i];

		if (!link->is_there || link->attachment.ifindex != qdisc->ifindex)
			continue;
		link->has_queue = true;
		link->is_comparable = qdisc->is_comparable;
		link->sent_bytes = qdisc->sent_bytes;
	}
}

/* Spreads bytes with unknown send time. */
static void
credit(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink, int64_t now_ms,
       uint64_t missing)
{
	struct bpf_link_state *link = &bpf->links[at];
	struct drain_out out = { .first_ms = bpf->last_credit_ms };
	uint64_t left = missing;
	uint32_t *bytes;

	if (now_ms - out.first_ms > MAX_CREDIT_MS)
		out.first_ms = now_ms - MAX_CREDIT_MS;
	out.n = (uint32_t)(now_ms - out.first_ms);
	bytes = xcalloc(out.n, sizeof *bytes);
	for (uint32_t i = 0; i < out.n; i++) {
		uint64_t part = left / (out.n - i);

		bytes[i] = part < TELE_GAP ? (uint32_t)part : TELE_GAP - 1;
		left -= part;
	}
	out.bytes = bytes;
	emit(sink, link->interface, TELE_TX, TELE_WIRE, &out);
	bpf_jobs_credit(bpf, at, sink, &out);
	free(bytes);
	link->credited_bytes += missing;
	link->queue_bytes -= (int64_t)missing;
	bpf->stats.unseen_bytes += missing;
}

static void
compare(struct src_bpf *bpf, uint32_t at, const struct source_sink *sink,
	int64_t now_ms)
{
	struct bpf_link_state *link = &bpf->links[at];
	struct flow_totals seen;
	int64_t missing;

	if (!link->is_comparable) {
		link->has_base = false;
		return;
	}
	drain_totals(bpf->drain, bpf_link_ring(at, FLOW_TX), &seen);
	if (!link->has_base || link->has_queue != link->had_queue ||
	    link->sent_bytes < link->last_sent_bytes) {
		/* A new queue counts from zero. */
		link->base_bytes =
			link->sent_bytes - link->seen_bytes - link->credited_bytes;
		link->has_base = true;
	}
	missing = (int64_t)(link->sent_bytes - link->base_bytes - seen.bytes -
			    link->credited_bytes);
	if (missing > 0)
		credit(bpf, at, sink, now_ms, (uint64_t)missing);
	link->had_queue = link->has_queue;
	link->last_sent_bytes = link->sent_bytes;
}

/*
 * Bytes that the kernel's queue has sent (or that were offered, without a queue), minus
 * bytes seen.  The latter are read before and after, so that traffic during the reading
 * does not count as missed.
 */
void
bpf_links_credit(struct src_bpf *bpf, const struct source_sink *sink, int64_t now_ms)
{
	struct flow_totals totals;

	for (uint32_t i = 0; i < bpf->max_links; i++) {
		struct bpf_link_state *link = &bpf->links[i];

		drain_totals(bpf->drain, bpf_link_ring(i, FLOW_TX), &totals);
		link->seen_bytes = totals.bytes;
		drain_totals(bpf->drain, bpf_link_ring(i, FLOW_OFFERED), &totals);
		link->sent_bytes = totals.bytes;
		link->has_queue = false;
		link->is_comparable = true;
	}
	/* The first comparison is only the base of later ones. */
	if (bpf_qdisc_each(note_sent, bpf) == 0 && now_ms > bpf->last_credit_ms)
		for (uint32_t i = 0; i < bpf->max_links; i++)
			if (bpf->links[i].is_announced)
				compare(bpf, i, sink, now_ms);
	bpf->last_credit_ms = now_ms;
}
