/*
 * slurm.c - the driver for Slurm: looks at jobs, nodes and switches.
 *
 * A look is three commands at once, bounded in time each, and what they print is read
 * in steps: of 10,000 jobs it is megabytes.  While one hangs no other
 * look is begun, so that a slurmctld that does not answer costs three waiting
 * processes, and the loop nothing.
 */
#include "scheduler/slurm/slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/daemon/child.h"
#include "lib/daemon/loop.h"
#include "scheduler/slurm/slurm_priv.h"

#define MS ((int64_t)1000000)

/* However often it is poked, looks do not begin closer than this. */
#define LEAST_PAUSE_NS (100 * MS)

/* What a look printed is read in steps, so that others have their turn in between. */
#define READ_EVERY_NS MS

#define MAX_WORDS 16

extern char **environ;

/* ---- Commands -------------------------------------------------------------------- */

int
slurm_run(struct sched_driver *host, const char *program, const char *const *words,
	  const char *variable,
	  void (*done)(void *ctx, const struct child_result *result), void *ctx,
	  struct child **ret_child, struct err *err)
{
	const char *argv[MAX_WORDS + 2];
	char *path = host->bindir ? xasprintf("%s/%s", host->bindir, program)
				  : xstrdup(program);
	const struct child_opts opts = { .argv = argv,
					 .envp = host->env.items,
					 .timeout_ns = host->timeout_ns,
					 .max_bytes = SLURM_MAX_BYTES,
					 .done = done,
					 .ctx = ctx };
	size_t n = 0;
	int r;

	argv[n++] = path;
	while (*words) {
		BUG_ON(n > MAX_WORDS);
		argv[n++] = *words++;
	}
	argv[n] = NULL;
	/* The place of the variable is the last one before the end. */
	host->env.items[host->env.n - 2] = variable ? variable : "ANTIPHASE=1";
	r = child_start(host->loop, &opts, ret_child, err);
	if (r < 0)
		*ret_child = NULL;
	free(path);
	return r;
}

/*
 * Our environment without what would change the form of what Slurm prints, and with
 * what makes times readable whatever the zone is.
 */
static void
make_env(struct sched_driver *host)
{
	static const char *const unwanted[] = {
		"SQUEUE_", "SINFO_",          "SCONTROL_", "SLURM_TIME_FORMAT=",
		"TZ=",     "SLURM_CLUSTERS=", "LC_",       "LANG=",
		NULL,
	};
	static const char *const ours[] = { "TZ=UTC", "SLURM_TIME_FORMAT=standard",
					    "LC_ALL=C", NULL };

	for (char **at = environ; *at; at++) {
		bool is_wanted = true;

		for (size_t i = 0; unwanted[i]; i++)
			is_wanted &=
				strncmp(*at, unwanted[i], strlen(unwanted[i])) != 0;
		if (is_wanted)
			vec_push(&host->env, xstrdup(*at));
	}
	for (size_t i = 0; ours[i]; i++)
		vec_push(&host->env, xstrdup(ours[i]));
	vec_push(&host->env, NULL); /* For slurm_run(). */
	vec_push(&host->env, NULL);
}

/* ---- Looks ----------------------------------------------------------------------- */

void
slurm_draw_mark(char mark[SLURM_MARK_SIZE])
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		BUG("the kernel gives no random numbers: %s", strerror(errno));
	snprintf(mark, SLURM_MARK_SIZE, "~q%016llx~", (unsigned long long)random);
}

static bool
is_looking(const struct sched_driver *host)
{
	return host->look.n_open > 0 || host->on_read;
}

static void
forget_look(struct slurm_look *look)
{
	slurm_reader_free(look->reader);
	look->reader = NULL;
	sched_snapshot_fini(&look->snapshot);
	slurm_nodes_fini(&look->nodes);
	for (int i = 0; i < N_QUERIES; i++)
		strbuf_free(&look->queries[i].text);
}

static int
read_jobs(struct slurm_look *look)
{
	const struct strbuf *text = &look->queries[QUERY_JOBS].text;
	int r;

	if (!look->reader)
		look->reader = slurm_reader_new(text->text, text->length, look->mark,
						look->at_us);
	r = slurm_reader_step(look->reader, &look->why);
	if (r == 0)
		slurm_reader_take(look->reader, &look->snapshot);
	return r;
}

/* As slurm_reader_step(). */
static int
read_some(struct slurm_look *look)
{
	const struct strbuf *excluded = &look->queries[QUERY_EXCLUDED].text;
	const struct strbuf *nodes = &look->queries[QUERY_NODES].text;

	switch (look->reading) {
	case READ_JOBS:
		return read_jobs(look);
	case READ_EXCLUDED:
		return slurm_read_excluded(excluded->text, excluded->length,
					   &look->snapshot, &look->why);
	case READ_NODES:
		return slurm_read_nodes(nodes->text, nodes->length, &look->nodes,
					&look->why);
	default:
		return 0;
	}
}

static void look_soon(struct sched_driver *host);

static void
look_again(struct sched_driver *host)
{
	if (!host->is_wanted)
		return;
	host->is_wanted = false;
	look_soon(host);
}

static void
take_look(struct sched_driver *host)
{
	struct slurm_look *look = &host->look;

	slurm_nodes_take(&look->nodes, &look->snapshot);
	sched_snapshot_fini(&host->snapshot);
	slurm_nodes_fini(&host->nodes);
	host->snapshot = look->snapshot;
	host->nodes = look->nodes;
	look->snapshot = (struct sched_snapshot){ .n_jobs = 0 };
	look->nodes = (struct slurm_nodes){ .n = 0 };
	slurm_act_clean(host);
	forget_look(look);
	host->observer.snapshot(host->observer.ctx, &host->snapshot, NULL);
}

static void
fail_look(struct sched_driver *host)
{
	struct err why = host->look.why;

	forget_look(&host->look);
	host->observer.snapshot(host->observer.ctx, NULL, why.text);
}

static void
on_read(void *ctx, int64_t now_ns, int64_t missed)
{
	struct sched_driver *host = ctx;
	struct slurm_look *look = &host->look;
	int r;

	(void)now_ns;
	(void)missed;
	loop_part(host->loop, "host");
	r = read_some(look);
	if (r > 0)
		return;
	if (r == 0 && look->reading++ < READ_OVER)
		return;
	loop_remove(host->loop, host->on_read);
	host->on_read = NULL;
	if (r < 0)
		fail_look(host);
	else
		take_look(host);
	look_again(host);
}

/* All commands of the look have ended. */
static void
finish_look(struct sched_driver *host)
{
	struct slurm_look *look = &host->look;

	if (look->why.text[0]) {
		fail_look(host);
		look_again(host);
		return;
	}
	look->snapshot.at_us = look->at_us;
	look->reading = READ_JOBS;
	host->on_read = loop_every(host->loop, READ_EVERY_NS, on_read, host);
}

static void
query_done(struct slurm_query *query, const struct err *why)
{
	struct sched_driver *host = query->host;
	struct slurm_look *look = &host->look;

	query->child = NULL;
	if (why && !look->why.text[0])
		look->why = *why;
	if (--look->n_open == 0)
		finish_look(host);
}

static void
on_query(void *ctx, const struct child_result *result)
{
	struct slurm_query *query = ctx;

	if (!result->why)
		strbuf_add(&query->text, result->text, result->n);
	query_done(query, result->why);
}

/*
 * Starts the command of one query; what cannot be started ends at once.  Tasks of
 * arrays are told one by one ("-r"), since a placed one is not seen in the row of them
 * all.
 */
static void
start_query(struct sched_driver *host, enum slurm_query_kind kind)
{
	static const char *const jobs[] = { "-h", "-a", "-r", NULL };
	static const char *const excluded[] = {
		"-h", "-a", "-r", "-t", "PD", "-o", SLURM_EXCLUDED_FORMAT, NULL,
	};
	static const char *const nodes[] = { "-h", "-a", "-N", "-o", SLURM_NODES_FORMAT,
					     NULL };
	static const char *const *const words[] = { jobs, excluded, nodes };
	struct slurm_query *query = &host->look.queries[kind];
	struct strbuf variable = STRBUF_EMPTY;
	struct err err = { .line = 0 };

	*query = (struct slurm_query){ .host = host, .text = STRBUF_EMPTY };
	if (kind == QUERY_JOBS)
		slurm_jobs_format(host->look.mark, &variable);
	if (slurm_run(host, kind == QUERY_NODES ? "sinfo" : "squeue", words[kind],
		      variable.length ? variable.text : NULL, on_query, query,
		      &query->child, &err) < 0)
		query_done(query, &err);
	strbuf_free(&variable);
}

static void
start_look(struct sched_driver *host)
{
	struct slurm_look *look = &host->look;

	*look = (struct slurm_look){ .n_open = N_QUERIES,
				     .started_ns = clk_monotonic_ns(),
				     .at_us = clk_wall_us() };
	slurm_draw_mark(look->mark);
	for (int i = 0; i < N_QUERIES; i++)
		start_query(host, (enum slurm_query_kind)i);
}

/* One that does not even end when it is killed: Slurm's files are on a dead server. */
static void
tell_if_stuck(struct sched_driver *host, int64_t now_ns)
{
	struct slurm_look *look = &host->look;

	if (look->is_told || now_ns < look->started_ns + host->timeout_ns + 2000 * MS)
		return;
	look->is_told = true;
	host->observer.snapshot(host->observer.ctx, NULL,
				"Slurm's commands hang, and cannot be killed: is the "
				"file system of slurm.conf there?");
}

static void
on_poll(void *ctx, int64_t now_ns, int64_t missed)
{
	struct sched_driver *host = ctx;

	(void)missed;
	slurm_act_pump(host);
	if (host->look.n_open > 0)
		tell_if_stuck(host, now_ns);
	else if (!host->on_read)
		start_look(host);
}

static void
on_soon(void *ctx, int64_t now_ns, int64_t missed)
{
	struct sched_driver *host = ctx;

	(void)now_ns;
	(void)missed;
	loop_remove(host->loop, host->on_soon);
	host->on_soon = NULL;
	if (is_looking(host))
		host->is_wanted = true;
	else
		start_look(host);
}

/* As soon as the pause between looks allows. */
static void
look_soon(struct sched_driver *host)
{
	int64_t pause_ns = host->look.started_ns + LEAST_PAUSE_NS - clk_monotonic_ns();

	if (host->on_soon)
		return;
	host->on_soon =
		loop_every(host->loop, pause_ns > MS ? pause_ns : MS, on_soon, host);
}

void
sched_poll(struct sched_driver *host)
{
	if (is_looking(host))
		host->is_wanted = true;
	else
		look_soon(host);
}

/* ---- Switches -------------------------------------------------------------------- */

static void
on_topology(void *ctx, const struct child_result *result)
{
	struct sched_driver *host = ctx;
	struct strbuf conf = STRBUF_EMPTY;
	struct err why = { .line = 0 };
	bool is_ok = false;

	host->topology_child = NULL;
	if (result->why)
		why = *result->why;
	else
		is_ok = slurm_topology_conf(result->text, result->n, &conf, &why) == 0;
	host->topology_done(host->topology_ctx, is_ok ? conf.text : NULL,
			    is_ok ? NULL : why.text);
	strbuf_free(&conf);
}

int
sched_topology(struct sched_driver *host,
	       void (*done)(void *ctx, const char *text, const char *why), void *ctx)
{
	static const char *const words[] = { "show", "topology", NULL };

	if (host->topology_child)
		return -EBUSY;
	host->topology_done = done;
	host->topology_ctx = ctx;
	return slurm_run(host, "scontrol", words, NULL, on_topology, host,
			 &host->topology_child, NULL);
}

/* ---- Beginning and end ----------------------------------------------------------- */

const char *
sched_kind(const struct sched_driver *host)
{
	return host ? "slurm" : NULL;
}

static void
on_version(void *ctx, const struct child_result *result)
{
	struct sched_driver *host = ctx;

	host->version = result->why ? 0 : slurm_version(result->text);
}

/* Whether Slurm's commands are there, and which; they do not ask slurmctld for that. */
static int
find_version(struct sched_driver *host, struct err *err)
{
	char *path = xasprintf("%s%sscontrol", host->bindir ? host->bindir : "",
			       host->bindir ? "/" : "");
	const char *argv[] = { path, "-V", NULL };
	const struct child_opts opts = { .argv = argv,
					 .envp = host->env.items,
					 .timeout_ns = 2000 * MS,
					 .max_bytes = 4096,
					 .done = on_version,
					 .ctx = host };
	int r;

	host->env.items[host->env.n - 2] = NULL;
	r = child_run(&opts, err);
	free(path);
	if (r < 0) {
		err_append(err, host->bindir ? "; is slurm_bindir right?"
					     : "; say where by slurm_bindir");
		return r;
	}
	if (host->version && host->version < 2205)
		log_warn("slurm", "Slurm %u.%02u is older than what was tested (22.05)",
			 host->version / 100, host->version % 100);
	return 0;
}

int
slurm_open(struct loop *loop, const struct slurm_opts *opts,
	   const struct sched_observer *observer, struct sched_driver **ret_host,
	   struct err *err)
{
	struct sched_driver *host = xcalloc(1, sizeof *host);
	int r;

	host->loop = loop;
	host->observer = *observer;
	host->bindir = opts->bindir ? xstrdup(opts->bindir) : NULL;
	host->poll_ns = (opts->poll_ms ? opts->poll_ms : 1000) * MS;
	host->timeout_ns = (opts->timeout_ms ? opts->timeout_ms : 5000) * MS;
	make_env(host);
	r = find_version(host, err);
	if (r < 0) {
		sched_close(host);
		return r;
	}
	host->on_poll = loop_every(loop, host->poll_ns, on_poll, host);
	sched_poll(host);
	*ret_host = host;
	return 0;
}

unsigned
slurm_host_version(const struct sched_driver *host)
{
	return host->version;
}

void
sched_close(struct sched_driver *host)
{
	if (!host)
		return;
	if (host->on_poll)
		loop_remove(host->loop, host->on_poll);
	if (host->on_soon)
		loop_remove(host->loop, host->on_soon);
	if (host->on_read)
		loop_remove(host->loop, host->on_read);
	for (int i = 0; i < N_QUERIES; i++)
		child_free(host->look.queries[i].child);
	forget_look(&host->look);
	child_free(host->topology_child);
	slurm_act_close(host);
	sched_snapshot_fini(&host->snapshot);
	slurm_nodes_fini(&host->nodes);
	for (size_t i = 0; i + 2 < host->env.n; i++)
		free((char *)host->env.items[i]);
	vec_free(&host->env);
	free(host->bindir);
	free(host);
}
