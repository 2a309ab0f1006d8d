// SPDX-License-Identifier: Apache-2.0
// links.js - the state of links, from antiphase.links/1 and its events.
import { compareNames } from "../format.js";

export const NOTABLE_PEAK = 0.7; // As 'antiphase links' has it.

// The ends of a link's name: {from, to}, each {node, port}; null without two ends, as
// of a host's own interface.
export function ends(name) {
	const i = name.indexOf(">");
	if (i <= 0 || i === name.length - 1) return null;
	const end = (text) => {
		const k = text.lastIndexOf(":");
		return k < 0 ? { node: text, port: "" } : { node: text.slice(0, k), port: text.slice(k + 1) };
	};
	return { from: end(name.slice(0, i)), to: end(name.slice(i + 1)) };
}

// The same cable's other direction.
export function reverse(name) {
	const i = name.indexOf(">");
	return i < 0 ? name : `${name.slice(i + 1)}>${name.slice(0, i)}`;
}

// The share of the capacity that is used: by "now", "mean" or "peak"; null: unknown.
export function utilization(link, by = "now") {
	const bps = link ? link[`${by}_bps`] : null;
	return bps === null || bps === undefined || !(link.capacity_bps > 0) ? null : bps / link.capacity_bps;
}

export const isContended = (link) => Boolean(link && link.over_ratio > 0);
export const isNotable = (link) =>
	isContended(link) || utilization(link, "peak") > NOTABLE_PEAK;

// Links with the most contended first, then by peak, then by name.
export function byContention(links) {
	const over = (link) => (link.over_ratio === null ? -1 : link.over_ratio);
	return [...links].sort((a, b) => over(b) - over(a) ||
		(utilization(b, "peak") || 0) - (utilization(a, "peak") || 0) ||
		compareNames(a.link, b.link));
}

// The rows that stand for a set of links: the worst of them for each figure.
export function worst(links, by) {
	let use = null, contended = 0, computed = true;
	for (const link of links) {
		const u = utilization(link, by);
		if (u !== null && (use === null || u > use)) use = u;
		contended += isContended(link);
		computed &&= link.basis === "computed";
	}
	return { use, contended, computed: links.length > 0 && computed };
}
