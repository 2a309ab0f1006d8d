/* SPDX-License-Identifier: Apache-2.0 */
/* test_scenario.c - reading jobs and scenarios, and the messages for bad ones */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/segment_text.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

static const char profiles[] = "{\"schema\":\"antiphase.profiles/1\",\"profiles\":["
			       "{\"job\":\"1\",\"period_us\":475000,\"jitter_us\":4000,"
			       "\"iterations\":20,\"confidence\":0.5,\"phases\":["
			       "{\"start_us\":0,\"duration_us\":75000,\"gbps\":0.8}]},"
			       "{\"job\":\"two\",\"period_us\":1000,\"phases\":[]}]}";

/* The only file is "dir/p.json". */
static int
read_one(void *ctx, const char *path, size_t max_bytes, char **ret_text,
	 size_t *ret_length, struct err *err)
{
	(void)ctx;
	(void)max_bytes;
	if (strcmp(path, "dir/p.json") != 0)
		return err_set_errno(err, path, ENOENT, "open");
	*ret_text = xstrdup(profiles);
	*ret_length = strlen(profiles);
	return 0;
}

static const struct scenario_io io = { NULL, read_one };

static struct scenario *
parse(const char *text)
{
	struct scenario *scenario;
	struct err err;

	if (scenario_parse("dir/s.ini", text, strlen(text), &io, &scenario, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	return scenario;
}

/* Four hosts of two slots on one leaf, 50 Gb/s; h3 has 25 Gb/s. */
static struct topo *
make_topo(void)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t leaf, host;
	char name[16];

	assert_int_equal(topo_builder_switch(b, "leaf0", 1, &leaf), 0);
	for (unsigned i = 0; i < 4; i++) {
		double bps = i == 3 ? 25e9 : 50e9;

		snprintf(name, sizeof name, "h%u", i);
		assert_int_equal(topo_builder_host(b, name, 2, &host), 0);
		assert_int_equal(
			topo_builder_cable(b, host, "p0", leaf, name, bps, bps), 0);
	}
	return topo_builder_finish(b);
}

/* The message for a text that does not parse or does not fit make_topo(). */
static void
assert_refused(const char *text, const char *expect)
{
	struct topo *topo = make_topo();
	struct scenario *scenario = NULL;
	struct err err = { .text = "accepted" };
	struct strbuf said = STRBUF_EMPTY;
	int r = scenario_parse("dir/s.ini", text, strlen(text), &io, &scenario, &err);

	if (r == 0)
		r = scenario_bind(scenario, topo, &err);
	strbuf_printf(&said, "%s:%u: %s", err.file, err.line, err.text);
	assert_string_equal(said.text, expect);
	assert_true(r < 0);
	strbuf_free(&said);
	scenario_free(scenario);
	topo_unref(topo);
}

#define A_JOB "[job a]\nnodes = 2\nsegment = send 1 MB\n"

/* ---- Valid scenarios ------------------------------------------------------------- */

static void
every_key_is_read(void **state)
{
	struct scenario *s =
		parse("[sim]\niterations = 50\nwarmup_iterations = 5\n"
		      "duration = 2 min\nseed = 9\npacing = gate\n"
		      "phases = random\nmtu = 1500 B\n"
		      "[fabric]\nfile = f.json\necmp_seed = 3\n"
		      "[job a]\nhosts = h[0-1]\nslots = 2\ncollective = tree\n"
		      "segment = compute 20 ms + send 100 MB at 40 Gb/s after 5 ms\n"
		      "segment = compute 1 ms\njitter = 2 %\nstalls = 5 % of 40 ms\n"
		      "weight = 3.5\n"
		      "arrival = 1 s\nstop = 9 s\nshift = 7 ms\niterations = 40\n"
		      "port = 77 ; for ECMP\nmovable = yes\nmove_cost = 90 s\n"
		      "remaining = 2 h\nrunning_for = 30 min\n");
	const struct work_job *job = &s->workload.jobs[0];

	(void)state;
	assert_int_equal(s->sim.iterations, 50);
	assert_int_equal(s->sim.warmup_iterations, 5);
	assert_int_equal(s->sim.duration_ns, INT64_C(120000000000));
	assert_int_equal(s->sim.seed, 9);
	assert_int_equal(s->sim.pacing, SCENARIO_PACE_GATE);
	assert_int_equal(s->sim.phases, SCENARIO_PHASES_RANDOM);
	assert_near(s->sim.mtu_bytes, 1500, 0);
	assert_string_equal(s->fabric.file, "dir/f.json");
	assert_int_equal(s->fabric.ecmp_seed, 3);
	assert_int_equal(s->workload.n, 1);
	assert_string_equal(job->name, "a");
	assert_int_equal(job->n_hosts_wanted, 2);
	assert_int_equal(job->slots_per_host, 2);
	assert_int_equal(job->collective, COLLECTIVE_TREE);
	assert_int_equal(job->n_segments, 2);
	assert_int_equal(job->segments[0].compute_ns, 20000000);
	assert_int_equal(job->segments[0].send_offset_ns, 5000000);
	assert_near(job->segments[0].nic_bytes, 100e6, 0);
	assert_near(job->segments[0].cap_bps, 40e9, 0);
	assert_int_equal(job->segments[1].compute_ns, 1000000);
	assert_near(job->jitter_frac, 0.02, 1e-15);
	assert_near(job->stall_frac, 0.05, 1e-15);
	assert_near(job->stall_ns, 40e6, 1e-6);
	assert_near(job->weight, 3.5, 0);
	assert_int_equal(job->arrival_ns, 1000000000);
	assert_int_equal(job->stop_ns, INT64_C(9000000000));
	assert_int_equal(job->shift_ns, 7000000);
	assert_int_equal(job->max_iterations, 40);
	assert_int_equal(job->first_port, 77);
	assert_true(job->is_movable && job->has_move_cost);
	assert_int_equal(job->move_cost_ns, INT64_C(90000000000));
	assert_int_equal(job->left_ns, INT64_C(7200000000000));
	assert_int_equal(job->ran_ns, INT64_C(1800000000000));
	scenario_free(s);
}

static void
what_is_not_said_has_its_default(void **state)
{
	struct scenario *s = parse(A_JOB "[job b]\nnodes = 3\nslots = 2\n"
					 "segment = compute 1 ms\n");

	(void)state;
	assert_int_equal(s->sim.iterations, 200);
	assert_int_equal(s->sim.duration_ns, ENGINE_NEVER);
	assert_int_equal(s->sim.seed, 1);
	assert_int_equal(s->sim.pacing, SCENARIO_PACE_UNSET);
	assert_null(s->fabric.file);
	assert_null(s->workload.jobs[0].hosts);
	assert_int_equal(s->workload.jobs[0].collective, COLLECTIVE_RING);
	assert_int_equal(s->workload.jobs[0].stop_ns, ENGINE_NEVER);
	assert_near(s->workload.jobs[0].weight, 2, 0);
	assert_near(s->workload.jobs[1].weight, 6, 0);
	assert_int_not_equal(s->workload.jobs[0].first_port,
			     s->workload.jobs[1].first_port);
	scenario_free(s);
}

static void
binding_finds_hosts_and_makes_profiles_of_the_slowest_interface(void **state)
{
	struct scenario *s =
		parse("[job fast]\nhosts = h[0-1]\nsegment = compute 10 ms\n"
		      "segment = send 62.5 MB\n"
		      "[job slow]\nhosts = h1,h3\nsegment = send 62.5 MB\n"
		      "[job waits]\nnodes = 2\nsegment = send 62.5 MB\n");
	struct topo *topo = make_topo();

	(void)state;
	assert_int_equal(scenario_bind(s, topo, NULL), 0);
	assert_int_equal(s->workload.jobs[0].hosts[1], topo_find_node(topo, "h1"));
	assert_int_equal(s->workload.jobs[0].profile.period_us, 20000);
	assert_int_equal(s->workload.jobs[0].profile.phases[0].start_us, 10000);
	assert_int_equal(s->workload.jobs[1].profile.period_us, 20000);
	assert_int_equal(s->workload.jobs[2].profile.period_us, 20000);
	assert_string_equal(s->workload.jobs[2].profile.job, "waits");
	assert_null(s->workload.jobs[2].hosts);
	scenario_free(s);
	topo_unref(topo);
}

static void
a_message_becomes_what_the_collective_sends(void **state)
{
	/* A ring of W sends 2 (W - 1) / W of the message; of two, the message. */
	struct scenario *s =
		parse("[job four]\nhosts = h[0-3]\nsegment = allreduce 100 MB\n"
		      "[job two]\nnodes = 2\nsegment = allreduce 100 MB + "
		      "compute 2 ms\n"
		      "[job all]\nnodes = 4\ncollective = all-to-all\n"
		      "segment = allreduce 100 MB\n");
	struct topo *topo = make_topo();

	(void)state;
	assert_int_equal(scenario_bind(s, topo, NULL), 0);
	assert_near(s->workload.jobs[0].segments[0].nic_bytes, 150e6, 1);
	assert_near(s->workload.jobs[1].segments[0].nic_bytes, 100e6, 1);
	assert_int_equal(s->workload.jobs[1].segments[0].compute_ns, 2000000);
	assert_near(s->workload.jobs[2].segments[0].nic_bytes, 75e6, 1);
	scenario_free(s);
	topo_unref(topo);
}

static void
a_profile_gives_segments_and_jitter_and_may_be_scaled(void **state)
{
	struct scenario *s =
		parse("[job a]\nnodes = 2\nprofile = p.json#1\n"
		      "[job b]\nnodes = 2\nprofile = p.json#1\nscale = 40\n"
		      "jitter = 0 %\n");
	struct topo *topo = make_topo();
	const struct work_job *a = &s->workload.jobs[0], *b = &s->workload.jobs[1];

	(void)state;
	assert_int_equal(scenario_bind(s, topo, NULL), 0);
	assert_int_equal(a->profile.period_us, 475000);
	assert_int_equal(a->profile.n_iterations, 20);
	assert_string_equal(a->profile.job, "a");
	assert_int_equal(a->n_segments, 2);
	assert_near(a->segments[0].nic_bytes, 7.5e6, 1e-3);
	assert_near(a->segments[0].cap_bps, 0.8e9, 1);
	assert_int_equal(a->segments[1].compute_ns, 400000000);
	assert_near(a->jitter_frac, 0.01, 1e-12);
	assert_near(b->segments[0].nic_bytes, 300e6, 1e-3);
	/* 32 Gb/s exceeds h3's 25 Gb/s: the burst is stretched, computing is not. */
	assert_near(b->profile.phases[0].rate_bps, 25e9, 1);
	assert_int_equal(b->profile.phases[0].duration_us, 96000);
	assert_int_equal(b->profile.period_us, 496000);
	assert_int_equal(b->profile.n_iterations, 20);
	assert_near(b->jitter_frac, 0, 0);
	scenario_free(s);
	topo_unref(topo);
}

static void
count_makes_replicas_with_numbers(void **state)
{
	struct scenario *s =
		parse("[job w]\nnodes = 1\nsegment = compute 1 ms\ncount = 3\n"
		      "[job last]\nnodes = 1\nsegment = compute 1 ms\n");

	(void)state;
	assert_int_equal(s->workload.n, 4);
	assert_string_equal(s->workload.jobs[0].name, "w-1");
	assert_string_equal(s->workload.jobs[2].name, "w-3");
	assert_string_equal(s->workload.jobs[3].name, "last");
	assert_int_equal(s->details[2].line, 1);
	scenario_free(s);
}

static void
slots_may_be_used_one_job_after_another(void **state)
{
	struct scenario *s =
		parse("[job a]\nhosts = h0\nslots = 2\nsegment = compute 1 ms\n"
		      "stop = 1 s\n"
		      "[job b]\nhosts = h0\nslots = 2\nsegment = compute 1 ms\n"
		      "arrival = 1 s\n");
	struct topo *topo = make_topo();

	(void)state;
	assert_int_equal(scenario_bind(s, topo, NULL), 0);
	scenario_free(s);
	topo_unref(topo);
}

/* ---- Invalid scenarios ----------------------------------------------------------- */

static void
bad_sections_are_refused(void **state)
{
	(void)state;
	assert_refused("", "dir/s.ini:0: no [job NAME] section");
	assert_refused("[sim]\nseed = 1\n", "dir/s.ini:0: no [job NAME] section");
	assert_refused("seed = 1\n",
		       "dir/s.ini:1: 'seed' stands before the first section; expected "
		       "[sim], [fabric], [job NAME] or [event NAME]");
	assert_refused("[fabirc]\n",
		       "dir/s.ini:1: unknown section [fabirc]; expected [sim], "
		       "[fabric], [job NAME] or [event NAME] (did you mean 'fabric'?)");
	assert_refused("[job]\n",
		       "dir/s.ini:1: [job] has no name; expected '[job NAME]'");
	assert_refused("[job a b]\n",
		       "dir/s.ini:1: a job's name has up to 63 letters, digits "
		       "or '._-/+@'; 'a b' has not");
	assert_refused("[sim]\n[sim]\n",
		       "dir/s.ini:2: [sim] is here twice, first on line 1");
	assert_refused(A_JOB A_JOB,
		       "dir/s.ini:4: there is a job 'a' already, on line 1");
	assert_refused("[job a]\nnodes=1\nsegment = compute 1 ms\ncount=2\n"
		       "[job a-2]\nnodes=1\nsegment = compute 1 ms\n",
		       "dir/s.ini:5: there is a job 'a-2' already, on line 1");
	assert_refused("[job a\n",
		       "dir/s.ini:1: expected ']' at the end of the section's name");
}

static void
bad_keys_are_refused(void **state)
{
	(void)state;
	assert_refused(
		"[sim]\nsead = 1\n",
		"dir/s.ini:2: unknown key 'sead' in [sim] (did you mean 'seed'?)");
	assert_refused(
		"[job a]\nshif = 1 ms\n",
		"dir/s.ini:2: unknown key 'shif' in [job a] (did you mean 'shift'?)");
	assert_refused("[job a]\nnodes = 1\nnodes = 2\n",
		       "dir/s.ini:3: 'nodes' is here twice, first on line 2");
	assert_refused(
		"[fabric]\nfile = a\ngenerate = b\n",
		"dir/s.ini:3: a fabric has either 'file' or 'generate', not both");
}

static void
bad_values_are_refused(void **state)
{
	(void)state;
	assert_refused("[sim]\niterations = many\n",
		       "dir/s.ini:2: expected a whole number from "
		       "1 to 10000000, not 'many'");
	assert_refused("[sim]\nseed = -1\n",
		       "dir/s.ini:2: expected a whole number from 0 to "
		       "9223372036854775807, not '-1'");
	assert_refused(
		"[sim]\nduration = 35\n",
		"dir/s.ini:2: expected a time such as '35 ms' (ns, us, ms, s, min, h), "
		"not '35'");
	assert_refused("[sim]\nduration = 1e6 h\n",
		       "dir/s.ini:2: expected at most 1e9 s, not '1e6 h'");
	assert_refused(
		"[sim]\npacing = gat\n",
		"dir/s.ini:2: expected one of none, once, realign, gate, steer; not 'gat' "
		"(did you mean 'gate'?)");
	assert_refused("[sim]\nmtu = 1 B\n",
		       "dir/s.ini:2: expected 64 B to 64 KiB, not '1 B'");
	assert_refused(
		"[job a]\njitter = 300 %\n",
		"dir/s.ini:2: expected a share such as '2 %' or '0.02', at most 1, not "
		"'300 %'");
	assert_refused(
		"[job a]\nstalls = 5 %\n",
		"dir/s.ini:2: expected a share, at most 1, of a mean time, at most "
		"1 min, such as '5 % of 40 ms', not '5 %'");
	assert_refused(
		"[job a]\nstalls = 5 % of 2 min\n",
		"dir/s.ini:2: expected a share, at most 1, of a mean time, at most "
		"1 min, such as '5 % of 40 ms', not '5 % of 2 min'");
	assert_refused("[job a]\nmovable = 1\n",
		       "dir/s.ini:2: expected one of no, yes; not '1'");
	assert_refused(
		"[job a]\nweight = 0\n",
		"dir/s.ini:2: expected a weight above 0 and at most 1e9, not '0'");
	assert_refused(
		"[job a]\ncollective = rin\n",
		"dir/s.ini:2: expected one of ring, tree, all-to-all, hierarchical; not "
		"'rin' (did you mean 'ring'?)");
	assert_refused(
		"[job a]\nport = 70000\n",
		"dir/s.ini:2: expected a whole number from 1 to 65535, not '70000'");
	assert_refused("[job a]\nscale = fast\n",
		       "dir/s.ini:2: expected a factor from 1e-6 to 1e6, not 'fast'");
}

static void
jobs_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	assert_refused(
		"[job a]\nsegment = send 1 MB\n",
		"dir/s.ini:1: job 'a' needs 'hosts = NAMES', or 'nodes = N' to wait for "
		"a place");
	assert_refused(
		"[job a]\nnodes = 1\nhosts = h0\nsegment = compute 1 ms\n",
		"dir/s.ini:1: job 'a' has both 'hosts' and 'nodes'; expected one");
	assert_refused(
		"[job a]\nnodes = 1\n",
		"dir/s.ini:1: job 'a' needs 'segment = compute 35 ms', 'segment = send "
		"125 MB' or 'profile = FILE'");
	assert_refused(
		"[job a]\nnodes = 1\nsegment = send 1 MB\n",
		"dir/s.ini:1: job 'a' has one host, so what it sends takes no time; "
		"expected it to compute, too");
	assert_refused("[job a]\nnodes = 2\nsegment = compute 0 ms\n",
		       "dir/s.ini:1: job 'a' has iterations that take no time");
	assert_refused("[job a]\nnodes = 1\nsegment = compute 1 ms\nscale = 2\n",
		       "dir/s.ini:1: job 'a' has 'scale', which belongs to 'profile'");
	assert_refused(
		"[job a]\nnodes = 1\nsegment = compute 1 ms\nprofile = p.json#1\n",
		"dir/s.ini:1: job 'a' has both 'profile' and 'segment'; expected one");
	assert_refused(
		"[job a]\nnodes = 1\nsegment = compute 1 ms\narrival = 2 s\nstop = 1 s\n",
		"dir/s.ini:1: job 'a' stops before it arrives");
	assert_refused("[sim]\nduration = 0 s\n" A_JOB,
		       "dir/s.ini:2: expected a time above 0, not '0 s'");
	assert_refused("[sim]\niterations = 5\nwarmup_iterations = 5\n" A_JOB,
		       "dir/s.ini:1: 5 warmup_iterations leave none of 5 to measure");
}

static void
bad_profiles_are_refused(void **state)
{
	(void)state;
	assert_refused("[job a]\nnodes = 2\nprofile = q.json\n",
		       "dir/q.json:0: open: No such file or directory; it is "
		       "named in dir/s.ini:3");
	assert_refused(
		"[job a]\nnodes = 2\nprofile = p.json\n",
		"dir/s.ini:3: dir/p.json has 2 profiles; expected FILE#JOB to choose one");
	assert_refused(
		"[job a]\nnodes = 2\nprofile = p.json#twoo\n",
		"dir/s.ini:3: dir/p.json has no profile of job 'twoo' (did you mean "
		"'two'?)");
}

static void
bad_places_are_refused(void **state)
{
	(void)state;
	assert_refused("[job a]\nhosts = h[0-\nsegment = compute 1 ms\n",
		       "dir/s.ini:2: hosts = h[0-: a '[' is not closed");
	assert_refused(
		"[job a]\nhosts = h0,g1\nsegment = compute 1 ms\n",
		"dir/s.ini:2: fabric 'lab' has no host 'g1' (did you mean 'h1'?)");
	assert_refused("[job a]\nhosts = leaf0\nsegment = compute 1 ms\n",
		       "dir/s.ini:2: fabric 'lab' has no host 'leaf0'");
	assert_refused("[job a]\nhosts = h0,h[0-1]\nsegment = compute 1 ms\n",
		       "dir/s.ini:2: host 'h0' is here twice");
	assert_refused("[job a]\nhosts = h0\nslots = 3\nsegment = compute 1 ms\n",
		       "dir/s.ini:2: host 'h0' has 2 slots, and job 'a' wants 3");
	assert_refused(
		"[job a]\nhosts = h0\nsegment = compute 1 ms\n"
		"[job b]\nhosts = h[0-1]\nslots = 2\nsegment = compute 1 ms\n",
		"dir/s.ini:5: host 'h0' has 2 slots, and its jobs take 3 with job 'b'");
	assert_refused("[job a]\nnodes = 5\nsegment = compute 1 ms\n",
		       "dir/s.ini:1: job 'a' wants 5 hosts, and fabric 'lab' has 4");
	assert_refused(
		"[job a]\nnodes = 4\ncollective = hierarchical\nsegment = allreduce 1 MB\n",
		"dir/s.ini:1: job 'a': what a hierarchical all-reduce sends depends on "
		"its hosts; expected 'hosts', or 'send' instead of 'allreduce'");
	assert_refused(
		"[job a]\nnodes = 2\nsegment = compute 1 h\nsegment = send 1 MB\n",
		"dir/s.ini:1: job 'a': an iteration takes more than one hour");
}

/* ---- Segments -------------------------------------------------------------------- */

static void
assert_segment_refused(const char *text, const char *expect)
{
	struct work_segment segment;
	struct err err = { .text = "accepted" };
	bool is_message;

	assert_int_equal(segment_text_parse("x", 1, text, &segment, &is_message, &err),
			 -EINVAL);
	assert_string_equal(err.text, expect);
}

static void
bad_segments_are_refused(void **state)
{
	(void)state;
	assert_segment_refused(
		"", "expected 'compute TIME', 'send SIZE' or 'allreduce SIZE' at "
		    "the end");
	assert_segment_refused("compute",
			       "expected a time such as '35 ms' (ns, us, ms, s, min, "
			       "h) after 'compute'");
	assert_segment_refused("compute 5",
			       "expected a time such as '35 ms' (ns, us, ms, s, "
			       "min, h) after 'compute', not '5'");
	assert_segment_refused("sendd 5 MB",
			       "expected 'compute TIME', 'send SIZE' or 'allreduce "
			       "SIZE', not 'sendd' (did you mean 'send'?)");
	assert_segment_refused("send 5 MB at 4 MB",
			       "expected a rate such as '50 Gb/s' (b/s, "
			       "kb/s, Mb/s, Gb/s, Tb/s) after 'at', not "
			       "'4 MB'");
	assert_segment_refused("send 5 MB compute 1 ms",
			       "expected '+' before 'compute'");
	assert_segment_refused("send 5 MB + send 1 MB",
			       "'send' is here twice in one segment");
	assert_segment_refused("compute 1 ms after 1 ms",
			       "'after' belongs to 'send' or "
			       "'allreduce', and has to follow it");
	assert_segment_refused("send 1 MB + after 1 ms", "no '+' before 'after'");
	assert_segment_refused("send 1 MB +", "expected 'compute TIME', 'send SIZE' or "
					      "'allreduce SIZE' at the end");
	assert_segment_refused("send 0 B",
			       "expected more than 0 B and at most 1000 TB after "
			       "'send', not '0 B'");
	assert_segment_refused("compute 2 h",
			       "expected at most an hour after 'compute', not "
			       "'2 h'");
}

static void
segments_may_be_written_without_blanks_in_quantities(void **state)
{
	struct work_segment s;
	bool is_message;

	(void)state;
	assert_int_equal(segment_text_parse("x", 1,
					    " send 125MB  after 1ms at 40Gb/s +compute "
					    "1ms",
					    &s, &is_message, NULL),
			 -EINVAL); /* A plus needs two operands. */
	assert_int_equal(segment_text_parse("x", 1,
					    " allreduce 125MB  after 1ms at 40Gb/s + "
					    "compute 2ms ",
					    &s, &is_message, NULL),
			 0);
	assert_true(is_message);
	assert_near(s.nic_bytes, 125e6, 0);
	assert_near(s.cap_bps, 40e9, 0);
	assert_int_equal(s.send_offset_ns, 1000000);
	assert_int_equal(s.compute_ns, 2000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(
			binding_finds_hosts_and_makes_profiles_of_the_slowest_interface),
		cmocka_unit_test(a_message_becomes_what_the_collective_sends),
		cmocka_unit_test(a_profile_gives_segments_and_jitter_and_may_be_scaled),
		cmocka_unit_test(count_makes_replicas_with_numbers),
		cmocka_unit_test(slots_may_be_used_one_job_after_another),
		cmocka_unit_test(bad_sections_are_refused),
		cmocka_unit_test(bad_keys_are_refused),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(jobs_that_make_no_sense_are_refused),
		cmocka_unit_test(bad_profiles_are_refused),
		cmocka_unit_test(bad_places_are_refused),
		cmocka_unit_test(bad_segments_are_refused),
		cmocka_unit_test(segments_may_be_written_without_blanks_in_quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
