/*
 * api_k8s.c - kube-scheduler's extender (scheduler/k8s): jobs it asks for, ranked by the
 * advisor; a namespace has the mode of the partition of its name.
 */
#include <errno.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/daemon/api.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/k8s.h"
#include "scheduler/k8s/extender.h"
#include "scheduler/k8s/rank.h"

/* What annotations declare, or what was seen of a job of that name. */
static int
profile_of(const struct daemon *d, const struct extender_job *job,
	   struct profile *ret_profile)
{
	const struct job *known;

	if (k8s_declared(fabric_source_topo(d->fabric), job, ret_profile) == 0)
		return 0;
	known = jobs_find_k8s(d, job->name);
	if (!known || known->profile.period_us <= 0)
		return -ENODATA;
	profile_copy(&known->profile, ret_profile);
	return 0;
}

static int
rank(void *ctx, const struct extender_job *job, const char *const *offered,
     size_t n_offered, struct extender_choice *ret_choice, struct err *err)
{
	struct daemon *d = ctx;
	struct profile profile = { 0 };
	int64_t began_ns = clk_monotonic_ns();
	int r;

	if (!fabric_source_topo(d->fabric) || !d->jobs->advisor ||
	    profile_of(d, job, &profile) < 0) {
		err_set(err, NULL, 0, 0, "%s",
			fabric_source_topo(d->fabric) ? "no period is known of it"
						      : "no fabric is known");
		return -ENODATA;
	}
	r = k8s_rank(d->jobs->advisor, fabric_source_topo(d->fabric), job, &profile,
		     offered, n_offered, ret_choice, err);
	profile_fini(&profile);
	d->jobs->so_far.n_ranked++;
	d->jobs->so_far.rank_s += (double)(clk_monotonic_ns() - began_ns) / 1e9;
	return r;
}

static enum extender_power
power(void *ctx, const char *namespace)
{
	const struct daemon *d = ctx;

	switch (modes_now(&d->deeds.modes, namespace)) {
	case MODE_ENFORCE:
		return EXTENDER_FILTERS;
	case MODE_ADVISE:
		return EXTENDER_SCORES;
	case MODE_OBSERVE:
		break;
	}
	return EXTENDER_OBSERVES;
}

void
api_k8s_open(struct daemon *d)
{
	const struct extender_opts opts = { .power = power };

	d->extender = extender_new(&opts, rank, d);
	k8s_serve(d->http, d->extender);
}
