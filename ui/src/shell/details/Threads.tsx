// The threads of an op: computing, stalled, waiting; and which thread waited for which.
import type { OpAnswer } from "../../api";
import { time } from "../../format";
import { computedOf, endOf, heldOf, lastOf, waitOf, waitsText } from "./culprits";

const listed = 16;

export function Threads({ op }: { op: OpAnswer }) {
    if (op.threads.length < 2 || op.submit_ns !== null) return null;
    const begin = Math.min(...op.threads.map((thread) => thread.begin_ns));
    const end = Math.max(...op.threads.map((thread) => endOf(thread) + (thread.wait_ns ?? 0)));
    const part = (ns: number) => `${(ns / Math.max(1, end - begin)) * 100}%`;
    const last = lastOf(op);
    const text = waitsText(op);
    return (
        <section class="threads">
            <h3>Threads</h3>
            {text && <p data-waits>{text}</p>}
            <table>
                <tbody>
                    {op.threads.slice(0, listed).map((thread) => (
                        <tr class={thread === last ? "last" : ""}>
                            <th scope="row">{thread.thread}</th>
                            <td class="thread-bar">
                                <span aria-hidden="true">
                                    <i style={{ width: part(thread.begin_ns - begin) }} />
                                    <i class="computing" style={{ width: part(computedOf(thread)) }} />
                                    <i class="held" style={{ width: part(heldOf(thread)) }} />
                                    <i class="waits" style={{ width: part(waitOf(thread)) }} />
                                </span>
                            </td>
                            <td class="number">{time(computedOf(thread))}</td>
                            <td class="number quiet">
                                {heldOf(thread) > 0 && `held up ${time(heldOf(thread))}, `}
                                {thread.wait_ns === null ? "waiting not seen" : `waited ${time(waitOf(thread))}`}
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {op.threads.length > listed && <p class="quiet">and {op.threads.length - listed} more</p>}
        </section>
    );
}
