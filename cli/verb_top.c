/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_top.c - 'antiphase top': links and jobs on the full screen.  The only file that
 * uses ncurses; top_view.h makes the content.
 */
#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/screen.h"
#include "cli/top_view.h"
#include "cli/verbs.h"
#include "lib/base/clk.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"

#define REFRESH_NS INT64_C(1000000000)
#define KEY_NS     INT64_C(100000000) /* Longest delay of a key press. */
#define MIN_ROWS   4
#define MIN_COLS   20
#define ESCAPE     27
/* More than any detail has. */
#define MAX_DETAIL_LINES 1000000

struct args {
	struct screen_opts screen;
	const char *sort;
	bool all, once, json;
};

struct terminal {
	SCREEN *screen; /* ncurses' own. */
	struct top_view view;
	size_t first; /* The first visible line of the scrolling part. */
	size_t first_detail;
	bool is_typing; /* The filter is being typed. */
	size_t n_rows;  /* At the last drawing. */
};

/* ---- Drawing --------------------------------------------------------------------- */

/*
 * Prints one line, cut to the width and at control characters, which would move the
 * cursor.
 */
static void
put_line(int row, const char *text, attr_t attributes)
{
	size_t length = 0;
	int column = 0;

	while (text[length] && column < COLS) {
		size_t n = utf8_length(text + length);

		if (!n || (unsigned char)text[length] < ' ')
			break;
		length += n;
		column++;
	}
	attrset(attributes);
	mvaddnstr(row, 0, text, (int)length);
	attrset(A_NORMAL);
	clrtoeol();
}

static void
draw_help(void)
{
	put_line(0, "antiphase top", A_BOLD);
	for (int i = 0; top_help[i] && i + 1 < LINES; i++)
		put_line(i + 1, top_help[i], A_NORMAL);
}

/* Draws the scrolling lines so that the chosen one is visible. */
static void
draw_body(struct terminal *t, const struct top_lines *lines, size_t room)
{
	size_t n_fixed = lines->n_fixed < room ? lines->n_fixed : room;
	size_t n = room - n_fixed, first;

	if (lines->chosen != SIZE_MAX && n > 0) {
		size_t at = lines->chosen - lines->n_fixed;

		if (at < t->first)
			t->first = at;
		if (at >= t->first + n)
			t->first = at - n + 1;
	}
	if (lines->chosen == SIZE_MAX) { /* Detail: do not scroll beyond its end. */
		size_t most = lines->n > room ? lines->n - room : 0;

		t->first_detail = t->first_detail < most ? t->first_detail : most;
		first = t->first_detail;
	} else {
		if (lines->n < room)
			t->first = 0;
		first = t->first;
	}
	for (size_t i = 0; i < n_fixed; i++)
		put_line((int)i, lines->items[i],
			 i + 1 == lines->n_fixed ? A_REVERSE : A_BOLD);
	for (size_t i = 0; i < n; i++) {
		size_t at = lines->n_fixed + first + i;

		if (at < lines->n)
			put_line((int)(n_fixed + i), lines->items[at],
				 at == lines->chosen ? A_STANDOUT : A_NORMAL);
	}
}

static void
draw(struct terminal *t, struct screen *screen)
{
	struct top_lines lines;
	size_t n_footer;

	erase();
	if (LINES < MIN_ROWS || COLS < MIN_COLS) {
		put_line(0, "too small", A_NORMAL);
		refresh();
		return;
	}
	if (t->view.help) {
		draw_help();
		refresh();
		return;
	}
	top_view_lines(&t->view, screen, (unsigned)COLS, &lines);
	t->n_rows = lines.n_rows;
	n_footer = lines.n_footer;
	if (n_footer > (size_t)LINES - 3)
		n_footer = (size_t)LINES - 3;
	draw_body(t, &lines, (size_t)LINES - n_footer - t->is_typing);
	for (size_t i = 0; i < n_footer; i++)
		put_line(LINES - (int)(n_footer - i), lines.footer[i], A_DIM);
	if (t->is_typing) {
		char prompt[TOP_MAX_FILTER + 2];

		snprintf(prompt, sizeof prompt, "/%s", t->view.filter);
		put_line(LINES - (int)n_footer - 1, prompt, A_BOLD);
	}
	refresh();
	top_lines_fini(&lines);
}

/* ---- Keys ------------------------------------------------------------------------ */

/* Forgets the previous choice. */
static void
choose_first(struct terminal *t)
{
	t->view.chosen = t->first = 0;
	t->view.named = SIZE_MAX;
}

static void
type_filter(struct terminal *t, int key)
{
	size_t length = strlen(t->view.filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ESCAPE)
		t->is_typing = false;
	else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && length)
		t->view.filter[length - 1] = '\0';
	else if (key >= ' ' && key < 127 && length < TOP_MAX_FILTER) {
		t->view.filter[length] = (char)key;
		t->view.filter[length + 1] = '\0';
	}
	choose_first(t);
}

/* Moves the choice by 'by' rows. */
static void
move_by(struct terminal *t, long by)
{
	long to = (long)t->view.chosen + by;

	if (to >= (long)t->n_rows)
		to = (long)t->n_rows - 1;
	t->view.chosen = to > 0 ? (size_t)to : 0;
}

/* Scrolls the detail. */
static void
read_on(struct terminal *t, int key, long page)
{
	long first = (long)t->first_detail;

	if (key == KEY_HOME)
		first = 0;
	else if (key == KEY_END)
		first = MAX_DETAIL_LINES; /* Drawing stops at the end. */
	else if (key == KEY_PPAGE || key == KEY_NPAGE)
		first += key == KEY_NPAGE ? page : -page;
	t->first_detail = first > 0 ? (size_t)first : 0;
}

static void
choose(struct terminal *t, int key)
{
	long page = LINES > 6 ? LINES - 5 : 1;

	if (t->view.detail && key != KEY_UP && key != KEY_DOWN) {
		read_on(t, key, page);
		return;
	}
	t->first_detail = 0;
	switch (key) {
	case KEY_UP:
		move_by(t, -1);
		break;
	case KEY_DOWN:
		move_by(t, 1);
		break;
	case KEY_PPAGE:
		move_by(t, -page);
		break;
	case KEY_NPAGE:
		move_by(t, page);
		break;
	case KEY_HOME:
		t->view.chosen = 0;
		break;
	case KEY_END:
		move_by(t, (long)t->n_rows);
		break;
	default:
		break;
	}
}

static void
set_sort(struct terminal *t, enum contention_sort sort)
{
	t->view.table = TOP_LINKS;
	t->view.sort = sort;
	choose_first(t);
}

/* Returns false to quit. */
static bool
take_key(struct terminal *t, int key)
{
	if (t->is_typing) {
		type_filter(t, key);
		return true;
	}
	if (t->view.help) { /* Any key leaves the help. */
		t->view.help = false;
		return key != 'q';
	}
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case '?':
	case 'h':
		t->view.help = true;
		break;
	case '/':
		t->is_typing = true;
		t->view.detail = false;
		t->view.filter[0] = '\0';
		break;
	case 'j':
	case '\t':
		t->view.table = t->view.table == TOP_LINKS ? TOP_JOBS : TOP_LINKS;
		t->view.detail = false;
		choose_first(t);
		break;
	case 'a':
		t->view.all = !t->view.all;
		break;
	case 'c':
		set_sort(t, CONTENTION_BY_CONTENTION);
		break;
	case 'p':
		set_sort(t, CONTENTION_BY_PEAK);
		break;
	case 'u':
		set_sort(t, CONTENTION_BY_UTIL);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		t->view.detail = !t->view.detail;
		t->first_detail = 0;
		break;
	case ESCAPE:
		t->view.detail = false;
		break;
	default:
		choose(t, key);
	}
	return true;
}

/* ---- The loop -------------------------------------------------------------------- */

/* Reads frames, or waits, for KEY_NS. */
static int
pause_for_frames(struct screen *screen, bool *is_at_end)
{
	int status = CLI_OK;

	if (*is_at_end) {
		napms((int)(KEY_NS / 1000000));
		return screen_is_interrupted() ? CLI_INTERRUPTED : CLI_OK;
	}
	status = screen_follow(screen, KEY_NS);
	if (status != CLI_NO)
		return status;
	*is_at_end = true;
	return CLI_OK;
}

static int
run_terminal(struct terminal *t, struct screen *screen)
{
	int64_t drawn_ns = 0;
	bool is_at_end = !screen->is_live;

	for (;;) {
		int64_t now_ns = clk_monotonic_ns();
		bool is_due = now_ns - drawn_ns >= REFRESH_NS;
		int key, status;

		while ((key = getch()) != ERR) {
			if (!take_key(t, key))
				return CLI_OK;
			is_due = true;
		}
		if (is_due) {
			draw(t, screen);
			drawn_ns = now_ns;
		}
		status = pause_for_frames(screen, &is_at_end);
		if (status != CLI_OK)
			return status;
	}
}

/* Messages on standard error would garble the screen: keep them until the end. */
static FILE *
hold_messages(int *ret_stderr)
{
	FILE *held = tmpfile();

	*ret_stderr = held ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
	if (*ret_stderr >= 0)
		dup2(fileno(held), STDERR_FILENO);
	return held;
}

static void
print_held_messages(FILE *held, int stderr_fd)
{
	char bytes[4096];
	size_t n;

	if (stderr_fd >= 0) {
		dup2(stderr_fd, STDERR_FILENO);
		close(stderr_fd);
	}
	if (!held)
		return;
	rewind(held);
	while ((n = fread(bytes, 1, sizeof bytes, held)) > 0)
		fwrite(bytes, 1, n, stderr);
	fclose(held);
}

static int
show_terminal(const struct args *args, struct screen *screen)
{
	struct terminal t = {
		.view = { .sort = (enum contention_sort)words_index(
				  args->sort, contention_sort_names),
			  .all = args->all },
	};
	FILE *held;
	int status, stderr_fd;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return cli_usage_error(
			&verb_top,
			"standard input and output are not a terminal; --once "
			"prints the tables");
	t.screen = newterm(NULL, stdout, stdin);
	if (!t.screen) {
		const char *term = getenv("TERM");

		return cli_usage_error(
			&verb_top,
			"unknown terminal type '%s'; --once prints the tables",
			term ? term : "");
	}
	held = hold_messages(&stderr_fd);
	screen_catch_signals();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	status = run_terminal(&t, screen);
	endwin();
	top_view_fini(&t.view);
	delscreen(t.screen);
	print_held_messages(held, stderr_fd);
	return status;
}

static int
show_once(const struct args *args, struct screen *screen)
{
	const struct top_view view = {
		.sort = (enum contention_sort)words_index(args->sort,
							  contention_sort_names),
		.all = args->all || args->json,
	};

	if (args->json) {
		struct jsonw w;

		jsonw_document(&w, stdout, "antiphase.top/1");
		top_view_json(&view, screen, &w);
		jsonw_end(&w);
		jsonw_finish(&w);
	} else {
		struct strbuf out = STRBUF_EMPTY;

		top_view_text(&view, screen, cli_columns(), &out);
		fwrite(out.text, 1, out.length, stdout);
		strbuf_free(&out);
	}
	return CLI_OK;
}

static int
run_top(int argc, char **argv)
{
	struct args args = { .sort = "contention" };
	const struct cli_opt opts[] = {
		CLI_OPT("sort", 's', CLI_WORDS, &args.sort, "BY",
			"sort order (default: contention)",
			.words = contention_sort_names),
		CLI_OPT("all", 'a', CLI_FLAG, &args.all, NULL,
			"also links without contention or high peaks"),
		CLI_OPT("once", 0, CLI_FLAG, &args.once, NULL,
			"print both tables once, for scripts"),
		SCREEN_OPTS(&args.screen),
		CLI_OPT("json", 'j', CLI_FLAG, &args.json, NULL,
			"print antiphase.top/1 once, with all links"),
		CLI_OPTS_END,
	};
	struct screen screen;
	int first = cli_parse(&verb_top, opts, argc, argv), status;
	bool is_once = args.once || args.json;

	if (first < 0)
		return cli_status(first);
	status = screen_open(&screen, &verb_top, &args.screen, !is_once);
	if (status == CLI_OK)
		status = screen_gather(&screen, 0);
	if (status == CLI_OK)
		status = is_once ? show_once(&args, &screen)
				 : show_terminal(&args, &screen);
	screen_close(&screen);
	return cli_finish(status);
}

const struct cli_verb verb_top = {
	.name = "top",
	.summary = "show links and jobs on the full screen",
	.usage = "[options]",
	.examples = "  antiphase top --fabric fabric.json\n"
		    "  antiphase top --once --from two-jobs.tele\n",
	.run = run_top,
	.operands = "",
};
