/*
 * bus.h - frames over ZeroMQ: one publisher a host, any number of subscribers.
 *
 * Topics are "s/HOST", "r/HOST" and "m/HOST" for summaries, raw series and marks;
 * "t/" is for changes of the topology (JSON).  A publisher learns who subscribes
 * (XPUB), so that raw series are only made when somebody wants them.
 *
 * A socket without keys may only be bound to loopback or ipc.  With keys (CURVE,
 * RFC 26) both sides prove who they are: a publisher lets in the public keys of
 * its allow list and no others; a subscriber knows the publisher's public key.
 *
 * Nothing here blocks but bus_wait() (for programs without a loop of their own);
 * daemons put bus_fd()/sockets into lib/daemon/loop.h.  At the high-water mark a
 * publisher drops, and the subscriber sees a gap in the sequence.
 */
#ifndef LIB_WIRE_BUS_H
#define LIB_WIRE_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bus_keys;
struct bus_pub;
struct bus_sub;
struct err;
struct tele_frame;

#define BUS_DEFAULT_ENDPOINT "tcp://127.0.0.1:7461"

/* Publishing. */

/*
 * Binds (or connects, to a proxy) to 'endpoint'.  'keys' is borrowed or NULL.
 * Returns 0; -EACCES for an endpoint beyond loopback without keys; -EADDRINUSE and
 * others with 'err' filled.
 */
int bus_pub_open(const char *endpoint, bool is_bound, const struct bus_keys *keys,
		 struct bus_pub **ret_pub, struct err *err);
void bus_pub_close(struct bus_pub *pub); /* Sends what is left for up to 200 ms. */

/* Encodes, and publishes under the topic of its kind and host. */
int bus_pub_frame(struct bus_pub *pub, const struct tele_frame *frame);
/* The same for a frame that is encoded already. */
int bus_pub_bytes(struct bus_pub *pub, uint8_t kind, const char *host,
		  const uint8_t *bytes, size_t n);
/* True if somebody wants this kind of frame of this host. Handles subscriptions. */
bool bus_pub_is_wanted(struct bus_pub *pub, uint8_t kind, const char *host);

/* Subscribing. */

struct bus_counts {
	uint64_t frames, bytes;
	uint64_t gaps;       /* Frames missing from a sequence. */
	uint64_t damaged;    /* Frames that did not decode. */
	uint64_t foreign;    /* Of a version that is not understood. */
	uint64_t restarts;   /* A sender began anew. */
	uint64_t reconnects; /* A connection was lost and came back. */
};

/* With keys, the publisher has to be the one of 'server.pub'. */
int bus_sub_open(const char *const *endpoints, size_t n, bool is_bound,
		 const struct bus_keys *keys, struct bus_sub **ret_sub,
		 struct err *err);
void bus_sub_close(struct bus_sub *sub); /* Accepts NULL. */

/* Asks for the frames of a kind: of one host, or of all (NULL). */
int bus_sub_want(struct bus_sub *sub, uint8_t kind, const char *host, bool is_wanted);

/* Takes the next frame if one is there: 1, or 0 if none is, or -errno. */
int bus_sub_frame(struct bus_sub *sub, struct tele_frame *frame,
		  const uint8_t **ret_bytes, size_t *ret_n);
/* Waits until there may be one, at most so long. 1, 0, or -EINTR. */
int bus_sub_wait(struct bus_sub *sub, int64_t timeout_ns);
const struct bus_counts *bus_sub_counts(const struct bus_sub *sub);

/* Keys: a directory with 'self.key' (secret, 0600), 'self.pub', 'server.pub' and
 * 'allow/NAME.pub', one Z85 key a file. */

/* Makes a pair; refuses to replace one (-EEXIST). */
int bus_keys_new(const char *directory, struct err *err);
/* Adds a public key (Z85 text) under a name to the allow list. */
int bus_keys_allow(const char *directory, const char *name, const char *z85,
		   struct err *err);
int bus_keys_load(const char *directory, struct bus_keys **ret_keys, struct err *err);
void bus_keys_free(struct bus_keys *keys); /* Accepts NULL; wipes the secret. */

#endif
