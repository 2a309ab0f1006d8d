// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { inferenceRows, inferenceTitle, pathLinks, probeRows, probeTitle } from "../src/model/paths.js";
import { fixture } from "./tools.mjs";

const { inferred, probed } = fixture("paths.json");
const words = (line) => line.trim().split(/ +/).join(" ");

// What 'antiphase path' prints: a title, an empty line, headings, rows.
function sameAsPrinted(title, rows, lines) {
	assert.equal(title, lines[0]);
	assert.deepEqual(rows, lines.slice(3).map(words));
}

test("inferred paths are in the words of 'antiphase path'", () => {
	for (const { doc, lines } of inferred)
		sameAsPrinted(inferenceTitle(doc), inferenceRows(doc).map((row) => `${row.job} ${row.equal_paths} ${row.via} ${row.basis}`), lines);
	assert.deepEqual(inferred.map(({ doc }) => doc.flows[0].basis), ["inferred", "not known", "computed"]);
	assert.match(inferenceRows({ flows: [{ ...inferred[0].doc.flows[0], margin: null }] })[0].basis, /^inferred: fits inf standard errors/);
});

test("probed paths are in the words of 'antiphase path'", () => {
	for (const { doc, lines } of probed)
		sameAsPrinted(probeTitle(doc), probeRows(doc).map((row) => `${row.port} ${row.switches} ${row.basis}`), lines);
	const found = { port: 61000, basis: "probed", why: null, switches: [{ hop: 1, address: "10.0.0.1", switch: "leaf0" }, { hop: 2, address: "10.9.0.1", switch: null }] };
	const doc = { source: "fd00::2", destination: "fd00::1", destination_port: 5001, hops: [1, 2, 3], ports: [found] };
	assert.deepEqual(probeRows(doc).map(({ switches, basis }) => [switches, basis]), [["leaf0 10.9.0.1", "probed"]]);
	assert.equal(probeTitle(doc), "fd00::2 to [fd00::1]:5001, TCP, hops 1 to 3");
});

test("the links of paths are marked on the map", () => {
	assert.equal(pathLinks({}), null);
	const { doc } = inferred[0];
	assert.deepEqual(pathLinks({ inferences: [doc] }), new Set(doc.flows.flatMap((flow) => flow.links.map((l) => l.link))));
	assert.deepEqual(pathLinks({ path: { links: [{ link: "a>b" }] }, inferences: [] }), new Set(["a>b"]));
});
