/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_many.c - the collectors of a whole cluster in one process and in real time, for
 * scheduler_size.py
 *
 *	live_many ENDPOINT SECONDS HOSTS RAW_HOSTS <JOBS
 *
 * Binds ENDPOINT and sends for hosts h0 to h(HOSTS - 1), for SECONDS from the first
 * subscription on.  A line of JOBS is "NAME FIRST_HOST N_HOSTS PERIOD_MS BUSY_MS
 * IS_PACED". Each host sends a summary each second, the first RAW_HOSTS send raw frames
 * four times a second, and rank 0 of each paced job reports the begin of each
 * iteration.  In each 10 ms a hundredth of the hosts send.  At the end it prints what
 * it sent.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"

#define SECOND_NS    INT64_C(1000000000)
#define MS_NS        INT64_C(1000000)
#define SLICES       100
#define RAW_SLICES   25
#define RAW_MS       250
#define CAPACITY_BPS 100e9
#define BYTES_A_MS   3125000u /* Of a job on a host while it sends: 25 Gb/s. */
#define MAX_OF_HOST  64

struct job {
	char name[TELE_MAX_NAME + 1];
	uint32_t first, n_hosts, period_ms, busy_ms;
	bool is_paced;
	int64_t next_ms; /* Next iteration of a paced job. */
	uint64_t number;
};

struct host {
	uint32_t jobs[MAX_OF_HOST];
	uint32_t n;
	uint64_t sequence[TELE_LAST_KIND + 1];
};

struct cluster {
	struct job *jobs; /* Owned. */
	size_t n_jobs;
	struct host *hosts; /* Owned. */
	uint32_t n_hosts, n_raw;
	int64_t wall_offset_ns;
	struct bus_pub *pub;
	struct tele_frame frame;
	uint64_t n_sent[TELE_LAST_KIND + 1], n_unsent;
};

/* ---- Jobs ------------------------------------------------------------------------ */

/* Jobs begin at different times. */
static bool
is_sending(const struct job *job, int64_t ms)
{
	return (ms + job->first * 7) % job->period_ms < job->busy_ms;
}

static void
read_jobs(struct cluster *c)
{
	VEC(struct job) jobs = VEC_EMPTY;
	struct job job = { .next_ms = 0 };
	unsigned is_paced;

	while (scanf("%63s %u %u %u %u %u", job.name, &job.first, &job.n_hosts,
		     &job.period_ms, &job.busy_ms, &is_paced) == 6) {
		job.is_paced = is_paced;
		if (!job.period_ms || job.first + job.n_hosts > c->n_hosts)
			continue;
		for (uint32_t h = job.first; h < job.first + job.n_hosts; h++)
			if (c->hosts[h].n < MAX_OF_HOST)
				c->hosts[h].jobs[c->hosts[h].n++] = (uint32_t)jobs.n;
		vec_push(&jobs, job);
	}
	c->jobs = jobs.items;
	c->n_jobs = jobs.n;
}

/* ---- Frames ---------------------------------------------------------------------- */

static void
begin(struct cluster *c, uint32_t h, uint8_t kind, int64_t time_ns, int64_t window_ns)
{
	struct tele_frame *frame = &c->frame;

	tele_clear(frame);
	frame->kind = kind;
	snprintf(frame->host, sizeof frame->host, "h%u", h);
	memcpy(frame->boot_id, frame->host, sizeof frame->boot_id);
	frame->start_id = 1;
	frame->sequence = c->hosts[h].sequence[kind]++;
	frame->time_ns = time_ns;
	frame->window_ns = window_ns;
	frame->wall_offset_ns = c->wall_offset_ns;
}

static void
send(struct cluster *c)
{
	if (bus_pub_frame(c->pub, &c->frame) < 0)
		c->n_unsent++;
	else
		c->n_sent[c->frame.kind]++;
}

static void
add_names(struct cluster *c, uint32_t h)
{
	struct tele_frame *frame = &c->frame;
	uint32_t eth = tele_add_interface(frame, "eth0");

	frame->interfaces.items[eth].capacity_bps = CAPACITY_BPS;
	frame->interfaces.items[eth].is_up = true;
	for (uint32_t i = 0; i < c->hosts[h].n; i++)
		tele_add_job(frame, c->jobs[c->hosts[h].jobs[i]].name);
}

static void
add_row(struct tele_frame *frame, uint32_t job, uint8_t direction, uint64_t bytes,
	uint32_t peak, uint64_t seconds)
{
	struct tele_traffic row = {
		.job = job,
		.direction = direction,
		.total_bytes = seconds * bytes,
		.total_packets = seconds * bytes / 4096,
		.window_bytes = bytes,
		.peak_bytes = peak,
		.flows = 4,
	};

	vec_push(&frame->traffic, row);
}

static void
send_summary(struct cluster *c, uint32_t h, int64_t now_ns)
{
	uint64_t all = 0, seconds;

	begin(c, h, TELE_SUMMARY, now_ns, SECOND_NS);
	add_names(c, h);
	seconds = c->frame.sequence + 1;
	for (uint32_t i = 0; i < c->hosts[h].n; i++) {
		const struct job *job = &c->jobs[c->hosts[h].jobs[i]];
		uint64_t bytes =
			(uint64_t)BYTES_A_MS * 1000 * job->busy_ms / job->period_ms;

		for (uint8_t d = TELE_TX; d <= TELE_RX; d++)
			add_row(&c->frame, i, d, bytes, BYTES_A_MS, seconds);
		all += bytes;
	}
	for (uint8_t d = TELE_TX; d <= TELE_RX; d++)
		add_row(&c->frame, TELE_LINK, d, all, BYTES_A_MS * 2, seconds);
	send(c);
}

static void
send_raw(struct cluster *c, uint32_t h, int64_t now_ns)
{
	uint32_t bins[RAW_MS], all[RAW_MS] = { 0 };
	int64_t to_ms = now_ns / MS_NS, from_ms = to_ms - RAW_MS;

	begin(c, h, TELE_RAW, to_ms * MS_NS, RAW_MS * MS_NS);
	add_names(c, h);
	for (uint32_t i = 0; i < c->hosts[h].n; i++) {
		const struct job *job = &c->jobs[c->hosts[h].jobs[i]];

		for (uint32_t t = 0; t < RAW_MS; t++) {
			bins[t] = is_sending(job, from_ms + t) ? BYTES_A_MS : 0;
			all[t] += bins[t];
		}
		for (unsigned d = TELE_TX; d <= TELE_RX; d++)
			tele_add_series(&c->frame, 0, i, (enum tele_direction)d,
					TELE_WIRE, from_ms, bins, RAW_MS);
	}
	for (unsigned d = TELE_TX; d <= TELE_RX; d++)
		tele_add_series(&c->frame, 0, TELE_LINK, (enum tele_direction)d,
				TELE_WIRE, from_ms, all, RAW_MS);
	send(c);
}

static void
send_iteration(struct cluster *c, struct job *job, int64_t now_ns)
{
	begin(c, job->first, TELE_PACE, now_ns, 0);
	tele_add_job(&c->frame, job->name);
	vec_push(&c->frame.iterations,
		 ((struct tele_iteration){
			 .pid = 1 + job->first,
			 .number = job->number++,
			 .enter_ns = job->next_ms * MS_NS,
			 .begin_ns = job->next_ms * MS_NS,
			 .comm_ns = job->busy_ms * MS_NS,
			 .bytes = (uint64_t)BYTES_A_MS * job->busy_ms,
			 .n_collectives = 1,
			 .gap_us = 1000 * (job->period_ms - job->busy_ms),
		 }));
	send(c);
}

static void
send_iterations(struct cluster *c, int64_t now_ns)
{
	int64_t now_ms = now_ns / MS_NS;

	for (size_t i = 0; i < c->n_jobs; i++) {
		struct job *job = &c->jobs[i];

		if (!job->is_paced || now_ms < job->next_ms)
			continue;
		if (job->next_ms)
			send_iteration(c, job, now_ns);
		job->next_ms = now_ms - (now_ms + job->first * 7) % job->period_ms +
			       job->period_ms;
	}
}

/* ---- The running cluster --------------------------------------------------------- */

static void
run(struct cluster *c, unsigned seconds)
{
	int64_t start_ns;

	while (!bus_pub_is_wanted(c->pub, TELE_SUMMARY, "h0"))
		bus_pub_wait(c->pub, SECOND_NS / 100);
	start_ns = clk_monotonic_ns();
	for (unsigned slice = 0; slice < seconds * SLICES; slice++) {
		int64_t due_ns = start_ns + slice * (SECOND_NS / SLICES);
		int64_t left_ns = due_ns - clk_monotonic_ns();

		if (left_ns > 0)
			bus_pub_wait(c->pub, left_ns);
		for (uint32_t h = slice % SLICES; h < c->n_hosts; h += SLICES)
			send_summary(c, h, due_ns);
		for (uint32_t h = slice % RAW_SLICES; h < c->n_raw; h += RAW_SLICES)
			if (bus_pub_is_wanted(c->pub, TELE_RAW, "h0"))
				send_raw(c, h, due_ns);
		send_iterations(c, due_ns);
	}
}

int
main(int argc, char **argv)
{
	struct cluster c = { .n_jobs = 0 };
	struct err err;

	if (argc != 5) {
		fputs("usage: live_many ENDPOINT SECONDS HOSTS RAW_HOSTS <JOBS\n",
		      stderr);
		return 2;
	}
	c.n_hosts = (uint32_t)strtoul(argv[3], NULL, 10);
	c.n_raw = (uint32_t)strtoul(argv[4], NULL, 10);
	c.hosts = xcalloc(c.n_hosts + 1, sizeof *c.hosts);
	c.wall_offset_ns = clk_wall_us() * 1000 - clk_monotonic_ns();
	read_jobs(&c);
	if (bus_pub_open_room(argv[1], true, NULL, BUS_ROOM_CLUSTER, &c.pub, &err) <
	    0) {
		err_print(&err, stderr);
		return 1;
	}
	run(&c, (unsigned)strtoul(argv[2], NULL, 10));
	printf("%llu summaries, %llu raw frames, %llu iterations; %llu not sent\n",
	       (unsigned long long)c.n_sent[TELE_SUMMARY],
	       (unsigned long long)c.n_sent[TELE_RAW],
	       (unsigned long long)c.n_sent[TELE_PACE], (unsigned long long)c.n_unsent);
	bus_pub_close(c.pub);
	tele_fini(&c.frame);
	free(c.jobs);
	free(c.hosts);
	return 0;
}
