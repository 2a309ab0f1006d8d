/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/src_text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/name.h"
#include "lib/base/vec.h"

#define MS          INT64_C(1000000)
#define INTERVAL_NS (100 * MS)
#define MAX_LINE    1024
#define READ_BYTES  65536 /* In one poll. */
#define MAX_AGE_S   10.0
#define MAX_GBPS    1e6

/* An interface as its last line describes it. */
struct known {
	struct tele_interface interface;
	uint32_t number; /* The sink's. */
	int64_t read_ns; /* Time of its newest reading in this poll; 0: none. */
};

struct text_source {
	struct source source;
	char *path; /* Owned. */
	int fd;
	char buffer[READ_BYTES + MAX_LINE];
	size_t n;         /* Bytes of an incomplete line. */
	bool is_too_long; /* The rest of that line is skipped. */
	unsigned line;
	VEC(struct known) known;
};

/* The fields of one line. */
struct reading {
	bool has[2]; /* By enum tele_direction. */
	uint64_t bytes[2], packets[2];
	const char *job;        /* NULL: the whole interface. */
	double gbps, up, age_s; /* Negative: not given. */
};

static struct text_source *
from_source(const struct source *source)
{
	return (struct text_source *)source;
}

/* ---- Lines ----------------------------------------------------------------------- */

static bool
parse_count(const char *text, uint64_t *ret_count)
{
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*ret_count = strtoull(text, &end, 10);
	return !*end && errno == 0;
}

static bool
parse_number(const char *text, double max, double *ret_number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*ret_number = strtod(text, &end);
	return !*end && *ret_number <= max;
}

static bool
is_name(const char *text)
{
	return !name_fault(text) && strlen(text) <= TELE_MAX_NAME;
}

/* Takes one KEY=VALUE; false if it is malformed. */
static bool
take_field(char *field, struct reading *reading)
{
	char *value = strchr(field, '=');
	double time_s;

	if (!value)
		return false;
	*value++ = '\0';
	for (int d = TELE_TX; d <= TELE_RX; d++) {
		if (!strcmp(field, d == TELE_TX ? "tx" : "rx"))
			return reading->has[d] = parse_count(value, &reading->bytes[d]);
		if (!strcmp(field, d == TELE_TX ? "tx_packets" : "rx_packets"))
			return parse_count(value, &reading->packets[d]);
	}
	if (!strcmp(field, "job")) {
		reading->job = value;
		return is_name(value);
	}
	if (!strcmp(field, "gbps"))
		return parse_number(value, MAX_GBPS, &reading->gbps);
	if (!strcmp(field, "up"))
		return parse_number(value, 1, &reading->up);
	if (strcmp(field, "time") != 0 || !parse_number(value, 1e12, &time_s))
		return false;
	reading->age_s = (double)clk_wall_us() * 1e-6 - time_s;
	return fabs(reading->age_s) <= MAX_AGE_S;
}

/* The interface 'name', announced again if the line changes its description. */
static struct known *
find_known(struct text_source *s, const char *name, const struct reading *reading,
	   const struct source_sink *sink)
{
	struct known *known = NULL;
	struct tele_interface interface = { .is_up = true };

	for (size_t i = 0; i < s->known.n && !known; i++)
		if (!strcmp(s->known.items[i].interface.name, name))
			known = &s->known.items[i];
	if (known)
		interface = known->interface;
	else
		tele_set_name(interface.name, name);
	if (reading->gbps >= 0)
		interface.capacity_bps = reading->gbps * 1e9;
	if (reading->up >= 0)
		interface.is_up = reading->up > 0;
	if (!known) {
		if (s->known.n == TELE_MAX_INTERFACES)
			return NULL;
		vec_push(&s->known, ((struct known){ .interface = interface }));
		known = &s->known.items[s->known.n - 1];
		known->number = sink->interface(sink->ctx, &interface);
	} else if (interface.capacity_bps != known->interface.capacity_bps ||
		   interface.is_up != known->interface.is_up) {
		known->interface = interface;
		known->number = sink->interface(sink->ctx, &interface);
	}
	return known;
}

/* Emits the reading of a line, which is modified; false if the line is malformed. */
static bool
take_line(struct text_source *s, char *line, int64_t now_ns,
	  const struct source_sink *sink)
{
	struct reading reading = { .gbps = -1, .up = -1 };
	char *rest = NULL, *name = strtok_r(line, " \t\r", &rest);
	struct source_key key = { .measure = TELE_WIRE };
	struct known *known;
	int64_t time_ns;

	if (!name || *name == '#')
		return true;
	if (!is_name(name))
		return false;
	for (char *field = strtok_r(NULL, " \t\r", &rest); field;
	     field = strtok_r(NULL, " \t\r", &rest))
		if (!take_field(field, &reading))
			return false;
	if (!reading.has[TELE_TX] && !reading.has[TELE_RX])
		return false;
	known = find_known(s, name, &reading, sink);
	if (!known)
		return false;
	time_ns = now_ns - (int64_t)(reading.age_s * 1e9);
	key.interface = known->number;
	key.job = reading.job ? sink->job(sink->ctx, reading.job) : TELE_LINK;
	for (int d = TELE_TX; d <= TELE_RX; d++) {
		struct source_extra extra = { .packets = reading.packets[d] };

		key.direction = (uint8_t)d;
		if (reading.has[d])
			sink->counter(sink->ctx, &key, time_ns, reading.bytes[d], 64,
				      &extra);
	}
	if (time_ns > known->read_ns)
		known->read_ns = time_ns;
	return true;
}

/* ---- Bytes ----------------------------------------------------------------------- */

/* Counts a malformed line; 'err' keeps the first of a poll. */
static void
refuse(struct text_source *s, const struct source_sink *sink, int *error,
       struct err *err)
{
	sink->lost(sink->ctx, 1);
	if (*error == 0)
		*error = err_set(err, s->path, (int)s->line, 0,
				 "expected INTERFACE and fields such as tx=BYTES "
				 "rx=BYTES; the line is ignored");
}

/* Takes the complete lines of the buffer; with 'is_end' also an unfinished last one. */
static int
take_lines(struct text_source *s, bool is_end, int64_t now_ns,
	   const struct source_sink *sink, struct err *err)
{
	char *at = s->buffer, *end = s->buffer + s->n, *newline;
	int error = 0;

	while (at < end) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && !is_end && end - at < MAX_LINE)
			break;
		s->line += !s->is_too_long;
		if (newline || is_end) {
			bool is_rest = s->is_too_long;
			char *stop = newline ? newline : end;

			*stop = '\0';
			if (!is_rest && (stop - at >= MAX_LINE ||
					 strlen(at) != (size_t)(stop - at) ||
					 !take_line(s, at, now_ns, sink)))
				refuse(s, sink, &error, err);
			s->is_too_long = false;
			at = stop + 1;
			continue;
		}
		if (!s->is_too_long)
			refuse(s, sink, &error, err);
		s->is_too_long = true;
		at = end;
	}
	s->n = at < end ? (size_t)(end - at) : 0;
	memmove(s->buffer, at, s->n);
	return error;
}

/* After a poll: reports that all readings of its interfaces have been emitted. */
static void
complete(struct text_source *s, const struct source_sink *sink)
{
	for (size_t i = 0; i < s->known.n; i++) {
		struct known *known = &s->known.items[i];

		if (known->read_ns)
			sink->complete(sink->ctx, known->number, known->read_ns / MS);
		known->read_ns = 0;
	}
}

static int
text_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	  struct err *err)
{
	struct text_source *s = from_source(source);
	struct pollfd ready = { .fd = s->fd, .events = POLLIN };
	ssize_t got;
	int error;

	if (poll(&ready, 1, 0) <= 0)
		return 0;
	got = read(s->fd, s->buffer + s->n, READ_BYTES);
	if (got < 0)
		return errno == EINTR || errno == EAGAIN
			       ? 0
			       : err_set_errno(err, s->path, -errno, "cannot read");
	s->n += (size_t)got;
	error = take_lines(s, got == 0, now_ns, sink, err);
	complete(s, sink);
	return got == 0 ? -ENODATA : error;
}

/* ---- The source ------------------------------------------------------------------ */

static int64_t
text_interval_ns(const struct source *source)
{
	(void)source;
	return INTERVAL_NS;
}

static int
text_fd(const struct source *source)
{
	return from_source(source)->fd;
}

static void
text_close(struct source *source)
{
	struct text_source *s = from_source(source);

	if (!s)
		return;
	if (s->fd > STDERR_FILENO)
		close(s->fd);
	vec_free(&s->known);
	free(s->path);
	free(s);
}

static const struct source_class text_class = {
	.name = "text",
	.summary = "counters as lines of text",
	.poll = text_poll,
	.interval_ns = text_interval_ns,
	.fd = text_fd,
	.close = text_close,
};

int
src_text_open(const char *path, struct source **ret_source, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	struct text_source *s;
	struct stat stat_of;
	/* Also open for writing, a FIFO never ends. */
	bool is_fifo =
		!is_stdin && stat(path, &stat_of) == 0 && S_ISFIFO(stat_of.st_mode);
	int fd = is_stdin ? STDIN_FILENO
			  : open(path, (is_fifo ? O_RDWR : O_RDONLY) | O_CLOEXEC);

	if (fd < 0)
		return err_set_errno(err, path, -errno, "cannot open");
	s = xcalloc(1, sizeof *s);
	s->source.class = &text_class;
	s->path = xstrdup(is_stdin ? "standard input" : path);
	s->fd = fd;
	*ret_source = &s->source;
	return 0;
}
