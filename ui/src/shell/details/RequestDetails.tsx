// Details of a request of a server: its times and its waits.
import type { Requests } from "../../api";
import { useAsk } from "../../ask";
import { count, moment, share, time } from "../../format";
import { here } from "../../state";
import { Progress } from "../Progress";
import { Row } from "./Row";

export function RequestDetails({ request }: { request: number }) {
    const { data, error, progress } = useAsk<Requests>(here("requests", { request }), { keep: true });
    if (error) return <p class="problem">{error.message}</p>;
    if (!data) return <Progress what="the request" progress={progress} />;
    const one = data.requests.find((each) => each.request === request);
    if (!one) return <p class="problem">There is no request {request}.</p>;
    return (
        <article class="card" aria-label={`request ${request}`}>
            <section>
                <h2>
                    Request {request} <span class="quiet">{one.kind}</span>
                </h2>
                <dl>
                    <Row name="slot">
                        {one.sequence} <span class="quiet">of context {one.context}</span>
                    </Row>
                    <Row name="took">
                        {time(one.duration_ns)} <span class="quiet">{one.begun_before ? "since the recording began" : `from ${moment(one.begin_ns, one.duration_ns)}`}</span>
                    </Row>
                    <Row name="first">{one.time_to_first_ns === null ? (one.begun_before ? "not seen" : "no output") : `${time(one.time_to_first_ns)} to the first output`}</Row>
                    {one.ns_per_token !== null && <Row name="each">{time(one.ns_per_token)} per token after the first</Row>}
                    <Row name="waited">
                        {time(one.wait_ns)} <span class="quiet">({share(one.wait_ns, one.duration_ns)}) between its steps</span>
                    </Row>
                    <Row name="steps">
                        {count(one.steps)} <span class="quiet">that took {time(one.compute_ns)}</span>
                    </Row>
                    <Row name="tokens">
                        prompt {count(one.prompt_tokens)}, cached {count(one.cached_tokens)}, generated {count(one.generated_tokens)}
                    </Row>
                </dl>
            </section>
        </article>
    );
}
