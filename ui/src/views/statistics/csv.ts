// Tables as text for other programs, after RFC 4180.

export type Cell = string | number | boolean | null | undefined;

const field = (cell: Cell) => {
    const text = cell === null || cell === undefined ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const toCsv = (header: string[], rows: Cell[][]) => [header, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");

// Hands a text to the user as a file.
export function download(name: string, text: string | ArrayBuffer, type = "text/csv;charset=utf-8") {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    // The browser reads the address after this task.
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
