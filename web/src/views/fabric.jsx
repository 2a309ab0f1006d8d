// SPDX-License-Identifier: Apache-2.0
// fabric.jsx - the weathermap: SVG up to MAX_SVG half-links, a canvas above.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as f from "../format.js";
import { THRESHOLDS, useColor } from "../color.js";
import { defaultLevel, edgeAt, makeScene, nodeAt, sceneSvg } from "../layout/scene.js";
import { byContention, isContended, isNotable, worst } from "../model/links.js";
import { dark, docs, go, href, place } from "../state.js";
import { LinkName, Panel, Table } from "./parts.jsx";

export const MAX_SVG = 600;
// In larger fabrics, links without figures are drawn only from close by: from afar they
// would hide the others.
const MAX_UNKNOWN = 600;
const KINDS = { now: "now (last second)", mean: "mean of the window", peak: "peak (highest millisecond)" };

// ---- Figures -----------------------------------------------------------------------

export const linkColumns = [
	{ key: "link", name: "LINK", show: (row) => <LinkName name={row.link} /> },
	{ key: "capacity_bps", name: "CAP", isNumber: true, show: (row) => f.rate(row.capacity_bps) },
	{ key: "now_bps", name: "NOW", isNumber: true, show: (row) => f.rate(row.now_bps) },
	{ key: "peak_bps", name: "PEAK", isNumber: true, show: (row) => f.rate(row.peak_bps) },
	{ key: "over_ratio", name: "OVER", isNumber: true, show: (row) => f.percent(row.over_ratio) },
	{ key: "jobs", name: "JOBS", isNumber: true },
	{ key: "pair", name: "WORST PAIR" },
	{ key: "since", name: "SINCE", isNumber: true },
	{ key: "basis", name: "BASIS" },
];

export function linkRow(link, at_us) {
	return { key: link.link, link: link.link, capacity_bps: link.capacity_bps,
		now_bps: link.now_bps, peak_bps: link.peak_bps, over_ratio: link.over_ratio,
		jobs: link.jobs.length, pair: link.pairs[0] ? link.pairs[0].jobs.join(" x ") : "-",
		since: link.since_us === null ? "-" : f.minutes(at_us - link.since_us),
		basis: link.basis + (link.is_up ? "" : ", down") };
}

function edgeState(edge, by, mine) {
	const links = edge.links.map((name) => docs.value.links.get(name)).filter(Boolean);
	const found = worst(links, by);
	found.isMine = mine !== null && edge.links.some((name) => mine.has(name));
	found.isDim = mine !== null && !found.isMine;
	return found;
}

function edgeTitle(edge, state) {
	const name = edge.links.length === 1 ? edge.links[0] : `${edge.a.id} to ${edge.b.id}, ${edge.links.length} links`;
	return `${name}: ${f.percent(state.use)} of ${f.rate(1e9 * edge.gbps)}${state.computed ? ", computed" : ""}` +
		(state.contended ? `, ${state.contended} contended` : "");
}

function nodeTitle(node) {
	return node.kind === "host" || node.kind === "switch" ? node.id
		: `${node.id}: ${node.hosts} hosts folded; click to open`;
}

// ---- SVG -----------------------------------------------------------------------------

function Edge({ edge, by, mine, selected }) {
	const s = edgeState(edge, by, mine);
	const dx = edge.x2 - edge.x1, dy = edge.y2 - edge.y1, d = Math.hypot(dx, dy) || 1;
	const ox = (-dy / d) * edge.width * 0.3, oy = (dx / d) * edge.width * 0.3;
	const line = { x1: edge.x1 + ox, y1: edge.y1 + oy, x2: edge.x2 + ox, y2: edge.y2 + oy };
	const isChosen = edge.links.includes(selected);
	return (
		<g class="edge" opacity={s.isDim ? 0.25 : 1} onClick={() => openEdge(edge)} data-edge={edge.id} data-use={s.use ?? ""}>
			{isChosen && <line {...line} stroke={dark.value ? "#fff" : "#000"} stroke-width={edge.width + 4} />}
			<line {...line} stroke={useColor(s.use, dark.value)} stroke-width={edge.width}
				stroke-dasharray={s.computed ? `${edge.width * 2} 2` : null} />
			{s.contended > 0 && <line {...line} stroke={dark.value ? "#ffffff" : "#b00020"} stroke-width={edge.width + 3} stroke-dasharray="1.5 4" />}
			<line {...line} stroke="transparent" stroke-width={Math.max(12, edge.width)} />
			<title>{edgeTitle(edge, s)}</title>
		</g>
	);
}

function openEdge(edge) {
	if (edge.links.length === 1) go("link", { link: edge.links[0] });
	else go("fabric", { ...place.value, view: null, edge: edge.id });
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

function Drawing({ scene, by, mine, selected, onToggle }) {
	return (
		<svg class="chart fabric" role="img" aria-label="The fabric; the table below has the same links"
			viewBox={`0 0 ${scene.width} ${scene.height}`} width={scene.width} height={scene.height}>
			{scene.edges.map((edge) => <Edge key={edge.id} edge={edge} by={by} mine={mine} selected={selected} />)}
			{scene.nodes.map((node) => <Node key={node.id} node={node} onToggle={onToggle} />)}
		</svg>
	);
}

// ---- Canvas --------------------------------------------------------------------------

// The half-links of one look are one path: there may be tens of thousands of them.
// Those that carry more come later, and so are drawn over those that carry less.
function groups(scene, by, mine, selected) {
	const found = new Map();
	for (const edge of scene.edges) {
		const s = edgeState(edge, by, mine);
		const isChosen = edge.links.includes(selected);
		const look = { order: isChosen ? 9 : s.use ?? -1, isUnknown: s.use === null && !isChosen, alpha: s.isDim || s.use === null ? 0.2 : 1,
			color: isChosen ? (dark.value ? "#fff" : "#000") : useColor(s.use, dark.value),
			width: s.use === null ? 1 : Math.round(edge.width) / 2, dash: s.contended ? [4, 3] : [] };
		const key = [look.alpha, look.color, look.width, look.dash].join();
		const group = found.get(key) ?? { ...look, edges: [] };
		group.order = Math.max(group.order, look.order);
		group.edges.push(edge);
		found.set(key, group);
	}
	return [...found.values()].sort((a, b) => a.order - b.order);
}

// Draws the same scene; 'view' is {x, y, zoom}, the scene's point at the left top.
function paint(context, scene, looks, view, size) {
	const isDark = dark.value;
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.clearRect(0, 0, size.width, size.height);
	context.setTransform(view.zoom, 0, 0, view.zoom, -view.x * view.zoom, -view.y * view.zoom);
	const right = view.x + size.width / view.zoom;
	for (const look of looks) {
		if (look.isUnknown && look.edges.length > MAX_UNKNOWN && view.zoom < 1) continue;
		context.globalAlpha = look.alpha;
		context.strokeStyle = look.color;
		context.lineWidth = look.width / Math.min(1, view.zoom);
		context.setLineDash(look.dash);
		context.beginPath();
		for (const edge of look.edges) {
			if (Math.max(edge.x1, edge.x2) < view.x || Math.min(edge.x1, edge.x2) > right) continue;
			context.moveTo(edge.x1, edge.y1);
			context.lineTo(edge.x2, edge.y2);
		}
		context.stroke();
	}
	paintNodes(context, scene, view, right, isDark);
}

function paintNodes(context, scene, view, right, isDark) {
	context.globalAlpha = 1;
	context.setLineDash([]);
	context.font = "11px system-ui, sans-serif";
	context.textAlign = "center";
	for (const node of scene.nodes) {
		if (node.x + node.w < view.x || node.x - node.w > right) continue;
		context.fillStyle = isDark ? "#20262d" : "#f3f4f6";
		context.strokeStyle = isDark ? "#8b949e" : "#57606a";
		context.lineWidth = node.kind === "rack" || node.kind === "pod" ? 2.5 : 1;
		context.fillRect(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h);
		context.strokeRect(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h);
		if (node.w * view.zoom < 24) continue;
		context.fillStyle = isDark ? "#e6edf3" : "#1f2328";
		context.fillText(node.id.slice(0, Math.max(3, Math.floor(node.w / 6.4))), node.x, node.y + 4);
	}
}

function Canvas({ scene, by, mine, selected, onToggle }) {
	const box = useRef(null);
	const view = useRef(null);
	const [, redraw] = useState(0);
	const looks = useMemo(() => groups(scene, by, mine, selected), [scene, by, mine, selected, docs.value.links, dark.value]);
	useEffect(() => {
		const canvas = box.current;
		const size = { width: canvas.clientWidth, height: canvas.clientHeight };
		if (canvas.width !== size.width) Object.assign(canvas, size);
		const zoom = Math.min(size.width / scene.width, 1);
		view.current ??= { x: 0, y: scene.height / 2 - size.height / zoom / 2, zoom };
		const frame = requestAnimationFrame(() =>
			paint(canvas.getContext("2d"), scene, looks, view.current, size));
		return () => cancelAnimationFrame(frame);
	});
	const at = (event) => {
		const r = box.current.getBoundingClientRect(), v = view.current;
		return [v.x + (event.clientX - r.left) / v.zoom, v.y + (event.clientY - r.top) / v.zoom];
	};
	const drag = useRef(null);
	const zoomAt = (x, y, factor) => {
		const v = view.current, zoom = Math.max(0.02, Math.min(8, v.zoom * factor));
		view.current = { zoom, x: x - ((x - v.x) * v.zoom) / zoom, y: y - ((y - v.y) * v.zoom) / zoom };
		redraw((n) => n + 1);
	};
	useEffect(() => {
		const canvas = box.current;
		const wheel = (event) => {
			event.preventDefault();
			zoomAt(...at(event), event.deltaY < 0 ? 1.2 : 1 / 1.2);
		};
		canvas.addEventListener("wheel", wheel, { passive: false });
		return () => canvas.removeEventListener("wheel", wheel);
	}, []);
	const move = (event) => {
		if (!drag.current) return;
		const v = view.current;
		drag.current.far += Math.abs(event.movementX) + Math.abs(event.movementY);
		view.current = { ...v, x: v.x - event.movementX / v.zoom, y: v.y - event.movementY / v.zoom };
		redraw((n) => n + 1);
	};
	const up = (event) => {
		const far = drag.current?.far ?? 9;
		drag.current = null;
		if (far > 4) return;
		const [x, y] = at(event), node = nodeAt(scene, x, y);
		if (node) return onToggle(node);
		const edge = edgeAt(scene, x, y, 8 / view.current.zoom);
		if (edge) openEdge(edge);
	};
	const keys = { "+": 1.25, "-": 0.8 };
	const press = (event) => {
		const v = view.current, step = 60 / v.zoom;
		const by_ = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
		if (by_) view.current = { ...v, x: v.x + by_[0], y: v.y + by_[1] };
		else if (keys[event.key]) return zoomAt(v.x, v.y, keys[event.key]);
		else return;
		event.preventDefault();
		redraw((n) => n + 1);
	};
	return (
		<canvas class="fabric" ref={box} tabindex="0" role="img" onKeyDown={press}
			aria-label="The fabric; arrows move, plus and minus zoom. The table below has the same links"
			onPointerDown={() => { drag.current = { far: 0 }; }} onPointerMove={move} onPointerUp={up}
			onPointerLeave={() => { drag.current = null; }} />
	);
}

// ---- The view ------------------------------------------------------------------------

function Legend() {
	return (
		<p class="legend">
			Share of the capacity:{" "}
			{THRESHOLDS.map((from, i) => (
				<span class="step">
					<svg width="22" height="10" aria-hidden="true"><rect width="22" height="10" fill={useColor(from, dark.value)} /></svg>
					{i + 1 < THRESHOLDS.length ? `${100 * from}-${100 * THRESHOLDS[i + 1]} %` : `${100 * from} % and more`}
				</span>
			))}
			<span class="step">
				<svg width="22" height="10" aria-hidden="true"><rect width="22" height="10" fill={useColor(null, dark.value)} /></svg>unknown
			</span>
			<span>cross strokes: contended; dashed: computed, solid: measured; width: capacity; each half of a cable is the direction that leaves its node.</span>
		</p>
	);
}

export function Fabric() {
	const { fabric, links, jobs, status } = docs.value;
	const { job, link, edge, by: asked, all } = place.value;
	const by = KINDS[asked] ? asked : "now";
	const toggled = useMemo(() => new Set((place.value.open ?? "").split(",").filter(Boolean)), [place.value.open]);
	const level = fabric && defaultLevel(fabric);
	const scene = useMemo(() => fabric && makeScene(fabric, level, toggled), [fabric, toggled]);
	const mine = useMemo(() => (job ? new Set([...links.values()].filter((l) => l.jobs.some((j) => j.job === job)).map((l) => l.link)) : null), [links, job]);
	const rows = byContention(links.values());
	const chosen = edge && scene ? new Set(scene.edges.find((e) => e.id === edge)?.links ?? []) : mine;
	const some = chosen ? rows.filter((l) => chosen.has(l.link)) : all ? rows : rows.filter(isNotable);
	const shown = (some.length || chosen || all ? some : rows.slice(0, 20)).map((l) => ({ ...linkRow(l, status.at_us), isMarked: l.link === link }));
	const set = (values) => go("fabric", { ...place.value, view: null, ...values });
	const toggle = (node) => {
		const id = node.kind === "host" ? fabric.nodes.get(node.id)?.rack : node.id;
		if (!id) return;
		const next = new Set(toggled);
		if (!next.delete(id)) next.add(id);
		set({ open: [...next].join(",") });
	};
	const columns = linkColumns;
	const svg = scene && (() => sceneSvg(scene, (e) => {
		const s = edgeState(e, by, mine);
		return { color: useColor(s.use, dark.value), width: e.width, dash: s.contended ? "2 3" : null, title: edgeTitle(e, s) };
	}, dark.value ? "#e6edf3" : "#1f2328"));
	return (
		<>
			<Panel title={fabric ? `Fabric ${fabric.name}` : "Links"} name="fabric" columns={columns}
				rows={rows.map((l) => linkRow(l, status.at_us))} json={rows} svg={svg} empty="No link carries traffic yet.">
				{scene && (
					<>
						<div class="controls">
							<label>Color by{" "}
								<select value={by} onChange={(e) => set({ by: e.currentTarget.value })}>
									{Object.entries(KINDS).map(([key, text]) => <option value={key}>{text}</option>)}
								</select>
							</label>
							{job && <span>Links of job <b>{job}</b>. <a href={href("fabric", { ...place.value, view: null, job: null })}>Show all</a></span>}
							{level !== "host" && <span>Hosts are folded by {level}: click one to open it.</span>}
							{scene.edges.length > MAX_SVG && <span>Wheel, + and - zoom, arrows and dragging move. Links without figures are drawn from close by only.</span>}
						</div>
						<div class="map">
							{scene.edges.length > MAX_SVG
								? <Canvas scene={scene} by={by} mine={mine} selected={link} onToggle={toggle} />
								: <Drawing scene={scene} by={by} mine={mine} selected={link} onToggle={toggle} />}
						</div>
						<Legend />
					</>
				)}
			</Panel>
			<section class="panel" aria-label="Contended links">
				<div class="head"><h2>{edge ? `Links ${edge}` : job ? `Links of job ${job}` : "Links, most contended first"}</h2></div>
				<Table caption={`${shown.length} of ${rows.length} links`} columns={columns} rows={shown}
					empty={links.size ? "No such link carries traffic." : "No link carries traffic yet."} />
				<p class="note">
					{rows.filter(isContended).length} contended links.{" "}
					{!chosen && (all ? <a href={href("fabric", { ...place.value, view: null, all: null })}>Only contended ones, and peaks over 70 %</a>
						: <a href={href("fabric", { ...place.value, view: null, all: 1 })}>Show all {rows.length} links</a>)}
					{edge && <a href={href("fabric", { ...place.value, view: null, edge: null })}>All links</a>}
				</p>
			</section>
		</>
	);
}

