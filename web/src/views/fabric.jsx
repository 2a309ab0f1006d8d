// SPDX-License-Identifier: Apache-2.0
// fabric.jsx - the weathermap: SVG up to MAX_SVG half-links, a canvas above.
import { useEffect, useMemo, useState } from "preact/hooks";
import * as f from "../format.js";
import { jobColor, useColor } from "../color.js";
import { flowLines } from "../layout/flows.js";
import { defaultLevel, makeScene, sceneSvg } from "../layout/scene.js";
import { edgeState, edgeTitle } from "../model/edges.js";
import { byContention, isContended, isNotable } from "../model/links.js";
import { pathLinks } from "../model/paths.js";
import { at_us } from "../player.js";
import { dark, docs, go, href, mode, place, placeOf, shares } from "../state.js";
import { Legend } from "./legend.jsx";
import { Canvas } from "./map_canvas.jsx";
import { Drawing } from "./map_svg.jsx";
import { Meeting } from "./meeting.jsx";
import { LinkName, Panel, Table } from "./parts.jsx";
import { Paths } from "./paths.jsx";

export const MAX_SVG = 600;
const MAX_MEETING = 12; // Links with flows that meet, named.
const KINDS = { now: "now (last second)", mean: "mean of the window", peak: "peak (highest millisecond)" };

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

function openEdge(edge) {
	if (edge.links.length === 1) go("link", { link: edge.links[0] });
	else go("fabric", { ...place.value, view: null, edge: edge.id });
}

let hasDrawn = false; // A map, once.

// Whether the rest is drawn, too: for the first time the map comes a frame before its table.
function useMapFirst(scene) {
	const [isNext, setNext] = useState(hasDrawn);
	useEffect(() => {
		if (!scene || isNext) return undefined;
		const frame = requestAnimationFrame(() => setTimeout(() => {
			hasDrawn = true;
			setNext(true);
		}));
		return () => cancelAnimationFrame(frame);
	}, [scene, isNext]);
	return isNext || !scene;
}

// ---- The view ------------------------------------------------------------------------

// In the report of a recording: what the player moves, and what it does not.
function Moment() {
	const { history, status } = docs.value;
	return (
		<p class="note" role="status">
			{shares.value ? `Colors: mean share of the capacity in ${f.seconds(history.step_us)} at ${f.time(at_us.value)}. ` : `Colors, as all else: end of the recording, ${f.time(status?.at_us)}. `}
			The player moves the colors. Cross strokes, tables, jobs and links are those of the end of the recording.
		</p>
	);
}

export function Fabric() {
	const { fabric, links, status, collisions, path, inferences } = docs.value;
	const { job, link, edge, by: asked, all, flows: isFlows } = place.value;
	const by = KINDS[asked] ? asked : "now";
	const toggled = useMemo(() => new Set((place.value.open ?? "").split(",").filter(Boolean)), [place.value.open]);
	const level = fabric && defaultLevel(fabric);
	const scene = useMemo(() => fabric && makeScene(fabric, level, toggled), [fabric, toggled]);
	const mine = useMemo(() => (!job ? pathLinks(docs.value) : new Set([...links.values()].filter((l) => l.jobs.some((j) => j.job === job)).map((l) => l.link))), [links, job, path, inferences]);
	const shown = useMemo(() => ({ links, by, mine, shares: shares.value }), [links, by, mine, shares.value]);
	const flows = isFlows && link ? collisions?.get(link) ?? null : null;
	const lines = useMemo(() => (flows && scene ? flowLines(fabric, scene, flows).map((line) => ({ ...line, color: jobColor(placeOf(line.job), dark.value) })) : []), [flows, scene, dark.value]);
	const rows = byContention(links.values());
	const chosen = edge && scene ? new Set(scene.edges.find((e) => e.id === edge)?.links ?? []) : mine;
	const some = chosen ? rows.filter((l) => chosen.has(l.link)) : all ? rows : rows.filter(isNotable);
	const listed = (some.length || chosen || all ? some : rows.slice(0, 20)).map((l) => ({ ...linkRow(l, status?.at_us), isMarked: l.link === link }));
	const set = (values) => go("fabric", { ...place.value, view: null, ...values });
	const toggle = (node) => {
		const id = node.kind === "host" ? fabric.nodes.get(node.id)?.rack : node.id;
		if (!id) return;
		const next = new Set(toggled);
		if (!next.delete(id)) next.add(id);
		set({ open: [...next].join(",") });
	};
	const columns = linkColumns;
	const isNext = useMapFirst(scene);
	const svg = scene && (() => sceneSvg(scene, (e) => {
		const s = edgeState(e, shown);
		return { color: useColor(s.use, dark.value), width: e.width, dash: s.contended ? "2 3" : null, title: edgeTitle(e, s) };
	}, dark.value ? "#e6edf3" : "#1f2328"));
	return (
		<>
			<Panel title={fabric ? `Fabric ${fabric.name}` : "Links"} name="fabric" columns={columns}
				rows={() => rows.map((l) => linkRow(l, status?.at_us))} json={rows} svg={svg} empty="No link carries traffic yet.">
				{scene && (
					<>
						<div class="controls">
							<label>Color by{" "}
								<select value={by} disabled={shares.value !== null} onChange={(e) => set({ by: e.currentTarget.value })}>
									{Object.entries(KINDS).map(([key, text]) => <option value={key}>{text}</option>)}
								</select>
							</label>
							{job && <span>Links of job <b>{job}</b>. <a href={href("fabric", { ...place.value, view: null, job: null })}>Show all</a></span>}
							{flows && <span>Flows that meet on <b class="name">{link}</b>; dashed: another path that has room. <a href={href("fabric", { ...place.value, view: null, flows: null, link: null })}>Show none</a></span>}
							{level !== "host" && <span>Hosts are folded by {level}: click one to open it.</span>}
							{scene.edges.length > MAX_SVG && <span>Wheel, + and - zoom, arrows and dragging move. Links without figures are drawn from close by only.</span>}
						</div>
						<div class="map">
							{scene.edges.length > MAX_SVG
								? <Canvas scene={scene} shown={shown} selected={link} lines={lines} onToggle={toggle} onOpen={openEdge} />
								: <Drawing scene={scene} shown={shown} selected={link} lines={lines} onToggle={toggle} onOpen={openEdge} />}
						</div>
						{mode.value === "report" && docs.value.history && <Moment />}
						<Legend strokes="cross strokes: contended; dashed: computed, solid: measured" />
					</>
				)}
			</Panel>
			<Paths />
			{flows && <Meeting link={link} />}
			<section class="panel" aria-label="Contended links">
				<div class="head"><h2>{edge ? `Links ${edge}` : job ? `Links of job ${job}` : "Links, most contended first"}</h2></div>
				{isNext && <Table caption={`${listed.length} of ${rows.length} links`} columns={columns} rows={listed}
					empty={links.size ? "No such link carries traffic." : "No link carries traffic yet."} />}
				<p class="note">
					{rows.filter(isContended).length} contended links.{" "}
					{!chosen && (all ? <a href={href("fabric", { ...place.value, view: null, all: null })}>Only contended ones, and peaks over 70 %</a>
						: <a href={href("fabric", { ...place.value, view: null, all: 1 })}>Show all {rows.length} links</a>)}
					{edge && <a href={href("fabric", { ...place.value, view: null, edge: null })}>All links</a>}
				</p>
				{scene && collisions?.size > 0 && (
					<p class="note">Flows meet on {collisions.size} link{collisions.size === 1 ? "" : "s"}; on the map:{" "}
						{[...collisions.keys()].slice(0, MAX_MEETING).map((name) => <a class="name" href={href("fabric", { link: name, flows: 1 })}>{name}</a>)}
						{collisions.size > MAX_MEETING && <span>and {collisions.size - MAX_MEETING} more, on their links' pages</span>}
					</p>
				)}
			</section>
		</>
	);
}

