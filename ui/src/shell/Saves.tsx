// The buttons of every picture: save it as PNG, SVG, PDF or CSV, and show how it was computed.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { askFile } from "../ask";
import { asked as path, experiment, here, type Parameters, summary } from "../state";
import { type Cell, download, toCsv } from "../views/statistics/csv";
import { Computed, recordedCommand } from "./Computed";
import { announce } from "./Announce";
import { type Figure, pdfOf, pngOf, svgOf } from "./save";
import "./picture.css";

export interface Saved {
    title: string;
    file: string; // file name without extension
    csv(): { columns: string[]; rows: Cell[][] };
    command: string | (() => string); // prints the same numbers
    computed: ComponentChildren;
    figure?: (() => Parameters) | undefined; // parameters for `ggscope figure`, if it draws this picture
    of?: string | undefined; // the command's directory, if it is not the shown experiment's
}

const nameOf = (file: string, ending: string) => `${experiment.value?.name ?? "ggscope"}-${file}.${ending}`;

// The texts of a saved picture: model, recording, command and date.
function figure(title: string): Figure {
    const about = summary.value;
    const from = about ? recordedCommand() : "";
    const parts = [experiment.value?.name, from.length > 300 ? `${from.slice(0, 300)}…` : from, about?.start_utc?.replace("T", " ").replace(/\.\d+/, ""), "ggscope"];
    return { title: about?.model ? `${title}${title.endsWith("?") ? "" : ":"} ${about.model.name}` : title, caption: parts.filter(Boolean).join(" · ") };
}

function link(name: string, url: string): void {
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name;
    anchor.click();
}

const kinds = ["png", "png4", "svg", "pdf"] as const;
type Kind = (typeof kinds)[number];
const types = { svg: "image/svg+xml", pdf: "application/pdf" };

// Saves a figure drawn by `ggscope figure`, with title and caption.
export async function saveFigure(format: "svg" | "pdf", file: string, asked: Parameters): Promise<void> {
    try {
        const words = { ...asked, format, caption: 1 };
        const body = await askFile(asked["of"] ? path("/api/figure", words) : here("figure", words));
        download(nameOf(file, format), body, types[format]);
    } catch (problem) {
        announce(problem instanceof Error ? problem.message : String(problem));
    }
}

async function save(kind: Kind, { title, file, figure: asked }: Pick<Saved, "title" | "file" | "figure">, from: Element | null): Promise<void> {
    if (!from) return;
    if (asked && (kind === "pdf" || kind === "svg")) await saveFigure(kind, file, asked());
    else if (kind === "svg") download(nameOf(file, kind), await svgOf(from, figure(title)), types.svg);
    else if (kind === "pdf") download(nameOf(file, kind), await pdfOf(from, figure(title)), types.pdf);
    else if (kind === "png4") link(nameOf(`${file}-4x`, "png"), await pngOf(from, figure(title), 4));
    else link(nameOf(file, "png"), await pngOf(from, figure(title), 2));
}

// The pictures that the page has, by the names of their files.
export const pictures = new Map<string, { title: string; isShown(): boolean; save(kind: Kind): Promise<void> }>();
const names: Record<Kind, string> = { png: "PNG", png4: "4×", svg: "SVG", pdf: "PDF" };

export function KindButtons<K extends Kind>({ only = kinds as readonly Kind[] as readonly K[], of, save: take }: { only?: readonly K[]; of: string; save(kind: K): void }) {
    return (
        <>
            {only.map((kind) => (
                <button type="button" class="quiet" onClick={() => take(kind)} aria-label={`${of} as ${kind === "png4" ? "PNG, 4×" : names[kind]}`} title={kind === "png4" ? "For print" : undefined}>
                    {names[kind]}
                </button>
            ))}
        </>
    );
}

export function usePicture(saved: Pick<Saved, "title" | "file" | "figure">, root: () => Element | null): void {
    const { title, file } = saved;
    const latest = useRef(saved);
    latest.current = saved;
    useEffect(() => {
        const one = { title, isShown: () => (root()?.getClientRects().length ?? 0) > 0, save: (kind: Kind) => save(kind, latest.current, root()) };
        pictures.set(file, one);
        return () => {
            if (pictures.get(file) === one) pictures.delete(file);
        };
    }, [title, file]);
}

export function SaveButtons({ title, file, csv, figure: asked, root }: Pick<Saved, "title" | "file" | "csv" | "figure"> & { root(): Element | null }) {
    const data = () => {
        const { columns, rows } = csv();
        download(nameOf(file, "csv"), toCsv(columns, rows));
    };
    return (
        <span class="save-buttons">
            <KindButtons<Kind> of={`Save "${title}"`} save={(kind) => void save(kind, { title, file, figure: asked }, root())} />
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
