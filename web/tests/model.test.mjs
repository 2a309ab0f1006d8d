// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { csv } from "../src/export.js";
import * as f from "../src/format.js";
import { step, THRESHOLDS, useColor } from "../src/color.js";
import { fromRecording, fromStore, fromTicks } from "../src/model/heat.js";
import { byContention, ends, isContended, reverse, utilization, worst } from "../src/model/links.js";
import { fromHistory, fromSamples, historyUs, stack } from "../src/model/series.js";
import { compareRows } from "../src/model/sim.js";
import { find } from "../src/model/find.js";
import { quote } from "../src/shell.js";
import { fixture } from "./tools.mjs";

const top = fixture("top.json");

test("rates are printed as the commands print them", () => {
	for (const [bps, text] of [[100e9, "100G"], [61.23e9, "61.2G"], [9.99e9, "9.99G"], [9.9951e9, "10.0G"], [850e6, "850M"], [1e9, "1G"], [1.5e9, "1.50G"],
		[2.34e6, "2.3M"], [23456, "23k"], [1234, "1.2k"], [3, "0.1k"], [0, "0"], [null, "-"], [-1, "-"]])
		assert.equal(f.rate(bps), text);
});

test("the table of links is that of 'antiphase links'", () => {
	const lines = fixture("links.txt.json").filter((line) => line.includes(">"));
	const links = byContention(top.links).slice(0, lines.length);
	assert.ok(lines.length > 3);
	links.forEach((link, i) => {
		const cells = [link.link, f.rate(link.capacity_bps), f.rate(link.now_bps), f.rate(link.peak_bps), f.percent(link.over_ratio), String(link.jobs.length)];
		assert.ok(lines.some((line) => line.replace(/ +/g, " ").startsWith(cells.join(" "))), `${cells.join(" ")} is not in\n${lines.join("\n")}`);
		assert.ok(i === 0 || links[i - 1].over_ratio >= link.over_ratio);
	});
});

test("figures are rounded as printf does", () => {
	for (const [value, digits, text] of [[15.25, 1, "15.2"], [15.35, 1, "15.3"], [15.75, 1, "15.8"], [0.5, 0, "0"], [1.5, 0, "2"], [2.5, 0, "2"], [-0.25, 1, "-0.2"],
		[0.125, 2, "0.12"], [0.375, 2, "0.38"], [1e21, 0, "1e+21"], [7, 2, "7.00"]])
		assert.equal(f.fixed(value, digits), text);
});

test("times, ages and shares", () => {
	assert.equal(f.time(1795227480000000), "2026-11-21T02:18:00Z");
	assert.equal(f.time(null), "-");
	assert.equal(f.minutes(75e6), "01:15");
	assert.equal(f.ms(45067), "45.1 ms");
	assert.equal(f.percent(0.184), "18 %");
	assert.equal(f.range(0.12, 0.18), "12 % to 18 %");
	assert.equal(f.range(0.121, 0.122), "12 %");
	assert.deepEqual(["job-10", "job-2"].sort(f.compareNames), ["job-2", "job-10"]);
});

test("names of links have two ends, or none", () => {
	assert.deepEqual(ends("leaf0:p2>spine0:p0"), { from: { node: "leaf0", port: "p2" }, to: { node: "spine0", port: "p0" } });
	assert.equal(ends("h0:eth0>"), null);
	assert.equal(ends(">h0:eth0"), null);
	assert.equal(reverse("a:1>b:2"), "b:2>a:1");
});

test("the worst of several links stands for them", () => {
	const found = worst(top.links, "peak");
	assert.equal(found.use, Math.max(...top.links.map((l) => utilization(l, "peak") ?? 0)));
	assert.equal(found.contended, top.links.filter(isContended).length);
	assert.deepEqual(worst([], "now"), { use: null, contended: 0, computed: false });
	assert.equal(utilization({ now_bps: 5, capacity_bps: null }), null);
});

test("colors have the thresholds of the legend", () => {
	THRESHOLDS.forEach((from, i) => assert.equal(step(from), i));
	assert.equal(step(1.2), THRESHOLDS.length - 1);
	assert.equal(step(null), -1);
	for (const dark of [false, true])
		assert.equal(new Set([null, ...THRESHOLDS].map((use) => useColor(use, dark))).size, THRESHOLDS.length + 1);
});

test("a history by job adds up to that of the link", () => {
	for (const link of top.links) {
		const series = fromHistory(link, historyUs(top));
		const sums = stack(series.rows).at(-1);
		sums.forEach((v, i) => assert.ok(v === null ? link.history_bps[i] === null : Math.abs(v - link.history_bps[i]) <= 1e-6 * link.history_bps[i] + 1));
		assert.equal(series.names.at(-1), null);
	}
	assert.equal(historyUs(null), 1e6);
});

test("stored samples become series, without a job where none sent", () => {
	const series = fromSamples([{ at_us: 2e6, step_us: 1e6, job: null, bytes: 1000 }, { at_us: 2e6, step_us: 1e6, job: "A", bytes: 600 },
		{ at_us: 1e6, step_us: 1e6, job: null, bytes: 125 }]);
	assert.deepEqual(series, { times_us: [1e6, 2e6], names: ["A", null], rows: [[0, 4800], [1000, 3200]] });
});

test("a heatmap has means of the ticks, and of the store", () => {
	const ticks = Array.from({ length: 240 }, (_, i) => ({ at_us: i * 1e6, use: new Map([["a", i % 2]]) }));
	const heat = fromTicks(["a", "b"], ticks);
	assert.equal(heat.columns.length, 120);
	assert.ok(heat.use[0].every((v) => v === 0.5) && heat.use[1].every((v) => v === null));
	const stored = fromStore([{ link: "a", capacity_bps: 8e6 }], new Map([["a", [{ at_us: 2e6, step_us: 1e6, job: null, bytes: 500000 }]]]), 1e6, 4e6);
	assert.deepEqual(stored.use, [[null, 0.5, null]]);
});

test("a heatmap of a recording has its steps, or means of several", () => {
	const doc = (permille) => ({ from_us: 5e6, step_us: 1e6, links: [{ link: "a", permille }, { link: "b", permille: [] }] });
	const heat = fromRecording(doc([500, null, 250]), 40);
	assert.deepEqual([heat.columns, heat.use], [[5e6, 6e6, 7e6], [[0.5, null, 0.25], [null, null, null]]]);
	const long = fromRecording(doc(Array.from({ length: 360 }, (_, i) => (i % 3) * 100)), 1);
	assert.equal(long.step_us, 3e6);
	assert.ok(long.columns.length === 120 && long.use[0].every((v) => Math.abs(v - 0.1) < 1e-12));
	assert.deepEqual(fromRecording({ ...doc([]), links: [] }, 40).columns, []);
});

test("policies whose difference is beyond chance are marked", () => {
	const rows = compareRows(fixture("compare.json"));
	assert.deepEqual(rows.map((r) => r.isMarked), [false, true]);
	assert.equal(rows[1].difference_us, rows[1].iteration.difference);
});

test("files for spreadsheets hold no formulas", () => {
	assert.equal(csv([{ key: "a" }, { key: "b" }], [{ a: "=1+1", b: 'x,"y"' }, { a: -1, b: null }]), 'a,b\n\'=1+1,"x,""y"""\n-1,\n');
});

test("names in commands are quoted", () => {
	assert.equal(quote("job-1"), "job-1");
	assert.equal(quote("leaf0:p2>spine0:p0"), "'leaf0:p2>spine0:p0'");
	assert.equal(quote("a'; rm -rf /"), "'a'\\''; rm -rf /'");
});

test("search finds jobs, links and hosts by a part of the name", () => {
	const docs = { jobs: top, links: new Map(top.links.map((l) => [l.link, l])), fabric: null };
	assert.equal(find("leaf0:p2>", docs)[0].name, "leaf0:p2>spine0:p0");
	assert.deepEqual(find("no such", docs), []);
	assert.ok(find("", docs).length <= 12);
});
