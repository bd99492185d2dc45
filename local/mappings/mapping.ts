/** An event source mapping, with the controls that tests use. */
export type Mapping = MappingControl & {
  readonly logicalId: string
  readonly source: 'sqs' | 'dynamodb'
  /** The ARN of the queue or stream. */
  readonly sourceArn: string
  readonly functionId: string
  stop(): Promise<void>
}

type MappingControl = {
  /** Stops reading records. Batches that are under way still end. */
  pause(): void
  resume(): void
  /** Delivers every batch this many times (1 by default), one delivery after the other. A failed stream batch is retried instead. */
  repeat(times: number): void
  /** Drops the batches that `chosen` selects, as if the function had handled them. `undefined` ends that. */
  drop(chosen: ((records: readonly unknown[]) => boolean) | undefined): void
}

/** The state that a mapping's loops read. */
export type MappingState = {
  stopped: boolean
  paused: boolean
  deliveries: number
  dropped: ((records: readonly unknown[]) => boolean) | undefined
}

export const newMappingState = (): MappingState => ({
  stopped: false,
  paused: false,
  deliveries: 1,
  dropped: undefined,
})

/** The controls over a state. `wake` ends the present waits of the mapping's loops. */
export function controlOf(state: MappingState, wake: () => void): MappingControl {
  return {
    pause: () => {
      state.paused = true
      wake()
    },
    resume: () => {
      state.paused = false
      wake()
    },
    repeat: times => {
      state.deliveries = times
    },
    drop: chosen => {
      state.dropped = chosen
    },
  }
}

/** The failed records of a batch, as the function reports them under `ReportBatchItemFailures`. */
type BatchOutcome =
  | { readonly kind: 'all-succeeded' }
  | { readonly kind: 'all-failed' }
  | { readonly kind: 'some-failed'; readonly identifiers: ReadonlySet<string> }

/**
 * Reads the answer as the service does. An answer without a list of failures, even a malformed one, is a success of the whole
 * batch. An entry without a known identifier is a failure of the whole batch.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
 */
export function readBatchFailures(answer: unknown, known: ReadonlySet<string>): BatchOutcome {
  const failures = (answer as { batchItemFailures?: unknown } | null | undefined)?.batchItemFailures
  if (!Array.isArray(failures) || failures.length === 0) return { kind: 'all-succeeded' }
  const identifiers = failures.map(entry => (entry as { itemIdentifier?: unknown } | null)?.itemIdentifier)
  const allKnown = identifiers.every(identifier => typeof identifier === 'string' && known.has(identifier))
  if (!allKnown) return { kind: 'all-failed' }
  return { kind: 'some-failed', identifiers: new Set(identifiers as string[]) }
}
