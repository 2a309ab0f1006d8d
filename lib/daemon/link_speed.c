/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/link_speed.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

/* Three bit masks of link modes follow the settings; int8_t counts their words. */
#define MAX_MODE_WORDS (3 * INT8_MAX)

double
link_speed_bps(int fd, const char *name)
{
	union {
		struct ethtool_link_settings settings;
		char room[sizeof(struct ethtool_link_settings) +
			  MAX_MODE_WORDS * sizeof(uint32_t)];
	} query = { .settings.cmd = ETHTOOL_GLINKSETTINGS };
	struct ifreq request = { .ifr_data = (void *)&query };

	if (strlen(name) >= sizeof request.ifr_name)
		return 0;
	memcpy(request.ifr_name, name, strlen(name) + 1);
	/* The reply to a request without masks has their length, negated. */
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 ||
	    query.settings.link_mode_masks_nwords >= 0)
		return 0;
	query.settings.link_mode_masks_nwords =
		(int8_t)-query.settings.link_mode_masks_nwords;
	query.settings.cmd = ETHTOOL_GLINKSETTINGS;
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 || query.settings.speed > INT32_MAX)
		return 0;
	return query.settings.speed * 1e6;
}
