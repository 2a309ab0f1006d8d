/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll_events.c - antiphase-events: reports the begin and end of all-reduces of MPI,
 * gloo and NCCL, by uprobes, to the collector of this host.
 *
 * A program of its own, because uprobes need CAP_SYS_ADMIN, which the collector does
 * not; it drops all capabilities once the probes are attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf/coll_events.skel.h"
#include "collector/coll_events/event_pairs.h"
#include "collector/sources/bpf/libbpf_log.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/notify.h"
#include "lib/wire/coll_event.h"
#include "lib/wire/tele.h"

_Static_assert(COLL_MPI == TELE_EVENT_MPI && COLL_GLOO == TELE_EVENT_GLOO &&
		       COLL_NCCL == TELE_EVENT_NCCL,
	       "the BPF side numbers its functions as frames do");

/* Longest wait for room in the collector's queue, of the first event without any. */
#define MAX_WAIT_MS 100
/*
 * Longest reading of the ring in one go: jobs may fill it as fast as it is read, and
 * signals and the watchdog have to be served.
 */
#define MAX_READ_NS INT64_C(100000000)
/* Interval of reports of lost events. */
#define REPORT_NS INT64_C(10000000000)

/* Folders of libraries that are named without one. */
static const char *const folders[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
	"/usr/local/lib",
	"/usr/lib64/openmpi/lib",
	"/usr/local/cuda/lib64",
	"/opt/openmpi/lib",
};

static const struct function {
	const char *library, *symbol;
} functions[] = {
	[COLL_MPI] = { "libmpi.so.40", "MPI_Allreduce" },
	/* gloo::allreduce(gloo::AllreduceOptions const&) */
	[COLL_GLOO] = { "libgloo.so.0", "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE" },
	[COLL_NCCL] = { "libnccl.so.2", "ncclAllReduce" },
};

#define N_FUNCTIONS (sizeof functions / sizeof functions[0])

struct args {
	const char *libraries[N_FUNCTIONS]; /* NULL: not watched. */
	const char *symbol, *socket, *user;
	bool is_verbose;
};

struct watcher {
	struct coll_events_bpf *skel;
	struct bpf_link *links[2 * N_FUNCTIONS];
	size_t n_links;
	struct ring_buffer *ring;
	struct event_pairs *pair;
	struct coll_event_sender sender;
	struct loop *loop;
	uint64_t reported_lost;
	int64_t read_ns; /* When the reading of the ring began. */
	struct log_limit said;
	bool is_silent; /* The last event did not reach the collector. */
};

/* ---- Finding libraries ---------------------------------------------------------- */

/* The path of a library that exists, in 'path'; or false. */
static bool
find_library(const char *name, char path[PATH_MAX])
{
	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return access(path, R_OK) == 0;
	}
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		snprintf(path, PATH_MAX, "%s/%s", folders[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

/* Only Open MPI defines this symbol; the layout of other MPIs' datatypes is unknown. */
static bool
is_open_mpi(const char *path)
{
	static const char name[] = "ompi_mpi_float";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes = MAP_FAILED;
	bool is = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes != MAP_FAILED) {
		is = memmem(bytes, (size_t)st.st_size, name, sizeof name) != NULL;
		munmap(bytes, (size_t)st.st_size);
	}
	return is;
}

/* ---- Attaching ------------------------------------------------------------------ */

static int
refuse(int error, const char *path, const char *symbol, struct err *err)
{
	if (error == ENOENT)
		err_set(err, path, 0, 0, "has no function '%s'", symbol);
	else if (error == EPERM || error == EACCES)
		err_set(err, path, 0, 0,
			"the kernel refuses uprobes: they need CAP_SYS_ADMIN and "
			"CAP_BPF (start as root)");
	else if (access("/sys/bus/event_source/devices/uprobe/type", F_OK) < 0)
		err_set(err, path, 0, 0,
			"this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	else
		err_set_errno(err, path, error, "cannot attach a uprobe");
	return -error;
}

static int
attach_one(struct watcher *m, struct bpf_program *program, const char *path,
	   const char *symbol, bool is_return, struct err *err)
{
	struct bpf_uprobe_opts opts = {
		.sz = sizeof opts,
		.retprobe = is_return,
		.func_name = symbol,
	};
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(program, -1, path, 0, &opts);

	if (!link)
		return refuse(errno, path, symbol, err);
	m->links[m->n_links++] = link;
	return 0;
}

static int
attach(struct watcher *m, size_t source, const char *path, const char *symbol,
       struct err *err)
{
	struct bpf_program *const programs[][2] = {
		[COLL_MPI] = { m->skel->progs.mpi_enter, m->skel->progs.mpi_exit },
		[COLL_GLOO] = { m->skel->progs.gloo_enter, m->skel->progs.gloo_exit },
		[COLL_NCCL] = { m->skel->progs.nccl_enter, m->skel->progs.nccl_exit },
	};
	int error = attach_one(m, programs[source][0], path, symbol, false, err);

	if (error == 0)
		error = attach_one(m, programs[source][1], path, symbol, true, err);
	if (error == 0)
		log_info("events", "%s: watching %s", path, symbol);
	return error;
}

static int
attach_all(struct watcher *m, const struct args *args, struct err *err)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		const char *name = args->libraries[i];
		int error;

		if (!name)
			continue;
		if (!find_library(name, path))
			return err_set(err, name, 0, 0,
				       "library not found; give its path");
		error = attach(m, i, path,
			       args->symbol ? args->symbol : functions[i].symbol, err);
		if (error < 0)
			return error;
	}
	return 0;
}

static int
load(struct watcher *m, const struct args *args, struct err *err)
{
	char path[PATH_MAX];
	int error;

	libbpf_log_init();
	m->skel = coll_events_bpf__open();
	if (!m->skel)
		return err_set_errno(err, NULL, errno, "cannot open the BPF programs");
	m->skel->rodata->is_open_mpi = args->libraries[COLL_MPI] &&
				       find_library(args->libraries[COLL_MPI], path) &&
				       is_open_mpi(path);
	error = coll_events_bpf__load(m->skel);
	if (error == -EPERM || error == -EACCES)
		err_set(err, NULL, 0, 0,
			"the kernel refuses the BPF programs: they need CAP_BPF and "
			"CAP_PERFMON (start as root)");
	else if (error < 0)
		err_set_errno(err, NULL, -error, "cannot load the BPF programs");
	return error;
}

/* ---- Reporting ------------------------------------------------------------------ */

/* Retries for up to 'wait_ms', because the collector's queue is short. */
static int
send_with_retries(struct coll_event_sender *sender, const struct coll_event *event,
		  int wait_ms)
{
	int error = coll_event_send(sender, event);

	for (int waited_ms = 0; error == -EAGAIN && waited_ms < wait_ms; waited_ms++) {
		sender->lost--; /* Not lost yet. */
		(void)poll(NULL, 0, 1);
		error = coll_event_send(sender, event);
	}
	return error;
}

static void
report(struct watcher *m, struct coll_event *event)
{
	int error;

	event->lost = m->skel->bss->coll_lost;
	/* A collector that does not read is waited for once. */
	error = send_with_retries(&m->sender, event, m->is_silent ? 0 : MAX_WAIT_MS);
	if (error < 0 && !m->is_silent)
		log_limited(&m->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "events",
			    "%s: %s; is the collector running?", m->sender.path,
			    strerror(-error));
	m->is_silent = error < 0;
}

static int
on_record(void *ctx, void *data, size_t size)
{
	struct watcher *m = ctx;
	struct coll_event event;

	if (size >= sizeof(struct coll_record) &&
	    event_pairs_add(m->pair, data, &event))
		report(m, &event);
	/* An error ends the reading, behind this record. */
	return clk_monotonic_ns() - m->read_ns > MAX_READ_NS ? -ECANCELED : 0;
}

static void
on_ring(void *ctx)
{
	struct watcher *m = ctx;

	m->read_ns = clk_monotonic_ns();
	(void)ring_buffer__consume(m->ring);
}

static void
on_report(void *ctx, int64_t now_ns, int64_t missed)
{
	struct watcher *m = ctx;
	uint64_t lost = m->skel->bss->coll_lost + m->sender.lost +
			event_pairs_unpaired(m->pair);

	(void)now_ns;
	(void)missed;
	if (lost > m->reported_lost)
		log_warn("events",
			 "%llu events lost so far: %llu records found the ring full, "
			 "%llu did not reach the collector, %llu without counterpart",
			 (unsigned long long)lost,
			 (unsigned long long)m->skel->bss->coll_lost,
			 (unsigned long long)m->sender.lost,
			 (unsigned long long)event_pairs_unpaired(m->pair));
	m->reported_lost = lost;
	notify_status("%llu events sent, %llu lost", (unsigned long long)m->sender.sent,
		      (unsigned long long)lost);
	notify_send("WATCHDOG=1");
}

static void
on_stop(void *ctx, int signal_number)
{
	struct watcher *m = ctx;

	(void)signal_number;
	loop_stop(m->loop, CLI_OK);
}

/* ---- Running -------------------------------------------------------------------- */

static int
open_watcher(struct watcher *m, const struct args *args, struct err *err)
{
	int error = coll_event_sender_init(&m->sender, args->socket);

	if (error < 0)
		return err_set_errno(err, args->socket, -error,
				     "cannot send to this path");
	m->pair = event_pairs_new();
	error = load(m, args, err);
	if (error == 0)
		error = attach_all(m, args, err);
	if (error < 0)
		return error;
	m->ring = ring_buffer__new(bpf_map__fd(m->skel->maps.coll_ring), on_record, m,
				   NULL);
	if (!m->ring)
		return err_set_errno(err, NULL, errno, "cannot read the ring");
	return caps_drop(args->user, 0, err);
}

static void
close_watcher(struct watcher *m)
{
	ring_buffer__free(m->ring);
	for (size_t i = 0; i < m->n_links; i++)
		bpf_link__destroy(m->links[i]);
	coll_events_bpf__destroy(m->skel);
	event_pairs_free(m->pair);
	coll_event_sender_fini(&m->sender);
}

static int
serve(struct watcher *m)
{
	int status;

	m->loop = loop_new();
	loop_fd(m->loop, ring_buffer__epoll_fd(m->ring), on_ring, m);
	loop_every(m->loop, REPORT_NS, on_report, m);
	loop_signal(m->loop, SIGINT, on_stop, m);
	loop_signal(m->loop, SIGTERM, on_stop, m);
	notify_send("READY=1");
	status = loop_run(m->loop);
	notify_send("STOPPING=1");
	loop_free(m->loop);
	return status;
}

static int
fail(int error, const struct err *err)
{
	err_print(err, stderr);
	return error == -EPERM || error == -EACCES || error == -ENOSYS ||
			       error == -EOPNOTSUPP
		       ? CLI_DENIED
		       : CLI_USAGE;
}

static int
run_events(const struct args *args)
{
	struct watcher m = { .sender = { .fd = -1 } };
	struct err err = { 0 };
	int error, status;

	log_set_level(args->is_verbose ? LOG_LEVEL_DBG : LOG_LEVEL_INFO);
	error = open_watcher(&m, args, &err);
	status = error < 0 ? fail(error, &err) : serve(&m);
	close_watcher(&m);
	return status;
}

static const struct cli_verb verb_events;

static int
run(int argc, char **argv)
{
	struct args args = { 0 };
	const char **libraries = args.libraries;
	size_t n_asked = 0;
	const struct cli_opt opts[] = {
		{ .name = "mpi",
		  .type = CLI_STR,
		  .ret_value = &libraries[COLL_MPI],
		  .argument = "LIB",
		  .help = "watch MPI_Allreduce of this library (default: libmpi.so.40)" },
		{ .name = "gloo",
		  .type = CLI_STR,
		  .ret_value = &libraries[COLL_GLOO],
		  .argument = "LIB",
		  .help = "watch gloo::allreduce: libgloo.so.0, or PyTorch's "
			  "libtorch_cpu.so" },
		{ .name = "nccl",
		  .type = CLI_STR,
		  .ret_value = &libraries[COLL_NCCL],
		  .argument = "LIB",
		  .help = "watch ncclAllReduce, which only enqueues: libnccl.so.2" },
		{ .name = "symbol",
		  .type = CLI_STR,
		  .ret_value = &args.symbol,
		  .argument = "NAME",
		  .help = "another function of the one library given, with the same "
			  "arguments" },
		{ .name = "socket",
		  .type = CLI_STR,
		  .ret_value = &args.socket,
		  .argument = "PATH",
		  .help = "the collector's socket (default: $ANTIPHASE_EVENTS, or "
			  "/run/antiphase/sockets/events.sock)" },
		{ .name = "user",
		  .type = CLI_STR,
		  .ret_value = &args.user,
		  .argument = "NAME",
		  .help = "switch to this user, the collector's, once the probes are attached" },
		{ .name = "verbose",
		  .letter = 'v',
		  .type = CLI_FLAG,
		  .ret_value = &args.is_verbose,
		  .help = "log what the program does" },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_events, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	if (first != argc)
		return cli_usage_error(&verb_events, "unexpected operand '%s'",
				       argv[first]);
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		n_asked += libraries[i] != NULL;
	if (!n_asked)
		libraries[COLL_MPI] = functions[COLL_MPI].library;
	if (args.symbol && n_asked != 1)
		return cli_usage_error(
			&verb_events,
			"--symbol goes with one of --mpi, --gloo, --nccl");
	return run_events(&args);
}

static const struct cli_verb verb_events = {
	.name = "",
	.summary = "report the begin and end of collectives to the collector",
	.usage = "[options]",
	.examples = "  antiphase-events\n"
		    "  antiphase-events --gloo libgloo.so.0\n"
		    "  antiphase-events --nccl /opt/nccl/lib/libnccl.so.2\n",
	.run = run,
};

int
main(int argc, char **argv)
{
	cli_set_libbpf(libbpf_version_string());
	return cli_main_single("antiphase-events", &verb_events, argc, argv);
}
