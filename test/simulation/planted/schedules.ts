import type { Change } from '../../../shared/core/change.ts'
import { type Head, isTask } from '../../../shared/core/task/head.ts'
import type { ScheduleState } from '../../../shared/core/task/head-fields.ts'
import { taskId } from '../../../shared/core/task/task.ts'
import type { Applied } from '../../../shared/ports/stores.ts'
import type { Table } from '../world/aws/table.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults in the ticks of schedules. */
const FAULTS: readonly PlantedFault[] = [
  inWrites('the key of a tick differs each time the tick is published', apply => {
    let count = 0
    return change => {
      count += 1
      return apply(isOfTick(change) ? renamed(change, `${change.after.key}.${count}`) : change)
    }
  }),
  inWrites('a tick is published before its time', apply => async change => {
    if (isOfTick(change)) await apply(ofTheNext(change))
    return apply(change)
  }),
  inWrites(
    'a tick is recorded, but not published',
    apply => async change => (isOfTick(change) ? { applied: true, head: change.after } : apply(change)),
  ),
  inWrites(
    'a tick also passes over the next minute',
    apply => change => apply(change.after.operation === 'tick' ? passedOver(change) : change),
  ),
  {
    name: 'a paused schedule ticks',
    spoil: system => ({
      ...system,
      tasks: { ...system.tasks, head: async id => unpaused(await system.tasks.head(id)) },
    }),
  },
  {
    name: 'a removed schedule ticks on',
    spoil: (system, table) => {
      const removed = removedSchedules.get(table) ?? new Map<string, Head>()
      removedSchedules.set(table, removed)
      const asBeforeRemoval = (found: Head | undefined) =>
        (found?.state === 'removed' ? removed.get(found.id) : undefined) ?? found
      return {
        ...system,
        tasks: {
          ...system.tasks,
          apply: change => {
            const { before, after } = change
            if (before?.kind === 'schedule' && after.operation === 'remove') removed.set(after.id, before)
            return system.tasks.apply(change)
          },
          head: async id => asBeforeRemoval(await system.tasks.head(id)),
          heads: async ids => (await system.tasks.heads(ids)).map(found => asBeforeRemoval(found) ?? found),
        },
      }
    },
  },
  {
    ...asIfSet('a tick that is more than a minute late counts as missed', { graceMs: 60_000 }),
    needs: 'nightly',
  },
  asIfSet('a schedule that fell behind runs every late tick', { missed: { catchUp: 12 } }),
  {
    name: 'the sweeper does not read schedules',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        page: async query =>
          query.partition.startsWith('schedule#') ? { entries: [], more: false } : system.tasks.page(query),
      },
    }),
  },
]

export const SCHEDULE_FAULTS: readonly PlantedFault[] = FAULTS.map(fault => ({
  needs: 'schedules',
  ...fault,
}))

const LEAD_MS = 10_000

/** Removed schedules of each simulated system, as they were before their removal. */
const removedSchedules = new WeakMap<Table, Map<string, Head>>()

type Apply = (change: Change) => Promise<Applied>

function inWrites(name: string, spoiled: (apply: Apply) => Apply): PlantedFault {
  return {
    name,
    spoil: system => ({
      ...system,
      tasks: { ...system.tasks, apply: spoiled(system.tasks.apply) },
    }),
  }
}

/** Every read of a schedule shows these settings. The stored settings stay as they are. */
function asIfSet(name: string, settings: Partial<ScheduleState>): PlantedFault {
  const seen = (head: Head | undefined) =>
    head?.kind === 'schedule' && head.schedule
      ? { ...head, schedule: { ...head.schedule, ...settings } }
      : head
  return {
    name,
    spoil: (system, table) => ({
      ...system,
      tasks: {
        ...system.tasks,
        head: async id => seen(await system.tasks.head(id)),
        apply: change => {
          const { after } = change
          const stored = table.head(after.id)
          if (after.kind !== 'schedule' || !after.schedule) return system.tasks.apply(change)
          if (stored?.kind !== 'schedule' || !stored.schedule) return system.tasks.apply(change)
          const { missed, graceMs } = stored.schedule
          return system.tasks.apply({
            ...change,
            after: { ...after, schedule: { ...after.schedule, missed, graceMs } },
          })
        },
      },
    }),
  }
}

/** Whether a change publishes the task of a tick. */
function isOfTick({ before, after }: Change): boolean {
  if (!isTask(after)) return false
  const isByHand = after.key.includes('@now-')
  return before === undefined && after.parentId?.startsWith('schedule:') === true && !isByHand
}

function renamed(change: Change, key: string): Change {
  return { ...change, after: { ...change.after, key, id: taskId(change.after.type, key) } }
}

function ofTheNext(change: Change): Change {
  const dueAt = change.after.dueAt + LEAD_MS
  return renamed({ ...change, after: { ...change.after, dueAt } }, `${change.after.key}+`)
}

/** Moves the next tick by a minute, so that the ticks before it are passed over. */
function passedOver(change: Change): Change {
  const { after } = change
  return after.state === 'open' ? { ...change, after: { ...after, dueAt: after.dueAt + 60_000 } } : change
}

function unpaused(head: Head | undefined): Head | undefined {
  return head?.kind === 'schedule' && head.schedule
    ? { ...head, schedule: { ...head.schedule, paused: false } }
    : head
}
