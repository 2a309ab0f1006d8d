/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_model.c - texts as antiphase.model/1; an accepted one gives a job or a reason */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/workload/work_model.h"
#include "tests/fuzz/fuzz.h"

static void
make_job(const struct work_model *model, double nic_bytes)
{
	struct work_job job = { 0 };

	if (work_model_make_job(model, nic_bytes, 50e9, &job) == 0) {
		BUG_ON(job.profile.period_us < 1 ||
		       job.n_segments != model->n_segments);
		for (size_t i = 0; i < job.n_segments; i++)
			BUG_ON(!isfinite(job.segments[i].nic_bytes) ||
			       (!(nic_bytes > 0) && job.segments[i].nic_bytes > 0));
	}
	work_job_fini(&job);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct work_model model = { 0 };
	struct err err = { 0 };

	if (work_model_parse("fuzz", text, strlen(text), &model, &err) < 0) {
		BUG_ON(!err.text[0] || model.name);
		free(text);
		return 0;
	}
	BUG_ON(!model.name[0] || !model.text[0] || !model.gpu[0] || !model.n_segments);
	BUG_ON(model.n_segments > WORK_MODEL_MAX_SEGMENTS ||
	       model.n_also > WORK_MODEL_MAX_ALSO || model.batch < 1);
	BUG_ON(!work_model_is(&model, model.name));
	BUG_ON(model.largest_tensor != 0 &&
	       !(model.largest_tensor >= 1 &&
		 model.largest_tensor <= model.parameters));
	make_job(&model, 0);
	make_job(&model, 1.75);
	work_model_fini(&model);
	free(text);
	return 0;
}
