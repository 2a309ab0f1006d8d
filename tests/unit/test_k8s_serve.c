/* SPDX-License-Identifier: Apache-2.0 */
/* test_k8s_serve.c - the Kubernetes extender over a real socket with the advisor */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/base/file.h"
#include "lib/base/json.h"
#include "tests/unit/k8s_lab.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/read.h"

/* ---- The server process ---------------------------------------------------------- */

struct server {
	pid_t pid;
	unsigned port;
};

static void
on_term(void *ctx, int number)
{
	(void)number;
	loop_stop(ctx, 0);
}

static struct server
start(struct topo *topo, void (*prepare)(struct k8s_lab *lab))
{
	struct server server;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	server.pid = fork();
	assert_true(server.pid >= 0);
	if (server.pid == 0) {
		struct k8s_lab lab;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		k8s_lab_open(&lab, topo);
		if (prepare)
			prepare(&lab);
		loop_signal(lab.loop, SIGTERM, on_term, lab.loop);
		server.port = http_port(lab.http);
		if (write(ends[1], &server.port, sizeof server.port) < 0)
			exit(1);
		loop_run(lab.loop);
		k8s_lab_close(&lab);
		topo_unref(topo);
		exit(0);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &server.port, sizeof server.port),
			 sizeof server.port);
	close(ends[0]);
	return server;
}

static void
stop(struct server *server)
{
	int status;

	kill(server->pid, SIGTERM);
	assert_int_equal(waitpid(server->pid, &status, 0), server->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Posts; returns the JSON of a reply with 'status', and its text in '*ret_reply'. */
static struct json_doc *
post(const struct server *server, const char *path, const char *body, unsigned status,
     char **ret_reply)
{
	char start_[32], *reply = k8s_lab_post(server->port, path, body), *text;
	struct json_doc *doc;
	struct err err = { .text = "" };

	snprintf(start_, sizeof start_, "HTTP/1.1 %u ", status);
	if (!reply || strncmp(reply, start_, strlen(start_)) != 0)
		fail_msg("expected %u, not '%.200s'", status, reply ? reply : "");
	text = strstr(reply, "\r\n\r\n");
	assert_non_null(text);
	if (json_parse("reply", text + 4, strlen(text + 4), &doc, &err) < 0)
		fail_msg("%s", err.text);
	*ret_reply = reply;
	return doc;
}

/* ---- Replies --------------------------------------------------------------------- */

/* Scores of all nodes: counts per score, and the node of score 10 in 'best'. */
struct scores {
	unsigned n[11];
	char best[64];
	char chosen[1024]; /* Nodes of score 8 or more, separated by blanks. */
};

static struct scores
prioritize(const struct server *server, const char *body)
{
	struct scores scores = { .best = "" };
	char *reply;
	struct json_doc *doc = post(server, "/k8s/prioritize", body, 200, &reply);
	const struct json *list = json_root(doc);

	for (const struct json *item = json_first(list); item; item = json_next(item)) {
		const char *host;
		int64_t score;

		assert_int_equal(json_get_str(doc, item, "Host", &host, NULL), 0);
		assert_int_equal(json_get_int(doc, item, "Score", 0, 10, &score, NULL),
				 0);
		scores.n[score]++;
		if (score == 10)
			snprintf(scores.best, sizeof scores.best, "%s", host);
		if (score >= 8) {
			size_t n = strlen(scores.chosen);

			snprintf(scores.chosen + n, sizeof scores.chosen - n, "%s ",
				 host);
		}
	}
	json_doc_free(doc);
	free(reply);
	return scores;
}

/* Counts the nodes that filter passes, and those that it fails. */
static void
filter(const struct server *server, const char *body, size_t *ret_passed,
       size_t *ret_failed)
{
	char *reply;
	struct json_doc *doc = post(server, "/k8s/filter", body, 200, &reply);
	const struct json *names, *failed;
	const char *error;

	assert_int_equal(json_get_array(doc, json_root(doc), "NodeNames", &names,
					ret_passed, NULL),
			 0);
	assert_int_equal(json_get_str(doc, json_root(doc), "Error", &error, NULL), 0);
	assert_string_equal(error, "");
	failed = json_find(json_root(doc), "FailedNodes");
	*ret_failed = 0;
	for (failed = json_first(failed); failed; failed = json_next(failed))
		(*ret_failed)++;
	json_doc_free(doc);
	free(reply);
}

static struct topo *
fabric(uint32_t n_leaves, uint32_t hosts_per_leaf)
{
	const struct gen_leaf_spine opts = { .n_leaves = n_leaves,
					     .hosts_per_leaf = hosts_per_leaf,
					     .oversubscription = 4,
					     .host_bps = 100e9 };
	struct topo *topo;

	assert_int_equal(gen_leaf_spine(&opts, &topo, NULL), 0);
	return topo;
}

/* Every leaf except the second has a job that uses its uplinks. */
static void
crowd(struct k8s_lab *lab)
{
	k8s_lab_run(lab, "a", 0, 16, 4);
	k8s_lab_run(lab, "b", 1, 16, 4);
}

static void
pods_of_a_job_get_the_nodes_of_one_choice(void **state)
{
	struct topo *topo = fabric(8, 8);
	struct server server = start(topo, crowd);
	char taken[8][64];

	(void)state;
	for (unsigned pod = 0; pod < 8; pod++) {
		char *body = k8s_lab_body(topo, "ml", "train", pod, 8);
		struct scores scores;
		size_t passed, failed;

		filter(&server, body, &passed, &failed);
		/* Its own node, and the nodes of the choice that are still free. */
		assert_int_equal(passed, 8 - pod);
		assert_int_equal(passed + failed, topo_n_hosts(topo));
		scores = prioritize(&server, body);
		assert_int_equal(scores.n[10], 1);
		assert_int_equal(scores.n[8], 8 - pod - 1);
		/* A repeated request gets the same answer. */
		assert_string_equal(prioritize(&server, body).best, scores.best);
		snprintf(taken[pod], sizeof taken[pod], "%s", scores.best);
		for (unsigned i = 0; i < pod; i++)
			assert_string_not_equal(taken[i], taken[pod]);
		/* Eight hosts of one leaf, without contention. */
		assert_int_equal(topo_leaf_of(topo, topo_find_node(topo, taken[pod])),
				 topo_leaf_of(topo, topo_find_node(topo, taken[0])));
		free(body);
	}
	stop(&server);
	topo_unref(topo);
}

/* Among places without contention, the one beside the earlier pods. */
static void
later_pods_go_beside_earlier_ones(void **state)
{
	struct topo *topo = fabric(6, 8);
	struct k8s_lab lab;
	size_t n, n_found = 0;
	const uint32_t *hosts = topo_hosts(topo, &n);
	const char *offered[48];

	(void)state;
	k8s_lab_open(&lab, topo);
	for (size_t i = 0; i < n; i++)
		offered[i] = topo_node(topo, hosts[i])->name;
	for (uint32_t leaf = 0; leaf < 6; leaf++) {
		const char *siblings[] = { offered[8 * leaf], offered[8 * leaf + 5] };
		const struct extender_job job = { .name = "ml/train",
						  .n_nodes = 2,
						  .period_us = 100000,
						  .comm_us = 40000,
						  .siblings = siblings,
						  .n_siblings = 2 };
		struct extender_choice choice;

		assert_int_equal(k8s_lab_rank(&lab, &job, offered, n, &choice, NULL),
				 0);
		assert_int_equal(choice.n_chosen, 2);
		for (size_t i = 0; i < 2; i++)
			n_found += choice.chosen[i] / 8 == leaf;
		extender_choice_fini(&choice);
	}
	assert_int_equal(n_found, 12);
	k8s_lab_close(&lab);
	topo_unref(topo);
}

static void
a_namespace_has_a_mode_of_its_own(void **state)
{
	struct topo *topo = fabric(4, 4);
	struct server server = start(topo, NULL);
	char *watched = k8s_lab_body(topo, "watched", "train", 0, 4);
	char *advised = k8s_lab_body(topo, "advised", "train", 0, 4);
	size_t passed, failed;

	(void)state;
	filter(&server, watched, &passed, &failed);
	assert_int_equal(passed, 16);
	assert_int_equal(failed, 0);
	assert_int_equal(prioritize(&server, watched).n[0], 16);
	filter(&server, advised, &passed, &failed);
	assert_int_equal(passed, 16);
	assert_int_equal(failed, 0);
	assert_int_equal(prioritize(&server, advised).n[10], 1);
	free(watched);
	free(advised);
	stop(&server);
	topo_unref(topo);
}

static void
what_is_no_request_is_refused_in_json_and_the_next_one_answered(void **state)
{
	static const char whole[] = "{\"Pod\":{\"metadata\":{\"name\":\"a\"}},"
				    "\"Nodes\":{\"items\":[]}}";
	const char *const bad[] = { "", "{", "[]", "{\"NodeNames\":[]}", whole };
	struct topo *topo = fabric(2, 4);
	struct server server = start(topo, NULL);
	char *body = k8s_lab_body(topo, "ml", "train", 0, 2), *reply;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct json_doc *doc =
			post(&server, "/k8s/filter", bad[i], 400, &reply);
		const struct json *error = json_find(json_root(doc), "error");
		const char *text;

		assert_non_null(error);
		assert_int_equal(json_get_str(doc, error, "code", &text, NULL), 0);
		assert_string_equal(text, "bad_body");
		assert_int_equal(json_get_str(doc, error, "message", &text, NULL), 0);
		assert_true(*text);
		json_doc_free(doc);
		free(reply);
	}
	assert_int_equal(prioritize(&server, body).n[10], 1);
	free(body);
	stop(&server);
	topo_unref(topo);
}

static void
a_fabric_of_5000_nodes_is_answered_for(void **state)
{
	struct topo *topo = fabric(157, 32);
	struct server server = start(topo, crowd);
	char *body = k8s_lab_body(topo, "ml", "train", 0, 16);
	struct scores scores;
	size_t passed, failed;

	(void)state;
	filter(&server, body, &passed, &failed);
	assert_int_equal(passed, 16);
	assert_int_equal(passed + failed, 157 * 32);
	scores = prioritize(&server, body);
	assert_int_equal(scores.n[10], 1);
	assert_int_equal(scores.n[8], 15);
	free(body);
	stop(&server);
	topo_unref(topo);
}

/* Recorded by an extender beside a real kube-scheduler with 12 nodes. */
static void
recorded_requests_of_a_real_scheduler_are_answered_over_http(void **state)
{
	static const char conf[] = "SwitchName=leaf1 Nodes=n[01-04]\n"
				   "SwitchName=leaf2 Nodes=n[05-08]\n"
				   "SwitchName=leaf3 Nodes=n[09-12]\n"
				   "SwitchName=spine Switches=leaf[1-3]\n";
	struct topo *topo;
	struct server server;
	char *body, *reply;
	size_t n, passed, failed;
	struct scores scores;

	(void)state;
	if (file_read(SHARED_DATA "/k8s/nodeCacheCapable-true-filter.json", 1 << 20,
		      &body, &n, NULL) < 0)
		skip();
	assert_int_equal(topo_read("t", conf, strlen(conf), NULL, &topo, NULL), 0);
	server = start(topo, NULL);
	filter(&server, body, &passed, &failed);
	assert_int_equal(passed, 12);
	assert_int_equal(failed, 0);
	free(body);
	assert_int_equal(file_read(SHARED_DATA
				   "/k8s/nodeCacheCapable-true-prioritize.json",
				   1 << 20, &body, &n, NULL),
			 0);
	scores = prioritize(&server, body);
	assert_int_equal(scores.n[10], 1);
	free(body);
	/* The other mode is refused with a hint about the setting. */
	assert_int_equal(file_read(SHARED_DATA
				   "/k8s/nodeCacheCapable-false-filter.json",
				   1 << 20, &body, &n, NULL),
			 0);
	json_doc_free(post(&server, "/k8s/filter", body, 400, &reply));
	assert_non_null(strstr(reply, "nodeCacheCapable: true"));
	free(reply);
	free(body);
	stop(&server);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_of_a_job_get_the_nodes_of_one_choice),
		cmocka_unit_test(later_pods_go_beside_earlier_ones),
		cmocka_unit_test(a_namespace_has_a_mode_of_its_own),
		cmocka_unit_test(
			what_is_no_request_is_refused_in_json_and_the_next_one_answered),
		cmocka_unit_test(a_fabric_of_5000_nodes_is_answered_for),
		cmocka_unit_test(
			recorded_requests_of_a_real_scheduler_are_answered_over_http),
	};

	return cmocka_run_group_tests_name("k8s_serve", tests, NULL, NULL);
}
