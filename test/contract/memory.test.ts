import { createMemoryCanvasStore } from '../../shared/memory/canvas-store.ts'
import { createManualClock } from '../../shared/memory/clock.ts'
import { createMemoryLimitStore } from '../../shared/memory/limit-store.ts'
import { createMemoryRecordStore } from '../../shared/memory/record-store.ts'
import { createMemoryTargets } from '../../shared/memory/targets.ts'
import { createMemoryTaskStore } from '../../shared/memory/task-store.ts'
import { createMemoryTurnStore } from '../../shared/memory/turn-store.ts'
import { createMemoryTypeStore } from '../../shared/memory/type-store.ts'
import { createMemoryWorkerStore } from '../../shared/memory/worker-store.ts'
import { NOW } from '../support/a-task.ts'
import type { Stores } from '../support/dynamo-stores.ts'
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
