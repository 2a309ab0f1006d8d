// SPDX-License-Identifier: Apache-2.0
// png.mjs - screenshots as small files: a PNG of a browser (8 bits, RGB or RGBA, not
// interlaced) with at most 256 colors, by median cut.
import { deflateSync, inflateSync } from "node:zlib";

const MAGIC = Buffer.from("89504e470d0a1a0a", "hex");
const MAX_COLORS = 256;

// {width, height, rgb}: three bytes a pixel.
function read(png) {
	if (!png.subarray(0, 8).equals(MAGIC)) throw new Error("not a PNG");
	let width, height, channels, data = [];
	for (let at = 8; at + 12 <= png.length;) {
		const length = png.readUInt32BE(at), type = png.toString("latin1", at + 4, at + 8), body = png.subarray(at + 8, at + 8 + length);
		if (type === "IHDR") {
			[width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
			channels = { 2: 3, 6: 4 }[body[9]];
			if (body[8] !== 8 || !channels || body[12]) throw new Error("a PNG of another kind");
		} else if (type === "IDAT") data.push(body);
		at += length + 12;
	}
	return { width, height, rgb: unfilter(inflateSync(Buffer.concat(data)), width, height, channels) };
}

function paeth(a, b, c) {
	const p = a + b - c, pa = Math.abs(p - a), pb = Math.abs(p - b), pc = Math.abs(p - c);
	return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

function unfilter(raw, width, height, channels) {
	const stride = width * channels, out = Buffer.alloc(width * height * 3);
	let before = Buffer.alloc(stride);
	for (let y = 0; y < height; y++) {
		const filter = raw[y * (stride + 1)], row = Buffer.from(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
		for (let i = 0; i < stride; i++) {
			const a = i >= channels ? row[i - channels] : 0, b = before[i], c = i >= channels ? before[i - channels] : 0;
			row[i] += [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter];
		}
		for (let x = 0; x < width; x++) row.copy(out, (y * width + x) * 3, x * channels, x * channels + 3);
		before = row;
	}
	return out;
}

// Boxes of colors are cut at the median of their longest side until there are enough.
function palette(counts) {
	const boxes = [[...counts].map(([color, n]) => ({ c: [color >> 16, (color >> 8) & 255, color & 255], n, color }))];
	const longest = (box) => {
		const sides = [0, 1, 2].map((k) => Math.max(...box.map((e) => e.c[k])) - Math.min(...box.map((e) => e.c[k])));
		const side = Math.max(...sides);
		return [side, sides.indexOf(side)];
	};
	while (boxes.length < MAX_COLORS) {
		const sizes = boxes.map((box) => longest(box)[0]), most = Math.max(...sizes);
		if (most === 0) break;
		const [box] = boxes.splice(sizes.indexOf(most), 1), side = longest(box)[1];
		box.sort((a, b) => a.c[side] - b.c[side] || a.color - b.color);
		const half = box.reduce((sum, e) => sum + e.n, 0) / 2;
		let i = 0, sum = 0;
		while (i < box.length - 1 && sum + box[i].n <= half) sum += box[i++].n;
		i = Math.max(1, Math.min(box.length - 1, i));
		boxes.push(box.slice(0, i), box.slice(i));
	}
	const index = new Map(), colors = boxes.map((box, k) => {
		for (const e of box) index.set(e.color, k);
		return box.reduce((best, e) => (e.n > best.n ? e : best)).c; // The most frequent one: flat areas keep theirs.
	});
	return { index, colors };
}

function crc(bytes) {
	let sum = ~0;
	for (const byte of bytes) {
		sum ^= byte;
		for (let k = 0; k < 8; k++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
	}
	return ~sum >>> 0;
}

function chunk(type, body) {
	const named = Buffer.concat([Buffer.from(type, "latin1"), body]), length = Buffer.alloc(4), sum = Buffer.alloc(4);
	length.writeUInt32BE(body.length);
	sum.writeUInt32BE(crc(named));
	return Buffer.concat([length, named, sum]);
}

// The same picture as a smaller file.
export function shrink(png) {
	const { width, height, rgb } = read(png), counts = new Map();
	const color = (i) => (rgb[3 * i] << 16) | (rgb[3 * i + 1] << 8) | rgb[3 * i + 2];
	for (let i = 0; i < width * height; i++) counts.set(color(i), (counts.get(color(i)) ?? 0) + 1);
	const { index, colors } = palette(counts), rows = Buffer.alloc((width + 1) * height);
	for (let i = 0; i < width * height; i++) rows[i + Math.floor(i / width) + 1] = index.get(color(i));
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, 3, 0, 0, 0], 8);
	return Buffer.concat([MAGIC, chunk("IHDR", head), chunk("PLTE", Buffer.from(colors.flat())), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
