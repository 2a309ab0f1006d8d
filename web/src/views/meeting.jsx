// SPDX-License-Identifier: Apache-2.0
// meeting.jsx - the flows that meet on a link: drawn, in words, and as a table.
import * as f from "../format.js";
import { jobColor } from "../color.js";
import { flowName, flowsText } from "../model/collisions.js";
import { dark, docs, href, placeOf } from "../state.js";
import { JobName, Panel, Swatch } from "./parts.jsx";

const MAX_ROWS = 12, ROW = 26, WIDTH = 720, BAR = 300, BAR_WIDTH = 120;

const cut = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}.` : text);

// Each flow goes from its host on the left through the link to its host on the right;
// dashed, below, over the switch of another path that has room.
function Drawing({ link, flows }) {
	const shown = flows.slice(0, MAX_ROWS), rooms = [...new Set(shown.map((flow) => flow.room_via).filter((via) => via !== null))];
	const height = 24 + ROW * (shown.length + rooms.length) + (rooms.length ? 10 : 0);
	const y = (i) => 24 + ROW * i + ROW / 2, roomY = (via) => y(shown.length + rooms.indexOf(via)) + 10;
	const text = { "font-size": 11, "font-family": "ui-monospace, monospace", fill: "currentColor" };
	return (
		<svg class="chart" viewBox={`0 0 ${WIDTH} ${height}`} width={WIDTH} height={height} role="img" aria-label={`Flows that meet on ${link}; 'as table' shows them`}>
			<text {...text} x={BAR + BAR_WIDTH / 2} y="14" text-anchor="middle">{cut(link, 60)}</text>
			<rect x={BAR} y="20" width={BAR_WIDTH} height={ROW * shown.length + 8} fill="none" stroke="currentColor" rx="3" />
			{shown.map((flow, i) => (
				<g key={i} stroke={jobColor(placeOf(flow.job), dark.value)} fill="none">
					<title>{`${flowName(flow)} over ${flow.via}`}</title>
					<path d={`M150 ${y(i)}H${WIDTH - 150}`} stroke-width="4" />
					{flow.room_via !== null && <path d={`M150 ${y(i)}C${BAR - 60} ${y(i)} ${BAR - 80} ${roomY(flow.room_via)} ${BAR} ${roomY(flow.room_via)}H${BAR + BAR_WIDTH}C${BAR + BAR_WIDTH + 80} ${roomY(flow.room_via)} ${BAR + BAR_WIDTH + 60} ${y(i)} ${WIDTH - 150} ${y(i)}`}
						stroke-width="2" stroke-dasharray="6 4" />}
				</g>
			))}
			{shown.map((flow, i) => (
				<g key={`t${i}`}>
					<text {...text} x="144" y={y(i) + 4} text-anchor="end">{cut(flow.from, 20)}</text>
					<text {...text} x={WIDTH - 144} y={y(i) + 4}>{cut(flow.to, 20)}</text>
					<text {...text} x={BAR + 6} y={y(i) - 4}>{cut(flow.job, 17)}</text>
				</g>
			))}
			{rooms.map((via) => <text {...text} key={via} x={BAR + BAR_WIDTH / 2} y={roomY(via) - 4} text-anchor="middle">{cut(`room over ${via}`, 24)}</text>)}
		</svg>
	);
}

export function Meeting({ link, onMap }) {
	const flows = docs.value.collisions?.get(link);
	if (!flows) return null;
	return (
		<Panel title="Flows that meet here" name={`flows-${link}`} json={flows} rows={flows.map((flow, i) => ({ key: i, ...flow }))}
			columns={[{ key: "job", name: "JOB", show: (row) => <><Swatch index={placeOf(row.job)} /> <JobName name={row.job} /></> }, { key: "from", name: "FROM" }, { key: "to", name: "TO" },
				{ key: "port", name: "PORT", isNumber: true, show: (row) => (row.port ? row.port : "-") }, { key: "via", name: "VIA" }, { key: "basis", name: "BASIS" },
				{ key: "paths", name: "PATHS", isNumber: true }, { key: "room_via", name: "ROOM VIA", show: (row) => f.text(row.room_via) },
				{ key: "room_port", name: "ROOM PORT", isNumber: true, show: (row) => (row.room_port ? row.room_port : "-") }]}>
			<p class="say">{flowsText(flows)}</p>
			<div class="map"><Drawing link={link} flows={flows} /></div>
			{flows.length > MAX_ROWS && <p class="note">{MAX_ROWS} of {flows.length} flows are drawn; the table has all.</p>}
			{docs.value.fabric && onMap && <p><a href={href("fabric", { link, flows: 1 })}>Show these flows on the map</a></p>}
		</Panel>
	);
}
