import { createManualClock } from '../../shared/testing/stores/clock.ts'
import { createMemoryStores } from '../../shared/testing/stores/memory-stores.ts'
import { NOW } from '../support/tasks/a-task.ts'
import { storesContract } from './task-store.ts'

storesContract(async () => {
  const clock = createManualClock(NOW)
  return { clock, ...createMemoryStores({ clock }) }
})
