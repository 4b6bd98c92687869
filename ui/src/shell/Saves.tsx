// What every picture has: it leaves as PNG, SVG and CSV, and as PDF where `ggscope figure` has it, and says how it was computed.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { askFile } from "../ask";
import { asked as path, experiment, here, type Parameters, summary } from "../state";
import { type Cell, download, toCsv } from "../views/statistics/csv";
import { Computed } from "./Computed";
import { announce } from "./Announce";
import { type Figure, pngOf, svgOf } from "./save";
import "./picture.css";

export interface Saved {
    title: string;
    file: string; // name of what is saved, without its ending
    csv(): { columns: string[]; rows: Cell[][] };
    command: string | (() => string); // that gives the same numbers
    computed: ComponentChildren;
    figure?: (() => Parameters) | undefined; // what `ggscope figure` is asked for, where it draws this picture
    of?: string | undefined; // the directory that the command is about, if it is not that of the experiment that is shown
}

const nameOf = (file: string, ending: string) => `${experiment.value?.name ?? "ggscope"}-${file}.${ending}`;

// What stands on a picture that is saved: of which model, and of which recording, command and date.
function figure(title: string): Figure {
    const about = summary.value;
    const from = about?.command.join(" ") ?? "";
    const parts = [experiment.value?.name, from.length > 300 ? `${from.slice(0, 300)}…` : from, about?.start_utc?.replace("T", " ").replace(/\.\d+/, ""), "ggscope"];
    return { title: about?.model ? `${title}: ${about.model.name}` : title, caption: parts.filter(Boolean).join(" · ") };
}

function link(name: string, url: string): void {
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name;
    anchor.click();
}

export type Kind = "png" | "png4" | "svg" | "pdf";

// A figure of `ggscope figure`, in its own words, with title and caption.
export async function saveFigure(format: "svg" | "pdf", file: string, asked: Parameters): Promise<void> {
    try {
        const words = { ...asked, format, caption: 1 };
        const body = await askFile(asked["of"] ? path("/api/figure", words) : here("figure", words));
        download(nameOf(file, format), body, format === "pdf" ? "application/pdf" : "image/svg+xml");
    } catch (problem) {
        announce(problem instanceof Error ? problem.message : String(problem));
    }
}

async function save(kind: Kind, { title, file, figure: asked }: Pick<Saved, "title" | "file" | "figure">, from: Element | null): Promise<void> {
    if (!from) return;
    if (kind === "pdf" || (kind === "svg" && asked)) await saveFigure(kind, file, asked!());
    else if (kind === "svg") download(nameOf(file, "svg"), await svgOf(from, figure(title)), "image/svg+xml");
    else if (kind === "png4") link(nameOf(`${file}-4x`, "png"), await pngOf(from, figure(title), 4));
    else link(nameOf(file, "png"), await pngOf(from, figure(title), 2));
}

// The pictures that the page has, by the names of their files.
export const pictures = new Map<string, { title: string; kinds(): readonly Kind[]; isShown(): boolean; save(kind: Kind): Promise<void> }>();
const kindsOf = (saved: Pick<Saved, "figure">): readonly Kind[] => (saved.figure ? ["png", "png4", "svg", "pdf"] : ["png", "png4", "svg"]);
export const kindNames: Record<Kind, string> = { png: "PNG", png4: "4×", svg: "SVG", pdf: "PDF" };

export function usePicture(saved: Pick<Saved, "title" | "file" | "figure">, root: () => Element | null): void {
    const { title, file } = saved;
    const latest = useRef(saved);
    latest.current = saved;
    useEffect(() => {
        const one = { title, kinds: () => kindsOf(latest.current), isShown: () => (root()?.getClientRects().length ?? 0) > 0, save: (kind: Kind) => save(kind, latest.current, root()) };
        pictures.set(file, one);
        return () => {
            if (pictures.get(file) === one) pictures.delete(file);
        };
    }, [title, file]);
}

export function SaveButtons({ title, file, csv, figure: asked, root }: Pick<Saved, "title" | "file" | "csv" | "figure"> & { root(): Element | null }) {
    const as = (kind: Kind) => () => void save(kind, { title, file, figure: asked }, root());
    const data = () => {
        const { columns, rows } = csv();
        download(nameOf(file, "csv"), toCsv(columns, rows));
    };
    return (
        <span class="save-buttons">
            <button type="button" class="quiet" onClick={as("png")} aria-label={`Save "${title}" as PNG`} title="Twice as fine as the page">
                PNG
            </button>
            <button type="button" class="quiet" onClick={as("png4")} aria-label={`Save "${title}" as PNG, 4×`} title="Four times as fine as the page: for print">
                4×
            </button>
            <button type="button" class="quiet" onClick={as("svg")} aria-label={`Save "${title}" as SVG`}>
                SVG
            </button>
            {asked && (
                <button type="button" class="quiet" onClick={as("pdf")} aria-label={`Save "${title}" as PDF`}>
                    PDF
                </button>
            )}
            <button type="button" class="quiet" onClick={data} aria-label={`Save "${title}" as CSV`}>
                CSV
            </button>
        </span>
    );
}

// The same behind one small button, for pictures that fill the view.
export function Saves(saved: Saved & { root(): Element | null }) {
    const [isOpen, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
    usePicture(saved, saved.root);
    useEffect(() => {
        if (!isOpen) return;
        const away = (event: Event) => {
            if (event instanceof KeyboardEvent ? event.key === "Escape" : !box.current?.contains(event.target as Node)) setOpen(false);
        };
        window.addEventListener("pointerdown", away);
        window.addEventListener("keydown", away);
        return () => {
            window.removeEventListener("pointerdown", away);
            window.removeEventListener("keydown", away);
        };
    }, [isOpen]);
    return (
        <div class="saves" ref={box}>
            <button type="button" class="quiet" aria-expanded={isOpen} aria-label={`Save "${saved.title}", and how it was computed`} title="Save, and how it was computed" onClick={() => setOpen(!isOpen)}>
                ⤓
            </button>
            {isOpen && (
                <div class="saves-card" role="group" aria-label={saved.title}>
                    <SaveButtons {...saved} />
                    <Computed command={typeof saved.command === "string" ? saved.command : saved.command()} open {...(saved.of === undefined ? {} : { of: saved.of })}>
                        {saved.computed}
                    </Computed>
                </div>
            )}
        </div>
    );
}
