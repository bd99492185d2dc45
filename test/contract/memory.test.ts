import { createMemoryStores } from '../../shared/testing/stores/memory-stores.ts'
import { createManualClock } from '../support/ports/clock.ts'
import { NOW } from '../support/tasks/a-task.ts'
import { storesContract } from './task-store.ts'

storesContract(async () => {
  const clock = createManualClock(NOW)
  return { clock, ...createMemoryStores({ clock }) }
})
