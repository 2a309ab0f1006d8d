// SPDX-License-Identifier: Apache-2.0
// former.js - documents that former versions of the programs wrote, in the present schemas:
// these had some rates in 10^9 bits per second, and some had another name.
const NAMES = {
	"antiphase.advice/1": "antiphase.advice/2",
	"antiphase.link_history/1": "antiphase.link_history/2",
	"antiphase.path_inference/1": "antiphase.path_inference/2",
	"antiphase.sim-compare/1": "antiphase.sim_compare/2",
	"antiphase.sim-run/1": "antiphase.sim_run/2",
	"antiphase.topology_path/1": "antiphase.topology_path/2",
};

// "peak_gbps" is "peak_bps", and "gbps" the capacity of a link.
function converted(value) {
	if (Array.isArray(value)) return value.map(converted);
	if (value === null || typeof value !== "object") return value;
	return Object.fromEntries(Object.entries(value).map(([key, item]) => {
		const rate = /^(.*_)?gbps$/.exec(key);
		return rate && typeof item === "number" ? [`${rate[1] ?? "capacity_"}bps`, item * 1e9] : [key, converted(item)];
	}));
}

// The document in its present schema, or as it is.
export function present(doc) {
	const schema = doc && typeof doc === "object" && Object.hasOwn(NAMES, doc.schema) ? NAMES[doc.schema] : null;
	return schema ? { ...converted(doc), schema } : doc;
}
