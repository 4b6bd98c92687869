// Keys by physical place (event.code), so that W/A/S/D lie together on every layout. "Shift+Space" asks for the modifier; "key:?" goes
// by what the key writes, for signs that people look for by their print. Never inside inputs, never with Ctrl, Alt or Meta.
import { view, type View } from "./state";

export type KeyMap = Record<string, (event: KeyboardEvent) => void>;

const registered = new Map<View | "*", Set<KeyMap>>();

// Keys of a view act while it is shown; those of "*" always, after the view's own. Returns a function that takes them back.
export function registerKeys(where: View | "*", keys: KeyMap): () => void {
    const set = registered.get(where) ?? new Set();
    registered.set(where, set.add(keys));
    return () => set.delete(keys);
}

// Boxes and switches are pressed, not typed into: the keys go on.
const pressed = /^(radio|checkbox|button|range|submit)$/;

export function isTyping(target: EventTarget | null): boolean {
    if (target instanceof HTMLInputElement) return !pressed.test(target.type);
    return target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName));
}

// What a switch does with a key by itself: the arrows choose, Space presses. (A radio button that is chosen has no use for Space.)
function isItsOwn({ target, code }: KeyboardEvent): boolean {
    if (!(target instanceof HTMLInputElement)) return false;
    if (code === "Space") return target.type !== "radio" || !target.checked;
    return target.type !== "checkbox" && /^(Arrow|Home|End|Page)/.test(code);
}

// Buttons and links have their own use for these.
function isPressing(event: KeyboardEvent): boolean {
    const target = event.target instanceof HTMLElement ? event.target.closest("button, a, summary, [role=tab], [role=button]") : null;
    return target !== null && (event.code === "Space" || event.code === "Enter");
}

export function handleKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isPressing(event)) return;
    if (document.querySelector("dialog[open]")) return; // it has the keys, Escape first of all
    if (isTyping(event.target)) {
        if (event.code !== "Escape") return;
        // One press: what was being typed is left, and where there is nothing to leave it means the page.
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
