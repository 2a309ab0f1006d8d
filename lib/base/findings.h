/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - the result of checks: one line for each, with a remedy where one is needed
 *
 * A finding is OK, WARN (something works less well) or FAIL (something does not work).
 */
#ifndef LIB_BASE_FINDINGS_H
#define LIB_BASE_FINDINGS_H

#include <stddef.h>
#include <stdio.h>

struct jsonw;

enum finding_state {
	FINDING_OK,
	FINDING_WARN,
	FINDING_FAIL,
};

struct finding {
	enum finding_state state;
	const char *topic; /* Static: "kernel". */
	char *text;        /* Owned. */
	char *remedy;      /* Owned; NULL: none needed. */
};

/* A vector (vec.h); zeroed, it is empty. */
struct findings {
	struct finding *items;
	size_t n, capacity;
};

/* 'remedy' may be NULL. */
void findings_add(struct findings *findings, enum finding_state state,
		  const char *topic, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void findings_fini(struct findings *findings);

enum finding_state findings_worst(const struct findings *findings);
const char *finding_state_name(enum finding_state state); /* "OK", "WARN", "FAIL". */

/* A line for each, its remedy below it. */
void findings_print(const struct findings *findings, FILE *out);
/* The member "findings". */
void findings_json(const struct findings *findings, struct jsonw *w);

#endif
