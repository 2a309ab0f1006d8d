/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/connect_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

/* What the scheduler offers for a job and a destination. */
struct offer {
	struct connect_message message;
	uint32_t job;                  /* Its number. */
	bool is_in[CONNECT_MAX_PORTS]; /* Put into the kernel, and not seen missing. */
	int64_t since_ns;              /* Of the last message. */
};

struct connect_ports {
	struct connect_ports_io io;
	struct port_range range;
	VEC(struct offer) offers;
	uint32_t last_job;
};

struct connect_ports *
connect_ports_new(const struct connect_ports_io *io, const struct port_range *range)
{
	struct connect_ports *ports = xcalloc(1, sizeof *ports);

	ports->io = *io;
	ports->range = *range;
	return ports;
}

void
connect_ports_free(struct connect_ports *ports)
{
	if (!ports)
		return;
	vec_free(&ports->offers);
	free(ports);
}

/* ---- Offers ---------------------------------------------------------------------- */

static bool
has_destination(const struct offer *offer, const struct connect_message *message)
{
	return offer->message.destination_port == message->destination_port &&
	       !memcmp(offer->message.destination, message->destination,
		       sizeof message->destination);
}

static struct offer *
find_offer(const struct connect_ports *ports, const struct connect_message *message)
{
	for (size_t i = 0; i < ports->offers.n; i++) {
		struct offer *offer = &ports->offers.items[i];

		if (has_destination(offer, message) &&
		    !strcmp(offer->message.job, message->job))
			return offer;
	}
	return NULL;
}

static struct connect_key
key_of(const struct offer *offer, size_t index)
{
	struct connect_key key = { .job = offer->job, .index = (uint32_t)index };

	memcpy(key.to.address, offer->message.destination, sizeof key.to.address);
	key.to.port = offer->message.destination_port;
	return key;
}

static bool
has_port(const struct connect_message *message, uint16_t port)
{
	for (size_t i = 0; i < message->n_ports; i++)
		if (message->ports[i] == port)
			return true;
	return false;
}

/* Another job has the port for the same destination. */
static bool
is_of_another(const struct connect_ports *ports, const struct offer *offer,
	      uint16_t port)
{
	for (size_t i = 0; i < ports->offers.n; i++) {
		const struct offer *other = &ports->offers.items[i];

		if (other != offer && has_destination(other, &offer->message) &&
		    has_port(&other->message, port))
			return true;
	}
	return false;
}

/*
 * Puts the ports into the kernel that no connection has.  One that is missing for the
 * first time may be just about to be bound, so it is looked at again the next time.
 */
static void
put_free(struct connect_ports *ports, struct offer *offer)
{
	for (size_t i = 0; i < offer->message.n_ports; i++) {
		struct connect_key key = key_of(offer, i);
		uint16_t port = offer->message.ports[i];

		if (offer->is_in[i])
			offer->is_in[i] = ports->io.has(ports->io.ctx, &key);
		else if (!is_of_another(ports, offer, port) &&
			 !ports->io.is_port_used(ports->io.ctx, port))
			offer->is_in[i] = ports->io.put(ports->io.ctx, &key, port) == 0;
	}
}

static void
remove_all(struct connect_ports *ports, struct offer *offer)
{
	for (size_t i = 0; i < offer->message.n_ports; i++) {
		struct connect_key key = key_of(offer, i);

		ports->io.remove(ports->io.ctx, &key);
		offer->is_in[i] = false;
	}
}

static void
drop_offer(struct connect_ports *ports, struct offer *offer)
{
	size_t index = (size_t)(offer - ports->offers.items);

	remove_all(ports, offer);
	ports->offers.n--;
	memmove(offer, offer + 1, (ports->offers.n - index) * sizeof *offer);
}

static bool
is_same(const struct connect_message *a, const struct connect_message *b)
{
	return a->n_ports == b->n_ports &&
	       !memcmp(a->ports, b->ports, a->n_ports * sizeof *a->ports);
}

static struct offer *
add_offer(struct connect_ports *ports, const struct connect_message *message)
{
	struct offer offer = { .message = *message };

	offer.job = connect_ports_job(ports, message->job);
	if (!offer.job)
		offer.job = ++ports->last_job;
	vec_push(&ports->offers, offer);
	return &ports->offers.items[ports->offers.n - 1];
}

int
connect_ports_take(struct connect_ports *ports, int64_t now_ns,
		   const struct connect_message *message)
{
	struct offer *offer = find_offer(ports, message);

	for (size_t i = 0; i < message->n_ports; i++)
		if (!port_range_has(&ports->range, message->ports[i]))
			return -ERANGE;
	if (message->n_ports == 0) {
		if (offer)
			drop_offer(ports, offer);
		return 0;
	}
	if (!offer && ports->offers.n >= CONNECT_MAX_OFFERS)
		return -E2BIG;
	if (!offer)
		offer = add_offer(ports, message);
	if (!is_same(&offer->message, message))
		remove_all(ports, offer);
	offer->message = *message;
	offer->since_ns = now_ns;
	return 0;
}

void
connect_ports_tick(struct connect_ports *ports, int64_t now_ns)
{
	size_t i = 0;

	while (i < ports->offers.n) {
		struct offer *offer = &ports->offers.items[i];

		if (now_ns - offer->since_ns >= CONNECT_KEEP_NS) {
			drop_offer(ports, offer);
			continue;
		}
		put_free(ports, offer);
		i++;
	}
}

uint32_t
connect_ports_job(const struct connect_ports *ports, const char *job)
{
	for (size_t i = 0; i < ports->offers.n; i++)
		if (!strcmp(ports->offers.items[i].message.job, job))
			return ports->offers.items[i].job;
	return 0;
}

void
connect_ports_each(const struct connect_ports *ports,
		   void (*found)(void *ctx, const struct connect_message *offer),
		   void *ctx)
{
	for (size_t i = 0; i < ports->offers.n; i++) {
		const struct offer *offer = &ports->offers.items[i];
		struct connect_message left = offer->message;

		left.n_ports = 0;
		for (size_t k = 0; k < offer->message.n_ports; k++) {
			struct connect_key key = key_of(offer, k);

			if (ports->io.has(ports->io.ctx, &key))
				left.ports[left.n_ports++] = offer->message.ports[k];
		}
		found(ctx, &left);
	}
}

size_t
connect_ports_n(const struct connect_ports *ports)
{
	return ports->offers.n;
}
