import type { ComponentType } from "preact";
import { view, views, type View } from "../state";
import { Announcer } from "./Announce";

export function Shell({ components }: { components: Record<View, ComponentType> }) {
    const Shown = components[view.value];
    return (
        <>
            <nav role="tablist" aria-label="Views">
                {views.map((name) => (
                    <button type="button" role="tab" aria-selected={view.value === name} onClick={() => (view.value = name)}>
                        {name}
                    </button>
                ))}
            </nav>
            <main>
                <Shown />
            </main>
            <Announcer />
        </>
    );
}
