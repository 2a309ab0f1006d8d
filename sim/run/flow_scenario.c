/* SPDX-License-Identifier: Apache-2.0 */
/* flow_scenario.c - reads 'fabscn 1'; the input is hostile until checked. */
#include "sim/run/flow_scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

/* Largest sensible values; sums stay within int64_t and double. */
#define MAX_TIME_NS     ((int64_t)1000000000 * 86400 * 365)
#define MAX_BYTES       ((int64_t)1 << 53)
#define MAX_BYTES_PER_S ((int64_t)1 << 50)
#define MAX_ITERATIONS  1000000000
#define MAX_PATH_LINKS  256
/* The shortest possible lines: a count must not exceed what fits into the file. */
#define MIN_LINK_LINE 8  /* "L 0 1 a\n" */
#define MIN_JOB_LINE  12 /* "J 0 1 0 0 0\n" */
#define MIN_FLOW_LINE 10 /* "F 0 0 0 0\n" */
#define MIN_PATH_LINK 2  /* " 0" */

struct reader {
	const char *file;
	const char *at, *end;
	const char *line_start;
	unsigned line;
	struct err *err;
};

static int read_links(struct reader *r, struct flow_scenario *scenario);
static int read_jobs(struct reader *r, struct flow_scenario *scenario);

static unsigned
column(const struct reader *r)
{
	return (unsigned)(r->at - r->line_start) + 1;
}

/* ------ Words ------ */

static int
expect_end_of_line(struct reader *r)
{
	if (r->at < r->end && *r->at == '\r')
		r->at++;
	if (r->at == r->end)
		return 0; /* The last line may lack its newline. */
	if (*r->at != '\n')
		return err_set(r->err, r->file, r->line, column(r),
			       "unexpected text at the end of the line");
	r->at++;
	r->line++;
	r->line_start = r->at;
	return 0;
}

/* Checks for 'word' at the begin of a line. */
static int
expect_word(struct reader *r, const char *word, const char *shape)
{
	size_t length = strlen(word);

	if (r->at == r->end)
		return err_set(r->err, r->file, r->line, 0,
			       "the file ends here; a line '%s' is missing", shape);
	if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0 ||
	    (r->at + length < r->end && !memchr(" \r\n", r->at[length], 3)))
		return err_set(r->err, r->file, r->line, 1, "expected a line '%s'",
			       shape);
	r->at += length;
	return 0;
}

/* Reports a number that began at 'start'. */
static int
out_of_range(struct reader *r, const char *what, int64_t min, int64_t max,
	     const char *start)
{
	unsigned at_column = (unsigned)(start - r->line_start) + 1;

	if (min == max)
		return err_set(r->err, r->file, r->line, at_column, "%s must be %lld",
			       what, (long long)min);
	if (min > max)
		return err_set(r->err, r->file, r->line, at_column,
			       "%s: the file has none", what);
	return err_set(r->err, r->file, r->line, at_column,
		       "%s is out of range, expected %lld to %lld", what,
		       (long long)min, (long long)max);
}

/* Takes one space and a number within 'min' to 'max', called 'what'. */
static int
expect_number(struct reader *r, const char *what, int64_t min, int64_t max,
	      int64_t *ret_value)
{
	int64_t value = 0;
	const char *start;

	if (r->at == r->end || *r->at != ' ')
		return err_set(r->err, r->file, r->line, column(r),
			       "expected one space and %s, a whole number", what);
	start = ++r->at;
	while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
		value = value * 10 + (*r->at++ - '0');
		if (value > max)
			return out_of_range(r, what, min, max, start);
	}
	if (r->at == start)
		return err_set(r->err, r->file, r->line, column(r),
			       "expected %s, a whole number", what);
	if (value < min)
		return out_of_range(r, what, min, max, start);
	*ret_value = value;
	return 0;
}

/* As expect_number(), for a number of lines of at least 'min_line' bytes. */
static int
expect_count(struct reader *r, const char *what, size_t min_line, uint32_t *ret_n)
{
	int64_t value;
	unsigned at_column = column(r) + 1;
	/* The last line may lack its newline. */
	size_t can_follow = ((size_t)(r->end - r->at) + 1) / min_line;
	int error = expect_number(r, what, 0, UINT32_MAX / 8, &value);

	if (error)
		return error;
	if ((uint64_t)value > can_follow)
		return err_set(r->err, r->file, r->line, at_column,
			       "%s is %lld, but the file is too short for that", what,
			       (long long)value);
	*ret_n = (uint32_t)value;
	return 0;
}

static int
expect_id(struct reader *r, const char *what, uint32_t want)
{
	int64_t id;
	unsigned at_column = column(r) + 1;
	int error = expect_number(r, what, 0, INT64_MAX / 16, &id);

	if (error)
		return error;
	if (id != want)
		return err_set(r->err, r->file, r->line, at_column,
			       "%s is %lld, expected %u: ids count from 0", what,
			       (long long)id, want);
	return 0;
}

/* Takes one space and a name without spaces. */
static int
expect_name(struct reader *r)
{
	if (r->at == r->end || *r->at != ' ' || r->at + 1 == r->end ||
	    memchr(" \r\n", r->at[1], 3))
		return err_set(r->err, r->file, r->line, column(r),
			       "expected one space and a name");
	r->at++;
	while (r->at < r->end && !memchr(" \r\n", *r->at, 3))
		r->at++;
	return 0;
}

/* ------ The parts of the file ------ */

static int
read_count_line(struct reader *r, const char *word, const char *shape, size_t min_line,
		uint32_t *ret_n)
{
	int error = expect_word(r, word, shape);

	if (!error)
		error = expect_count(r, word, min_line, ret_n);
	return error ? error : expect_end_of_line(r);
}

static int
read_all(struct reader *r, struct flow_scenario *scenario)
{
	int64_t value;
	int error;

	if ((error = expect_word(r, "fabscn", "fabscn 1")) ||
	    (error = expect_number(r, "version", 1, 1, &value)) ||
	    (error = expect_end_of_line(r)) ||
	    (error = expect_word(r, "hosts", "hosts N")) ||
	    (error = expect_number(r, "hosts", 1, UINT32_MAX / 8, &value)) ||
	    (error = expect_end_of_line(r)))
		return error;
	scenario->n_hosts = (uint32_t)value;
	if ((error = read_links(r, scenario)) || (error = read_jobs(r, scenario)))
		return error;
	if (r->at != r->end)
		return err_set(r->err, r->file, r->line, 1,
			       "expected the end of the file after the last job");
	return 0;
}

int
flow_scenario_parse(const char *file, const char *text, size_t length,
		    struct flow_scenario **ret_scenario, struct err *err)
{
	struct reader r = { .file = file,
			    .at = text,
			    .end = text + length,
			    .line_start = text,
			    .line = 1,
			    .err = err };
	struct flow_scenario *scenario = xcalloc(1, sizeof *scenario);
	int error = read_all(&r, scenario);

	if (error) {
		flow_scenario_free(scenario);
		return error;
	}
	*ret_scenario = scenario;
	return 0;
}

void
flow_scenario_free(struct flow_scenario *scenario)
{
	if (!scenario)
		return;
	free(scenario->capacity_bps);
	free(scenario->jobs);
	free(scenario->flows);
	free(scenario->paths);
	free(scenario);
}

static int
read_links(struct reader *r, struct flow_scenario *scenario)
{
	int error = read_count_line(r, "links", "links M", MIN_LINK_LINE,
				    &scenario->n_links);

	if (error)
		return error;
	scenario->capacity_bps =
		xcalloc(scenario->n_links + 1, sizeof *scenario->capacity_bps);
	for (uint32_t l = 0; l < scenario->n_links; l++) {
		int64_t bytes_per_s;

		if ((error = expect_word(r, "L", "L id bytes_per_s name")) ||
		    (error = expect_id(r, "link id", l)) ||
		    (error = expect_number(r, "bytes_per_s", 1, MAX_BYTES_PER_S,
					   &bytes_per_s)) ||
		    (error = expect_name(r)) || (error = expect_end_of_line(r)))
			return error;
		scenario->capacity_bps[l] = (double)bytes_per_s * 8;
	}
	return 0;
}

/* Arrays that grow while flows are read; they end in struct flow_scenario. */
struct flow_store {
	VEC(struct flow_scenario_flow) flows;
	VEC(uint32_t) paths;
};

static int
read_flow(struct reader *r, const struct flow_scenario *scenario,
	  struct flow_store *store)
{
	int64_t src, dst, bytes, link;
	uint32_t n_links = 0;
	unsigned at_column;
	int error;

	if ((error = expect_word(r, "F", "F src dst bytes k link_1 ... link_k")) ||
	    (error = expect_number(r, "src", 0, scenario->n_hosts - 1, &src)) ||
	    (error = expect_number(r, "dst", 0, scenario->n_hosts - 1, &dst)) ||
	    (error = expect_number(r, "bytes", 0, MAX_BYTES, &bytes)))
		return error;
	at_column = column(r) + 1;
	if ((error = expect_count(r, "number of links", MIN_PATH_LINK, &n_links)))
		return error;
	if (n_links > MAX_PATH_LINKS)
		return err_set(r->err, r->file, r->line, at_column,
			       "number of links is more than %d", MAX_PATH_LINKS);
	vec_push(&store->flows,
		 ((struct flow_scenario_flow){ .src = (uint32_t)src,
					       .dst = (uint32_t)dst,
					       .bytes = bytes,
					       .first_link = (uint32_t)store->paths.n,
					       .n_links = n_links }));
	for (uint32_t i = 0; i < n_links; i++) {
		error = expect_number(r, "link", 0, (int64_t)scenario->n_links - 1,
				      &link);
		if (error)
			return error;
		vec_push(&store->paths, (uint32_t)link);
	}
	return expect_end_of_line(r);
}

static int
read_job(struct reader *r, const struct flow_scenario *scenario, uint32_t id,
	 struct flow_scenario_job *job, struct flow_store *store)
{
	int64_t n_iterations;
	int error;

	if ((error = expect_word(r, "J", "J id iters shift_ns compute_ns nflows")) ||
	    (error = expect_id(r, "job id", id)) ||
	    (error = expect_number(r, "iters", 1, MAX_ITERATIONS, &n_iterations)) ||
	    (error = expect_number(r, "shift_ns", 0, MAX_TIME_NS, &job->shift_ns)) ||
	    (error = expect_number(r, "compute_ns", 0, MAX_TIME_NS,
				   &job->compute_ns)) ||
	    (error = expect_count(r, "nflows", MIN_FLOW_LINE, &job->n_flows)) ||
	    (error = expect_end_of_line(r)))
		return error;
	job->n_iterations = (uint64_t)n_iterations;
	job->first_flow = (uint32_t)store->flows.n;
	for (uint32_t f = 0; f < job->n_flows; f++)
		if ((error = read_flow(r, scenario, store)))
			return error;
	return 0;
}

static int
read_jobs(struct reader *r, struct flow_scenario *scenario)
{
	struct flow_store store = { VEC_EMPTY, VEC_EMPTY };
	int error =
		read_count_line(r, "jobs", "jobs K", MIN_JOB_LINE, &scenario->n_jobs);

	if (error)
		return error;
	scenario->jobs = xcalloc(scenario->n_jobs + 1, sizeof *scenario->jobs);
	for (uint32_t j = 0; j < scenario->n_jobs && !error; j++)
		error = read_job(r, scenario, j, &scenario->jobs[j], &store);
	scenario->flows = store.flows.items;
	scenario->n_flows = (uint32_t)store.flows.n;
	scenario->paths = store.paths.items;
	scenario->n_path_links = (uint32_t)store.paths.n;
	return error;
}

/* ------ Into the engine ------ */

struct engine *
flow_scenario_new_engine(const struct flow_scenario *scenario, uint64_t max_iterations,
			 const struct engine_observer *observer)
{
	struct engine_config config = { .capacity_bps = scenario->capacity_bps,
					.n_links = scenario->n_links };
	bool *unmarked = xcalloc(scenario->n_links + 1, sizeof *unmarked);
	struct engine *engine;
	VEC(struct engine_flow) flows = VEC_EMPTY;

	if (observer)
		config.observer = *observer;
	for (uint32_t f = 0; f < scenario->n_flows; f++)
		if (scenario->flows[f].n_links)
			unmarked[scenario->paths[scenario->flows[f].first_link]] = true;
	config.measure_links = config.observer.on_sent != NULL;
	config.unmarked = unmarked;
	engine = engine_new(&config);
	free(unmarked);
	for (uint32_t j = 0; j < scenario->n_jobs; j++) {
		const struct flow_scenario_job *spec = &scenario->jobs[j];
		struct engine_segment segment = { .compute_ns = spec->compute_ns,
						  .flows_offset_ns = spec->compute_ns };
		struct engine_job job = { .segments = &segment,
					  .n_segments = 1,
					  .shift_ns = spec->shift_ns,
					  .stop_ns = ENGINE_NEVER,
					  .max_iterations = spec->n_iterations };
		uint32_t id;

		if (max_iterations && max_iterations < job.max_iterations)
			job.max_iterations = max_iterations;
		flows.n = 0;
		for (uint32_t i = 0; i < spec->n_flows; i++) {
			const struct flow_scenario_flow *flow =
				&scenario->flows[spec->first_flow + i];

			vec_push(&flows,
				 ((struct engine_flow){ .links = scenario->paths +
								 flow->first_link,
							.n_links = flow->n_links,
							.bytes = (double)flow->bytes,
							.weight = 1 }));
		}
		segment.flows = flows.items;
		segment.n_flows = (uint32_t)flows.n;
		if (engine_add_job(engine, &job, &id))
			BUG("a valid scenario is refused");
	}
	vec_free(&flows);
	return engine;
}
