/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advise_k8s.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/advise/advice_doc.h"
#include "topology/k8s.h"

/* The two parts of "NAMESPACE/NAME"; without a slash the first is NULL. */
struct k8s_job {
	char *namespace; /* Owned. */
	const char *name;
};

/* 0, or -EINVAL for a name that a shell or kubectl would misread. */
static int
split_name(const char *text, struct k8s_job *ret_job, struct err *err)
{
	const char *slash = strchr(text, '/');

	*ret_job = (struct k8s_job){ .name = slash ? slash + 1 : text };
	if (slash)
		ret_job->namespace = xstrndup(text, (size_t)(slash - text));
	if (k8s_label_is_valid(ret_job->name) &&
	    (!slash || k8s_name_is_valid(ret_job->namespace)))
		return 0;
	free(ret_job->namespace);
	return err_set(err, NULL, 0, 0,
		       "job '%.80s' has a name that no label of Kubernetes has", text);
}

static int
print_job(const struct advice_doc_job *job, const char *label, FILE *out,
	  struct err *err)
{
	struct k8s_job names;
	int r = split_name(job->name, &names, err);

	if (r < 0)
		return r;
	if (job->n_hosts == 0) {
		fprintf(out, "# %s waits: %s\n", job->name, job->reason);
	} else {
		fputs("kubectl annotate --overwrite pods", out);
		if (names.namespace)
			fprintf(out, " --namespace %s", names.namespace);
		fprintf(out, " --selector %s=%s antiphase.io/shift-us=%lld", label,
			names.name, (long long)job->shift_us);
		fprintf(out, " antiphase.io/slack-us=%lld", (long long)job->slack_us);
		fprintf(out, " antiphase.io/pacing=%s\n", job->pacing);
	}
	free(names.namespace);
	return 0;
}

int
advise_k8s_print(const struct advice_doc *doc, const char *label, FILE *out,
		 struct err *err)
{
	char *text = NULL;
	size_t n;
	FILE *lines;
	int r = k8s_label_keys_check(label, err);

	if (r < 0)
		return r;
	if (strpbrk(label, ",*"))
		return err_set(err, NULL, 0, 0, "'%.80s' is not one key of a label",
			       label);
	lines = open_memstream(&text, &n);
	BUG_ON(!lines);
	for (size_t j = 0; r == 0 && j < doc->n_jobs; j++)
		r = print_job(&doc->jobs[j], label, lines, err);
	BUG_ON(fclose(lines) != 0);
	if (r == 0)
		fwrite(text, 1, n, out);
	free(text);
	return r;
}
