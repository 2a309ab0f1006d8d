/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_paths.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"

/* Flows with a sentence of their own, and ports and links in it. */
#define MAX_FLOWS 4
#define MAX_PORTS 4
#define MAX_LINKS 2

/* Connections of one flow over one switch; they follow each other. */
static bool
is_same_flow(const struct advice_doc_path *a, const struct advice_doc_path *b)
{
	return strcmp(a->from, b->from) == 0 && strcmp(a->to, b->to) == 0 &&
	       strcmp(a->via, b->via) == 0;
}

/* " (source ports 1531, 1535)". */
static void
put_ports(const struct advice_doc_path *paths, size_t n, struct strbuf *text)
{
	size_t n_put = 0;

	for (size_t i = 0; i < n; i++) {
		if (paths[i].port == 0)
			continue;
		if (n_put == MAX_PORTS) {
			strbuf_puts(text, ", ...");
			break;
		}
		strbuf_printf(text, "%s%zu",
			      n_put   ? ", "
			      : n > 1 ? " (source ports "
				      : " (source port ",
			      paths[i].port);
		n_put++;
	}
	if (n_put)
		strbuf_putc(text, ')');
}

static bool
is_link_put(const struct advice_doc_path *paths, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (paths[k].hashed_link &&
		    strcmp(paths[k].hashed_link, paths[i].hashed_link) == 0)
			return true;
	return false;
}

/* "a and b on leaf1:p5>spine1:p1". */
static void
put_meeting(const struct advice_doc_path *path, struct strbuf *text)
{
	for (size_t i = 0; i < path->n_hashed_jobs; i++)
		strbuf_printf(text, "%s%s",
			      i == 0                        ? ""
			      : i + 1 < path->n_hashed_jobs ? ", "
							    : " and ",
			      path->hashed_jobs[i]);
	strbuf_printf(text, "%s on %s",
		      path->n_hashed_jobs ? "" : "other flows of its job",
		      path->hashed_link);
}

/* What the flow leaves. */
static void
put_meetings(const struct advice_doc_path *paths, size_t n, struct strbuf *text)
{
	size_t n_put = 0;

	for (size_t i = 0; i < n && n_put < MAX_LINKS; i++) {
		if (!paths[i].hashed_link || is_link_put(paths, i))
			continue;
		strbuf_puts(text, n_put++ ? ", and " : "; hashed, it meets ");
		put_meeting(&paths[i], text);
	}
	if (n_put == 0 && paths[0].hashed_via &&
	    strcmp(paths[0].hashed_via, paths[0].via) != 0)
		strbuf_printf(text, " instead of %s", paths[0].hashed_via);
	strbuf_puts(text, ". ");
}

/* NCCL's and Open MPI's settings for several connections to a peer. */
static void
put_connections(const struct advice_doc_job *job, struct strbuf *text)
{
	size_t n = job->n_connections;

	strbuf_printf(text,
		      "It opens %zu connections to each peer: set "
		      "NCCL_IB_QPS_PER_CONNECTION=%zu and NCCL_IB_SPLIT_DATA_ON_QPS=1 "
		      "for NCCL over RDMA, NCCL_SOCKET_NTHREADS times "
		      "NCCL_NSOCKS_PERTHREAD to %zu for NCCL over TCP, or give Open "
		      "MPI %zu interfaces (btl_tcp_if_include). ",
		      n, n, n, n);
}

void
advice_paths_put(const struct advice_doc_job *job, struct strbuf *text)
{
	size_t n_flows = 0, n_put = 0, n;

	for (size_t i = 0; i < job->n_paths; i += n) {
		const struct advice_doc_path *paths = &job->paths[i];

		for (n = 1; i + n < job->n_paths && is_same_flow(paths, &paths[n]);)
			n++;
		if (n_flows++ == MAX_FLOWS)
			break;
		strbuf_printf(text, "Send %s > %s over %s", paths->from, paths->to,
			      paths->via);
		put_ports(paths, n, text);
		put_meetings(paths, n, text);
		n_put += n;
	}
	if (n_put < job->n_paths)
		strbuf_printf(text, "%zu more %s in 'paths' of --json. ",
			      job->n_paths - n_put,
			      job->n_paths - n_put == 1 ? "is" : "are");
	if (job->n_connections > 1)
		put_connections(job, text);
}
