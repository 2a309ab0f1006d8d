// SPDX-License-Identifier: Apache-2.0
// map_svg.jsx - the map of a fabric that is small enough for an element for each link.
import { useColor } from "../color.js";
import { edgeState, edgeTitle } from "../model/edges.js";
import { dark } from "../state.js";

function Edge({ edge, shown, selected, onOpen }) {
	const s = edgeState(edge, shown);
	const dx = edge.x2 - edge.x1, dy = edge.y2 - edge.y1, d = Math.hypot(dx, dy) || 1;
	const ox = (-dy / d) * edge.width * 0.3, oy = (dx / d) * edge.width * 0.3;
	const line = { x1: edge.x1 + ox, y1: edge.y1 + oy, x2: edge.x2 + ox, y2: edge.y2 + oy };
	const isChosen = edge.links.includes(selected);
	return (
		<g class="edge" opacity={s.isDim ? 0.25 : 1} onClick={() => onOpen(edge)} data-edge={edge.id} data-use={s.use ?? ""}>
			{isChosen && <line {...line} stroke={dark.value ? "#fff" : "#000"} stroke-width={edge.width + 4} />}
			<line {...line} stroke={useColor(s.use, dark.value)} stroke-width={edge.width}
				stroke-dasharray={s.computed ? `${edge.width * 2} 2` : null} />
			{s.contended > 0 && <line {...line} stroke={dark.value ? "#ffffff" : "#b00020"} stroke-width={edge.width + 3} stroke-dasharray="1.5 4" />}
			<line {...line} stroke="transparent" stroke-width={Math.max(12, edge.width)} />
			<title>{edgeTitle(edge, s)}</title>
		</g>
	);
}

function nodeTitle(node) {
	return node.kind === "host" || node.kind === "switch" ? node.id
		: `${node.id}: ${node.hosts} hosts folded; click to open`;
}

function Node({ node, onToggle }) {
	const canFold = node.kind === "rack" || node.kind === "pod";
	const props = { x: node.x - node.w / 2, y: node.y - node.h / 2, width: node.w, height: node.h, rx: 3 };
	const max = Math.max(3, Math.floor(node.w / 6.4));
	const label = node.id.length > max ? `${node.id.slice(0, max - 1)}.` : node.id;
	return (
		<g class="node" onClick={canFold || node.tier === 1 || node.rack ? () => onToggle(node) : null}>
			<rect {...props} fill={dark.value ? "#20262d" : "#f3f4f6"} stroke={dark.value ? "#8b949e" : "#57606a"}
				stroke-width={canFold ? 2.5 : 1} />
			<text x={node.x} y={node.y + 4} text-anchor="middle" font-size="11" font-family="system-ui, sans-serif"
				fill={dark.value ? "#e6edf3" : "#1f2328"}>{label}</text>
			<title>{nodeTitle(node)}</title>
		</g>
	);
}

export function Drawing({ scene, shown, selected, lines, onToggle, onOpen }) {
	return (
		<svg class="chart fabric" role="img" aria-label="The fabric; the table below has the same links"
			viewBox={`0 0 ${scene.width} ${scene.height}`} width={scene.width} height={scene.height}>
			{scene.edges.map((edge) => <Edge key={edge.id} edge={edge} shown={shown} selected={selected} onOpen={onOpen} />)}
			{lines.map((line) => (
				<polyline class="flow" key={line.key} points={line.points.map((p) => p.join()).join(" ")} fill="none" stroke={line.color} stroke-width="2.5" stroke-dasharray={line.isRoom ? "8 6" : null}>
					<title>{line.title}</title>
				</polyline>
			))}
			{scene.nodes.map((node) => <Node key={node.id} node={node} onToggle={onToggle} />)}
		</svg>
	);
}
