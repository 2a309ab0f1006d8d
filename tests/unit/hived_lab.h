/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hived_lab.h - cells and pods from hivedscheduler's design example, by name.
 *
 * The library knows gangs; the lab knows the pods of each gang, as the Kubernetes
 * scheduler extender does.
 */
#ifndef TESTS_UNIT_HIVED_LAB_H
#define TESTS_UNIT_HIVED_LAB_H

#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "policies/hived/cells.h"
#include "tests/unit/test.h"

#define HIVED_PODS 4 /* Most pods of a gang. */

struct hived_names {
	VEC(char *) list; /* Owned. */
};

struct hived_gang {
	struct cells_request request;
	struct cells_member members[HIVED_PODS];
	struct cells_answer answer; /* The last one; its placement is the gang's. */
	const char *pods[HIVED_PODS];
	uint32_t n_pods; /* That run. */
};

struct hived_lab {
	const cJSON *cluster, *cases;
	struct cells *cells;
	struct hived_names nodes, chains, types, vcs, pins, groups;
	struct hived_gang gangs[64]; /* By group. */
};

static inline uint32_t
hived_find(const struct hived_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->list.n; i++)
		if (strcmp(names->list.items[i], name) == 0)
			return i;
	return CELLS_NONE;
}

static inline uint32_t
hived_name(struct hived_names *names, const char *name)
{
	uint32_t i = hived_find(names, name);

	if (i != CELLS_NONE)
		return i;
	vec_push(&names->list, xstrdup(name));
	return (uint32_t)names->list.n - 1;
}

static inline void
hived_forget(struct hived_names *names)
{
	for (size_t i = 0; i < names->list.n; i++)
		free(names->list.items[i]);
	vec_free(&names->list);
}

/* NULL: the file is not there. */
static inline cJSON *
hived_read(const char *name)
{
	char path[128], *text;
	size_t length;
	struct err err = { 0 };
	cJSON *json = NULL;

	snprintf(path, sizeof path, SHARED_DATA "/golden/hived/%s", name);
	if (file_read(path, 1 << 20, &text, &length, &err) < 0)
		return NULL;
	json = cJSON_Parse(text);
	assert_non_null(json);
	free(text);
	return json;
}

static inline const char *
hived_str(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));

	return text ? text : "";
}

static inline uint32_t
hived_int(const cJSON *object, const char *key)
{
	return (uint32_t)cJSON_GetObjectItem(object, key)->valueint;
}

/* 'array' may be NULL. */
static inline const cJSON *
hived_first(const cJSON *array)
{
	return array ? array->child : NULL;
}

/* ---- The cluster ----------------------------------------------------------------- */

static inline const cJSON *
hived_type(const struct hived_lab *lab, const char *type)
{
	const cJSON *physical = cJSON_GetObjectItem(lab->cluster, "physicalCluster");

	return cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItem(physical, "cellTypes"), type);
}

/* A type that is not described is a GPU's. */
static inline uint32_t
hived_level(const struct hived_lab *lab, const char *type)
{
	const cJSON *spec = hived_type(lab, type);

	return spec ? 1 + hived_level(lab, hived_str(spec, "childCellType")) : 1;
}

static inline struct cells_shape
hived_shape(struct hived_lab *lab, const char *type)
{
	struct cells_shape shape = { .n_levels = hived_level(lab, type) };
	const cJSON *spec;

	for (uint32_t l = shape.n_levels; (spec = hived_type(lab, type)); l--) {
		shape.n_children[l] = hived_int(spec, "childCellNumber");
		if (cJSON_IsTrue(cJSON_GetObjectItem(spec, "isNodeLevel")))
			shape.node_level = l;
		type = hived_str(spec, "childCellType");
	}
	shape.leaf_type = hived_name(&lab->types, type);
	return shape;
}

struct hived_pin {
	uint32_t chain, level;
	struct cells_leaf leaf;
};

struct hived_tree {
	struct hived_lab *lab;
	uint32_t chain, node;
	VEC(struct cells_leaf) leaves;
	struct hived_pin pins[8];
};

/* Lists the GPUs of a cell; 'spec' may be NULL.  Addresses default to places. */
static inline void
hived_walk(struct hived_tree *tree, const cJSON *spec, const char *type, uint32_t place)
{
	const cJSON *type_spec = hived_type(tree->lab, type), *child;
	const cJSON *address = cJSON_GetObjectItem(spec, "cellAddress");
	size_t first = tree->leaves.n;
	const char *pin = hived_str(spec, "pinnedCellId");

	if (!type_spec) {
		uint32_t index = address ? (uint32_t)address->valueint : place;

		vec_push(&tree->leaves, ((struct cells_leaf){ tree->node, index }));
	} else {
		uint32_t n = hived_int(type_spec, "childCellNumber");

		if (cJSON_IsTrue(cJSON_GetObjectItem(type_spec, "isNodeLevel"))) {
			tree->node =
				hived_name(&tree->lab->nodes, address->valuestring);
			place = 0;
		}
		child = cJSON_GetArrayItem(cJSON_GetObjectItem(spec, "cellChildren"),
					   0);
		for (uint32_t i = 0; i < n; i++) {
			hived_walk(tree, child, hived_str(type_spec, "childCellType"),
				   place * n + i);
			child = child ? child->next : NULL;
		}
	}
	if (*pin)
		tree->pins[hived_name(&tree->lab->pins, pin)] =
			(struct hived_pin){ tree->chain, hived_level(tree->lab, type),
					    tree->leaves.items[first] };
}

static inline void
hived_add_vc(struct hived_lab *lab, const cJSON *vc, const struct hived_tree *tree)
{
	uint32_t number = hived_name(&lab->vcs, vc->string);
	const cJSON *item;

	for (item = hived_first(cJSON_GetObjectItem(vc, "virtualCells")); item;
	     item = item->next) {
		const char *path = hived_str(item, "cellType");
		const char *dot = strrchr(path, '.');
		char chain[64] = "";

		memcpy(chain, path, strcspn(path, "."));
		cells_add_quota(lab->cells, number, hived_find(&lab->chains, chain),
				hived_level(lab, dot ? dot + 1 : path),
				hived_int(item, "cellNumber"));
	}
	for (item = hived_first(cJSON_GetObjectItem(vc, "pinnedCells")); item;
	     item = item->next) {
		const struct hived_pin *pin = &tree->pins[hived_find(
			&lab->pins, hived_str(item, "pinnedCellId"))];

		cells_pin(lab->cells, number, pin->chain, pin->level, pin->leaf);
	}
}

static inline int
hived_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

/* Builds the cells of 'cluster'; nodes begin bad, and then get healthy one by one. */
static inline int
hived_build(struct hived_lab *lab, const cJSON *cluster)
{
	const cJSON *spec, *specs, *vc;
	struct hived_tree tree = { .lab = lab };
	int r;

	cells_free(lab->cells);
	lab->cells = cells_new();
	lab->cluster = cluster;
	hived_forget(&lab->chains);
	specs = cJSON_GetObjectItem(cJSON_GetObjectItem(cluster, "physicalCluster"),
				    "physicalCells");
	for (spec = hived_first(specs); spec; spec = spec->next)
		hived_name(&lab->chains, hived_str(spec, "cellType"));
	qsort(lab->chains.list.items, lab->chains.list.n,
	      sizeof *lab->chains.list.items, hived_compare_names);
	for (size_t i = 0; i < lab->chains.list.n; i++) {
		struct cells_shape shape = hived_shape(lab, lab->chains.list.items[i]);

		cells_add_chain(lab->cells, &shape);
	}
	for (spec = hived_first(specs); spec; spec = spec->next) {
		const char *type = hived_str(spec, "cellType");

		tree.leaves.n = 0;
		tree.chain = hived_find(&lab->chains, type);
		hived_walk(&tree, spec, type, 0);
		cells_add_physical(lab->cells, tree.chain, tree.leaves.items);
	}
	vec_free(&tree.leaves);
	for (vc = hived_first(cJSON_GetObjectItem(cluster, "virtualClusters")); vc;
	     vc = vc->next)
		cells_add_vc(lab->cells);
	for (vc = hived_first(cJSON_GetObjectItem(cluster, "virtualClusters")); vc;
	     vc = vc->next)
		hived_add_vc(lab, vc, &tree);
	r = cells_ready(lab->cells);
	for (int healthy = 0; r == 0 && healthy < 2; healthy++)
		for (uint32_t i = 0; i < lab->nodes.list.n; i++)
			cells_set_node(lab->cells, i, healthy);
	return r;
}

/* Forgets all gangs. */
static inline void
hived_clear(struct hived_lab *lab)
{
	for (size_t i = 0; i < sizeof lab->gangs / sizeof *lab->gangs; i++) {
		cells_answer_fini(&lab->gangs[i].answer);
		lab->gangs[i] = (struct hived_gang){ 0 };
	}
}

static inline void
hived_fini(struct hived_lab *lab)
{
	hived_clear(lab);
	cells_free(lab->cells);
	hived_forget(&lab->nodes);
	hived_forget(&lab->chains);
	hived_forget(&lab->types);
	hived_forget(&lab->vcs);
	hived_forget(&lab->pins);
	hived_forget(&lab->groups);
}

/* ---- Pods ------------------------------------------------------------------------ */

static inline const cJSON *
hived_pod(const struct hived_lab *lab, const char *name)
{
	const cJSON *pod;

	for (pod = hived_first(cJSON_GetObjectItem(lab->cases, "pods")); pod;
	     pod = pod->next)
		if (strcmp(hived_str(pod, "pod"), name) == 0)
			return pod;
	fail_msg("there is no %s", name);
	return NULL;
}

static inline struct hived_gang *
hived_gang(struct hived_lab *lab, const char *pod)
{
	return &lab->gangs[hived_name(&lab->groups,
				      hived_str(hived_pod(lab, pod), "group"))];
}

/* Fills the request of a pod's gang; false: the pod is none of it. */
static inline bool
hived_request(struct hived_lab *lab, const char *name, const bool *suggested)
{
	const cJSON *pod = hived_pod(lab, name), *member;
	struct hived_gang *gang = hived_gang(lab, name);
	const char *pin = hived_str(pod, "pinned"), *type = hived_str(pod, "leaf_type");
	bool is_in = false;

	gang->request = (struct cells_request){
		.gang = (uint32_t)(gang - lab->gangs),
		.vc = hived_find(&lab->vcs, hived_str(pod, "vc")),
		.pinned = *pin ? hived_find(&lab->pins, pin) : CELLS_NONE,
		.leaf_type = *type ? hived_find(&lab->types, type) : CELLS_NONE,
		.priority = atoi(hived_str(pod, "priority")),
		.is_lazy = cJSON_IsTrue(cJSON_GetObjectItem(pod, "lazy_preemption")),
		.members = gang->members,
		.suggested = suggested,
	};
	if (*pin && gang->request.pinned == CELLS_NONE)
		gang->request.pinned = (uint32_t)lab->pins.list.n;
	for (member = hived_first(cJSON_GetObjectItem(
		     cJSON_GetObjectItem(lab->cases, "groups_pods_x_leaf_cells"),
		     hived_str(pod, "group")));
	     member; member = member->next) {
		struct cells_member *m = &gang->members[gang->request.n_members++];

		m->n_pods = (uint32_t)cJSON_GetArrayItem(member, 0)->valueint;
		m->n_leaves = (uint32_t)cJSON_GetArrayItem(member, 1)->valueint;
		is_in |= m->n_leaves == hived_int(pod, "n");
	}
	return is_in;
}

/* Schedules a pod, with its gang if that is new.  Returns an outcome or -EINVAL. */
static inline int
hived_schedule(struct hived_lab *lab, const char *name, const bool *suggested)
{
	struct hived_gang *gang = hived_gang(lab, name);
	uint32_t id = (uint32_t)(gang - lab->gangs);

	if (cells_hold(lab->cells, id) == CELLS_RESERVING) {
		int r = cells_resume(lab->cells, id, suggested, &gang->answer);

		if (r != CELLS_WAITS)
			return r;
	} else if (cells_hold(lab->cells, id) != CELLS_ABSENT) {
		return CELLS_FITS;
	}
	if (!hived_request(lab, name, suggested))
		return -EINVAL;
	return cells_claim(lab->cells, &gang->request, &gang->answer);
}

/* The place of a pod's GPUs, the next of its size; and the pod's number. */
static inline const struct cells_leaf *
hived_leaves(struct hived_lab *lab, const char *name, uint32_t *ret_pod)
{
	const struct hived_gang *gang = hived_gang(lab, name);
	const struct cells_placement *placement = &gang->answer.placement;
	const struct cells_leaf *leaves = placement->leaves.items;
	uint32_t n = hived_int(hived_pod(lab, name), "n");

	for (uint32_t i = 0; i < placement->pods.n; i++) {
		*ret_pod = i;
		if (placement->pods.items[i] == n && !gang->pods[i])
			return leaves;
		leaves += placement->pods.items[i];
	}
	fail_msg("no place for %s", name);
	return NULL;
}

/* Lets a pod run where it was scheduled. */
static inline void
hived_run(struct hived_lab *lab, const char *name)
{
	struct hived_gang *gang = hived_gang(lab, name);
	uint32_t pod = 0;

	hived_leaves(lab, name, &pod);
	if (!gang->n_pods++)
		cells_begin(lab->cells, &gang->request, &gang->answer.placement);
	gang->pods[pod] = name;
}

/* Ends a pod, and its gang with the last. */
static inline void
hived_end(struct hived_lab *lab, const char *name)
{
	struct hived_gang *gang = hived_gang(lab, name);

	for (uint32_t i = 0; i < HIVED_PODS; i++)
		if (gang->pods[i] && strcmp(gang->pods[i], name) == 0) {
			gang->pods[i] = NULL;
			gang->n_pods--;
		}
	if (!gang->n_pods)
		cells_end(lab->cells, (uint32_t)(gang - lab->gangs));
}

#endif
