// Counts pending work: requests, layouts, a delayed write of the address. The view has aria-busy
// while there is any, for screen readers and tests.
import { computed, signal } from "@preact/signals";

const count = signal(0);
export const isBusy = computed(() => count.value > 0);

// Begins a piece of work; the result ends it and may be called once.
export function beginWork(): () => void {
    let isOver = false;
    count.value = count.peek() + 1;
    return () => {
        if (!isOver) count.value = count.peek() - 1;
        isOver = true;
    };
}

// A timer that restarts when it is set again. It counts as pending work until it fires or is
// cancelled.
export class Later {
    private timer = 0;
    private over: (() => void) | null = null;

    set(milliseconds: number, act: () => void): void {
        clearTimeout(this.timer);
        this.over ??= beginWork();
        this.timer = window.setTimeout(() => {
            this.cancel();
            act();
        }, milliseconds);
    }

    cancel(): void {
        clearTimeout(this.timer);
        this.over?.();
        this.over = null;
    }
}
