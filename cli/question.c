#include "cli/question.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/workload_ini.h"

int
question_check(const struct question *question, const struct cli_verb *verb)
{
	if (question->jobs && question->from.n)
		return cli_usage_error(verb, "--jobs and --from exclude each other");
	if (!question->jobs && !question->from.n)
		return cli_usage_error(verb, "give --jobs FILE or --from SOURCE");
	return CLI_OK;
}

int
question_ask(const struct question *question, const struct cli_verb *verb,
	     struct answer *answer, struct err *err)
{
	struct loaded *loaded = &answer->loaded;
	int error;

	*answer = (struct answer){
		.opts = { .policy = (enum advise_policy)words_index(
				  question->policy, advise_policy_names),
			  .seed = (uint64_t)question->seed,
			  .max_slowdown = question->max_slowdown },
	};
	if (question->from.n)
		error = loaded_init_live(loaded, verb, question->fabric,
					 &question->from, question->keys,
					 &answer->status, err);
	else
		error = loaded_init(loaded, question->fabric, question->jobs, err);
	if (error < 0)
		return error;
	error = advise(&loaded->scenario->workload, loaded->topo, loaded->routes,
		       &answer->opts, &answer->set);
	if (error < 0)
		err_set(err, question->jobs, 0, 0,
			"two hosts of a job cannot reach each other on the fabric; "
			"run 'antiphase topology check'");
	return error;
}

int
question_fail(const struct answer *answer, int error, const struct err *err)
{
	return error == -ECANCELED ? answer->status : cli_fail(error, err);
}

void
answer_fini(struct answer *answer)
{
	advice_set_free(answer->set);
	loaded_fini(&answer->loaded);
	*answer = (struct answer){ 0 };
}
