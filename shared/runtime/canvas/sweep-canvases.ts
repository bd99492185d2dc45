import { DEFAULT_SHARDS } from '../../core/bounds.ts'
import { CANVAS_BODY_MS, canvasRef, driveAt, noteProgress } from '../../core/canvas/canvas.ts'
import { chunksOf } from '../../core/canvas/chunks.ts'
import { viewPartition } from '../../core/place/place-names.ts'
import { CANVAS_TYPE } from '../../core/task/canvas-state.ts'
import type { Task } from '../../core/task/task.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { lostMessageDetector } from '../jobs/lost-messages.ts'
import { transact } from '../kernel/kernel.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type Canvas, loadCanvas } from './canvas.ts'
import { type RepairRange, repairMembers } from './drive-canvas.ts'
import { sendCanvasLook } from './go-on.ts'

/** Canvases per shard that one round looks at; members of all of them, shared among them, and of each at least. */
const CANVASES = 50
const MEMBERS = 2_000
const LEAST_MEMBERS = 20
const CANVASES_AT_ONCE = 4
/** A canvas that nothing has changed for so long has lost its message, unless the jobs queue is busy. */
const GRACE_MS = 40_000
/** A round comes every minute and shares its time with the types. */
const MOST_MS = 15_000
/** Rounds come every minute. */
const RECENT_MS = 120_000
const RENEW_AFTER_MS = 10 * 86_400_000
const CURSOR_LIFE_MS = 7 * 86_400_000

/**
 * One round of the safety net for canvases: those whose beginning, or whose cancelling, was left undone get their message
 * anew; of the others some members are looked at, from anywhere on, so that one whose end was not counted, or that was
 * not published, is found within some rounds however large the canvas is.
 */
export async function sweepCanvases(system: System): Promise<{ looked: number; failed: number }> {
  const shards = Array.from({ length: DEFAULT_SHARDS }, (_, shard) => shard)
  const pages = await sideBySide(shards, DEFAULT_SHARDS, shard => nextOpen(system, shard))
  const stopAt = system.clock.now() + MOST_MS
  const heads = pages.flat()
  const budget = Math.max(LEAST_MEMBERS, Math.floor(MEMBERS / heads.length))
  const isLost = lostMessageDetector(system, GRACE_MS)
  const outcomes = await sideBySide(heads, CANVASES_AT_ONCE, async head => {
    try {
      await sweepCanvas(system, head, { stopAt, budget, isLost })
      return 0
    } catch (error) {
      system.log.warn('a canvas was not swept', { canvasId: head.id, error })
      return 1
    }
  })
  return { looked: outcomes.length, failed: outcomes.reduce<number>((sum, one) => sum + one, 0) }
}

async function sweepCanvas(
  system: System,
  seen: Task,
  {
    isLost,
    ...limits
  }: Pick<RepairRange, 'stopAt'> & {
    readonly budget: number
    readonly isLost: (lastSign: number) => Promise<boolean>
  },
): Promise<void> {
  const now = system.clock.now()
  if (driveAt(seen, now) !== undefined) {
    if (await isLost(seen.updatedAt)) await sendCanvasLook(system, seen, 0)
    return
  }
  const head = await system.tasks.head(seen.id)
  if (head?.state !== 'open' || head.born !== seen.born) return
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  if (!canvas) return
  if (head.updatedAt <= now - RENEW_AFTER_MS) await renew(system, canvas, head)
  const isSmall = canvas.leaves <= limits.budget
  const from = isSmall ? 0 : Math.floor(system.chance.fraction() * canvas.leaves)
  const left = await repairMembers(system, canvas, head, { from, ...limits })
  const hasRoom = left === undefined && from > 0
  if (hasRoom) await repairMembers(system, canvas, head, { from: 0, ...limits })
}

/** A page of the open canvases of a shard, from where the last round stopped. */
async function nextOpen(system: System, shard: number): Promise<Task[]> {
  const name = `sweep#canvas#${shard}`
  const after = (await system.records.get(name)) as IndexEntry | null | undefined
  const partition = viewPartition(CANVAS_TYPE, 'open', shard)
  const page = await system.tasks.page({ index: 'view', partition, limit: CANVASES, ...(after && { after }) })
  const last = page.more ? page.entries.at(-1) : undefined
  if (last?.id !== after?.id) {
    const position = last ? { id: last.id, sort: last.sort } : null
    await system.records.put(name, position, system.clock.now() + CURSOR_LIFE_MS)
  }
  const recent = await system.tasks.page(recentRange(partition, system.clock.now()))
  const ids = new Set([...recent.entries, ...page.entries].map(({ id }) => id))
  const heads = await system.tasks.heads([...ids])
  return heads.filter(({ state, owes }) => state === 'open' || owes)
}

/** Those that were published a short while ago are looked at first, in two rounds: their beginning may have got lost. */
function recentRange(partition: string, now: number) {
  const to = now - GRACE_MS
  return { index: 'view' as const, partition, limit: CANVASES, from: to - RECENT_MS, to }
}

/** What an open canvas is kept in must outlive it. */
async function renew(system: System, canvas: Canvas, head: Task): Promise<void> {
  const expiresAt = system.clock.now() + CANVAS_BODY_MS
  const refs = [
    canvasRef.layout(canvas.born),
    ...canvas.pages.map((_from, page) => canvasRef.page(canvas.born, page)),
  ]
  await sideBySide(refs, CANVASES_AT_ONCE, ref => system.tasks.renewBody(canvas.id, ref, expiresAt))
  const chunks = chunksOf({ from: 0, to: canvas.leaves })
  await sideBySide(chunks, CANVASES_AT_ONCE, chunk =>
    system.canvases.addEnds(canvas, chunk, { ok: [], bad: [] }, expiresAt),
  )
  await transact(system, head, current =>
    current?.born === canvas.born
      ? noteProgress(current, system.clock.now())
      : { ok: false as const, reason: 'nothing-to-note' as const },
  )
}
