// SPDX-License-Identifier: Apache-2.0
// painter.js - a scene on a canvas.  Drawing tens of thousands of lines takes longer than
// a frame, so while the view moves, frames are copies of a picture that is larger than
// the view; it is drawn anew when the view rests, or leaves it.

const MARGIN = 0.5;   // Of the picture on each side, as a share of the view.
const REST_MS = 150;  // After the last move.
const BUSY = 4;       // Between two drawings pass this many times their own time.
const MAX_UNKNOWN = 600; // Links without figures are drawn from close by only, if they are more: they would hide the others.

export class Painter {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d", { alpha: true });
		this.picture = document.createElement("canvas");
		this.view = null; // {x, y, zoom}: the scene's point at the left top.
		this.drawn = null; // The same of the picture.
		this.cost_ms = 0;
		this.done_ms = 0;
		this.frame = 0;
		this.rest = 0;
	}

	// Shows a scene: 'looks' are groups of edges, 'ink' the colors of nodes, 'lines' are
	// those of flows, with a color.
	show(scene, looks, ink, lines) {
		const { canvas } = this;
		Object.assign(this, { scene, looks, ink, lines });
		const width = canvas.clientWidth, height = canvas.clientHeight;
		if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
		const zoom = Math.min(width / scene.width, 1);
		this.view ??= { x: 0, y: scene.height / 2 - height / zoom / 2, zoom };
		this.drawn = null;
		this.later();
	}

	close() {
		cancelAnimationFrame(this.frame);
		clearTimeout(this.rest);
	}

	// By pixels of the screen.
	pan(dx, dy) {
		const v = this.view;
		this.view = { ...v, x: v.x - dx / v.zoom, y: v.y - dy / v.zoom };
		this.moved();
	}

	zoomAt(x, y, factor) {
		const v = this.view, zoom = Math.max(0.02, Math.min(8, v.zoom * factor));
		this.view = { zoom, x: x - ((x - v.x) * v.zoom) / zoom, y: y - ((y - v.y) * v.zoom) / zoom };
		this.moved();
	}

	// The scene's point under a point of the screen.
	at(event) {
		const r = this.canvas.getBoundingClientRect(), v = this.view;
		return [v.x + (event.clientX - r.left) / v.zoom, v.y + (event.clientY - r.top) / v.zoom];
	}

	moved() {
		clearTimeout(this.rest);
		this.rest = setTimeout(() => {
			if (this.drawn?.zoom === this.view.zoom) return;
			this.drawn = null;
			this.later();
		}, REST_MS);
		this.later();
	}

	later() {
		if (this.frame) return;
		this.frame = requestAnimationFrame(() => {
			this.frame = 0;
			this.copy();
		});
	}

	// Whether the picture has all of the view.
	covers() {
		const { drawn, view, canvas } = this;
		return drawn && view.x >= drawn.x && view.y >= drawn.y && view.x + canvas.width / view.zoom <= drawn.x + this.picture.width / drawn.zoom &&
			view.y + canvas.height / view.zoom <= drawn.y + this.picture.height / drawn.zoom;
	}

	copy() {
		const { canvas, context, view } = this;
		if (!canvas.width || !canvas.height) return;
		if (!this.drawn || (!this.covers() && performance.now() - this.done_ms > BUSY * this.cost_ms)) this.draw();
		const { drawn, picture } = this, scale = view.zoom / drawn.zoom;
		const x = (drawn.x - view.x) * view.zoom, y = (drawn.y - view.y) * view.zoom;
		context.setTransform(1, 0, 0, 1, 0, 0);
		context.clearRect(0, 0, canvas.width, canvas.height);
		if (scale === 1) context.drawImage(picture, Math.round(x), Math.round(y));
		else context.drawImage(picture, x, y, picture.width * scale, picture.height * scale);
	}

	draw() {
		const begin_ms = performance.now(), { canvas, picture, view } = this;
		const width = Math.ceil(canvas.width * (1 + 2 * MARGIN)), height = Math.ceil(canvas.height * (1 + 2 * MARGIN));
		if (picture.width !== width || picture.height !== height) Object.assign(picture, { width, height });
		this.drawn = { zoom: view.zoom, x: view.x - (canvas.width * MARGIN) / view.zoom, y: view.y - (canvas.height * MARGIN) / view.zoom };
		paint(picture.getContext("2d"), this, picture, this.drawn);
		this.done_ms = performance.now();
		this.cost_ms = this.done_ms - begin_ms;
	}
}

function paint(context, { scene, looks, ink, lines }, size, view) {
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.clearRect(0, 0, size.width, size.height);
	context.setTransform(view.zoom, 0, 0, view.zoom, -view.x * view.zoom, -view.y * view.zoom);
	const right = view.x + size.width / view.zoom, bottom = view.y + size.height / view.zoom;
	for (const look of looks) {
		if (look.isUnknown && look.edges.length > MAX_UNKNOWN && view.zoom < 1) continue;
		context.globalAlpha = look.alpha;
		context.strokeStyle = look.color;
		context.lineWidth = look.width / Math.min(1, view.zoom);
		context.setLineDash(look.dash);
		context.beginPath();
		for (const edge of look.edges) {
			if (Math.max(edge.x1, edge.x2) < view.x || Math.min(edge.x1, edge.x2) > right || Math.max(edge.y1, edge.y2) < view.y || Math.min(edge.y1, edge.y2) > bottom) continue;
			context.moveTo(edge.x1, edge.y1);
			context.lineTo(edge.x2, edge.y2);
		}
		context.stroke();
	}
	paintLines(context, lines, view);
	paintNodes(context, scene.nodes.filter((n) => n.x + n.w >= view.x && n.x - n.w <= right && n.y + n.h >= view.y && n.y - n.h <= bottom), view, ink);
}

function paintLines(context, lines, view) {
	context.globalAlpha = 1;
	context.lineWidth = 2.5 / Math.min(1, view.zoom);
	for (const { points, color, isRoom } of lines) {
		context.strokeStyle = color;
		context.setLineDash(isRoom ? [8, 6] : []);
		context.beginPath();
		points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
		context.stroke();
	}
}

// Folded nodes have a thick frame.  All of one kind are one path.
function paintNodes(context, nodes, view, ink) {
	const isFolded = (node) => node.kind === "rack" || node.kind === "pod";
	context.globalAlpha = 1;
	context.setLineDash([]);
	for (const folded of [false, true]) {
		context.beginPath();
		for (const node of nodes) if (isFolded(node) === folded) context.rect(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h);
		context.fillStyle = ink.fill;
		context.strokeStyle = ink.frame;
		context.lineWidth = folded ? 2.5 : 1;
		context.fill();
		context.stroke();
	}
	context.font = "11px system-ui, sans-serif";
	context.textAlign = "center";
	context.fillStyle = ink.text;
	for (const node of nodes)
		if (node.w * view.zoom >= 24) context.fillText(node.id.slice(0, Math.max(3, Math.floor(node.w / 6.4))), node.x, node.y + 4);
}
