// SPDX-License-Identifier: Apache-2.0
// iterations.jsx - the iterations of a job, and the moments of advice, orders and actions.
import { useEffect, useState } from "preact/hooks";
import * as f from "../format.js";
import { ask } from "../ask.js";
import { dark } from "../state.js";
import { Panel } from "./parts.jsx";

const EVERY_MS = 5000;
const WIDTH = 780, HEIGHT = 180, LEFT = 80, WORDS = 14;
const KINDS = { place_advised: "place advised", shift_advised: "shift advised", shift_followed: "followed", order: "order", action: "action" };
const MAX_WORDS = 6; // Rows of words above the drawing.

// Asks for antiphase.iterations/1 of the job again and again; what is known stays.
function useIterations(name) {
	const [state, setState] = useState({});
	useEffect(() => {
		let isGone = false;
		const get = () => ask(`/api/v1/jobs/${encodeURIComponent(name)}/iterations`).then(
			(doc) => !isGone && setState({ doc }), (error) => !isGone && setState((old) => (old.doc ? old : { error: error.message })));
		setState({});
		get();
		const timer = setInterval(get, EVERY_MS);
		return () => {
			isGone = true;
			clearInterval(timer);
		};
	}, [name]);
	return state;
}

function Drawing({ doc }) {
	const first = doc.iterations[0].at_us, last = doc.iterations.at(-1);
	const end = last.at_us + last.duration_us;
	const top = 1.1 * Math.max(doc.isolated_us ?? 0, ...doc.iterations.map((i) => i.duration_us));
	const x = (us) => Math.round((10 * WIDTH * (us - first)) / (end - first)) / 10;
	const y = (us) => Math.round(10 * HEIGHT * (1 - us / top)) / 10;
	const within = doc.moments.filter((m) => m.at_us >= first && m.at_us <= end);
	const named = within.filter((m) => m.kind !== "order");
	const above = WORDS * Math.min(named.length, MAX_WORDS) + 8;
	// An earlier mark rises higher, so that no later one crosses its word.
	const rise = (i) => WORDS * ((named.length - 1 - i) % MAX_WORDS) + 4;
	const color = dark.value ? "#c9d1d9" : "#57606a";
	return (
		<svg class="chart" viewBox={`${-LEFT} ${-above} ${LEFT + WIDTH + 10} ${above + HEIGHT + 40}`} width={LEFT + WIDTH + 10} height={above + HEIGHT + 40} role="img"
			aria-label={`Iteration times of ${doc.job}; 'as table' shows the figures`}>
			<path d={`M0 0V${HEIGHT}H${WIDTH}`} fill="none" stroke="currentColor" stroke-width="0.5" />
			<text x="-6" y="8" text-anchor="end" font-size="11" fill="currentColor">{f.ms(top)}</text>
			<text x="-6" y={HEIGHT} text-anchor="end" font-size="11" fill="currentColor">0</text>
			{doc.isolated_us !== null && <path d={`M0 ${y(doc.isolated_us)}H${WIDTH}`} stroke="currentColor" stroke-dasharray="6 4" />}
			{within.map((m, i) => (
				<path key={i} class="moment" stroke="currentColor" stroke-width={m.kind === "order" ? 1 : 1.5}
					d={m.kind === "order" ? `M${x(m.at_us)} ${HEIGHT + 3}v8` : `M${x(m.at_us)} ${HEIGHT}V${-rise(named.indexOf(m))}`}>
					<title>{`${f.time(m.at_us)} ${m.text}`}</title>
				</path>
			))}
			{named.map((m, i) => (
				<text key={i} x={x(m.at_us) + (x(m.at_us) > WIDTH - 90 ? -4 : 4)} y={-rise(i)} font-size="11" fill="currentColor"
					text-anchor={x(m.at_us) > WIDTH - 90 ? "end" : "start"}>{KINDS[m.kind] ?? m.kind}</text>
			))}
			<polyline points={doc.iterations.map((i) => `${x(i.at_us)},${y(i.duration_us)}`).join(" ")} fill="none" stroke="currentColor" stroke-width="1" opacity="0.5" />
			{doc.iterations.map((i) => <circle key={i.at_us} cx={x(i.at_us)} cy={y(i.duration_us)} r="2" fill="currentColor" />)}
			<text x="0" y={HEIGHT + 28} font-size="11" fill={color}>{f.time(first)}</text>
			<text x={WIDTH} y={HEIGHT + 28} text-anchor="end" font-size="11" fill={color}>{f.time(end)}</text>
		</svg>
	);
}

// 'children' are shown instead of the drawing while no iteration is known.
export function Iterations({ name, children }) {
	const { doc, error } = useIterations(name);
	const n = doc?.iterations.length ?? 0;
	return (
		<>
			{children && (doc || error) && !n ? children : <Panel title="Iteration time" name={`iterations-${name}`} json={doc} rows={(doc?.iterations ?? []).map((i) => ({ key: i.at_us, ...i }))}
				columns={[{ key: "at_us", name: "TIME", show: (row) => f.time(row.at_us) }, { key: "duration_us", name: "DURATION", isNumber: true, show: (row) => f.ms(row.duration_us) }]}>
				{n ? <div class="map"><Drawing doc={doc} /></div> : <p class="empty plot">{error ?? (doc ? "No iteration is known yet." : "loading")}</p>}
				<p class="note">
					{n > 0 && (doc.source === "pacer" ? `The last ${n} iterations that its pacer reported.` : `The last ${n} estimates from its traffic; a pacer would report each iteration.`)}
					{doc?.isolated_us ? ` Dashed: ${f.ms(doc.isolated_us)}, the iteration without contention.` : ""} Lines: advice and actions; short strokes: orders to its pacer.
				</p>
			</Panel>}
			{doc?.moments.length > 0 && (
				<Panel title="What happened to this job" name={`moments-${name}`} json={doc.moments} rows={doc.moments.map((m, i) => ({ key: i, ...m })).reverse()}
					columns={[{ key: "at_us", name: "TIME", show: (row) => f.time(row.at_us) }, { key: "kind", name: "KIND", show: (row) => KINDS[row.kind] ?? row.kind }, { key: "text", name: "TEXT", isLong: true }]} />
			)}
		</>
	);
}
