import { createMemoryCanvasStore } from '../../shared/testing/canvas-store.ts'
import { createManualClock } from '../../shared/testing/clock.ts'
import { createMemoryLimitStore } from '../../shared/testing/limit-store.ts'
import { createMemoryRecordStore } from '../../shared/testing/record-store.ts'
import { createMemoryTargets } from '../../shared/testing/targets.ts'
import { createMemoryTaskStore } from '../../shared/testing/task-store.ts'
import { createMemoryTurnStore } from '../../shared/testing/turn-store.ts'
import { createMemoryTypeStore } from '../../shared/testing/type-store.ts'
import { createMemoryWorkerStore } from '../../shared/testing/worker-store.ts'
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
    records: createMemoryRecordStore(clock),
    targets: createMemoryTargets(clock),
    workers: createMemoryWorkerStore(clock),
  }
}

storesContract(memoryStores)
