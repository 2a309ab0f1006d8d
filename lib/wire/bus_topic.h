/* SPDX-License-Identifier: Apache-2.0 */
/* bus_topic.h - topics of frames: "s/HOST/"; the slash at the end keeps n1 from n10. */
#ifndef LIB_WIRE_BUS_TOPIC_H
#define LIB_WIRE_BUS_TOPIC_H

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

#endif
