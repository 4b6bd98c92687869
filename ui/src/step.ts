// The name of a step: "token", or "graph run" in programs without tokens.
import { summary } from "./state";

export const stepWord = (): string => summary.value?.step_kind ?? "token";
export const stepsWord = (): string => `${stepWord()}s`;
// Short names: "tokens", "runs"; in tables "token", "step".
export const shortStepsWord = (): string => stepsWord().split(" ").pop()!;
export const stepColumn = (): string => (stepWord() === "token" ? "token" : "step");

// "token 3", "tokens 3 to 5"
export const stepRange = ([first, last]: [number, number]): string =>
    first === last ? `${stepWord()} ${first}` : `${stepsWord()} ${first} to ${last}`;
