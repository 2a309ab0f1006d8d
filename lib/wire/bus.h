/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus.h - frames and announcements over ZeroMQ
 *
 * Topics are "s/HOST/", "r/HOST/" and "m/HOST/" for summaries, raw series and collective
 * events.  Announcements are texts (JSON): "t/KIND" for changes of the topology,
 * "pace/HOST/" for orders, "port/ADDRESS/" for wire ports, "flow/HOST/" for flows,
 * "advice/JOB" for advice.  A publisher sees the subscriptions
 * (XPUB), so that raw series are made only on demand.
 *
 * Either side may bind and the other connect.  Without keys, a socket may bind and connect
 * only to loopback or ipc.  With keys (CURVE, RFC 26) both sides are
 * authenticated: the bound side accepts the public keys of its allow list and no others
 * (it rereads the list when it changes); the connecting side knows the other's public key,
 * 'servers/HOST.pub' or 'server.pub'.  Each key speaks for hosts that are named, and a
 * connection may use the topics of these hosts only (bus_speakers.h).
 *
 * Only bus_pub_wait() and bus_sub_wait() block (for programs without a loop of their own);
 * daemons join a loop (lib/daemon/loop.h).  At the high-water mark a publisher drops
 * frames, and the subscriber sees a gap in the sequence (seq.h).
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
struct loop;
struct seq_book;
struct tele_frame;

#define BUS_DEFAULT_ENDPOINT "tcp://127.0.0.1:7461"
#define BUS_DEFAULT_KEYS     "/etc/antiphase/keys"

/* ---- Publishing ---------------------------------------------------------------------- */

/* Frames that wait for a slow subscriber, each, before more are dropped. */
#define BUS_ROOM_HOST    64    /* A collector: about half a minute. */
#define BUS_ROOM_CLUSTER 20000 /* Many hosts in one publisher. */
#define BUS_ROOM_TOPICS  10000 /* Announcements. */

/*
 * Binds (or connects, to a proxy) to 'endpoint'.  'keys' is copied, or NULL.
 * Returns 0; -EACCES for an endpoint beyond this host without keys; -EADDRINUSE and
 * others with 'err' filled.  Room for BUS_ROOM_HOST frames.
 */
int bus_pub_open(const char *endpoint, bool is_bound, const struct bus_keys *keys,
		 struct bus_pub **ret_pub, struct err *err);
int bus_pub_open_room(const char *endpoint, bool is_bound, const struct bus_keys *keys,
		      unsigned room_frames, struct bus_pub **ret_pub, struct err *err);
/*
 * From now on nothing is dropped for a slow subscriber: publishing answers -EAGAIN
 * until there is room, to be tried again after bus_pub_wait().  For recordings.
 */
void bus_pub_set_lossless(struct bus_pub *pub);
/* Sends what is left for up to 200 ms.  Accepts NULL.  Before the loop is freed. */
void bus_pub_close(struct bus_pub *pub);

/* Encodes, and publishes under the topic of its kind and host.  0 or -errno. */
int bus_pub_frame(struct bus_pub *pub, const struct tele_frame *frame);
/* The same for a frame that is encoded already. */
int bus_pub_bytes(struct bus_pub *pub, uint8_t kind, const char *host,
		  const uint8_t *bytes, size_t n);
/* Publishes a text under a topic such as "t/plan"; a slow subscriber misses it. */
void bus_pub_text(struct bus_pub *pub, const char *topic, const char *text);
/* True if a subscriber wants this kind of frame of this host.  Handles subscriptions. */
bool bus_pub_is_wanted(struct bus_pub *pub, uint8_t kind, const char *host);
/* True if there is any subscription. */
bool bus_pub_is_heard(struct bus_pub *pub);

/* Handles subscriptions and connections now. */
void bus_pub_serve(struct bus_pub *pub);
/* From now on the loop does this when needed. */
void bus_pub_join(struct bus_pub *pub, struct loop *loop);
/* The same for so long, without a loop.  0 or -EINTR. */
int bus_pub_wait(struct bus_pub *pub, int64_t timeout_ns);

/* The bound endpoint, with the port for "tcp://127.0.0.1:*".  Borrowed. */
const char *bus_pub_endpoint(const struct bus_pub *pub);

struct bus_pub_counts {
	uint64_t frames, bytes; /* Handed to ZeroMQ, with or without subscribers. */
	uint64_t refused;       /* Connections that had a wrong key, or none. */
	uint64_t ended; /* For too many subscriptions, or too few descriptors. */
};
const struct bus_pub_counts *bus_pub_counts(struct bus_pub *pub);

/* ---- Subscribing --------------------------------------------------------------------- */

struct bus_counts {
	uint64_t frames, bytes;
	uint64_t gaps;       /* Frames missing from a sequence. */
	uint64_t damaged;    /* Messages that were no frame. */
	uint64_t foreign;    /* Of a version that is not understood. */
	uint64_t restarts;   /* A sender began anew. */
	uint64_t repeats;    /* Came twice, and were dropped once. */
	uint64_t reconnects; /* A connection was lost and came back. */
	uint64_t refused;    /* Connections that failed for a wrong key. */
	uint64_t misnamed;   /* Messages for hosts that their key does not speak for. */
	uint64_t duplicates; /* Frames of a second sender of a host; with keys. */
	uint32_t hosts;      /* Heard of. */
	uint32_t connections; /* That stand; of a bound socket, those ever made. */
};

/*
 * Whether the host of an endpoint has an address now: 0, or -EHOSTUNREACH with 'err'
 * filled.  Waits for the resolver.  A subscriber tries again by itself, and says nothing.
 */
int bus_endpoint_resolve(const char *endpoint, struct err *err);

/*
 * With keys, a publisher may name only the hosts that its key speaks for, and a host has one
 * sender (bus_speakers.h).  -EINVAL for a 'server.pub' without a list of hosts.
 */
int bus_sub_open(const char *const *endpoints, size_t n, bool is_bound,
		 const struct bus_keys *keys, struct bus_sub **ret_sub,
		 struct err *err);
/* For texts of at most BUS_MAX_TEXT bytes, under topics that begin with 'prefix'. */
int bus_sub_open_texts(const char *endpoint, const struct bus_keys *keys,
		       const char *prefix, struct bus_sub **ret_sub, struct err *err);
/* Asks for texts under more topics, or under these no longer.  0 or -errno. */
int bus_sub_want_texts(struct bus_sub *sub, const char *prefix, bool is_wanted);
/*
 * For a subscriber of frames: bus_sub_frame() also hands over texts under topics that
 * begin with one of 'prefixes' (borrowed; the last is NULL).  Topic and text are
 * terminated, and borrowed during the call.  0 or -errno.
 */
typedef void bus_text_fn(void *ctx, const char *topic, const char *text, size_t n);
int bus_sub_on_texts(struct bus_sub *sub, const char *const *prefixes,
		     bus_text_fn *on_text, void *ctx);
void bus_sub_close(struct bus_sub *sub); /* Accepts NULL. */

#define BUS_MAX_TEXT (8 << 20)

/* Asks for the frames of a kind: of one host, or of all (NULL). */
int bus_sub_want(struct bus_sub *sub, uint8_t kind, const char *host, bool is_wanted);

/*
 * Takes the next frame if one is there: 1, or 0 if none is, or -errno.  What is no
 * frame is counted and passed over.  'ret_bytes' (may be NULL) gets the encoded form,
 * borrowed until the next call.
 */
int bus_sub_frame(struct bus_sub *sub, struct tele_frame *frame,
		  const uint8_t **ret_bytes, size_t *ret_n);
/* The same for subscribers of other topics: any message of two parts, terminated. */
int bus_sub_message(struct bus_sub *sub, const char **ret_topic,
		    const uint8_t **ret_bytes, size_t *ret_n);
/* Waits until there may be one, at most so long. 1, 0, or -EINTR. */
int bus_sub_wait(struct bus_sub *sub, int64_t timeout_ns);
/* Calls 'ready' from 'loop' when there may be frames: take them until there is none. */
void bus_sub_join(struct bus_sub *sub, struct loop *loop, void (*ready)(void *ctx),
		  void *ctx);
const struct bus_counts *bus_sub_counts(struct bus_sub *sub);
/* What is missing, by host. */
const struct seq_book *bus_sub_sequences(const struct bus_sub *sub);
const char *bus_sub_endpoint(const struct bus_sub *sub); /* As bus_pub_endpoint(). */

/* ---- Between ------------------------------------------------------------------------- */

struct bus_proxy;

struct bus_proxy_counts {
	uint64_t frames, bytes; /* Passed on. */
	uint64_t refused;       /* Connections, of either side, with a wrong key. */
	uint64_t misnamed, duplicates; /* As of subscribers; not passed on. */
	uint64_t ended;                /* The same, for connections. */
};

/*
 * Passes everything that 'from' publish on to the subscribers of 'to', and their
 * subscriptions back: one for a rack, for example, so that the central receiver has
 * few connections.  'to' is bound; 'from' is connected to, or bound for publishers
 * that connect.  Plain XSUB and XPUB: frames are not looked into, only topics.  With keys
 * publishers may name only hosts of theirs; and if 'from' is bound, so that publishers
 * are on the allow list, so may subscribers.
 */
int bus_proxy_open(const char *const *from, size_t n, bool is_from_bound,
		   const char *to, const struct bus_keys *keys,
		   struct bus_proxy **ret_proxy, struct err *err);
void bus_proxy_close(struct bus_proxy *proxy); /* Accepts NULL. */
void bus_proxy_join(struct bus_proxy *proxy, struct loop *loop);
const struct bus_proxy_counts *bus_proxy_counts(struct bus_proxy *proxy);
const char *bus_proxy_endpoint(const struct bus_proxy *proxy); /* Of 'to'. */

/* ---- Keys ---------------------------------------------------------------------------- */

/*
 * A directory with 'self.key' (secret, 0600), 'self.pub', the keys of clients that may
 * connect, 'allow/NAME.pub', and of servers to connect to, 'servers/HOST.pub' or, for all
 * others, 'server.pub'.  A file has one key of 40 characters (Z85), or two: the old one and
 * the new one.  'NAME.hosts' beside it lists the hosts that it speaks for, by default NAME.
 */

/* What to do if there is a key of that name; a key is never replaced unasked. */
enum bus_keys_how {
	BUS_KEYS_FIRST,   /* -EEXIST. */
	BUS_KEYS_ALSO,    /* Keep it, as the old one of two; -ENOENT without one. */
	BUS_KEYS_REPLACE, /* Drop it; -ENOENT without one. */
};

/* Makes a pair; refuses to replace one (-EEXIST). */
int bus_keys_new(const char *directory, struct err *err);
/*
 * Makes the next pair, 'next.key' and 'next.pub', or finds the one that was made, and
 * returns its public key; bus_keys_rotated() puts it in the place of our own.
 */
int bus_keys_rotate(const char *directory, char ret_z85[41], struct err *err);
int bus_keys_rotated(const char *directory, struct err *err);
/*
 * Adds a public key (Z85 text) under a name to the allow list.  'hosts': names and patterns
 * divided by commas or blanks; NULL: as they are, or by default the name.  -EEXIST also
 * for a key that is there under another name.
 */
int bus_keys_allow(const char *directory, const char *name, const char *z85,
		   const char *hosts, enum bus_keys_how how, struct err *err);
/* The same for a server: of the endpoints with this host, or with NULL of all others. */
int bus_keys_server(const char *directory, const char *host, const char *z85,
		    const char *hosts, enum bus_keys_how how, struct err *err);
/* -EACCES for a secret that others can read; -EINVAL for a key with two names. */
int bus_keys_load(const char *directory, struct bus_keys **ret_keys, struct err *err);
void bus_keys_free(struct bus_keys *keys); /* Accepts NULL; wipes the secret. */

#endif
