import type { Change } from '../../../shared/core/change.ts'
import { isTask } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { PlanningSystem } from '../../../shared/runtime/kernel/system.ts'
import type { Table } from '../world/aws/table.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withTaskWrites } from './task-writes.ts'

const CROWDED_MS = 50
const CROWD = 15
const AFTER_FAILURE_MS = 10_000
const COPY_EVERY_MS = 10_000
const COPIES = 2
const REFUSED_TOGETHER_MS = 1_000

/** Faults that only a trial shows. */
export const TRIAL_FAULTS: readonly PlantedFault[] = [
  { name: 'an end that meets many concurrent ends is given up', needs: 'crowd', spoil: givingUpInCrowds },
  {
    name: 'an end is written once, whether or not the store answers',
    needs: 'outage',
    spoil: inWrites(
      apply => change =>
        apply(change).catch(error => {
          throw change.after.operation === 'succeed' ? new Error(`given up: ${error}`) : error
        }),
    ),
  },
  {
    name: 'a minute that cannot be scheduled fails its whole batch of the stream',
    needs: 'scheduler-outage',
    spoil: failingBatches,
  },
  { name: 'every look sends further looks, which never merge', needs: 'looks', spoil: multiplyingLooks },
  {
    name: 'the age of cached data is measured by the wall clock',
    needs: 'clock-steps',
    spoil: system => {
      const clock = { ...system.clock, monotonic: () => system.clock.now() }
      return { ...system, clock }
    },
  },
  {
    name: 'the sweeper does not store how far it has read',
    needs: 'backlog',
    spoil: system => ({
      ...system,
      records: {
        ...system.records,
        get: async name => (name.startsWith('sweep#') ? undefined : system.records.get(name)),
      },
    }),
  },
  { name: 'one tenant is served first as long as it has tasks', needs: 'tenants', spoil: favouringOne },
  {
    name: 'a restart drops the fairness key of its task',
    needs: 'restarts',
    spoil: system =>
      withTaskWrites(system, apply => change => {
        const { fairnessKey: _key, ...after } = change.after
        return apply(after.operation === 'restart' ? { ...change, after } : change)
      }),
  },
  {
    name: 'each failure drops the times of the other workers that wait for their own retries',
    needs: 'own-retries',
    spoil: system =>
      withTaskWrites(system, apply => change => {
        const { before, after } = change
        const isNew = ([id, at]: [string, number]) => before?.retryAtBy[id] !== at
        const retryAtBy = Object.fromEntries(Object.entries(after.retryAtBy).filter(isNew))
        return apply(after.operation === 'fail' ? { ...change, after: { ...after, retryAtBy } } : change)
      }),
  },
  {
    name: 'limits count the next stage by the input of the stage before',
    needs: 'stages',
    spoil: system =>
      withTaskWrites(system, apply => change => {
        const { before, after } = change
        const values = before && before.stage !== after.stage ? before.limitValues : undefined
        return apply(values ? { ...change, after: { ...after, limitValues: values } } : change)
      }),
  },
  {
    name: 'a write whose content the table refuses counts as an outage',
    needs: 'faults',
    spoil: inWrites(
      apply => change =>
        apply(change).catch(error => {
          throw error instanceof BatonError && error.code === 'unstorable'
            ? new BatonError('unavailable', error.message)
            : error
        }),
    ),
  },
  {
    name: 'a claim that the table refuses fails the claims beside it',
    needs: 'faults',
    spoil: refusingTogether,
  },
  {
    name: 'a delay is written as the handler gave it',
    needs: 'signals',
    spoil: inWrites(apply => change => {
      const { after } = change
      const isEnd = after.operation === 'release' || after.operation === 'fail'
      return apply(isEnd ? { ...change, after: { ...after, dueAt: Number.NaN } } : change)
    }),
  },
  {
    name: 'a late write stores a deleted head again',
    needs: 'expiry',
    spoil: inWrites(apply => async change => {
      const applied = await apply(change)
      const isGone = !applied.applied && applied.current === undefined && change.guard.kind === 'revision'
      return isGone ? apply({ ...change, before: undefined, guard: { kind: 'absent' } }) : applied
    }),
  },
]

type Apply = PlanningSystem['tasks']['apply']

function inWrites(spoilt: (apply: Apply) => Apply): PlantedFault['spoil'] {
  return system => ({ ...system, tasks: { ...system.tasks, apply: spoilt(system.tasks.apply) } })
}

/** A value that all processes of one simulated system share. */
function perTable<Shared>(make: () => Shared): (table: Table) => Shared {
  const all = new WeakMap<Table, Shared>()
  return table => {
    const shared = all.get(table) ?? make()
    all.set(table, shared)
    return shared
  }
}

/** The recent successes of each task, and the runs whose end was given up. */
const crowds = perTable(() => ({ times: new Map<string, number[]>(), givenUp: new Set<string>() }))

function givingUpInCrowds(system: PlanningSystem, table: Table): PlanningSystem {
  const { times, givenUp } = crowds(table)
  const refuseInCrowd = ({ before, after }: Change<Task>) => {
    const fence = Object.keys(before?.live ?? {}).find(live => !after.live[live])
    const run = `${after.id} ${fence}`
    const now = system.clock.now()
    const recent = (times.get(after.id) ?? []).filter(time => time > now - CROWDED_MS)
    if (recent.length >= CROWD) givenUp.add(run)
    if (givenUp.has(run))
      throw new BatonError('contended', `${after.id} changed too often while being written`)
    times.set(after.id, [...recent, now])
  }
  return withTaskWrites(system, apply => async change => {
    if (change.after.operation === 'succeed') refuseInCrowd(change)
    return apply(change)
  })
}

/** When the table last refused the content of a claim. */
const refusals = perTable(() => ({ last: Number.NEGATIVE_INFINITY }))

function refusingTogether(system: PlanningSystem, table: Table): PlanningSystem {
  const refused = refusals(table)
  return inWrites(apply => async change => {
    if (change.after.operation !== 'claim') return apply(change)
    const isBeside = system.clock.now() - refused.last < REFUSED_TOGETHER_MS
    if (isBeside) throw new BatonError('unstorable', `the table refuses ${change.after.id}`)
    return apply(change).catch(error => {
      if (error instanceof BatonError && error.code === 'unstorable') refused.last = system.clock.now()
      throw error
    })
  })(system, table)
}

/**
 * For some seconds after a minute could not be scheduled, its planner counts everything it sends as not sent.
 */
function failingBatches(system: PlanningSystem): PlanningSystem {
  let failedAt = Number.NEGATIVE_INFINITY
  return {
    ...system,
    timers: {
      ensureMinute: minute =>
        system.timers.ensureMinute(minute).catch(error => {
          failedAt = system.clock.now()
          throw error
        }),
    },
    messages: {
      ...system.messages,
      dispatch: async dispatches => {
        const failures = await system.messages.dispatch(dispatches)
        if (system.clock.now() - failedAt > AFTER_FAILURE_MS) return failures
        return dispatches.map((_, index) => ({ index, reason: 'its batch has failed', transient: true }))
      },
    },
  }
}

/** When looks at each task were last copied. */
const copies = perTable(() => new Map<string, number>())

function multiplyingLooks(system: PlanningSystem, table: Table): PlanningSystem {
  const copiedAt = copies(table)
  return {
    ...system,
    messages: {
      ...system.messages,
      look: async looks => {
        const now = system.clock.now()
        const copied = looks.filter(({ id }) => now - (copiedAt.get(id) ?? 0) > COPY_EVERY_MS)
        for (const { id } of copied) copiedAt.set(id, now)
        const later = copied.flatMap(look =>
          Array.from({ length: COPIES }, (_, nth) => ({
            ...look,
            delaySeconds: Math.min(900, look.delaySeconds + nth + 1),
          })),
        )
        return (await system.messages.look([...looks, ...later])).filter(({ index }) => index < looks.length)
      },
    },
  }
}

/** While the first tenant has ready tasks, the ready tasks of all others are left out. */
function favouringOne(system: PlanningSystem, table: Table): PlanningSystem {
  const isOpen = ({ state, live }: Task) => state === 'open' && Object.keys(live).length === 0
  return {
    ...system,
    tasks: {
      ...system.tasks,
      page: async query => {
        const page = await system.tasks.page(query)
        if (!query.partition.startsWith('ready#')) return page
        const waiting = [...table.heads()].filter(isTask).filter(isOpen)
        const first = waiting[0]?.fairnessKey
        const mine = new Set(waiting.filter(({ fairnessKey }) => fairnessKey === first).map(({ id }) => id))
        return { ...page, entries: page.entries.filter(({ id }) => mine.has(id)) }
      },
    },
  }
}
