// The frame around a picture: its title, what leaves as a file (PNG, SVG, CSV), and how it was computed.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { experiment } from "../state";
import { type Cell, download, toCsv } from "../views/statistics/csv";
import { Computed } from "./Computed";
import "./picture.css";

export interface PictureProps {
    title: string;
    file: string; // name of what is saved, without its ending
    csv(): { columns: string[]; rows: Cell[][] };
    command: string; // that gives the same numbers
    computed: ComponentChildren;
    tools?: ComponentChildren;
    of?: string; // the directory that the command is about, if it is not that of the experiment that is shown
    children: ComponentChildren; // holds one svg, or canvases
}

// An SVG outside of the page has none of its styles: what they say is written into the elements.
const styled = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-size", "font-family", "font-weight", "text-anchor"];

function standalone(svg: SVGSVGElement): string {
    const copy = svg.cloneNode(true) as SVGSVGElement;
    const [from, to] = [[svg, ...svg.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
    from.forEach((element, i) => {
        const style = getComputedStyle(element);
        for (const name of styled) (to[i] as SVGElement).style.setProperty(name, style.getPropertyValue(name));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    return new XMLSerializer().serializeToString(copy);
}

function link(name: string, url: string): void {
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name;
    anchor.click();
}

// Several canvases stand one below the other.
function canvasOf(sources: HTMLCanvasElement[]): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(...sources.map((source) => source.width));
    canvas.height = sources.reduce((sum, source) => sum + source.height + 4, -4);
    const pen = canvas.getContext("2d")!;
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    let y = 0;
    for (const source of sources) {
        pen.drawImage(source, 0, y);
        y += source.height + 4;
    }
    return canvas;
}

async function drawn(svg: SVGSVGElement): Promise<HTMLCanvasElement> {
    const box = svg.getBoundingClientRect();
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.round(box.width * 2), Math.round(box.height * 2)];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
}

export function Picture({ title, file, csv, command, computed, tools, of, children }: PictureProps) {
    const box = useRef<HTMLDivElement>(null);
    const name = (ending: string) => `${experiment.value?.name ?? "ggscope"}-${file}.${ending}`;
    const svg = () => box.current?.querySelector<SVGSVGElement>("svg.chart") ?? null;
    const png = async () => {
        const canvases = [...(box.current?.querySelectorAll("canvas") ?? [])].filter((one) => one.width > 0 && one.height > 0);
        const vector = svg();
        const source = vector ? await drawn(vector) : canvases.length > 0 ? canvasOf(canvases) : null;
        if (source) link(name("png"), source.toDataURL("image/png"));
    };
    return (
        <section class="picture-part" aria-label={title} data-picture={file}>
            <div class="picture-head">
                <h3>{title}</h3>
                {tools}
                <span class="table-space" />
                <button type="button" class="quiet" onClick={() => void png()} aria-label={`Save "${title}" as PNG`}>
                    PNG
                </button>
                <button
                    type="button"
                    class="quiet vector"
                    onClick={() => {
                        const vector = svg();
                        if (vector) download(name("svg"), standalone(vector), "image/svg+xml");
                    }}
                    aria-label={`Save "${title}" as SVG`}
                >
                    SVG
                </button>
                <button
                    type="button"
                    class="quiet"
                    onClick={() => {
                        const { columns, rows } = csv();
                        download(name("csv"), toCsv(columns, rows));
                    }}
                    aria-label={`Save "${title}" as CSV`}
                >
                    CSV
                </button>
            </div>
            <div ref={box}>{children}</div>
            <Computed command={command} {...(of === undefined ? {} : { of })}>
                {computed}
            </Computed>
        </section>
    );
}
