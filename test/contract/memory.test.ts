import { createMemoryCanvasStore } from '../../shared/testing/stores/canvas-store.ts'
import { createManualClock } from '../../shared/testing/stores/clock.ts'
import { createMemoryLimitStore } from '../../shared/testing/stores/limit-store.ts'
import {
  createMemoryActivityStore,
  createMemoryDeadLetterStore,
  createMemoryFailureStore,
  createMemoryRecordStore,
} from '../../shared/testing/stores/record-store.ts'
import { createMemoryTargets } from '../../shared/testing/stores/targets.ts'
import { createMemoryTaskStore } from '../../shared/testing/stores/task-store.ts'
import { createMemoryTurnStore } from '../../shared/testing/stores/turn-store.ts'
import { createMemoryTypeStore } from '../../shared/testing/stores/type-store.ts'
import { createMemoryWorkerStore } from '../../shared/testing/stores/worker-store.ts'
import type { Stores } from '../support/dynamo/dynamo-stores.ts'
import { NOW } from '../support/tasks/a-task.ts'
import { storesContract } from './task-store.ts'

async function memoryStores(): Promise<Stores> {
  const clock = createManualClock(NOW)
  return {
    clock,
    tasks: createMemoryTaskStore(),
    types: createMemoryTypeStore(),
    canvases: createMemoryCanvasStore(),
    limits: createMemoryLimitStore(),
    turns: createMemoryTurnStore(),
    failures: createMemoryFailureStore(),
    activity: createMemoryActivityStore(),
    deadLetters: createMemoryDeadLetterStore(clock),
    records: createMemoryRecordStore(clock),
    targets: createMemoryTargets(clock),
    workers: createMemoryWorkerStore(clock),
  }
}

storesContract(memoryStores)
