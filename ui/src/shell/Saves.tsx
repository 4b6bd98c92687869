// What every picture has: it leaves as PNG, as SVG where it is not painted, and as CSV, and says how it was computed.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { experiment } from "../state";
import { type Cell, download, toCsv } from "../views/statistics/csv";
import { Computed } from "./Computed";
import { pngOf, svgOf } from "./save";
import "./picture.css";

export interface Saved {
    title: string;
    file: string; // name of what is saved, without its ending
    csv(): { columns: string[]; rows: Cell[][] };
    command: string | (() => string); // that gives the same numbers
    computed: ComponentChildren;
    of?: string | undefined; // the directory that the command is about, if it is not that of the experiment that is shown
}

const nameOf = (file: string, ending: string) => `${experiment.value?.name ?? "ggscope"}-${file}.${ending}`;

function link(name: string, url: string): void {
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name;
    anchor.click();
}

export function SaveButtons({ title, file, csv, root }: Pick<Saved, "title" | "file" | "csv"> & { root(): Element | null }) {
    const png = async () => {
        const from = root();
        if (from) link(nameOf(file, "png"), await pngOf(from));
    };
    const svg = () => {
        const from = root();
        const text = from && svgOf(from);
        if (text) download(nameOf(file, "svg"), text, "image/svg+xml");
    };
    const data = () => {
        const { columns, rows } = csv();
        download(nameOf(file, "csv"), toCsv(columns, rows));
    };
    return (
        <>
            <button type="button" class="quiet" onClick={() => void png()} aria-label={`Save "${title}" as PNG`}>
                PNG
            </button>
            <button type="button" class="quiet vector" onClick={svg} aria-label={`Save "${title}" as SVG`}>
                SVG
            </button>
            <button type="button" class="quiet" onClick={data} aria-label={`Save "${title}" as CSV`}>
                CSV
            </button>
        </>
    );
}

// The same behind one small button, for pictures that fill the view.
export function Saves(saved: Saved & { root(): Element | null }) {
    const [isOpen, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
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
