import { hash32 } from '../../../../shared/core/hash.ts'
import type { LimitChange } from '../../../../shared/core/limits/line.ts'
import type { Head } from '../../../../shared/core/task/head.ts'
import { planLimits } from '../../../../shared/runtime/limits/serve-limit-looks.ts'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { createSeededChance } from '../../../../shared/testing/stores/chance.ts'
import type { Sandboxes } from '../sandboxes.ts'
import type { World } from '../world.ts'

type Written = { readonly task: Head } | { readonly limit: LimitChange }
type Change = Written & { readonly position: string }
type Shard = { push(written: Written): void }

/**
 * The table's stream with the planner behind it. Each shard delivers its changes in order and in batches, and
 * delivers a failed batch again.
 */
export type Stream = { push(task: Head): void; pushLimit(change: LimitChange): void }

const SHARDS = 2
const BATCH_MAX = 10
const LAG_MS_MAX = 20
const LATE_MS_MAX = 60_000
const RETRY_AFTER_MS = 1_000
const AGAIN_AFTER_MS = 30_000
const TRIES_MAX = 10

export function createStream(world: World, planners: Sandboxes): Stream {
  const shards = Array.from({ length: SHARDS }, (_, number) => createShard(world, planners, number))
  return {
    push: task => shards[hash32(task.id) % SHARDS]?.push({ task }),
    pushLimit: limit =>
      shards[hash32(limit.kind === 'freed' ? limit.limit : limit.line.limit) % SHARDS]?.push({ limit }),
  }
}

function createShard(world: World, planners: Sandboxes, number: number): Shard {
  const { timeline, history } = world
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
    planners
      .invoke(by, async ({ system }) => {
        const tasks = batch.filter(change => 'task' in change)
        const limits = batch.flatMap(change => ('limit' in change ? change.limit : []))
        const [failed] = await Promise.all([planChanges(system, tasks), planLimits(system, limits)])
        return failed
      })
      .then(answer => answer ?? batch.map(({ position }) => position))

  const goOn = (batch: readonly Change[], failed: readonly string[]) => {
    const first = batch.findIndex(({ position }) => failed.includes(position))
    const isStuck = first >= 0 && tries >= TRIES_MAX
    waiting.splice(0, isStuck || first < 0 ? batch.length : first)
    tries = first < 0 || isStuck ? 0 : tries + 1
    if (isStuck) note(() => 'drops a batch after too many tries')
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
      note(() => `loses ${batch.length} changes`)
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
    push: written => {
      pushed += 1
      waiting.push({ ...written, position: String(pushed) })
      readLater(0)
    },
  }
}
