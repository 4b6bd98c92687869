// How a picture's numbers come about, in one sentence, and the command that gives the same in a terminal.
import type { ComponentChildren } from "preact";
import { experiment } from "../state";

// A word for a shell.
export const quoted = (text: string) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// The directory stands where the command says DIR, else at its end.
const withDirectory = (command: string, directory: string) => (command.includes(" DIR") ? command.replace(" DIR", () => ` ${directory}`) : `${command} ${directory}`);

// `of`: about another directory than that of the experiment that is shown.
export function Computed({ command, of, open, children }: { command: string; of?: string; open?: boolean; children: ComponentChildren }) {
    return (
        <details class="computed" open={open ?? false}>
            <summary>How was this computed?</summary>
            <p>{children}</p>
            <pre>
                {withDirectory(command, quoted(of ?? (experiment.value?.directory || experiment.value?.name || "DIR")))}
            </pre>
        </details>
    );
}
