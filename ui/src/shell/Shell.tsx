// The page around the views: findings, tabs and selection, memory bars, tokens, view, details.
import { useEffect, useState } from "preact/hooks";
import type { ComponentType } from "preact";
import type { OpAnswer } from "../api";
import { ask, revision } from "../ask";
import { time } from "../format";
import { isTyping, registerKeys } from "../keys";
import { canRedo, canUndo, redo, undo } from "../undo";
import { clearSelection, current, experiment, experiments, here, isSelected, library, missing, select, selection, summary, view, views, type View } from "../state";
import { isBusy } from "../under-way";
import { Announcer, announce } from "./Announce";
import { Library } from "../views/library";
import { Chips } from "./Chips";
import { areShown, Details, toggleDetails } from "./details/Details";
import { side } from "./details/dock";
import { stepTabs } from "./SubTabs";
import { Header } from "./Header";
import { Help } from "./Help";
import { loadSummary } from "./live";
import { MemoryBars } from "./MemoryBars";
import { stopPlayback } from "./playback";
import { Scrubber } from "./Scrubber";
import { Search, searching } from "./Search";
import { Share } from "./Share";
import { EmptyRecording, NothingRecorded, Notices, Refused, Unknown } from "./States";
import "./shell.css";

declare const REPORT: boolean; // set by the build: a report has no list of recordings

const opSaid = (op: OpAnswer) => [`${op.op} ${op.name}`, op.layer !== null && op.layer >= 0 && `layer ${op.layer}`, op.duration_ns === null ? "time not seen" : time(op.duration_ns)].filter(Boolean).join(", ");

// Selects a neighbour of the selected op.
async function walk(to: (op: OpAnswer) => { run: number; node: number } | null | undefined): Promise<void> {
    const from = selection.value.op;
    if (!from) return announce("Select an op first.");
    const next = to(await ask<OpAnswer>(here("op", from)));
    if (!next) return announce("There is none.");
    const op = { run: next.run, node: next.node };
    select({ op });
    announce(opSaid(await ask<OpAnswer>(here("op", op))));
}

function keysOfThePage(toggleHelp: () => void) {
    const numbered = Object.fromEntries(
        views.flatMap((name, i) => [
            [`Digit${i + 1}`, () => go(name)],
            [`Numpad${i + 1}`, () => go(name)],
        ]),
    );
    return {
        ...numbered,
        "key:?": toggleHelp,
        Escape: () => {
            stopPlayback();
            if (isSelected()) {
                clearSelection();
                announce("Nothing selected");
            }
        },
        Comma: () => void walk((op) => op.previous),
        Period: () => void walk((op) => op.next),
        BracketLeft: () => void walk((op) => (op.producers.length ? { run: op.run, node: op.producers[0]! } : null)),
        BracketRight: () => void walk((op) => (op.consumers.length ? { run: op.run, node: op.consumers[0]! } : null)),
        KeyI: toggleDetails,
        Slash: () => (library.value ? document.getElementById("library-find")?.focus() : (searching.value = true)),
    };
}

const step = (act: () => boolean, done: string, none: string) => announce(act() ? done : none);
const takeBack = () => step(undo, "taken back", "Nothing to take back.");
const putBack = () => step(redo, "put back", "Nothing to put back.");

window.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyping(event.target)) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    (key === "y" || event.shiftKey ? putBack : takeBack)();
});

function go(name: View): void {
    if (library.value) return;
    view.value = name;
    announce(`${name} view`);
}

function Tabs() {
    return (
        <nav class="tabs">
            <select class="view-choice" aria-label="View" value={view.value} onChange={(event) => go(event.currentTarget.value as View)}>
                {views.map((name) => (
                    <option>{name}</option>
                ))}
            </select>
            <div role="tablist" aria-label="Views" class="tablist" onKeyDown={stepTabs}>
                {views.map((name, i) => (
                    <button
                        type="button"
                        role="tab"
                        id={`tab-${name}`}
                        aria-selected={view.value === name}
                        aria-controls="view"
                        tabIndex={view.value === name ? 0 : -1}
                        onClick={() => go(name)}
                    >
                        <span data-name={name}>{name}</span>
                        <kbd aria-hidden="true">{i + 1}</kbd>
                    </button>
                ))}
            </div>
            {isSelected() ? (
                <Chips />
            ) : (
                <span class="hint">
                    drag to select, <kbd>?</kbd> for keys
                </span>
            )}
            <span class="tab-buttons">
                <button type="button" disabled={!canUndo.value} onClick={takeBack} title="Take the last selection or zoom back (Ctrl+Z)" aria-label="Undo">
                    ↶
                </button>
                <button type="button" disabled={!canRedo.value} onClick={putBack} title="Put it back (Ctrl+Shift+Z)" aria-label="Redo">
                    ↷
                </button>
                <button type="button" onClick={() => (searching.value = true)} title="Search ops, tensors, layers, tokens and experts (Ctrl+K or /)">
                    Search
                </button>
                <Share />
                <button type="button" aria-pressed={areShown.value} onClick={toggleDetails} title="What is selected, in full (I)">
                    Details
                </button>
            </span>
        </nav>
    );
}

export function Shell({ components }: { components: Record<View, ComponentType> }) {
    const [isHelpOpen, setHelpOpen] = useState(false);
    // The view renders in a separate task, after the first paint of the page around it.
    const [isFramed, setFramed] = useState(false);
    useEffect(() => setFramed(true), []);
    useEffect(() => registerKeys("*", keysOfThePage(() => setHelpOpen((open) => !open))), []);
    const index = current.value;
    const now = revision.value;
    const one = experiment.value;
    const isList = !REPORT && library.value;
    useEffect(() => {
        if (!isList) void loadSummary();
    }, [index, now, isList]);
    useEffect(() => {
        document.title = isList ? "Recordings - ggscope" : one ? `${one.name} - ${view.value} - ggscope` : "ggscope";
    });

    if (experiments.value.length === 0) return <NothingRecorded />;
    if (!REPORT && isList)
        return (
            <>
                <Library onHelp={() => setHelpOpen(true)} />
                <Help isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
                <Announcer />
            </>
        );
    const Shown = components[view.value];
    const about = summary.value;
    const isEmpty = about !== null && about.ops === 0 && !about.live;
    return (
        <>
            <a class="skip" href="#view" onClick={(event) => (event.preventDefault(), document.getElementById("view")?.focus())}>
                Skip to the view
            </a>
            <Header onHelp={() => setHelpOpen(true)} />
            <Notices />
            {missing.value !== null ? (
                <Unknown />
            ) : one?.error ? (
                <Refused sentence={one.error} />
            ) : isEmpty ? (
                <EmptyRecording />
            ) : (
                <>
                    <Tabs />
                    <div class={`work dock-${side.value}`}>
                        <div class="column" data-scroll="page">
                            {view.value !== "memory" && <MemoryBars />}
                            <Scrubber />
                            <main>
                                <div id="view" role="tabpanel" aria-labelledby={`tab-${view.value}`} aria-busy={isFramed ? isBusy : true} tabIndex={-1}>
                                    {isFramed && <Shown key={index} />}
                                </div>
                            </main>
                        </div>
                        <Details />
                    </div>
                </>
            )}
            <Search />
            <Help isOpen={isHelpOpen} onClose={() => setHelpOpen(false)} />
            <Announcer />
        </>
    );
}
