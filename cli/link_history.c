/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/sort.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/live/contention.h"

/* Of a link in a step: the sum of 'n' shares of its capacity. */
struct cell {
	float sum;
	uint32_t n;
};

struct row {
	double capacity_bps;
	double carried;       /* Sum of all shares. */
	uint32_t n_contended; /* Seconds. */
	struct cell *cells;   /* Owned; LINK_HISTORY_MAX_COLUMNS. */
};

struct link_history {
	struct strtab *names; /* Owned. */
	VEC(struct row) rows; /* By number in 'names'. */
	int64_t from_ms, step_ms;
	uint32_t n_columns;
};

struct link_history *
link_history_new(void)
{
	struct link_history *history = xcalloc(1, sizeof *history);

	history->names = strtab_new();
	history->step_ms = LINK_HISTORY_STEP_MS;
	return history;
}

void
link_history_free(struct link_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->rows.n; i++)
		free(history->rows.items[i].cells);
	vec_free(&history->rows);
	strtab_free(history->names);
	free(history);
}

/* ---- Adding -------------------------------------------------------------------------- */

/* Makes one step of each two. */
static void
double_step(struct link_history *history)
{
	uint32_t half = (history->n_columns + 1) / 2;

	for (size_t i = 0; i < history->rows.n; i++) {
		struct cell *cells = history->rows.items[i].cells;

		for (uint32_t k = 0; k < history->n_columns; k++) {
			const struct cell cell = cells[k];

			cells[k] = (struct cell){ 0 };
			cells[k / 2].sum += cell.sum;
			cells[k / 2].n += cell.n;
		}
	}
	history->n_columns = half;
	history->step_ms *= 2;
}

/* The step that 'at_ms' is in, or -1 before the first. */
static int64_t
column_at(struct link_history *history, int64_t at_ms)
{
	if (history->n_columns == 0)
		history->from_ms = at_ms;
	if (at_ms < history->from_ms)
		return -1;
	while ((at_ms - history->from_ms) / history->step_ms >=
	       LINK_HISTORY_MAX_COLUMNS)
		double_step(history);
	return (at_ms - history->from_ms) / history->step_ms;
}

static struct row *
row_of(struct link_history *history, const char *name)
{
	uint32_t id = strtab_find(history->names, name);

	if (id != STRTAB_NONE)
		return &history->rows.items[id];
	if (history->rows.n == LINK_HISTORY_MAX_LINKS)
		return NULL;
	strtab_intern(history->names, name);
	vec_push(&history->rows, ((struct row){ 0 }));
	history->rows.items[history->rows.n - 1].cells =
		xcalloc(LINK_HISTORY_MAX_COLUMNS, sizeof(struct cell));
	return &history->rows.items[history->rows.n - 1];
}

void
link_history_add(struct link_history *history, const struct contention *found)
{
	int64_t column = column_at(history, found->to_ms);

	if (column < 0)
		return;
	if (column >= history->n_columns)
		history->n_columns = (uint32_t)column + 1;
	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];
		struct row *row;
		double share;

		if (link->capacity_bps <= 0 || link->now_bps < 0)
			continue;
		row = row_of(history, link->name);
		if (!row)
			continue;
		share = link->now_bps / link->capacity_bps;
		row->capacity_bps = link->capacity_bps;
		row->carried += share;
		row->n_contended += link->over_ms > 0;
		row->cells[column].sum += (float)share;
		row->cells[column].n++;
	}
}

/* ---- Writing ------------------------------------------------------------------------- */

/* The longest contended first, then those that carried most. */
static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a;
	const struct row *y = *(const struct row *const *)b;

	if (x->n_contended != y->n_contended)
		return x->n_contended < y->n_contended ? 1 : -1;
	if (x->carried < y->carried || x->carried > y->carried)
		return x->carried < y->carried ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void
write_row(const struct link_history *history, const struct row *row, struct jsonw *w)
{
	uint32_t id = (uint32_t)(row - history->rows.items);

	jsonw_object(w, NULL);
	jsonw_str(w, "link", strtab_name(history->names, id));
	jsonw_rounded(w, "capacity_bps", row->capacity_bps, 0);
	jsonw_int(w, "contended_us", (int64_t)row->n_contended * 1000000);
	jsonw_flat_array(w, "permille");
	for (uint32_t k = 0; k < history->n_columns; k++)
		if (row->cells[k].n)
			jsonw_int(w, NULL,
				  llround(1000.0 * (double)row->cells[k].sum /
					  row->cells[k].n));
		else
			jsonw_null(w, NULL);
	jsonw_end(w);
	jsonw_end(w);
}

void
link_history_json(const struct link_history *history, struct jsonw *w)
{
	VEC(const struct row *) rows = VEC_EMPTY;
	size_t n_written;

	for (size_t i = 0; i < history->rows.n; i++)
		vec_push(&rows, &history->rows.items[i]);
	sort_items(rows.items, rows.n, compare_rows);
	n_written =
		rows.n < LINK_HISTORY_MAX_WRITTEN ? rows.n : LINK_HISTORY_MAX_WRITTEN;
	jsonw_int(w, "from_us", 1000 * history->from_ms);
	jsonw_int(w, "step_us", 1000 * history->step_ms);
	jsonw_int(w, "left_out", (int64_t)(rows.n - n_written));
	jsonw_array(w, "links");
	for (size_t i = 0; i < n_written; i++)
		write_row(history, rows.items[i], w);
	jsonw_end(w);
	vec_free(&rows);
}
