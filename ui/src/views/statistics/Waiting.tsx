// Shown while an answer is pending, and if it failed.
import type { Answer } from "../../ask";

export function Waiting({ answer, what }: { answer: Answer<unknown>; what: string }) {
    if (answer.error)
        return (
            <p class="failed" role="alert">
                {answer.error.message}
            </p>
        );
    if (answer.data !== null) return null;
    const percent = answer.progress === null ? null : Math.round(answer.progress * 100);
    return (
        <p class="waiting" role="status">
            <progress aria-label={what} {...(percent === null ? {} : { value: percent, max: 100 })} />
            {` ${what}`}
            {percent === null ? "" : ` (${percent} %)`}
        </p>
    );
}
