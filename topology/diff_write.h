/* SPDX-License-Identifier: Apache-2.0 */
/* diff_write.h - the differences between plan and reports, as text and as JSON */
#ifndef TOPOLOGY_DIFF_WRITE_H
#define TOPOLOGY_DIFF_WRITE_H

#include <stdio.h>

struct diff;
struct diff_finding;
struct jsonw;
struct topo;

/* In the form of diff(1): '-' is the plan, '+' is the report; ends with a summary. */
void diff_write_text(const struct diff *diff, const struct topo *plan, FILE *out);

/* Writes members of antiphase.topology_diff/1 (docs/json.md) into the open object. */
void diff_json_members(const struct diff *diff, const struct topo *plan,
		       struct jsonw *w);
/* Writes the members of one element of its "differences". */
void diff_json_finding(const struct diff_finding *finding, struct jsonw *w);

#endif
