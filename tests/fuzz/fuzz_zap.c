/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_zap.c - requests whether a key may connect (ZAP), as the parts of a message, each
 * after a byte that gives its length
 */
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_socket.h"
#include "tests/fuzz/fuzz.h"

#define MAX_PARTS  12
#define MAX_PART   512
#define ZAP_PARTS  8 /* With the empty one before them. */
#define MAX_IN_ZAP 256
/* Bytes of lengths above this one count five times, to reach beyond MAX_IN_ZAP. */
#define LONG_FROM 200
/* The key that may connect: all bytes are this one. */
#define KNOWN_BYTE 'k'

static struct bus_context context;
static void *asker;
static char folder[] = "/tmp/ap-fuzz-zap-XXXXXX";

struct parts {
	size_t n, sizes[MAX_PARTS];
	uint8_t bytes[MAX_PARTS][MAX_PART];
};

static int
remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status;
	(void)type;
	(void)at;
	return remove(path);
}

static void
end(void)
{
	zmq_close(asker);
	bus_context_fini(&context);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
open_once(void)
{
	char directory[sizeof folder + 8], z85[BUS_Z85_CHARS + 1];
	uint8_t known[BUS_KEY_BYTES];
	struct bus_keys *keys;
	struct err err;

	if (asker)
		return;
	memset(known, KNOWN_BYTE, sizeof known);
	BUG_ON(!zmq_z85_encode(z85, known, sizeof known));
	BUG_ON(!mkdtemp(folder));
	snprintf(directory, sizeof directory, "%s/keys", folder);
	BUG_ON(bus_keys_new(directory, &err) < 0 ||
	       bus_keys_allow(directory, "n1", z85, NULL, BUS_KEYS_FIRST, &err) < 0 ||
	       bus_keys_load(directory, &keys, &err) < 0 ||
	       bus_context_init(&context, keys, &err) < 0);
	bus_keys_free(keys);
	asker = zmq_socket(context.zmq, ZMQ_DEALER);
	BUG_ON(!asker || zmq_connect(asker, "inproc://zeromq.zap.01") < 0);
	atexit(end);
}

static void
ask(const uint8_t *data, size_t size, struct parts *sent)
{
	size_t at = 0;

	while (at < size && sent->n < MAX_PARTS) {
		size_t n = data[at++];

		if (n > LONG_FROM)
			n = LONG_FROM + 5 * (n - LONG_FROM);
		n = n < size - at ? n : size - at;
		sent->sizes[sent->n] = n;
		memcpy(sent->bytes[sent->n++], data + at, n);
		at += n;
	}
	for (size_t i = 0; i < sent->n; i++)
		BUG_ON(zmq_send(asker, sent->bytes[i], sent->sizes[i],
				i + 1 < sent->n ? ZMQ_SNDMORE : 0) < 0);
}

static bool
is_text(const struct parts *parts, size_t i, const char *text)
{
	return parts->sizes[i] == strlen(text) &&
	       memcmp(parts->bytes[i], text, parts->sizes[i]) == 0;
}

static bool
is_known(const struct parts *sent)
{
	if (sent->n != ZAP_PARTS || !is_text(sent, 6, "CURVE") ||
	    sent->sizes[7] != BUS_KEY_BYTES)
		return false;
	for (size_t i = 0; i < BUS_KEY_BYTES; i++)
		if (sent->bytes[7][i] != KNOWN_BYTE)
			return false;
	return true;
}

/* Takes the parts of one reply. */
static void
take(struct parts *got)
{
	int more = 1;
	size_t more_size = sizeof more;

	while (more) {
		int size = zmq_recv(asker, got->bytes[got->n], MAX_PART, ZMQ_DONTWAIT);

		if (size < 0)
			return;
		got->sizes[got->n++] = (size_t)size;
		BUG_ON(got->n == MAX_PARTS);
		zmq_getsockopt(asker, ZMQ_RCVMORE, &more, &more_size);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parts sent = { 0 }, got = { 0 };
	size_t n_id;

	open_once();
	ask(data, size, &sent);
	bus_context_serve(&context);
	take(&got);
	if (sent.n < 3) { /* It has no place for the answer. */
		BUG_ON(got.n);
		return 0;
	}
	n_id = sent.sizes[2] < MAX_IN_ZAP ? sent.sizes[2] : MAX_IN_ZAP;
	BUG_ON(got.n != 7 || got.sizes[0] || !is_text(&got, 1, "1.0"));
	BUG_ON(got.sizes[2] != n_id || memcmp(got.bytes[2], sent.bytes[2], n_id) != 0);
	BUG_ON(!is_text(&got, 3, is_known(&sent) ? "200" : "400"));
	BUG_ON((got.sizes[5] != 0) != is_known(&sent));
	return 0;
}
