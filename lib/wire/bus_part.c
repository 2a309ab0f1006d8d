/* SPDX-License-Identifier: Apache-2.0 */
/* bus_part.c - parts of messages, and what ZeroMQ knows of their connections. */
#include <zmq.h>

#include "lib/wire/bus_socket.h"

_Static_assert(sizeof(zmq_msg_t) == sizeof(struct bus_part), "a part is a zmq_msg_t");

void
bus_part_init(struct bus_part *part)
{
	zmq_msg_init((zmq_msg_t *)part);
}

void
bus_part_fini(struct bus_part *part)
{
	zmq_msg_close((zmq_msg_t *)part);
}

int
bus_part_take(struct bus_socket *s, struct bus_part *part, bool *ret_has_more)
{
	zmq_msg_t *message = (zmq_msg_t *)part;

	if (zmq_msg_recv(message, s->zmq, ZMQ_DONTWAIT) < 0)
		return -zmq_errno();
	*ret_has_more = zmq_msg_more(message) != 0;
	return 0;
}

int
bus_part_pass(struct bus_socket *s, struct bus_part *part, bool has_more)
{
	int flags = ZMQ_DONTWAIT | (has_more ? ZMQ_SNDMORE : 0);

	return zmq_msg_send((zmq_msg_t *)part, s->zmq, flags) < 0 ? -zmq_errno() : 0;
}

void
bus_part_copy(struct bus_part *to, struct bus_part *from)
{
	zmq_msg_copy((zmq_msg_t *)to, (zmq_msg_t *)from);
}

const char *
bus_part_metadata(const struct bus_part *part)
{
	return zmq_msg_gets((const zmq_msg_t *)part, "Peer-Address");
}

int
bus_part_fd(const struct bus_part *part)
{
	return zmq_msg_get((const zmq_msg_t *)part, ZMQ_SRCFD);
}

const char *
bus_part_client_key(const struct bus_part *part)
{
	return zmq_msg_gets((const zmq_msg_t *)part, "User-Id");
}

const uint8_t *
bus_part_bytes(const struct bus_part *part)
{
	/* zmq_msg_data() does not change the message, but takes a non-const pointer. */
	return zmq_msg_data((zmq_msg_t *)(uintptr_t)part);
}

size_t
bus_part_size(const struct bus_part *part)
{
	return zmq_msg_size((const zmq_msg_t *)part);
}
