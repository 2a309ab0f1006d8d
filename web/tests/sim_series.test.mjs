// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { edgeState } from "../src/model/edges.js";
import { fromSeries } from "../src/model/heat.js";
import { entryAt, iterationRows, linkRows, linksAt, played, playedLinks, playedSpan, shareText, stepAt } from "../src/model/sim_series.js";
import { speedOf } from "../src/player.js";
import { fixture } from "./tools.mjs";

const compare = fixture("series.json");

// The mean of a series, each step by its length.
function mean(series, values) {
	const n = values.length, last_us = series.end_us - (n - 1) * series.step_us;
	return values.reduce((sum, v, k) => sum + v * (k < n - 1 ? series.step_us : last_us), 0) / series.end_us;
}

test("the series of a document has the totals of that document", () => {
	for (const { series, jobs } of compare.policies) {
		for (const row of series.jobs) {
			assert.equal(row.per_entry, 1);
			const sum = row.mean_us.reduce((a, b) => a + b, 0) / row.mean_us.length;
			assert.ok(Math.abs(sum - jobs.find((j) => j.job === row.job).iteration_mean_us.mean) <= 0.5);
		}
		// Both jobs send 125 MB an iteration over the link between the racks.
		const up = series.links.find((l) => l.link === "leaf0:p2>spine0:p0"), n = series.jobs.reduce((all, job) => all + job.start_us.length, 0);
		const bytes = (mean(series, up.permille) / 1000) * (series.end_us / 1e6) * (50e9 / 8);
		assert.ok(bytes >= n * 125e6 * 0.99 && bytes <= (n + 2) * 125e6 * 1.01, `${bytes} bytes of ${n} iterations`);
	}
});

test("what can be played is what has a series", () => {
	const list = played({ compare, runs: [{ policy: "none", seed: 1 }, { policy: "fair", seed: 2, series: compare.policies[0].series }] });
	assert.deepEqual(list.map(({ name }) => name), ["none", "antiphase", "fair, seed 2"]);
	assert.deepEqual(played({}), []);
	assert.deepEqual(played({ compare: fixture("compare.json"), runs: fixture("runs.json") }), []);
	assert.equal(playedSpan([]), null);
	const within = playedSpan(list);
	assert.equal(within.begin_us, 0);
	assert.ok(list.every(({ series }) => series.end_us <= within.end_us) && Number.isInteger(within.end_us));
});

const small = (end_us, over) => ({ step_us: 100, end_us, links_left_out: 0,
	links: [{ link: "x", permille: [0, 500, 1000], over_permille: over }, { link: "y", permille: [100, 100, 100], over_permille: [0, 0, 0] }],
	jobs: [{ job: "a", per_entry: 2, start_us: [0, 150], mean_us: [75, 60] }] });
const list = [{ name: "one", series: small(250, [0, 250, 1000]) }, { name: "two", series: small(300, [0, 0, 0]) }];

test("steps and entries are found by time", () => {
	const { series } = list[0];
	assert.deepEqual([0, 99, 100, 249, 250, 251].map((us) => stepAt(series, us)), [0, 0, 1, 2, 2, -1]);
	assert.deepEqual([0, 149, 150, 1e9].map((us) => entryAt(series.jobs[0], us)), [0, 0, 1, 1]);
	assert.equal(entryAt({ start_us: [5] }, 4), -1);
	assert.deepEqual([...linksAt(series, 120).shares], [["x", 0.5], ["y", 0.1]]);
	assert.deepEqual([...linksAt(series, 120).over], ["x"]);
	assert.deepEqual([...linksAt(series, 251).shares.values()], [null, null]);
});

test("differences between runs are marked, and in words", () => {
	const [x, y] = linkRows(list, ["x", "y"], 120);
	assert.deepEqual([x.v0, x.o0, x.v1, x.o1, x.change, x.isMarked], [0.5, 0.25, 0.5, 0, "same", true]);
	assert.deepEqual([y.change, y.isMarked], ["same", false]);
	assert.equal(linkRows(list, ["x"], 280)[0].change, "-");
	const less = [list[0], { name: "less", series: { ...small(250, [0, 0, 0]), links: [{ link: "x", permille: [0, 380, 0], over_permille: [0, 0, 0] }] } }];
	assert.deepEqual(linkRows(less, ["x", "y"], 120).map((row) => row.change), ["12 points less", "-"]);
	assert.equal(shareText(0.5, 0.25), "50 %, exceeded 25 %");
	assert.equal(shareText(undefined, undefined), "-");
	assert.deepEqual(iterationRows(list, 160).map((row) => [row.name, row.v0, row.v1]), [["a", 60, 60]]);
	assert.deepEqual(iterationRows(list, 260).map((row) => [row.v0, row.v1]), [[null, 60]]);
});

test("links that are exceeded longest come first", () => {
	assert.deepEqual(playedLinks(list), ["x", "y"]);
	const names = playedLinks(played({ compare }));
	assert.equal(names.length, 12);
	assert.ok(names.slice(0, 4).every((name) => name.includes("spine0")));
});

test("cells over time have shares and excess of the run, and nothing after its end", () => {
	const heat = fromSeries(list[0].series, ["x", "z"], 500);
	assert.deepEqual(heat.use[0], [0, 0.5, 1, null, null]);
	assert.deepEqual(heat.over[0], [0, 0.25, 1, null, null]);
	assert.deepEqual(heat.use[1], [null, null, null, null, null]);
});

test("an edge of a simulated time is contended where a link is exceeded", () => {
	const edge = { links: ["x", "y"] }, { shares, over } = linksAt(list[0].series, 120);
	const state = edgeState(edge, { links: new Map(), by: "now", mine: null, shares, over });
	assert.deepEqual([state.use, state.contended], [0.5, 1]);
});

test("a simulation is played as fast as each step is seen", () => {
	assert.equal(speedOf(16000), 0.02);
	assert.equal(speedOf(125), 0.001);
	assert.equal(speedOf(1e9), 60);
});
