// What is under way: answers that were asked for, layouts that are being made, an address that has yet to follow. While there is any, the
// view says that it is busy (aria-busy): for readers of screens, and for whoever waits until it rests.
import { computed, signal } from "@preact/signals";

const count = signal(0);
export const isBusy = computed(() => count.value > 0);

// Something begins; what is returned ends it, once.
export function begins(): () => void {
    let isOver = false;
    count.value = count.peek() + 1;
    return () => {
        if (!isOver) count.value = count.peek() - 1;
        isOver = true;
    };
}

// A timer that is put off whenever it is set again, and under way until it fires or is given up.
export class Later {
    private timer = 0;
    private over: (() => void) | null = null;

    set(milliseconds: number, act: () => void): void {
        clearTimeout(this.timer);
        this.over ??= begins();
        this.timer = window.setTimeout(() => {
            this.giveUp();
            act();
        }, milliseconds);
    }

    giveUp(): void {
        clearTimeout(this.timer);
        this.over?.();
        this.over = null;
    }
}
