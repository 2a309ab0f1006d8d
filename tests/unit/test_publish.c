/* SPDX-License-Identifier: Apache-2.0 */
/* test_publish.c - the bus and a recording carry the same frames */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/wire/bus.h"
#include "lib/wire/rec.h"
#include "sim/telemetry/publish.h"
#include "tests/unit/experiment_fixture.h"

static const char SCENARIO[] = "[sim]\nduration = 3.5 s\nseed = 7\n" LAB_JOB(
	"A", "a0,b0", "25", "125", "jitter = 3 %\n")
	LAB_JOB("B", "a1,b1", "31.7", "60", "");

struct place {
	char directory[64], file[96], endpoint[112];
};

static int
make_place(void **state)
{
	static struct place p;

	strcpy(p.directory, "/tmp/antiphase-publish.XXXXXX");
	assert_non_null(mkdtemp(p.directory));
	snprintf(p.file, sizeof p.file, "%s/frames", p.directory);
	snprintf(p.endpoint, sizeof p.endpoint, "ipc://%s/bus", p.directory);
	*state = &p;
	return 0;
}

static int
remove_place(void **state)
{
	const struct place *p = *state;
	char command[96];

	snprintf(command, sizeof command, "rm -r %s", p->directory);
	return system(command);
}

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	emit_sent(publish_emit(ctx), job, flow, start_ns, end_ns, rate_bps,
		  ecn_packets);
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	emit_flows(publish_emit(ctx), job, segment, start_ns, end_ns);
}

static bool
on_tick(void *ctx, int64_t now_ns)
{
	return publish_tick(ctx, now_ns);
}

/* Returns the result of publish_open() or publish_close(). */
static int
publish(const struct publish_opts *publish_opts, struct err *err)
{
	struct lab lab = lab_make(SCENARIO);
	struct sim_plan plan = lab_plan(&lab, "none");
	struct experiment_opts opts;
	struct experiment experiment = { 0 };
	struct publish *p = NULL;
	int error = publish_open(lab.topo, lab.scenario, &plan, publish_opts, &p, err);

	if (error == 0) {
		experiment_opts_init(&opts, lab.scenario, SIM_POLICY_NONE);
		opts.ctx = p;
		opts.on_sent = on_sent;
		opts.on_flows = on_flows;
		opts.on_tick = on_tick;
		opts.tick_ns = PUBLISH_WINDOW_NS;
		assert_int_equal(experiment_run(lab.scenario, &plan, lab.topo, &opts,
						&experiment),
				 0);
		error = publish_close(p, err);
		experiment_fini(&experiment);
	}
	sim_plan_fini(&plan);
	lab_fini(&lab);
	return error;
}

static void
the_bus_and_a_recording_carry_the_same_frames(void **state)
{
	const struct place *place = *state;
	const char *endpoint = place->endpoint;
	struct publish_opts opts = {
		.target = place->file,
		.emit = { .seed = 7, .with_events = true, .with_switches = true },
	};
	struct bus_sub *sub;
	struct rec_reader *reader;
	struct tele_frame heard = { 0 }, read = { 0 };
	struct err err = { 0 };
	const uint8_t *heard_bytes, *read_bytes;
	size_t heard_n, read_n, n = 0;

	assert_int_equal(publish(&opts, &err), 0);
	assert_int_equal(bus_sub_open(&endpoint, 1, false, NULL, &sub, &err), 0);
	for (int kind = TELE_SUMMARY; kind <= TELE_EVENTS; kind++)
		assert_int_equal(bus_sub_want(sub, (uint8_t)kind, NULL, true), 0);
	opts.target = endpoint;
	opts.must_wait = opts.has_pace = opts.has_epoch =
		true; /* As fast as possible, with speed 0. */
	assert_int_equal(publish(&opts, &err), 0);
	assert_int_equal(rec_reader_open(place->file, &reader, &err), 0);
	while (rec_read(reader, &read, &read_bytes, &read_n, &err) == 1) {
		while (!bus_sub_frame(sub, &heard, &heard_bytes, &heard_n))
			assert_int_equal(bus_sub_wait(sub, 2000000000), 1);
		assert_int_equal(heard_n, read_n);
		assert_memory_equal(heard_bytes, read_bytes, read_n);
		n++;
	}
	/* 10 senders, 4 windows, 2 kinds; events of 4 hosts. */
	assert_int_equal(n, 10 * 4 * 2 + 4 * 4);
	assert_int_equal(bus_sub_frame(sub, &heard, &heard_bytes, &heard_n), 0);
	assert_int_equal(bus_sub_counts(sub)->gaps, 0);
	rec_reader_close(reader);
	bus_sub_close(sub);
	tele_fini(&heard);
	tele_fini(&read);
}

static void
series_are_only_made_for_those_who_want_them(void **state)
{
	const struct place *place = *state;
	const char *endpoint = place->endpoint;
	struct publish_opts opts = {
		.target = endpoint,
		.must_wait = true,
		.has_pace = true,
		.emit = { .seed = 7, .with_events = true },
	};
	struct bus_sub *sub;
	struct tele_frame frame = { 0 };
	struct err err = { 0 };
	const uint8_t *bytes;
	size_t size, n[TELE_EVENTS + 1] = { 0 };

	assert_int_equal(bus_sub_open(&endpoint, 1, false, NULL, &sub, &err), 0);
	assert_int_equal(bus_sub_want(sub, TELE_SUMMARY, NULL, true), 0);
	assert_int_equal(bus_sub_want(sub, TELE_RAW, "b1", true), 0);
	assert_int_equal(publish(&opts, &err), 0);
	while (bus_sub_wait(sub, 200000000) == 1)
		while (bus_sub_frame(sub, &frame, &bytes, &size) == 1) {
			n[frame.kind]++;
			if (frame.kind == TELE_RAW)
				assert_string_equal(frame.host, "b1");
		}
	assert_int_equal(n[TELE_SUMMARY], 8 * 4);
	assert_int_equal(n[TELE_RAW], 4);
	assert_int_equal(n[TELE_EVENTS], 0);
	bus_sub_close(sub);
	tele_fini(&frame);
}

static void
targets_that_cannot_be_had_are_errors_with_a_reason(void **state)
{
	const struct place *place = *state;
	char path[128];
	struct publish_opts opts = { .target = path };
	struct err err = { 0 };

	snprintf(path, sizeof path, "%s/nowhere/frames", place->directory);
	assert_int_equal(publish(&opts, &err), -ENOENT);
	assert_non_null(strstr(err.file, "nowhere/frames"));
	/* Not on loopback and without keys. */
	strcpy(path, "tcp://0.0.0.0:*");
	err = (struct err){ 0 };
	assert_int_equal(publish(&opts, &err), -EACCES);
	assert_true(err.text[0] != '\0');
}

/* One switch and 'n' hosts. */
static struct topo *
star(unsigned n)
{
	struct topo_builder *b = topo_builder_new("star");
	uint32_t centre, host;
	char name[16];

	assert_int_equal(topo_builder_switch(b, "centre", 1, &centre), 0);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof name, "h%u", i);
		assert_int_equal(topo_builder_host(b, name, 1, &host), 0);
		assert_int_equal(
			topo_builder_cable(b, host, "p0", centre, name, 50e9, 50e9), 0);
	}
	return topo_builder_finish(b);
}

static void
check_star(unsigned n, bool with_switches, const char *says)
{
	const struct publish_opts opts = { .target = "/nowhere/frames",
					   .emit = { .with_switches = with_switches } };
	struct topo *topo = star(n);
	struct lab lab = lab_make(SCENARIO);
	struct sim_plan plan = { 0 };
	struct publish *p;
	struct err err = { 0 };

	assert_int_equal(publish_open(topo, lab.scenario, &plan, &opts, &p, &err),
			 says ? -EINVAL : -ENOENT);
	if (says && !strstr(err.text, says))
		fail_msg("%s", err.text);
	lab_fini(&lab);
	topo_unref(topo);
}

static void
what_no_frame_has_room_for_is_refused_first(void **state)
{
	(void)state;
	check_star(TELE_MAX_INTERFACES, true, NULL);
	check_star(TELE_MAX_INTERFACES + 1, false, NULL);
	check_star(TELE_MAX_INTERFACES + 1, true,
		   "centre has more ports than fit into a telemetry frame (1024)");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_bus_and_a_recording_carry_the_same_frames, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			series_are_only_made_for_those_who_want_them, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			targets_that_cannot_be_had_are_errors_with_a_reason, make_place,
			remove_place),
		cmocka_unit_test(what_no_frame_has_room_for_is_refused_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
