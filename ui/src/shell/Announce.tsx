// A live region: screen readers speak its text when it changes, for a new selection or the effect
// of a key.
import { signal } from "@preact/signals";

const announced = signal("");

export function announce(text: string): void {
    announced.value = text;
}

export function Announcer() {
    return (
        <div class="unseen" role="status" aria-live="polite" id="announcer">
            {announced.value}
        </div>
    );
}
