// Tabs for the parts of a view.
import type { Signal } from "@preact/signals";

// Arrow keys in a list of tabs go to the next one, and open it.
export function stepTabs(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[role=tab]")];
    const next = tabs.at((tabs.findIndex((tab) => tab.ariaSelected === "true") + by) % tabs.length)!;
    next.click();
    next.focus();
}

export function SubTabs<T extends string>({ label, of, shown }: { label: string; of: readonly (readonly [T, string])[]; shown: Signal<T> }) {
    return (
        <div class="subtabs" role="tablist" aria-label={label} onKeyDown={stepTabs}>
            {of.map(([key, name]) => (
                <button type="button" role="tab" id={`part-${key}`} aria-selected={shown.value === key} tabIndex={shown.value === key ? 0 : -1} onClick={() => (shown.value = key)}>
                    {name}
                </button>
            ))}
        </div>
    );
}
