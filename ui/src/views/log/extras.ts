// What only the log can be filtered by, beside the selection that all views share.
import { signal } from "@preact/signals";

export interface Extras {
    source: string | null; // DISK or BUFFER
    thread: number | null;
}

export const logExtras = signal<Extras>({ source: null, thread: null });
