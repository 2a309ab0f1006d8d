/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_advised.c - texts as answers of antiphase-scheduler with its advice, which is
 * told as prose: of all jobs, of one, and of one by a prefix
 */
#include <string.h>

#include "cli/advice_prose.h"
#include "cli/scheduler_advice.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define MAX_JOBS 16 /* Told. */

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const jobs[] = { NULL, "4711", "47" };
	static struct memory_file memory;
	const char *path = memory_file_set(&memory, data, size);

	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		struct advice_doc doc;
		struct strbuf body, prose = STRBUF_EMPTY;
		struct err err = { 0 };
		int status = scheduler_advice_read(path, jobs[i], &doc, &body, &err);

		BUG_ON(status != 0 && !err.text[0]);
		BUG_ON(status == 0 && jobs[i] &&
		       (doc.n_jobs != 1 || strncmp(doc.jobs[0].name, jobs[i], 2) != 0));
		for (size_t j = 0; status == 0 && j < doc.n_jobs && j < MAX_JOBS; j++)
			advice_prose_job(&doc, &doc.jobs[j], &prose);
		advice_doc_fini(&doc);
		strbuf_free(&body);
		strbuf_free(&prose);
	}
	return 0;
}
