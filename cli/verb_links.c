/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_links.c - 'antiphase links': all links, contended ones first; 'antiphase link':
 * one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/collisions_print.h"
#include "cli/links_print.h"
#include "cli/screen.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "scheduler/live/live.h"
#include "topology/topo.h"

#define REFRESH_NS INT64_C(1000000000)

/* A burst of the host may end in the next millisecond. */
#define PEAK_ABOVE 1.1

static const char *const tiers[] = { "host", "up", "down", NULL };

struct args {
	struct screen_opts screen;
	const char *sort, *tier; /* NULL: any tier. */
	const char *link;        /* NULL: all. */
	bool all, watch;
	enum cli_json json;
};

/* Links selected from those found. */
struct picked {
	VEC(const struct contention_link *) links; /* Borrowed. */
	size_t n_of;                               /* Number of links found. */
};

/* ---- Picking --------------------------------------------------------------------- */

static bool
is_of_tier(const struct contention_link *link, const char *tier)
{
	if (!tier)
		return true;
	if (strcmp(tier, "host") == 0)
		return link->from_tier == 0 || link->to_tier == 0;
	return strcmp(tier, "up") == 0 ? link->to_tier > link->from_tier
				       : link->to_tier < link->from_tier;
}

static void
pick_all(const struct args *args, const struct contention *found, struct picked *picked)
{
	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];

		if (!is_of_tier(link, args->tier))
			continue;
		picked->n_of++;
		if (args->all || args->json || links_is_notable(link))
			vec_push(&picked->links, link);
	}
}

/* Whether 'name' is the link's name, or one of its ends ("leaf1:p3"). */
static bool
is_named(const struct contention_link *link, const char *name, bool is_prefix)
{
	const char *to = strchr(link->name, '>');
	size_t length = strlen(name), from = to ? (size_t)(to - link->name) : 0;

	if (is_prefix)
		return strncmp(link->name, name, length) == 0 ||
		       (to && strncmp(to + 1, name, length) == 0);
	return strcmp(link->name, name) == 0 || (to && strcmp(to + 1, name) == 0) ||
	       (from == length && strncmp(link->name, name, length) == 0);
}

/* The reverse link has the same name with its ends exchanged. */
static bool
is_same_cable(const struct contention_link *a, const struct contention_link *b)
{
	const char *to = strchr(a->name, '>');
	struct strbuf back = STRBUF_EMPTY;
	bool is_same;

	if (!to)
		return false;
	strbuf_printf(&back, "%s>%.*s", to + 1, (int)(to - a->name), a->name);
	is_same = strcmp(back.text, b->name) == 0;
	strbuf_free(&back);
	return is_same;
}

static void
pick_named(const struct contention *found, const char *name, bool is_prefix,
	   struct picked *picked)
{
	for (size_t i = 0; i < found->n_links; i++)
		if (is_named(&found->links[i], name, is_prefix))
			vec_push(&picked->links, &found->links[i]);
	/* A full name selects one direction; the other one goes with it. */
	for (size_t i = 0; i < found->n_links && picked->links.n == 1; i++)
		if (is_same_cable(picked->links.items[0], &found->links[i]))
			vec_push(&picked->links, &found->links[i]);
	if (picked->links.n > 1 && strcmp(picked->links.items[1]->name, name) == 0) {
		const struct contention_link *first = picked->links.items[1];

		picked->links.items[1] = picked->links.items[0];
		picked->links.items[0] = first;
	}
}

static int
fail_unknown(const struct contention *found, const char *name,
	     const struct picked *candidates)
{
	VEC(const char *) names = VEC_EMPTY;
	struct err err;

	err_set(&err, NULL, 0, 0, "no link '%s'", name);
	for (size_t i = 0; i < candidates->links.n && i < 8; i++)
		err_append(&err, "%s %s", i ? "," : "; it could be",
			   candidates->links.items[i]->name);
	for (size_t i = 0; i < found->n_links; i++)
		vec_push(&names, found->links[i].name);
	vec_push(&names, NULL);
	if (!candidates->links.n)
		err_suggest(&err, name, names.items);
	vec_free(&names);
	return cli_fail(-EINVAL, &err);
}

/* The two directions of one cable. */
static int
pick_link(const struct args *args, const struct contention *found,
	  struct picked *picked)
{
	pick_named(found, args->link, false, picked);
	if (picked->links.n == 0)
		pick_named(found, args->link, true, picked);
	if (picked->links.n == 0 || picked->links.n > 2 ||
	    (picked->links.n == 2 &&
	     !is_same_cable(picked->links.items[0], picked->links.items[1])))
		return fail_unknown(found, args->link, picked);
	picked->n_of = found->n_links;
	return CLI_OK;
}

/* ---- Showing -------------------------------------------------------------------- */

static void
show_json(const struct args *args, const struct screen *screen,
	  const struct contention *found, const struct picked *picked)
{
	const struct status status = screen_status(screen);
	struct jsonw w;

	if (args->json == CLI_JSON_LINES)
		jsonw_line(&w, stdout, "antiphase.links/1");
	else
		jsonw_document(&w, stdout, "antiphase.links/1");
	status_json_footer(&status, found->from_ms, found->to_ms, &w);
	status_json_links(&status, picked->links.items, picked->links.n, &w);
	collisions_json(screen, found, picked->links.items, picked->links.n, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* Names an interface whose traffic is on no link, and says what to do. */
static void
add_unattached(const struct screen *screen, const struct contention *found,
	       struct strbuf *out)
{
	const struct live_interface *first =
		live_interface(screen->live, found->first_unattached);
	uint32_t n_more = found->n_unattached - 1;

	strbuf_printf(out, "%s:%s", live_host(screen->live, first->host)->name,
		      first->name);
	if (n_more)
		strbuf_printf(out, " and %u other interface%s are", n_more,
			      words_plural(n_more));
	else
		strbuf_puts(out, " is");
	strbuf_puts(out,
		    " at no cable of the fabric: add the cable there, or leave the\n"
		    "interface out ('interface' of [source] on its host).\n");
}

/* A link of the fabric that its host measures above the capacity; NULL: none. */
static const struct contention_link *
find_queued(const struct contention *found)
{
	for (size_t i = 0; i < found->n_links; i++) {
		const struct contention_link *link = &found->links[i];

		if (link->basis != CONTENTION_COMPUTED && link->link != TOPO_NONE &&
		    link->from_tier == 0 && link->capacity_bps > 0 &&
		    link->peak_bps > PEAK_ABOVE * link->capacity_bps)
			return link;
	}
	return NULL;
}

/* Explains rates above the capacity, measured or computed. */
static void
add_too_much(const struct contention *found, struct strbuf *out)
{
	const struct contention_link *queued = find_queued(found);
	uint32_t n = found->n_overfull;

	if (queued) {
		strbuf_printf(out,
			      "PEAK of %s is above its capacity: the host\n"
			      "counts packets before its queue, which sends them "
			      "later; or the capacity is\n"
			      "stated too low.\n",
			      queued->name);
		return; /* This also goes for links computed from that. */
	}
	if (n)
		strbuf_printf(out,
			      "%u link%s a computed load above %s capacity, and no "
			      "flow has another path:\n"
			      "the capacity in the fabric is too low, or hosts count "
			      "packets before their queues.\n",
			      n, n == 1 ? " has" : "s have", n == 1 ? "its" : "their");
	n = found->n_impossible;
	if (n)
		strbuf_printf(out,
			      "%u link%s a computed load above %s capacity: flows take "
			      "other paths than\n"
			      "computed.  Counters of the switches would resolve "
			      "this.\n",
			      n, n == 1 ? " has" : "s have", n == 1 ? "its" : "their");
}

static void
add_fabric(const struct screen *screen, const struct contention *found,
	   struct strbuf *out)
{
	if (!screen->topo)
		strbuf_puts(out,
			    "No fabric is known (--fabric FILE): these are hosts' own "
			    "interfaces; links between\n"
			    "switches are missing.\n");
	if (found->n_unattached)
		add_unattached(screen, found, out);
	add_too_much(found, out);
	if (found->n_unplaced)
		strbuf_printf(out,
			      "%u job%s hosts that cannot reach each other on the "
			      "fabric.\n",
			      found->n_unplaced,
			      found->n_unplaced == 1 ? " has" : "s have");
}

static void
show_table(const struct args *args, const struct screen *screen,
	   const struct contention *found, const struct picked *picked,
	   struct strbuf *out)
{
	size_t n = picked->links.n;
	char **lines = links_table(screen, picked->links.items, n, cli_columns());

	for (size_t i = 0; i <= n; i++) {
		if (n)
			strbuf_printf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	if (args->all)
		strbuf_printf(out, "%zu link%s.\n", n, words_plural(n));
	else
		strbuf_printf(out,
			      "%zu of %zu links shown (OVER > 0 or PEAK > 70 %%)%s\n",
			      n, picked->n_of,
			      n < picked->n_of ? "; --all shows the rest." : ".");
	collisions_add_all(screen, found, picked->links.items, n, out);
	add_fabric(screen, found, out);
	screen_footer(screen, found->from_ms, found->to_ms, out);
}

static int
show(const struct args *args, struct screen *screen, bool is_first)
{
	struct picked picked = { .links = VEC_EMPTY };
	struct contention found;
	struct strbuf out = STRBUF_EMPTY;
	int status = CLI_OK;

	screen_find(
		screen,
		(enum contention_sort)words_index(args->sort, contention_sort_names),
		&found);
	if (args->link)
		status = pick_link(args, &found, &picked);
	else
		pick_all(args, &found, &picked);
	if (status == CLI_OK && args->json) {
		show_json(args, screen, &found, &picked);
	} else if (status == CLI_OK) {
		if (args->watch && isatty(STDOUT_FILENO))
			strbuf_puts(&out, "\033[H\033[J");
		else if (!is_first)
			strbuf_putc(&out, '\n');
		for (size_t i = 0; i < picked.links.n && args->link; i++)
			links_detail(screen, &found, picked.links.items[i], &out);
		if (args->link)
			screen_footer(screen, found.from_ms, found.to_ms, &out);
		else
			show_table(args, screen, &found, &picked, &out);
		fwrite(out.text, 1, out.length, stdout);
	}
	fflush(stdout);
	strbuf_free(&out);
	vec_free(&picked.links);
	contention_fini(&found);
	return status;
}

static int
watch(const struct args *args, struct screen *screen)
{
	bool is_first = true;
	int status = CLI_OK;

	screen_catch_signals();
	while (status == CLI_OK && !ferror(stdout)) {
		status = screen_follow(screen, REFRESH_NS);
		/* The last second of a recording may be incomplete. */
		if (status != CLI_OK && status != CLI_NO)
			break;
		if (live_span_ms(screen->live) == 0)
			continue;
		if (show(args, screen, is_first) != CLI_OK)
			return CLI_USAGE;
		is_first = false;
	}
	return status == CLI_NO ? is_first ? CLI_THIN : CLI_OK : status;
}

static int
run(const struct cli_verb *verb, const struct args *args)
{
	struct screen screen;
	int status = screen_open(&screen, verb, &args->screen, args->watch);

	if (status == CLI_OK && (screen.is_live || !args->watch))
		status = screen_gather(&screen, 0);
	if (status == CLI_OK)
		status = args->watch ? watch(args, &screen) : show(args, &screen, true);
	screen_close(&screen);
	return cli_finish(status);
}

static int
run_links(int argc, char **argv)
{
	struct args args = { .sort = "contention" };
	const struct cli_opt opts[] = {
		CLI_OPT("sort", 's', CLI_WORDS, &args.sort, "BY",
			"sort order (default: contention)",
			.words = contention_sort_names),
		CLI_OPT("tier", 't', CLI_WORDS, &args.tier, "TIER",
			"only links of hosts, or only links up or down",
			.words = tiers),
		CLI_OPT("all", 'a', CLI_FLAG, &args.all, NULL,
			"also links without contention or high peaks"),
		SCREEN_OPTS(&args.screen),
		CLI_OPT("watch", 'W', CLI_FLAG, &args.watch, NULL,
			"refresh every second"),
		CLI_OPT("json", 'j', CLI_JSON, &args.json, NULL,
			"print antiphase.links/1 with all links; =lines: one link per "
			"line"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_links, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (first < argc)
		return cli_usage_error(
			&verb_links,
			"unexpected operand '%s'; 'antiphase link %s' shows one link",
			argv[first], argv[first]);
	return run(&verb_links, &args);
}

static int
run_link(int argc, char **argv)
{
	struct args args = { .sort = "contention" };
	const struct cli_opt opts[] = {
		SCREEN_OPTS(&args.screen),
		CLI_OPT("watch", 'W', CLI_FLAG, &args.watch, NULL,
			"refresh every second"),
		CLI_OPT("json", 'j', CLI_JSON, &args.json, NULL,
			"print antiphase.links/1 with only this link; =lines: on one "
			"line"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_link, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	args.link = argv[first];
	return run(&verb_link, &args);
}

const struct cli_verb verb_links = {
	.name = "links",
	.summary = "show all links: load, peak, contending jobs",
	.usage = "[options]",
	.examples =
		"  antiphase links\n"
		"  antiphase links --from two-jobs.tele --fabric two-jobs-fabric.json\n"
		"  antiphase links --tier up --sort peak --all --watch\n",
	.run = run_links,
};

const struct cli_verb verb_link = {
	.name = "link",
	.summary = "show one link: its jobs, their overlap, the time each loses",
	.usage = "[options] LINK",
	.examples = "  antiphase link leaf0:p2 --from two-jobs.tele --fabric "
		    "two-jobs-fabric.json\n"
		    "  antiphase link 'leaf0:p2>spine0:p0' --watch\n",
	.run = run_link,
	.operands = "one LINK, such as leaf0:p4",
	.min_operands = 1,
	.max_operands = 1,
};
