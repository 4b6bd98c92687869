// Explains how a picture's numbers are computed: one sentence, and the command that prints the same
// numbers.
import type { ComponentChildren } from "preact";
import { experiment, summary } from "../state";

// Quotes a word for a shell.
export const quoted = (text: string) => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
// The command that was recorded, as a shell takes it.
export const recordedCommand = () => (summary.value?.command ?? ["PROGRAM"]).map(quoted).join(" ");

// Inserts the directory at " DIR", else at the end.
const withDirectory = (command: string, directory: string) => (command.includes(" DIR") ? command.replace(" DIR", () => ` ${directory}`) : `${command} ${directory}`);

// `of`: another directory than that of the shown experiment.
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
