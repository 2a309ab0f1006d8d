// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { defaultLevel, edgeAt, makeScene, nodeAt, sceneSvg } from "../src/layout/scene.js";
import { jobArcs, sumArcs } from "../src/layout/arcs.js";
import { stackPaths, escapeXml } from "../src/layout/stack.js";
import { demand } from "../src/model/circle.js";
import { makeFabric } from "../src/model/fabric.js";
import { fixture } from "./tools.mjs";

const leafSpine = () => makeFabric(fixture("leaf-spine.json"));
const fatTree = () => makeFabric(fixture("fat-tree.json"));

test("a leaf-spine fabric has a row for each tier, in the order of its racks", () => {
	const fabric = leafSpine(), scene = makeScene(fabric, "host");
	const rows = [0, 1, 2].map((tier) => scene.nodes.filter((n) => n.tier === tier));
	assert.deepEqual(rows.map((r) => r.length), [8, 4, 2]);
	for (const row of rows) {
		assert.equal(new Set(row.map((n) => n.y)).size, 1);
		for (let i = 1; i < row.length; i++) assert.ok(row[i].x - row[i - 1].x >= row[i].w, "nodes do not overlap");
	}
	assert.ok(rows[2][0].y < rows[1][0].y && rows[1][0].y < rows[0][0].y);
	assert.deepEqual(rows[0].map((n) => n.id), ["h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"]);
	assert.ok(scene.nodes.every((n) => n.x >= 0 && n.x <= scene.width && n.y >= 0 && n.y <= scene.height));
});

test("each link is in exactly one edge, at each level", () => {
	for (const fabric of [leafSpine(), fatTree()])
		for (const level of ["host", "rack", "pod"]) {
			const names = makeScene(fabric, level).edges.flatMap((e) => e.links);
			assert.equal(new Set(names).size, names.length);
			const all = fabric.cables.flatMap((c) => c.links.map((l) => l.name));
			if (level === "host") assert.deepEqual(new Set(names), new Set(all));
			else assert.ok(names.length < all.length);
		}
});

test("both directions of a cable meet in its middle", () => {
	const { edges } = makeScene(leafSpine(), "host");
	const byId = new Map(edges.map((e) => [e.id, e]));
	for (const edge of edges) {
		const back = byId.get(`${edge.b.id}>${edge.a.id}`);
		assert.equal(edge.x2, back.x2);
		assert.equal(edge.y2, back.y2);
	}
});

test("hosts fold into racks, racks into pods, and one of them opens", () => {
	const fabric = fatTree();
	assert.equal(fabric.pods, 4);
	assert.equal(makeScene(fabric, "pod").nodes.filter((n) => n.kind === "pod").length, 4);
	const racks = makeScene(fabric, "rack").nodes.filter((n) => n.kind === "rack");
	assert.deepEqual(racks.map((n) => n.hosts), [2, 2, 2, 2, 2, 2, 2, 2]);
	const open = makeScene(fabric, "rack", new Set([racks[0].id]));
	assert.equal(open.nodes.filter((n) => n.kind === "host").length, 2);
	const half = makeScene(fabric, "pod", new Set(["pod 1"]));
	assert.equal(half.nodes.filter((n) => n.kind === "pod").length, 3);
});

test("the drawing of a fabric is always the same", () => {
	assert.deepEqual(makeScene(fatTree(), "rack"), makeScene(fatTree(), "rack"));
	assert.equal(defaultLevel(leafSpine()), "host");
});

test("a point finds its node and its half-link", () => {
	const scene = makeScene(leafSpine(), "host");
	for (const edge of scene.edges) {
		const found = edgeAt(scene, edge.x1 * 0.6 + edge.x2 * 0.4, edge.y1 * 0.6 + edge.y2 * 0.4, 0.1);
		assert.ok(found, edge.id);
	}
	assert.equal(nodeAt(scene, scene.nodes[0].x, scene.nodes[0].y), scene.nodes[0]);
	assert.equal(edgeAt(scene, -500, -500, 5), null);
});

test("a scene as a file has each half-link and each node, names escaped", () => {
	const scene = makeScene(leafSpine(), "host");
	scene.nodes[0].id = "<b>&";
	const text = sceneSvg(scene, (e) => ({ color: "#123456", width: e.width, dash: null, title: e.id }), "#000");
	assert.equal(text.match(/<path /g).length, scene.edges.length);
	assert.equal(text.match(/<rect /g).length, scene.nodes.length);
	assert.ok(text.includes("&#60;b&#62;&#38;") && !text.includes("<b>"));
});

test("a job has an arc for each phase of each iteration, cut at the circle's end", () => {
	const job = { period_us: 50, factor: 2, phases: [{ start_us: 40, duration_us: 20, rate_bps: 3 }] };
	const arcs = jobArcs(job, 0, 100, 10, 5, 6);
	assert.deepEqual(arcs.map((a) => [a.from_us, a.to_us]), [[40, 60], [90, 100], [0, 10]]);
	assert.ok(arcs.every((a) => a.bps === 6 && /^M[-\d.,eALZ ]+/.test(a.path)));
	const shifted = jobArcs(job, 10, 100, 10, 5, 6);
	assert.deepEqual(shifted.map((a) => [a.from_us, a.to_us]), [[50, 70], [0, 20]]);
});

test("the sum is divided at the capacity", () => {
	const job = (start_us) => ({ period_us: 100, factor: 1, phases: [{ start_us, duration_us: 50, rate_bps: 4 }] });
	const steps = demand([job(0), job(25)], [0, 0], 100);
	assert.deepEqual(steps, [[0, 25, 4], [25, 50, 8], [50, 75, 4], [75, 100, 0]]);
	const { within, over } = sumArcs(steps, 100, 5, 10, 4);
	assert.equal(within.length, 3);
	assert.deepEqual(over.map((a) => [a.from_us, a.to_us, a.bps]), [[25, 50, 8]]);
});

test("a stack has one area for each name, and gaps stay open", () => {
	const series = { times_us: [0, 1, 2], names: ["A", null], rows: [[5, null, 0], [5, null, 10]] };
	const { areas, capacity_y } = stackPaths(series, 10, 300, 105);
	assert.equal(areas.length, 2);
	assert.equal(areas[0].match(/M/g).length, 2);
	assert.equal(capacity_y, 5);
	assert.equal(areas[0].startsWith("M0 105V55H100V105Z"), true);
});

test("names are escaped in files", () => {
	assert.equal(escapeXml(`</svg><script>"&'\u0001`), "&#60;/svg&#62;&#60;script&#62;&#34;&#38;&#39;?");
});
