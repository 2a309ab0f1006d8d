/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/bus_speakers.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"
#include "lib/wire/bus_connections.h"
#include "lib/wire/bus_keys.h"
#include "lib/wire/bus_socket.h"
#include "lib/wire/bus_topic.h"
#include "lib/wire/seq.h"

/* What is known of a connection. */
struct speaker {
	uint64_t generation; /* Of the keys, when the rest was found out. */
	bool is_known;       /* Its key is there. */
	bool is_for_all;     /* It may name every host. */
	char name[BUS_KEY_NAME + 1];
	char host[TELE_MAX_NAME + 1]; /* That it may name, and did last. */
};

/* The connection that a host's frames come on. */
struct holder {
	uint64_t connection, start_id;
	int fd;
	ino_t inode;
	int64_t heard_ns;
	char name[BUS_KEY_NAME + 1]; /* Of its key. */
};

struct bus_speakers {
	struct bus_context *context; /* Borrowed. */
	struct bus_connections connections;
	struct strtab *hosts;
	VEC(struct holder) holders; /* By the number of the host. */
	struct bus_speakers_counts counts;
	struct log_limit name_said, twice_said;
};

static void
forget(void *ctx, struct bus_connection *connection)
{
	(void)ctx;
	free(connection->of);
}

struct bus_speakers *
bus_speakers_new(struct bus_context *context)
{
	struct bus_speakers *speakers = xcalloc(1, sizeof *speakers);

	speakers->context = context;
	speakers->hosts = strtab_new();
	bus_connections_init(&speakers->connections, forget, NULL);
	return speakers;
}

void
bus_speakers_free(struct bus_speakers *speakers)
{
	if (!speakers)
		return;
	bus_connections_fini(&speakers->connections);
	strtab_free(speakers->hosts);
	vec_free(&speakers->holders);
	free(speakers);
}

void
bus_speakers_serve(struct bus_speakers *speakers)
{
	bus_connections_serve(&speakers->connections, speakers->context->keys,
			      clk_monotonic_ns());
}

const struct bus_speakers_counts *
bus_speakers_counts(const struct bus_speakers *speakers)
{
	return &speakers->counts;
}

/* ---- Names ----------------------------------------------------------------------- */

static const struct bus_known *
key_of(const struct bus_keys *keys, const struct bus_connection *connection,
       const char *server)
{
	return server ? bus_keys_server_key(keys, server, 0)
		      : bus_keys_client(keys, connection->key);
}

static struct speaker *
speaker_of(struct bus_speakers *speakers, struct bus_connection *connection,
	   const char *server)
{
	const struct bus_keys *keys = speakers->context->keys;
	struct speaker *speaker = connection->of;
	const struct bus_known *known;

	if (!speaker)
		connection->of = speaker = xcalloc(1, sizeof *speaker);
	if (speaker->generation == keys->generation)
		return speaker;
	known = key_of(keys, connection, server);
	*speaker = (struct speaker){ .generation = keys->generation,
				     .is_known = known != NULL,
				     .is_for_all = known &&
						   bus_known_speaks_for(known, NULL) };
	strcpy(speaker->name, !known ? "?" : *known->name ? known->name : "server");
	return speaker;
}

static bool
may_name(struct bus_speakers *speakers, struct bus_connection *connection,
	 const char *server, const char *host)
{
	struct speaker *speaker = speaker_of(speakers, connection, server);
	const struct bus_known *known;

	if (speaker->is_for_all || strcmp(speaker->host, host) == 0)
		return true;
	known = key_of(speakers->context->keys, connection, server);
	if (!known || !bus_known_speaks_for(known, host))
		return false;
	strcpy(speaker->host, host);
	return true;
}

static bool
is_of_an_address(const char *topic, size_t n)
{
	return (n > 5 && memcmp(topic, "port/", 5) == 0) ||
	       (n > 6 && memcmp(topic, "probe/", 6) == 0);
}

static void
refuse(struct bus_speakers *speakers, const struct bus_connection *connection,
       const char *topic, size_t n)
{
	const struct speaker *speaker = connection ? connection->of : NULL;
	const char *key = speaker ? speaker->name : "?";
	char shown[BUS_MAX_TOPIC];

	if (speaker && !speaker->is_known && connection->key[0])
		bus_connection_end(connection); /* The key was taken off the list. */
	if (n >= sizeof shown)
		n = sizeof shown - 1;
	memcpy(shown, topic, n);
	shown[n] = '\0';
	utf8_disarm(shown, 0);
	speakers->counts.misnamed++;
	log_limited(&speakers->name_said, clk_monotonic_ns(), LOG_LEVEL_WARN, "bus",
		    "%s: its key '%s' does not speak for '%s', so the message is "
		    "dropped; if it should, list the host in %s.hosts",
		    connection ? connection->metadata : "?", key, shown, key);
}

bool
bus_speakers_may_send(struct bus_speakers *speakers, struct bus_part *part,
		      const char *server, const char *topic, size_t n)
{
	struct bus_connection *connection =
		bus_connections_of(&speakers->connections, part, !server);
	char host[TELE_MAX_NAME + 1];
	const struct speaker *speaker;
	bool is_allowed = false;

	if (connection) {
		speaker = speaker_of(speakers, connection, server);
		if (speaker->is_for_all)
			is_allowed = true;
		else if (bus_topic_frame_host(topic, n, host) ||
			 bus_topic_rest(topic, n, "flow/", host) ||
			 bus_topic_rest(topic, n, "pace/", host))
			is_allowed = may_name(speakers, connection, server, host);
		else
			is_allowed = speaker->is_known && is_of_an_address(topic, n);
	}
	if (!is_allowed)
		refuse(speakers, connection, topic, n);
	return is_allowed;
}

/* ---- One sender of a host -------------------------------------------------------- */

/* NULL: there are too many hosts. */
static struct holder *
holder_of(struct bus_speakers *speakers, const char *host)
{
	uint32_t id = strtab_find(speakers->hosts, host);

	if (id == STRTAB_NONE && speakers->holders.n >= SEQ_MAX_SENDERS)
		return NULL;
	if (id == STRTAB_NONE)
		id = strtab_intern(speakers->hosts, host);
	if (id == speakers->holders.n)
		vec_push(&speakers->holders, (struct holder){ 0 });
	return &speakers->holders.items[id];
}

static bool
is_held_by_another(const struct holder *holder, const struct bus_connection *connection,
		   uint64_t start_id, int64_t now_ns)
{
	return holder->connection && holder->connection != connection->id &&
	       !(start_id && start_id == holder->start_id) &&
	       now_ns - holder->heard_ns < BUS_SPEAKER_HOLD_NS &&
	       bus_connection_stands(holder->fd, holder->inode);
}

bool
bus_speakers_claim(struct bus_speakers *speakers, struct bus_part *part,
		   const char *server, const char *host, uint64_t start_id)
{
	struct bus_connection *connection =
		bus_connections_of(&speakers->connections, part, !server);
	struct holder *holder = holder_of(speakers, host);
	int64_t now_ns = clk_monotonic_ns();
	const struct speaker *speaker;

	if (!connection)
		return false;
	if (!holder)
		return true;
	speaker = speaker_of(speakers, connection, server);
	if (is_held_by_another(holder, connection, start_id, now_ns)) {
		speakers->counts.duplicates++;
		log_limited(&speakers->twice_said, now_ns, LOG_LEVEL_WARN, "bus",
			    "%s: a second sender of host '%s' (keys '%s' and '%s'), "
			    "whose frames are dropped; give each host its own name",
			    connection->metadata, host, holder->name, speaker->name);
		return false;
	}
	holder->connection = connection->id;
	holder->start_id = start_id;
	holder->fd = connection->fd;
	holder->inode = connection->inode;
	holder->heard_ns = now_ns;
	strcpy(holder->name, speaker->name);
	return true;
}

/* ---- Subscribers ----------------------------------------------------------------- */

/* What is addressed to one host; frames are, where a proxy has many hosts. */
static const char *const host_prefixes[] = { "pace/", "flow/", "s/", "r/", "m/", "p/" };

#define N_ORDERS 1 /* Of them. */

bool
bus_may_hear(const struct bus_known *known, const char *prefix, size_t n,
	     bool is_strict)
{
	size_t n_prefixes =
		is_strict ? sizeof host_prefixes / sizeof *host_prefixes : N_ORDERS;

	if (bus_known_speaks_for(known, NULL))
		return true;
	for (size_t i = 0; i < n_prefixes; i++) {
		size_t length = strlen(host_prefixes[i]);
		char host[TELE_MAX_NAME + 1];

		if (memcmp(host_prefixes[i], prefix, n < length ? n : length) != 0)
			continue;
		if (!bus_topic_rest(prefix, n, host_prefixes[i], host) ||
		    !bus_known_speaks_for(known, host))
			return false;
	}
	return true;
}
