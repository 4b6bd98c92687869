// The search (Ctrl+K or /): finds ops, tensors, layers, tokens and experts by name and selects
// them.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { GraphAnswer, ModelMap, Stats } from "../api";
import { type Columns, useAsk } from "../ask";
import { count } from "../format";
import { here, select, selection, statsPath, summary } from "../state";
import { announce } from "./Announce";
import { Dialog } from "./Dialog";
import { stepsOf } from "./Scrubber";
import { find, type Found, itemsOf } from "./search-items";

export const searching = signal(false);
const most = 60;

window.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.code !== "KeyK") return;
    event.preventDefault();
    searching.value = !searching.value;
});

function useItems(): Found[] {
    const about = summary.value;
    const token = selection.value.tokens?.[0] ?? Math.min(1, Math.max(0, (about?.tokens ?? 1) - 1));
    const steps = useAsk<Columns>(here("tokens", { bins: 1000 }));
    const map = useAsk<ModelMap>(about?.model ? here("map") : null);
    const graph = useAsk<GraphAnswer>(about && about.ops > 0 ? here("graph", { token }) : null);
    const stats = useAsk<Stats>(about && about.ops > 0 ? statsPath() : null);
    return useMemo(
        () =>
            itemsOf({
                steps: steps.data && stepsOf(steps.data),
                map: map.data,
                graph: graph.data,
                ops: (stats.data?.by_op ?? []).flatMap((row) => (row.op === null ? [] : [row.op])),
                layers: about?.model?.layers ?? 0,
                lanes: about?.lanes ?? [],
            }),
        [steps.data, map.data, graph.data, stats.data, about],
    );
}

function Palette({ close }: { close(): void }) {
    const items = useItems();
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const { found, total } = useMemo(() => find(items, text, most), [items, text]);
    const jump = (item: Found | undefined) => {
        if (!item) return;
        close();
        select(item.selects);
        announce(`${item.kind} ${item.name} selected`);
    };
    useEffect(() => document.getElementById(`found-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
    return (
        <>
            <input
                type="text"
                role="combobox"
                list={undefined}
                aria-expanded="true"
                aria-controls="found"
                aria-activedescendant={found.length ? `found-${at}` : undefined}
                aria-label="Search ops, tensors, layers, tokens and experts"
                placeholder="op, tensor, layer, token, expert"
                autocomplete="off"
                spellcheck={false}
                value={text}
                onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
                onKeyDown={(event) => {
                    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
                    if (by) {
                        event.preventDefault();
                        setAt(Math.max(0, Math.min(found.length - 1, at + by)));
                    } else if (event.key === "Enter") {
                        event.preventDefault();
                        jump(found[at]);
                    }
                }}
            />
            <p class="quiet" role="status">
                {total === 0 ? "nothing is called so" : `${count(total)} found${total > most ? `, the first ${most} shown` : ""}; Enter selects`}
            </p>
            <ul id="found" role="listbox" aria-label="Found">
                {found.map((item, i) => (
                    <li id={`found-${i}`} role="option" aria-selected={i === at} onClick={() => jump(item)} onPointerMove={() => setAt(i)}>
                        <span class="kind">{item.kind}</span>
                        <span class="name">{item.name}</span>
                        <span class="quiet">{item.more}</span>
                    </li>
                ))}
            </ul>
        </>
    );
}

export function Search() {
    const close = () => (searching.value = false);
    return (
        <Dialog class="search" aria-label="Search" isOpen={searching.value} close={close}>
            <Palette close={close} />
        </Dialog>
    );
}
