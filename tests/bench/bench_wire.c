/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_wire.c - whether one receiver keeps up with a cluster
 *
 * Publishers in their own processes send over TCP on loopback to one receiver, which
 * decodes every frame and follows all sequences, as the live state does:
 *
 *	summaries  of 10,000 hosts with 8 interfaces each, one frame a second a host:
 *		   three rows (all, two jobs) for each interface and direction
 *	raw        series of 200 hosts with 8 interfaces: 1000 bins a second for all
 *		   and for two jobs, both directions; half of the time idle
 *
 * First at the pace of real hosts, whose seconds begin at different times, then as fast
 * as possible.  Measures the CPU time of the receiver including its network thread,
 * since the machine may have other load.  No frame may be lost.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"

#define SECOND_NS    INT64_C(1000000000)
#define N_INTERFACES 8
#define N_JOBS       2
#define N_PUBLISHERS 4
#define N_BINS       1000
#define SLICES       100 /* Parts of a second: hosts do not send all at once. */
#define CAPACITY_BPS 100e9
#define BYTES_A_MS   12500000
#define BURST_MS     45
#define PERIOD_MS    90

struct load {
	const char *name;
	uint8_t kind;
	unsigned n_hosts;
	unsigned seconds;
	bool is_paced;
};

/* ---- Frames of a host ------------------------------------------------------------ */

static void
set_sender(struct tele_frame *frame, const struct load *load, unsigned host,
	   uint64_t second)
{
	char name[TELE_MAX_NAME];

	tele_clear(frame);
	frame->kind = load->kind;
	snprintf(name, sizeof name, "node%05u.cluster", host);
	tele_set_name(frame->host, name);
	frame->start_id = 1;
	frame->sequence = second;
	frame->time_ns = (int64_t)(second + 1) * SECOND_NS;
	frame->window_ns = SECOND_NS;
	for (unsigned i = 0; i < N_INTERFACES; i++) {
		uint32_t interface;

		snprintf(name, sizeof name, "mlx5_%u", i);
		interface = tele_add_interface(frame, name);
		frame->interfaces.items[interface].capacity_bps = CAPACITY_BPS;
	}
	for (unsigned i = 0; i < N_JOBS; i++) {
		snprintf(name, sizeof name, "%u", 4711 + host / 64 * 2 + i);
		tele_add_job(frame, name);
	}
}

static void
add_rows(struct tele_frame *frame, struct rng *rng)
{
	uint64_t second = frame->sequence + 1;

	for (uint32_t k = 0; k < N_INTERFACES * 2 * (N_JOBS + 1); k++) {
		uint32_t job = k % (N_JOBS + 1);
		uint64_t window = 2000000000 + rng_below(rng, 1000000000);
		struct tele_traffic row = {
			.interface = k / (2 * (N_JOBS + 1)),
			.job = job == N_JOBS ? TELE_LINK : job,
			.direction = k / (N_JOBS + 1) % 2,
			.total_bytes = second * window,
			.total_packets = second * window / 4096,
			.total_ce = second * 7,
			.total_retransmits = second,
			.window_bytes = window,
			.peak_bytes = BYTES_A_MS - (uint32_t)rng_below(rng, 1000),
			.busy_bins = 480 + (uint32_t)rng_below(rng, 40),
			.flows = 16,
			.queue_bytes = (uint32_t)rng_below(rng, 1 << 20),
		};

		vec_push(&frame->traffic, row);
	}
}

/* Bursts of an all-reduce: 45 of 90 ms, each with its own rate and noise. */
static void
make_bins(struct rng *rng, uint64_t second, uint32_t job, uint32_t *bins)
{
	for (unsigned i = 0; i < N_BINS; i++) {
		uint64_t ms = second * N_BINS + i + (job == 1 ? BURST_MS : 0);
		bool is_on = ms % PERIOD_MS < BURST_MS;
		uint32_t noise = (uint32_t)(rng_next(rng) & 0xfffff);

		bins[i] = job == N_JOBS ? BYTES_A_MS - (noise >> 4)
			  : is_on       ? BYTES_A_MS / 2 + noise
					: 0;
	}
}

static void
add_all_series(struct tele_frame *frame, struct rng *rng)
{
	uint32_t bins[N_BINS];

	for (uint32_t k = 0; k < N_INTERFACES * 2 * (N_JOBS + 1); k++) {
		uint32_t job = k % (N_JOBS + 1);

		make_bins(rng, frame->sequence, job, bins);
		tele_add_series(frame, k / (2 * (N_JOBS + 1)),
				job == N_JOBS ? TELE_LINK : job,
				k / (N_JOBS + 1) % 2 ? TELE_RX : TELE_TX, TELE_WIRE,
				(int64_t)(frame->sequence * N_BINS), bins, N_BINS);
	}
}

/* ---- Publishers ------------------------------------------------------------------ */

static void
send_frame(struct bus_pub *pub, const struct load *load, unsigned host, uint64_t second,
	   struct tele_frame *frame, struct rng *rng)
{
	set_sender(frame, load, host, second);
	if (load->kind == TELE_SUMMARY)
		add_rows(frame, rng);
	else
		add_all_series(frame, rng);
	/* Only an unpaced publisher waits for the receiver. */
	while (bus_pub_frame(pub, frame) == -EAGAIN)
		bus_pub_wait(pub, SECOND_NS / 1000);
}

/* Hosts 'me', 'me' + N_PUBLISHERS, ...; a hundredth of them in each 10 ms. */
static void
be_publisher(const struct load *load, unsigned me, int endpoint_fd, int64_t start_ns)
{
	struct tele_frame frame = { 0 };
	struct bus_pub *pub;
	struct rng rng;
	struct err err;
	char endpoint[64] = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rng_init(&rng, me);
	if (bus_pub_open_room("tcp://127.0.0.1:*", true, NULL, BUS_ROOM_CLUSTER, &pub,
			      &err) < 0)
		_exit(1);
	if (!load->is_paced)
		bus_pub_set_lossless(pub);
	strncpy(endpoint, bus_pub_endpoint(pub), sizeof endpoint - 1);
	if (write(endpoint_fd, endpoint, sizeof endpoint) != sizeof endpoint)
		_exit(1);
	while (!bus_pub_is_wanted(pub, load->kind, "n"))
		bus_pub_wait(pub, SECOND_NS / 100);

	for (unsigned slice = 0; slice < load->seconds * SLICES; slice++) {
		int64_t due_ns = start_ns + slice * (SECOND_NS / SLICES);
		int64_t left_ns = due_ns - clk_monotonic_ns();

		if (load->is_paced && left_ns > 0)
			bus_pub_wait(pub, left_ns);
		for (unsigned host = me; host < load->n_hosts; host += N_PUBLISHERS) {
			if (host / N_PUBLISHERS % SLICES == slice % SLICES)
				send_frame(pub, load, host, slice / SLICES, &frame,
					   &rng);
		}
	}
	bus_pub_wait(pub, 2 * SECOND_NS);
	bus_pub_close(pub);
	tele_fini(&frame);
	_exit(0);
}

/* ---- The receiver ---------------------------------------------------------------- */

struct result {
	uint64_t frames, bytes, lost, rows, bins;
	double seconds, cpu_seconds;
};

static double
cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void
receive(const struct load *load, struct bus_sub *sub, struct result *ret)
{
	const uint64_t wanted = (uint64_t)load->n_hosts * load->seconds;
	struct tele_frame frame = { 0 };
	int64_t first_ns = 0, last_ns = 0;
	double cpu = 0;

	while (ret->frames < wanted) {
		if (bus_sub_wait(sub, 5 * SECOND_NS) <= 0)
			break;
		if (!first_ns) {
			first_ns = clk_monotonic_ns();
			cpu = cpu_seconds();
		}
		while (bus_sub_frame(sub, &frame, NULL, NULL) == 1) {
			ret->frames++;
			ret->rows += frame.traffic.n;
			ret->bins += frame.bins.n;
		}
		last_ns = clk_monotonic_ns();
	}
	ret->cpu_seconds = cpu_seconds() - cpu;
	ret->seconds = (double)(last_ns - first_ns) / 1e9;
	ret->bytes = bus_sub_counts(sub)->bytes;
	/* From the sequences, and at both ends, which sequences cannot cover. */
	ret->lost = bus_sub_counts(sub)->gaps;
	if (wanted - ret->frames > ret->lost)
		ret->lost = wanted - ret->frames;
	tele_fini(&frame);
}

static void
print_result(const struct load *load, const struct result *r)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-9s %6u hosts %-5s %8.0f frames/s %6.1f MB/s %6.0f B/frame, lost %llu; "
	       "receiver %.2f of a core, %.1f us CPU/frame, %ld MB\n",
	       load->name, load->n_hosts, load->is_paced ? "paced" : "flood",
	       (double)r->frames / r->seconds, (double)r->bytes / 1e6 / r->seconds,
	       (double)r->bytes / (double)r->frames, (unsigned long long)r->lost,
	       r->cpu_seconds / r->seconds, r->cpu_seconds * 1e6 / (double)r->frames,
	       usage.ru_maxrss / 1024);
	fflush(stdout);
}

static uint64_t
items_a_frame(const struct load *load)
{
	uint64_t n = N_INTERFACES * 2 * (N_JOBS + 1);

	return load->kind == TELE_SUMMARY ? n : n * N_BINS;
}

/* Returns false if a frame was lost, or if the receiver used more than one core. */
static bool
run_load(const struct load *load)
{
	char endpoints[N_PUBLISHERS][64];
	const char *list[N_PUBLISHERS];
	int64_t start_ns = clk_monotonic_ns() + SECOND_NS;
	struct result result = { 0 };
	struct bus_sub *sub;
	int fds[2];

	fflush(stdout);
	if (pipe(fds) < 0)
		return false;
	for (unsigned i = 0; i < N_PUBLISHERS; i++) {
		if (fork() == 0)
			be_publisher(load, i, fds[1], start_ns);
	}
	for (unsigned i = 0; i < N_PUBLISHERS; i++) {
		if (read(fds[0], endpoints[i], sizeof endpoints[i]) !=
		    sizeof endpoints[i])
			return false;
		list[i] = endpoints[i];
	}
	if (bus_sub_open(list, N_PUBLISHERS, false, NULL, &sub, NULL) < 0)
		return false;
	bus_sub_want(sub, load->kind, NULL, true);
	receive(load, sub, &result);
	bus_sub_close(sub);
	while (wait(NULL) > 0)
		continue;
	close(fds[0]);
	close(fds[1]);
	print_result(load, &result);
	/* Checks that every row and bin was decoded. */
	if (result.rows + result.bins != result.frames * items_a_frame(load))
		return false;
	return result.lost == 0 &&
	       (!load->is_paced || result.cpu_seconds < result.seconds);
}

int
main(void)
{
	static const struct load loads[] = {
		{ "summaries", TELE_SUMMARY, 10000, 10, true },
		{ "summaries", TELE_SUMMARY, 10000, 10, false },
		{ "raw", TELE_RAW, 200, 10, true },
		{ "raw", TELE_RAW, 200, 10, false },
	};
	bool is_good = true;

	printf("one receiver, %d publishers, %d interfaces a host, both directions, all "
	       "and %d jobs\n",
	       N_PUBLISHERS, N_INTERFACES, N_JOBS);
	for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
		is_good &= run_load(&loads[i]);
	puts(is_good ? "nothing was lost, and at their own pace a core was enough"
		     : "FAILED: something was lost, or a core was not enough");
	return is_good ? 0 : 1;
}
