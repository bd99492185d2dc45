/** What tests can do to an event source mapping. */
export type Mapping = MappingControl & {
  readonly logicalId: string
  readonly source: 'sqs' | 'dynamodb'
  /** The ARN it reads from. */
  readonly sourceArn: string
  readonly functionId: string
  stop(): Promise<void>
}

export type MappingControl = {
  /** Stops taking records; batches under way end. */
  pause(): void
  resume(): void
  /** Delivers every batch that many times (1 by default): the next delivery comes after the last succeeded. */
  repeat(times: number): void
  /** Loses batches for which this says so, as if they had been handled; `undefined` ends it. */
  drop(chosen: ((records: readonly unknown[]) => boolean) | undefined): void
}

/** The state that a mapping's loops look at. */
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

/** The controls over a state; `wake` ends whatever wait the mapping's loops are in. */
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
