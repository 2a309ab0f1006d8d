/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/profile_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/name.h"
#include "lib/base/strtab.h"

#define MAX_PROFILES 100000

/* Stated bytes and bytes of the phases may differ by this share. */
#define BYTES_TOLERANCE 0.01

static const char *const file_keys[] = { "schema", "profiles", NULL };
static const char *const profile_keys[] = {
	"job",        "period_us",  "period_error_us",     "jitter_us",
	"iterations", "confidence", "bytes_per_iteration", "phases",
	NULL
};
static const char *const phase_keys[] = { "start_us", "duration_us", "gbps", NULL };

void
profile_list_fini(struct profile_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		profile_fini(&list->items[i]);
	free(list->items);
	*list = (struct profile_list){ 0 };
}

void
profile_list_take(struct profile_list *list, struct profile *profile)
{
	/* Room doubles at each power of two: appending is O(1). */
	if ((list->n & (list->n - 1)) == 0)
		list->items = xreallocarray(list->items, list->n ? 2 * list->n : 1,
					    sizeof *list->items);
	list->items[list->n++] = *profile;
	*profile = (struct profile){ 0 };
}

const struct profile *
profile_list_find(const struct profile_list *list, const char *job)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].job, job) == 0)
			return &list->items[i];
	return NULL;
}

static int
parse_phase(const struct json_doc *doc, const struct json *value, int64_t period_us,
	    struct profile_phase *ret_phase, struct err *err)
{
	struct profile_phase phase = { 0 };
	double gbps = 0;

	if (json_as_object(doc, value, err) < 0 ||
	    json_check_keys(doc, value, phase_keys, err) < 0 ||
	    json_get_int(doc, value, "start_us", 0, period_us - 1, &phase.start_us,
			 err) < 0 ||
	    json_get_int(doc, value, "duration_us", 1, period_us, &phase.duration_us,
			 err) < 0 ||
	    json_get_num(doc, value, "gbps", 0, PROFILE_MAX_BPS / 1e9, &gbps, err) < 0)
		return -EINVAL;
	if (phase.duration_us > period_us - phase.start_us)
		return json_fail(doc, json_find(value, "duration_us"), err,
				 "the phase ends after the period of %lld us (split it "
				 "where the period ends)",
				 (long long)period_us);
	if (gbps * 1e9 <= 0)
		return json_fail(doc, json_find(value, "gbps"), err,
				 "a phase needs a rate above 0 (leave it out: between "
				 "phases the demand is zero)");

	phase.rate_bps = gbps * 1e9;
	*ret_phase = phase;
	return 0;
}

static int
parse_phases(const struct json_doc *doc, const struct json *object,
	     struct profile *profile, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, object, "phases", &array, &n, err) < 0)
		return -EINVAL;
	if (n > PROFILE_MAX_PHASES)
		return json_fail(doc, array, err, "%zu phases, at most %d are allowed",
				 n, PROFILE_MAX_PHASES);

	profile->phases = xcalloc(n ? n : 1, sizeof *profile->phases);
	for (const struct json *value = json_first(array); value;
	     value = json_next(value)) {
		if (parse_phase(doc, value, profile->period_us,
				&profile->phases[profile->n_phases], err) < 0)
			return -EINVAL;
		profile->n_phases++;
	}
	return 0;
}

/* Checks stated bytes against those of the phases. */
static int
check_bytes(const struct json_doc *doc, const struct json *object,
	    const struct profile *profile, struct err *err)
{
	double carried = profile_mean_bps(profile) * (double)profile->period_us / 8e6;
	double stated = profile->bytes_per_iteration;

	if (fabs(stated - carried) <= BYTES_TOLERANCE * fmax(stated, carried) + 1)
		return 0;
	return json_fail(
		doc, json_find(object, "bytes_per_iteration"), err,
		"%.0f bytes are stated, but the phases carry %.0f (leave the key "
		"out to have it computed)",
		stated, carried);
}

static int
parse_job_name(const struct json_doc *doc, const struct json *object,
	       struct profile *profile, struct err *err)
{
	const char *job, *fault;

	if (json_get_str(doc, object, "job", &job, err) < 0)
		return -EINVAL;
	fault = name_fault(job);
	if (fault)
		return json_fail(doc, json_find(object, "job"), err, "expected %s",
				 fault);
	profile->job = xstrdup(job);
	return 0;
}

static int
parse_profile(const struct json_doc *doc, const struct json *object,
	      struct profile *profile, struct err *err)
{
	const char *why = NULL;

	if (json_as_object(doc, object, err) < 0 ||
	    json_check_keys(doc, object, profile_keys, err) < 0 ||
	    parse_job_name(doc, object, profile, err) < 0 ||
	    json_get_int(doc, object, "period_us", 1, PROFILE_MAX_PERIOD_US,
			 &profile->period_us, err) < 0 ||
	    json_opt_int(doc, object, "period_error_us", 0, PROFILE_MAX_PERIOD_US,
			 &profile->period_error_us, err) < 0 ||
	    json_opt_int(doc, object, "jitter_us", 0, PROFILE_MAX_PERIOD_US,
			 &profile->jitter_us, err) < 0 ||
	    json_opt_int(doc, object, "iterations", 0, INT64_C(1) << 53,
			 &profile->n_iterations, err) < 0 ||
	    json_opt_num(doc, object, "confidence", 0, 1, &profile->confidence, err) <
		    0 ||
	    json_opt_num(doc, object, "bytes_per_iteration", 0, 1e18,
			 &profile->bytes_per_iteration, err) < 0 ||
	    parse_phases(doc, object, profile, err) < 0)
		return -EINVAL;
	if (json_find(object, "bytes_per_iteration") &&
	    check_bytes(doc, object, profile, err) < 0)
		return -EINVAL;
	if (profile_normalize(profile, &why) < 0)
		return json_fail(doc, json_find(object, "phases"), err, "%s", why);
	return 0;
}

static int
parse_profiles(const struct json_doc *doc, struct profile_list *list, struct err *err)
{
	const struct json *array;
	struct strtab *names = NULL;
	size_t n;
	int error = -EINVAL;

	if (json_check_schema(doc, "antiphase.profiles", 1, err) < 0 ||
	    json_check_keys(doc, json_root(doc), file_keys, err) < 0 ||
	    json_get_array(doc, json_root(doc), "profiles", &array, &n, err) < 0)
		return -EINVAL;
	if (n > MAX_PROFILES)
		return json_fail(doc, array, err,
				 "%zu profiles, at most %d are allowed", n,
				 MAX_PROFILES);

	names = strtab_new();
	for (const struct json *value = json_first(array); value;
	     value = json_next(value)) {
		struct profile profile = { 0 };

		if (parse_profile(doc, value, &profile, err) < 0) {
			profile_fini(&profile);
			goto out;
		}
		profile_list_take(list, &profile);
		if (strtab_intern(names, list->items[list->n - 1].job) != list->n - 1) {
			json_fail(doc, json_find(value, "job"), err,
				  "a second profile of job '%s'",
				  list->items[list->n - 1].job);
			goto out;
		}
	}
	error = 0;
out:
	strtab_free(names);
	return error;
}

int
profile_json_parse(const char *file, const char *text, size_t length,
		   struct profile_list *ret_list, struct err *err)
{
	struct profile_list list = { 0 };
	struct json_doc *doc;
	int error;

	if (json_parse(file, text, length, &doc, err) < 0)
		return -EINVAL;

	error = parse_profiles(doc, &list, err);
	if (error < 0)
		profile_list_fini(&list);
	else
		*ret_list = list;
	json_doc_free(doc);
	return error;
}

static void
put_profile(struct jsonw *w, const struct profile *profile)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", profile->job);
	jsonw_int(w, "period_us", profile->period_us);
	if (profile->period_error_us)
		jsonw_int(w, "period_error_us", profile->period_error_us);
	jsonw_int(w, "jitter_us", profile->jitter_us);
	jsonw_int(w, "iterations", profile->n_iterations);
	jsonw_num(w, "confidence", profile->confidence);
	if (profile->bytes_per_iteration == floor(profile->bytes_per_iteration) &&
	    profile->bytes_per_iteration < 1e15)
		jsonw_int(w, "bytes_per_iteration",
			  (int64_t)profile->bytes_per_iteration);
	else
		jsonw_num(w, "bytes_per_iteration", profile->bytes_per_iteration);
	jsonw_array(w, "phases");
	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];

		jsonw_flat_object(w, NULL);
		jsonw_int(w, "start_us", phase->start_us);
		jsonw_int(w, "duration_us", phase->duration_us);
		jsonw_num(w, "gbps", phase->rate_bps / 1e9);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_end(w);
}

char *
profile_json_text(const struct profile_list *list, size_t *ret_length)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;

	BUG_ON(!out);
	jsonw_document(&w, out, "antiphase.profiles/1");
	jsonw_array(&w, "profiles");
	for (size_t i = 0; i < list->n; i++)
		put_profile(&w, &list->items[i]);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	*ret_length = length;
	return text;
}
