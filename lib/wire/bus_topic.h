/* SPDX-License-Identifier: Apache-2.0 */
/* bus_topic.h - topics: "s/HOST/"; the slash at the end keeps n1 from n10. */
#ifndef LIB_WIRE_BUS_TOPIC_H
#define LIB_WIRE_BUS_TOPIC_H

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/wire/tele.h"

#define BUS_MAX_TOPIC (TELE_MAX_NAME + 8) /* "pace/HOST/" is the longest. */

/* Bytes of a subscription; a longer one matches no topic. */
#define BUS_MAX_SUBSCRIPTION 128

/* Without a host: the prefix that all of the kind have.  Returns the length. */
static inline size_t
bus_topic(char ret_topic[BUS_MAX_TOPIC], uint8_t kind, const char *host)
{
	size_t n = host ? strnlen(host, TELE_MAX_NAME) : 0;

	BUG_ON(kind < TELE_SUMMARY || kind > TELE_LAST_KIND);
	ret_topic[0] = "srmp"[kind - TELE_SUMMARY];
	ret_topic[1] = '/';
	memcpy(ret_topic + 2, host ? host : "", n);
	n += 2;
	if (host)
		ret_topic[n++] = '/';
	ret_topic[n] = '\0';
	return n;
}

/* True if the topic has the form "PREFIXsomething/"; gets what stands there. */
static inline bool
bus_topic_rest(const char *topic, size_t n, const char *prefix,
	       char ret_rest[TELE_MAX_NAME + 1])
{
	size_t skip = strlen(prefix);

	if (n < skip + 2 || n - skip - 1 > TELE_MAX_NAME || topic[n - 1] != '/' ||
	    memcmp(topic, prefix, skip) != 0 || memchr(topic, 0, n))
		return false;
	memcpy(ret_rest, topic + skip, n - skip - 1);
	ret_rest[n - skip - 1] = '\0';
	return true;
}

/* The host in the topic of a frame of any kind, also of later versions. */
static inline bool
bus_topic_frame_host(const char *topic, size_t n, char ret_host[TELE_MAX_NAME + 1])
{
	char prefix[] = { n ? topic[0] : '/', '/', '\0' };

	return prefix[0] != '/' && prefix[0] &&
	       bus_topic_rest(topic, n, prefix, ret_host);
}

#endif
