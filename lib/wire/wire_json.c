/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/wire/wire_json.h"

#include <arpa/inet.h>
#include <errno.h>

#include "lib/base/address.h"
#include "lib/base/err.h"

int
wire_json_address(const struct json_doc *doc, const struct json *value,
		  uint8_t ret_address[16], struct err *err)
{
	const char *text;

	if (json_as_str(doc, value, &text, err) < 0)
		return -EINVAL;
	if (address_parse(text, ret_address) < 0)
		return json_fail(doc, value, err, "expected an address");
	return 0;
}

static int
get_address(const struct json_doc *doc, const struct json *object, const char *key,
	    uint8_t ret_address[16], struct err *err)
{
	const char *text;

	/* Fails if there is none. */
	if (json_get_str(doc, object, key, &text, err) < 0)
		return -EINVAL;
	return wire_json_address(doc, json_find(object, key), ret_address, err);
}

int
wire_json_ends(const struct json_doc *doc, const struct json *object,
	       uint8_t ret_source[16], uint8_t ret_destination[16], struct err *err)
{
	if (get_address(doc, object, "source", ret_source, err) < 0 ||
	    get_address(doc, object, "destination", ret_destination, err) < 0)
		return -EINVAL;
	if (address_is_ipv4(ret_source) != address_is_ipv4(ret_destination))
		return json_fail(doc, json_find(object, "destination"), err,
				 "the addresses are of two families");
	return 0;
}

int
wire_json_port(const struct json_doc *doc, const struct json *object, const char *key,
	       uint16_t *ret_port, struct err *err)
{
	int64_t port;

	if (json_get_int(doc, object, key, 1, UINT16_MAX, &port, err) < 0)
		return -EINVAL;
	*ret_port = htons((uint16_t)port);
	return 0;
}

int
wire_json_element(const struct json_doc *doc, const struct json *value, int max,
		  unsigned *ret_number, struct err *err)
{
	double number = json_number(value); /* NaN if it is none. */

	if (!(number >= 1 && number <= max) || number > (unsigned)number)
		return json_fail(doc, value, err, "expected an integer of 1 to %d",
				 max);
	*ret_number = (unsigned)number;
	return 0;
}
