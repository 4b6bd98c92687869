// Pictures as files: an SVG as it is with its styles, canvases one below the other, and what is made of elements as rectangles and texts.

// An SVG outside of the page has none of its styles: what they say is written into the elements.
const styled = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-size", "font-family", "font-weight", "text-anchor"];

const background = () => getComputedStyle(document.body).backgroundColor;

export function standalone(svg: SVGSVGElement): string {
    const copy = svg.cloneNode(true) as SVGSVGElement;
    const [from, to] = [[svg, ...svg.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const name of styled) (to[i] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.style.background = background();
    return new XMLSerializer().serializeToString(copy);
}

const escaped = (text: string) => text.replace(/[<>&"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const isClear = (colour: string) => colour === "transparent" || /,\s*0\)$|\/\s*0\)$/.test(colour);

// What the box of an element shows, and the texts in it. Nested SVGs keep their place.
function drawElement(element: Element, left: number, top: number, out: string[]): void {
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden") return;
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
    for (const node of element.childNodes) {
        if (node instanceof Element) drawElement(node, left, top, out);
        else if (node instanceof Text && node.data.trim() !== "") {
            const range = document.createRange();
            range.selectNodeContents(node);
            const at = range.getBoundingClientRect();
            if (at.width > 1)
                out.push(`<text x="${(at.left - left).toFixed(1)}" y="${(at.bottom - top - at.height * 0.25).toFixed(1)}" font-size="${style.fontSize}" font-weight="${style.fontWeight}" font-family="sans-serif" fill="${escaped(style.color)}">${escaped(node.data.trim())}</text>`);
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

// The picture as SVG; null where it is painted on a canvas.
export function svgOf(root: Element): string | null {
    const chart = chartOf(root);
    if (chart) return standalone(chart);
    return canvasesOf(root).length > 0 ? null : ofElements(root);
}

function stacked(sources: HTMLCanvasElement[]): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(...sources.map((source) => source.width));
    canvas.height = sources.reduce((sum, source) => sum + source.height + 4, -4);
    const pen = canvas.getContext("2d")!;
    pen.fillStyle = background();
    pen.fillRect(0, 0, canvas.width, canvas.height);
    let y = 0;
    for (const source of sources) {
        pen.drawImage(source, 0, y);
        y += source.height + 4;
    }
    return canvas;
}

export async function pngOf(root: Element): Promise<string> {
    const canvases = chartOf(root) ? [] : canvasesOf(root);
    if (canvases.length > 0) return stacked(canvases).toDataURL("image/png");
    const box = (chartOf(root) ?? root).getBoundingClientRect();
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(root)!)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(box.width * 2), Math.round(box.height * 2)];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
}
