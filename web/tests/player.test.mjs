// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import * as f from "../src/format.js";
import { historySpan, sharesAt } from "../src/model/heat.js";
import { edgeState } from "../src/model/edges.js";
import { advance, clamp, readAt, withAt } from "../src/player.js";
import { fixture } from "./tools.mjs";

const within = { begin_us: 5e6, end_us: 65e6 };

test("the player stays in its recording, at each speed", () => {
	assert.equal(clamp(-1, within), 5e6);
	assert.equal(clamp(1e15, within), 65e6);
	assert.equal(clamp(5e6 + 0.4, within), 5e6);
	assert.equal(advance(10e6, 200, 0.25, within), 10.05e6);
	assert.equal(advance(10e6, 200, 60, within), 22e6);
	assert.equal(advance(64e6, 200, 60, within), 65e6);
});

test("the address holds the time, but not the end of the recording", () => {
	assert.equal(readAt("#view=link&at=1795227480000000"), 1795227480000000);
	for (const hash of ["", "#view=link", "#at=", "#at=-5", "#at=1e9", "#at=99999999999999999999", "#at=x"]) assert.equal(readAt(hash), null);
	assert.equal(withAt("#view=link&link=a%3Eb&at=7", 6e6, within), "#view=link&link=a%3Eb&at=6000000");
	assert.equal(withAt("#view=fabric&at=7", 65e6, within), "#view=fabric");
});

test("times of a recording have tenths", () => {
	assert.equal(f.clock(14.26e6), "00:14.2");
	assert.equal(f.clock(600e6), "10:00.0");
	assert.equal(f.clock(-1), "00:00.0");
	assert.equal(f.clock(null), "-");
});

test("the history of a recording has shares at a time", () => {
	const doc = { from_us: 10e6, step_us: 2e6, links: [{ link: "a", permille: [100, null, 300] }, { link: "b", permille: [50] }] };
	assert.deepEqual(historySpan(doc), { begin_us: 10e6, end_us: 16e6, step_us: 2e6 });
	assert.deepEqual([...sharesAt(doc, 11.9e6)], [["a", 0.1], ["b", 0.05]]);
	assert.deepEqual([...sharesAt(doc, 14e6)], [["a", 0.3], ["b", null]]);
	assert.deepEqual([...sharesAt(doc, 16e6)], [["a", null], ["b", null]]);
	assert.equal(historySpan({ ...doc, links: [] }), null);
	assert.equal(historySpan(undefined), null);
});

test("shares of a time replace an edge's utilization, and say nothing of contention", () => {
	const { links } = fixture("top.json"), byName = new Map(links.map((l) => [l.link, l]));
	const edge = { links: links.filter((l) => l.over_ratio > 0).map((l) => l.link) };
	const end = edgeState(edge, { links: byName, by: "now", mine: null, shares: null });
	assert.ok(end.contended === edge.links.length && end.contended > 1);
	const then = edgeState(edge, { links: byName, by: "now", mine: null, shares: new Map([[edge.links[0], 0.2], [edge.links[1], 0.4]]) });
	assert.deepEqual([then.use, then.contended], [0.4, 0]);
	assert.equal(edgeState(edge, { links: byName, by: "now", mine: null, shares: new Map() }).use, null);
});
