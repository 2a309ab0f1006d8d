/*
 * control.c - the commands of the running daemon (lib/daemon/control.h):
 *
 *	stats				all figures, as /metrics has them
 *	ping
 *	modes				what may be done, by partition
 *	mode MODE [PARTITION]		until the next start
 *	poke				look at the cluster's scheduler now
 */
#include "lib/daemon/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/words.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/live/live.h"

static int
run_stats(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	(void)n;
	(void)args;
	(void)err;
	figures_write_all(ctx, reply);
	return 0;
}

static int
run_ping(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct daemon *d = ctx;

	(void)n;
	(void)args;
	(void)err;
	strbuf_printf(reply, "ok\n%s\n%u hosts, %u jobs, %s\n", cli_version(),
		      live_n_hosts(d->now.live), live_n_known_jobs(d->now.live),
		      fabric_source_topo(d->fabric) ? "fabric known" : "no fabric");
	return 0;
}

static int
run_modes(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	const struct modes *modes = &((struct daemon *)ctx)->deeds.modes;

	(void)n;
	(void)args;
	(void)err;
	strbuf_printf(reply, "%s\n", mode_names[modes->usual]);
	for (size_t i = 0; i < modes->others.n; i++)
		strbuf_printf(reply, "%s of partition %s\n",
			      mode_names[modes->others.items[i].mode],
			      modes->others.items[i].partition);
	if (modes->is_stopped)
		strbuf_puts(reply, "the kill switch is on: observe everywhere\n");
	return 0;
}

static int
run_mode(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	struct daemon *d = ctx;
	int mode = words_index(args[0], mode_names);

	if (mode < 0) {
		err_set(err, NULL, 0, 0,
			"the mode is observe, advise or enforce, not '%s'", args[0]);
		err_suggest(err, args[0], mode_names);
		return -EINVAL;
	}
	if (modes_change(&d->deeds.modes, n > 1 ? args[1] : "", (enum mode)mode) < 0)
		return err_set(err, NULL, 0, 0, "'%s' is no name of a partition",
			       args[1]);
	log_warn("scheduler", "mode of %s%s is %s now, as control was asked",
		 n > 1 ? "partition " : "all others", n > 1 ? args[1] : "", args[0]);
	actions_decide(d);
	return run_modes(ctx, 0, NULL, reply, err);
}

static int
run_poke(void *ctx, size_t n, char **args, struct strbuf *reply, struct err *err)
{
	struct daemon *d = ctx;

	(void)n;
	(void)args;
	if (!d->deeds.host) {
		err_set(err, NULL, 0, 0,
			"no scheduler is looked at: host = none in [scheduler]");
		return -EOPNOTSUPP;
	}
	sched_poll(d->deeds.host);
	strbuf_puts(reply, "looking\n");
	return 0;
}

static const struct control_command commands[] = {
	{ "stats", "", 0, 0, false, run_stats },
	{ "ping", "", 0, 0, false, run_ping },
	{ "modes", "", 0, 0, false, run_modes },
	{ "mode", "MODE [PARTITION]", 1, 2, true, run_mode },
	{ "poke", "", 0, 0, true, run_poke },
	{ NULL, NULL, 0, 0, false, NULL },
};

char *
daemon_socket_path(const struct daemon *d)
{
	return xasprintf("%s/scheduler.sock", d->config.runtime_dir);
}

int
daemon_open_control(struct daemon *d, struct err *err)
{
	char *path = daemon_socket_path(d);
	int rc;

	if (mkdir(d->config.runtime_dir, 0755) < 0 && errno != EEXIST) {
		free(path);
		return err_set_errno(err, d->config.runtime_dir, errno,
				     "cannot make it (--runtime-dir DIR says where "
				     "else)");
	}
	rc = control_open(d->loop, path, commands, d, &d->control, err);
	free(path);
	return rc;
}
