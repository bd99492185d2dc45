import type { Chance, Clock, Log } from '../../../ports/machine.ts'
import type { Documents } from '../documents.ts'
import { createTaskStore } from '../head/task-store.ts'
import { createLimitStore } from '../limits/limit-store.ts'
import { createTargets } from '../worker/targets.ts'
import { createWorkerStore } from '../worker/worker-store.ts'
import { createCanvasStore } from './canvas-store.ts'
import { createFailureStore } from './failure-store.ts'
import { createRecordStore } from './record-store.ts'
import { createTurnStore } from './turn-store.ts'
import { createTypeStore } from './type-store.ts'

type StoreSettings = {
  readonly table: string
  readonly clock: Clock
  readonly chance: Chance
  /** @default what cannot be read is left out silently */
  readonly log?: Log
  /** Creates the id of one write: unique among the writers of one revision. */
  readonly newWriteId: () => string
}

/** Creates the stores of one table that every process needs. */
export function storesOn(documents: Documents, settings: StoreSettings) {
  return {
    tasks: createTaskStore(documents, settings),
    types: createTypeStore(documents, settings),
    canvases: createCanvasStore(documents, settings),
    limits: createLimitStore(documents, settings),
    turns: createTurnStore(documents, settings),
    failures: createFailureStore(documents, settings),
    records: createRecordStore(documents, settings),
    targets: createTargets(documents, settings),
    workers: createWorkerStore(documents, settings),
  }
}
