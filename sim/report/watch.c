/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/watch.h"

#include <signal.h>

#include "lib/base/clk.h"

static volatile sig_atomic_t is_interrupted;

static void
on_interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

void
watch_catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = on_interrupt,
				    .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
}

bool
watch_is_interrupted(void)
{
	return is_interrupted;
}

void
watch_init(struct watch *watch, size_t n, const char *progress)
{
	*watch = (struct watch){ .n = n };
	progress_init(&watch->progress, stderr, progress_form_of(progress, stderr),
		      "simulating", clk_monotonic_ns());
}

void
watch_name(struct watch *watch, const char *what)
{
	watch->progress.what = what;
}

bool
watch_go_on(void *ctx, double frac)
{
	struct watch *watch = ctx;

	progress_update(&watch->progress, ((double)watch->i + frac) / (double)watch->n,
			clk_monotonic_ns());
	return !is_interrupted;
}

void
watch_end(struct watch *watch, bool is_done)
{
	progress_end(&watch->progress, is_done && !is_interrupted, clk_monotonic_ns());
}
