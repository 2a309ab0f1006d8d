// SPDX-License-Identifier: Apache-2.0
// paths.js - antiphase.path_probe/1 and antiphase.path_inference/2 in the words of
// 'antiphase path'.
import * as f from "../format.js";

const end = (address, port) => `${address.includes(":") ? `[${address}]` : address}:${port}`;

export function probeTitle({ source, destination, destination_port, hops }) {
	const last = hops.length > 1 ? ` to ${hops.at(-1)}` : "";
	return `${source} to ${end(destination, destination_port)}, TCP, hop${hops.length > 1 ? "s" : ""} ${hops[0]}${last}`;
}

const basisOf = ({ basis, why }) => (why === null ? basis : `${basis}: ${why}`);

export const probeRows = ({ ports }) => ports.map((port) => ({ key: port.port, port: port.port,
	switches: port.switches.map((at) => at.switch ?? at.address).join(" ") || "-", basis: basisOf(port) }));

export const inferenceTitle = ({ source, destination }) => `${source} to ${destination}, running flows`;

function inferredText(flow) {
	if (flow.why !== null) return basisOf(flow);
	if (flow.equal_paths === 1) return `${flow.basis}: the only path`;
	const margin = flow.margin === null ? "inf" : f.fixed(flow.margin, 1);
	return `${flow.basis}: fits ${margin} standard errors better, ${flow.bins} x ${flow.bin_us / 1000} ms`;
}

export const inferenceRows = ({ flows }) => flows.map((flow, i) => ({ key: i, job: flow.job, rail: flow.rail, equal_paths: flow.equal_paths, via: flow.via ?? "-",
	basis: inferredText(flow), links: flow.links.map((l) => l.link) }));

// The names of the links of all paths that documents have; null: none has any.
export function pathLinks({ path, inferences = [] }) {
	const lists = [path, ...inferences.flatMap((doc) => doc.flows)].filter(Boolean);
	return lists.length ? new Set(lists.flatMap(({ links }) => links.map((l) => l.link))) : null;
}

// [{doc, title}]: a title that occurs again has " (2)" appended, and so on.
export function withTitles(list, titleOf) {
	const seen = new Map();
	return list.map((doc) => {
		const title = titleOf(doc), n = (seen.get(title) ?? 0) + 1;
		seen.set(title, n);
		return { doc, title: n > 1 ? `${title} (${n})` : title };
	});
}
