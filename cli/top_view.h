/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_view.h - the content of 'antiphase top' as lines of text: which table, its
 * order, the chosen row.  Independent of the terminal.
 */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/live/contention.h"

struct jsonw;
struct screen;
struct strbuf;

enum top_table {
	TOP_LINKS,
	TOP_JOBS,
};

#define TOP_MAX_FILTER 63

struct top_view {
	enum top_table table;
	enum contention_sort sort;
	bool all;    /* Links that are not notable, too. */
	bool detail; /* Shows the details of the chosen row. */
	bool help;
	char filter[TOP_MAX_FILTER + 1]; /* Part of a name; empty: all. */
	size_t chosen;                   /* Row. */
	/* Its name when last shown: if rows move, the choice stays. */
	size_t named;
	char *name; /* Owned. */
};

/* Lines to be shown; those before 'n_fixed' do not scroll. */
struct top_lines {
	char **items; /* Owned. */
	size_t n, n_fixed;
	size_t chosen; /* Line of the chosen row; SIZE_MAX: none. */
	char **footer; /* Owned. */
	size_t n_footer;
	size_t n_rows; /* Of the table. */
};

/*
 * Makes the lines for 'columns'.  Unless view->chosen changed since the last call, it
 * follows the row that was chosen then.  Release with top_lines_fini().
 */
void top_view_lines(struct top_view *view, struct screen *screen, unsigned columns,
		    struct top_lines *ret_lines);
void top_lines_fini(struct top_lines *lines);
void top_view_fini(struct top_view *view);

/* The help text of '?'. */
extern const char *const top_help[];

/* Both tables, for scripts. */
void top_view_text(const struct top_view *view, struct screen *screen, unsigned columns,
		   struct strbuf *out);
/* Writes the keys of antiphase.top/1. */
void top_view_json(const struct top_view *view, struct screen *screen, struct jsonw *w);

#endif
