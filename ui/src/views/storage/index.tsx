// View 7: disk and memory. Stalls, the order of reads, the cost of less memory, and the proof of
// the trace.
import { SubTabs } from "../../shell/SubTabs";
import { asText, kept } from "../../state";
import { AccessOrder } from "./AccessOrder";
import { LessMemory } from "./LessMemory";
import { ProofPart } from "./ProofPart";
import { Stalls } from "./Stalls";
import "../statistics/statistics.css";
import "./storage.css";

const parts = [
    ["stalls", "Stalls and reads"],
    ["access", "Access order"],
    ["less", "Less memory"],
    ["proof", "Proof"],
] as const;
type Part = (typeof parts)[number][0];
const shown = kept<Part>("part", "stalls", asText(parts.map(([key]) => key)));

export default function Storage() {
    return (
        <div class="storage">
            <h2 class="unseen">Storage</h2>
            <SubTabs label="Parts of storage" of={parts} shown={shown} />
            {shown.value === "stalls" && <Stalls />}
            {shown.value === "access" && <AccessOrder />}
            {shown.value === "less" && <LessMemory />}
            {shown.value === "proof" && <ProofPart />}
        </div>
    );
}
