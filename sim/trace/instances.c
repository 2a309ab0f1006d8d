/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/instances.h"

#include <math.h>

#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "sim/trace/jobtrace.h"

struct task {
	double start_s, end_s; /* NAN: unknown. */
	uint32_t n_machines;
};

struct instances {
	struct strtab *names, *machines;
	VEC(struct task) tasks; /* By number of their names. */
	VEC(uint64_t) places;   /* Task and machine, the latter in the lower half. */
	struct strbuf key;
};

struct instances *
instances_new(void)
{
	struct instances *instances = xcalloc(1, sizeof *instances);

	instances->names = strtab_new();
	instances->machines = strtab_new();
	return instances;
}

void
instances_free(struct instances *instances)
{
	if (!instances)
		return;
	strtab_free(instances->names);
	strtab_free(instances->machines);
	vec_free(&instances->tasks);
	vec_free(&instances->places);
	strbuf_free(&instances->key);
	free(instances);
}

/* Names have no control characters. */
static void
put_key(struct strbuf *key, const struct jobtrace_job *job)
{
	strbuf_clear(key);
	strbuf_printf(key, "%s\n%s", job->id, job->model);
}

void
instances_add(struct instances *instances, const struct jobtrace_job *instance)
{
	struct task *task;
	uint64_t number;

	if (isnan(instance->start_s))
		return;
	put_key(&instances->key, instance);
	number = strtab_intern(instances->names, instances->key.text);
	if (number == instances->tasks.n)
		vec_push(&instances->tasks, ((struct task){ NAN, NAN, 0 }));
	task = &instances->tasks.items[number];
	task->start_s = fmin(task->start_s, instance->start_s);
	task->end_s = fmax(task->end_s, instance->end_s);
	if (*instance->vc)
		vec_push(&instances->places,
			 number << 32 |
				 strtab_intern(instances->machines, instance->vc));
}

void
instances_seal(struct instances *instances)
{
	const uint64_t *places = instances->places.items;

	sort_items(instances->places.items, instances->places.n, sort_by_u64);
	for (size_t i = 0; i < instances->places.n; i++)
		if (!i || places[i] != places[i - 1])
			instances->tasks.items[places[i] >> 32].n_machines++;
	vec_free(&instances->places);
}

bool
instances_apply(const struct instances *instances, struct jobtrace_job *task)
{
	struct strbuf key = STRBUF_EMPTY;
	const struct task *found;
	uint32_t number;

	put_key(&key, task);
	number = strtab_find(instances->names, key.text);
	strbuf_free(&key);
	if (number == STRTAB_NONE)
		return false;
	found = &instances->tasks.items[number];
	if (isnan(task->submit_s))
		task->submit_s = found->start_s;
	task->start_s = found->start_s;
	task->end_s = found->end_s;
	task->duration_s =
		found->end_s >= found->start_s ? found->end_s - found->start_s : NAN;
	task->n_nodes = found->n_machines;
	return true;
}
