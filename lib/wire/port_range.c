/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/port_range.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/err.h"

#define RESERVED "net.ipv4.ip_local_reserved_ports"

/* Reads digits and advances '*at'; false if there are none or too many. */
static bool
read_port(const char **at, uint16_t *ret_port)
{
	unsigned port = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++) {
		port = port * 10 + (unsigned)(**at - '0');
		if (port > UINT16_MAX)
			return false;
	}
	*ret_port = (uint16_t)port;
	return true;
}

/* "N" or "N-M", with N at most M. */
static bool
read_ports(const char **at, struct port_range *ret_range)
{
	struct port_range range;

	if (!read_port(at, &range.first))
		return false;
	range.last = range.first;
	if (**at == '-') {
		(*at)++;
		if (!read_port(at, &range.last))
			return false;
	}
	*ret_range = range;
	return range.first <= range.last;
}

static const char *
skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

bool
port_range_has(const struct port_range *range, uint16_t port)
{
	return ntohs(port) >= range->first && ntohs(port) <= range->last;
}

/* Chosen: of 1,000 ports 250 are for new connections. */
static unsigned
n_connect(const struct port_range *range)
{
	return (range->last - range->first + 1u) / 4;
}

struct port_range
port_range_wire(const struct port_range *range)
{
	return (struct port_range){ range->first,
				    (uint16_t)(range->last - n_connect(range)) };
}

struct port_range
port_range_connect(const struct port_range *range)
{
	unsigned n = n_connect(range);

	if (n == 0)
		return (struct port_range){ .first = 1, .last = 0 };
	return (struct port_range){ (uint16_t)(range->last - n + 1), range->last };
}

int
port_range_parse(const char *text, struct port_range *ret_range, struct err *err)
{
	struct port_range range;
	const char *at = text;

	if (!read_ports(&at, &range) || *at != '\0')
		return err_set(err, NULL, 0, 0,
			       "ports '%s': expected a range such as 61000-61999",
			       text);
	if (range.first < PORT_RANGE_MIN)
		return err_set(err, NULL, 0, 0, "ports '%s': must be %d or greater",
			       text, PORT_RANGE_MIN);
	*ret_range = range;
	return 0;
}

const char *
port_range_write(const struct port_range *range, char ret_text[PORT_RANGE_BYTES])
{
	snprintf(ret_text, PORT_RANGE_BYTES, "%u-%u", range->first, range->last);
	return ret_text;
}

/*
 * The kernel prints the list in order and without overlaps, but files of sysctl.d need
 * not be so: the scan starts again after each part that covers the first missing port.
 */
int
port_range_check(const struct port_range *range, const char *reserved, struct err *err)
{
	unsigned missing = range->first;
	const char *at = skip_space(reserved);
	struct port_range part;

	while (*at != '\0') {
		if (!read_ports(&at, &part))
			return err_set(err, NULL, 0, 0, RESERVED ": not a list: '%s'",
				       reserved);
		if (part.first <= missing && part.last >= missing) {
			missing = part.last + 1u;
			at = reserved;
		} else if (*at != '\0' && *at != ',' && !isspace((unsigned char)*at)) {
			return err_set(err, NULL, 0, 0, RESERVED ": not a list: '%s'",
				       reserved);
		}
		at = skip_space(at + (*at == ','));
	}
	if (missing > range->last)
		return 0;
	err_set(err, NULL, 0, 0,
		"port %u is not in " RESERVED "; run 'sysctl -w " RESERVED
		"=%u-%u' (with the ports that are there already)",
		missing, (unsigned)range->first, (unsigned)range->last);
	return -EADDRNOTAVAIL;
}
