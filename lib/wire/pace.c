/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/pace.h"

#include <errno.h>
#include <string.h>

#include "lib/wire/pack.h"

/* Offsets of the fields.  The magic number reads "appc". */
#define MAGIC    UINT32_C(0x63707061)
#define AT_MAGIC 0
#define AT_KIND  4 /* Version (2 bytes), kind, and of a HELLO source and flag. */
#define AT_BODY  8

#define AT_PID      8
#define AT_RANK     12
#define AT_N_RANKS  16
#define AT_JOB      20 /* Terminated, zeros to its end. */
#define HELLO_BYTES 84

#define AT_NUMBER       8
#define AT_ENTER        16
#define AT_BEGIN        24
#define AT_COMM         32
#define AT_BYTES        40
#define AT_COLLECTIVES  48
#define AT_GAP          52
#define AT_ORDER        56
#define AT_LOST         60
#define ITERATION_BYTES 64

#define AT_ORDER_NUMBER 8
#define AT_ZERO         12
#define AT_DELAY        16
#define AT_NOT_BEFORE   24
#define AT_EXPIRES      32
#define AT_MAX          40
#define ORDER_BYTES     48

/* The top bit of AT_KIND's last byte, whose other bits are the source. */
#define FLAG_OBSERVING 0x80u

/* Later times do not fit a frame (TELE_MAX_NS). */
#define MAX_NS ((INT64_C(1) << 62) - 1)

_Static_assert(HELLO_BYTES == AT_JOB + PACE_MAX_NAME + 1, "a name fills its field");
_Static_assert(HELLO_BYTES <= PACE_MAX_BYTES, "a packet has room");

/* ---- To bytes -------------------------------------------------------------------- */

static size_t
encode_hello(const struct pace_hello *hello, uint8_t *bytes)
{
	pack_u32_at(bytes + AT_PID, hello->pid);
	pack_u32_at(bytes + AT_RANK, hello->rank);
	pack_u32_at(bytes + AT_N_RANKS, hello->n_ranks);
	memset(bytes + AT_JOB, 0, PACE_MAX_NAME + 1);
	memcpy(bytes + AT_JOB, hello->job, strnlen(hello->job, PACE_MAX_NAME));
	return HELLO_BYTES;
}

static size_t
encode_iteration(const struct pace_iteration *it, uint8_t *bytes)
{
	pack_u64_at(bytes + AT_NUMBER, it->number);
	pack_u64_at(bytes + AT_ENTER, (uint64_t)it->enter_ns);
	pack_u64_at(bytes + AT_BEGIN, (uint64_t)it->begin_ns);
	pack_u64_at(bytes + AT_COMM, (uint64_t)it->comm_ns);
	pack_u64_at(bytes + AT_BYTES, it->bytes);
	pack_u32_at(bytes + AT_COLLECTIVES, it->n_collectives);
	pack_u32_at(bytes + AT_GAP, it->gap_us);
	pack_u32_at(bytes + AT_ORDER, it->order);
	pack_u32_at(bytes + AT_LOST, it->lost);
	return ITERATION_BYTES;
}

static size_t
encode_order(const struct pace_order *order, uint8_t *bytes)
{
	pack_u32_at(bytes + AT_ORDER_NUMBER, order->number);
	pack_u32_at(bytes + AT_ZERO, 0);
	pack_u64_at(bytes + AT_DELAY, (uint64_t)order->delay_ns);
	pack_u64_at(bytes + AT_NOT_BEFORE, (uint64_t)order->not_before_ns);
	pack_u64_at(bytes + AT_EXPIRES, (uint64_t)order->expires_ns);
	pack_u64_at(bytes + AT_MAX, (uint64_t)order->max_ns);
	return ORDER_BYTES;
}

size_t
pace_encode(const struct pace_packet *packet, uint8_t bytes[PACE_MAX_BYTES])
{
	uint32_t what = 0;

	if (packet->kind == PACE_HELLO)
		what = packet->hello.source |
		       (packet->hello.is_observing ? FLAG_OBSERVING : 0);
	pack_u32_at(bytes + AT_MAGIC, MAGIC);
	pack_u32_at(bytes + AT_KIND,
		    PACE_VERSION | (uint32_t)packet->kind << 16 | what << 24);
	if (packet->kind == PACE_HELLO)
		return encode_hello(&packet->hello, bytes);
	if (packet->kind == PACE_ITERATION)
		return encode_iteration(&packet->iteration, bytes);
	return encode_order(&packet->order, bytes);
}

/* ---- From bytes ------------------------------------------------------------------ */

/* Reads a time of 0 to 'max_ns'; clears '*ok' if it is out of range. */
static int64_t
take_ns(const uint8_t *bytes, int64_t max_ns, bool *ok)
{
	int64_t ns = (int64_t)unpack_u64_at(bytes);

	*ok &= ns >= 0 && ns <= max_ns;
	return ns;
}

/* True if the text has no control characters, and only zeros from its end on. */
static bool
is_name(const uint8_t name[PACE_MAX_NAME + 1])
{
	size_t n = 0;

	while (n <= PACE_MAX_NAME && name[n]) {
		if (name[n] < 0x20 || name[n] == 0x7f)
			return false;
		n++;
	}
	if (n > PACE_MAX_NAME)
		return false;
	while (n <= PACE_MAX_NAME && !name[n])
		n++;
	return n > PACE_MAX_NAME;
}

static bool
decode_hello(const uint8_t *bytes, uint8_t what, struct pace_hello *ret_hello)
{
	*ret_hello = (struct pace_hello){
		.source = (uint8_t)(what & ~FLAG_OBSERVING),
		.is_observing = what & FLAG_OBSERVING,
		.pid = unpack_u32_at(bytes + AT_PID),
		.rank = unpack_u32_at(bytes + AT_RANK),
		.n_ranks = unpack_u32_at(bytes + AT_N_RANKS),
	};
	memcpy(ret_hello->job, bytes + AT_JOB, PACE_MAX_NAME);
	return ret_hello->source <= PACE_API && is_name(bytes + AT_JOB) &&
	       (!ret_hello->n_ranks || ret_hello->rank < ret_hello->n_ranks);
}

static bool
decode_iteration(const uint8_t *bytes, struct pace_iteration *ret_iteration)
{
	bool ok = true;

	*ret_iteration = (struct pace_iteration){
		.number = unpack_u64_at(bytes + AT_NUMBER),
		.enter_ns = take_ns(bytes + AT_ENTER, MAX_NS, &ok),
		.begin_ns = take_ns(bytes + AT_BEGIN, MAX_NS, &ok),
		.comm_ns = take_ns(bytes + AT_COMM, MAX_NS, &ok),
		.bytes = unpack_u64_at(bytes + AT_BYTES),
		.n_collectives = unpack_u32_at(bytes + AT_COLLECTIVES),
		.gap_us = unpack_u32_at(bytes + AT_GAP),
		.order = unpack_u32_at(bytes + AT_ORDER),
		.lost = unpack_u32_at(bytes + AT_LOST),
	};
	return ok && ret_iteration->begin_ns >= ret_iteration->enter_ns;
}

static bool
decode_order(const uint8_t *bytes, struct pace_order *ret_order)
{
	bool ok = !unpack_u32_at(bytes + AT_ZERO);

	*ret_order = (struct pace_order){
		.number = unpack_u32_at(bytes + AT_ORDER_NUMBER),
		.delay_ns = take_ns(bytes + AT_DELAY, PACE_MAX_ORDER_NS, &ok),
		.not_before_ns = take_ns(bytes + AT_NOT_BEFORE, MAX_NS, &ok),
		.expires_ns = take_ns(bytes + AT_EXPIRES, MAX_NS, &ok),
		.max_ns = take_ns(bytes + AT_MAX, PACE_MAX_ORDER_NS, &ok),
	};
	return ok && ret_order->number;
}

int
pace_decode(const uint8_t *bytes, size_t n, struct pace_packet *ret_packet)
{
	struct pace_packet packet = { 0 };
	uint32_t kind;
	uint8_t what;
	bool ok = false;

	if (n < AT_BODY || unpack_u32_at(bytes + AT_MAGIC) != MAGIC)
		return -EBADMSG;
	kind = unpack_u32_at(bytes + AT_KIND);
	if ((kind & 0xffff) != PACE_VERSION)
		return -EPROTONOSUPPORT;
	what = (uint8_t)(kind >> 24);
	kind = kind >> 16 & 0xff;
	if (kind == PACE_HELLO && n == HELLO_BYTES)
		ok = decode_hello(bytes, what, &packet.hello);
	else if (kind == PACE_ITERATION && n == ITERATION_BYTES && !what)
		ok = decode_iteration(bytes, &packet.iteration);
	else if (kind == PACE_ORDER && n == ORDER_BYTES && !what)
		ok = decode_order(bytes, &packet.order);
	if (!ok)
		return -EBADMSG;
	packet.kind = (enum pace_kind)kind;
	*ret_packet = packet;
	return 0;
}
