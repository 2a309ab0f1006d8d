/* SPDX-License-Identifier: Apache-2.0 */
/* test_kueue.c - topology assignments of Kueue's Workloads */
#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"
#include "topology/kueue.h"

#define WORKLOAD(sets)                                                                   \
	"{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\","              \
	"\"status\":{\"admission\":{\"clusterQueue\":\"q\",\"podSetAssignments\":[" sets \
	"]}}}"
#define ASSIGNED(level, text) \
	"{\"name\":\"main\",\"topologyAssignment\":{\"levels\":[" level "]," text "}}"
#define HOSTNAME "\"kubernetes.io/hostname\""

static int
take(void *ctx, const char *name)
{
	struct strbuf *names = ctx;

	strbuf_printf(names, "%s%s", names->length ? "," : "", name);
	return 0;
}

static void
assert_nodes(const char *text, const char *wanted)
{
	struct strbuf names = STRBUF_EMPTY;
	struct err err = { .text = "" };

	if (kueue_nodes_read("w", text, strlen(text), 10, take, &names, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	assert_string_equal(names.text, wanted);
	strbuf_free(&names);
}

static void
assert_refused(const char *text, int r, const char *part)
{
	struct strbuf names = STRBUF_EMPTY;
	struct err err = { .text = "" };

	assert_int_equal(
		kueue_nodes_read("w", text, strlen(text), 2, take, &names, &err), r);
	if (!strstr(err.text, part))
		fail_msg("'%s' instead of '%s'", err.text, part);
	strbuf_free(&names);
}

static void
domains_of_v1beta1_are_read(void **state)
{
	(void)state;
	assert_nodes(
		WORKLOAD(ASSIGNED(HOSTNAME,
				  "\"domains\":[{\"values\":[\"n01\"],\"count\":4},"
				  "{\"values\":[\"n02\"],\"count\":2}]")),
		"n01,n02");
	/* Older versions name the levels above, too. */
	assert_nodes(WORKLOAD(ASSIGNED("\"example.com/rack\"," HOSTNAME,
				       "\"domains\":[{\"values\":[\"r1\",\"n01\"],"
				       "\"count\":1}]")),
		     "n01");
}

static void
slices_of_v1beta2_are_read(void **state)
{
	(void)state;
	assert_nodes(
		WORKLOAD(ASSIGNED(
			HOSTNAME,
			"\"slices\":[{\"domainCount\":2,\"valuesPerLevel\":[{\"prefix\":"
			"\"block-1-\",\"roots\":[\"a\",\"b\"],\"suffix\":\".x\"}],"
			"\"universalPodCount\":1},{\"domainCount\":1,\"valuesPerLevel\":"
			"[{\"universalValue\":\"n9\"}],\"podCounts\":[3]}]")),
		"block-1-a.x,block-1-b.x,n9");
}

static void
pod_sets_are_joined_and_a_node_is_told_once(void **state)
{
	(void)state;
	assert_nodes(
		"{\"kind\":\"List\",\"items\":[" WORKLOAD(ASSIGNED(
			HOSTNAME,
			"\"domains\":[{\"values\":[\"n1\"]}]") ","
							       "{\"name\":\"none\"}," ASSIGNED(
								       HOSTNAME,
								       "\"domains\":[{\"values\":[\"n2\"]},"
								       "{\"values\":[\"n1\"]}]")) "]}",
		"n1,n2");
}

static void
what_names_no_nodes_is_refused(void **state)
{
	(void)state;
	assert_refused("{\"kind\":\"Pod\"}", -EINVAL, "expected a Workload of Kueue");
	assert_refused("{\"kind\":\"List\",\"items\":[]}", -EINVAL, "has 0 Workloads");
	assert_refused("{\"kind\":\"Workload\"}", -EINVAL, "has no status");
	assert_refused("{\"kind\":\"Workload\",\"status\":{\"admission\":null}}",
		       -EINVAL, "is not admitted yet");
	assert_refused(WORKLOAD("{\"name\":\"main\"}"), -EINVAL,
		       "has no topologyAssignment");
	assert_refused(WORKLOAD(ASSIGNED("\"example.com/rack\"",
					 "\"domains\":[{\"values\":[\"r1\"]}]")),
		       -EINVAL, "assigned domains of 'example.com/rack', not Nodes");
}

static void
contradictions_are_refused(void **state)
{
	(void)state;
	assert_refused(WORKLOAD(ASSIGNED("", "\"domains\":[]")), -EINVAL,
		       "levels is empty");
	assert_refused(WORKLOAD(ASSIGNED(HOSTNAME,
					 "\"domains\":[{\"values\":[\"a\",\"b\"]}]")),
		       -EINVAL, "values has 2 elements");
	assert_refused(WORKLOAD(ASSIGNED(HOSTNAME,
					 "\"slices\":[{\"domainCount\":2,"
					 "\"valuesPerLevel\":[{\"roots\":[\"a\"]}]}]")),
		       -EINVAL, "1 roots, expected one for each of the 2 domains");
	assert_refused(
		WORKLOAD(ASSIGNED(HOSTNAME, "\"domains\":[{\"values\":[\"a b\"]}]")),
		-EINVAL, "is not a Node's name");
	assert_refused(
		WORKLOAD(ASSIGNED(HOSTNAME,
				  "\"slices\":[{\"domainCount\":3,\"valuesPerLevel\":["
				  "{\"roots\":[\"a\",\"b\",\"c\"]}]}]")),
		-E2BIG, "more than 2 Nodes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_of_v1beta1_are_read),
		cmocka_unit_test(slices_of_v1beta2_are_read),
		cmocka_unit_test(pod_sets_are_joined_and_a_node_is_told_once),
		cmocka_unit_test(what_names_no_nodes_is_refused),
		cmocka_unit_test(contradictions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
