// Compares the bytes in the trace with the bytes that the machine touched.
import type { Proof } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, plural } from "../../format";
import { here, select, selection, summary } from "../../state";
import { Computed } from "../../shell/Computed";
import { stepColumn } from "../../step";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";

// Shows 100 % only if nothing is missing.
const percent = (part: number, whole: number) => (whole === 0 ? "-" : part === whole ? "100 %" : `${Math.min(99.99, (100 * part) / whole).toFixed(2)} %`);

export function ProofPart() {
    useApplied();
    const has = summary.value?.has.pages ?? false;
    const answer = useAsk<Proof>(has ? here("prove") : null, { keep: true });
    if (!has)
        return (
            <div class="centre">
                <h1>Touched pages were not recorded</h1>
                <p>The hardware then reports which pages of the model each op touched:</p>
                <pre>ggscope run --prove -m model.gguf -p "Hello" -n 3</pre>
                <p class="quiet">All times of such a recording are distorted.</p>
            </div>
        );
    if (!answer.data) return <Waiting answer={answer} what="Comparing pages" />;
    const proof = answer.data;
    return (
        <>
            <dl class="tiles">
                {(
                    [
                        ["predicted", count(proof.pages_predicted), `pages of ${bytes(proof.page_bytes)} that the byte ranges of ops lie in`],
                        ["touched", count(proof.pages_touched), "pages that the hardware reported"],
                        ["missed", count(proof.pages_touched - proof.pages_both), `touched, not predicted; recall ${percent(proof.pages_both, proof.pages_touched)}`],
                        ["extra", count(proof.pages_predicted - proof.pages_both), `predicted, not touched; precision ${percent(proof.pages_both, proof.pages_predicted)}`],
                    ] as const
                ).map(([name, value, note]) => (
                    <div class="tile" data-tile={`proof-${name}`}>
                        <dt>{name}</dt>
                        <dd class="tile-value">{value}</dd>
                        <dd class="quiet">{note}</dd>
                    </div>
                ))}
            </dl>
            <Table
                caption="Pages by op"
                file="proof-by-op"
                rows={proof.by_op}
                order={{ key: "pages_touched", descending: true }}
                columns={[
                    { key: "op", title: "op", value: (row) => row.op },
                    { key: "ops", title: "ops", value: (row) => row.ops, show: (row) => count(row.ops), numeric: true },
                    { key: "pages_predicted", title: "predicted", value: (row) => row.pages_predicted, show: (row) => count(row.pages_predicted), numeric: true },
                    { key: "pages_touched", title: "touched", value: (row) => row.pages_touched, show: (row) => count(row.pages_touched), numeric: true },
                    { key: "missed", title: "missed", value: (row) => row.pages_touched - row.pages_both, show: (row) => count(row.pages_touched - row.pages_both), numeric: true, hint: "touched, not predicted" },
                    { key: "extra", title: "extra", value: (row) => row.pages_predicted - row.pages_both, show: (row) => count(row.pages_predicted - row.pages_both), numeric: true, hint: "predicted, not touched" },
                    { key: "recall", title: "recall", value: (row) => row.recall, show: (row) => percent(row.pages_both, row.pages_touched), numeric: true },
                    { key: "precision", title: "precision", value: (row) => row.precision, show: (row) => percent(row.pages_both, row.pages_predicted), numeric: true },
                ]}
                rowKey={(row) => row.op}
                press={(row) => select({ opType: selection.value.opType === row.op ? null : row.op })}
                isSelected={(row) => row.op === selection.value.opType}
            />
            <Table
                caption={`Touched, not predicted: ${plural(proof.unpredicted_pages, "page")}`}
                file="proof-missed"
                rows={proof.unpredicted}
                columns={[
                    { key: "op", title: "op", value: (row) => row.op ?? "none" },
                    { key: "name", title: "tensor", value: (row) => row.name ?? "" },
                    { key: "token", title: stepColumn(), value: (row) => row.token, show: (row) => row.token ?? "none", numeric: true },
                    { key: "file", title: "file", value: (row) => row.file, numeric: true },
                    { key: "page", title: "first page", value: (row) => row.page, show: (row) => count(row.page), numeric: true },
                    { key: "pages", title: "pages", value: (row) => row.pages, numeric: true },
                ]}
                rowKey={(row) => `${row.run} ${row.node} ${row.file} ${row.page}`}
                press={(row) => select({ op: { run: row.run, node: row.node } })}
                empty="Every page of the mapped model that was touched had been predicted."
                most={20}
            />
            <p class="quiet">
                The memory view has these pages as a layer of its own, "pages really touched".
                {proof.incomplete_ops > 0 && ` ${plural(proof.incomplete_ops, "op")} touched more pages than could be noted.`}
                {proof.lost_ops > 0 && ` Of ${plural(proof.lost_ops, "op")} the pages were lost.`}
                {proof.ops_not_looked_at > 0 &&
                    ` ${plural(proof.ops_not_looked_at, "op")} read copies of weights in buffers (${[...new Set(proof.not_looked_at.map((row) => row.buffer_type))].join(", ")}), which are not looked at.`}
            </p>
            <Computed command="ggscope prove">Pages of each op's operands in mapped files, against those that the hardware reported; a page counts once per op.</Computed>
        </>
    );
}
