#include "lib/base/progress.h"

#include <inttypes.h>

#define QUIET_NS    INT64_C(1000000000)
#define INTERVAL_NS INT64_C(200000000)

void
progress_init(struct progress *p, FILE *out, bool is_terminal, const char *what,
	      int64_t now_ns)
{
	*p = (struct progress){
		.out = out,
		.is_terminal = is_terminal,
		.what = what,
		.start_ns = now_ns,
	};
}

/* Adds ", 12 s left", supposing that the rest goes as fast as what is done. */
static void
put_time_left(const struct progress *p, double frac, int64_t elapsed_ns)
{
	double left_s = (double)elapsed_ns / 1e9 * (1 - frac) / frac;

	if (left_s < 100)
		fprintf(p->out, ", %.0f s left", left_s);
	else if (left_s < 6000)
		fprintf(p->out, ", %.0f min left", left_s / 60);
	else
		fprintf(p->out, ", %.1f h left", left_s / 3600);
}

void
progress_update(struct progress *p, double frac, int64_t now_ns)
{
	int64_t elapsed_ns = now_ns - p->start_ns;
	int tenth;

	if (!p->out || elapsed_ns < QUIET_NS)
		return;
	frac = !(frac > 0) ? 0 : frac > 1 ? 1 : frac;
	/* 0.3 / 0.1 is just below 3; a share that close has got there. */
	tenth = (int)(frac * 10 + 1e-9);
	if (p->is_terminal) {
		if (p->is_shown && now_ns - p->shown_ns < INTERVAL_NS)
			return;
	} else if (tenth <= p->shown_tenth) {
		return;
	}

	if (p->is_terminal)
		putc('\r', p->out);
	fprintf(p->out, "%s: %d %%", p->what,
		p->is_terminal ? (int)(frac * 100 + 1e-9) : tenth * 10);
	if (p->n_all)
		fprintf(p->out, ", %" PRIu64 " of %" PRIu64, p->n_done, p->n_all);
	if (frac >= 0.05 && frac < 1)
		put_time_left(p, frac, elapsed_ns);
	/* To the end of the line: what a longer text left there. */
	fputs(p->is_terminal ? "\033[K" : "\n", p->out);
	fflush(p->out);
	p->is_shown = true;
	p->shown_ns = now_ns;
	p->shown_tenth = tenth;
}

void
progress_count(struct progress *p, uint64_t n_done, uint64_t n_all, int64_t now_ns)
{
	p->n_done = n_done;
	p->n_all = n_all;
	progress_update(p, n_all ? (double)n_done / (double)n_all : 1, now_ns);
}

void
progress_end(struct progress *p)
{
	if (!p->is_shown || !p->is_terminal)
		return;
	fputs("\r\033[K", p->out);
	fflush(p->out);
	p->is_shown = false;
}
