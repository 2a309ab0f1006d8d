// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { present } from "../src/model/former.js";
import { docs, take } from "../src/state.js";
import { fixture } from "./tools.mjs";

test("a run of a former version is shown as one of the present version", () => {
	const [run] = fixture("runs.json");
	const former = structuredClone(run);
	former.schema = "antiphase.sim-run/1";
	former.links = former.links.map(({ capacity_bps, peak_bps, ...rest }) => ({ capacity_gbps: capacity_bps / 1e9, ...rest, peak_gbps: peak_bps / 1e9 }));
	assert.equal(run.links[0].capacity_bps, 50e9);
	assert.deepEqual(present(former).links.map((l) => [l.link, l.capacity_bps]), run.links.map((l) => [l.link, l.capacity_bps]));
	assert.ok(present(former).links.every((l, i) => Math.abs(l.peak_bps - run.links[i].peak_bps) < 1 && !("peak_gbps" in l)));
	assert.ok(take(former));
	assert.equal(docs.value.runs.at(-1).schema, "antiphase.sim_run/2");
});

test("the capacity of a link of a path had no name but its unit", () => {
	const doc = { schema: "antiphase.topology_path/1", source: "h0", destination: "h1", links: [{ link: "h0:p0>leaf0:p0", gbps: 50, share: 1 }] };
	assert.deepEqual(present(doc), { ...doc, schema: "antiphase.topology_path/2", links: [{ link: "h0:p0>leaf0:p0", capacity_bps: 50e9, share: 1 }] });
});

test("other documents are as they are", () => {
	const fabric = fixture("leaf-spine.json");
	for (const doc of [fabric, { schema: "toString" }, { schema: 1 }, null, 7, []]) assert.equal(present(doc), doc);
});
