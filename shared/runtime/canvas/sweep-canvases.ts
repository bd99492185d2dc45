import { DEFAULT_SHARDS } from '../../core/bounds.ts'
import { CANVAS_BODY_MS, canvasRef, driveAt, noteProgress } from '../../core/canvas/canvas.ts'
import { chunksOf } from '../../core/canvas/layout.ts'
import { sweepRecord } from '../../core/record-names.ts'
import { isCanvas } from '../../core/task/head.ts'
import { CANVAS_TYPE, type Canvas } from '../../core/task/head-fields.ts'
import { readHead, sideBySide } from '../kernel/heads.ts'
import { transactBirth } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { viewRange } from '../place/ready.ts'
import { lostMessageDetector, NOTHING_SWEPT, readFromCursor, type SweepReport, sweepEach } from '../repair.ts'
import { canvasOf, type LoadedCanvas, sendCanvasLook } from './canvas.ts'
import { type RepairRange, repairMembers } from './drive-canvas.ts'

/**
 * A round checks at most this many canvases of a shard in turn, and as many that were published recently. They share
 * a budget of members, and each canvas gets at least the minimum.
 */
const CANVASES_PER_SHARD_MAX = 50
const MEMBERS_PER_ROUND = 2_000
const MEMBERS_PER_CANVAS_MIN = 20
const CANVASES_AT_ONCE_MAX = 4
/** A canvas that nothing has changed for this long has lost its message, unless the jobs queue is busy. */
const GRACE_MS = 40_000
/** Two rounds look at a recently published canvas, since rounds come every minute. */
const RECENT_MS = 120_000
const RENEW_AFTER_MS = 10 * 86_400_000

/**
 * One round of the safety net for canvases. If the start or the cancellation of a canvas was left undone, the round
 * sends the message again. In other canvases it looks at some members from a random leaf on. So an uncounted end or
 * an unpublished member is found within some rounds, however large the canvas is.
 */
export async function sweepCanvases(system: System, stopAt: number): Promise<SweepReport> {
  const shards = Array.from({ length: DEFAULT_SHARDS }, (_, shard) => shard)
  const pages = await sideBySide(shards, DEFAULT_SHARDS, shard => nextOpenCanvases(system, shard))
  const heads = pages.flat()
  const budget = Math.max(MEMBERS_PER_CANVAS_MIN, Math.floor(MEMBERS_PER_ROUND / heads.length))
  const isMessageLost = lostMessageDetector(system, GRACE_MS)
  const report = await sweepEach(
    heads,
    CANVASES_AT_ONCE_MAX,
    async head => {
      await sweepCanvas(system, head, { stopAt, budget, isMessageLost })
      return NOTHING_SWEPT
    },
    ({ id: canvasId }, error) => system.log.warn('a canvas was not swept', { canvasId, error }),
  )
  return { ...report, examined: heads.length }
}

async function sweepCanvas(
  system: System,
  seen: Canvas,
  {
    isMessageLost,
    ...bounds
  }: Pick<RepairRange, 'stopAt'> & {
    readonly budget: number
    readonly isMessageLost: (lastSign: number) => Promise<boolean>
  },
): Promise<void> {
  const now = system.clock.now()
  if (driveAt(seen, now) !== undefined) {
    if (await isMessageLost(seen.updatedAt)) await sendCanvasLook(system, seen, 0)
    return
  }
  const head = await readHead(system, seen.id, isCanvas)
  if (head?.state !== 'open' || head.born !== seen.born) return
  const canvas = await canvasOf(system, head)
  if (!canvas) return
  if (head.updatedAt <= now - RENEW_AFTER_MS) await renewStoredParts(system, canvas, head)
  const fitsBudget = canvas.leaves <= bounds.budget
  const from = fitsBudget ? 0 : Math.floor(system.chance.fraction() * canvas.leaves)
  const left = await repairMembers(system, canvas, head, { from, ...bounds })
  const hasBudgetLeft = left === undefined && from > 0
  if (hasBudgetLeft) await repairMembers(system, canvas, head, { from: 0, ...bounds })
}

/** The next open canvases of a shard, from where the last round stopped, and those that were published recently. */
async function nextOpenCanvases(system: System, shard: number): Promise<Canvas[]> {
  const open = viewRange(CANVAS_TYPE, 'open', shard)
  const next = await readFromCursor(system, sweepRecord.canvases(shard), open, CANVASES_PER_SHARD_MAX)
  // Recently published canvases are looked at in two rounds, because the message that starts them may be lost.
  const to = system.clock.now() - GRACE_MS
  const recent = await system.tasks.page({ ...open, limit: CANVASES_PER_SHARD_MAX, from: to - RECENT_MS, to })
  const ids = new Set([...recent.entries, ...next].map(({ id }) => id))
  const heads = (await system.tasks.heads([...ids])).filter(isCanvas)
  return heads.filter(({ state, owes }) => state === 'open' || owes)
}

/** Renews the bodies and the counts of an open canvas, which must outlive it. */
async function renewStoredParts(system: System, canvas: LoadedCanvas, head: Canvas): Promise<void> {
  const expiresAt = system.clock.now() + CANVAS_BODY_MS
  const refs = [
    canvasRef.layout(canvas.born),
    ...canvas.pages.map((_from, page) => canvasRef.page(canvas.born, page)),
  ]
  await sideBySide(refs, CANVASES_AT_ONCE_MAX, ref => system.tasks.renewBody(canvas.id, ref, expiresAt))
  const chunks = chunksOf({ from: 0, to: canvas.leaves })
  await sideBySide(chunks, CANVASES_AT_ONCE_MAX, chunk =>
    system.canvases.addEnds(canvas, chunk, { ok: [], bad: [] }, expiresAt),
  )
  await transactBirth(system, head, current => noteProgress(current, system.clock.now()))
}
