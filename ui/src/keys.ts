// Keyboard shortcuts by physical key (event.code), so that W/A/S/D lie together on every layout.
// "Shift+Space" requires the modifier; "key:?" matches the character instead. Shortcuts do not work
// inside inputs or with Ctrl, Alt or Meta.
import { view, type View } from "./state";

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const registered = new Map<View | "*", Set<KeyMap>>();

// Keys of a view work while it is shown; keys of "*" always work, after the view's. Returns a
// function that removes them.
export function registerKeys(where: View | "*", keys: KeyMap): () => void {
    const set = registered.get(where) ?? new Set();
    registered.set(where, set.add(keys));
    return () => set.delete(keys);
}

// Input types without text entry: shortcuts keep working in them.
const pressed = /^(radio|checkbox|button|range|submit)$/;

export function isTyping(target: EventTarget | null): boolean {
    if (target instanceof HTMLInputElement) return !pressed.test(target.type);
    return target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName));
}

// True for keys that a control handles itself: arrows choose, Space presses. (Space does nothing on
// a checked radio button.)
function isItsOwn({ target, code }: KeyboardEvent): boolean {
    if (!(target instanceof HTMLInputElement)) return false;
    if (code === "Space") return target.type !== "radio" || !target.checked;
    return target.type !== "checkbox" && /^(Arrow|Home|End|Page)/.test(code);
}

// True for keys that buttons and links handle themselves.
function isPressing(event: KeyboardEvent): boolean {
    const target = event.target instanceof HTMLElement ? event.target.closest("button, a, summary, [role=tab], [role=button]") : null;
    return target !== null && (event.code === "Space" || event.code === "Enter");
}

export function handleKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isPressing(event)) return;
    if (document.querySelector("dialog[open]")) return; // the dialog handles its keys, including Escape
    if (isTyping(event.target)) {
        if (event.code !== "Escape") return;
        // Escape leaves the input; in an empty input it acts on the page.
        const isEmpty = !(event.target as HTMLInputElement).value || event.target instanceof HTMLSelectElement;
        (event.target as HTMLElement).blur();
        if (!isEmpty) return;
    } else if (isItsOwn(event)) return;
    const names = [`key:${event.key}`, event.shiftKey ? `Shift+${event.code}` : event.code];
    for (const where of [view.value, "*"] as const) {
        for (const keys of registered.get(where) ?? []) {
            const act = names.map((name) => keys[name]).find(Boolean);
            if (act) {
                event.preventDefault();
                act(event);
                return;
            }
        }
    }
}

export function listenForKeys(): void {
    window.addEventListener("keydown", handleKey);
}
