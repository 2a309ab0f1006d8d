/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/jobs_print.h"
#include "cli/links_print.h"
#include "cli/screen.h"
#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

#define INDENT 2 /* Of the lines of a detail view. */

const char *const top_help[] = {
	"q            quit",
	"j, Tab       jobs, or links",
	"c  p  u      links by contention, peak, utilization",
	"a            all links, or those with OVER > 0 or PEAK > 70 %",
	"/            show only names that contain a text; Enter "
	"ends, empty shows all",
	"arrows, PgUp, PgDn, Home, End   choose a row",
	"Enter        the chosen link or job in detail; Esc goes back;",
	"             PgUp, PgDn, Home, End scroll, arrows show "
	"the next row's",
	"?            this help",
	NULL,
};

struct link_list {
	VEC(const struct contention_link *) links; /* Borrowed. */
};

struct job_list {
	VEC(const struct profiled_job *) jobs; /* Borrowed. */
};

static bool
is_wanted(const struct top_view *view, const char *name)
{
	return !view->filter[0] || strstr(name, view->filter);
}

static void
pick_links(const struct top_view *view, const struct contention *found,
	   struct link_list *list)
{
	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];

		bool is_read = view->detail && view->name &&
			       strcmp(view->name, link->name) == 0;

		if ((view->all || is_read || links_is_notable(link)) &&
		    is_wanted(view, link->name))
			vec_push(&list->links, link);
	}
}

static void
pick_jobs(const struct top_view *view, const struct screen *screen,
	  struct job_list *list)
{
	size_t n;
	const struct profiled_job *const *jobs =
		job_profiler_jobs(screen->profiler, &n);

	for (size_t i = 0; i < n; i++)
		if (is_wanted(view, live_job_name(screen->live, jobs[i]->job)))
			vec_push(&list->jobs, jobs[i]);
}

static const char *
row_name(const struct top_view *view, const struct screen *screen,
	 const struct link_list *links, const struct job_list *jobs, size_t row)
{
	if (view->table == TOP_LINKS)
		return links->links.items[row]->name;
	return live_job_name(screen->live, jobs->jobs.items[row]->job);
}

/* Follows the chosen row to its new position, and remembers its name. */
static void
follow(struct top_view *view, const struct screen *screen,
       const struct link_list *links, const struct job_list *jobs)
{
	size_t n = view->table == TOP_LINKS ? links->links.n : jobs->jobs.n;

	for (size_t i = 0; view->name && view->chosen == view->named && i < n; i++) {
		if (strcmp(row_name(view, screen, links, jobs, i), view->name) == 0) {
			view->chosen = i;
			break;
		}
	}
	if (view->chosen >= n)
		view->chosen = n ? n - 1 : 0;
	free(view->name);
	view->name =
		n ? xstrdup(row_name(view, screen, links, jobs, view->chosen)) : NULL;
	view->named = view->chosen;
}

void
top_view_fini(struct top_view *view)
{
	free(view->name);
	view->name = NULL;
}

/* Wraps lines longer than 'columns' between words, except sketches. */
static void
wrap(char *text, unsigned columns)
{
	size_t begin = 0, blank = 0, column = 0;

	for (size_t i = 0; text[i];
	     i += utf8_length(text + i) ? utf8_length(text + i) : 1) {
		if (text[i] == '\n') {
			begin = i + 1;
			column = 0;
			continue;
		}
		if (text[i] == ' ')
			blank = i;
		if (++column > columns && blank > begin + INDENT &&
		    text[begin + INDENT] != '|') {
			text[blank] = '\n';
			begin = blank + 1;
			column = i + 1 - begin;
		}
	}
}

/* Splits text into lines; '*ret_n' of them in a new array. */
static char **
split(const char *text, size_t *ret_n)
{
	VEC(char *) lines = VEC_EMPTY;

	while (*text) {
		size_t length = strcspn(text, "\n");

		vec_push(&lines, xstrndup(text, length));
		text += length + (text[length] == '\n');
	}
	*ret_n = lines.n;
	return lines.items;
}

/* ---- The screen ------------------------------------------------------------------ */

/* The title, then what follows it. */
static void
put_title(const struct top_view *view, size_t n, struct top_lines *lines)
{
	struct strbuf title = STRBUF_EMPTY;

	if (view->table == TOP_LINKS)
		strbuf_printf(&title, "antiphase top: %zu link%s by %s%s", n,
			      words_plural(n), contention_sort_names[view->sort],
			      view->all ? "" : " (a: all)");
	else
		strbuf_printf(&title, "antiphase top: %zu job%s", n, words_plural(n));
	if (view->filter[0])
		strbuf_printf(&title, ", with \"%s\"", view->filter);
	strbuf_puts(&title, "   ?: help");
	lines->items[0] = strbuf_steal(&title);
}

static void
put_table(struct top_view *view, char **table, size_t n, struct top_lines *lines)
{
	lines->items = xcalloc(n + 2, sizeof *lines->items);
	put_title(view, n, lines);
	for (size_t i = 0; i <= n; i++)
		lines->items[i + 1] = table[i];
	if (!table[0])
		lines->items[1] = xstrdup("");
	lines->n = n + 2;
	lines->n_fixed = 2;
	lines->n_rows = n;
	lines->chosen = n ? view->chosen + 2 : SIZE_MAX;
	free(table);
}

static void
put_detail(struct strbuf *text, struct top_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->items[i]);
	free(lines->items);
	lines->items = split(text->text, &lines->n);
	lines->n_fixed = 0;
	lines->chosen = SIZE_MAX;
}

void
top_view_lines(struct top_view *view, struct screen *screen, unsigned columns,
	       struct top_lines *ret_lines)
{
	struct strbuf footer = STRBUF_EMPTY, detail = STRBUF_EMPTY;
	struct link_list links = { .links = VEC_EMPTY };
	struct job_list jobs = { .jobs = VEC_EMPTY };
	struct contention found;

	*ret_lines = (struct top_lines){ 0 };
	screen_find(screen, view->sort, &found);
	if (view->table == TOP_LINKS) {
		pick_links(view, &found, &links);
		follow(view, screen, &links, &jobs);
		put_table(
			view,
			links_table(screen, links.links.items, links.links.n, columns),
			links.links.n, ret_lines);
		if (view->detail && links.links.n)
			links_detail(screen, &found, links.links.items[view->chosen],
				     &detail);
	} else {
		pick_jobs(view, screen, &jobs);
		follow(view, screen, &links, &jobs);
		put_table(view,
			  jobs_table(screen, jobs.jobs.items, jobs.jobs.n, columns),
			  jobs.jobs.n, ret_lines);
		if (view->detail && jobs.jobs.n)
			jobs_detail(screen, &found, jobs.jobs.items[view->chosen],
				    &detail);
	}
	if (detail.length) {
		wrap(detail.text, columns);
		put_detail(&detail, ret_lines);
	}
	screen_footer(screen, found.from_ms, found.to_ms, &footer);
	wrap(footer.text, columns);
	ret_lines->footer = split(footer.text, &ret_lines->n_footer);
	strbuf_free(&footer);
	strbuf_free(&detail);
	vec_free(&links.links);
	vec_free(&jobs.jobs);
	contention_fini(&found);
}

void
top_lines_fini(struct top_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->items[i]);
	for (size_t i = 0; i < lines->n_footer; i++)
		free(lines->footer[i]);
	free(lines->items);
	free(lines->footer);
	*lines = (struct top_lines){ 0 };
}

/* ---- For scripts ----------------------------------------------------------------- */

static void
add_lines(char **lines, size_t n, struct strbuf *out)
{
	for (size_t i = 0; i <= n; i++) {
		if (n)
			strbuf_printf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
}

void
top_view_text(const struct top_view *view, struct screen *screen, unsigned columns,
	      struct strbuf *out)
{
	struct link_list links = { .links = VEC_EMPTY };
	struct job_list jobs = { .jobs = VEC_EMPTY };
	struct contention found;

	screen_find(screen, view->sort, &found);
	pick_links(view, &found, &links);
	pick_jobs(view, screen, &jobs);
	add_lines(links_table(screen, links.links.items, links.links.n, columns),
		  links.links.n, out);
	strbuf_printf(out, "%zu of %zu links.\n\n", links.links.n, found.n_links);
	add_lines(jobs_table(screen, jobs.jobs.items, jobs.jobs.n, columns),
		  jobs.jobs.n, out);
	strbuf_printf(out, "%zu job%s.\n", jobs.jobs.n, words_plural(jobs.jobs.n));
	screen_footer(screen, found.from_ms, found.to_ms, out);
	vec_free(&links.links);
	vec_free(&jobs.jobs);
	contention_fini(&found);
}

void
top_view_json(const struct top_view *view, struct screen *screen, struct jsonw *w)
{
	struct status status;
	struct link_list links = { .links = VEC_EMPTY };
	struct job_list jobs = { .jobs = VEC_EMPTY };
	struct contention found;

	screen_find(screen, view->sort, &found);
	pick_links(view, &found, &links);
	pick_jobs(view, screen, &jobs);
	status = screen_status(screen);
	status_json_footer(&status, found.from_ms, found.to_ms, w);
	status_json_links(&status, links.links.items, links.links.n, w);
	status_json_jobs(&status, &found, jobs.jobs.items, jobs.jobs.n, w);
	vec_free(&links.links);
	vec_free(&jobs.jobs);
	contention_fini(&found);
}
