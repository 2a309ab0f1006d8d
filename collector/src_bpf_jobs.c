#include <stdlib.h>

#include "collector/src_bpf_private.h"
#include "lib/base/alloc.h"

void
bpf_jobs_init(struct src_bpf *bpf)
{
	(void)bpf;
}

void
bpf_jobs_fini(struct src_bpf *bpf)
{
	(void)bpf;
}

int
bpf_jobs_link_came(struct src_bpf *bpf, uint32_t link, int64_t now_ms)
{
	(void)bpf;
	(void)link;
	(void)now_ms;
	return 0;
}

void
bpf_jobs_link_gone(struct src_bpf *bpf, uint32_t link)
{
	(void)bpf;
	(void)link;
}

void
bpf_jobs_drain(struct src_bpf *bpf, const struct source_sink *sink, int64_t now_ms)
{
	(void)bpf;
	(void)sink;
	(void)now_ms;
}

void
src_bpf_relabel(struct source *source)
{
	(void)source;
}
