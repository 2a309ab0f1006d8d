// SPDX-License-Identifier: Apache-2.0
// cells.jsx - link x time: a cell for each share of the capacity; a line under it where
// the link is exceeded, if that is known.
import * as f from "../format.js";
import { useColor } from "../color.js";
import { dark } from "../state.js";
import { Marker } from "./shares.jsx";

const ROW = 18, LEFT = 210, WIDTH = 720;

// 'say' writes a time; onCell(name, time) and onName(name) are called on clicks.
export function Cells({ heat, label, say, onCell, onName }) {
	const w = WIDTH / heat.columns.length, height = ROW * heat.names.length, soft = dark.value ? "#c9d1d9" : "#57606a";
	const over = (i, k) => heat.over?.[i][k] > 0;
	return (
		<div class="map">
			<svg class="chart" viewBox={`0 0 ${LEFT + WIDTH} ${height + 20}`} width={LEFT + WIDTH} height={height + 20} role="img" aria-label={`${label}; 'as table' shows the figures`}>
				{heat.names.map((name, i) => (
					<g class="edge" key={name}>
						<text onClick={() => onName?.(name)} x={LEFT - 6} y={ROW * i + 13} text-anchor="end" font-size="11" font-family="ui-monospace, monospace" fill={dark.value ? "#e6edf3" : "#1f2328"}>
							{name.length > 30 ? `${name.slice(0, 29)}.` : name}
						</text>
						{heat.columns.map((at, k) => (
							<rect shape-rendering="crispEdges" onClick={() => onCell(name, at)} x={LEFT + k * w} y={ROW * i + 1} width={w + 0.3} height={ROW - 2} fill={useColor(heat.use[i][k], dark.value)}>
								<title>{`${name} ${say(at)}: ${f.percent(heat.use[i][k])}${over(i, k) ? `, exceeded ${f.percent(heat.over[i][k])}` : ""}`}</title>
							</rect>
						))}
						{heat.over && <path class="over" pointer-events="none" stroke={dark.value ? "#ffffff" : "#b00020"} stroke-width="3" d={heat.columns.map((_, k) => (over(i, k) ? `M${(LEFT + k * w).toFixed(1)} ${ROW * i + ROW - 2.5}h${w.toFixed(1)}` : "")).join("")} />}
					</g>
				))}
				<Marker from_us={heat.columns[0]} to_us={heat.columns.at(-1) + heat.step_us} left={LEFT} width={WIDTH} height={height} />
				<text x={LEFT} y={height + 15} font-size="11" fill={soft}>{say(heat.columns[0])}</text>
				<text x={LEFT + WIDTH} y={height + 15} text-anchor="end" font-size="11" fill={soft}>{say(heat.columns.at(-1))}</text>
			</svg>
		</div>
	);
}
