// Three ways to share what is on the screen: a link to this recording alone, a report that opens
// here, a figure.
import { useRef, useState } from "preact/hooks";
import type { Link } from "../api";
import { useAsk } from "../ask";
import { chosenSteps, experiment, here, summary } from "../state";
import { announce } from "./Announce";
import { quoted } from "./Computed";
import { TitledDialog } from "./Dialog";
import { KindButtons, pictures, saveFigure } from "./Saves";

declare const REPORT: boolean; // set by the build

function Copy({ text, label }: { text: string; label: string }) {
    const [done, setDone] = useState(false);
    const field = useRef<HTMLInputElement>(null);
    // Without a secure context a page cannot write to the clipboard. The text is selected for
    // copying by hand.
    const copy = async () => {
        field.current!.select();
        try {
            await navigator.clipboard.writeText(text);
            setDone(true);
            announce(`${label} copied`);
        } catch {
            announce("Press Ctrl+C to copy it.");
        }
    };
    return (
        <div class="share-copy">
            <input type="text" readOnly value={text} aria-label={label} ref={field} onFocus={(event) => event.currentTarget.select()} />
            <button type="button" onClick={() => void copy()}>
                {done ? "copied" : "copy"}
            </button>
        </div>
    );
}

function LinkPart() {
    const { data, error } = useAsk<Link>(here("link"));
    if (error) return <p class="problem">{error.message}</p>;
    const address = data ? new URL(data.path, location.origin).href + location.hash : "";
    return (
        <section aria-labelledby="share-link">
            <h3 id="share-link">A link to this place</h3>
            <p class="quiet">Opens this recording alone, while the server runs.</p>
            {data && <Copy text={address} label="Link" />}
            {data?.loopback && (
                <p class="share-loopback">
                    The server listens on this machine only: elsewhere the link opens nothing, unless a tunnel leads here (<code>ssh -L {location.port}:127.0.0.1:{location.port} HOST</code>).
                </p>
            )}
        </section>
    );
}

function ReportPart() {
    const one = experiment.value;
    const file = `${one?.name ?? "recording"}.html`;
    if (REPORT)
        return (
            <section aria-labelledby="share-report">
                <h3 id="share-report">This report, opened here</h3>
                <p class="quiet">Send the file; behind its address this part leads to what you see:</p>
                <Copy text={location.hash} label="Place" />
            </section>
        );
    return (
        <section aria-labelledby="share-report">
            <h3 id="share-report">A report that opens here</h3>
            <p class="quiet">One file with this page and its data. Behind its address, the second line leads to what you see.</p>
            <Copy text={`ggscope report ${quoted(one?.directory ?? "DIR")} -o ${quoted(file)}`} label="Command" />
            <Copy text={`${file}${location.hash}`} label="File and place" />
        </section>
    );
}

// Figures of `ggscope figure` that no view shows, and whether they need experts.
const figures = [
    ["heat-over-offset", "Accesses over file offset", false],
    ["heat-rows", "Reads of each token over file offset", false],
    ["experts", "Use of experts", true],
] as const;

function FigurePart() {
    const there = [...pictures.values()].filter((picture) => picture.isShown());
    return (
        <section aria-labelledby="share-figure">
            <h3 id="share-figure">A figure</h3>
            <p class="quiet">With title, legend, axes and a caption.</p>
            {there.length === 0 && <p class="quiet">This view has no picture: its tables leave as CSV.</p>}
            <ul class="share-figures">
                {there.map(({ title, save }) => (
                    <li>
                        <span>{title}</span>
                        <KindButtons of={title} save={(kind) => void save(kind)} />
                    </li>
                ))}
            </ul>
            <details class="share-more">
                <summary>More figures for a paper</summary>
                <ul class="share-figures">
                    {figures
                        .filter(([, , experts]) => !experts || (summary.value?.model?.experts ?? 0) > 0)
                        .map(([kind, title]) => (
                            <li>
                                <span>{title}</span>
                                <KindButtons only={["svg", "pdf"]} of={title} save={(format) => void saveFigure(format, kind, { kind, ...chosenSteps() })} />
                            </li>
                        ))}
                </ul>
            </details>
        </section>
    );
}

export function Share() {
    const [isOpen, setOpen] = useState(false);
    return (
        <>
            <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)} title="A link, a report or a figure of what you see">
                Share
            </button>
            <TitledDialog class="share" title="Share what you see" isOpen={isOpen} close={() => setOpen(false)}>
                {!REPORT && <LinkPart />}
                <ReportPart />
                <FigurePart />
            </TitledDialog>
        </>
    );
}
