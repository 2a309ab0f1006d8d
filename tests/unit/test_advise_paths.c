/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/advice_prose.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/advise/advise.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* Two leaves of two hosts over two spines; a on h0 and h2, b on h1 and h3. */
static void
two_jobs(struct fixture *f, uint32_t n_connections)
{
	struct work_job *job;

	fixture_init(f, 2, 2, 2, 50e9);
	ON(fixture_job(f, "a", 2, 100000, 0.6, 50e9), 0, 2);
	job = fixture_job(f, "b", 2, 130000, 0.6, 50e9);
	ON(job, 1, 3);
	job->n_connections = n_connections;
}

/* True if the two flows from leaf 0 to leaf 1 share a link, given b's first port. */
static bool
collide(struct fixture *f, uint16_t port)
{
	uint32_t a[ROUTE_MAX_HOPS], b[ROUTE_MAX_HOPS];
	size_t n_a, n_b;

	assert_int_equal(routes_path(f->routes, 0, 2, 0, a, &n_a), 0);
	assert_int_equal(routes_path(f->routes, 1, 3, port, b, &n_b), 0);
	return a[1] == b[1];
}

static struct advice_set *
ask(struct fixture *f, unsigned levers)
{
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
				    .seed = 1,
				    .levers = levers };
	struct advice_set *set = NULL;

	assert_int_equal(advise(&f->workload, f->topo, f->routes, &opts, &set), 0);
	return set;
}

static bool
is_on(struct fixture *f, const struct advice_path *path, uint16_t port, uint32_t link)
{
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	assert_int_equal(routes_path(f->routes, path->source, path->destination, port,
				     links, &n),
			 0);
	for (size_t i = 0; i < n; i++)
		if (links[i] == link)
			return true;
	return false;
}

/*
 * Checks a job's chosen paths: the port takes the path, and the link that the flow
 * leaves is on its hashed one and has the other job.  Returns how many are chosen.
 */
static size_t
check_paths(struct fixture *f, const struct advice *advice)
{
	size_t n_chosen = 0;

	for (size_t i = 0; i < advice->n_paths; i++) {
		const struct advice_path *path = &advice->paths[i];
		uint32_t links[ROUTE_MAX_HOPS], by_port[ROUTE_MAX_HOPS], n_paths;
		size_t n, n_by_port;

		if (path->number == WORK_HASHED)
			continue;
		n_chosen++;
		assert_int_not_equal(path->port, 0);
		assert_int_equal(routes_numbered_path(
					 f->routes, path->source, path->destination,
					 path->port, path->number, links, &n, &n_paths),
				 0);
		assert_int_equal(routes_path(f->routes, path->source, path->destination,
					     path->port, by_port, &n_by_port),
				 0);
		assert_int_equal(n, n_by_port);
		assert_memory_equal(links, by_port, n * sizeof *links);
		assert_int_equal(topo_link(f->topo, links[1])->to, path->via);
		assert_int_not_equal(path->hashed_via, path->via);
		assert_int_not_equal(path->hashed_link, TOPO_NONE);
		assert_int_equal(path->n_hashed_jobs, 1);
		assert_int_equal(path->hashed_jobs[0], 1 - advice->job);
		assert_false(is_on(f, path, path->port, path->hashed_link));
	}
	return n_chosen;
}

static void
colliding_flows_are_routed_apart_with_their_reason(void **state)
{
	struct fixture f;
	struct advice_set *set;
	uint16_t port = 0;
	size_t n_chosen = 0;

	(void)state;
	two_jobs(&f, 1);
	while (!collide(&f, port))
		port++;
	f.workload.jobs[1].first_port = port;
	set = ask(&f, ADVISE_ALL_LEVERS);
	for (size_t j = 0; j < 2; j++) {
		assert_int_equal(set->items[j].reason, REASON_ROUTED_APART);
		assert_int_equal(set->items[j].shift_us, 0);
		assert_true(set->items[j].n_links > 0);
		n_chosen += check_paths(&f, &set->items[j]);
	}
	assert_true(n_chosen >= 1);
	assert_true(set->goodput_before < 0.9);
	assert_near(set->goodput_after, 1, 1e-3);
	advice_set_free(set);

	set = ask(&f, ADVISE_PLACE | ADVISE_TIME);
	for (size_t j = 0; j < 2; j++)
		assert_int_equal(set->items[j].n_paths, 0);
	assert_true(set->goodput_after < 0.9);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
connections_of_a_flow_get_ports_of_their_own(void **state)
{
	struct fixture f;
	struct advice_set *set;
	size_t n_chosen = 0;

	(void)state;
	two_jobs(&f, 4);
	set = ask(&f, ADVISE_ALL_LEVERS);
	assert_int_equal(set->items[1].n_paths, 8);
	for (size_t i = 0; i < 8; i++) {
		const struct advice_path *path = &set->items[1].paths[i];

		n_chosen += path->number != WORK_HASHED;
		for (size_t k = 0; k < i; k++)
			if (set->items[1].paths[k].source == path->source)
				assert_int_not_equal(set->items[1].paths[k].port,
						     path->port);
	}
	assert_true(n_chosen >= 1);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
documents_keep_paths_and_older_ones_have_none(void **state)
{
	const struct advise_opts opts = { .policy = ADVISE_ANTIPHASE };
	struct fixture f;
	struct advice_set *set;
	struct advice_doc doc, again;
	struct strbuf prose = STRBUF_EMPTY;
	struct err err;
	char *text, *from, *to, *saved;
	size_t length;

	(void)state;
	two_jobs(&f, 4);
	set = ask(&f, ADVISE_ALL_LEVERS);
	advice_doc_from(set, &f.workload, f.topo, &opts, &doc);
	text = advice_json_text(&doc, &length);
	assert_int_equal(advice_json_parse("a", text, length, &again, &err), 0);
	assert_true(doc.jobs[1].n_paths > 0);
	assert_int_equal(again.jobs[1].n_paths, doc.jobs[1].n_paths);
	assert_int_equal(again.jobs[1].n_connections, 4);
	assert_string_equal(again.jobs[1].paths[0].hashed_via,
			    doc.jobs[1].paths[0].hashed_via);
	advice_prose_job(&again, &again.jobs[1], &prose);
	assert_non_null(strstr(prose.text, "hashed, it meets a"));
	assert_non_null(strstr(prose.text, "give Open MPI 4 interfaces"));
	advice_doc_fini(&again);

	/* A name or null, and nothing else: blanks keep the length. */
	from = strstr(text, "\"hashed_via\": \"");
	assert_non_null(from);
	from += strlen("\"hashed_via\": ");
	to = strchr(from + 1, '"');
	saved = xstrndup(from, (size_t)(to + 1 - from));
	assert_true(strlen(saved) >= strlen("true"));
	memset(from, ' ', strlen(saved));
	memcpy(from, "true", strlen("true"));
	assert_int_equal(advice_json_parse("a", text, length, &again, &err), -EINVAL);
	memcpy(from, "null", strlen("null"));
	assert_int_equal(advice_json_parse("a", text, length, &again, &err), 0);
	assert_null(again.jobs[1].paths[0].hashed_via);
	advice_doc_fini(&again);
	memcpy(from, saved, strlen(saved));
	free(saved);

	/* As an older version wrote it: without the two keys. */
	while ((from = strstr(text, "\"connections\""))) {
		to = strstr(from, "\"reason\"");
		memmove(from, to, strlen(to) + 1);
	}
	assert_int_equal(advice_json_parse("a", text, strlen(text), &again, &err), 0);
	assert_int_equal(again.jobs[1].n_paths, 0);
	assert_int_equal(again.jobs[1].n_connections, 1);
	advice_doc_fini(&again);
	advice_doc_fini(&doc);
	strbuf_free(&prose);
	free(text);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
levers_are_a_list_of_words(void **state)
{
	struct err err;
	unsigned levers = 99;

	(void)state;
	assert_int_equal(advise_levers_read("place,path,time", &levers, &err), 0);
	assert_int_equal(levers, ADVISE_PLACE | ADVISE_PATH | ADVISE_TIME);
	assert_int_equal(advise_levers_read("move,time,path,place", &levers, &err), 0);
	assert_int_equal(levers, ADVISE_ALL_LEVERS);
	assert_int_equal(advise_levers_read("path", &levers, &err), 0);
	assert_int_equal(levers, ADVISE_PATH);
	assert_int_equal(advise_levers_read("time,time", &levers, &err), 0);
	assert_int_equal(levers, ADVISE_TIME);
	levers = 99;
	assert_true(advise_levers_read("", &levers, &err) < 0);
	assert_true(advise_levers_read("path,", &levers, &err) < 0);
	assert_true(advise_levers_read(",path", &levers, &err) < 0);
	assert_true(advise_levers_read("paths", &levers, &err) < 0);
	assert_non_null(strstr(err.text, "did you mean 'path'?"));
	assert_int_equal(levers, 99);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colliding_flows_are_routed_apart_with_their_reason),
		cmocka_unit_test(connections_of_a_flow_get_ports_of_their_own),
		cmocka_unit_test(documents_keep_paths_and_older_ones_have_none),
		cmocka_unit_test(levers_are_a_list_of_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
