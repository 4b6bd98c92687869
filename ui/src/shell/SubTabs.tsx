// The parts of a view, one at a time.
import type { Signal } from "@preact/signals";

export function SubTabs<T extends string>({ label, of, shown }: { label: string; of: readonly (readonly [T, string])[]; shown: Signal<T> }) {
    const step = (event: KeyboardEvent) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const at = of.findIndex(([key]) => key === shown.value);
        shown.value = of[(at + by + of.length) % of.length]![0];
        document.getElementById(`part-${shown.value}`)?.focus();
    };
    return (
        <div class="subtabs" role="tablist" aria-label={label} onKeyDown={step}>
            {of.map(([key, name]) => (
                <button type="button" role="tab" id={`part-${key}`} aria-selected={shown.value === key} tabIndex={shown.value === key ? 0 : -1} onClick={() => (shown.value = key)}>
                    {name}
                </button>
            ))}
        </div>
    );
}
