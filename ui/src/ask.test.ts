import { beforeEach, expect, test, vi } from "vitest";

vi.stubGlobal("REPORT", false);
const { ask, askJob, AskError, refresh, server } = await import("./ask");

const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
let answers: (Response | Error)[] = [];
let asked: string[] = [];

beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true, advanceTimeDelta: 250 });
    answers = [];
    asked = [];
    refresh();
    vi.stubGlobal("fetch", (path: string) => {
        asked.push(path);
        const next = answers.shift()!;
        return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    });
});

test("a job is asked for until it is done, and tells how far it is", async () => {
    answers = [json(202, { progress: 0 }), json(202, { progress: 0.5 }), json(200, { total: 3 })];
    const heard: number[] = [];
    expect(await askJob("/api/x/0/stats", (progress) => heard.push(progress))).toEqual({ total: 3 });
    expect(heard).toEqual([0, 0.5]);
    expect(asked.length).toBe(3);
});

test("what was answered is not asked again, until something is new", async () => {
    answers = [json(200, [1]), json(200, [2])];
    expect(await ask("/api/x/0/map")).toEqual([1]);
    expect(await ask("/api/x/0/map")).toEqual([1]);
    refresh();
    expect(await ask("/api/x/0/map")).toEqual([2]);
    expect(asked.length).toBe(2);
});

test("an answer to a question of before a refresh is not kept", async () => {
    let late!: (response: Response) => void;
    vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (late = resolve)));
    const old = ask("/api/x/0/tokens");
    refresh();
    late(json(200, "old"));
    expect(await old).toBe("old");
    vi.stubGlobal("fetch", () => Promise.resolve(json(200, "new")));
    expect(await ask("/api/x/0/tokens")).toBe("new");
});

test("a refusal carries the server's sentence", async () => {
    answers = [json(404, { error: "There is no op 9 of graph run 1." })];
    await expect(ask("/api/x/0/op?run=1&node=9")).rejects.toMatchObject({ status: 404, message: "There is no op 9 of graph run 1." });
    answers = [new Response("<html>", { status: 403 })];
    await expect(ask("/api/x/0/x")).rejects.toBeInstanceOf(AskError);
});

test("a busy server is asked again", async () => {
    answers = [json(503, { error: "busy" }), json(200, "done")];
    expect(await ask("/api/x/0/busy")).toBe("done");
});

test("no server: the page knows, and forgets it with the next answer", async () => {
    answers = [new TypeError("fetch failed"), json(200, 1)];
    await expect(ask("/api/x/0/gone")).rejects.toMatchObject({ status: 0 });
    expect(server.value).toBe("gone");
    expect(await ask("/api/x/0/gone")).toBe(1);
    expect(server.value).toBe("answers");
});
