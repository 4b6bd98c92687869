// A list of findings; a click shows the evidence.
import type { Finding } from "./recording-findings";

export function Findings({ findings }: { findings: readonly Finding[] }) {
    return (
        <ul class="findings">
            {findings.map(({ text, title, go, isWarning }) => (
                <li class={isWarning ? "warning" : undefined} title={title}>
                    {go ? (
                        <button type="button" class="link" onClick={go}>
                            {text}
                        </button>
                    ) : (
                        text
                    )}
                </li>
            ))}
        </ul>
    );
}
