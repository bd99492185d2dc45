import type { DynamoDBRecord } from 'aws-lambda'
import { createRecordPlanner } from '../../../../functions/plan-records.ts'
import { matchesPattern } from '../../../../local/mappings/mapping.ts'
import type { HeadReader } from '../../../../shared/aws/dynamo/head/head-reader.ts'
import { STREAM_FILTERS } from '../../../../shared/aws/dynamo/keys.ts'
import { limitChangeIn } from '../../../../shared/aws/dynamo/limits/limit-store.ts'
import { hash32 } from '../../../../shared/core/values/text.ts'
import type { PlanningSystem } from '../../../../shared/runtime/kernel/system.ts'
import { planLimits } from '../../../../shared/runtime/limits/begin-looks.ts'
import { createEventPublisher } from '../../../../shared/runtime/stream/events.ts'
import { createActivityMeter } from '../../../../shared/runtime/stream/statistics.ts'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { ItemChange } from '../../../../shared/testing/table/contents.ts'
import { imageOf, isEqual } from '../../../../shared/testing/table/values.ts'
import type { Process } from '../process.ts'
import type { Sandboxes } from '../sandboxes.ts'
import type { World } from '../world.ts'
import type { EventBus } from './event-bus.ts'

type StreamRecord = ReturnType<typeof recordOf>
type Change = { readonly record: StreamRecord; readonly position: string }
type Shard = { push(record: StreamRecord): void; isIdle(): boolean }

/**
 * The table's stream with the planner behind it. The planner's filters drop what it does not read. Each shard
 * delivers its records in order and in batches, and delivers a failed batch again.
 */
export type Stream = {
  push(change: ItemChange): void
  /** Whether every change was read, or is lost. */
  isIdle(): boolean
}

const SHARDS = 2
const BATCH_MAX = 10
const LAG_MS_MAX = 20
const LATE_MS_MAX = 60_000
const RETRY_AFTER_MS = 1_000
const AGAIN_AFTER_MS = 30_000
const TRIES_MAX = 10

type Planners = {
  readonly sandboxes: Sandboxes
  readonly headsOf: (process: Process) => HeadReader
  readonly events: EventBus
}
type RecordPlanner = ReturnType<typeof createRecordPlanner>

export function createStream(world: World, planners: Planners): Stream {
  const shards = Array.from({ length: SHARDS }, (_, number) => createShard(world, planners, number))
  return {
    push: change => {
      const record = recordOf(change)
      const isRead = STREAM_FILTERS.some(pattern => matchesPattern(pattern, record))
      // A write that changes nothing makes no record.
      if (isRead && !isEqual(change.before, change.after))
        shards[hash32(change.key.pk) % SHARDS]?.push(record)
    },
    isIdle: () => shards.every(shard => shard.isIdle()),
  }
}

/** The record of a change. Most records are dropped by their keys, so the image is made when it is asked for. */
function recordOf({ key, before, after }: ItemChange) {
  let image: ReturnType<typeof imageOf> | undefined
  return {
    eventName: before ? (after ? 'MODIFY' : 'REMOVE') : 'INSERT',
    dynamodb: {
      Keys: imageOf(key),
      get NewImage() {
        image ??= after && imageOf(after)
        return image
      },
    },
  }
}

function createShard(world: World, planners: Planners, number: number): Shard {
  const { timeline, history } = world
  const { sandboxes, headsOf } = planners
  const plannerIn = recordPlanners(planners)
  const chance = createSeededChance(world.seedOf(`stream ${number}`))
  const waiting: Change[] = []
  let isReading = false
  let pushed = 0
  let tries = 0

  const note = (text: () => string) => history.note(timeline.now(), `stream ${number}`, text)
  const happens = (share: number) => share > 0 && chance.fraction() < share

  /**
   * Plans a batch. Returns the positions of the changes that must be delivered again: all of them when the
   * planner died or took too long.
   */
  const plan = (batch: readonly Change[], by = 'planner') =>
    sandboxes
      .invoke(by, async ({ process, system }) => {
        if (world.scenario.hasReaders || world.scenario.trial === 'damaged-heads')
          return plannerIn(process, system)(batch)
        const heads = headsOf(process)
        const tasks = await Promise.all(
          batch.map(async ({ record, position }) => ({
            task: await heads.taskInImage(record.dynamodb.NewImage ?? {}),
            position,
          })),
        )
        const limits = batch.flatMap(({ record }) => limitChangeIn(record.dynamodb.NewImage ?? {}) ?? [])
        const changes = tasks.flatMap(({ task, position }) => (task ? [{ task, position }] : []))
        const [failed] = await Promise.all([planChanges(system, changes), planLimits(system, limits)])
        return failed
      })
      .then(answer => answer ?? batch.map(({ position }) => position))

  const lose = (text: string) => {
    note(() => text)
    history.record({ at: timeline.now(), by: `stream ${number}`, what: 'changes-lost' })
  }
  const goOn = (batch: readonly Change[], failed: readonly string[]) => {
    const first = batch.findIndex(({ position }) => failed.includes(position))
    const isStuck = first >= 0 && tries >= TRIES_MAX
    waiting.splice(0, isStuck || first < 0 ? batch.length : first)
    tries = first < 0 || isStuck ? 0 : tries + 1
    if (isStuck) lose('drops a batch after too many tries')
    isReading = false
    readLater(first < 0 ? 0 : RETRY_AFTER_MS)
  }
  const read = () => {
    const batch = waiting.slice(0, 1 + Math.floor(chance.fraction() * BATCH_MAX))
    if (batch.length === 0) {
      isReading = false
      return
    }
    const weather = world.weather()
    if (world.loses('batch') || happens(weather.streamGap)) {
      lose(`loses ${batch.length} changes`)
      return goOn(batch, [])
    }
    if (happens(weather.streamAgain)) {
      note(() => `will deliver ${batch.length} changes again`)
      timeline.at(timeline.now() + chance.fraction() * AGAIN_AFTER_MS, () => {
        // Another process reads the batch: a planner would recognise what it has already planned.
        void plan(batch, 'later planner')
      })
    }
    void plan(batch).then(failed => goOn(batch, failed))
  }
  const readLater = (afterMs: number) => {
    if (isReading || waiting.length === 0) return
    isReading = true
    const isLate = happens(world.weather().streamLate)
    const lagMs = chance.fraction() * (isLate ? LATE_MS_MAX : LAG_MS_MAX)
    timeline.at(timeline.now() + afterMs + lagMs, read)
  }

  return {
    push: record => {
      pushed += 1
      waiting.push({ record, position: String(pushed) })
      readLater(0)
    },
    isIdle: () => !isReading && waiting.length === 0,
  }
}

/**
 * The planners of processes, as they are deployed: they also publish events, and count failures and activity. Few scenarios have readers of
 * these, so most scenarios plan without them.
 */
function recordPlanners({ headsOf, events }: Planners) {
  const planners = new WeakMap<Process, RecordPlanner>()
  const make = (process: Process, system: PlanningSystem) =>
    createRecordPlanner({
      system,
      heads: headsOf(process),
      publishEvents: createEventPublisher(events.systemFor(process, system)),
      activity: createActivityMeter(system),
      flushMetrics: () => undefined,
    })
  return (process: Process, system: PlanningSystem) => async (batch: readonly Change[]) => {
    const planner = planners.get(process) ?? make(process, system)
    planners.set(process, planner)
    const Records = batch.map(
      ({ record: { eventName, dynamodb }, position }) =>
        ({ eventName, dynamodb: { ...dynamodb, SequenceNumber: position } }) as DynamoDBRecord,
    )
    const { batchItemFailures } = await planner({ Records })
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier)
  }
}
