/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/coll_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/wire/pack.h"
#include "lib/wire/tele.h"

/* Offsets of the fields.  The magic number reads "apmk". */
#define MAGIC    UINT32_C(0x6b6d7061)
#define AT_MAGIC 0
#define AT_KIND  4 /* Version (2 bytes), source, flags. */
#define AT_PID   8
#define AT_ZERO  12
#define AT_BEGIN 16 /* 8 bytes each from here. */
#define AT_END   24
#define AT_BYTES 32
#define AT_LOST  40

#define FLAG_LAUNCH 0x1u

void
coll_event_encode(const struct coll_event *event, uint8_t bytes[COLL_EVENT_BYTES])
{
	uint32_t flags = event->is_launch ? FLAG_LAUNCH : 0;

	pack_u32_at(bytes + AT_MAGIC, MAGIC);
	pack_u32_at(bytes + AT_KIND,
		    COLL_EVENT_VERSION | (uint32_t)event->source << 16 | flags << 24);
	pack_u32_at(bytes + AT_PID, event->pid);
	pack_u32_at(bytes + AT_ZERO, 0);
	pack_u64_at(bytes + AT_BEGIN, (uint64_t)event->begin_ns);
	pack_u64_at(bytes + AT_END, (uint64_t)event->end_ns);
	pack_u64_at(bytes + AT_BYTES, event->bytes);
	pack_u64_at(bytes + AT_LOST, event->lost);
}

int
coll_event_decode(const uint8_t *bytes, size_t n, struct coll_event *ret_event)
{
	struct coll_event event;
	uint32_t kind, flags;

	if (n < AT_KIND + 4 || unpack_u32_at(bytes + AT_MAGIC) != MAGIC)
		return -EBADMSG;
	kind = unpack_u32_at(bytes + AT_KIND);
	if ((kind & 0xffff) != COLL_EVENT_VERSION)
		return -EPROTONOSUPPORT;
	flags = kind >> 24;
	if (n != COLL_EVENT_BYTES || flags & ~FLAG_LAUNCH ||
	    unpack_u32_at(bytes + AT_ZERO))
		return -EBADMSG;
	event = (struct coll_event){
		.source = (uint8_t)(kind >> 16),
		.is_launch = flags & FLAG_LAUNCH,
		.pid = unpack_u32_at(bytes + AT_PID),
		.begin_ns = (int64_t)unpack_u64_at(bytes + AT_BEGIN),
		.end_ns = (int64_t)unpack_u64_at(bytes + AT_END),
		.bytes = unpack_u64_at(bytes + AT_BYTES),
		.lost = unpack_u64_at(bytes + AT_LOST),
	};
	if (event.source > TELE_EVENT_NCCL)
		return -EBADMSG;
	/* Later times do not fit a frame. */
	if (event.begin_ns < 0 || event.end_ns < event.begin_ns ||
	    event.end_ns > TELE_MAX_NS)
		return -EBADMSG;
	*ret_event = event;
	return 0;
}

/* In place of the one there is. */
static int
make_socket(struct coll_event_sender *sender)
{
	if (sender->fd >= 0)
		close(sender->fd);
	sender->is_connected = false;
	sender->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return sender->fd < 0 ? -errno : 0;
}

int
coll_event_sender_init(struct coll_event_sender *sender, const char *path)
{
	*sender = (struct coll_event_sender){ .fd = -1 };
	if (!path)
		path = getenv(COLL_EVENT_PATH_ENV);
	if (!path || !*path)
		path = COLL_EVENT_DEFAULT_PATH;
	if (strlen(path) >= sizeof sender->path)
		return -ENAMETOOLONG;
	strcpy(sender->path, path);
	return make_socket(sender);
}

void
coll_event_sender_fini(struct coll_event_sender *sender)
{
	if (sender->fd >= 0)
		close(sender->fd);
	sender->fd = -1;
	sender->is_connected = false;
}

/* Connects if need be, and sends. */
static int
try_send(struct coll_event_sender *sender, const uint8_t bytes[COLL_EVENT_BYTES])
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (sender->fd < 0)
		return -EBADF;
	if (!sender->is_connected) {
		strcpy(to.sun_path, sender->path);
		if (connect(sender->fd, (const struct sockaddr *)&to, sizeof to) < 0)
			return -errno;
		sender->is_connected = true;
	}
	if (send(sender->fd, bytes, COLL_EVENT_BYTES, MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

/* Connects again, once, if the connection has ended: so it finds a restarted collector. */
int
coll_event_send(struct coll_event_sender *sender, const struct coll_event *event)
{
	struct coll_event copy = *event;
	uint8_t bytes[COLL_EVENT_BYTES];
	bool was_connected = sender->is_connected;
	int error;

	copy.lost += sender->lost;
	coll_event_encode(&copy, bytes);
	error = try_send(sender, bytes);
	if (was_connected && error < 0 && error != -EAGAIN && make_socket(sender) == 0)
		error = try_send(sender, bytes);
	if (error == 0)
		sender->sent++;
	else
		sender->lost++;
	return error;
}
