// The progress of a job on the server.
export function Progress({ what, progress }: { what: string; progress: number | null }) {
    return (
        <p class="quiet progress" role="status">
            Working out {what}
            {progress === null ? "" : ` ${Math.round(progress * 100)} %`}
            <progress {...(progress === null ? {} : { value: progress })} max={1} aria-label={`Working out ${what}`} />
        </p>
    );
}
