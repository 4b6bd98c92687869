// The data of a report: answers that `ggscope report` embedded in the page.
export async function reportAnswer(path: string): Promise<unknown> {
    throw new Error(`This report holds no answer to ${path}.`);
}
