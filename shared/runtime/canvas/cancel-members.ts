import { evaluate } from '../../core/canvas/evaluate.ts'
import { createCancelled } from '../../core/canvas/transitions.ts'
import { isFaultOfOne } from '../../core/errors.ts'
import { cancel, settle } from '../../core/operate.ts'
import type { Task } from '../../core/task.ts'
import { tellFault } from '../apart.ts'
import type { TypeReader } from '../flow/resolve-flow.ts'
import { publicationOf, withOwnBirth } from '../publication-of.ts'
import { sideBySide } from '../side-by-side.ts'
import type { System } from '../system.ts'
import { transact } from '../transact.ts'
import { typesReadOnce } from '../types-read-once.ts'
import { goOn } from './go-on.ts'
import { allEnds } from './known-ends.ts'
import { type Canvas, leafRequest, memberId, memberKey } from './load-canvas.ts'

const PAGE = 100
const MOST_AT_ONCE = 25

/**
 * Cancels the members of a cancelled canvas from `from` on: those that are there, and, written as cancelled, those that
 * somebody may be about to publish; then its debt is settled. What is not done at `stopAt` goes on in a message.
 */
export async function cancelMembers(
  system: System,
  canvas: Canvas,
  head: Task,
  from: number,
  stopAt: number,
): Promise<void> {
  const { reach } = evaluate(canvas.tree, (await allEnds(system, canvas)).endOf)
  const leaves = Array.from({ length: canvas.leaves }, (_, leaf) => leaf).filter(
    leaf => leaf >= from && reach(leaf) !== 'skipped',
  )
  for (let done = 0; done < leaves.length; done += PAGE) {
    const next = leaves[done]
    if (next !== undefined && system.clock.now() >= stopAt) return goOn(system, canvas, next)
    await cancelPage(system, canvas, leaves.slice(done, done + PAGE))
  }
  await transact(system, head, current =>
    current?.born === canvas.born ? settle(current, system.clock.now()) : NONE,
  )
}

const NONE = { ok: false, reason: 'owes-nothing' } as const

async function cancelPage(system: System, canvas: Canvas, leaves: readonly number[]): Promise<void> {
  const heads = await system.tasks.heads(leaves.map(leaf => memberId(canvas, leaf)))
  const byId = new Map(heads.map(task => [task.id, task]))
  const reading = { ...system, typeOf: typesReadOnce(system) }
  await sideBySide(leaves, MOST_AT_ONCE, async leaf => {
    const id = memberId(canvas, leaf)
    try {
      await cancelLeaf(reading, canvas, leaf, byId.get(id))
    } catch (error) {
      if (!isFaultOfOne(error)) throw error
      tellFault(system, byId.get(id) ?? { id, type: canvas.types[leaf] ?? '' }, error)
    }
  })
}

type Reading = System & { readonly typeOf: TypeReader }

/** A member that is there is cancelled as any task is; one that has ended stays as it is. */
async function cancelLeaf(
  system: Reading,
  canvas: Canvas,
  leaf: number,
  seen: Task | undefined,
): Promise<void> {
  const unborn = seen ? undefined : await unpublished(system, canvas, leaf)
  await transact(system, seen, current => {
    if (current) return cancel(current, system.clock.now())
    if (!unborn) return NONE
    return createCancelled(withOwnBirth(system, unborn), system.clock.now())
  })
}

async function unpublished(system: Reading, canvas: Canvas, leaf: number) {
  const request = await leafRequest(system, canvas, leaf)
  const member = { canvasId: canvas.canvasId, born: canvas.born, leaf }
  const { typeOf } = system
  const type = await typeOf(request.type)
  const settings = { ...system, typeOf }
  const resolved =
    type && (await publicationOf(settings, type, { ...request, key: memberKey(canvas.born, leaf), member }))
  return resolved?.ok ? resolved.publication : undefined
}
