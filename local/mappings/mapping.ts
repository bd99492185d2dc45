/** An event source mapping, with the controls that tests use. */
export type Mapping = MappingControl & {
  readonly logicalId: string
  readonly source: 'sqs' | 'dynamodb'
  /** The ARN of the queue or stream. */
  readonly sourceArn: string
  readonly functionId: string
  stop(): Promise<void>
}

export type MappingControl = {
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
