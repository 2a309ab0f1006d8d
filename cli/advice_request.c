/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_request.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/workload_ini.h"

int
advice_request_check(const struct advice_request *question, const struct cli_verb *verb)
{
	if (question->jobs && question->from.n)
		return cli_usage_error(verb, "--jobs and --from exclude each other");
	if (!question->jobs && !question->from.n)
		return cli_usage_error(verb, "give --jobs FILE or --from SOURCE");
	return CLI_OK;
}

int
advice_request_run(const struct advice_request *question, const struct cli_verb *verb,
		   struct advice_result *answer, struct err *err)
{
	struct inputs *inputs = &answer->inputs;
	int error;

	*answer = (struct advice_result){
		.opts = { .policy = (enum advise_policy)words_index(
				  question->policy, advise_policy_names),
			  .seed = (uint64_t)question->seed,
			  .max_slowdown = question->max_slowdown,
			  .moves_per_hour = question->moves_per_hour },
	};
	if (question->levers &&
	    advise_levers_read(question->levers, &answer->opts.levers, err) < 0)
		return -EINVAL;
	if (question->from.n)
		error = inputs_load_live(inputs, verb, question->fabric,
					 &question->from, question->keys,
					 &answer->status, err);
	else
		error = inputs_load(inputs, question->fabric, question->jobs, err);
	if (error < 0)
		return error;
	error = advise(&inputs->scenario->workload, inputs->topo, inputs->routes,
		       &answer->opts, &answer->set);
	if (error < 0)
		err_set(err, question->jobs, 0, 0,
			"two hosts of a job cannot reach each other on the fabric; "
			"run 'antiphase topology check'");
	return error;
}

int
advice_request_fail(const struct advice_result *answer, int error,
		    const struct err *err)
{
	return error == -ECANCELED ? answer->status : cli_fail(error, err);
}

void
advice_result_fini(struct advice_result *answer)
{
	advice_set_free(answer->set);
	inputs_fini(&answer->inputs);
	*answer = (struct advice_result){ 0 };
}
