import { describe } from 'vitest'
import type { Inbox } from '../../../shared/ports/messages.ts'
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
    tasks: afterLag(driver, driven(tasks), 'heads', 'page', 'count'),
    types: driven(types),
    canvases: driven(canvases),
    records: driven(records),
    limits: afterLag(driver, driven(limits), 'overdueLines'),
    turns: afterLag(driver, driven(turns), 'of', 'front'),
    failures: afterLag(driver, driven(failures), 'since'),
    activity: afterLag(driver, driven(activity), 'since'),
    deadLetters: createMemoryStores({ clock }).deadLetters,
    targets: afterLag(driver, driven(targets), 'among'),
    workers: driven(workers),
  }
}

/** Lets the table catch up before each eventually consistent read, because the contract asks for what it then shows. */
function afterLag<Store extends object>(
  { clock }: DrivenWorld,
  store: Store,
  ...reads: ReadonlyArray<keyof Store>
): Store {
  const lagging = reads.map(name => {
    const read = store[name] as (...args: unknown[]) => Promise<unknown>
    const late = async (...args: unknown[]) => {
      await clock.advance(SETTLED_MS)
      return read(...args)
    }
    return [name, late]
  })
  return { ...store, ...Object.fromEntries(lagging) }
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
