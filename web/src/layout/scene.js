// SPDX-License-Identifier: Apache-2.0
// scene.js - what is drawn of a fabric: nodes in rows by tier, in the order of the
// fabric, and the links between them.  Hosts are folded into their rack, and racks into
// their pod, until there are few enough; 'open' and 'closed' hold what a person chose.
// The same fabric gives the same drawing on every day.

import { escapeXml } from "./stack.js";

export const MAX_HOSTS = 96; // Drawn before they are folded into racks.
export const MAX_RACKS = 96;
const LEAST_ROW = 130, GAP = 14, NODE = 56, TOP = 40;
const ROW_SHARE = 0.16; // Of the width: wide fabrics have high rows.

// The levels that are folded by default.
export function defaultLevel(fabric) {
	const count = (tier) => [...fabric.nodes.values()].filter((n) => n.tier === tier).length;
	if (count(1) > MAX_RACKS && fabric.pods) return "pod";
	return count(0) > MAX_HOSTS && count(1) > 0 ? "rack" : "host";
}

// The id of the drawn node that stands for a node.
function shownAs(node, level, toggled) {
	if (node.pod && (level === "pod") !== toggled.has(node.pod)) return node.pod;
	if (node.tier === 0 && node.rack && (level !== "host") !== toggled.has(node.rack)) return node.rack;
	return node.name;
}

// {nodes, edges, width, height}: 'toggled' is the set of pods and racks whose folding
// differs from the level.  An edge is one direction between two drawn nodes, with the
// names of its links.  'stands' has the drawn node of each node's name.
export function makeScene(fabric, level, toggled = new Set()) {
	const drawn = new Map(), edges = new Map(), stands = new Map();
	for (const node of fabric.nodes.values()) {
		const id = shownAs(node, level, toggled);
		let to = drawn.get(id);
		if (!to) {
			const isGroup = id !== node.name;
			to = { id, tier: node.tier, hosts: 0, members: 0, kind: "switch" };
			if (isGroup && node.tier === 0) to.tier = 1;
			drawn.set(id, to);
		}
		to.members++;
		to.hosts += node.tier === 0;
		to.tier = Math.max(to.tier, node.tier);
		stands.set(node.name, to);
	}
	for (const node of drawn.values())
		node.kind = node.tier === 0 ? "host" : node.id.startsWith("pod ") && node.members > 1 ? "pod"
			: node.hosts ? "rack" : "switch";
	for (const cable of fabric.cables)
		for (const link of cable.links) {
			const a = stands.get(link.from), b = stands.get(link.to);
			if (a === b) continue;
			const id = `${a.id}>${b.id}`;
			let edge = edges.get(id);
			if (!edge) {
				edge = { id, a, b, gbps: 0, links: [] };
				edges.set(id, edge);
			}
			edge.gbps += link.gbps;
			edge.links.push(link.name);
		}
	const size = place(fabric, [...drawn.values()], stands);
	return { nodes: [...drawn.values()], edges: placeEdges([...edges.values()]), stands, ...size };
}

// The lowest row sets the width; rows above are spread over it, each node near the
// middle of what it is connected to below.
function place(fabric, nodes, stands) {
	const tiers = [...new Set(nodes.map((n) => n.tier))].sort((a, b) => a - b);
	const rows = tiers.map((tier) => nodes.filter((n) => n.tier === tier));
	const order = new Map(leafOrder(fabric, stands).map((node, i) => [node, i]));
	rows[0]?.sort((a, b) => order.get(a) - order.get(b));
	const width = Math.max(480, ...rows.map((row) => row.length * (NODE + GAP) + GAP));
	const height = Math.max(LEAST_ROW, Math.round(width * ROW_SHARE));
	rows.forEach((row, i) => {
		const step = width / row.length;
		row.forEach((node, k) => {
			node.x = step * (k + 0.5);
			node.y = TOP + height * (rows.length - 1 - i);
			node.w = Math.min(NODE, step - 4);
			node.h = 24;
		});
	});
	return { width, height: TOP * 2 + height * Math.max(0, rows.length - 1) };
}

// Drawn nodes in the order of racks, hosts of one rack side by side.
function leafOrder(fabric, stands) {
	const found = new Set(), racks = new Map();
	for (const node of fabric.nodes.values())
		if (node.tier <= 1) {
			const key = node.rack ?? node.name;
			if (!racks.has(key)) racks.set(key, []);
			racks.get(key).push(node);
		}
	for (const members of racks.values()) for (const node of members) found.add(stands.get(node.name));
	for (const node of fabric.nodes.values()) found.add(stands.get(node.name));
	return [...found];
}

// A cable is two half-links: each direction goes from its node to the middle, beside
// the other one.  The width grows with the capacity.
function placeEdges(edges) {
	const most = Math.max(1, ...edges.map((e) => e.gbps));
	for (const edge of edges) {
		const { a, b } = edge, up = b.y < a.y ? -1 : b.y > a.y ? 1 : 0;
		edge.x1 = a.x;
		edge.y1 = a.y + (up * a.h) / 2;
		edge.x2 = (a.x + b.x) / 2;
		edge.y2 = (edge.y1 + b.y - (up * b.h) / 2) / 2;
		edge.width = 2.5 + 5 * Math.sqrt(edge.gbps / most);
	}
	return edges;
}

// The scene as a file: look(edge) is {color, width, dash, title}, 'ink' that of nodes.
export function sceneSvg(scene, look, ink) {
	const lines = scene.edges.map((edge) => {
		const { color, width, dash, title } = look(edge);
		return `<path d="M${edge.x1} ${edge.y1}L${edge.x2} ${edge.y2}" stroke="${color}" stroke-width="${width}"${dash ? ` stroke-dasharray="${dash}"` : ""}><title>${escapeXml(title)}</title></path>`;
	});
	const nodes = scene.nodes.map((n) => `<rect x="${n.x - n.w / 2}" y="${n.y - n.h / 2}" width="${n.w}" height="${n.h}" fill="none" stroke="${ink}"/>` +
		`<text x="${n.x}" y="${n.y + 4}" fill="${ink}" text-anchor="middle" font-size="11" font-family="sans-serif">${escapeXml(n.id)}</text>`);
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${scene.width} ${scene.height}">${lines.join("")}${nodes.join("")}</svg>`;
}

// The edge whose half-link is nearest to a point, within 'reach'; null: none.
export function edgeAt(scene, x, y, reach) {
	let best = null, least = reach;
	for (const edge of scene.edges) {
		const dx = edge.x2 - edge.x1, dy = edge.y2 - edge.y1;
		const t = Math.max(0, Math.min(1, ((x - edge.x1) * dx + (y - edge.y1) * dy) /
			(dx * dx + dy * dy || 1)));
		const d = Math.hypot(x - edge.x1 - t * dx, y - edge.y1 - t * dy) - edge.width / 2;
		if (d < least) {
			least = d;
			best = edge;
		}
	}
	return best;
}

export const nodeAt = (scene, x, y) => scene.nodes.find((n) =>
	Math.abs(x - n.x) <= n.w / 2 && Math.abs(y - n.y) <= n.h / 2) ?? null;
