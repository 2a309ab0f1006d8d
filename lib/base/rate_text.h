/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate_text.h - rates as printed on a port: "100G", "61.2G", "850M".
 */
#ifndef LIB_BASE_RATE_TEXT_H
#define LIB_BASE_RATE_TEXT_H

struct strbuf;
struct table;

/* The text for a cell; "-" for a rate of 0 or less. */
void rate_cell(struct table *t, double bps);
void rate_add(struct strbuf *out, double bps);

#endif
