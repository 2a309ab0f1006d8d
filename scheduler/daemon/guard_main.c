/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_main.c - the guardian: waits for the end of the daemon and, unless another
 * daemon answers, takes back its pins. It opens nothing until then.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/http.h"
#include "scheduler/daemon/guard.h"
#include "scheduler/slurm/slurm_release.h"

/* There may be thousands of pins to take back; Slurm may just be starting. */
#define LIMIT_MS  600000
#define SILENT_MS 10000

bool
guard_is_called(int argc, char **argv)
{
	return argc > 0 && strcmp(argv[0], GUARD_NAME) == 0;
}

/* Waits for the end of the daemon; returns whether it wrote that all is undone. */
static bool
wait_for_end(void)
{
	bool is_undone = false;
	char word;
	ssize_t n;

	do {
		n = read(STDIN_FILENO, &word, 1);
		is_undone |= n == 1;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return is_undone;
}

static bool
is_answered(void *ctx)
{
	return http_socket_is_answered(ctx);
}

static int
release(const struct slurm_release_opts *opts)
{
	struct slurm_releases releases;
	struct err err = { .line = 0 };
	int rc = slurm_release(opts, &releases, &err);

	for (size_t i = 0; i < releases.items.n; i++) {
		const struct slurm_released *item = &releases.items.items[i];

		if (item->why)
			log_warn("guard", "job %s: not un-pinned: %s", item->job,
				 item->why);
		else
			log_info("guard", "job %s: un-pinned", item->job);
	}
	slurm_releases_fini(&releases);
	if (rc == -ECANCELED) {
		log_info("guard", "a daemon is there again: the rest is for that one");
		return CLI_OK;
	}
	if (rc < 0)
		err_print(&err, stderr);
	return rc < 0 ? CLI_UNREACHABLE : CLI_OK;
}

int
guard_main(int argc, char **argv)
{
	struct slurm_release_opts opts = {
		.keeps_gates = true,
		.limit_ms = LIMIT_MS,
		.silent_ms = SILENT_MS,
		.is_taken_over = is_answered,
	};

	log_set_program(GUARD_NAME);
	log_set_level(LOG_LEVEL_INFO);
	if (argc != 3) {
		log_err("guard", "this is started by antiphase-scheduler alone");
		return CLI_USAGE;
	}
	/* A signal for the daemon often goes to both: the guardian must outlive it. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, GUARD_NAME);
	if (wait_for_end() || http_socket_is_answered(argv[1]))
		return CLI_OK;
	log_warn("guard",
		 "antiphase-scheduler has gone without a word that all is undone: "
		 "what is left of its pins is taken back");
	opts.slurm.bindir = *argv[2] ? argv[2] : NULL;
	opts.ctx = argv[1];
	return release(&opts);
}
