/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_reply.h - replies of NETLINK_RDMA as a kernel would send them
 *
 * Written from include/uapi/rdma/rdma_netlink.h and nldev.c of Linux, not recorded: no
 * RDMA device was available.
 */
#ifndef TESTS_UNIT_RDMA_REPLY_H
#define TESTS_UNIT_RDMA_REPLY_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <string.h>

struct reply {
	uint8_t bytes[8192];
	size_t n, message; /* Length; offset of the message being written. */
};

static inline void
reply_begin(struct reply *r, int type, uint32_t sequence)
{
	struct nlmsghdr header = { .nlmsg_type = (uint16_t)type,
				   .nlmsg_seq = sequence };

	r->message = r->n;
	memcpy(r->bytes + r->n, &header, sizeof header);
	r->n += NLMSG_HDRLEN;
}

static inline void
reply_end(struct reply *r)
{
	uint32_t length = (uint32_t)(r->n - r->message);

	memcpy(r->bytes + r->message, &length, sizeof length);
}

static inline void
reply_put(struct reply *r, uint16_t type, const void *value, size_t n)
{
	struct nlattr attr = { (uint16_t)(NLA_HDRLEN + n), type };

	memcpy(r->bytes + r->n, &attr, sizeof attr);
	memcpy(r->bytes + r->n + NLA_HDRLEN, value, n);
	r->n += NLA_HDRLEN + ((n + 3) & ~(size_t)3);
}

static inline void
reply_u32(struct reply *r, uint16_t type, uint32_t value)
{
	reply_put(r, type, &value, sizeof value);
}

static inline size_t
reply_nest(struct reply *r, uint16_t type)
{
	size_t at = r->n;

	reply_put(r, (uint16_t)(type | NLA_F_NESTED), "", 0);
	return at;
}

static inline void
reply_nest_end(struct reply *r, size_t at)
{
	uint16_t length = (uint16_t)(r->n - at);

	memcpy(r->bytes + at, &length, sizeof length);
}

static inline void
reply_value(struct reply *r, const char *name, uint64_t value)
{
	size_t at = reply_nest(r, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);

	reply_put(r, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name, strlen(name) + 1);
	reply_put(r, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, &value, sizeof value);
	reply_nest_end(r, at);
}

/* The end of a dump, or the result of a request. */
static inline void
reply_done(struct reply *r, uint32_t sequence)
{
	int32_t none = 0;

	reply_begin(r, NLMSG_DONE, sequence);
	memcpy(r->bytes + r->n, &none, sizeof none);
	r->n += sizeof none;
	reply_end(r);
}

static inline void
reply_error(struct reply *r, uint32_t sequence, int32_t error)
{
	reply_begin(r, NLMSG_ERROR, sequence);
	memcpy(r->bytes + r->n, &error, sizeof error);
	r->n += sizeof error + NLMSG_HDRLEN;
	reply_end(r);
}

/* A device with two ports. */
static inline void
reply_device(struct reply *r, uint32_t sequence, uint32_t index, const char *name)
{
	reply_begin(r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET), sequence);
	reply_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	reply_put(r, RDMA_NLDEV_ATTR_DEV_NAME, name, strlen(name) + 1);
	reply_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	reply_end(r);
}

/* The congestion counters of a port. */
static inline void
reply_port(struct reply *r, uint32_t sequence, uint32_t device, uint32_t port,
	   uint64_t marked, uint64_t repeats)
{
	size_t nest;

	reply_begin(r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET),
		    sequence);
	reply_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	reply_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	nest = reply_nest(r, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	reply_value(r, "np_ecn_marked_roce_packets", marked);
	reply_value(r, "np_cnp_sent", marked / 2);
	reply_value(r, "packet_seq_err", repeats);
	reply_value(r, "local_ack_timeout_err", 1);
	reply_nest_end(r, nest);
	reply_end(r);
}

/* A counter set bound to the queue pairs of a process. */
static inline void
reply_bound(struct reply *r, uint32_t sequence, uint32_t device, uint32_t port,
	    uint32_t pid, uint64_t tx_bytes, uint64_t rx_bytes)
{
	size_t sets, set, values;

	reply_begin(r, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET),
		    sequence);
	reply_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, device);
	sets = reply_nest(r, RDMA_NLDEV_ATTR_STAT_COUNTER);
	set = reply_nest(r, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
	reply_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, port);
	reply_u32(r, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 5);
	reply_u32(r, RDMA_NLDEV_ATTR_RES_PID, pid);
	values = reply_nest(r, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	reply_value(r, "out_of_sequence", 3);
	reply_value(r, "rdma_tx_bytes", tx_bytes);
	reply_value(r, "rdma_rx_bytes", rx_bytes);
	reply_nest_end(r, values);
	reply_nest_end(r, set);
	reply_nest_end(r, sets);
	reply_end(r);
}

#endif
