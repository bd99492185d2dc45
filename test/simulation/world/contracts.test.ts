import { describe } from 'vitest'
import type { Inbox } from '../../../shared/ports/messages.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { createMemoryStores } from '../../../shared/testing/stores/memory-stores.ts'
import { inboxContract, type TriedInbox } from '../../contract/inbox.ts'
import { storesContract } from '../../contract/task-store.ts'
import type { Stores } from '../../support/dynamo/dynamo-stores.ts'
import { NOW } from '../../support/tasks/a-task.ts'
import { createDrivenWorld, type DrivenWorld } from './driven-world.ts'

/** In calm weather the simulated services fulfil the contracts of DynamoDB's and SQS's adapters. */

/** After this time an index shows what was written, and a queue delivers what was sent. */
const SETTLED_MS = 31

async function simulatedStores(): Promise<Stores> {
  const driver = await createDrivenWorld({ startsAt: NOW })
  const { driven, clock } = driver
  const { tasks, types, canvases, records, limits, turns, failures, activity, targets, workers } =
    driver.services.systemFor(driver.process())
  return {
    clock,
    tasks: afterLag(driver, driven(tasks)),
    types: driven(types),
    canvases: driven(canvases),
    records: driven(records),
    limits: driven(limits),
    turns: driven(turns),
    failures: driven(failures),
    activity: driven(activity),
    deadLetters: createMemoryStores({ clock }).deadLetters,
    targets: driven(targets),
    workers: driven(workers),
  }
}

/**
 * Lets the indexes catch up before each eventually consistent read, because the contract asks for what they
 * then show.
 */
function afterLag({ clock }: DrivenWorld, tasks: TaskStore): TaskStore {
  const lag = () => clock.advance(SETTLED_MS)
  return {
    ...tasks,
    heads: async ids => {
      await lag()
      return tasks.heads(ids)
    },
    page: async query => {
      await lag()
      return tasks.page(query)
    },
    count: async range => {
      await lag()
      return tasks.count(range)
    },
  }
}

async function simulatedInbox(): Promise<TriedInbox> {
  const driver = await createDrivenWorld()
  const { driven, clock, services } = driver
  const process = driver.process()
  const { messages } = services.systemFor(process)
  const inbox = driven(services.inboxFor(process))
  services.addQueue('resize', 'workers')
  return {
    clock,
    inbox: {
      receive: async (...args: Parameters<Inbox['receive']>) =>
        (await inbox.receive(...args)).map(delivery => ({ ...driven(delivery), task: delivery.task })),
    },
    put: async task => {
      await driven(messages).dispatch([{ task, delaySeconds: 0 }])
      await clock.advance(SETTLED_MS)
    },
  }
}

describe('the stores of a simulated world', () => storesContract(simulatedStores))

describe('the queues of a simulated world', () => inboxContract(simulatedInbox))
