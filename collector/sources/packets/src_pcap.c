/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/src_pcap.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/packets/capfile.h"
#include "collector/sources/packets/job_rules.h"
#include "collector/sources/packets/packet.h"
#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"

#define MS             INT64_C(1000000)
#define SNAPLEN_BYTES  96
#define BUFFER_BYTES   (16 << 20)
#define LIVE_LAG_MS    50 /* The kernel hands over a block at least this often. */
#define PACKETS_A_POLL 20000
#define LIVE_POLL_NS   (10 * MS)
#define SPAN_MS        500 /* Longest span that one poll of a file reads. */
/* After a longer pause in a file, time jumps ahead. */
#define LONGEST_PAUSE_MS 600000
#define N_FLOWS          65536
#define N_PENDING        4096

struct network {
	struct packet_address address;
	unsigned bits;
};

/* An address that is an interface. */
struct end {
	struct packet_address address;
	uint32_t number;
	bool is_used;
};

#define N_ENDS (4 * TELE_MAX_INTERFACES)

/* The next sequence number of one direction of a TCP connection. */
struct flow {
	uint64_t key; /* 0: unused. */
	uint32_t next;
};

/* The counts of a key in its open bin. */
struct pending {
	struct source_key key;
	bool is_used;
	int64_t ms;
	uint64_t bytes;
	struct source_extra extra;
};

struct pcap_source {
	struct source source;
	struct capfile *file;
	char interface[TELE_MAX_NAME + 1];
	bool is_live, is_over;
	double capacity_bps;
	VEC(struct network) local;
	struct job_rules *rules;
	VEC(const char *) job_names; /* Borrowed from the rules. */
	VEC(uint32_t) job_numbers;   /* The sink's numbers of 'job_names'. */
	uint32_t number;             /* Of the one interface, with local addresses. */
	bool has_number;
	struct end *ends;        /* Owned.  [N_ENDS], open addressing. */
	VEC(uint32_t) numbers;   /* Of all interfaces. */
	struct flow *flows;      /* Owned. [N_FLOWS]; a new one replaces the old. */
	struct pending *pending; /* Owned.  [N_PENDING], likewise. */
	int64_t clock_ns;        /* Live: wall clock less monotonic. */
	int64_t first_ms, last_ms, complete_ms;
	struct capfile_packet held; /* File: read but not yet counted. */
	bool has_held;
	struct pcap_status status;
	const struct source_sink *sink; /* While polling. */
};

static struct pcap_source *
from_source(const struct source *source)
{
	return (struct pcap_source *)source;
}

/* ---- Bins ------------------------------------------------------------------------ */

static void
flush(const struct pcap_source *s, struct pending *p)
{
	uint32_t bytes = p->bytes < TELE_GAP ? (uint32_t)p->bytes : TELE_GAP - 1;

	if (p->is_used)
		s->sink->bins(s->sink->ctx, &p->key, p->ms, &bytes, 1, &p->extra);
	p->is_used = false;
}

static void
flush_all(const struct pcap_source *s)
{
	for (size_t i = 0; i < N_PENDING; i++)
		if (s->pending[i].is_used)
			flush(s, &s->pending[i]);
}

static bool
same_key(const struct source_key *a, const struct source_key *b)
{
	return a->interface == b->interface && a->job == b->job &&
	       a->direction == b->direction;
}

/* Adds a packet to its key's open bin; emits another key or bin in its place. */
static void
count(const struct pcap_source *s, uint32_t interface, uint32_t job,
      enum tele_direction direction, int64_t ms, const struct packet *packet,
      bool is_retransmit)
{
	struct source_key key = { interface, job, (uint8_t)direction, TELE_WIRE };
	uint64_t hash = rng_mix((uint64_t)interface << 33 | (uint64_t)job << 1 |
				(direction == TELE_TX));
	struct pending *p = &s->pending[hash % N_PENDING];

	if (p->is_used && (p->ms != ms || !same_key(&p->key, &key)))
		flush(s, p);
	if (!p->is_used)
		*p = (struct pending){ .key = key, .is_used = true, .ms = ms };
	p->bytes += packet->wire_bytes;
	p->extra.packets++;
	p->extra.ce += packet->is_ce;
	p->extra.retransmits += is_retransmit;
}

/* ---- Interfaces and jobs --------------------------------------------------------- */

static uint32_t
announce(struct pcap_source *s, const char *name)
{
	struct tele_interface interface = { .capacity_bps = s->capacity_bps,
					    .is_up = true };
	uint32_t number;

	snprintf(interface.name, sizeof interface.name, "%s", name);
	number = s->sink->interface(s->sink->ctx, &interface);
	vec_push(&s->numbers, number);
	/* Silent, but watched from the start: not a gap. */
	s->sink->complete(s->sink->ctx, number, s->first_ms);
	for (int direction = TELE_TX; direction <= TELE_RX; direction++)
		s->sink->bins(s->sink->ctx,
			      &(struct source_key){ number, TELE_LINK,
						    (uint8_t)direction, TELE_WIRE },
			      s->first_ms, NULL, 0, NULL);
	return number;
}

/* The interface of an address; false if there are too many. */
static bool
number_of_end(struct pcap_source *s, const struct packet_address *address,
	      uint32_t *ret_number)
{
	char name[PACKET_ADDRESS_TEXT];
	uint64_t halves[2];
	size_t slot;

	memcpy(halves, address->bytes, sizeof halves);
	slot = rng_mix(halves[0] ^ rng_mix(halves[1])) % N_ENDS;
	while (s->ends[slot].is_used &&
	       memcmp(&s->ends[slot].address, address, sizeof *address) != 0)
		slot = (slot + 1) % N_ENDS;
	if (!s->ends[slot].is_used) {
		if (s->numbers.n >= TELE_MAX_INTERFACES)
			return false;
		packet_address_text(address, name, sizeof name);
		s->ends[slot].address = *address;
		s->ends[slot].number = announce(s, name);
		s->ends[slot].is_used = true;
	}
	*ret_number = s->ends[slot].number;
	return true;
}

static uint32_t
job_of(struct pcap_source *s, const struct packet *packet)
{
	const char *name = job_rules_match(s->rules, packet);

	if (!name)
		return TELE_OTHER;
	for (size_t i = 0; i < s->job_names.n; i++)
		if (!strcmp(s->job_names.items[i], name))
			return s->job_numbers.items[i];
	vec_push(&s->job_names, name);
	vec_push(&s->job_numbers, s->sink->job(s->sink->ctx, name));
	return s->job_numbers.items[s->job_numbers.n - 1];
}

static bool
is_local(const struct pcap_source *s, const struct packet_address *address)
{
	for (size_t i = 0; i < s->local.n; i++)
		if (packet_address_in(address, &s->local.items[i].address,
				      s->local.items[i].bits))
			return true;
	return false;
}

/* ---- Packets --------------------------------------------------------------------- */

/* Whether a TCP segment carries only data that its connection has sent before. */
static bool
is_retransmit(struct pcap_source *s, const struct packet *p)
{
	uint64_t halves[4], key;
	struct flow *flow;
	uint32_t end;

	if (!p->is_tcp || p->payload_bytes == 0)
		return false;
	memcpy(halves, p->source.bytes, 16);
	memcpy(halves + 2, p->destination.bytes, 16);
	key = rng_mix((uint64_t)p->source_port << 16 | p->destination_port);
	for (int i = 0; i < 4; i++)
		key = rng_mix(key ^ halves[i]);
	key |= 1;
	flow = &s->flows[key / 2 % N_FLOWS];
	end = p->sequence + p->payload_bytes;
	if (flow->key == key && (int32_t)(end - flow->next) <= 0) {
		/* A keep-alive repeats one byte; it is not a retransmit. */
		return p->payload_bytes > 1;
	}
	flow->key = key;
	flow->next = end;
	return false;
}

static void
count_both(struct pcap_source *s, uint32_t interface, enum tele_direction direction,
	   int64_t ms, const struct packet *packet, uint32_t job, bool is_again)
{
	count(s, interface, TELE_LINK, direction, ms, packet, is_again);
	count(s, interface, job, direction, ms, packet, is_again);
}

/* With one interface: TX from a local address, else RX. */
static void
take_local(struct pcap_source *s, int64_t ms, const struct packet *packet,
	   bool is_again)
{
	enum tele_direction direction;

	if (!s->has_number) {
		s->number = announce(s, s->interface);
		s->has_number = true;
	}
	if (packet->way != PACKET_WAY_UNKNOWN)
		direction = packet->way == PACKET_WAY_OUT ? TELE_TX : TELE_RX;
	else if (!packet->is_ip)
		direction = TELE_RX; /* ARP and the like, which are few. */
	else
		direction = is_local(s, &packet->source) ? TELE_TX : TELE_RX;
	count_both(s, s->number, direction, ms, packet, job_of(s, packet), is_again);
}

/* With both ends as interfaces. */
static void
take_ends(struct pcap_source *s, int64_t ms, const struct packet *packet, bool is_again)
{
	uint32_t job = job_of(s, packet), number;

	if (number_of_end(s, &packet->source, &number))
		count_both(s, number, TELE_TX, ms, packet, job, is_again);
	else
		s->sink->lost(s->sink->ctx, 1);
	if (number_of_end(s, &packet->destination, &number))
		count_both(s, number, TELE_RX, ms, packet, job, is_again);
	else
		s->sink->lost(s->sink->ctx, 1);
}

static void
take(struct pcap_source *s, const struct capfile_packet *taken)
{
	int64_t time_ns = taken->time_ns, ms = (time_ns - s->clock_ns) / MS;
	struct packet packet;
	bool is_again;

	packet_parse(capfile_link(s->file), taken->bytes, taken->n, taken->length,
		     &packet);
	if (s->status.n_packets++ == 0) {
		s->status.first_ns = time_ns;
		if (!s->is_live)
			s->first_ms = ms;
	}
	s->status.last_ns = time_ns;
	s->status.n_bytes += packet.wire_bytes;
	s->status.n_unknown += !packet.is_ip;
	s->status.n_roce += packet.is_roce;
	is_again = is_retransmit(s, &packet);
	s->status.n_retransmits += is_again;
	if (ms > s->last_ms)
		s->last_ms = ms;
	if (s->local.n > 0 || s->is_live)
		take_local(s, ms, &packet, is_again);
	else if (packet.is_ip)
		take_ends(s, ms, &packet, is_again);
}

/* ---- The source ------------------------------------------------------------------ */

static void
complete_to(struct pcap_source *s, int64_t until_ms)
{
	if (until_ms <= s->complete_ms)
		return;
	flush_all(s);
	for (size_t i = 0; i < s->numbers.n; i++)
		s->sink->complete(s->sink->ctx, s->numbers.items[i], until_ms);
	s->complete_ms = until_ms;
}

/*
 * Time advances by at most SPAN_MS per poll, so that the bins of one step are fetched
 * before those of the next.  A packet after a pause is held until it is due; returns
 * false until then.
 */
static bool
is_due(struct pcap_source *s)
{
	int64_t at_ms = s->held.time_ns / MS - 1;

	if (at_ms <= s->complete_ms + SPAN_MS ||
	    at_ms > s->complete_ms + LONGEST_PAUSE_MS)
		return true;
	complete_to(s, s->complete_ms + SPAN_MS);
	return false;
}

/* Reads the next packet into 'held'; as poll(). */
static int
hold_next(struct pcap_source *s, struct err *err)
{
	int got = capfile_next(s->file, &s->held, err);

	if (got < 0) {
		s->is_over = true;
		complete_to(s, s->last_ms + 1);
		return got;
	}
	s->has_held = true;
	if (s->status.n_packets == 0)
		s->last_ms = s->complete_ms = s->held.time_ns / MS;
	return 0;
}

static int
poll_file(struct pcap_source *s, struct err *err)
{
	int64_t begin_ms = s->complete_ms;

	for (int i = 0; i < PACKETS_A_POLL; i++) {
		int error = s->has_held ? 0 : hold_next(s, err);

		if (error < 0)
			return error;
		if (i == 0 && !begin_ms)
			begin_ms = s->complete_ms;
		if (s->held.time_ns / MS >= begin_ms + SPAN_MS && i > 0)
			break;
		if (!is_due(s))
			return 0;
		s->has_held = false;
		take(s, &s->held);
	}
	/* Captures of several ports may be a little out of order. */
	complete_to(s, s->last_ms - 1);
	return 0;
}

/* Reports packets dropped since the last call. */
static void
report_drops(struct pcap_source *s)
{
	uint64_t drops = capfile_drops(s->file) + capfile_bad(s->file);

	if (drops != s->status.n_dropped)
		s->sink->lost(s->sink->ctx, drops - s->status.n_dropped);
	s->status.n_dropped = drops;
}

static int
poll_live(struct pcap_source *s, int64_t now_ns, struct err *err)
{
	s->clock_ns = clk_wall_us() * 1000 - clk_monotonic_ns();
	if (!s->has_number) {
		s->first_ms = now_ns / MS + 1;
		s->number = announce(s, s->interface);
		s->has_number = true;
	}
	for (int i = 0; i < PACKETS_A_POLL; i++) {
		struct capfile_packet packet;
		int got = capfile_next(s->file, &packet, err);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		take(s, &packet);
	}
	report_drops(s);
	complete_to(s, now_ns / MS - LIVE_LAG_MS);
	return 0;
}

static int
pcap_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	  struct err *err)
{
	struct pcap_source *s = from_source(source);
	int error;

	if (s->is_over)
		return -ENODATA;
	s->sink = sink;
	error = s->is_live ? poll_live(s, now_ns, err) : poll_file(s, err);
	s->sink = NULL;
	return error;
}

static uint64_t
pcap_at(const struct source *source)
{
	const struct pcap_source *s = from_source(source);

	return s->file ? capfile_at(s->file) : 0;
}

static int64_t
pcap_interval_ns(const struct source *source)
{
	return from_source(source)->is_live ? LIVE_POLL_NS : 0;
}

static void
pcap_source_close(struct source *source)
{
	struct pcap_source *s = from_source(source);

	if (!s)
		return;
	capfile_close(s->file);
	job_rules_free(s->rules);
	vec_free(&s->local);
	vec_free(&s->job_names);
	vec_free(&s->job_numbers);
	vec_free(&s->numbers);
	free(s->ends);
	free(s->flows);
	free(s->pending);
	free(s);
}

static const struct source_class pcap_class = {
	.name = "pcap",
	.summary = "packets of a capture file or a device",
	.poll = pcap_poll,
	.interval_ns = pcap_interval_ns,
	.at = pcap_at,
	.close = pcap_source_close,
};

void
src_pcap_status(const struct source *source, struct pcap_status *ret_status)
{
	*ret_status = from_source(source)->status;
}

/* ---- Opening --------------------------------------------------------------------- */

static int
open_device(struct pcap_source *s, const struct pcap_options *options, struct err *err)
{
	return capfile_open_device(
		options->device,
		options->snaplen_bytes ? options->snaplen_bytes : SNAPLEN_BYTES,
		options->buffer_bytes ? options->buffer_bytes : BUFFER_BYTES, &s->file,
		err);
}

static int
set_local(struct pcap_source *s, const struct pcap_options *options, struct err *err)
{
	for (size_t i = 0; i < options->n_local; i++) {
		struct network network;

		if (packet_parse_address(options->local[i], &network.address,
					 &network.bits) < 0)
			return err_set(err, NULL, 0, 0,
				       "'%s' is not an address: expected one such as "
				       "10.0.0.1, 10.0.0.0/24 or fd00::1",
				       options->local[i]);
		vec_push(&s->local, network);
	}
	return 0;
}

/* Live: finds the device's own addresses, if none are given. */
static void
find_local(struct pcap_source *s, const char *device)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		struct network network = { .bits = 128 };

		if (!a->ifa_addr || strcmp(a->ifa_name, device) != 0)
			continue;
		if (a->ifa_addr->sa_family == AF_INET) {
			const struct sockaddr_in *in = (const void *)a->ifa_addr;

			memset(network.address.bytes + 10, 0xff, 2);
			memcpy(network.address.bytes + 12, &in->sin_addr, 4);
		} else if (a->ifa_addr->sa_family == AF_INET6) {
			const struct sockaddr_in6 *in = (const void *)a->ifa_addr;

			memcpy(network.address.bytes, &in->sin6_addr, 16);
		} else {
			continue;
		}
		vec_push(&s->local, network);
	}
	freeifaddrs(all);
}

int
src_pcap_open(const struct pcap_options *options, struct source **ret_source,
	      struct err *err)
{
	struct pcap_source *s = xcalloc(1, sizeof *s);
	int error;

	s->source.class = &pcap_class;
	s->capacity_bps = options->capacity_bps;
	s->ends = xcalloc(N_ENDS, sizeof *s->ends);
	s->flows = xcalloc(N_FLOWS, sizeof *s->flows);
	s->pending = xcalloc(N_PENDING, sizeof *s->pending);
	s->is_live = !options->file;
	if (options->file && !options->interface)
		capfile_name(options->file, "capture", s->interface);
	else
		snprintf(s->interface, sizeof s->interface, "%s",
			 options->interface ? options->interface : options->device);
	error = job_rules_new(options->jobs, options->n_jobs, &s->rules, err);
	if (error == 0)
		error = set_local(s, options, err);
	if (error == 0)
		error = options->file ? capfile_open(options->file, &s->file, err)
				      : open_device(s, options, err);
	if (error == 0 && options->filter)
		error = capfile_filter(s->file, options->filter, err);
	if (error < 0) {
		pcap_source_close(&s->source);
		return error;
	}
	if (s->is_live && s->local.n == 0)
		find_local(s, options->device);
	*ret_source = &s->source;
	return 0;
}
