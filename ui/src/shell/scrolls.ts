// Scroll positions in the address: a copied address shows the same part of a view. (The log stores
// its row instead.)
import { effect } from "@preact/signals";
import { kept, library, summary, view } from "../state";
import { isBusy } from "../under-way";

type Places = Record<string, readonly [left: number, top: number]>;

// "statistics" is the view, "graph-blocks" a box in it. Only positions of the shown view are
// written.
const isShown = (name: string) => name.split("-")[0] === view.value;
export const asPlaces = {
    write: (places: Places): string =>
        Object.entries(places)
            .filter(([name, [left, top]]) => isShown(name) && (left > 0 || top > 0))
            .map(([name, [left, top]]) => `${name}:${Math.round(left)}.${Math.round(top)}`)
            .sort()
            .join(","),
    read: (text: string): Places | undefined => {
        const parts = text.split(",").map((part) => /^([a-z]+(?:-[a-z]+)?):(\d{1,8})\.(\d{1,8})$/.exec(part));
        return parts.every(Boolean) ? Object.fromEntries(parts.map((part) => [part![1]!, [Number(part![2]), Number(part![3])] as const])) : undefined;
    },
};
const places = kept<Places>("at", {}, asPlaces);

function nameOf(target: EventTarget | null): string | null {
    if (!(target instanceof HTMLElement)) return null;
    return target.tagName === "MAIN" ? view.value : target.dataset.scroll ? `${view.value}-${target.dataset.scroll}` : null;
}

const boxes = (): [string, Element][] => [...document.querySelectorAll("main, [data-scroll]")].map((box) => [nameOf(box)!, box]);

// Restores positions until they are reached or the reader scrolls: a view grows as its answers
// arrive. A view without a stored position starts at its top.
let isRestoring = false;
function restore(): void {
    let frames = 0;
    const put = (isFirst: boolean) => {
        const wanted = places.peek();
        let isWanted = false;
        for (const [name, box] of boxes()) {
            const [left, top] = wanted[name] ?? [0, 0];
            isWanted ||= left > 0 || top > 0;
            if ((isFirst || left > 0 || top > 0) && (box.scrollLeft !== left || box.scrollTop !== top)) box.scrollTo({ left, top, behavior: "instant" });
        }
        return isWanted;
    };
    const step = () => {
        if (!isRestoring) return;
        const isWanted = put(frames === 0);
        frames = isBusy.peek() || summary.peek() === null ? 1 : frames + 1;
        if (frames < 4 && (isWanted || summary.peek() === null)) requestAnimationFrame(step);
        else isRestoring = false;
    };
    if (isRestoring) return;
    isRestoring = true;
    requestAnimationFrame(step);
}

// Call once.
export function listenForScrolls(): void {
    let [before, written] = ["", ""];
    effect(() => {
        // Restores if the view changed or the reader entered another address. Positions written by
        // scrolling are already reached.
        const now = library.value ? "" : `${view.value} ${asPlaces.write(places.value)}`;
        if (now === before) return;
        before = now;
        if (now !== "" && now !== written) restore();
    });
    for (const kind of ["wheel", "pointerdown", "keydown", "touchstart"]) addEventListener(kind, () => (isRestoring = false), { capture: true, passive: true });
    document.addEventListener(
        "scroll",
        (event) => {
            const name = nameOf(event.target);
            if (name === null || isRestoring || library.value) return;
            const box = event.target as Element;
            const next = { ...places.peek(), [name]: [box.scrollLeft, box.scrollTop] as const };
            written = `${view.value} ${asPlaces.write(next)}`;
            places.value = next;
        },
        { capture: true, passive: true },
    );
}
