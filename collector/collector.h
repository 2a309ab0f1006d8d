/*
 * collector.h - the running collector: its parts, as figures, control and loop see them.
 */
#ifndef COLLECTOR_COLLECTOR_H
#define COLLECTOR_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/boot.h"
#include "collector/config.h"
#include "collector/publish.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"

struct binner;
struct bus_keys;
struct bus_pub;
struct cgroups;
struct collector;
struct control;
struct err;
struct feeds;
struct http;
struct hub;
struct loop;
struct marks_in;
struct pacer_in;
struct peaks;
struct rec_writer;
struct registry;
struct tele_buffer;
struct tele_frame;
struct topjobs;
struct totals;

struct collector {
	struct config config;
	const char *config_file; /* Borrowed; NULL: the default one. */
	char host[TELE_MAX_NAME + 1];
	uint8_t boot_id[16];
	struct loop *loop;
	struct binner *binner;
	struct hub *hub;
	struct totals *totals;
	struct cgroups *cgroups;   /* NULL: no cgroup v2. */
	struct registry *registry; /* NULL as cgroups. */
	struct feeds *feeds;
	struct publisher *publisher;
	struct bus_keys *keys;
	struct bus_pub *bus;       /* NULL: not published. */
	struct rec_writer *output; /* NULL: not recorded. */
	struct marks_in *marks;
	struct pacer_in *pacers; /* NULL: none are listened to. */
	struct bus_sub *orders;  /* NULL: there are none. */
	struct control *control;
	struct http *http;
	struct peaks *peaks;
	struct topjobs *top;

	struct wall wall;
	int64_t clock_error_ns;
	bool is_stepped; /* Not said in frames yet. */
	int64_t started_ns;
	uint64_t unsaved_totals; /* Series that the file of totals had no room for. */
	uint64_t unplaced_jobs;  /* Counted as other, as a table was full. */
	uint64_t gone_cgroups;   /* Of jobs, so far. */
	uint64_t refused_orders; /* Messages that were none. */
	struct log_limit said_orders;
	int64_t saved_ns; /* When totals were written last. */
	int status;       /* To exit with. */
};

/* collector/figures.c: all figures, in the format of Prometheus. */
void collector_write_metrics(void *collector, struct strbuf *out);
/* The same as OpenMetrics. */
void collector_write_openmetrics(void *collector, struct strbuf *out);
/* "ok", and what is open: for those who only look whether we live. */
void collector_write_health(void *collector, struct strbuf *out);

/* collector/control.c: opens the control socket in the runtime directory. */
int collector_open_control(struct collector *collector, struct err *err);

/*
 * collector/inputs.c: sockets for marks and pacers, orders for these.  To be called
 * each second; and, before the publisher, to be closed.
 */
int collector_open_inputs(struct collector *collector, struct err *err);
void collector_inputs_second(struct collector *collector, int64_t now_ns,
			     const struct publish_state *state);
void collector_close_inputs(struct collector *collector);

/* What frames say of the host now; that the clock was stepped is said once. */
struct publish_state collector_state(struct collector *collector);

/*
 * collector/open.c: opens everything, and drops what is not needed: 0, or -errno with
 * 'err' filled.  Closing is due either way.
 */
int collector_open(struct collector *collector, struct err *err);
void collector_close(struct collector *collector);

/* collector/daemon.c: opens, runs until it is told to stop, closes.  The exit status. */
int collector_run(struct collector *collector);
/* For what is opened: frames are to go somewhere; there they go; sources were polled. */
bool collector_is_wanted(void *collector, uint8_t kind);
void collector_send(void *collector, const struct tele_frame *frame,
		    const struct tele_buffer *bytes);
void collector_polled(void *collector, bool is_end);

/* A path in the runtime directory; free with free(). */
char *collector_path(const struct config *config, const char *name);

#endif
