#include "collector/src_rdma.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "collector/rdma_nl.h"
#include "collector/rdma_units.h"
#include "collector/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"

#define MS                  INT64_C(1000000)
#define DEFAULT_INTERVAL_NS (2 * MS)
#define EVENTS_NS           (10 * MS)   /* Packets, marks, jobs. */
#define SCAN_NS             (1000 * MS) /* Devices that come, state and rate. */
#define MAX_PORTS           256
#define MAX_BOUND           16384 /* Counters of processes. */
#define REPLY_BYTES         262144

/* The files of counters/ that are read, in the order of their descriptors. */
enum port_file {
	XMIT_DATA,
	RCV_DATA,
	XMIT_PACKETS,
	RCV_PACKETS,
	N_FILES
};

static const char *const port_files[N_FILES] = {
	"port_xmit_data",
	"port_rcv_data",
	"port_xmit_packets",
	"port_rcv_packets",
};

struct port {
	char device[32], name[TELE_MAX_NAME + 1];
	uint32_t port, index; /* Of the device over netlink; UINT32_MAX: unknown. */
	unsigned unit_bytes;
	int fds[N_FILES]; /* -1: none. */
	struct rdma_counter counters[N_FILES];
	bool was_seen; /* By the scan going on. */
	bool is_announced, is_useless;
	bool is_up;
	double rate_bps;
	uint32_t number;
	uint64_t ce, retransmits; /* As last told by netlink. */
	uint64_t events;          /* Added up while a reply is taken apart. */
};

/* Bytes of one counter bound to a process, and those of a job. */
struct bound {
	uint32_t device, port, pid, id;
	uint8_t direction;
	uint64_t last;
};

struct job_bytes {
	struct source_key key;
	uint64_t total;
};

struct rdma_source {
	struct source source;
	struct rdma_options options;
	char *sysroot, *units; /* Owned. */
	VEC(char *) names;     /* Owned. */
	VEC(struct port) ports;
	VEC(struct bound) bound;
	VEC(struct job_bytes) jobs;
	struct rdma_pace pace;
	int64_t next_ns, events_ns, scan_ns;
	struct rdma_status status;
	int netlink_fd;
	bool has_netlink;
	uint32_t sequence;
	uint8_t *reply;                 /* Owned.  REPLY_BYTES. */
	const struct source_sink *sink; /* While polling. */
};

static struct rdma_source *
from_source(const struct source *source)
{
	return (struct rdma_source *)source;
}

/* ---- sysfs ---------------------------------------------------------------------- */

/* Reads a small file again from its start; returns its length or -errno. */
static ssize_t
read_again(int fd, char *text, size_t size)
{
	ssize_t got = pread(fd, text, size - 1, 0);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return got;
}

static ssize_t
read_path(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read_again(fd, text, size);
	close(fd);
	return got;
}

/* The value of a counter's file; -ENODATA for texts such as "N/A (no PMA)". */
static int
read_counter(int fd, uint64_t *ret_value)
{
	char text[64], *end;
	ssize_t got = read_again(fd, text, sizeof text);

	if (got < 0)
		return (int)got;
	if (text[0] < '0' || text[0] > '9')
		return -ENODATA;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return errno || (*end != '\n' && *end != '\0') ? -ENODATA : 0;
}

static bool
is_wanted(const struct rdma_source *s, const struct port *port)
{
	for (size_t i = 0; i < s->names.n; i++)
		if (!strcmp(s->names.items[i], port->device) ||
		    !strcmp(s->names.items[i], port->name))
			return true;
	return s->names.n == 0;
}

static struct port *
find_port(struct rdma_source *s, const char *name)
{
	for (size_t i = 0; i < s->ports.n; i++)
		if (!strcmp(s->ports.items[i].name, name))
			return &s->ports.items[i];
	return NULL;
}

static void
close_files(struct port *port)
{
	for (size_t i = 0; i < N_FILES; i++) {
		if (port->fds[i] >= 0)
			close(port->fds[i]);
		port->fds[i] = -1;
	}
}

/* The driver's name is the last part of what device/driver points to. */
static void
find_driver(const struct rdma_source *s, const char *device, char *ret, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t got;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/device/driver",
		 s->sysroot, device);
	got = readlink(path, target, sizeof target - 1);
	target[got > 0 ? got : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(ret, size, "%.63s", slash ? slash + 1 : target);
}

static void
open_port(struct rdma_source *s, struct port *port)
{
	char path[PATH_MAX], driver[64];

	find_driver(s, port->device, driver, sizeof driver);
	port->unit_bytes = rdma_unit_bytes(driver, s->units);
	for (size_t i = 0; i < N_FILES; i++) {
		snprintf(path, sizeof path,
			 "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/counters/%s",
			 s->sysroot, port->device, port->port, port_files[i]);
		port->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		port->counters[i] = (struct rdma_counter){ 0 };
	}
	port->is_useless = port->fds[XMIT_DATA] < 0 || port->fds[RCV_DATA] < 0;
	if (port->is_useless)
		log_warn("rdma", "%s has no byte counters (driver %s)", port->name,
			 driver);
}

/* Notes state and rate; a change is announced. */
static void
look_at_port(struct rdma_source *s, struct port *port)
{
	char path[PATH_MAX], text[64];
	double rate_bps = 0;
	bool is_up = false;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/rate",
		 s->sysroot, port->device, port->port);
	if (read_path(path, text, sizeof text) > 0)
		rate_bps = rdma_parse_rate_bps(text);
	snprintf(path, sizeof path,
		 "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/state", s->sysroot,
		 port->device, port->port);
	if (read_path(path, text, sizeof text) > 0)
		is_up = strstr(text, "ACTIVE") != NULL;
	if (rate_bps != port->rate_bps || is_up != port->is_up)
		port->is_announced = false;
	port->rate_bps = rate_bps;
	port->is_up = is_up;
}

static void
see_port(struct rdma_source *s, const char *device, uint32_t number)
{
	struct port fresh = { .port = number, .index = UINT32_MAX };
	struct port *port;

	if (strlen(device) >= sizeof fresh.device)
		return;
	snprintf(fresh.device, sizeof fresh.device, "%s", device);
	snprintf(fresh.name, sizeof fresh.name, "%s/%" PRIu32, device, number);
	if (!is_wanted(s, &fresh))
		return;
	port = find_port(s, fresh.name);
	if (!port && s->ports.n >= MAX_PORTS)
		return;
	if (!port) {
		for (size_t i = 0; i < N_FILES; i++)
			fresh.fds[i] = -1;
		vec_push(&s->ports, fresh);
		port = &s->ports.items[s->ports.n - 1];
	}
	if (port->fds[XMIT_DATA] < 0 && !port->is_useless)
		open_port(s, port);
	port->was_seen = true;
	look_at_port(s, port);
}

static void
see_device(struct rdma_source *s, const char *device)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports", s->sysroot,
		 device);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		unsigned long port = strtoul(entry->d_name, NULL, 10);

		if (port >= 1 && port < 65536)
			see_port(s, device, (uint32_t)port);
	}
	if (dir)
		closedir(dir);
}

static int
by_port_name(const void *a, const void *b)
{
	return strcmp(((const struct port *)a)->name, ((const struct port *)b)->name);
}

static void
lose_port(struct rdma_source *s, struct port *port)
{
	close_files(port);
	if (port->is_announced && s->sink)
		s->sink->gone(s->sink->ctx, port->number);
	port->is_announced = port->is_useless = false;
	port->index = UINT32_MAX;
}

/* Looks through all devices.  Ports that are not there any more are gone. */
static int
scan(struct rdma_source *s)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t n_before = s->ports.n;
	DIR *dir;

	snprintf(path, sizeof path, "%s/sys/class/infiniband", s->sysroot);
	dir = opendir(path);
	if (!dir)
		return -errno;
	for (size_t i = 0; i < s->ports.n; i++)
		s->ports.items[i].was_seen = false;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			see_device(s, entry->d_name);
	closedir(dir);
	for (size_t i = 0; i < s->ports.n; i++)
		if (!s->ports.items[i].was_seen)
			lose_port(s, &s->ports.items[i]);
	/* Directories have no order; numbers are to be the same each time. */
	if (n_before == 0 && s->ports.n > 1)
		qsort(s->ports.items, s->ports.n, sizeof *s->ports.items, by_port_name);
	return 0;
}

/* ---- Netlink ---------------------------------------------------------------------- */

/* Sends a request and gathers the whole reply. */
static ssize_t
kernel_exchange(struct rdma_source *s, const uint8_t *request, size_t n)
{
	static const struct rdma_nl_handler nobody = { 0 };
	size_t have = 0;

	if (send(s->netlink_fd, request, n, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got =
			recv(s->netlink_fd, s->reply + have, REPLY_BYTES - have, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (rdma_nl_parse(s->reply + have, (size_t)got, s->sequence, &nobody))
			return (ssize_t)have + got;
		have += (size_t)got;
		if (have + 32768 > REPLY_BYTES)
			return -ENOBUFS;
	}
}

static int
ask(struct rdma_source *s, const uint8_t *request, size_t n,
    const struct rdma_nl_handler *handler)
{
	ssize_t got = s->options.exchange
			      ? s->options.exchange(s->options.ctx, request, n,
						    s->reply, REPLY_BYTES)
			      : kernel_exchange(s, request, n);
	int error;

	if (got < 0)
		return (int)got;
	error = rdma_nl_parse(s->reply, (size_t)got, s->sequence, handler);
	return error < 0 ? error : 0;
}

static void
on_device(void *ctx, uint32_t index, const char *name, uint32_t n_ports)
{
	struct rdma_source *s = ctx;

	(void)n_ports;
	for (size_t i = 0; i < s->ports.n; i++)
		if (!strcmp(s->ports.items[i].device, name))
			s->ports.items[i].index = index;
}

static void
open_netlink(struct rdma_source *s)
{
	struct timeval patience = { .tv_sec = 1 };

	s->has_netlink = s->options.exchange != NULL;
	if (s->has_netlink || s->sysroot[0])
		return;
	s->netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (s->netlink_fd < 0) {
		log_info("rdma", "the kernel has no NETLINK_RDMA: no marks, no jobs");
		return;
	}
	setsockopt(s->netlink_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	s->has_netlink = true;
}

static void
ask_devices(struct rdma_source *s)
{
	const struct rdma_nl_handler handler = { .ctx = s, .device = on_device };
	uint8_t request[RDMA_NL_MAX_REQUEST];

	if (s->has_netlink)
		ask(s, request, rdma_nl_ask_devices(request, ++s->sequence), &handler);
}

/* What a port's counters say of congestion. */
static void
on_port_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	static const char *const repeats[] = { "packet_seq_err",
					       "local_ack_timeout_err",
					       "rnr_nak_retry_err" };
	struct port *port = ctx;

	if (counter->has_pid)
		return;
	if (!strcmp(counter->name, "np_ecn_marked_roce_packets"))
		port->ce = counter->value;
	for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++)
		if (!strcmp(counter->name, repeats[i]))
			port->events += counter->value;
}

static struct bound *
find_bound(struct rdma_source *s, const struct rdma_nl_counter *c, uint8_t direction)
{
	struct bound fresh = { .device = c->device,
			       .port = c->port,
			       .pid = c->pid,
			       .id = c->id,
			       .direction = direction,
			       .last = c->value };

	for (size_t i = 0; i < s->bound.n; i++) {
		struct bound *b = &s->bound.items[i];

		if (b->pid == c->pid && b->id == c->id && b->port == c->port &&
		    b->device == c->device && b->direction == direction)
			return b;
	}
	if (s->bound.n >= MAX_BOUND)
		s->bound.n = 0; /* Begin anew: a step or two is lost, not memory. */
	vec_push(&s->bound, fresh);
	return &s->bound.items[s->bound.n - 1];
}

static void
add_job_bytes(struct rdma_source *s, const struct source_key *key, uint64_t bytes)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job_bytes *j = &s->jobs.items[i];

		if (j->key.interface == key->interface && j->key.job == key->job &&
		    j->key.direction == key->direction) {
			j->total += bytes;
			return;
		}
	}
	vec_push(&s->jobs, ((struct job_bytes){ *key, bytes }));
}

/* Bytes of one process: what came since the last goes to its job. */
static void
on_bound_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	struct rdma_source *s = ctx;
	struct source_key key = { .job = TELE_OTHER, .measure = TELE_WIRE };
	char name[TELE_MAX_NAME + 1];
	const struct port *port = NULL;
	struct bound *bound;
	uint64_t step;

	if (!strcmp(counter->name, "rdma_tx_bytes"))
		key.direction = TELE_TX;
	else if (!strcmp(counter->name, "rdma_rx_bytes"))
		key.direction = TELE_RX;
	else
		return;
	for (size_t i = 0; i < s->ports.n && !port; i++)
		if (s->ports.items[i].index == counter->device &&
		    s->ports.items[i].port == counter->port &&
		    s->ports.items[i].is_announced)
			port = &s->ports.items[i];
	if (!port || !counter->has_pid)
		return;
	bound = find_bound(s, counter, key.direction);
	step = counter->value >= bound->last ? counter->value - bound->last
					     : counter->value;
	bound->last = counter->value;
	key.interface = port->number;
	if (s->options.job_of_pid &&
	    s->options.job_of_pid(s->options.ctx, counter->pid, name, sizeof name))
		key.job = s->sink->job(s->sink->ctx, name);
	add_job_bytes(s, &key, step);
}

/* ---- Polling ------------------------------------------------------------------------ */

static void
read_jobs(struct rdma_source *s)
{
	const struct rdma_nl_handler handler = { .ctx = s,
						 .counter = on_bound_counter };
	uint8_t request[RDMA_NL_MAX_REQUEST];
	int64_t before_ns = clk_monotonic_ns(), after_ns;

	if (!s->options.job_of_pid ||
	    ask(s, request, rdma_nl_ask_bound(request, ++s->sequence), &handler) < 0)
		return;
	after_ns = clk_monotonic_ns();
	for (size_t i = 0; i < s->jobs.n; i++)
		s->sink->counter(s->sink->ctx, &s->jobs.items[i].key,
				 before_ns + (after_ns - before_ns) / 2,
				 s->jobs.items[i].total, 64, NULL);
}

/* Packets and congestion of a port, more seldom than bytes. */
static void
read_events(struct rdma_source *s, struct port *port)
{
	const struct rdma_nl_handler handler = { .ctx = port,
						 .counter = on_port_counter };
	uint8_t request[RDMA_NL_MAX_REQUEST];
	uint64_t value;

	for (size_t i = XMIT_PACKETS; i <= RCV_PACKETS; i++)
		if (port->fds[i] >= 0 && read_counter(port->fds[i], &value) == 0)
			rdma_counter_take(&port->counters[i], value);
	if (!s->has_netlink || port->index == UINT32_MAX)
		return;
	port->events = 0;
	if (ask(s, request,
		rdma_nl_ask_port(request, ++s->sequence, port->index, port->port),
		&handler) == 0)
		port->retransmits = port->events;
}

static void
announce(struct rdma_source *s, struct port *port)
{
	struct tele_interface interface = {
		.capacity_bps = port->rate_bps,
		.is_up = port->is_up,
		.is_rdma = true,
	};

	memcpy(interface.name, port->name, sizeof interface.name);
	port->number = s->sink->interface(s->sink->ctx, &interface);
	port->is_announced = true;
}

/* Reads one of the data counters and passes it on, stamped in its middle. */
static int
read_data(struct rdma_source *s, struct port *port, enum port_file file)
{
	bool is_tx = file == XMIT_DATA;
	struct source_key key = { port->number, TELE_LINK, is_tx ? TELE_TX : TELE_RX,
				  TELE_WIRE };
	struct source_extra extra = {
		.packets = port->counters[is_tx ? XMIT_PACKETS : RCV_PACKETS].last,
		.ce = is_tx ? 0 : port->ce,
		.retransmits = is_tx ? port->retransmits : 0,
	};
	int64_t before_ns = clk_monotonic_ns(), took_ns;
	uint64_t value;
	int error = read_counter(port->fds[file], &value);

	took_ns = clk_monotonic_ns() - before_ns;
	if (error < 0)
		return error;
	s->status.n_reads++;
	s->status.n_slow += took_ns > RDMA_SLOW_NS;
	if (took_ns > s->status.slowest_read_ns)
		s->status.slowest_read_ns = took_ns;
	rdma_pace_note(&s->pace, took_ns);
	if (!rdma_counter_take(&port->counters[file], value)) {
		s->status.n_saturated++; /* No reading: the bins become a gap. */
		return 0;
	}
	s->sink->counter(s->sink->ctx, &key, before_ns + took_ns / 2,
			 value * port->unit_bytes, 64, &extra);
	return 0;
}

static void
read_port(struct rdma_source *s, struct port *port, bool with_events)
{
	int error;

	if (!port->is_announced)
		announce(s, port);
	if (with_events)
		read_events(s, port);
	error = read_data(s, port, XMIT_DATA);
	if (error == 0)
		error = read_data(s, port, RCV_DATA);
	if (error == -ENODATA) {
		log_warn("rdma", "%s does not count bytes", port->name);
		lose_port(s, port);
		port->is_useless = true;
	} else if (error < 0) {
		lose_port(s, port); /* The next scan may find it again. */
	} else {
		s->sink->complete(s->sink->ctx, port->number, clk_monotonic_ns() / MS);
	}
}

static int
rdma_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	  struct err *err)
{
	struct rdma_source *s = from_source(source);
	bool with_events;

	(void)err;
	if (now_ns < s->next_ns)
		return 0;
	s->sink = sink;
	if (now_ns >= s->scan_ns) {
		s->scan_ns = now_ns + SCAN_NS;
		scan(s);
		ask_devices(s);
	}
	with_events = now_ns >= s->events_ns;
	if (with_events)
		s->events_ns = now_ns + EVENTS_NS;
	for (size_t i = 0; i < s->ports.n; i++)
		if (s->ports.items[i].fds[XMIT_DATA] >= 0 &&
		    !s->ports.items[i].is_useless)
			read_port(s, &s->ports.items[i], with_events);
	if (with_events && s->has_netlink)
		read_jobs(s);
	s->next_ns = now_ns + s->pace.interval_ns;
	s->status.interval_ns = s->pace.interval_ns;
	s->sink = NULL;
	return 0;
}

static int64_t
rdma_interval_ns(const struct source *source)
{
	return from_source(source)->pace.interval_ns;
}

static int
rdma_fd(const struct source *source)
{
	(void)source;
	return -1;
}

static void
rdma_close(struct source *source)
{
	struct rdma_source *s = from_source(source);

	if (!s)
		return;
	for (size_t i = 0; i < s->ports.n; i++)
		close_files(&s->ports.items[i]);
	for (size_t i = 0; i < s->names.n; i++)
		free(s->names.items[i]);
	if (s->netlink_fd >= 0)
		close(s->netlink_fd);
	vec_free(&s->names);
	vec_free(&s->ports);
	vec_free(&s->bound);
	vec_free(&s->jobs);
	free(s->sysroot);
	free(s->units);
	free(s->reply);
	free(s);
}

static const struct source_class rdma_class = {
	.name = "rdma",
	.summary = "port counters of RDMA devices",
	.poll = rdma_poll,
	.interval_ns = rdma_interval_ns,
	.fd = rdma_fd,
	.close = rdma_close,
};

void
src_rdma_status(const struct source *source, struct rdma_status *ret_status)
{
	*ret_status = from_source(source)->status;
}

int
src_rdma_open(const struct rdma_options *options, struct source **ret_source,
	      struct err *err)
{
	int64_t least_ns =
		options->interval_ns > 0 ? options->interval_ns : DEFAULT_INTERVAL_NS;
	struct rdma_source *s;
	int error;

	if (!rdma_override_is_valid(options->units))
		return err_set(err, NULL, 0, 0,
			       "RDMA units '%s': expected DRIVER=BYTES by commas, such "
			       "as 'mlx5_core=4'",
			       options->units);
	s = xcalloc(1, sizeof *s);
	s->source.class = &rdma_class;
	s->options = *options;
	s->netlink_fd = -1;
	s->sysroot = xstrdup(options->sysroot ? options->sysroot : "");
	s->units = options->units ? xstrdup(options->units) : NULL;
	s->reply = xcalloc(REPLY_BYTES, 1);
	s->pace = (struct rdma_pace){ least_ns, least_ns, RDMA_MAX_INTERVAL_NS,
				      RDMA_SLOW_NS, 0 };
	s->status.interval_ns = least_ns;
	for (size_t i = 0; i < options->n_names; i++)
		vec_push(&s->names, xstrdup(options->names[i]));
	error = scan(s);
	if (error == 0 && s->ports.n == 0)
		error = -ENODEV;
	if (error < 0) {
		err_set(err, NULL, 0, 0, "no RDMA device%s in %s/sys/class/infiniband",
			options->n_names ? " of that name" : "", s->sysroot);
		rdma_close(&s->source);
		return -ENODEV;
	}
	open_netlink(s);
	*ret_source = &s->source;
	return 0;
}
