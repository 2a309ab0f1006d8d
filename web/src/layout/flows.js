// SPDX-License-Identifier: Apache-2.0
// flows.js - the paths of flows as lines over the map.
import { flowName, nodesOver } from "../model/collisions.js";

export const MAX_FLOWS = 24; // With a line.
const APART = 3;

// [{key, job, isRoom, title, points: [[x, y], ...]}]: for each flow its path, and the
// other path that has room.  Lines lie side by side.
export function flowLines(fabric, scene, flows) {
	const lines = [], shown = flows.slice(0, MAX_FLOWS);
	shown.forEach((flow, i) => {
		for (const [via, isRoom] of [[flow.via, false], [flow.room_via, true]]) {
			const names = via === null ? null : nodesOver(fabric, flow.from, via, flow.to);
			if (!names) continue;
			const nodes = names.map((name) => scene.stands.get(name)).filter((node, k, all) => node && node !== all[k - 1]);
			const off = (i - (shown.length - 1) / 2) * APART;
			lines.push({ key: `${i} ${isRoom}`, job: flow.job, isRoom, title: `${flowName(flow)} over ${via}${isRoom ? ", which has room" : ""}`,
				points: nodes.map((node) => [node.x + off, node.y]) });
		}
	});
	return lines;
}
