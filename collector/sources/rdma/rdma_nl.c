/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/rdma/rdma_nl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

#define TYPE(command) (RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command))

/* ---- Requests ------------------------------------------------------------------ */

static void
begin(uint8_t *buffer, int command, int flags, uint32_t sequence)
{
	struct nlmsghdr header = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = (uint16_t)TYPE(command),
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = sequence,
	};

	memcpy(buffer, &header, sizeof header);
}

static void
put_u32(uint8_t *buffer, uint16_t type, uint32_t value)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + 4, .nla_type = type };
	struct nlmsghdr header;

	memcpy(&header, buffer, sizeof header);
	memcpy(buffer + header.nlmsg_len, &attr, sizeof attr);
	memcpy(buffer + header.nlmsg_len + NLA_HDRLEN, &value, sizeof value);
	header.nlmsg_len += NLA_HDRLEN + 4;
	memcpy(buffer, &header, sizeof header);
}

static size_t
length_of(const uint8_t *buffer)
{
	struct nlmsghdr header;

	memcpy(&header, buffer, sizeof header);
	return header.nlmsg_len;
}

size_t
rdma_nl_ask_devices(uint8_t *buffer, uint32_t sequence)
{
	begin(buffer, RDMA_NLDEV_CMD_GET, NLM_F_DUMP, sequence);
	return length_of(buffer);
}

size_t
rdma_nl_ask_port(uint8_t *buffer, uint32_t sequence, uint32_t device, uint32_t port)
{
	begin(buffer, RDMA_NLDEV_CMD_STAT_GET, NLM_F_ACK, sequence);
	put_u32(buffer, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	put_u32(buffer, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	return length_of(buffer);
}

size_t
rdma_nl_ask_bound(uint8_t *buffer, uint32_t sequence)
{
	begin(buffer, RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, sequence);
	put_u32(buffer, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	return length_of(buffer);
}

/* ---- Replies -------------------------------------------------------------------- */

/* The rest of a list of attributes. */
struct cursor {
	const uint8_t *at;
	size_t n;
};

struct attribute {
	uint16_t type;
	struct cursor value;
};

/* Reads the next attribute; false at the end, or if it is truncated. */
static bool
next_attribute(struct cursor *c, struct attribute *ret)
{
	struct nlattr attr;
	size_t step;

	if (c->n < sizeof attr)
		return false;
	memcpy(&attr, c->at, sizeof attr);
	if (attr.nla_len < NLA_HDRLEN || attr.nla_len > c->n)
		return false;
	ret->type = attr.nla_type & NLA_TYPE_MASK;
	ret->value = (struct cursor){ c->at + NLA_HDRLEN, attr.nla_len - NLA_HDRLEN };
	step = ((size_t)attr.nla_len + 3) & ~(size_t)3;
	if (step > c->n)
		step = c->n;
	c->at += step;
	c->n -= step;
	return true;
}

static bool
get_u32(struct cursor value, uint32_t *ret)
{
	if (value.n < sizeof *ret)
		return false;
	memcpy(ret, value.at, sizeof *ret);
	return true;
}

/* Copies a string, terminated or not; false if it does not fit or is empty. */
static bool
get_name(struct cursor value, char *ret, size_t size)
{
	size_t length = strnlen((const char *)value.at, value.n);

	if (length == 0 || length >= size)
		return false;
	memcpy(ret, value.at, length);
	ret[length] = '\0';
	return true;
}

/* A nest of STAT_HWCOUNTER_ENTRY; 'about' has device and process. */
static void
parse_values(struct cursor nest, const struct rdma_nl_counter *about,
	     const struct rdma_nl_handler *handler)
{
	struct attribute entry, item;

	while (next_attribute(&nest, &entry)) {
		struct rdma_nl_counter counter = *about;
		bool has_name = false, has_value = false;

		if (entry.type != RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
			continue;
		while (next_attribute(&entry.value, &item)) {
			if (item.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)
				has_name = get_name(item.value, counter.name,
						    sizeof counter.name);
			if (item.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE &&
			    item.value.n >= sizeof counter.value) {
				memcpy(&counter.value, item.value.at,
				       sizeof counter.value);
				has_value = true;
			}
		}
		if (has_name && has_value && handler->counter)
			handler->counter(handler->ctx, &counter);
	}
}

/* A nest of STAT_COUNTER_ENTRY: one counter set bound to queue pairs. */
static void
parse_bound(struct cursor nest, const struct rdma_nl_counter *about,
	    const struct rdma_nl_handler *handler)
{
	struct attribute entry, item;

	while (next_attribute(&nest, &entry)) {
		struct rdma_nl_counter bound = *about;
		struct cursor values = { NULL, 0 };

		if (entry.type != RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY)
			continue;
		while (next_attribute(&entry.value, &item)) {
			if (item.type == RDMA_NLDEV_ATTR_RES_PID)
				bound.has_pid = get_u32(item.value, &bound.pid);
			else if (item.type == RDMA_NLDEV_ATTR_STAT_COUNTER_ID)
				get_u32(item.value, &bound.id);
			else if (item.type == RDMA_NLDEV_ATTR_PORT_INDEX)
				get_u32(item.value, &bound.port);
			else if (item.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
				values = item.value;
		}
		parse_values(values, &bound, handler);
	}
}

static void
parse_device(struct cursor body, const struct rdma_nl_handler *handler)
{
	char name[RDMA_NL_MAX_NAME + 1] = "";
	uint32_t index = 0, n_ports = 0;
	bool has_index = false;
	struct attribute item;

	while (next_attribute(&body, &item)) {
		if (item.type == RDMA_NLDEV_ATTR_DEV_INDEX)
			has_index = get_u32(item.value, &index);
		else if (item.type == RDMA_NLDEV_ATTR_DEV_NAME)
			get_name(item.value, name, sizeof name);
		else if (item.type == RDMA_NLDEV_ATTR_PORT_INDEX)
			get_u32(item.value, &n_ports);
	}
	if (has_index && name[0] && handler->device)
		handler->device(handler->ctx, index, name, n_ports);
}

static void
parse_stat(struct cursor body, const struct rdma_nl_handler *handler)
{
	struct rdma_nl_counter about = { 0 };
	struct cursor values = { NULL, 0 }, bound = { NULL, 0 };
	struct attribute item;

	while (next_attribute(&body, &item)) {
		if (item.type == RDMA_NLDEV_ATTR_DEV_INDEX)
			get_u32(item.value, &about.device);
		else if (item.type == RDMA_NLDEV_ATTR_PORT_INDEX)
			get_u32(item.value, &about.port);
		else if (item.type == RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
			values = item.value;
		else if (item.type == RDMA_NLDEV_ATTR_STAT_COUNTER)
			bound = item.value;
	}
	parse_values(values, &about, handler);
	parse_bound(bound, &about, handler);
}

/* The kernel's result: 1 for success, or its negative errno. */
static int
parse_error(struct cursor body)
{
	int32_t error;

	if (body.n < sizeof error)
		return -EBADMSG;
	memcpy(&error, body.at, sizeof error);
	if (error > 0 || error < -4095)
		return -EBADMSG;
	return error < 0 ? error : 1;
}

int
rdma_nl_parse(const uint8_t *bytes, size_t n, uint32_t sequence,
	      const struct rdma_nl_handler *handler)
{
	while (n > 0) {
		struct nlmsghdr header;
		struct cursor body;
		size_t step;

		if (n < sizeof header)
			return -EBADMSG;
		memcpy(&header, bytes, sizeof header);
		if (header.nlmsg_len < sizeof header || header.nlmsg_len > n)
			return -EBADMSG;
		body = (struct cursor){ bytes + NLMSG_HDRLEN,
					header.nlmsg_len - NLMSG_HDRLEN };
		step = NLMSG_ALIGN(header.nlmsg_len) < n ? NLMSG_ALIGN(header.nlmsg_len)
							 : n;
		bytes += step;
		n -= step;
		if (header.nlmsg_seq != sequence)
			continue;
		if (header.nlmsg_type == NLMSG_DONE)
			return 1;
		if (header.nlmsg_type == NLMSG_ERROR)
			return parse_error(body);
		if (header.nlmsg_type == TYPE(RDMA_NLDEV_CMD_GET))
			parse_device(body, handler);
		else if (header.nlmsg_type == TYPE(RDMA_NLDEV_CMD_STAT_GET))
			parse_stat(body, handler);
	}
	return 0;
}
