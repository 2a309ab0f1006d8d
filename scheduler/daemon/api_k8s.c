/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_k8s.c - kube-scheduler's extender (scheduler/k8s): the advisor ranks its jobs; a
 * namespace has the mode of the partition of its name.
 */
#include <errno.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/daemon/actions.h"
#include "scheduler/daemon/api_priv.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/k8s.h"
#include "scheduler/k8s/extender.h"
#include "scheduler/k8s/rank.h"

/* The profile that annotations declare, or else that of a job of that name. */
static int
profile_of(const struct api *api, const struct extender_job *job,
	   struct profile *ret_profile)
{
	const struct job *known;

	if (k8s_declared(fabric_source_topo(api->opts.fabric), job, ret_profile) == 0)
		return 0;
	known = jobs_find_k8s(api->opts.jobs, job->name);
	if (!known || known->profile.period_us <= 0)
		return -ENODATA;
	profile_copy(&known->profile, ret_profile);
	return 0;
}

static int
rank(void *ctx, const struct extender_job *job, const char *const *offered,
     size_t n_offered, struct extender_choice *ret_choice, struct err *err)
{
	struct api *api = ctx;
	struct profile profile = { 0 };
	int64_t began_ns = clk_monotonic_ns();
	int r;

	if (!fabric_source_topo(api->opts.fabric) || !jobs_advisor(api->opts.jobs) ||
	    profile_of(api, job, &profile) < 0) {
		err_set(err, NULL, 0, 0, "%s",
			fabric_source_topo(api->opts.fabric) ? "its period is not known"
							     : "no fabric is known");
		return -ENODATA;
	}
	r = k8s_rank(jobs_advisor(api->opts.jobs), fabric_source_topo(api->opts.fabric),
		     job, &profile, offered, n_offered, ret_choice, err);
	profile_fini(&profile);
	jobs_count_ranking(api->opts.jobs, clk_monotonic_ns() - began_ns);
	return r;
}

static enum extender_power
power(void *ctx, const char *namespace)
{
	const struct api *api = ctx;

	switch (modes_now(actions_modes(api->opts.actions), namespace)) {
	case MODE_ENFORCE:
		return EXTENDER_FILTERS;
	case MODE_ADVISE:
		return EXTENDER_SCORES;
	case MODE_OBSERVE:
		break;
	}
	return EXTENDER_OBSERVES;
}

int
api_k8s_open(struct api *api, struct err *err)
{
	const struct extender_opts opts = { .power = power };
	int r = peer_users_read(api->opts.config->kubernetes_users, &api->k8s.users,
				err);

	if (r < 0) {
		err_append(err, "; kubernetes_users in [scheduler] takes names and "
				"numbers of users, separated by commas");
		return r;
	}
	api->k8s.extender = extender_new(&opts, rank, api);
	k8s_serve(api->http, &api->k8s);
	return 0;
}
