// SPDX-License-Identifier: Apache-2.0
// collisions.js - the flows that meet on links, from "collisions" of antiphase.links/1.

// Flows by link, in the order of the document.
export function flowsByLink(collisions) {
	const found = new Map();
	for (const flow of collisions) {
		if (!found.has(flow.link)) found.set(flow.link, []);
		found.get(flow.link).push(flow);
	}
	return found;
}

export const flowName = (flow) => `${flow.from} to ${flow.to} of ${flow.job}`;

const MAX_NAMED = 6;
function list(flows, say) {
	const names = flows.slice(0, MAX_NAMED).map(say).join("; ");
	return flows.length > MAX_NAMED ? `${names}; and ${flows.length - MAX_NAMED} more` : names;
}

// What these flows of one link do, in sentences.
export function flowsText(flows) {
	const jobs = new Set(flows.map((flow) => flow.job)), movable = flows.filter((flow) => flow.room_via !== null);
	const meets = `${flows.length} flow${flows.length === 1 ? "" : "s"} of ${jobs.size} job${jobs.size === 1 ? "" : "s"} cross this link: ${list(flows, flowName)}.`;
	const room = movable.length
		? `Another path has room for ${list(movable, (flow) => `${flowName(flow)}, over ${flow.room_via}${flow.room_port ? ` with source port ${flow.room_port}` : ""}`)}.`
		: flows.every((flow) => flow.paths === 1) ? "These flows have no other path." : "No other path has room for one of them.";
	const basis = flows.every((flow) => flow.basis === "inferred") ? "inferred from counters of switches"
		: flows.some((flow) => flow.basis === "inferred") ? "inferred from counters of switches, or computed by the fabric's assumed hash" : "computed by the fabric's assumed hash, not measured";
	return `${meets} ${room} Paths are ${basis}.`;
}

// The names of the nodes of the shortest path from 'from' over 'via' to 'to'; null: there
// is none.
export function nodesOver(fabric, from, via, to) {
	const up = shortest(fabric, from, via), down = shortest(fabric, via, to);
	return up && down ? [...up, ...down.slice(1)] : null;
}

function shortest(fabric, from, to) {
	if (!fabric.nodes.has(from) || !fabric.nodes.has(to)) return null;
	const before = new Map([[from, null]]), queue = [from];
	for (let i = 0; i < queue.length && !before.has(to); i++)
		for (const next of fabric.nodes.get(queue[i]).ports)
			if (!before.has(next)) {
				before.set(next, queue[i]);
				queue.push(next);
			}
	if (!before.has(to)) return null;
	const path = [];
	for (let name = to; name !== null; name = before.get(name)) path.unshift(name);
	return path;
}
