/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen_history.h"

#include "cli/link_history.h"
#include "cli/screen.h"
#include "scheduler/live/live.h"

int
screen_history_step(struct screen *screen, struct link_history *history)
{
	uint32_t window_ms = screen->opts.window_ms;
	struct contention found;
	int status = screen_follow(screen, 0);

	if ((status != CLI_OK && status != CLI_NO) ||
	    live_complete_ms(screen->live) == LIVE_NEVER)
		return status;
	screen->opts.window_ms = LINK_HISTORY_STEP_MS;
	screen_find(screen, CONTENTION_BY_CONTENTION, &found);
	screen->opts.window_ms = window_ms;
	link_history_add(history, &found);
	contention_fini(&found);
	return status;
}
