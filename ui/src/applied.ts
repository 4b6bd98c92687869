// The parts of the selection that the current view applies. The list of the selection strikes the
// others through.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { Selection } from "./state";

export type Part = keyof Selection;
export const applied = signal<readonly Part[]>([]);

// Call it in the component of a view, or of its visible part.
export function useApplied(...parts: Part[]): void {
    useLayoutEffect(() => {
        applied.value = parts;
    }, [parts.join()]);
}
