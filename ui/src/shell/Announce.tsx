// One line that screen readers speak when it changes: what is selected now, what a key did.
import { signal } from "@preact/signals";

const said = signal("");

export function announce(text: string): void {
    said.value = text;
}

export function Announcer() {
    return (
        <div class="unseen" role="status" aria-live="polite" id="announcer">
            {said.value}
        </div>
    );
}
