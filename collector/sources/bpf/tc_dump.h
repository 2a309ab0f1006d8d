/* SPDX-License-Identifier: Apache-2.0 */
/* tc_dump.h - dumps of the kernel's queues and filters (rtnetlink) */
#ifndef COLLECTOR_SOURCES_BPF_TC_DUMP_H
#define COLLECTOR_SOURCES_BPF_TC_DUMP_H

#include <linux/rtnetlink.h>
#include <stdint.h>

/* Calls back for each message of the reply to a 'type' of request.  0, or -errno. */
int tc_dump(uint16_t type, const struct tcmsg *request,
	    void (*found)(void *ctx, const struct nlmsghdr *message), void *ctx);

#endif
