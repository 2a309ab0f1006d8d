/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_text.h - the TCP flows of a host's jobs as JSON
 *
 *	{"schema":"antiphase.flows/1","host":"n1","range":"61000-61999","flows":[
 *	 {"job":"4711","source":"10.0.0.1:41000","destination":"10.0.1.1:5001",
 *	 "port":61007,"bytes":123456789,"opened":true}]}
 *
 * A collector that may move flows publishes it under "flow/HOST/": the flows that the
 * host sends, with the most bytes first, and the ports that may be wire ports there
 * (optional).  'port' is the source port on the wire, 'bytes' is what the other end has
 * acknowledged since the connection began.  'opened' (optional) says that a process of
 * the host has connected to this destination with a socket that had no port before, so
 * the next such connection can be given one (connect_text.h).  Pure.
 */
#ifndef LIB_WIRE_FLOW_TEXT_H
#define LIB_WIRE_FLOW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/port_translate.h"
#include "lib/base/vec.h"
#include "lib/wire/port_range.h"
#include "lib/wire/tele.h"

struct err;

#define FLOW_TOPIC "flow/"
#define FLOW_MAX   4096 /* In a text. */

struct flow_row {
	char job[TELE_MAX_NAME + 1];
	struct port_flow flow; /* True ports. */
	uint16_t port;         /* Network's order; the flow's own: not moved. */
	uint64_t bytes;
	bool is_opened;
};

struct flow_rows {
	char host[TELE_MAX_NAME + 1];
	struct port_range range; /* 0 to 0: unknown. */
	VEC(struct flow_row) rows;
};

/* One line.  At most FLOW_MAX rows; free with free(). */
char *flow_text_write(const struct flow_rows *rows);

/*
 * Replaces 'rows' by those of 'text', terminated, of 'n' bytes.  0, or -EINVAL with 'err'
 * filled and no rows.
 */
int flow_text_parse(const char *text, size_t n, struct flow_rows *rows,
		    struct err *err);
void flow_rows_fini(struct flow_rows *rows);

#endif
