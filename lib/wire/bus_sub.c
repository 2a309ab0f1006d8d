/* SPDX-License-Identifier: Apache-2.0 */
/* bus_sub.c - subscriber: a SUB socket that checks frames and their sequences. */
#include <errno.h>
#include <string.h>

#include <zmq.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/seq.h"
#include "lib/wire/tele.h"

/* Frames of one peer that ZeroMQ may buffer. */
#define ROOM 10000

struct bus_sub {
	struct bus_context context;
	struct bus_socket socket;
	struct seq_book *sequences;
	struct bus_part topic, body;
	char topic_text[BUS_MAX_TOPIC];
	struct strbuf text;               /* The body of a text, terminated. */
	const char *const *text_prefixes; /* Of texts among frames; NULL: none. */
	bus_text_fn *on_text;
	void *text_ctx;
	struct bus_counts counts;
	bool is_foreign_told;
	struct bus_watch watch;
};

static int
want_topic(struct bus_sub *sub, const char *prefix, bool is_wanted)
{
	int option = is_wanted ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE;

	if (zmq_setsockopt(sub->socket.zmq, option, prefix, strlen(prefix)) < 0)
		return -zmq_errno();
	return 0;
}

/* 'max_bytes': limit of a message; 0: that of frames. */
static int
open_sub(const char *const *endpoints, size_t n, bool is_bound,
	 const struct bus_keys *keys, int64_t max_bytes, struct bus_sub **ret_sub,
	 struct err *err)
{
	struct bus_sub *sub = xcalloc(1, sizeof *sub);
	int error;

	sub->sequences = seq_book_new();
	sub->text = (struct strbuf)STRBUF_EMPTY;
	bus_part_init(&sub->topic);
	bus_part_init(&sub->body);
	error = bus_context_init(&sub->context, keys, err);
	if (!error)
		error = bus_socket_init(&sub->socket, &sub->context, ZMQ_SUB, ROOM,
					err);
	if (!error && max_bytes)
		zmq_setsockopt(sub->socket.zmq, ZMQ_MAXMSGSIZE, &max_bytes,
			       sizeof max_bytes);
	for (size_t i = 0; i < n && !error; i++)
		error = bus_socket_attach(&sub->socket, endpoints[i], is_bound, err);
	if (error < 0)
		bus_sub_close(sub);
	else
		*ret_sub = sub;
	return error;
}

int
bus_sub_open(const char *const *endpoints, size_t n, bool is_bound,
	     const struct bus_keys *keys, struct bus_sub **ret_sub, struct err *err)
{
	return open_sub(endpoints, n, is_bound, keys, 0, ret_sub, err);
}

int
bus_sub_open_texts(const char *endpoint, const struct bus_keys *keys,
		   const char *prefix, struct bus_sub **ret_sub, struct err *err)
{
	int r = open_sub(&endpoint, 1, false, keys, BUS_MAX_TEXT, ret_sub, err);

	return r < 0 ? r : want_topic(*ret_sub, prefix, true);
}

int
bus_sub_want_texts(struct bus_sub *sub, const char *prefix, bool is_wanted)
{
	return want_topic(sub, prefix, is_wanted);
}

int
bus_sub_on_texts(struct bus_sub *sub, const char *const *prefixes, bus_text_fn *on_text,
		 void *ctx)
{
	int rc = 0;

	sub->text_prefixes = prefixes;
	sub->on_text = on_text;
	sub->text_ctx = ctx;
	for (; *prefixes && rc == 0; prefixes++)
		rc = want_topic(sub, *prefixes, true);
	return rc;
}

void
bus_sub_close(struct bus_sub *sub)
{
	if (!sub)
		return;
	bus_watch_leave(&sub->watch);
	bus_part_fini(&sub->topic);
	bus_part_fini(&sub->body);
	strbuf_free(&sub->text);
	bus_socket_fini(&sub->socket);
	bus_context_fini(&sub->context);
	seq_book_free(sub->sequences);
	free(sub);
}

const char *
bus_sub_endpoint(const struct bus_sub *sub)
{
	return sub->socket.endpoint;
}

const struct seq_book *
bus_sub_sequences(const struct bus_sub *sub)
{
	return sub->sequences;
}

const struct bus_counts *
bus_sub_counts(struct bus_sub *sub)
{
	const struct seq_counts *sequences = seq_counts(sub->sequences);

	bus_socket_serve(&sub->socket);
	sub->counts.gaps = sequences->gaps;
	sub->counts.restarts = sequences->restarts;
	sub->counts.repeats = sequences->repeats;
	sub->counts.hosts = sequences->hosts;
	sub->counts.reconnects = sub->socket.reconnects;
	sub->counts.refused = sub->socket.refused;
	sub->counts.connections = sub->socket.n_up;
	return &sub->counts;
}

/* ---- Subscriptions --------------------------------------------------------------- */

int
bus_sub_want(struct bus_sub *sub, uint8_t kind, const char *host, bool is_wanted)
{
	char topic[BUS_MAX_TOPIC];

	bus_topic(topic, kind, host);
	return want_topic(sub, topic, is_wanted);
}

/* ---- Messages -------------------------------------------------------------------- */

static void
serve_others(struct bus_sub *sub)
{
	bus_context_serve(&sub->context);
	bus_socket_serve(&sub->socket);
}

/* Takes a message: 1; 0 without one; -EBADMSG if it does not have two parts. */
static int
take_message(struct bus_sub *sub)
{
	bool has_more;
	int error = bus_part_take(&sub->socket, &sub->topic, &has_more);

	if (error == -EAGAIN) {
		serve_others(sub);
		return 0;
	}
	if (error < 0)
		return error;
	if (!has_more)
		return -EBADMSG;
	/* Messages are atomic: the other parts have arrived too. */
	error = bus_part_take(&sub->socket, &sub->body, &has_more);
	if (error < 0)
		return error;
	if (!has_more)
		return 1;
	while (has_more && bus_part_take(&sub->socket, &sub->body, &has_more) == 0)
		continue;
	return -EBADMSG;
}

/* ZeroMQ's messages have no terminator.  False if the topic is longer than any of ours. */
static bool
keep_topic(struct bus_sub *sub)
{
	size_t n = bus_part_size(&sub->topic);

	if (n >= sizeof sub->topic_text)
		return false;
	memcpy(sub->topic_text, bus_part_bytes(&sub->topic), n);
	sub->topic_text[n] = '\0';
	return true;
}

static void
keep_text(struct bus_sub *sub)
{
	strbuf_clear(&sub->text);
	strbuf_add(&sub->text, (const char *)bus_part_bytes(&sub->body),
		   bus_part_size(&sub->body));
}

int
bus_sub_message(struct bus_sub *sub, const char **ret_topic, const uint8_t **ret_bytes,
		size_t *ret_n)
{
	int result;

	for (;;) {
		result = take_message(sub);
		if (result == -EBADMSG) {
			sub->counts.damaged++;
			continue;
		}
		if (result <= 0)
			return result;
		if (keep_topic(sub)) {
			keep_text(sub);
			*ret_topic = sub->topic_text;
			*ret_bytes = (const uint8_t *)sub->text.text;
			*ret_n = sub->text.length;
			return 1;
		}
		sub->counts.damaged++;
	}
}

/* The topic must match the kind and host of the frame; otherwise it is forged. */
static bool
is_under_its_topic(const struct bus_sub *sub, const struct tele_frame *frame)
{
	char topic[BUS_MAX_TOPIC];
	size_t n = bus_topic(topic, frame->kind, frame->host);

	return bus_part_size(&sub->topic) == n &&
	       memcmp(bus_part_bytes(&sub->topic), topic, n) == 0;
}

/* Hands a text among frames to its callback; false if it is none. */
static bool
take_text(struct bus_sub *sub)
{
	const char *const *prefix = sub->text_prefixes;

	if (!prefix || !keep_topic(sub))
		return false;
	while (*prefix && strncmp(sub->topic_text, *prefix, strlen(*prefix)) != 0)
		prefix++;
	if (!*prefix)
		return false;
	keep_text(sub);
	sub->on_text(sub->text_ctx, sub->topic_text, sub->text.text, sub->text.length);
	return true;
}

/* Decodes the message of take_message(); true if the caller gets it. */
static bool
accept_frame(struct bus_sub *sub, struct tele_frame *frame)
{
	const uint8_t *bytes = bus_part_bytes(&sub->body);
	size_t n = bus_part_size(&sub->body);
	struct err err;
	int error = tele_decode(bytes, n, frame, &err);

	if (error == -EPROTONOSUPPORT) {
		sub->counts.foreign++;
		if (!sub->is_foreign_told)
			log_warn("bus", "%s", err.text);
		sub->is_foreign_told = true;
		return false;
	}
	if (error < 0 || !is_under_its_topic(sub, frame)) {
		sub->counts.damaged++;
		return false;
	}
	sub->counts.frames++;
	sub->counts.bytes += n;
	return seq_note(sub->sequences, frame, NULL) != SEQ_REPEAT;
}

int
bus_sub_frame(struct bus_sub *sub, struct tele_frame *frame, const uint8_t **ret_bytes,
	      size_t *ret_n)
{
	for (;;) {
		int result = take_message(sub);

		if (result == -EBADMSG) {
			sub->counts.damaged++;
			continue;
		}
		if (result <= 0)
			return result;
		if (take_text(sub) || !accept_frame(sub, frame))
			continue;
		if (ret_bytes) {
			*ret_bytes = bus_part_bytes(&sub->body);
			*ret_n = bus_part_size(&sub->body);
		}
		return 1;
	}
}

int
bus_sub_wait(struct bus_sub *sub, int64_t timeout_ns)
{
	return bus_socket_wait(&sub->socket, timeout_ns);
}

static void
serve(void *ctx)
{
	serve_others(ctx);
}

void
bus_sub_join(struct bus_sub *sub, struct loop *loop, void (*ready)(void *ctx),
	     void *ctx)
{
	bus_watch_join(&sub->watch, loop, &sub->context, serve, sub);
	bus_watch_socket(&sub->watch, &sub->socket, ready, ctx);
}
