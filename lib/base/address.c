/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

_Static_assert(ADDRESS_TEXT_BYTES == INET6_ADDRSTRLEN, "room for any address");

bool
address_is_ipv4(const uint8_t address[16])
{
	return !memcmp(address, mapped, sizeof mapped);
}

int
address_parse(const char *text, uint8_t ret_address[16])
{
	uint8_t address[16];

	if (inet_pton(AF_INET, text, address + 12) == 1)
		memcpy(address, mapped, sizeof mapped);
	else if (inet_pton(AF_INET6, text, address) != 1 || address_is_ipv4(address))
		return -EINVAL;
	memcpy(ret_address, address, sizeof address);
	return 0;
}

const char *
address_write(const uint8_t address[16], char ret_text[ADDRESS_TEXT_BYTES])
{
	bool is_four = address_is_ipv4(address);
	const char *text =
		inet_ntop(is_four ? AF_INET : AF_INET6, address + (is_four ? 12 : 0),
			  ret_text, ADDRESS_TEXT_BYTES);

	BUG_ON(!text);
	return text;
}
