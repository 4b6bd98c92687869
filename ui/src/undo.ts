// Undo and redo of selection and zoom: Ctrl+Z, Ctrl+Shift+Z or Ctrl+Y.
import { batch, computed, effect, signal } from "@preact/signals";
import { current, library, moving, putZooms, selection, zooms, type Selection } from "./state";

interface Moment {
    selection: Selection;
    zooms: Map<string, unknown>;
}

const most = 100;
const pause = 500; // ms; a zoom that continues within this time is one step
const past = signal<Moment[]>([]);
const future = signal<Moment[]>([]);
export const canUndo = computed(() => past.value.length > 0);
export const canRedo = computed(() => future.value.length > 0);

const now = (): Moment => ({ selection: selection.value, zooms: zooms() });
const isSame = (a: Moment, b: Moment) => JSON.stringify([a.selection, [...a.zooms]]) === JSON.stringify([b.selection, [...b.zooms]]);

let shown: Moment | null = null; // the last recorded state
let zoomedAt = 0;

function go(from: typeof past, to: typeof past): boolean {
    const moment = from.peek().at(-1);
    if (!moment || !shown) return false;
    const before = shown;
    batch(() => {
        from.value = from.value.slice(0, -1);
        to.value = [...to.value, before].slice(-most);
        shown = moment; // not a separate step
        selection.value = moment.selection;
        putZooms(moment.zooms);
    });
    return true;
}
export const undo = (): boolean => go(past, future);
export const redo = (): boolean => go(future, past);

// Call once. Another experiment clears the history.
export function rememberSteps(): void {
    let of = -1;
    effect(() => {
        const moment = now();
        const index = library.value ? -1 : current.value;
        if (moving.value) return;
        if (index !== of || shown === null) {
            [of, shown] = [index, moment];
            past.value = future.value = [];
            return;
        }
        if (isSame(moment, shown)) return;
        const [before, isZoom, at] = [shown, JSON.stringify(shown.selection) === JSON.stringify(moment.selection), performance.now()];
        const goesOn = isZoom && at - zoomedAt < pause;
        zoomedAt = isZoom ? at : 0;
        shown = moment;
        if (!goesOn) past.value = [...past.peek(), before].slice(-most);
        future.value = [];
    });
}
