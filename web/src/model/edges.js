// SPDX-License-Identifier: Apache-2.0
// edges.js - the state of an edge of the map, which stands for one link or several.
import * as f from "../format.js";
import { worst } from "./links.js";

// 'links' is by name.  'mine' (or null) are the names of the links that stand out.
// 'shares' (or null), by link, replace the utilization: of contention at that time
// nothing is known, except with 'over', the links that are exceeded.
export function edgeState(edge, { links, by, mine, shares, over }) {
	const found = worst(edge.links.map((name) => links.get(name)).filter(Boolean), by);
	if (shares) {
		const known = edge.links.map((name) => shares.get(name)).filter((share) => typeof share === "number");
		found.use = known.length ? Math.max(...known) : null;
		found.contended = over ? edge.links.filter((name) => over.has(name)).length : 0;
	}
	found.isMine = mine !== null && edge.links.some((name) => mine.has(name));
	found.isDim = mine !== null && !found.isMine;
	return found;
}

export function edgeTitle(edge, state) {
	const name = edge.links.length === 1 ? edge.links[0] : `${edge.a.id} to ${edge.b.id}, ${edge.links.length} links`;
	return `${name}: ${f.percent(state.use)} of ${f.rate(1e9 * edge.gbps)}${state.computed ? ", computed" : ""}` +
		(state.contended ? `, ${state.contended} contended` : "");
}
