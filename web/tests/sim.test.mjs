// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { changeText, compareRows, jobsByPolicy, jobsByRun, overByRun, runName } from "../src/model/sim.js";
import { fixture } from "./tools.mjs";

test("differences between policies are said in words", () => {
	const doc = fixture("compare.json"), rows = compareRows(doc);
	assert.equal(rows[0].words, "reference");
	assert.match(rows[1].words, /^\d+\.\d % shorter: faster by \d+\.\d ms$/);
	const [first, second] = structuredClone(doc.policies);
	second.iteration_mean_us.difference_ci95 = 1e9;
	assert.equal(compareRows({ policies: [first, second] })[1].words, "no difference beyond chance");
	assert.deepEqual(["shorter", "longer", "same"].map((_, i) => changeText([50, 150, 100][i], 100)), ["50.0 % shorter", "50.0 % longer", "same"]);
	assert.deepEqual([changeText(0, 100), changeText(0, 0), changeText(5, 0)], ["100.0 % shorter", "same", "longer"]);
	assert.equal(changeText(100, null), "-");
});

test("jobs of a comparison have the mean of each policy", () => {
	const doc = fixture("compare.json"), rows = jobsByPolicy(doc);
	for (const row of rows)
		doc.policies.forEach((p, i) => assert.equal(row[`v${i}`], p.jobs.find((job) => job.job === row.name).iteration_mean_us.mean));
	assert.ok(rows.length > 1 && rows.every((row) => row.isMarked === !["same", "-"].includes(row.change)));
});

test("runs are side by side, by job and by link", () => {
	const runs = fixture("runs.json");
	assert.deepEqual(runs.map(runName), ["none, seed 1", "antiphase, seed 1"]);
	for (const row of jobsByRun(runs)) assert.deepEqual([row.v0, row.v1], runs.map((run) => run.jobs.find((job) => job.job === row.name).iteration_mean_us));
	const over = overByRun(runs);
	assert.equal(over.length, new Set(runs.flatMap((run) => run.links.map((l) => l.link))).size);
	assert.ok(over.some((row) => row.v0 > 0.1 && row.v1 < row.v0));
});
