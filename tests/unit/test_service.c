/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/metrics.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/gen_table.h"
#include "topology/in_lldp.h"
#include "topology/observed.h"
#include "topology/observed_json.h"
#include "topology/service.h"
#include "topology/topo.h"

/* The announcements, one line each: topic and text. */
static struct strbuf told = STRBUF_EMPTY;

static void
hear(void *ctx, const char *topic, const char *text)
{
	struct json_doc *doc;

	(void)ctx;
	strbuf_printf(&told, "%s %s", topic, text);
	assert_int_equal(json_parse("change", text, strlen(text), &doc, NULL), 0);
	assert_int_equal(json_check_schema(doc, "antiphase.topology_change", 2, NULL),
			 0);
	json_doc_free(doc);
}

static struct topo *
make_plan(uint32_t hosts_per_leaf)
{
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = hosts_per_leaf,
						.n_spines = 2,
						.host_bps = 1e11 };
	struct topo *topo;

	assert_int_equal(gen_leaf_spine(&options, &topo, NULL), 0);
	return topo;
}

static struct service *
make_service(void)
{
	const struct service_opts opts = { .max_age_us = 60000000, .announce = hear };
	struct service *s = service_new(&opts);
	struct topo *plan = make_plan(2);

	strbuf_clear(&told);
	service_set_plan(s, plan, "plan.json", 1000000);
	topo_unref(plan);
	return s;
}

static unsigned status; /* Of the last reply. */

/* The reply to "OP" or "OP BODY", which must match our schema. */
static const char *
ask(struct service *s, const char *request, int64_t now_us)
{
	static struct strbuf reply = STRBUF_EMPTY;
	size_t n_op = strcspn(request, " ");
	const char *body = request[n_op] ? request + n_op + 1 : NULL;
	char op[16];
	struct json_doc *doc;
	struct err err;

	snprintf(op, sizeof op, "%.*s", (int)n_op, request);
	strbuf_clear(&reply);
	status = service_answer(s, op, body, body ? strlen(body) : 0, now_us, &reply);
	assert_int_equal(status == 200, strstr(reply.text, "\"error\"") == NULL);
	if (json_parse("reply", reply.text, reply.length, &doc, &err) < 0 ||
	    json_check_schema(doc, "antiphase.topology_reply", 1, &err) < 0)
		fail_msg("%s: %s", err.text, reply.text);
	json_doc_free(doc);
	return reply.text;
}

#define assert_has(text, part)                                   \
	do {                                                     \
		if (!strstr(text, part))                         \
			fail_msg("no '%s' in '%s'", part, text); \
	} while (0)

static void
a_bad_request_is_told_what_is_wrong(void **state)
{
	struct service *s = make_service();

	(void)state;
	assert_has(ask(s, "lookup ", 0), "\"bad_request\"");
	assert_int_equal(status, 400);
	assert_has(ask(s, "lookup []", 0), "\"bad_request\"");
	assert_has(ask(s, "lookup", 0), "\"bad_request\"");
	assert_has(ask(s, "seen ", 0), "\"bad_request\"");
	assert_has(ask(s, "dif", 0), "did you mean 'diff'?");
	assert_int_equal(status, 404);
	assert_has(ask(s, "lookup {}", 0), "\"bad_request\"");
	assert_has(ask(s, "lookup {\"hosts\":\"h[0-9]\"}", 0),
		   "the plan has no host 'h4'");
	assert_has(ask(s, "lookup {\"hosts\":\"h[0-4]\"}", 0),
		   "the plan has no host 'h4'");
	assert_has(ask(s, "lookup {\"hosts\":[\"h0\",\"h0\"]}", 0), "named twice");
	assert_has(ask(s, "lookup {\"hosts\":\"h[0-1]\",\"collective\":\"star\"}", 0),
		   "'collective' is 'star'");
	assert_has(ask(s, "lookup {\"node\":\"x\",\"interface\":\"e0\"}", 0),
		   "\"unknown_host\"");
	assert_has(ask(s, "seen {\"node\":\"h0\"}", 0), "an empty report");
	service_free(s);
}

static void
without_a_plan_there_is_health_only(void **state)
{
	const struct service_opts opts = { .max_age_us = 0 };
	struct service *s = service_new(&opts);

	(void)state;
	assert_has(ask(s, "health", 0), "\"plan\": null");
	assert_has(ask(s, "snapshot", 0), "\"no_plan\"");
	assert_int_equal(status, 503);
	assert_has(ask(s, "diff", 0), "\"no_plan\"");
	assert_has(ask(s, "lookup {\"hosts\":\"h0\"}", 0), "\"no_plan\"");
	service_free(s);
}

static void
a_job_is_looked_up_with_the_factors_of_its_links(void **state)
{
	struct service *s = make_service();
	const char *reply = ask(s, "lookup {\"hosts\":[\"h0\",\"h1\"]}", 0);

	(void)state;
	assert_has(reply, "\"collective\": \"ring\"");
	assert_has(reply, "\"link\": \"h0:p0>leaf0:p0\", \"gbps\": 100, \"factor\": 1, "
			  "\"flows\": 1");
	assert_null(strstr(reply, "spine"));
	assert_has(ask(s, "lookup {\"hosts\":\"h[0,2]\"}", 0), "spine");
	service_free(s);
}

static void
an_interface_is_looked_up_in_both_directions(void **state)
{
	struct service *s = make_service();

	(void)state;
	assert_has(ask(s, "lookup {\"node\":\"h0\",\"interface\":\"e0\"}", 0),
		   "\"tx\": \"h0:p0>leaf0:p0\"");
	assert_has(ask(s, "lookup {\"node\":\"spine0\",\"interface\":\"e0\"}", 0),
		   "\"tx\": null");
	service_free(s);
}

/* h0 reports the state of its port and the neighbor (NULL: none). */
static void
report(struct service *s, const char *state, const char *peer, const char *peer_port,
       int64_t now_us)
{
	struct strbuf request = STRBUF_EMPTY;

	strbuf_printf(
		&request,
		"seen {\"node\":\"h0\",\"links\":true,"
		"\"neighbours\":true,\"ports\":[{\"port\":\"p0\",\"state\":\"%s\","
		"\"gbps\":100,\"neighbours\":[",
		state);
	if (peer)
		strbuf_printf(&request, "{\"node\":\"%s\",\"port\":\"%s\"}", peer,
			      peer_port);
	strbuf_puts(&request, "]}]}");
	assert_has(ask(s, request.text, now_us), "\"nodes_reporting\": 1");
	strbuf_free(&request);
}

static void
what_changes_at_a_port_is_announced_once(void **state)
{
	struct service *s = make_service();

	(void)state;
	report(s, "up", "leaf0", "p0", 2000000);
	assert_string_equal(told.text, ""); /* A first report is no change. */
	report(s, "up", "leaf0", "p0", 3000000);
	assert_string_equal(told.text, "");
	report(s, "down", NULL, NULL, 4000000);
	assert_has(told.text, "t/link_down ");
	assert_has(told.text, "\"links\": [\"h0:p0>leaf0:p0\", \"leaf0:p0>h0:p0\"]");
	assert_has(told.text, "t/neighbour ");
	strbuf_clear(&told);
	report(s, "up", "leaf0", "p1", 5000000);
	assert_has(told.text, "t/link_up ");
	assert_has(told.text, "\"port\": \"p1\"");
	strbuf_free(&told);
	service_free(s);
}

static void
differences_are_announced_as_they_come_and_go(void **state)
{
	struct service *s = make_service();

	(void)state;
	report(s, "up", "leaf0", "p0", 2000000);
	service_tick(s, 3000000);
	assert_string_equal(told.text, "");
	assert_has(ask(s, "diff", 3000000), "\"same\": true");
	report(s, "up", "leaf1", "p7", 4000000);
	assert_has(ask(s, "diff", 4000000), "\"kind\": \"moved\"");
	strbuf_clear(&told);
	service_tick(s, 5000000);
	assert_has(told.text, "t/difference ");
	assert_has(told.text, "\"new\": true");
	strbuf_clear(&told);
	service_tick(s, 6000000);
	assert_string_equal(told.text, "");
	report(s, "up", "leaf0", "p0", 7000000);
	service_tick(s, 8000000);
	assert_has(told.text, "\"new\": false");
	/* After a long silence nothing is known. */
	assert_has(ask(s, "diff", 100000000), "\"same\": null");
	strbuf_free(&told);
	service_free(s);
}

static void
a_new_plan_is_one_change_with_what_is_different(void **state)
{
	struct service *s = make_service();
	struct topo *plan = make_plan(3);

	(void)state;
	service_set_plan(s, plan, "plan.json", 2000000);
	assert_has(told.text, "t/plan ");
	assert_has(told.text, "\"nodes_added\": 2");
	assert_has(told.text, "\"nodes_removed\": 0");
	assert_has(told.text, "\"tiers_changed\": 0");
	assert_has(ask(s, "snapshot", 0), "\"h5\"");
	topo_unref(plan);
	strbuf_clear(&told);
	assert_int_equal(gen_text("leaf-spine --leaves 2 --hosts-per-leaf 3 --spines 1 "
				  "--balance spray",
				  &plan, NULL),
			 0);
	service_set_plan(s, plan, "plan.json", 3000000);
	assert_has(told.text, "\"tiers_changed\": 2");
	assert_has(ask(s, "snapshot", 0), "{\"tier\": 2, \"balance\": \"spray\"}");
	topo_unref(plan);
	strbuf_free(&told);
	service_free(s);
}

static void
metrics_have_each_link_and_each_kind_of_difference(void **state)
{
	struct service *s = make_service();
	struct strbuf out = STRBUF_EMPTY;
	struct metrics m;

	(void)state;
	report(s, "up", "leaf1", "p7", 2000000);
	metrics_init(&m, &out);
	service_metrics(s, 11000000, &m);
	assert_has(out.text, "antiphase_topology_link_capacity_bytes_per_second{"
			     "link=\"h0:p0>leaf0:p0\",tier=\"1\"} 12500000000\n");
	assert_has(out.text, "tier=\"2\"");
	assert_has(out.text, "antiphase_topology_differences{kind=\"moved\"} 1\n");
	assert_has(out.text, "antiphase_topology_differences{kind=\"down\"} 0\n");
	assert_has(out.text, "antiphase_topology_plan_age_seconds 10\n");
	assert_has(out.text, "antiphase_topology_requests_total{op=\"seen\"} 1\n");
	strbuf_free(&out);
	service_free(s);
}

static void
every_metric_is_in_the_documentation(void **state)
{
	struct service *s = make_service();
	struct strbuf out = STRBUF_EMPTY;
	char *docs, *at, *line;
	struct metrics m;
	size_t n;

	(void)state;
	assert_int_equal(
		file_read("docs/topology-service.md", 1 << 20, &docs, &n, NULL), 0);
	metrics_init(&m, &out);
	service_metrics(s, 11000000, &m);
	at = out.text;
	while ((line = strsep(&at, "\n"))) {
		char name[80], type[20], row[128];

		if (sscanf(line, "# TYPE %79s %19s", name, type) != 2)
			continue;
		snprintf(row, sizeof row, "| `%s` | %s |", name, type);
		assert_has(docs, row);
	}
	free(docs);
	strbuf_free(&out);
	service_free(s);
}

/* ---- LLDP ------------------------------------------------------------------------ */

#define NEIGHBOUR(port, name, id, descr)                                            \
	"{\"name\":\"" port "\",\"via\":\"LLDP\",\"chassis\":[{\"id\":[{\"type\":"  \
	"\"mac\",\"value\":\"02:00:00:00:00:09\"}]" name "}],\"port\":[{\"id\":[{"  \
	"\"type\":\"ifname\",\"value\":\"" id "\"}],\"descr\":[{\"value\":\"" descr \
	"\"}],\"auto-negotiation\":[{\"supported\":false,\"current\":[{\"value\":"  \
	"\"10GbaseT - x\"}]}]}]}"

static void
lldp_tells_name_port_and_speed(void **state)
{
	static const char text[] = "{\"lldp\":[{\"interface\":[" NEIGHBOUR(
		"e1", ",\"name\":[{\"value\":\"leaf0\"}]", "swp1",
		"to h0") "," NEIGHBOUR("e0", "", "swp2", "swp2") "]}]}";
	struct observed_node node;
	const struct observed_port *port;

	(void)state;
	observed_node_init(&node, "h0");
	assert_int_equal(lldp_read("x", text, sizeof text - 1, &node, NULL), 0);
	assert_true(node.has_neighbours);
	assert_int_equal(node.ports.n, 2);
	port = observed_node_find_port(&node, "e1");
	assert_int_equal(port->neighbours.n, 1);
	assert_string_equal(port->neighbours.items[0].node, "leaf0");
	assert_string_equal(port->neighbours.items[0].port, "swp1");
	/* A name contains no blank. */
	assert_string_equal(port->neighbours.items[0].alias, "to?h0");
	assert_near(port->neighbours.items[0].bps, 1e10, 1);
	/* A neighbor without a name is known by its chassis id. */
	port = observed_node_find_port(&node, "e0");
	assert_string_equal(port->neighbours.items[0].node, "02:00:00:00:00:09");
	observed_node_fini(&node);
}

static void
no_neighbours_are_told_too(void **state)
{
	static const char text[] = "{\n  \"lldp\": [\n    {\n      \n    }\n  ]\n}\n";
	struct observed_node node;

	(void)state;
	observed_node_init(&node, "h0");
	assert_int_equal(lldp_read("x", text, sizeof text - 1, &node, NULL), 0);
	assert_true(node.has_neighbours);
	assert_int_equal(node.ports.n, 0);
	observed_node_fini(&node);
}

/* An interface of 'lldpcli -f json': names are keys, and there are no arrays of one. */
#define NEIGHBOUR_JSON(interface, chassis, id)                                          \
	"{\"" interface "\":{\"via\":\"LLDP\",\"rid\":\"1\",\"chassis\":{" chassis      \
	"},\"port\":{\"id\":{\"type\":\"ifname\",\"value\":\"" id "\"},"                \
	"\"descr\":\"to h0\",\"ttl\":\"120\",\"auto-negotiation\":{\"supported\":true," \
	"\"advertised\":[{\"type\":\"10Base-T\"},{\"type\":\"100Base-TX\"}],"           \
	"\"current\":\"10GbaseT - x\"}}}}"

static void
the_other_json_of_lldpcli_is_read_too(void **state)
{
	static const char leaf[] =
		"\"leaf0\":{\"id\":{\"type\":\"mac\",\"value\":\"02:00:00:00:00:08\"},"
		"\"descr\":\"Debian\"}";
	static const char one[] = "{\"lldp\":{\"interface\":%s}}";
	static const char *const broken[] = {
		"{\"lldp\":{\"interface\":{\"e0\":{}}}}",
		"{\"lldp\":{\"interface\":{\"e0\":{\"chassis\":{}}}}}",
		"{\"lldp\":{\"interface\":{\"e0\":1}}}",
		"{\"lldp\":{\"interface\":\"e0\"}}",
		"{\"lldp\":\"e0\"}",
		"{\"interface\":{}}",
	};
	char text[4096], item[512], more[2048];
	struct observed_node node;
	const struct observed_port *port;
	struct err err;

	(void)state;
	snprintf(item, sizeof item, NEIGHBOUR_JSON("e0", "%s", "swp1"), leaf);
	snprintf(text, sizeof text, one, item);
	observed_node_init(&node, "h0");
	assert_int_equal(lldp_read("x", text, strlen(text), &node, NULL), 0);
	assert_true(node.has_neighbours);
	assert_int_equal(node.ports.n, 1);
	port = observed_node_find_port(&node, "e0");
	assert_int_equal(port->neighbours.n, 1);
	assert_string_equal(port->neighbours.items[0].node, "leaf0");
	assert_string_equal(port->neighbours.items[0].port, "swp1");
	assert_string_equal(port->neighbours.items[0].alias, "to?h0");
	assert_near(port->neighbours.items[0].bps, 1e10, 1);
	observed_node_fini(&node);
	/* Several interfaces are an array; a chassis without a name has only its id. */
	snprintf(more, sizeof more, "[%s," NEIGHBOUR_JSON("e1", "%s", "swp2") "]", item,
		 "\"id\":{\"type\":\"mac\",\"value\":\"02:00:00:00:00:09\"}");
	snprintf(text, sizeof text, one, more);
	observed_node_init(&node, "h0");
	assert_int_equal(lldp_read("x", text, strlen(text), &node, NULL), 0);
	assert_int_equal(node.ports.n, 2);
	port = observed_node_find_port(&node, "e1");
	assert_string_equal(port->neighbours.items[0].node, "02:00:00:00:00:09");
	observed_node_fini(&node);
	/* No neighbors. */
	observed_node_init(&node, "h0");
	assert_int_equal(lldp_read("x", "{\"lldp\":{}}", 11, &node, NULL), 0);
	assert_true(node.has_neighbours);
	observed_node_fini(&node);
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		observed_node_init(&node, "h0");
		assert_int_equal(
			lldp_read("x", broken[i], strlen(broken[i]), &node, &err),
			-EINVAL);
		assert_true(err.text[0] != '\0');
		assert_false(node.has_neighbours);
		observed_node_fini(&node);
	}
}

static void
speeds_are_read_from_the_names_of_media(void **state)
{
	(void)state;
	assert_near(lldp_mau_bps("1000BaseTFD - Four-pair Category 5 UTP"), 1e9, 1);
	assert_near(lldp_mau_bps("10GbaseT - Four-pair"), 1e10, 1);
	assert_near(lldp_mau_bps("100GbaseSR4 - x"), 1e11, 1);
	assert_near(lldp_mau_bps("unknown"), 0, 0);
	assert_near(lldp_mau_bps(""), 0, 0);
	assert_near(lldp_mau_bps("99999999999999999999Gx"), 0, 0);
}

static void
reports_written_are_read_back(void **state)
{
	static const char text[] =
		"{\"schema\":\"antiphase.seen/1\",\"nodes\":[{\"node\":\"h0\",\"heard_us\":"
		"7,\"links\":true,\"neighbours\":true,\"ports\":[{\"port\":\"e0\",\"state\":"
		"\"down\"},{\"port\":\"e1\",\"state\":\"up\",\"gbps\":40,\"neighbours\":[{"
		"\"node\":\"leaf0\",\"port\":\"p1\"}]}]}]}";
	struct observed *seen = observed_new();
	const struct observed_node *node;
	struct err err;

	(void)state;
	assert_int_equal(
		observed_json_read("x", text, sizeof text - 1, NULL, 9, seen, &err), 0);
	node = observed_find(seen, "h0");
	assert_non_null(node);
	assert_int_equal(node->heard_us, 7);
	assert_int_equal(node->ports.n, 2);
	assert_int_equal(observed_node_find_port(node, "e0")->state,
			 OBSERVED_STATE_DOWN);
	assert_near(observed_node_find_port(node, "e1")->bps, 4e10, 1);
	/* The text of lldpcli does not name its host. */
	assert_int_equal(
		observed_json_read("x", "{\"lldp\":[]}", 11, NULL, 9, seen, &err),
		-EINVAL);
	assert_has(err.text, "NODE=FILE");
	assert_int_equal(
		observed_json_read("x", "{\"lldp\":[]}", 11, "h1", 9, seen, &err), 0);
	assert_int_equal(observed_find(seen, "h1")->neighbours_us, 9);
	observed_free(seen);
}

static void
what_a_report_does_not_say_stays(void **state)
{
	struct observed *seen = observed_new();
	struct observed_node node;
	uint64_t generation;

	(void)state;
	observed_node_init(&node, "h0");
	node.has_neighbours = true;
	observed_port_add(observed_node_port(&node, "e0"), "leaf0", "p1", NULL, 0,
			  OBSERVED_ROLE_UNKNOWN);
	assert_int_equal(observed_update(seen, &node, NULL, NULL), 0);
	node.has_links = true;
	observed_copy_name(node.name, "h0");
	observed_node_port(&node, "e0")->state = OBSERVED_STATE_UP;
	assert_int_equal(observed_update(seen, &node, NULL, NULL), 0);
	observed_node_fini(&node);
	assert_true(observed_find(seen, "h0")->has_neighbours);
	assert_int_equal(observed_find(seen, "h0")->ports.items[0].neighbours.n, 1);
	assert_int_equal(observed_find(seen, "h0")->ports.items[0].state,
			 OBSERVED_STATE_UP);
	/* Repeating a report changes nothing. */
	generation = observed_generation(seen);
	observed_node_init(&node, "h0");
	node.has_links = true;
	observed_node_port(&node, "e0")->state = OBSERVED_STATE_UP;
	assert_int_equal(observed_update(seen, &node, NULL, NULL), 0);
	observed_node_fini(&node);
	assert_int_equal(observed_generation(seen), generation);
	/* A new report replaces the whole previous one. */
	observed_node_init(&node, "h0");
	node.has_neighbours = true;
	assert_int_equal(observed_update(seen, &node, NULL, NULL), 0);
	assert_true(observed_generation(seen) > generation);
	assert_int_equal(observed_find(seen, "h0")->ports.items[0].neighbours.n, 0);
	assert_int_equal(observed_find(seen, "h0")->ports.items[0].state,
			 OBSERVED_STATE_UP);
	observed_node_fini(&node);
	observed_free(seen);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_request_is_told_what_is_wrong),
		cmocka_unit_test(without_a_plan_there_is_health_only),
		cmocka_unit_test(a_job_is_looked_up_with_the_factors_of_its_links),
		cmocka_unit_test(an_interface_is_looked_up_in_both_directions),
		cmocka_unit_test(what_changes_at_a_port_is_announced_once),
		cmocka_unit_test(differences_are_announced_as_they_come_and_go),
		cmocka_unit_test(a_new_plan_is_one_change_with_what_is_different),
		cmocka_unit_test(metrics_have_each_link_and_each_kind_of_difference),
		cmocka_unit_test(every_metric_is_in_the_documentation),
		cmocka_unit_test(lldp_tells_name_port_and_speed),
		cmocka_unit_test(no_neighbours_are_told_too),
		cmocka_unit_test(the_other_json_of_lldpcli_is_read_too),
		cmocka_unit_test(speeds_are_read_from_the_names_of_media),
		cmocka_unit_test(reports_written_are_read_back),
		cmocka_unit_test(what_a_report_does_not_say_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
