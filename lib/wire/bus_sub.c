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
#include "lib/wire/bus_inputs.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_speakers.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/seq.h"
#include "lib/wire/tele.h"

/* Frames of one peer that ZeroMQ may buffer. */
#define ROOM 10000

struct bus_sub {
	struct bus_context context;
	struct bus_inputs inputs;
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
open_sub(const char *const *endpoints, size_t n, const struct bus_inputs_opts *opts,
	 const struct bus_keys *keys, struct bus_sub **ret_sub, struct err *err)
{
	struct bus_sub *sub = xcalloc(1, sizeof *sub);
	int error;

	sub->sequences = seq_book_new();
	sub->text = (struct strbuf)STRBUF_EMPTY;
	bus_part_init(&sub->topic);
	bus_part_init(&sub->body);
	error = bus_context_init(&sub->context, keys, err);
	if (!error)
		error = bus_inputs_open(&sub->inputs, &sub->context, opts, endpoints, n,
					err);
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
	const struct bus_inputs_opts opts = {
		.type = ZMQ_SUB,
		.room = ROOM,
		.is_bound = is_bound,
		.has_frames = true,
	};

	return open_sub(endpoints, n, &opts, keys, ret_sub, err);
}

int
bus_sub_open_texts(const char *endpoint, const struct bus_keys *keys,
		   const char *prefix, struct bus_sub **ret_sub, struct err *err)
{
	const struct bus_inputs_opts opts = {
		.type = ZMQ_SUB,
		.room = ROOM,
		.max_bytes = BUS_MAX_TEXT,
	};
	int r = open_sub(&endpoint, 1, &opts, keys, ret_sub, err);

	return r < 0 ? r : bus_inputs_want(&(*ret_sub)->inputs, prefix, true);
}

int
bus_sub_want_texts(struct bus_sub *sub, const char *prefix, bool is_wanted)
{
	return bus_inputs_want(&sub->inputs, prefix, is_wanted);
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
		rc = bus_inputs_want(&sub->inputs, *prefixes, true);
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
	bus_inputs_close(&sub->inputs);
	bus_context_fini(&sub->context);
	seq_book_free(sub->sequences);
	free(sub);
}

const char *
bus_sub_endpoint(const struct bus_sub *sub)
{
	return bus_inputs_endpoint(&sub->inputs);
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
	struct bus_inputs_counts inputs;

	bus_inputs_serve(&sub->inputs);
	inputs = bus_inputs_counts(&sub->inputs);
	sub->counts.gaps = sequences->gaps;
	sub->counts.restarts = sequences->restarts;
	sub->counts.repeats = sequences->repeats;
	sub->counts.hosts = sequences->hosts;
	sub->counts.reconnects = inputs.reconnects;
	sub->counts.refused = inputs.refused;
	sub->counts.misnamed = inputs.misnamed;
	sub->counts.duplicates = inputs.duplicates;
	sub->counts.connections = inputs.connections;
	return &sub->counts;
}

/* ---- Subscriptions --------------------------------------------------------------- */

int
bus_sub_want(struct bus_sub *sub, uint8_t kind, const char *host, bool is_wanted)
{
	char topic[BUS_MAX_TOPIC];

	bus_topic(topic, kind, host);
	return bus_inputs_want(&sub->inputs, topic, is_wanted);
}

/* ---- Messages -------------------------------------------------------------------- */

static void
serve_others(struct bus_sub *sub)
{
	bus_context_serve(&sub->context);
	bus_inputs_serve(&sub->inputs);
}

/* Takes a message: 1; 0 without one; -EBADMSG if it does not have two parts. */
static int
take_message(struct bus_sub *sub)
{
	bool has_more;
	int error = bus_inputs_take(&sub->inputs, &sub->topic, &has_more);

	if (error == -EAGAIN) {
		serve_others(sub);
		return 0;
	}
	if (error < 0)
		return error;
	if (!has_more)
		return -EBADMSG;
	/* Messages are atomic: the other parts have arrived too. */
	error = bus_inputs_take(&sub->inputs, &sub->body, &has_more);
	if (error < 0)
		return error;
	if (!has_more)
		return 1;
	while (has_more && bus_inputs_take(&sub->inputs, &sub->body, &has_more) == 0)
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

/* With keys: the topic is one that the sender may use. */
static bool
may_send(struct bus_sub *sub)
{
	return !sub->inputs.speakers ||
	       bus_speakers_may_send(sub->inputs.speakers, &sub->topic,
				     bus_inputs_server(&sub->inputs),
				     (const char *)bus_part_bytes(&sub->topic),
				     bus_part_size(&sub->topic));
}

static bool
is_only_sender(struct bus_sub *sub, const struct tele_frame *frame)
{
	return !sub->inputs.speakers ||
	       bus_speakers_claim(sub->inputs.speakers, &sub->topic,
				  bus_inputs_server(&sub->inputs), frame->host,
				  frame->start_id);
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
	if (!is_only_sender(sub, frame))
		return false;
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
		if (!may_send(sub) || take_text(sub) || !accept_frame(sub, frame))
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
	return bus_inputs_wait(&sub->inputs, timeout_ns);
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
	bus_inputs_watch(&sub->inputs, &sub->watch, ready, ctx);
}
