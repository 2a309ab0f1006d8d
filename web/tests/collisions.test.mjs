// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { flowLines, MAX_FLOWS } from "../src/layout/flows.js";
import { makeScene } from "../src/layout/scene.js";
import { flowsByLink, flowsText, nodesOver } from "../src/model/collisions.js";
import { makeFabric } from "../src/model/fabric.js";
import { fixture } from "./tools.mjs";

const { fabric: topology, links } = fixture("collisions.json");
const fabric = makeFabric(topology), byLink = flowsByLink(links.collisions);

test("flows are those of the document, by link", () => {
	assert.ok(byLink.size > 1);
	assert.equal([...byLink.values()].flat().length, links.collisions.length);
	for (const [name, flows] of byLink) assert.ok(flows.every((flow) => flow.link === name));
});

test("what flows do is said in words, with each host, job and other path", () => {
	for (const flows of byLink.values()) {
		const text = flowsText(flows);
		for (const flow of flows) assert.ok(text.includes(`${flow.from} to ${flow.to} of ${flow.job}`), text);
		for (const flow of flows.filter((each) => each.room_via)) assert.ok(text.includes(`over ${flow.room_via} with source port ${flow.room_port}`), text);
		assert.ok(text.endsWith("not measured."));
	}
	const flow = { link: "l", job: "A", from: "a", to: "b", port: 0, via: "s", basis: "inferred", margin: 5, paths: 1, room_via: null, room_port: 0 };
	assert.ok(flowsText([flow]).includes("1 flow of 1 job cross this link: a to b of A. These flows have no other path. Paths are inferred"));
	assert.ok(flowsText([{ ...flow, paths: 4 }, flow]).includes("No other path has room"));
	assert.ok(flowsText(Array.from({ length: 9 }, () => flow)).includes("; and 3 more"));
});

test("a flow's path crosses the link that it is listed on", () => {
	for (const [name, flows] of byLink)
		for (const flow of flows) {
			const nodes = nodesOver(fabric, flow.from, flow.via, flow.to), [a, b] = name.split(">").map((end) => end.split(":")[0]);
			assert.equal(nodes[nodes.indexOf(a) + 1], b);
			assert.deepEqual([nodes[0], nodes.at(-1)], [flow.from, flow.to]);
		}
	assert.equal(nodesOver(fabric, "h0", "nowhere", "h4"), null);
});

test("lines of flows go through drawn nodes, and are bounded", () => {
	for (const level of ["host", "rack"]) {
		const scene = makeScene(fabric, level), flows = [...byLink.values()][0], lines = flowLines(fabric, scene, flows);
		assert.equal(lines.filter((line) => !line.isRoom).length, flows.length);
		assert.equal(lines.filter((line) => line.isRoom).length, flows.filter((flow) => flow.room_via).length);
		for (const line of lines) for (const [, y] of line.points) assert.ok(scene.nodes.some((node) => node.y === y));
	}
	const many = Array.from({ length: 500 }, () => links.collisions[0]);
	assert.ok(flowLines(fabric, makeScene(fabric, "host"), many).length <= 2 * MAX_FLOWS);
});
