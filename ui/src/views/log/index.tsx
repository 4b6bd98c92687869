export default function Log() {
    return <p class="quiet">The log view.</p>;
}

export function LogTable(_: { compact?: boolean }) {
    return null;
}
