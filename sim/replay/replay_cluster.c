/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay_cluster.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "policies/stages.h"

#define MAX_NODES 65536
#define MAX_NAME  31
#define MAX_GIB   1e6

/* ---- The cluster ----------------------------------------------------------------- */

struct part {
	unsigned n_nodes, n_gpus, rack;
	char type[MAX_NAME + 1]; /* "": unnamed. */
};

typedef VEC(uint32_t) u32_vec;

struct building {
	u32_vec gpus, racks, types;
	uint64_t n_gpus;
};

/* Reads digits: a number above 0 and at most 'most'. */
static bool
read_number(const char **text, unsigned most, unsigned *ret_number)
{
	unsigned n = 0;

	for (; **text >= '0' && **text <= '9'; ++*text) {
		n = n * 10 + (unsigned)(**text - '0');
		if (n > most)
			return false;
	}
	*ret_number = n;
	return n > 0;
}

static bool
read_type(const char *text, char *ret_type)
{
	size_t n = strlen(text);

	if (!n || n > MAX_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	memcpy(ret_type, text, n + 1);
	return true;
}

static bool
read_part(const char *text, struct part *ret_part)
{
	*ret_part = (struct part){ 0 };
	if (!read_number(&text, MAX_NODES, &ret_part->n_nodes) || *text++ != 'x' ||
	    !read_number(&text, JOBTRACE_MAX_GPUS, &ret_part->n_gpus))
		return false;
	if (*text == '/') {
		text++;
		if (!read_number(&text, MAX_NODES, &ret_part->rack))
			return false;
	}
	if (*text == ':')
		return read_type(text + 1, ret_part->type);
	return !*text;
}

static bool
add_part(const char *text, struct replay_cluster *c, struct building *b)
{
	struct part part;
	uint32_t type = 0, rack = b->racks.n ? b->racks.items[b->racks.n - 1] + 1 : 0;

	if (!read_part(text, &part))
		return false;
	/* All types have names, or none has. */
	if (b->gpus.n && !part.type[0] != !strtab_n(c->types))
		return false;
	if (part.type[0])
		type = strtab_intern(c->types, part.type);
	b->n_gpus += (uint64_t)part.n_nodes * part.n_gpus;
	if (type >= REPLAY_MOST_TYPES || b->gpus.n + part.n_nodes > MAX_NODES ||
	    b->n_gpus > UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < part.n_nodes; i++) {
		vec_push(&b->gpus, part.n_gpus);
		vec_push(&b->types, type);
		vec_push(&b->racks, rack + (part.rack ? i / part.rack : 0));
	}
	return true;
}

int
replay_cluster_parse(const char *text, struct replay_cluster *ret_cluster,
		     struct err *err)
{
	struct building b = { 0 };
	char *copy = xstrdup(text), *rest = copy;
	bool is_fine = true;

	*ret_cluster = (struct replay_cluster){ .types = strtab_new() };
	while (is_fine && rest)
		is_fine = add_part(strsep(&rest, ","), ret_cluster, &b);
	free(copy);
	if (is_fine)
		ret_cluster->cluster = (struct pol_cluster){
			.n_nodes = (uint32_t)b.gpus.n,
			.n_racks = b.racks.items[b.racks.n - 1] + 1,
			.n_types = strtab_n(ret_cluster->types)
					   ? strtab_n(ret_cluster->types)
					   : 1,
			.n_gpus = b.gpus.items,
			.rack_of = b.racks.items,
			.type_of = b.types.items,
			.n_all_gpus = (uint32_t)b.n_gpus,
		};
	if (is_fine)
		return 0;
	vec_free(&b.gpus);
	vec_free(&b.racks);
	vec_free(&b.types);
	replay_cluster_fini(ret_cluster);
	return err_set(err, NULL, 0, 0,
		       "the cluster is '%.40s', expected NODESxGPUS, "
		       "NODESxGPUS/NODES_PER_RACK or parts with types of GPUs, such "
		       "as 8x8, 64x8/16 or 2x4:v100,2x4:k80",
		       text);
}

/* Reads "80" or "80/128". */
static bool
read_memory(const char *text, struct needs *ret_capacity)
{
	double *gpu = &ret_capacity->of[NEED_GPU_MEMORY];
	double *node = &ret_capacity->of[NEED_MEMORY];
	char *end;

	*gpu = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || !(*gpu > 0 && *gpu <= MAX_GIB))
		return false;
	if (!*end)
		return true;
	text = end + 1;
	if (*end != '/' || !isdigit((unsigned char)*text))
		return false;
	*node = strtod(text, &end);
	return !*end && *node > 0 && *node <= MAX_GIB;
}

int
replay_cluster_set_memory(struct replay_cluster *cluster, const char *text,
			  struct err *err)
{
	uint32_t n_types = cluster->cluster.n_types, n = 0;
	struct needs *capacity = xcalloc(n_types, sizeof *capacity);
	char *copy = xstrdup(text), *rest = copy;
	bool is_fine = true;

	while (is_fine && rest) {
		const char *part = strsep(&rest, ",");

		is_fine = n < n_types && read_memory(part, &capacity[n++]);
	}
	free(copy);
	for (uint32_t type = 1; is_fine && n == 1 && type < n_types; type++)
		capacity[type] = capacity[0];
	cluster->cluster.capacity = capacity;
	if (is_fine && (n == 1 || n == n_types))
		return 0;
	return err_set(
		err, NULL, 0, 0,
		"the memory is '%.40s', expected GiB of a GPU, such as 80, and of "
		"a node for each of its GPUs, such as 80/128, once or for each "
		"type of GPUs",
		text);
}

size_t
replay_cluster_fit(const struct replay_cluster *cluster, double factor,
		   struct joblist *list)
{
	const struct needs *capacity = cluster->cluster.capacity, *least = capacity;
	size_t n_grown = 0;

	for (uint32_t type = 1; type < cluster->cluster.n_types; type++)
		if (capacity[type].of[NEED_GPU_MEMORY] < least->of[NEED_GPU_MEMORY])
			least = &capacity[type];
	for (size_t i = 0; i < list->n; i++) {
		struct cluster_job *job = &list->jobs[i];
		double *memory = &job->needs.of[NEED_GPU_MEMORY];
		uint32_t n;

		*memory *= factor;
		n = needs_least_gpus(&job->needs, job->n_gpus, least);
		if (n <= job->n_gpus)
			continue;
		*memory *= (double)job->n_gpus / n;
		job->n_gpus = n;
		job->max_gpus = n > job->max_gpus ? n : job->max_gpus;
		n_grown++;
	}
	return n_grown;
}

uint32_t
replay_cluster_most(const struct replay_cluster *cluster)
{
	uint32_t most = 0;

	for (uint32_t type = 0; type < cluster->cluster.n_types; type++) {
		uint32_t n = pol_cluster_gpus(&cluster->cluster, type);

		most = n > most ? n : most;
	}
	return most;
}

void
replay_cluster_fini(struct replay_cluster *cluster)
{
	free((void *)cluster->cluster.n_gpus);
	free((void *)cluster->cluster.rack_of);
	free((void *)cluster->cluster.type_of);
	free((void *)cluster->cluster.capacity);
	strtab_free(cluster->types);
	*cluster = (struct replay_cluster){ 0 };
}

/* ---- Speeds ---------------------------------------------------------------------- */

/*
 * Completes a job by its steps per second.  False if it was not measured on a type, or
 * has no known duration.
 */
static bool
find_job(const struct throughputs *table, const uint32_t *types, uint32_t n_types,
	 const char *model, struct cluster_job *job, double *ret_speeds)
{
	uint32_t key = throughputs_key(table, model, job->batch, job->n_gpus);
	double first = throughputs_of(table, types[0], key);

	for (uint32_t t = 0; t < n_types; t++) {
		double steps_s = throughputs_of(table, types[t], key);

		if (!(steps_s > 0) || !(first > 0))
			return false;
		ret_speeds[t] = steps_s / first;
	}
	if (isnan(job->duration_s))
		job->duration_s = job->iterations / first;
	if (isnan(job->iteration_s))
		job->iteration_s = 1 / first;
	return job->duration_s > 0 && isfinite(job->duration_s);
}

int
replay_speeds_find(const struct throughputs *table,
		   const struct replay_cluster *cluster, struct joblist *list,
		   struct replay_speeds *ret_speeds, struct err *err)
{
	uint32_t n_types = strtab_n(cluster->types), types[REPLAY_MOST_TYPES];
	size_t n = 0;

	*ret_speeds = (struct replay_speeds){ .n_types = n_types };
	for (uint32_t t = 0; t < n_types; t++) {
		types[t] = throughputs_type(table, strtab_name(cluster->types, t));
		if (types[t] == THROUGHPUTS_NONE)
			return err_set(err, NULL, 0, 0,
				       "--throughputs has no type of GPUs '%s'",
				       strtab_name(cluster->types, t));
	}
	ret_speeds->items = xcalloc(list->n * n_types + 1, sizeof(double));
	for (size_t i = 0; i < list->n; i++) {
		struct cluster_job *job = &list->jobs[i];

		if (!find_job(table, types, n_types, joblist_model(list, job->model),
			      job, ret_speeds->items + n * n_types)) {
			ret_speeds->n_dropped++;
			continue;
		}
		replay_batches_add(&ret_speeds->batches, table, types[0],
				   joblist_model(list, job->model), job);
		list->jobs[n] = *job;
		list->id_at[n++] = list->id_at[i];
	}
	list->n = n;
	list->n_no_duration = 0;
	return 0;
}

void
replay_speeds_fini(struct replay_speeds *speeds)
{
	free(speeds->items);
	replay_batches_fini(&speeds->batches);
	*speeds = (struct replay_speeds){ 0 };
}

/* Independent of the number of nodes; with jobs on the same GPUs as in stages.h. */
static double
speed_on(void *ctx, const struct pol_job *job, uint32_t n_gpus, uint32_t n_nodes,
	 uint32_t type, const struct pol_job *const *mates, uint32_t n_mates)
{
	const struct replay_speeds *speeds = ctx;

	return speeds->items[(size_t)job->id * speeds->n_types + type] *
	       stages_speed(NULL, job, n_gpus, n_nodes, type, mates, n_mates);
}

struct cluster_work
replay_speeds_work(const struct replay_speeds *speeds)
{
	return (struct cluster_work){
		.speed = { .ctx = (void *)speeds, .speed = speed_on },
		.report = { .ctx = (void *)&speeds->batches,
			    .regimes = replay_batches_report },
	};
}
