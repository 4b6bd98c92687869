// Position and size of the details panel. The browser stores them: they depend on the reader's
// screen and are not part of the address.
import { computed, signal } from "@preact/signals";

export type Side = "right" | "below";
interface Dock {
    side: Side | null; // null: depends on the window's width
    right: number; // pixels
    below: number;
    isOpen: boolean;
}

const key = "ggscope-details";
const initial: Dock = { side: null, right: 360, below: 210, isOpen: true };

// A report that is opened from a file may have no storage.
function read(): Dock {
    try {
        return { ...initial, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Dock>) };
    } catch {
        return initial;
    }
}

const dock = signal(read());

export function matching(query: string) {
    const media = matchMedia(query);
    const is = signal(media.matches);
    media.addEventListener("change", () => (is.value = media.matches));
    return is;
}
const isWide = matching("(min-width: 1500px)");
// As in app.css: the page scrolls as a whole.
export const isSmall = matching("(max-width: 759px), (max-height: 559px)");

export const side = computed<Side>(() => (isSmall.value ? "below" : (dock.value.side ?? (isWide.value ? "right" : "below"))));
export const isOpen = computed(() => dock.value.isOpen);
export const size = computed(() => dock.value[side.value]);

export function set(part: Partial<Dock>): void {
    dock.value = { ...dock.peek(), ...part };
    try {
        localStorage.setItem(key, JSON.stringify(dock.peek()));
    } catch {
        // Without storage, the setting is lost when the page closes.
    }
}

const least = { right: 240, below: 96 };
export const most = () => ({ right: Math.floor(innerWidth * 0.6), below: Math.floor(innerHeight * 0.65) });
export const limits = () => ({ least: least[side.value], most: most()[side.value] });

export function resize(pixels: number): void {
    const { least: low, most: high } = limits();
    set({ [side.value]: Math.round(Math.max(low, Math.min(high, pixels))) });
}
