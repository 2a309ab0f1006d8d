/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_lldp.h - a reader of lldpd's neighbors, as 'lldpcli -f json0 show neighbors
 * details' prints them, or with -f json
 *
 * Of lldpcli's formats only json0 has the same shape for none, one and many neighbors:
 * everything is an array.  The text does not name the host that it is from.
 */
#ifndef TOPOLOGY_IN_LLDP_H
#define TOPOLOGY_IN_LLDP_H

#include <stddef.h>

struct err;
struct json;
struct json_doc;
struct observed_node;

#define LLDP_MAX_BYTES ((size_t)4 << 20) /* A thousand ports, all details. */

/*
 * Adds the neighbors in the text to 'report', which the caller has named, and sets
 * 'has_neighbours'.  Returns 0 or -EINVAL with 'err' filled.
 */
int lldp_read(const char *file, const char *text, size_t length,
	      struct observed_node *report, struct err *err);

/* The same of a value within a document: an object with the key "lldp". */
int lldp_read_value(const struct json_doc *doc, const struct json *value,
		    struct observed_node *report, struct err *err);

/* Bits per second of "10GbaseT - ..." or "1000BaseTFD - ..."; 0 if unknown. */
double lldp_mau_bps(const char *mau);

#endif
