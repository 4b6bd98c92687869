// Pictures as files, light on white, with title, legend and caption. An SVG is saved with its
// styles, canvases are stacked, and other elements are drawn as rectangles and texts.
import { signal } from "@preact/signals";
import { inFigure } from "../colours";

// An SVG outside of the page lacks the page's style sheet: these properties are written into its
// elements.
const styled = ["fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "opacity", "fill-opacity", "font-size", "font-family", "font-weight", "text-anchor"];

const background = () => getComputedStyle(document.body).backgroundColor;

export function standalone(svg: SVGSVGElement): string {
    const copy = svg.cloneNode(true) as SVGSVGElement;
    const [from, to] = [[svg, ...svg.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const name of styled) (to[i] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", String(svg.getBoundingClientRect().width)); // else it is as wide as the figure, margins included
    return new XMLSerializer().serializeToString(copy);
}

const escaped = (text: string) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const isClear = (colour: string) => colour === "transparent" || /^rgba\(.*,\s*0\)$|\/\s*0\)$/.test(colour);

// The visible part of a text that its element clips.
function shortened(text: string, wide: number, room: number): string {
    if (wide <= room + 1) return text;
    const letters = Math.floor((text.length * room) / wide) - 1;
    return letters < 2 ? "" : `${text.slice(0, letters)}…`;
}

// Draws the box of an element and its texts, which end where an element around them clips them.
// Nested SVGs keep their position.
function drawElement(element: Element, left: number, top: number, out: string[], clip = Infinity): void {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden" || element.matches(".unseen, .block-filter, .tools, .saves, .side .quiet")) return;
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left - left, box.top - top];
    if (element instanceof SVGSVGElement) {
        out.push(`<g transform="translate(${x.toFixed(1)} ${y.toFixed(1)})">${standalone(element)}</g>`);
        return;
    }
    const edged = parseFloat(style.borderTopWidth) > 0 && style.borderTopStyle !== "none" && !isClear(style.borderTopColor);
    if (box.width > 0 && box.height > 0 && (!isClear(style.backgroundColor) || edged))
        out.push(
            `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${box.width.toFixed(1)}" height="${box.height.toFixed(1)}" rx="${parseFloat(style.borderTopLeftRadius) || 0}" fill="${isClear(style.backgroundColor) ? "none" : escaped(style.backgroundColor)}"${edged ? ` stroke="${escaped(style.borderTopColor)}"` : ""} opacity="${style.opacity}"/>`,
        );
    if (element instanceof HTMLCanvasElement) out.push(`<image x="${x}" y="${y}" width="${box.width}" height="${box.height}" href="${element.toDataURL("image/png")}"/>`);
    const end = style.overflowX === "visible" ? clip : Math.min(clip, box.right);
    for (const node of element.childNodes) {
        if (node instanceof Element) drawElement(node, left, top, out, end);
        else if (node instanceof Text && node.data.trim() !== "") {
            const range = document.createRange();
            range.selectNodeContents(node);
            const at = range.getBoundingClientRect();
            const text = shortened(node.data.replace(/\s+/g, " "), at.width, Math.min(end, box.right) - at.left);
            if (at.width > 1 && text)
                out.push(`<text xml:space="preserve" x="${(at.left - left).toFixed(1)}" y="${(at.bottom - top - at.height * 0.25).toFixed(1)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" font-family="sans-serif" fill="${escaped(style.color)}">${escaped(text)}</text>`);
        }
    }
}

function ofElements(root: Element): string {
    const box = root.getBoundingClientRect();
    const out: string[] = [];
    drawElement(root, box.left, box.top, out);
    const size = `${Math.ceil(box.width)} ${Math.ceil(box.height)}`;
    const [width, height] = size.split(" ");
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${size}"><rect width="100%" height="100%" fill="${escaped(background())}"/>${out.join("")}</svg>`;
}

const canvasesOf = (root: Element) => [...root.querySelectorAll("canvas")].filter((one) => one.width > 0 && one.height > 0);
const chartOf = (root: Element) => root.querySelector<SVGSVGElement>("svg.chart");

interface Part {
    svg: string;
    width: number;
    height: number;
}

// The picture without title and legend. Canvases are stacked at their own resolution.
function bodyOf(root: Element): Part {
    const chart = chartOf(root);
    const { width, height } = (chart ?? root).getBoundingClientRect();
    if (chart) return { svg: standalone(chart), width, height };
    const canvases = canvasesOf(root);
    if (canvases.length === 0 || root.querySelector(".compare-lane, .track")) return { svg: ofElements(root), width, height };
    let [y, wide] = [0, 0];
    const images = canvases.map((canvas) => {
        const box = canvas.getBoundingClientRect();
        const image = `<image y="${y}" width="${box.width}" height="${box.height}" href="${canvas.toDataURL("image/png")}"/>`;
        y += box.height + 4;
        wide = Math.max(wide, box.width);
        return image;
    });
    return { svg: images.join(""), width: wide, height: y - 4 };
}

// ---- legends

type Token = { text: string } | { swatch: string; pattern: string } | { stops: string[] } | "gap";

function tokensOf(node: Node, out: Token[]): void {
    if (node instanceof Text) {
        const text = node.data.replace(/\s+/g, " ").trim();
        if (text) out.push({ text });
    } else if (node instanceof HTMLElement && !node.matches("button, select, input, label, .unseen")) {
        const style = getComputedStyle(node);
        if (style.display === "none") return;
        if (node.matches(".swatch")) out.push({ swatch: style.backgroundColor, pattern: /pattern-(\w+)/.exec(node.className)?.[1] ?? "" });
        else if (node.matches(".heat-scale, .cost-scale")) out.push({ stops: style.backgroundImage.match(/(rgb|color)\([^)]*\)/g) ?? [] });
        else node.childNodes.forEach((child) => tokensOf(child, out));
    }
}

const patterns: Record<string, string> = {
    diagonal: "M0 11L11 0",
    back: "M0 0L11 11",
    horizontal: "M0 3.5H11M0 7.5H11",
    vertical: "M3.5 0V11M7.5 0V11",
    cross: "M0 11L11 0M0 0L11 11",
    hatch: "M0 11L11 0M0 5L5 0M6 11L11 6",
    stall: "M0 3.5H11M0 7.5H11M3.5 0V11M7.5 0V11",
    diskwait: "M0 2H11M0 5.5H11M0 9H11",
    dots: "M2 3h2M7 3h2M2 8h2M7 8h2",
};

const pen = () => document.createElement("canvas").getContext("2d")!;
const family = "system-ui, sans-serif";

function legendOf(root: Element, width: number): Part | null {
    const of = root.closest<HTMLElement>("[data-picture-of]")?.dataset["pictureOf"];
    const holder = (of ? document.querySelector(`[data-picture="${of}"]`) : root.closest("[data-picture]")) ?? root;
    const tokens: Token[] = [];
    for (const legend of holder.querySelectorAll(".legend, .chart-legend, .graph-legend, .track-scale, .side .quiet"))
        for (const child of legend.childNodes) {
            tokensOf(child, tokens);
            tokens.push("gap");
        }
    if (tokens.every((token) => token === "gap")) return null;
    const measure = pen();
    measure.font = `12px ${family}`;
    let [x, y, n] = [0, 0, 0];
    const out: string[] = [];
    const room = (wide: number) => {
        if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
    };
    for (const token of tokens) {
        if (token === "gap") x += x > 0 ? 12 : 0;
        else if ("text" in token) {
            const wide = measure.measureText(token.text).width;
            room(wide);
            out.push(`<text x="${x.toFixed(1)}" y="${y + 11}" font-size="12" font-family="${family}" fill="#333">${escaped(token.text)}</text>`);
            x += wide + 5;
        } else if ("swatch" in token) {
            room(60);
            out.push(`<g transform="translate(${x.toFixed(1)} ${y + 1})"><rect width="11" height="11" fill="${escaped(token.swatch)}"/><path d="${patterns[token.pattern] ?? ""}" stroke="#000" stroke-opacity="0.55" fill="none"/></g>`);
            x += 16;
        } else {
            room(120);
            const stops = token.stops.map((colour, i) => `<stop offset="${i / Math.max(1, token.stops.length - 1)}" stop-color="${escaped(colour)}"/>`).join("");
            out.push(`<linearGradient id="scale${n}">${stops}</linearGradient><rect x="${x.toFixed(1)}" y="${y + 1}" width="96" height="11" stroke="#999" fill="url(#scale${n++})"/>`);
            x += 102;
        }
    }
    return { svg: out.join(""), width, height: y + 18 };
}

// ---- the figure: title, legend, picture, caption

function wrapped(text: string, width: number, font: string): string[] {
    const measure = pen();
    measure.font = font;
    const lines: string[] = [];
    for (const word of text.split(" ")) {
        const last = lines.at(-1);
        if (last !== undefined && measure.measureText(`${last} ${word}`).width <= width) lines[lines.length - 1] = `${last} ${word}`;
        else lines.push(word);
    }
    return lines;
}

export interface Figure {
    title: string;
    caption: string; // recording, command, date
}

const margin = 16;

function compose(root: Element, { title, caption }: Figure): Part {
    const body = bodyOf(root.querySelector(".graph-size") ?? root);
    const inner = Math.max(320, body.width);
    const legend = legendOf(root, inner);
    const texts: string[] = [];
    let y = margin;
    const write = (text: string, size: number, weight: number, colour: string) => {
        for (const line of wrapped(text, inner, `${weight} ${size}px ${family}`)) {
            texts.push(`<text x="${margin}" y="${(y + size).toFixed(1)}" font-size="${size}" font-weight="${weight}" font-family="${family}" fill="${colour}">${escaped(line)}</text>`);
            y += size * 1.4;
        }
    };
    write(title, 15, 600, "#000");
    y += 4;
    const parts: string[] = [];
    for (const part of [legend, body]) {
        if (!part) continue;
        parts.push(`<g transform="translate(${margin} ${y.toFixed(1)})">${part.svg}</g>`);
        y += part.height + 8;
    }
    write(caption, 11, 400, "#555");
    const [width, height] = [Math.ceil(inner + 2 * margin), Math.ceil(y + margin / 2)];
    return {
        svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="#ffffff"/>${texts.join("")}${parts.join("")}</svg>`,
        width,
        height,
    };
}

// True while a picture larger than the window is saved: parts outside of the window are drawn too.
export const isSavingAll = signal(false);

// At the requested resolution, or at the maximum of the browser.
async function render(root: Element, figure: Figure, fine: number): Promise<Part & { fine: number }> {
    const box = (root.querySelector(".graph-size") ?? root).getBoundingClientRect();
    const most = Math.min(fine, Math.sqrt(64e6 / Math.max(1, box.width * box.height)), 16000 / Math.max(box.width, box.height, 1));
    isSavingAll.value = true;
    try {
        return await inFigure(most, () => ({ ...compose(root, figure), fine: most }));
    } finally {
        isSavingAll.value = false;
    }
}

export const svgOf = async (root: Element, figure: Figure): Promise<string> => (await render(root, figure, 4)).svg;

async function painted(root: Element, figure: Figure, fine: number): Promise<{ canvas: HTMLCanvasElement; width: number; height: number }> {
    const { svg, width, height, fine: got } = await render(root, figure, fine);
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(width * got), Math.round(height * got)];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return { canvas, width, height };
}

export const pngOf = async (root: Element, figure: Figure, fine: number): Promise<string> => (await painted(root, figure, fine)).canvas.toDataURL("image/png");

// One page that an image fills: for what `ggscope figure` does not draw.
export async function pdfOf(root: Element, figure: Figure): Promise<ArrayBuffer> {
    const { canvas, ...size } = await painted(root, figure, 4);
    const [width, height] = [size.width * 0.75, size.height * 0.75]; // points
    const stream = (text: string, head = "") => `<<${head}/Length ${text.length}>>stream\n${text}\nendstream`;
    const objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${width} ${height}]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>`,
        stream(`${width} 0 0 ${height} 0 0 cm/I Do`),
        stream(atob(canvas.toDataURL("image/jpeg", 0.95).split(",")[1]!), `/Subtype/Image/Width ${canvas.width}/Height ${canvas.height}/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode`),
    ];
    let [text, index] = ["%PDF-1.4\n", `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`];
    objects.forEach((object, i) => {
        index += `${String(text.length).padStart(10, "0")} 00000 n \n`;
        text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    });
    text += `${index}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF\n`;
    return Uint8Array.from(text, (sign) => sign.charCodeAt(0)).buffer;
}
