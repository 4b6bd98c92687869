// Which parts of the selection the view that is shown takes into account. The others are struck through in the list of what is selected.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { Selection } from "./state";

export type Part = keyof Selection;
export const applied = signal<readonly Part[]>([]);

// Call it in the component of a view, or of that part of a view that is shown.
export function useApplied(...parts: Part[]): void {
    useLayoutEffect(() => {
        applied.value = parts;
    }, [parts.join()]);
}
