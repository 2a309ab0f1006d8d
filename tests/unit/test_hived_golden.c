/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placements, preemptions and failures of hivedscheduler's design example, exactly as
 * in its public unit test (figures only, in ../shared/data/golden/hived).
 */
#include <unistd.h>

#include "tests/unit/hived_lab.h"

struct golden {
	cJSON *cluster, *cases;
	struct hived_lab lab;
	uint32_t n_bound, n_preempted, n_failed; /* Cases that were met. */
};

static int
begin(void **state)
{
	struct golden *g = xcalloc(1, sizeof *g);

	*state = g;
	g->cluster = hived_read("cluster.json");
	g->cases = hived_read("cases.json");
	if (!g->cases || !g->cluster)
		return 0;
	g->lab.cases = g->cases;
	assert_int_equal(hived_build(&g->lab, g->cluster), 0);
	return 0;
}

static int
end(void **state)
{
	struct golden *g = *state;

	hived_fini(&g->lab);
	cJSON_Delete(g->cluster);
	cJSON_Delete(g->cases);
	free(g);
	return 0;
}

static struct golden *
golden(void **state)
{
	struct golden *g = *state;

	if (!g->cases || !g->cluster) {
		print_message("%s is absent\n", SHARED_DATA "/golden/hived");
		skip();
	}
	return g;
}

/* ---- Expected values ------------------------------------------------------------- */

static void
check_binding(struct golden *g, const char *pod, const cJSON *want)
{
	const cJSON *indices = cJSON_GetObjectItem(want, "cells"), *index;
	uint32_t number;
	const struct cells_leaf *leaf = hived_leaves(&g->lab, pod, &number);

	assert_int_equal(cJSON_GetArraySize(indices),
			 hived_int(hived_pod(&g->lab, pod), "n"));
	for (index = hived_first(indices); index; index = index->next) {
		const char *node = g->lab.nodes.list.items[leaf->node];

		if (strcmp(node, hived_str(want, "node")) != 0 ||
		    leaf->index != (uint32_t)index->valueint)
			fail_msg("%s is on %s:%u, not on %s:%d", pod, node, leaf->index,
				 hived_str(want, "node"), index->valueint);
		leaf++;
	}
	g->n_bound++;
}

/* The running pods of all victims are these, and no others. */
static void
check_victims(struct golden *g, const char *pod, const cJSON *want)
{
	const struct cells_answer *answer = &hived_gang(&g->lab, pod)->answer;
	int n = 0;

	for (size_t i = 0; i < answer->victims.n; i++) {
		const struct hived_gang *victim =
			&g->lab.gangs[answer->victims.items[i]];

		for (int k = 0; k < HIVED_PODS; k++) {
			const cJSON *name;
			bool found = false;

			if (!victim->pods[k])
				continue;
			for (name = hived_first(want); name; name = name->next)
				found |=
					strcmp(name->valuestring, victim->pods[k]) == 0;
			if (!found)
				fail_msg("%s preempts %s", pod, victim->pods[k]);
			n++;
		}
	}
	assert_int_equal(n, cJSON_GetArraySize(want));
	g->n_preempted++;
}

/* Schedules a pod on these nodes, and compares; returns the outcome. */
static int
schedule_on(struct golden *g, const char *pod, const bool *suggested)
{
	const cJSON *binding = cJSON_GetObjectItem(
		cJSON_GetObjectItem(g->cases, "expected_bindings"), pod);
	const cJSON *victims = cJSON_GetObjectItem(
		cJSON_GetObjectItem(g->cases, "expected_preemption"), pod);
	int r = hived_schedule(&g->lab, pod, suggested);

	if (r != (binding ? CELLS_FITS : victims ? CELLS_PREEMPTS : CELLS_WAITS))
		fail_msg("%s: outcome %d", pod, r);
	if (binding)
		check_binding(g, pod, binding);
	if (victims)
		check_victims(g, pod, victims);
	return r;
}

static int
schedule(struct golden *g, const char *pod)
{
	return schedule_on(g, pod, NULL);
}

/* ---- Cases ----------------------------------------------------------------------- */

static void
succeed(struct golden *g)
{
	const cJSON *pod;

	for (pod = hived_first(cJSON_GetObjectItem(g->cases, "succeed_in_order")); pod;
	     pod = pod->next)
		if (schedule(g, pod->valuestring) == CELLS_FITS)
			hived_run(&g->lab, pod->valuestring);
}

static void
end_all(struct golden *g)
{
	for (int i = 63; i >= 0; i--) {
		struct hived_gang *gang = &g->lab.gangs[i];

		for (int k = 0; k < HIVED_PODS; k++)
			if (gang->pods[k])
				hived_end(&g->lab, gang->pods[k]);
		cells_end(g->lab.cells, (uint32_t)i);
		assert_int_equal(cells_hold(g->lab.cells, (uint32_t)i), CELLS_ABSENT);
	}
}

static void
pods_are_placed_and_preempted_in_order(void **state)
{
	struct golden *g = golden(state);

	succeed(g);
	assert_int_equal(g->n_bound, 16);
	assert_int_equal(schedule(g, "pod26"), CELLS_PREEMPTS);
	assert_int_equal(g->n_preempted, 3);
	end_all(g);
	/* All cells have merged: everything is placed again. */
	hived_clear(&g->lab);
	assert_int_equal(hived_schedule(&g->lab, "pod18", NULL), CELLS_FITS);
}

static void
wrong_requests_fail(void **state)
{
	struct golden *g = golden(state);
	const cJSON *pods, *pod;
	int n = 0;

	succeed(g);
	for (pods = hived_first(cJSON_GetObjectItem(g->cases, "fail")); pods;
	     pods = pods->next) {
		for (pod = hived_first(pods); pod; pod = pod->next)
			assert_int_equal(
				hived_schedule(&g->lab, pod->valuestring, NULL),
				-EINVAL);
		n++;
	}
	assert_int_equal(n, 5);
}

static bool *
nodes_of(struct hived_lab *lab, const char *const *names)
{
	static bool nodes[64];

	memset(nodes, 0, sizeof nodes);
	for (; *names; names++)
		nodes[hived_find(&lab->nodes, *names)] = true;
	return nodes;
}

#define NODES(...) nodes_of(lab, (const char *const[]){ __VA_ARGS__, NULL })

static bool *
all_but(struct hived_lab *lab, const char *name)
{
	static bool nodes[64];

	for (size_t i = 0; i < lab->nodes.list.n; i++)
		nodes[i] = strcmp(lab->nodes.list.items[i], name) != 0;
	return nodes;
}

static enum cells_hold
hold(struct golden *g, const char *pod)
{
	return cells_hold(g->lab.cells,
			  (uint32_t)(hived_gang(&g->lab, pod) - g->lab.gangs));
}

static void
only_suggested_nodes_are_used(void **state)
{
	struct golden *g = golden(state);
	struct hived_lab *lab = &g->lab;

	schedule_on(g, "pod36", NODES("0.0.1.0"));
	schedule_on(g, "pod37", NODES("0.0.3.0"));
	hived_run(lab, "pod37");
	schedule_on(g, "pod38", NODES("0.0.3.1"));
	hived_end(lab, "pod37");
	assert_int_equal(g->n_bound, 3);

	/* Both nodes of the pinned cell are needed, and both are enough. */
	assert_int_equal(hived_schedule(lab, "pod27", all_but(lab, "0.0.3.1")),
			 CELLS_WAITS);
	assert_int_equal(hived_schedule(lab, "pod27", NULL), CELLS_FITS);
	hived_run(lab, "pod27");

	/* A search reserves nothing; a claim does, until its nodes are not suggested. */
	hived_request(lab, "pod33", NULL);
	assert_int_equal(cells_find(lab->cells, &hived_gang(lab, "pod33")->request,
				    &hived_gang(lab, "pod33")->answer),
			 CELLS_PREEMPTS);
	assert_int_equal(hold(g, "pod33"), CELLS_ABSENT);
	assert_int_equal(hived_schedule(lab, "pod33", all_but(lab, "0.0.3.1")),
			 CELLS_WAITS);
	assert_int_equal(hold(g, "pod33"), CELLS_ABSENT);
	assert_int_equal(hived_schedule(lab, "pod33", NULL), CELLS_PREEMPTS);
	assert_int_equal(hold(g, "pod33"), CELLS_RESERVING);
	assert_int_equal(hived_schedule(lab, "pod33", all_but(lab, "0.0.3.1")),
			 CELLS_WAITS);
	assert_int_equal(hold(g, "pod33"), CELLS_ABSENT);
}

static cJSON *
vc_cells(cJSON *cluster, const char *vc, int i)
{
	return cJSON_GetArrayItem(
		cJSON_GetObjectItem(
			cJSON_GetObjectItem(
				cJSON_GetObjectItem(cluster, "virtualClusters"), vc),
			"virtualCells"),
		i);
}

static void
set_number(cJSON *cells, int n)
{
	cJSON_SetNumberHelper(cJSON_GetObjectItem(cells, "cellNumber"), n);
}

static void
set_type(cJSON *cells, const char *type)
{
	cJSON_SetValuestring(cJSON_GetObjectItem(cells, "cellType"), type);
}

static void
lazy_preemption_is_reverted_if_no_cells_are_found(void **state)
{
	struct golden *g = golden(state);
	struct hived_lab *lab = &g->lab;

	set_number(vc_cells(g->cluster, "VC1", 0), 0);
	set_number(vc_cells(g->cluster, "VC1", 3), 3);
	assert_int_equal(hived_build(lab, g->cluster), 0);
	schedule_on(g, "pod39", NODES("0.0.3.2", "0.0.3.3"));
	hived_run(lab, "pod39");
	schedule_on(g, "pod40", NODES("0.0.4.3"));
	hived_run(lab, "pod40");
	schedule_on(g, "pod41", NODES("0.0.3.2", "0.0.3.3", "0.0.4.3"));
	assert_int_equal(hold(g, "pod39"), CELLS_GUARANTEED);
	assert_int_equal(hold(g, "pod40"), CELLS_GUARANTEED);
	assert_int_equal(g->n_bound, 2);
}

static void
preemption_reserves_cells(void **state)
{
	struct golden *g = golden(state);
	const cJSON *pod;

	for (pod = hived_first(cJSON_GetObjectItem(g->cases, "stateful_preemption"));
	     pod; pod = pod->next) {
		const char *name = pod->valuestring;

		if (schedule(g, name) == CELLS_FITS)
			hived_run(&g->lab, name);
		if (strcmp(name, "pod33") == 0) {
			/* The others were reserving what it needs. */
			assert_int_equal(hold(g, "pod29"), CELLS_ABSENT);
			assert_int_equal(hold(g, "pod31"), CELLS_ABSENT);
			hived_end(&g->lab, "pod28");
		}
		if (strcmp(name, "pod34") == 0)
			assert_int_equal(hold(g, "pod33"), CELLS_ABSENT);
	}
	assert_int_equal(g->n_bound, 2);
	assert_int_equal(g->n_preempted, 4);

	/* A reservation that ends gives the cells back: as before pod35 came. */
	assert_int_equal(hold(g, "pod35"), CELLS_RESERVING);
	hived_end(&g->lab, "pod35");
	assert_int_equal(hold(g, "pod35"), CELLS_ABSENT);
	assert_int_equal(hold(g, "pod34"), CELLS_GUARANTEED);
	assert_int_equal(hived_schedule(&g->lab, "pod33", NULL), CELLS_WAITS);
	assert_int_equal(hived_schedule(&g->lab, "pod29", NULL), CELLS_FITS);
}

static void
bad_nodes_are_avoided_by_splitting_larger_cells(void **state)
{
	struct golden *g = golden(state);
	struct hived_lab *lab = &g->lab;

	set_number(vc_cells(g->cluster, "VC1", 0), 4);
	set_number(vc_cells(g->cluster, "VC1", 2), 0);
	set_number(vc_cells(g->cluster, "VC1", 3), 0);
	set_type(vc_cells(g->cluster, "VC2", 2), "4-DGX2-V100-NODE.2-DGX2-V100-NODE");
	assert_int_equal(hived_build(lab, g->cluster), 0);
	schedule_on(g, "pod44", NODES("0.0.3.2", "0.0.3.3", "0.0.4.2", "0.0.4.3"));
	hived_run(lab, "pod44");
	cells_set_node(lab->cells, hived_find(&lab->nodes, "0.0.3.3"), false);
	schedule_on(g, "pod45", NODES("0.0.3.2", "0.0.3.3", "0.0.4.2", "0.0.4.3"));
	hived_run(lab, "pod45");
	cells_set_node(lab->cells, hived_find(&lab->nodes, "0.0.4.3"), false);
	/* The other pair of nodes is promised to VC2. */
	schedule_on(g, "pod46",
		    NODES("0.0.3.2", "0.0.3.3", "0.0.4.0", "0.0.4.1", "0.0.4.2",
			  "0.0.4.3"));
	assert_int_equal(g->n_bound, 2);
}

/* ---- Another cluster ------------------------------------------------------------- */

static cJSON *
item(cJSON *array, int i)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(array, "cellChildren"), i);
}

static void
set_address(cJSON *cell, const char *address)
{
	cJSON_SetValuestring(cJSON_GetObjectItem(cell, "cellAddress"), address);
}

/*
 * Nodes have no cells inside, one node is replaced, VC2 has fewer cells, and four nodes
 * are not in a larger cell any more, but four new ones are.
 */
static void
reconfigure(cJSON *cluster)
{
	cJSON *physical = cJSON_GetObjectItem(cluster, "physicalCluster");
	cJSON *cells = cJSON_GetObjectItem(physical, "physicalCells");
	cJSON *type = cJSON_GetObjectItem(cJSON_GetObjectItem(physical, "cellTypes"),
					  "DGX2-V100-NODE");
	cJSON *four = cJSON_GetArrayItem(cells, 8), *node;

	cJSON_SetNumberHelper(cJSON_GetObjectItem(type, "childCellNumber"), 16);
	cJSON_SetValuestring(cJSON_GetObjectItem(type, "childCellType"), "DGX2-V100");
	set_address(item(item(cJSON_GetArrayItem(cells, 7), 0), 0), "0.0.3.100");
	set_number(vc_cells(cluster, "VC2", 0), 1);
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = { "0.0.4.100", "0.0.4.101",
						     "0.0.4.102", "0.0.4.103" };

		node = cJSON_Duplicate(item(item(four, i / 2), i % 2), true);
		cJSON_AddStringToObject(node, "cellType", "DGX2-V100-NODE");
		cJSON_AddItemToArray(cells, node);
		set_address(item(item(four, i / 2), i % 2), names[i]);
	}
}

static void
gangs_in_a_new_cluster_may_be_preempted_lazily(void **state)
{
	struct golden *g = golden(state);
	struct hived_lab *lab = &g->lab;
	const cJSON *pod, *lazy;
	bool was_there[64] = { false };

	succeed(g);
	reconfigure(g->cluster);
	assert_int_equal(hived_build(lab, g->cluster), 0);
	for (pod = hived_first(cJSON_GetObjectItem(g->cases, "succeed_in_order")); pod;
	     pod = pod->next) {
		struct hived_gang *gang = hived_gang(lab, pod->valuestring);

		if (!gang->n_pods || was_there[gang - lab->gangs])
			continue;
		was_there[gang - lab->gangs] = true;
		cells_begin(lab->cells, &gang->request, &gang->answer.placement);
	}
	for (pod = hived_first(cJSON_GetObjectItem(g->cases, "succeed_in_order")); pod;
	     pod = pod->next) {
		const struct hived_gang *gang = hived_gang(lab, pod->valuestring);
		bool yields = gang->n_pods && gang->request.priority < 0;

		if (!gang->n_pods)
			continue;
		for (lazy = hived_first(
			     cJSON_GetObjectItem(g->cases, "lazily_preempted"));
		     lazy; lazy = lazy->next)
			yields |= strcmp(lazy->valuestring, pod->valuestring) == 0;
		if (hold(g, pod->valuestring) !=
		    (yields ? CELLS_AT_WILL : CELLS_GUARANTEED))
			fail_msg("%s: %d", pod->valuestring, hold(g, pod->valuestring));
	}
	end_all(g);
}

static void
cells_of_vcs_have_to_fit(void **state)
{
	struct golden *g = golden(state);

	set_type(vc_cells(g->cluster, "VC1", 0), "CT1-NODE");
	set_type(vc_cells(g->cluster, "VC1", 1), "CT1-NODE.CT1");
	set_number(vc_cells(g->cluster, "VC1", 1), 2);
	assert_int_equal(hived_build(&g->lab, g->cluster), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pods_are_placed_and_preempted_in_order,
						begin, end),
		cmocka_unit_test_setup_teardown(wrong_requests_fail, begin, end),
		cmocka_unit_test_setup_teardown(only_suggested_nodes_are_used, begin,
						end),
		cmocka_unit_test_setup_teardown(
			lazy_preemption_is_reverted_if_no_cells_are_found, begin, end),
		cmocka_unit_test_setup_teardown(preemption_reserves_cells, begin, end),
		cmocka_unit_test_setup_teardown(
			bad_nodes_are_avoided_by_splitting_larger_cells, begin, end),
		cmocka_unit_test_setup_teardown(
			gangs_in_a_new_cluster_may_be_preempted_lazily, begin, end),
		cmocka_unit_test_setup_teardown(cells_of_vcs_have_to_fit, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
