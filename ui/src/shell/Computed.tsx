// How a picture's numbers come about, in one sentence, and the command that gives the same in a terminal.
import type { ComponentChildren } from "preact";
import { experiment } from "../state";

// A word for a shell.
const quoted = (text: string) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// `of`: about another directory than that of the experiment that is shown.
export function Computed({ command, of, children }: { command: string; of?: string; children: ComponentChildren }) {
    return (
        <details class="computed">
            <summary>How was this computed?</summary>
            <p>{children}</p>
            <pre>
                {command} {quoted(of ?? (experiment.value?.directory || experiment.value?.name || "DIR"))}
            </pre>
        </details>
    );
}
